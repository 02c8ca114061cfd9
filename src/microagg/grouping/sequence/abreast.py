"""The best last groups of several ends at once, as vector instructions.

None of k neighbouring ends starts where another ends, so their groups can grow side by side, and be
chosen while they grow. A compiler that is left alone looks at every size whether the arrays
overlap, and writes down what these instructions keep at hand.
"""

import math
from collections.abc import Iterator
from typing import Any

from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic, overload
from numba.np.arrayobj import make_array

ABREAST = 4
_FLOAT, _INT, _WORD = ir.DoubleType(), ir.IntType(32), ir.IntType(64)


def group_abreast(records, first, ends, k, integer, tie, weights, sums, path, at, sizes, longest):
    """Choose the last groups, of k to 2k - 1 records, for so many ends from the first on.

    The number of ends can be divided by `ABREAST`, and k is no less. `path`, from `at` on, receives
    what the best splits up to these ends cost, `longest` what groups of 2k - 1 cost. `weights`
    holds 1 / size and (size - 1) / size; `sums` is room for the attributes of as many ends as stand
    abreast. The rest is as in `scan.py`.
    """
    for i in range(ends):
        last = first + i - 1
        sums[:] = 0.0
        scatter, least = 0.0, math.inf
        for size in range(2, 2 * k):
            for a in range(len(records)):
                x = float(records[a, last] - records[a, last + 1 - size])
                away = x if integer else x - sums[a] * weights[0, size - 1]
                sums[a] += x
                scatter += away * away if integer else away * away * weights[1, size]
            if size < k:
                continue
            cost = scatter
            for total in sums[: len(records) if integer else 0]:
                centre = math.floor(total * weights[0, size] + 0.5)
                cost -= centre * (2.0 * total - size * centre)
            if (path[at + i - size] + cost) * tie < least:
                least, sizes[first + i] = path[at + i - size] + cost, size
        path[at + i], longest[i] = least, cost


@overload(group_abreast)
def _compiled(records, first, ends, k, integer, tie, weights, sums, path, at, sizes, longest):  # noqa: ARG001
    def group(records, first, ends, k, integer, tie, weights, sums, path, at, sizes, longest):
        _group(records, first, ends, k, integer, tie, weights, sums, path, at, sizes, longest)

    return group


@intrinsic
def _group(_typing, records, first, ends, k, integer, tie, weights, sums, path, at, sizes, longest):
    given = (records, first, ends, k, integer, tie, weights, sums, path, at, sizes, longest)

    def generate(context: Any, builder: ir.IRBuilder, signature: Any, given: Any) -> Any:
        arrays = [
            make_array(signature.args[place])(context, builder, given[place])
            for place in (0, 6, 7, 8, 10, 11)
        ]
        _Groups(builder, arrays, given).choose_all()
        return context.get_dummy_value()

    return types.void(*given), generate


class _Groups:
    """The instructions for groups that end side by side."""

    def __init__(self, builder: ir.IRBuilder, arrays: list[Any], given: Any) -> None:
        self.builder = builder
        self.records, self.weights, self.sums, self.path, self.sizes, self.longest = arrays
        _, self.first, self.ends, self.k, self.integer, self.tie, _, _, _, self.at, _, _ = given
        self.attributes, self.n = cgutils.unpack_tuple(builder, self.records.shape, 2)
        self.twice = builder.shl(self.k, _number(1))
        self.none = self._spread(_constant(0.0))
        # What the first attribute adds up to is kept at hand: most lines have no other.
        self.total, self.scatter, self.least, self.best = (
            cgutils.alloca_once(builder, _vector(kind)) for kind in (_FLOAT, _FLOAT, _FLOAT, _WORD)
        )

    def choose_all(self) -> None:
        make = self.builder
        one = make.icmp_signed("==", self.attributes, _number(1))
        # Each by itself, for a line of one attribute needs no loop over several.
        for integer, whole in ((False, make.not_(self.integer)), (True, self.integer)):
            for alone, single in ((True, one), (False, make.not_(one))):
                together = cgutils.for_range(
                    make, make.lshr(self.ends, _number(ABREAST.bit_length() - 1))
                )
                with make.if_then(make.and_(whole, single)), together as loop:
                    self._choose(make.mul(loop.index, _number(ABREAST)), integer, alone)

    def _choose(self, column: Any, integer: bool, alone: bool) -> None:
        make = self.builder
        end, at = make.add(self.first, column), make.add(self.at, column)
        make.store(self.none, self.total)
        make.store(self.none, self.scatter)
        make.store(self._spread(_constant(math.inf)), self.least)
        make.store(self._spread(self.k), self.best)
        for _, total in self._others(alone):
            make.store(self.none, total, align=8)
        with cgutils.for_range(make, self.twice, start=_number(2)) as loop:
            size = loop.index
            self._grow(end, size, _number(0), self.total, integer)
            for attribute, total in self._others(alone):
                self._grow(end, size, attribute, total, integer)
            with make.if_then(make.icmp_signed(">=", size, self.k)):
                cost = self._cost(size, integer, alone)
                make.store(cost, self._at(self.longest, column), align=8)
                self._take(size, cost, self._at(self.path, make.sub(at, size)))
        make.store(make.load(self.least), self._at(self.path, at), align=8)
        found = make.trunc(make.load(self.best), _vector(_INT))
        make.store(found, self._at(self.sizes, end, _INT), align=4)

    def _others(self, alone: bool) -> Iterator[tuple[Any, Any]]:
        """Each attribute but the first, and where it is summed: what is done with it is a loop."""
        if not alone:
            with cgutils.for_range(self.builder, self.attributes, start=_number(1)) as loop:
                place = self.builder.mul(loop.index, _number(ABREAST))
                yield loop.index, self._at(self.sums, place)

    def _grow(self, end: Any, size: Any, attribute: Any, total: Any, integer: bool) -> None:
        """Take one more record into each group, as far as one attribute goes."""
        make = self.builder
        line = make.add(make.mul(attribute, self.n), end)
        kind = self.records.data.type.pointee
        last, joining = (
            make.load(self._at(self.records, make.sub(line, before), kind), align=8)
            for before in (_number(1), size)
        )
        if kind == _FLOAT:
            x = make.fsub(last, joining)
        else:
            x = make.uitofp(make.sub(last, joining), _vector(_FLOAT))
        so_far = make.load(total, align=8)
        if integer:
            more = make.fmul(x, x)
        else:
            mean = make.fmul(so_far, self._weight(make.sub(size, _number(1))))
            away = make.fsub(x, mean)
            more = make.fmul(make.fmul(away, away), self._weight(make.add(size, self.twice)))
        make.store(make.fadd(so_far, x), total, align=8)
        make.store(make.fadd(make.load(self.scatter), more), self.scatter)

    def _cost(self, size: Any, integer: bool, alone: bool) -> Any:
        make = self.builder
        if not integer:
            return make.load(self.scatter)
        cost = cgutils.alloca_once(make, _vector(_FLOAT))
        make.store(make.load(self.scatter), cost)
        self._centre(size, self.total, cost)
        for _, total in self._others(alone):
            self._centre(size, total, cost)
        return make.load(cost)

    def _centre(self, size: Any, total: Any, cost: Any) -> None:
        """Costs about the nearest integers, as `integer_gain` says."""
        make = self.builder
        total = make.load(total, align=8)
        mean = make.fadd(make.fmul(total, self._weight(size)), self._spread(_constant(0.5)))
        whole = ir.FunctionType(_vector(_FLOAT), [_vector(_FLOAT)])
        floor = cgutils.get_or_insert_function(make.module, whole, f"llvm.floor.v{ABREAST}f64")
        centre = make.call(floor, [mean])
        weight = self._spread(make.sitofp(size, _FLOAT))
        rest = make.fsub(make.fadd(total, total), make.fmul(weight, centre))
        make.store(make.fsub(make.load(cost), make.fmul(centre, rest)), cost)

    def _take(self, size: Any, cost: Any, before: Any) -> None:
        """Take groups of this size where no shorter one is as good."""
        make = self.builder
        total, least = make.fadd(make.load(before, align=8), cost), make.load(self.least)
        less = make.fcmp_ordered("<", make.fmul(total, self._spread(self.tie)), least)
        make.store(make.select(less, total, least), self.least)
        chosen = make.select(less, self._spread(size), make.load(self.best))
        make.store(chosen, self.best)

    def _weight(self, place: Any) -> Any:
        return self._spread(self.builder.load(self.builder.gep(self.weights.data, [place])))

    def _at(self, array: Any, place: Any, kind: ir.Type = _FLOAT) -> Any:
        where = self.builder.gep(array.data, [place])
        return self.builder.bitcast(where, _vector(kind).as_pointer())

    def _spread(self, number: Any) -> Any:
        """A number in every lane."""
        nothing = ir.Constant(_vector(number.type), ir.Undefined)
        one = self.builder.insert_element(nothing, number, ir.Constant(_INT, 0))
        every = ir.Constant(_vector(_INT), [0] * ABREAST)
        return self.builder.shuffle_vector(one, nothing, every)


def _vector(kind: ir.Type) -> ir.VectorType:
    return ir.VectorType(kind, ABREAST)


def _number(number: int) -> ir.Constant:
    return ir.Constant(_WORD, number)


def _constant(number: float) -> ir.Constant:
    return ir.Constant(_FLOAT, number)
