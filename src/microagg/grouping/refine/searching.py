"""search: the groups of another method annealed, for as long as an effort, steps or time allow."""

import math
import time
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from microagg.base.errors import OptionError
from microagg.grouping.bound.best import search_best
from microagg.grouping.divide.small_cells import IN_SMALL_CELLS
from microagg.grouping.method import MOST_SECONDS, Groups, Method, Option, Task, number, whole
from microagg.grouping.methods import START, check_start, plainly
from microagg.grouping.refine.budget import EFFORTS, afforded
from microagg.grouping.refine.search import search


def _effort(name: str) -> str:
    if name not in EFFORTS:
        raise ValueError
    return name


EFFORT = Option(
    "effort",
    "brief, quick, balanced (the default) or best: steps by the number of records; best searches "
    "many times and adds integer programmes, up to 5,000 records of numbers only",
    None,
    _effort,
    "brief, quick, balanced or best",
)
STEPS = Option(
    "steps",
    "how many steps, instead: the same seed gives the same groups",
    None,
    whole(0),
    "a whole number, 0 or more",
)
TIME_LIMIT = Option(
    "time_limit",
    "seconds, instead or with effort best: groups may differ from run to run",
    None,
    number(lambda seconds: 0 <= seconds <= MOST_SECONDS),
    "a number of seconds, 0 to a billion",
)
# By categories a step takes several times as long, so an effort has fewer, but for the briefest.
_STEPS_IF_MIXED, _FEWEST_IF_MIXED = 0.2, 10
# Each says how long to search.
BUDGET = {EFFORT.name, STEPS.name, TIME_LIMIT.name}


def refine_groups(task: Task, method: Method, seconds: float) -> Groups:
    """The groups of any method, and a search from there: for so many seconds, or balanced."""
    first = replace(task, advance=lambda share: task.advance(0.5 * share))
    groups = method.group(first)
    steps = _afforded(task, "balanced") if seconds == math.inf else None
    return _search_on(task, groups, steps, seconds, 0.5)


def _afforded(task: Task, effort: str) -> int:
    n = len(task.records)
    steps = afforded(n, effort)
    if task.mixed is None:
        return steps
    return min(steps, max(int(_STEPS_IF_MIXED * steps), _FEWEST_IF_MIXED * n))


def _search(task: Task) -> Groups:
    effort, steps = task.options["effort"] or "balanced", task.options["steps"]
    seconds = math.inf if task.options["time_limit"] is None else task.options["time_limit"]
    named = task.options["start"]
    start = IN_SMALL_CELLS.group if named is None else plainly(named)
    if seconds < math.inf:
        # Compiled on a few records, before time is taken.
        few = replace(task, records=task.records[: 2 * task.k], advance=lambda _share: None)
        start(replace(few, rng=np.random.default_rng(0), orders={}))
    begun = time.monotonic()
    groups = start(replace(task, advance=lambda share: task.advance(0.2 * share)))
    if seconds == math.inf and steps is None:
        steps = _afforded(task, effort)
    seconds = max(0.0, seconds - (time.monotonic() - begun))
    return _search_on(
        task, groups, steps, seconds, 0.2, search_best if effort == "best" else search
    )


def _search_on(
    task: Task,
    groups: Groups,
    steps: int | None,
    seconds: float,
    done: float,
    seek: Callable[..., Groups] = search,
) -> Groups:
    def advance(share: float) -> None:
        task.advance(done + (1.0 - done) * share)

    given = task.records, *groups, task.k, task.rng, advance
    if task.mixed is not None:
        return search(*given, steps=steps, seconds=seconds, mixed=task.mixed)
    return seek(*given, steps=steps, seconds=seconds)


def _agree(options: Mapping[str, Any], d: int) -> None:
    if options["start"] is not None:
        check_start("search", options, d)
    given = [name for name in ("steps", "time_limit", "effort") if options[name] is not None]
    if len(given) > 1 and (options["effort"] != "best" or "steps" in given):
        raise OptionError(
            f"{given[0]} and {given[1]} exclude each other; give one of them, "
            "or time_limit with effort='best'"
        )


METHODS = (
    Method(
        "search",
        "groups of another method annealed: records move, change places, found and leave groups; "
        "with categories by the loss as it is reported, that of the commonest in a group",
        "microagg",
        "as the start, and O(d) a step",
        _search,
        options=(
            EFFORT,
            STEPS,
            TIME_LIMIT,
            replace(
                START,
                meaning="the method to start from, by default mdav, beyond 10,000 records in cells "
                "of 5,000 or so: soon it makes no difference",
                default=None,
            ),
        ),
        agree=_agree,
    ),
)
