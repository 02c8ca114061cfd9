"""What a release would do and cost, before it is made."""

import time
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from microagg.actions.large import LEAST_MEMORY
from microagg.actions.protect import read_columns
from microagg.base.errors import MicroaggError
from microagg.base.recipe import Recipe
from microagg.columns.coded import Coded
from microagg.columns.points import as_matrix
from microagg.engine.survey import check_suitable
from microagg.grouping.doors import partition
from microagg.grouping.methods import resolve
from microagg.kernels.compiling import seconds_compiling
from microagg.table.frames import Frame
from microagg.table.opening import Opened, check_columns, open_table
from microagg.table.streams import open_stream

_SAMPLES = (2000, 8000)
# A table is held once as it came and once as it goes; methods hold points and an index on them.
_COPIES = 2
_POINT_COPIES = 3


@dataclass(frozen=True)
class Plan:
    """What would be done, and about how long and how much memory it would take.

    seconds: of grouping, from samples; None where the method could not be tried on them.
    """

    source: str
    records: int
    roles: dict[str, list[str]]
    kinds: dict[str, str]
    method: str
    k: int
    seconds: float | None
    megabytes: float
    notes: tuple[str, ...]

    def to_dict(self) -> dict[str, Any]:
        """Plain data."""
        return asdict(self)

    def sentences(self) -> list[str]:
        """The plan in words."""
        kinds = ", ".join(f"{name} ({kind})" for name, kind in self.kinds.items())
        kept = [*self.roles["confidential"], *self.roles["other"]]
        took = "unknown" if self.seconds is None else f"about {_rounded(self.seconds)} s"
        return [
            f"{self.source}: {self.records} records, groups of at least {self.k}, by {self.method}",
            f"protected  {kinds}",
            f"dropped    {', '.join(self.roles['identifiers']) or 'nothing'}",
            f"kept       {', '.join(kept) or 'nothing else'}",
            f"grouping   {took}, judged by samples; reading and writing come on top",
            f"memory     about {_rounded(self.megabytes)} MB besides the program itself",
            *(f"note       {note}" for note in self.notes),
        ]


def plan(table: Any, recipe: Recipe) -> Plan:
    """Read the table, try the method on samples, say what `protect` would do. Writes nothing."""
    source = open_table(table, recipe.reading.as_reading(), typed=recipe.quasi_identifiers)
    return _planned(source, recipe, source.frame.rows, None)


def plan_on_disk(address: str, recipe: Recipe) -> Plan:
    """The same for a table that is too large for memory, from its first records."""
    stream = open_stream(address, recipe.reading.as_reading(), recipe.quasi_identifiers)
    check_suitable(recipe)
    check_columns(recipe.columns(), stream.schema.names)
    first = pa.Table.from_batches([next(stream.batches())])
    source = Opened(Frame(first), stream.origin, stream.sha256, stream.notes)
    return _planned(source, recipe, stream.rows, LEAST_MEMORY)


def _planned(source: Opened, recipe: Recipe, rows: int, size: int | None) -> Plan:
    """rows: of the whole table, of which `source` may have some only; size: bytes, if known."""
    check_columns(recipe.columns(), source.frame.names)
    columns = read_columns(source, recipe)
    points = as_matrix(columns, recipe.attribute_weights)
    named = {*recipe.quasi_identifiers, *recipe.confidential, *recipe.identifiers}
    method, seconds = _tried(points, recipe, rows)
    notes = _notes(columns)
    if size is None:
        size = source.frame.hashable().nbytes * _COPIES + points.nbytes * _POINT_COPIES
    else:
        notes = [f"works on disk, in cells; judged by the first {source.frame.rows} records"]
    return Plan(
        source=source.origin.name,
        records=rows,
        roles={
            "quasi_identifiers": list(recipe.quasi_identifiers),
            "confidential": list(recipe.confidential),
            "identifiers": list(recipe.identifiers),
            "other": [name for name in source.frame.names if name not in named],
        },
        kinds={column.name: column.kind for column in columns},
        method=method,
        k=recipe.k,
        seconds=seconds,
        megabytes=size / 1e6,
        notes=(*source.notes, *notes),
    )


def _tried(points: NDArray[np.float64], recipe: Recipe, rows: int) -> tuple[str, float | None]:
    """The method for all records, and its time: measured on samples, drawn out to all."""
    n, width = points.shape
    chosen = resolve(recipe.method, recipe.method_options(), rows, width, recipe.k)
    name = chosen.method.name
    rng = np.random.default_rng(recipe.seed)
    sizes = sorted({min(n, size) for size in _SAMPLES})
    times = []
    for size in sizes:
        sample = points[np.sort(rng.choice(n, size, replace=False))]
        try:
            # Twice: the first call may load and compile.
            for _ in range(2):
                compiled, started = seconds_compiling(), time.perf_counter()
                partition(
                    sample,
                    recipe.k,
                    name,
                    standardize=False,
                    progress=False,
                    **chosen.options,
                )
                took = time.perf_counter() - started - (seconds_compiling() - compiled)
        except MicroaggError:
            return name, None
        times.append(took)
    if len(sizes) == 1:
        return name, times[0] * rows / n
    growth = np.log(max(times[1], 1e-4) / max(times[0], 1e-4)) / np.log(sizes[1] / sizes[0])
    # In cells, time grows with their number.
    within = min(n, rows)
    whole = times[1] * (within / sizes[1]) ** float(np.clip(growth, 1.0, 2.0))
    return name, whole * rows / within


def _notes(columns: list[Coded]) -> list[str]:
    return [
        f"{column.name} has {int(column.missing.sum())} missing values"
        for column in columns
        if column.missing is not None
    ]


def _rounded(value: float) -> str:
    return f"{value:.1f}" if value < 10 else f"{value:.0f}"
