"""Search, bound and integer programme together: the least loss, for those who can wait.

Searches from the start, many of them, leave many good groups behind; where a bound is near, its
prices say which groups are worth having, and bring more. Among all of these an integer programme
chooses the best division of many records at once, which no single move of a search can reach.
Meanwhile a search goes on from the best groups, and in the end the better of both is taken, part by
part.
"""

import math
import threading
import time
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from microagg.base.groups import Partition
from microagg.base.progress import Advance, silent
from microagg.grouping.bound.choosing import improve
from microagg.grouping.bound.proving import MOST_RECORDS, prove, shares
from microagg.grouping.method import Groups
from microagg.grouping.refine.heaviest import is_concentrated
from microagg.grouping.refine.repeating import repeat
from microagg.grouping.refine.search import Search, compile_search, search, seek
from microagg.kernels.announcing import seconds_compiling
from microagg.kernels.threads import thread_count

# How time and steps are shared out: a glance, the bound, searches from the start until this share
# is spent, and what is left in some rounds.
_GLANCE = 0.03
_BOUND = 0.07
_REPEATED = 0.6
_ROUNDS = 2
_ROUNDS_WITHOUT_PRICES = 3
# Steps for each record of one search, times k squared: the larger the groups, the slower they come
# to rest. Fewer where few groups hold most of the loss: many tries to divide those find more. And
# no fewer searches than these.
_STEPS_A_RECORD = 2000
_STEPS_IF_CONCENTRATED = 12_000
_LEAST_TIMES = 2
# Steps that a thread makes in a second, before it is known: a careful guess, and how far off it is.
_SPEED = 4e6
_AT_MOST = 10
# A bound that is lower than this share of what was found at a glance says little.
_NEAR = 0.97
# Without a clock: so many steps of column generation, and regions divided anew in each round.
_PRICINGS = 150
_TRIES = 18
# For larger groups there are no prices to be had in good time.
_LARGEST_PRICED = 6


def search_best(
    records: NDArray[np.float64],
    order: NDArray[np.integer],
    sizes: NDArray[np.integer],
    k: int,
    rng: np.random.Generator,
    advance: Advance = silent,
    *,
    steps: int | None = None,
    seconds: float = math.inf,
    most_records: int = MOST_RECORDS,
) -> Groups:
    """Rows group by group, and the sizes of the groups: as `search`, and better for few records.

    Up to `most_records` of several attributes; more are searched only. With `steps` the result
    depends on the generator alone: column generation and integer programmes are limited by counts.
    With `seconds` it may differ from run to run.
    """
    n, d = records.shape
    if n > most_records or d == 1:
        return search(records, order, sizes, k, rng, advance, steps=steps, seconds=seconds)
    if seconds < math.inf:
        compile_search(records, k)
        _compile(records, k)
    work = _Together(Search(records, order, sizes, k), records, k, rng, advance)
    work.run(steps, seconds)
    advance(1.0)
    return work.search.groups()


class _Phase(NamedTuple):
    """A part of the work: so many steps or seconds, and whom to tell how much of it is done."""

    steps: int | None
    seconds: float
    advance: Advance


class _Together:
    def __init__(
        self,
        search: Search,
        records: NDArray[np.float64],
        k: int,
        rng: np.random.Generator,
        advance: Advance,
    ) -> None:
        self.search, self.records, self.k, self.rng = search, records, k, rng
        self.advance = advance
        self.seen: list[list[NDArray[np.integer]]] = []
        self.prices: NDArray[np.float64] | None = None

    def run(self, steps: int | None, seconds: float) -> None:
        begun = _clock()

        def until(share: float) -> float:
            """Seconds left until this share of the time."""
            return max(0.0, begun + share * seconds - _clock())

        def phase(first: float, last: float) -> _Phase:
            some = None if steps is None else int((last - first) * steps)
            return _Phase(
                some, until(last), lambda share: self.advance(first + (last - first) * share)
            )

        self.seek(phase(0.0, _GLANCE), warm=False)
        self.prices = self.price(until(_GLANCE + _BOUND))
        self.repeat(phase(_GLANCE + _BOUND, _REPEATED))
        rounds = _ROUNDS_WITHOUT_PRICES if self.prices is None else _ROUNDS
        searches = len(self.seen)
        for number in range(rounds):
            first = _REPEATED + (1.0 - _REPEATED) * number / rounds
            last = _REPEATED + (1.0 - _REPEATED) * (number + 1) / rounds
            known = self.seen
            if self.prices is None:
                # Fewer groups make an easier programme, and its solution the next one easier.
                known = known[: -(-searches * (number + 1) // rounds)]
            columns = [part for parts in known for part in parts]
            self.both(columns, phase(first, last), until((first + last) / 2))

    def repeat(self, phase: _Phase) -> None:
        """Search many times from the start, and remember what was found."""
        steps, seconds = phase.steps, phase.seconds
        end = _clock() + seconds
        if steps is None:
            steps = int(_SPEED * seconds * thread_count())
        enough = _STEPS_A_RECORD * self.k**2
        if is_concentrated(self.search):
            enough = min(enough, _STEPS_IF_CONCENTRATED)
        each = max(1, min(enough * len(self.records), steps // _LEAST_TIMES))
        count = steps // each

        def advance(share: float) -> None:
            if 0.0 < seconds < math.inf:
                share = 1.0 - (end - _clock()) / seconds
            phase.advance(min(1.0, share))

        repeat(
            self.search,
            self.rng,
            count if seconds == math.inf else _AT_MOST * count,
            each,
            advance,
            seen=self.remember,
            late=lambda: _clock() >= end,
        )

    def seek(self, phase: _Phase, *, warm: bool) -> None:
        """Search on; where prices tell good groups from others, remember those of every stage."""
        seen = None if self.prices is None else self.remember
        seek(self.search, self.rng, *phase, seen, warm)

    def remember(self, order: NDArray[np.integer], sizes: NDArray[np.integer]) -> None:
        firsts = np.cumsum(sizes) - sizes
        self.seen.append(
            [
                order[firsts[sizes == size, np.newaxis] + np.arange(size)]
                for size in range(int(sizes.min()), int(sizes.max()) + 1)
            ]
        )

    def labels(self) -> NDArray[np.int64]:
        return Partition.from_sequence(*self.search.groups(), self.k, "search").labels

    def price(self, seconds: float) -> NDArray[np.float64] | None:
        """What the records should pay, by a bound.

        None if there is none, or it is far below what was found: then only groups that were found
        are worth having.
        """
        if self.k > _LARGEST_PRICED:
            return None
        labels = self.labels()
        pricings = _PRICINGS if seconds == math.inf else math.inf
        proof = prove(self.records, self.k, seconds, labels, pricings=pricings)
        if proof.total < _NEAR * shares(self.records, labels).sum():
            return None
        self.seen.append([proof.sets])
        return proof.prices

    def both(self, columns: list[NDArray[np.integer]], phase: _Phase, half: float) -> None:
        """Choose among the known groups and search on, side by side where there are threads.

        half: how long to search where there is one.
        """
        labels, rng = self.labels(), self.rng.spawn(1)[0]
        given = self.records, self.k, labels, columns, self.prices, rng
        found: list[NDArray[np.int64]] = []
        ended = threading.Event()

        def choose(seconds: float) -> None:
            tries = _TRIES if phase.seconds == math.inf else math.inf
            found.append(improve(*given, tries=tries, seconds=seconds, ended=ended.is_set))

        if thread_count() > 1:
            # An interruption does not wait for it: a programme cannot be stopped.
            helper = threading.Thread(target=choose, args=(phase.seconds,), daemon=True)
            helper.start()
            try:
                self.seek(phase, warm=True)
                helper.join()
            finally:
                ended.set()
        else:
            self.seek(phase._replace(seconds=half), warm=True)
            choose(math.inf if half == math.inf else phase.seconds - half)
        better = found[0]
        self.search.take(np.argsort(better, kind="stable"), np.bincount(better))


def _clock() -> float:
    return time.monotonic() - seconds_compiling()


def _compile(records: NDArray[np.float64], k: int) -> None:
    """Have the kernels and the solver ready before time is taken."""
    few = np.ascontiguousarray(records[: 2 * k])
    labels = np.repeat(np.arange(2), k)
    everyone = [np.arange(2 * k, dtype=np.int32).reshape(2, k)]
    rng = np.random.default_rng(0)
    improve(few, k, labels, everyone, np.zeros(2 * k), rng, tries=1)
    if k <= _LARGEST_PRICED:
        prove(few, k, np.inf, labels, pricings=1)
