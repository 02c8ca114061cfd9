"""Every method, as it stands in the registry."""

import operator
import time
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from microagg.base.errors import OptionError
from microagg.grouping.bound.best import search_best
from microagg.grouping.cluster.cbfs import cbfs
from microagg.grouping.cluster.mdav import mdav
from microagg.grouping.cluster.vmdav import vmdav
from microagg.grouping.divide import composed
from microagg.grouping.methods import Groups, Method, Task, find
from microagg.grouping.refine.budget import EFFORTS, afforded
from microagg.grouping.refine.decompose import decompose
from microagg.grouping.refine.search import search
from microagg.grouping.sequence.orderings import (
    order_by_nearest_next,
    order_by_principal_component,
    order_by_zscore,
)
from microagg.grouping.sequence.reorder import reorder, walk_groups
from microagg.grouping.sequence.sorting import sort_stably
from microagg.grouping.sequence.split import split_sequence, split_sorted
from microagg.grouping.sequence.tour import order_by_tour

Order = NDArray[np.int32]
# More records would wait longer, and need more memory, than to read and write them.
_SEARCHED_UNASKED = 200_000


def _split(task: Task, order: Order) -> Groups:
    integer = task.whole is not None
    records = task.records if task.whole is None else task.whole
    return order, split_sequence(records, task.k, order=order, integer=integer)


def _by_order(name: str, order_of: Callable[[Task], Order]) -> Callable[[Task], Groups]:
    """Put the records in a line, once for every k, and split it."""

    def group(task: Task) -> Groups:
        if name not in task.orders:
            task.orders[name] = order_of(task)
        return _split(task, task.orders[name])

    return group


def _by_walk(group: Callable[[Task], Groups]) -> Callable[[Task], Groups]:
    """Walk the groups of another method, each to the nearest next, and split the walk."""

    def walk(task: Task) -> Groups:
        order, sizes = group(task)
        return _split(task, walk_groups(task.records, order, sizes, task.advance))

    return walk


def _univariate(task: Task) -> Groups:
    column = (task.records if task.whole is None else task.whole)[:, 0]
    order, line = sort_stably(np.ascontiguousarray(column))
    return order, split_sorted(line, task.k, integer=task.whole is not None)


def _mdav(task: Task) -> Groups:
    return mdav(task.records, task.k, task.advance)


def _cbfs(task: Task) -> Groups:
    return cbfs(task.records, task.k, task.advance)


def _vmdav(task: Task) -> Groups:
    gamma = task.options.get("gamma")
    if gamma is not None and not (isinstance(gamma, int | float) and gamma >= 0):
        raise OptionError("gamma must be a number, 0 or more; 0.2 and 1.1 are usual")
    return vmdav(task.records, task.k, task.advance, gamma=gamma)


def _reorder(task: Task) -> Groups:
    clusters = _checked_clusters(task.options.get("clusters"))
    order, sizes = reorder(task.records, task.k, task.rng, task.advance, clusters=clusters)
    # The rounds weigh z-scores; only the last line is split anew, about integers.
    return (order, sizes) if task.whole is None else _split(task, order.astype(np.int32))


def _checked_clusters(clusters: Any) -> list[int] | None:
    if clusters is None:
        return None
    try:
        numbers = [operator.index(number) for number in np.atleast_1d(clusters).tolist()]
    except TypeError:
        numbers = []
    if not numbers or min(numbers) < 1:
        raise OptionError("clusters must be a whole number, 1 or more, or several: range(1, 21)")
    return numbers


def _decompose(task: Task) -> Groups:
    start = find(task.options.get("start", "mdav"))
    several = task.records.shape[1] > 1
    if start.choose is not None or start.name == "igd" or (start.one_column and several):
        raise OptionError(f"igd cannot start from {start.name!r} here; start='mdav' is usual")
    order, sizes = start.group(task)
    return decompose(task.records, order, sizes, task.k, task.advance)


def _search(task: Task) -> Groups:
    steps, seconds, best = _checked_budget(task)
    start = find(task.options.get("start", "mdav"))
    several = task.records.shape[1] > 1
    if start.choose is not None or start.name == "search" or (start.one_column and several):
        raise OptionError(f"search cannot start from {start.name!r} here; start='mdav' is usual")
    if seconds is not None:
        # Compiled on a few records, before time is taken.
        start.group(Task(task.records[: 2 * task.k], task.k, np.random.default_rng(0)))
    begun = time.monotonic()
    first = replace(task, options={}, advance=lambda share: task.advance(0.2 * share))
    groups = start.group(first)
    if seconds is not None:
        seconds = max(0.0, seconds - (time.monotonic() - begun))
    return _search_on(task, groups, steps, seconds, 0.2, search_best if best else search)


def refine_groups(task: Task, method: Method, seconds: float | None) -> Groups:
    """The groups of any method, and a search from there: balanced, or for so many seconds."""
    first = replace(task, advance=lambda share: task.advance(0.5 * share))
    groups = method.group(first)
    steps = afforded(len(task.records), "balanced") if seconds is None else None
    return _search_on(task, groups, steps, seconds, 0.5)


def _search_on(
    task: Task,
    groups: Groups,
    steps: int | None,
    seconds: float | None,
    done: float,
    seek: Callable[..., Groups] = search,
) -> Groups:
    def advance(share: float) -> None:
        task.advance(done + (1.0 - done) * share)

    return seek(task.records, *groups, task.k, task.rng, advance, steps=steps, seconds=seconds)


def _checked_budget(task: Task) -> tuple[int | None, float | None, bool]:
    """Steps or seconds that a search is given, one of them None; and whether it is of the best."""
    effort = task.options.get("effort", "balanced")
    if effort not in EFFORTS:
        raise OptionError(f"there is no effort {effort!r}; there are {', '.join(EFFORTS)}")
    given = [name for name in ("steps", "time_limit", "effort") if name in task.options]
    if len(given) > 1 and (effort != "best" or "steps" in given):
        raise OptionError(
            f"{given[0]} and {given[1]} exclude each other; give one of them, "
            "or time_limit with effort='best'"
        )
    limit = task.options.get("time_limit")
    if limit is not None:
        if isinstance(limit, bool) or not (isinstance(limit, int | float) and limit >= 0):
            raise OptionError("time_limit must be a number of seconds, 0 or more")
        return None, float(limit), effort == "best"
    steps = task.options.get("steps")
    if steps is not None:
        if isinstance(steps, bool) or not (isinstance(steps, int | np.integer) and steps >= 0):
            raise OptionError("steps must be a whole number, 0 or more")
        return int(steps), None, False
    return afforded(len(task.records), effort), None, effort == "best"


def _choose(n: int, d: int, _k: int, integer: bool) -> str:
    """The least loss, as measured, for the time that a person would wait."""
    if d == 1:
        return "univariate"
    if integer:
        return "tsp" if n <= 10_000 else "npn"
    return "search" if n <= _SEARCHED_UNASKED else "lloyd-mdav"


def _unreachable(_task: Task) -> Groups:
    raise AssertionError("auto is replaced by the method it chooses")


ALL = (
    Method(
        "auto",
        "search; lloyd-mdav beyond 200,000 records; univariate for one column; about integers tsp, "
        "or npn beyond 10,000 records",
        "microagg",
        "as the method picked",
        _unreachable,
        options={"effort": "of the search: quick, balanced or best"},
        integer=True,
        choose=_choose,
    ),
    Method(
        "mdav",
        "groups of k around the records farthest out, two at a time; exact, by a spatial index",
        "Domingo-Ferrer and Torra 2005; P3M, Algorithm 1",
        "O(n^2) at worst, about n^1.5 or less on most data",
        _mdav,
    ),
    Method(
        "vmdav",
        "groups of k to 2k - 1 around the records farthest out, extended while neighbours are near",
        "Solanas and Martinez-Balleste 2006",
        "O(n^2) at worst",
        _vmdav,
        options={"gamma": "how readily a group is extended, 0 or more; found out when not given"},
        bounded=False,
    ),
    Method(
        "cbfs",
        "groups of k around the records farthest out, one at a time",
        "Laszlo and Mukherjee 2005; RepOrdMic, section 3",
        "O(n^2) at worst",
        _cbfs,
    ),
    Method(
        "zscore",
        "records in order of the sum of their z-scores, split optimally",
        "IMHMI, section 2.2",
        "O(n log n + k n d)",
        _by_order("zscore", lambda task: order_by_zscore(task.records)),
        integer=True,
    ),
    Method(
        "pca",
        "records in order of their first principal component, split optimally",
        "IMHMI, section 2.2",
        "O(n log n + n d^2 + k n d)",
        _by_order("pca", lambda task: order_by_principal_component(task.records)),
        integer=True,
    ),
    Method(
        "npn",
        "always on to the nearest record left, split optimally",
        "IMHMI, section 2.2",
        "O(n^2) at worst",
        _by_order("npn", lambda task: order_by_nearest_next(task.records, task.advance)),
        integer=True,
    ),
    Method(
        "tsp",
        "records along a short tour, split optimally",
        "IMHMI, section 2.2 (FDM)",
        "about O(n log n)",
        _by_order("tsp", lambda task: order_by_tour(task.records, task.advance)),
        integer=True,
    ),
    Method(
        "mdav-mhm",
        "the groups of mdav walked one after the other, split optimally",
        "IMHMI, section 2.2; RepOrdMic, section 3",
        "as mdav",
        _by_walk(_mdav),
        integer=True,
    ),
    Method(
        "cbfs-mhm",
        "the groups of cbfs walked one after the other, split optimally",
        "IMHMI, section 2.2; RepOrdMic, section 3",
        "as cbfs",
        _by_walk(_cbfs),
        integer=True,
    ),
    Method(
        "reporder",
        "records ordered cluster by cluster, split, and ordered again until the loss stops falling",
        "RepOrdMic, Algorithm 1",
        "about O(n^1.5) an iteration",
        _reorder,
        options={"clusters": "how many initial clusters, or several numbers to try"},
        integer=True,
    ),
    Method(
        "igd",
        "groups dissolved and shrunk into their neighbours while the loss falls",
        "Khomnotai, Lin, Peng and Santra 2018; RepOrdMic, section 3",
        "as the start, and about O(n log n) a pass",
        _decompose,
        options={"start": "the method to start from, mdav by default"},
    ),
    Method(
        "search",
        "groups of another method annealed: records move, change places, found and leave groups",
        "microagg",
        "as the start, and O(d) a step",
        _search,
        options={
            "effort": "quick, balanced (the default) or best: steps by the number of records; best "
            "searches many times and adds integer programmes, up to 5,000 records",
            "steps": "how many steps, instead: the same seed gives the same groups",
            "time_limit": "seconds, instead or with effort best: groups may differ from run to run",
            "start": "the method to start from, mdav by default: soon it makes no difference",
        },
    ),
    Method(
        "pca-mdav",
        "mdav on the principal components that keep a share of the variance",
        "PCA, section 4.3",
        "O(n d^2), then as mdav in fewer dimensions",
        composed.pca_mdav,
        options=composed.REDUCTION | composed.THEN,
    ),
    Method(
        "lloyd-mdav",
        "Lloyd's cells, then mdav in each",
        "PCA, section 5.2 (algorithm A)",
        "O(n cells d), then as mdav in cells",
        composed.lloyd_mdav,
        options=composed.CELLS | composed.THEN,
    ),
    Method(
        "mdav-mdav",
        "coarse mdav groups as cells, then mdav in each",
        "PCA, section 5.2 (algorithm B)",
        "O(n cells d), then as mdav in cells",
        composed.mdav_mdav,
        options=composed.CELLS | composed.THEN,
    ),
    Method(
        "piecewise-pca",
        "Lloyd's cells, then mdav on the principal components of each",
        "PCA, section 4.4",
        "O(n d (cells + d)), then as mdav in cells",
        composed.piecewise_pca,
        options=composed.CELLS | composed.REDUCTION | composed.THEN,
    ),
    Method(
        "lloyd-pca",
        "cells that suit their principal components, then mdav on those",
        "PCA, section 4.5",
        "O(n cells d^2), then as mdav in cells",
        composed.lloyd_pca,
        options=composed.CELLS | composed.REDUCTION | composed.THEN,
    ),
    Method(
        "univariate",
        "one attribute, at the least loss there is; several with partition_columns",
        "IMHMI, section 3",
        "O(n log n)",
        _univariate,
        integer=True,
        one_column=True,
    ),
)
