"""Sixteen squared distances in single precision at once, as vector instructions.

A compiler that is left alone looks at every call whether these arrays overlap, which takes longer
than the distances. Processors without vectors of this width take several. Arrays are contiguous,
of single precision; starts are int64, limits float32.
"""

from collections.abc import Callable
from typing import Any

from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.core.imputils import impl_ret_untracked
from numba.extending import intrinsic
from numba.np.arrayobj import make_array

LANES = 16
_FLOAT = ir.FloatType()
_VECTOR = ir.VectorType(_FLOAT, LANES)
_WORD = ir.IntType(64)


@intrinsic
def near_points(_typing, cells, start, point, limit, squares):
    """Squared distances from a point to those whose attributes stand in lines of 16 from `start`
    on, of the array seen flat; the bits of those within the limit."""

    def measure(builder: ir.IRBuilder, line: Callable[[Any], Any], at: Any, _d: Any, x: Any) -> Any:
        return builder.fsub(line(at), x)

    return types.uint64(cells, start, point, limit, squares), _measured(measure)


@intrinsic
def near_boxes(_typing, boxes, start, point, limit, squares):
    """The same to boxes: the lines of their low sides, then those of the high ones."""

    def measure(builder: ir.IRBuilder, line: Callable[[Any], Any], at: Any, d: Any, x: Any) -> Any:
        below = builder.fsub(line(at), x)
        above = builder.fsub(x, line(builder.add(at, d)))
        away = builder.select(builder.fcmp_ordered(">", below, above), below, above)
        zero = ir.Constant(_VECTOR, [0.0] * LANES)
        return builder.select(builder.fcmp_ordered(">", away, zero), away, zero)

    return types.uint64(boxes, start, point, limit, squares), _measured(measure)


@intrinsic
def lowest_bit(_typing, bits):
    """The place of the lowest bit that is set."""

    def generate(_context: Any, builder: ir.IRBuilder, _signature: Any, given: Any) -> Any:
        return builder.cttz(given[0], ir.Constant(ir.IntType(1), 0))

    return types.uint64(bits), generate


def _measured(measure: Callable[..., Any]) -> Callable[..., Any]:
    def generate(context: Any, builder: ir.IRBuilder, signature: Any, given: Any) -> Any:
        kinds = signature.args
        lines, point, squares = (
            make_array(kinds[place])(context, builder, given[place]) for place in (0, 2, 4)
        )
        d = cgutils.unpack_tuple(builder, point.shape, 1)[0]

        def line(at: Any) -> Any:
            place = builder.add(given[1], builder.mul(at, ir.Constant(_WORD, LANES)))
            where = builder.gep(lines.data, [place])
            return builder.load(builder.bitcast(where, _VECTOR.as_pointer()), align=4)

        total = cgutils.alloca_once_value(builder, ir.Constant(_VECTOR, [0.0] * LANES))
        with cgutils.for_range(builder, d) as loop:
            x = _spread(builder, builder.load(builder.gep(point.data, [loop.index])))
            away = measure(builder, line, loop.index, d, x)
            more = builder.fadd(builder.load(total), builder.fmul(away, away))
            builder.store(more, total)
        found = builder.load(total)
        home = builder.bitcast(squares.data, _VECTOR.as_pointer())
        builder.store(found, home, align=4)
        near = builder.fcmp_ordered("<=", found, _spread(builder, given[3]))
        bits = builder.zext(builder.bitcast(near, ir.IntType(LANES)), _WORD)
        return impl_ret_untracked(context, builder, signature.return_type, bits)

    return generate


def _spread(builder: ir.IRBuilder, number: Any) -> Any:
    """A number in every lane."""
    one = builder.insert_element(
        ir.Constant(_VECTOR, ir.Undefined), number, ir.Constant(ir.IntType(32), 0)
    )
    every = ir.Constant(ir.VectorType(ir.IntType(32), LANES), [0] * LANES)
    return builder.shuffle_vector(one, ir.Constant(_VECTOR, ir.Undefined), every)
