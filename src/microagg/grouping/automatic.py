"""auto: the method that fits the table."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from microagg.grouping.method import Groups, Method, Task
from microagg.grouping.methods import resolve
from microagg.grouping.refine.searching import BUDGET, EFFORT

# More records would wait longer for a patient search than to read and write them.
_SEARCHED_PATIENTLY = 200_000
# And fewer of very many coordinates, each of which every step looks at.
_COORDINATES = 64 * _SEARCHED_PATIENTLY


def _choose(
    n: int, d: int, _k: int, integer: bool, given: Mapping[str, Any]
) -> tuple[str, Mapping[str, Any]]:
    """The least loss, as measured, for the time that a person would wait."""
    options = {name: value for name, value in given.items() if value is not None}
    if d > 1 and not integer:
        if n > _SEARCHED_PATIENTLY or n * d > _COORDINATES:
            patience = {} if BUDGET & set(options) else {"effort": "brief"}
            options = {**patience, **options}
        return "search", options
    # How long to search means nothing where nothing is searched.
    options.pop("effort", None)
    if d == 1:
        return "univariate", options
    return "tsp" if n <= 10_000 else "npn", options


def _group(task: Task) -> Groups:
    n, d = task.records.shape
    chosen = resolve("auto", task.options, n, d, task.k, integer=task.whole is not None)
    return chosen.method.group(replace(task, options=chosen.options))


METHODS = (
    Method(
        "auto",
        "search, beyond 200,000 records (fewer with more than 64 columns) brief; "
        "univariate for one column; "
        "about integers tsp, or npn beyond 10,000 records; other options are those of the method "
        "picked",
        "microagg",
        "as the method picked",
        _group,
        options=(EFFORT,),
        integer=True,
        choose=_choose,
    ),
)
