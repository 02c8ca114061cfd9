"""What a release would do and cost, before it is made."""

import os
import time
from dataclasses import asdict, dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from microagg.base.errors import MicroaggError
from microagg.base.progress import watch
from microagg.base.recipe import Recipe
from microagg.engine.choosing import (
    Where,
    choose_engine,
    memory_for_cells,
    memory_for_table,
    refuse_large_cells,
)
from microagg.engine.plan import Plan, make_plan
from microagg.grouping.constraints import How, partition_units
from microagg.kernels.compiling import seconds_compiling
from microagg.table.streams import estimated_size

_SAMPLES = (2000, 8000)


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
            f"memory     about {_rounded(self.megabytes)} MB besides the program itself",
            *(f"note       {note}" for note in self.notes),
        ]


def estimate(
    table: Any,
    recipe: Recipe,
    where: Where,
    *,
    prove: float = 0.0,
    progress: bool | None = None,
) -> Estimate:
    """Look at the table, plan, try the method on samples; what `protect` would do. Writes nothing.

    Whatever `protect` would refuse before it groups is refused here, but for lack of disk.
    """
    # What a run that was cut off has left is for the one that goes on with it.
    where = replace(where, engine=where.settled(table), work=None, resume=False)
    with watch("opening", progress) as advance:
        engine = choose_engine(table, recipe, where, advance, prove)
    try:
        with watch("looking at all records", progress) as advance:
            survey = engine.survey(advance)
        plan = make_plan(survey, {"name": engine.origin.name, "sha256": engine.sha256})
        refuse_large_cells(plan, engine, where)
        sample, _ = survey.sample.result()
        points = plan.place(plan.code(sample))
        others = [
            name
            for name in engine.columns
            if name not in (*recipe.quasi_identifiers, *recipe.confidential)
        ]
        if engine.name == "memory":
            size = estimated_size(table) if isinstance(table, str | os.PathLike) else None
            bytes_needed = memory_for_table(size or survey.rows * 8 * (len(engine.columns) + 1))
        else:
            bytes_needed = memory_for_cells(plan)
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
            notes=(
                *engine.notes,
                *(
                    f"{coding.name} has {coding.missing} missing values"
                    for coding in plan.codings
                    if coding.missing
                ),
            ),
        )
    finally:
        engine.close()


def _seconds(points: NDArray[np.float64], plan: Plan) -> float | None:
    """The time of grouping all records: measured on samples, drawn out to all."""
    rng = np.random.default_rng(plan.recipe.seed)
    sizes = sorted({min(len(points), size) for size in _SAMPLES})
    how = How(plan.method, plan.recipe.seed, plan.options, plan.recipe.refine)
    times = []
    for size in sizes:
        sample = points[np.sort(rng.choice(len(points), size, replace=False))]
        try:
            # Twice: the first call may load and compile.
            for _ in range(2):
                compiled, started = seconds_compiling(), time.perf_counter()
                partition_units(sample, plan.recipe.k, how)
                took = time.perf_counter() - started - (seconds_compiling() - compiled)
        except MicroaggError:
            return None
        times.append(took)
    within = min(plan.cell_rows or plan.rows, plan.rows)
    cells = plan.rows / within
    if len(sizes) == 1:
        return times[0] * plan.rows / sizes[0]
    growth = np.log(max(times[1], 1e-4) / max(times[0], 1e-4)) / np.log(sizes[1] / sizes[0])
    return float(cells * times[1] * (within / sizes[1]) ** float(np.clip(growth, 1.0, 2.0)))


def _rounded(value: float) -> str:
    return f"{value:.1f}" if value < 10 else f"{value:.0f}"
