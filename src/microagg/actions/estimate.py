"""What a release would do and cost, before it is made."""

import os
import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from microagg.base.errors import MicroaggError
from microagg.base.progress import Advance, watch
from microagg.base.recipe import Recipe
from microagg.engine.choosing import (
    Where,
    choose_engine,
    memory_for_cells,
    memory_for_table,
    refuse_large_cells,
)
from microagg.engine.memory import Memory
from microagg.engine.plan import Plan
from microagg.engine.planning import make_plan
from microagg.engine.protocol import Engine, refuse_bound, refuse_in_parts
from microagg.grouping.constraints import How, partition_units
from microagg.kernels.announcing import seconds_compiling
from microagg.table.opening import open_head
from microagg.table.streams import estimated_size

_SAMPLES = (500, 2000, 8000)
# Numbers in a sample at most, so that tables of many columns are tried as fast as others.
_NUMBERS = 1 << 21
_FEW = 8
# Seconds that a trial may take, about.
_PATIENCE = 0.7


@dataclass(frozen=True)
class Estimate:
    """What would be done, and about how long and how much memory it would take.

    k_given: somebody asked for this k. seconds: of grouping, from samples; None where the method
    could not be tried on them.
    """

    source: str
    engine: str
    records: int
    roles: dict[str, list[str]]
    kinds: dict[str, str]
    method: str
    cell_rows: int | None
    k: int
    k_given: bool
    seconds: float | None
    megabytes: float
    notes: tuple[str, ...]

    def to_dict(self) -> dict[str, Any]:
        """Plain data."""
        return asdict(self)

    def sentences(self) -> list[str]:
        """The estimate in words."""
        kinds = ", ".join(f"{name} ({kind})" for name, kind in self.kinds.items())
        rest = [*self.roles["confidential"], *self.roles["other"]]
        took = "unknown" if self.seconds is None else f"about {_rounded(self.seconds)} s"
        default = "" if self.k_given else " (by default)"
        return [
            f"{self.source}: {self.records} records, groups of at least {self.k}{default}, by "
            f"{self.method}",
            f"protected  {kinds}",
            f"dropped    {', '.join(self.roles['identifiers']) or 'nothing'}",
            f"kept       {', '.join(rest) or 'nothing else'}",
            f"engine     {self.engine}",
            f"grouping   {took}, judged by samples; reading and writing come on top",
            f"memory     about {_rounded(self.megabytes)} MB, the program itself included",
            *(f"note       {note}" for note in self.notes),
        ]


def estimate(
    table: Any,
    recipe: Recipe,
    where: Where,
    *,
    prove: float = 0.0,
    progress: bool | None = None,
    most: int = 1 << 22,
) -> Estimate:
    """Look at the table, plan, try the method on samples; what `protect` would do. Writes nothing.

    Whatever `protect` would refuse before it groups is refused here, but for lack of disk. It takes
    a few seconds, whatever the table: of a file of more than `most` bytes only the first are looked
    at, and strata that are small there may be larger.
    """
    # What a run that was cut off has left is for the one that goes on with it.
    where = replace(where, engine=where.settled(table), work=None, resume=False)
    with watch("opening", progress) as advance:
        engine, share, left_out = _opened(table, recipe, where, advance, prove, most)
    try:
        with watch("looking at the records", progress) as advance:
            survey = engine.survey(advance)
        looked = survey.rows
        survey.rows, survey.units = (round(seen / share) for seen in (survey.rows, survey.units))
        plan = make_plan(survey, {"name": engine.origin.name, "sha256": engine.sha256})
        refuse_large_cells(plan, engine, where)
        sample, _ = survey.sample.result()
        points = plan.place(plan.code(sample))
        named = {*recipe.quasi_identifiers, *recipe.confidential}
        others = [name for name in (*engine.columns, *left_out) if name not in named]
        if engine.name == "memory":
            size = estimated_size(table) if isinstance(table, str | os.PathLike) else None
            width = len(engine.columns) + len(left_out)
            bytes_needed = memory_for_table(size or survey.rows * 8 * (width + 1))
        else:
            bytes_needed = memory_for_cells(plan)
        notes = [*engine.notes]
        if share < 1.0:
            notes.append(
                f"only the first {looked} records were looked at, so that the number of records is "
                "about right, and what others hold is not known"
            )
        notes += [
            f"{coding.name} has {coding.missing} missing values"
            for coding in plan.codings
            if coding.missing
        ]
        return Estimate(
            source=engine.origin.name,
            engine=engine.name,
            records=survey.rows,
            roles={
                "quasi_identifiers": list(recipe.quasi_identifiers),
                "confidential": list(recipe.confidential),
                "identifiers": list(recipe.identifiers),
                "other": others,
            },
            kinds={coding.name: coding.kind for coding in plan.codings},
            method=plan.called,
            cell_rows=plan.cell_rows,
            k=recipe.k,
            k_given="k" in recipe.model_fields_set,
            seconds=_seconds(points, plan),
            megabytes=bytes_needed / 1e6,
            notes=tuple(notes),
        )
    finally:
        engine.close()


def _opened(
    table: Any, recipe: Recipe, where: Where, advance: Advance, prove: float, most: int
) -> tuple[Engine, float, Sequence[str]]:
    """The table where it would be protected, or its first rows in memory; their share of it, and
    the columns that were not read."""
    head = None
    if where.engine != "spark":
        head = open_head(table, recipe.reading, recipe.columns(), most)
    if head is None:
        return choose_engine(table, recipe, where, advance, prove), 1.0, ()
    refuse_bound(recipe, prove)
    if where.engine != "memory":
        refuse_in_parts(recipe, prove)
    if recipe.small_strata == "error":
        recipe = recipe.model_copy(update={"small_strata": "merge"})
    engine = Memory(head.opened, recipe)
    engine.name = where.engine
    return engine, head.share, head.left_out


class _EnoughError(Exception):
    """A trial has taken long enough to be judged."""


def _seconds(points: NDArray[np.float64], plan: Plan) -> float | None:
    """The time of grouping all records: measured on samples, drawn out to all."""
    recipe, options = plan.recipe, dict(plan.options)
    within = min(plan.cell_rows or plan.rows, plan.rows)
    cells = plan.rows / within
    # What is given in seconds takes these, and is not tried.
    limit, timed = options.get("time_limit"), not isinstance(recipe.refine, bool)
    if limit is not None:
        return float(cells * limit)
    how = How(plan.method, recipe.seed, options, False if timed else recipe.refine)
    rng = np.random.default_rng(recipe.seed)
    most = min(len(points), max(4 * recipe.k, _NUMBERS // points.shape[1]))
    sizes = sorted({min(most, size) for size in _SAMPLES})
    times: list[float] = []
    try:
        # The first call may load and compile, for which few numbers are enough.
        few = points[: min(len(points), 2 * recipe.k), :_FEW]
        _trial(np.ascontiguousarray(few), recipe.k, how)
        for size in sizes:
            if not times or times[-1] < _PATIENCE:
                sample = points[np.sort(rng.choice(len(points), size, replace=False))]
                times.append(_trial(sample, recipe.k, how))
    except MicroaggError:
        return None
    took, size = times[-1], sizes[len(times) - 1]
    growth = 1.0
    if len(times) > 1:
        before, grown = max(times[-2], 1e-4), size / sizes[len(times) - 2]
        growth = float(np.clip(np.log(max(took, 1e-4) / before) / np.log(grown), 1.0, 2.0))
    return float(cells * (took * (within / size) ** growth + (recipe.refine if timed else 0.0)))


def _trial(sample: NDArray[np.float64], k: int, how: How) -> float:
    """How long a sample takes; where that is too long, judged by the share that was done."""
    compiled, started, done = seconds_compiling(), time.perf_counter(), 1.0

    def took() -> float:
        return time.perf_counter() - started - (seconds_compiling() - compiled)

    def advance(share: float) -> None:
        nonlocal done
        done = share
        if share > 0.0 and took() > _PATIENCE:
            raise _EnoughError

    try:
        partition_units(sample, k, how, advance=advance)
    except _EnoughError:
        return took() / done
    return took()


def _rounded(value: float) -> str:
    return f"{value:.1f}" if value < 10 else f"{value:.0f}"
