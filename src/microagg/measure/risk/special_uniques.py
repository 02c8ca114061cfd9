"""Special uniques (SUDA2): records that already a few of their keys single out.

Elliot, Manning and Ford (2002), A computational algorithm for handling the special uniques problem;
Manning, Haglin and Keane (2008), A recursive search algorithm for statistical disclosure
assessment. DIS: Skinner and Elliot (2002), A measure of disclosure risk for microdata.
"""

from dataclasses import dataclass
from functools import cached_property
from math import comb, prod

import numpy as np
from numpy.typing import NDArray

from microagg.base.progress import Advance, silent
from microagg.kernels.compiling import inner, kernel
from microagg.kernels.threads import run_all
from microagg.measure.risk.keys import MISSING, Combinations

# A set of columns is a whole number, a bit each.
MOST_COLUMNS = 60
# Sets of columns times combinations of values that are looked at without being asked: a minute at
# most on one core.
MOST_WORK = 5 * 10**8
# The share of the population that the sample is taken for by DIS.
SAMPLED = 0.01
_NOTHING = (np.empty(0, np.int32), np.empty(0, np.int64))


@dataclass(frozen=True, eq=False)
class SpecialUniques:
    """Minimal sample uniques (MSU): sets of columns that single a record out, no subset of which
    does.

    largest: sets of up to so many of the `columns` were looked at. scores: by combination of
    values, the sum over its MSUs, of s columns each, of prod over i = s, ..., largest of
    columns - i; that is (columns - s)! where sets of all sizes are looked at. sets: those that
    single anybody out minimally, as bits; times: how many records each of them does.
    """

    columns: int
    largest: int
    scores: NDArray[np.float64]
    sets: NDArray[np.int64]
    times: NDArray[np.int64]

    @cached_property
    def contributions(self) -> NDArray[np.float64]:
        """What each set adds to the sum of all scores, in percent."""
        values = score_values(self.columns, self.largest)
        parts = self.times * values[[int(each).bit_count() for each in self.sets]]
        return 100.0 * parts / max(1.0, parts.sum())

    @property
    def column_contributions(self) -> NDArray[np.float64]:
        """What the sets with each column add to the sum of all scores, in percent."""
        bits = (self.sets[:, np.newaxis] >> np.arange(self.columns)) & 1
        return self.contributions @ bits

    def dis(self, unique: int, paired: int) -> NDArray[np.float64]:
        """DIS scores: the chance that a match with a record is right, by combination of values.

        unique: the records whose keys nobody shares; paired: those that share them with one other.
        With DIS = d unique / (d unique + (1 - d) paired), d = 0.01, and Q = 1 + (8 - columns) / 20:
        1 / (1 + unique (1 / DIS - 1) / (score^Q sum over records of score^-Q)). sdcMicro takes Q
        and the factor before in single precision, and so do we, to have the same figures.
        """
        single, special = np.float32, self.scores > 0.0
        found = np.zeros(self.scores.size)
        if not special.any():
            return found
        alone, share = single(unique), single(SAMPLED)
        overall = alone * share / (alone * share + single(paired) * (single(1) - share))
        factor = float(alone / overall - alone)
        exponent = float(single(1) + single(8 - self.columns) / single(20))
        powers = self.scores[special] ** exponent
        found[special] = 1.0 / (1.0 + factor / (powers * (1.0 / powers).sum()))
        return found


def score_values(columns: int, largest: int) -> NDArray[np.float64]:
    """What a minimal sample unique of s columns adds to a score, for s = 0, ..., columns."""
    last = min(largest, columns - 1)
    factors = (range(size, last + 1) for size in range(columns + 1))
    return np.array([float(prod(columns - each for each in sizes)) for sizes in factors])


def largest_size(columns: int, combinations: int, most_work: int = MOST_WORK) -> int:
    """The largest sets of columns that can be looked at in reasonable time; 0 if there are none."""
    work = size = 0
    while size < columns <= MOST_COLUMNS:
        work += comb(columns, size + 1) * combinations
        if work > most_work:
            break
        size += 1
    return size


def special_uniques(
    combinations: Combinations,
    largest: int,
    *,
    wildcards: bool = False,
    advance: Advance = silent,
) -> SpecialUniques:
    """The minimal sample uniques of up to so many columns.

    wildcards: a key without a value singles nobody out, and agrees with no other; else no value is
    a value like others.

    Sets of columns are visited depth first, each after all of its subsets. Combinations of values
    that the columns so far do not tell apart are a class, which the next column splits. What is
    alone leaves: it is minimal here, or was before. So do classes without a record that all
    columns together single out. O(combinations sets) time at most, O(combinations largest) memory
    for each thread: sets with the same highest column are a job, in which only subsets with that
    column are known; the others are held against what jobs found in the end, in order.
    """
    keys, count = combinations.distinct, combinations.count
    columns = len(keys.names)
    # Columns that tell most apart split first, where most sets are below them.
    order = np.argsort(keys.kinds, kind="stable")
    codes, kinds = np.ascontiguousarray(keys.codes[order]), np.array(keys.kinds)[order]
    tops = range(columns if largest and count else 0)
    found: list[tuple[NDArray[np.int32], NDArray[np.int64]]] = [_NOTHING] * len(tops)

    def search(top: int, tell: Advance) -> None:
        missing = MISSING if wildcards else -1
        found[top] = _search(codes, kinds, combinations.sizes, missing, top, largest)
        tell(1.0)

    # There are as many sets with a column as its highest as with all columns below it together.
    run_all(search, np.int64(1) << np.arange(len(tops)), advance)
    scores, heads, values = np.zeros(count), np.full(count, -1), score_values(columns, largest)
    lists = tuple(np.empty(64, np.int64) for _ in range(4))
    used = sets = 0
    for rows, masks in found:
        used, sets, *grown = _keep(rows, masks, values, scores, heads, *lists, used, sets)
        lists = tuple(grown)
    bits = (lists[2][:sets, np.newaxis] >> np.arange(columns)) & 1
    by_column = bits @ (np.int64(1) << order.astype(np.int64))
    return SpecialUniques(columns, largest, scores, by_column, lists[3][:sets].copy())


@kernel
def _search(codes, kinds, sizes, missing, top, largest):
    """All sets of columns whose highest bit is `top`, in ascending order, each a whole number: who
    is alone by each of them, and by none of its subsets that has this bit too.

    rows, ends: for each number of columns the combinations left, class by class, and where classes
    end. heads, nexts: the sets found for each combination, as linked lists.
    """
    count = sizes.size
    rows = np.empty((largest + 1, count), np.int32)
    ends = np.empty((largest + 1, count), np.int32)
    alone = np.empty(count, np.int32)
    heads = np.full(count, -1)
    masks, nexts, found_rows = (
        np.empty(64, np.int64),
        np.empty(64, np.int64),
        np.empty(64, np.int32),
    )
    used = 0
    for row in range(count):
        rows[0, row] = row
    ends[0, 0] = count
    classes = np.zeros(largest + 1, np.int64)
    column = np.zeros(largest + 1, np.int64)
    child = np.zeros(largest + 1, np.int64)
    sets_of = np.zeros(largest + 1, np.int64)
    most = 0
    for each in range(kinds.size):
        most = max(most, kinds[each])
    scratch = np.zeros((3, most), np.int64)
    classes[0] = 1
    child[0], column[0], depth = top, top + 1, 0
    while depth >= 0:
        if depth == largest or classes[depth] == 0 or child[depth] == column[depth]:
            depth -= 1
            continue
        split = child[depth]
        child[depth] += 1
        depth += 1
        column[depth], child[depth] = split, 0
        subset = sets_of[depth] = sets_of[depth - 1] | (np.int64(1) << split)
        classes[depth], found = _split(
            codes[split], sizes, missing, rows[depth - 1], ends[depth - 1], classes[depth - 1],
            rows[depth], ends[depth], alone, scratch,
        )  # fmt: skip
        for each in range(found):
            row = alone[each]
            if _has_subset(subset, heads[row], masks, nexts):
                continue
            if used == masks.size:
                masks, nexts, found_rows = _grown(masks), _grown(nexts), _grown(found_rows)
            masks[used], nexts[used], found_rows[used] = subset, heads[row], row
            heads[row] = used
            used += 1
    return found_rows[:used], masks[:used]


@kernel
def _keep(found, subsets, values, scores, heads, masks, nexts, sets, times, used, counted):
    """Of sets that single combinations out, keep those of which no subset was kept before."""
    first = used
    for each in range(found.size):
        row, subset = found[each], subsets[each]
        if each > 0 and subset != subsets[each - 1]:
            first = used
        if _has_subset(subset, heads[row], masks, nexts):
            continue
        if used == masks.size:
            masks, nexts = _grown(masks), _grown(nexts)
        masks[used], nexts[used] = subset, heads[row]
        heads[row] = used
        size = 0
        while subset:
            subset &= subset - 1
            size += 1
        scores[row] += values[size]
        if used == first:
            if counted == sets.size:
                sets, times = _grown(sets), _grown(times)
            sets[counted], times[counted] = subsets[each], 0
            counted += 1
        times[counted - 1] += 1
        used += 1
    return used, counted, masks, nexts, sets, times


@kernel
def _has_subset(subset, head, masks, nexts):
    """Whether a set in a linked list is part of this one."""
    while head >= 0:
        if masks[head] & subset == masks[head]:
            return True
        head = nexts[head]
    return False


@inner
def _split(codes, sizes, missing, rows, ends, classes, rows_after, ends_after, alone, scratch):
    """Split classes by a column; how many are left, and how many combinations are alone.

    scratch: for each code how often it occurs, among these how often once, and where it goes; 0.
    """
    times, single, places = scratch[0], scratch[1], scratch[2]
    begin = filled = made = lonely = 0
    for each in range(classes):
        end = ends[each]
        for place in range(begin, end):
            code = codes[rows[place]]
            times[code] += 1
            single[code] += sizes[rows[place]] == 1
        if missing >= 0:
            single[missing] = 0
        for place in range(begin, end):
            row = rows[place]
            code = codes[row]
            if single[code] == 0:
                continue
            if times[code] == 1:
                alone[lonely] = row
                lonely += 1
            elif places[code] == 0:
                # Where its class begins, one too many so that 0 is nowhere.
                places[code] = filled + 1
                filled += times[code]
                ends_after[made] = filled
                made += 1
            if times[code] > 1:
                rows_after[places[code] - 1] = row
                places[code] += 1
        for place in range(begin, end):
            code = codes[rows[place]]
            times[code] = single[code] = places[code] = 0
        begin = end
    return made, lonely


@inner
def _grown(values):
    """The same with room for as many again."""
    larger = np.empty(2 * values.size, values.dtype)
    larger[: values.size] = values
    return larger
