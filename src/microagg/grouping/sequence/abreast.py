"""The best sizes of the last groups of several ends at once, as vector instructions.

None of k neighbouring ends starts where another ends, so their groups can be chosen side by side. A
compiler that is left alone looks at every size whether the arrays overlap, which takes longer than
to choose.
"""

from typing import Any

from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic, overload
from numba.np.arrayobj import make_array

ABREAST = 4
_FLOAT, _INT, _WORD = ir.DoubleType(), ir.IntType(32), ir.IntType(64)


def choose_abreast(path, at, group_costs, column, k, tie, sizes, end):
    """Choose groups of k to 2k - 1 for the ends whose costs stand in `path` from `at` on.

    `group_costs` has a row for each size, and the ends in columns from `column` on; `sizes` gets
    what was chosen from `end` on. A longer group is taken if it costs less than the best shorter
    one, or as much but for `tie`.
    """
    for lane in range(ABREAST):
        least, best = float("inf"), k
        for size in range(k, 2 * k):
            total = path[at + lane - size] + group_costs[size - k, column + lane]
            if total * tie < least:
                least, best = total, size
        path[at + lane] = least
        sizes[end + lane] = best


@overload(choose_abreast)
def _compiled(path, at, group_costs, column, k, tie, sizes, end):  # noqa: ARG001
    def choose(path, at, group_costs, column, k, tie, sizes, end):
        _choose(path, at, group_costs, column, k, tie, sizes, end)

    return choose


@intrinsic
def _choose(_typing, path, at, group_costs, column, k, tie, sizes, end):
    def generate(context: Any, builder: ir.IRBuilder, signature: Any, given: Any) -> Any:
        arrays = (make_array(signature.args[p])(context, builder, given[p]) for p in (0, 2, 6))
        paths, groups, chosen = arrays
        _, at, _, column, k, tie, _, end = given
        ends_a_row = cgutils.unpack_tuple(builder, groups.shape, 2)[1]
        ties = _spread(builder, tie)
        nothing = ir.Constant(_vector(_FLOAT), [float("inf")] * ABREAST)
        least = cgutils.alloca_once_value(builder, nothing)
        best = cgutils.alloca_once_value(builder, _spread(builder, k))
        with cgutils.for_range(builder, k) as loop:
            size = builder.add(loop.index, k)
            place = builder.add(builder.mul(loop.index, ends_a_row), column)
            group = builder.load(_vector_at(builder, groups, place, _FLOAT), align=8)
            before = _vector_at(builder, paths, builder.sub(at, size), _FLOAT)
            total = builder.fadd(builder.load(before, align=8), group)
            less = builder.fcmp_ordered("<", builder.fmul(total, ties), builder.load(least))
            builder.store(builder.select(less, total, builder.load(least)), least)
            builder.store(builder.select(less, _spread(builder, size), builder.load(best)), best)
        builder.store(builder.load(least), _vector_at(builder, paths, at, _FLOAT), align=8)
        found = builder.trunc(builder.load(best), _vector(_INT))
        builder.store(found, _vector_at(builder, chosen, end, _INT), align=4)
        return context.get_dummy_value()

    return types.void(path, at, group_costs, column, k, tie, sizes, end), generate


def _vector(kind: ir.Type) -> ir.VectorType:
    return ir.VectorType(kind, ABREAST)


def _vector_at(builder: ir.IRBuilder, array: Any, place: Any, kind: ir.Type) -> Any:
    return builder.bitcast(builder.gep(array.data, [place]), _vector(kind).as_pointer())


def _spread(builder: ir.IRBuilder, number: Any) -> Any:
    """A number in every lane."""
    nothing = ir.Constant(_vector(number.type), ir.Undefined)
    one = builder.insert_element(nothing, number, ir.Constant(_INT, 0))
    every = ir.Constant(_vector(_INT), [0] * ABREAST)
    return builder.shuffle_vector(one, nothing, every)
