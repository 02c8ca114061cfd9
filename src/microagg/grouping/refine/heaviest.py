"""Start again where the loss is: the records of the heaviest groups, grouped anew by themselves.

Where a few groups of outlying records hold most of the loss, how these are divided decides, and a
search that treats all records alike may freeze them in the wrong way early. There are few of them,
so they can be annealed from the start again, for long and several times.
"""

import math
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import NDArray

from microagg.base.progress import Advance, silent
from microagg.grouping.refine.budget import Budget

if TYPE_CHECKING:
    from microagg.grouping.refine.search import Search

# The share of steps or time that is spent so.
REDONE = 0.2
# The heaviest groups that hold these shares of the loss, one after the other, and steps a record
# that are enough for them: many short tries find more than a long one, unless groups are many.
_TRIES = ((0.8, 20_000), (0.7, 20_000), (0.93, 60_000), (0.6, 20_000))
# Not where they are more than this share of all: then no group is heavy.
_MOST_GROUPS = 0.25
_LEAST_GROUPS = 8
# Steps a record that are worth starting again for.
_STEPS_A_RECORD = 8_000
# Steps a second, before it is known: a careful guess.
_SPEED = 4e6


def is_concentrated(search: "Search") -> bool:
    """Whether few groups hold most of the loss."""
    return _heaviest(_losses(search), _TRIES[0][0]).size > 0


def worth_redoing(search: "Search", steps: int | None, seconds: float = math.inf) -> bool:
    """Whether some groups are heavy, and steps or seconds enough to start again with them."""
    enough = REDONE * (_SPEED * seconds if steps is None else steps)
    if enough < _STEPS_A_RECORD * _LEAST_GROUPS:
        return False
    losses = _losses(search)
    parts = [_heaviest(losses, share).size for share, _ in _TRIES]
    return any(0 < _STEPS_A_RECORD * size <= enough for size in parts)


def redo_heaviest(
    search: "Search",
    rng: np.random.Generator,
    advance: Advance = silent,
    *,
    steps: int | None = None,
    seconds: float = math.inf,
    speed: float = 0.0,
) -> int:
    """Spend so many steps or seconds; about how many steps are left, too few to start again.

    speed: steps a second, to know what seconds are worth. Groups are taken where they are better.
    """
    whole = Budget(len(search.records), None, seconds)
    left = int(seconds * speed) if steps is None else steps
    number = failed = 0
    while failed < len(_TRIES):
        share, enough = _TRIES[number % len(_TRIES)]
        rows = _heaviest(_losses(search), share)
        number += 1
        some = min(left, enough * rows.size)
        if rows.size == 0 or some < _STEPS_A_RECORD * rows.size:
            failed += 1
            continue
        failed = 0
        anew = search.within(rows)
        seconds = math.inf if steps is not None else min(whole.left(), some / speed)
        anew.run(rng, Budget(rows.size, None if steps is None else some, seconds), silent)
        order, sizes = anew.groups()
        search.take_part(rows[order], sizes)
        left = int(whole.left() * speed) if steps is None else left - some
        advance(whole.share() if steps is None else 1.0 - left / max(1, steps))
    return left


class _Losses(NamedTuple):
    """What the groups of a search lose."""

    order: NDArray[np.int32]
    labels: NDArray[np.int64]  # the group of each record in this order
    scatter: NDArray[np.float64]


def _losses(search: "Search") -> _Losses:
    order, sizes = search.groups()
    labels = np.repeat(np.arange(sizes.size), sizes)
    scatter = np.zeros(sizes.size)
    for column in search.records.T:
        values = column[order]
        means = np.bincount(labels, values) / sizes
        away = values - means[labels]
        scatter += np.bincount(labels, away * away)
    return _Losses(order, labels, scatter)


def _heaviest(losses: _Losses, share: float) -> NDArray[np.int64]:
    """The records of the fewest groups that hold so much of the loss; none if they are too many."""
    order, labels, scatter = losses
    heavy = np.argsort(-scatter, kind="stable")
    count = 1 + int(np.searchsorted(np.cumsum(scatter[heavy]), share * scatter.sum()))
    count = max(count, _LEAST_GROUPS)
    if count > _MOST_GROUPS * scatter.size:
        return np.zeros(0, np.int64)
    chosen = np.zeros(scatter.size, bool)
    chosen[heavy[:count]] = True
    return np.sort(order[chosen[labels]]).astype(np.int64)
