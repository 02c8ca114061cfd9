"""The journey of a table that does not fit into memory: the same stops, part by part, disk to disk.

What `protect` does with a table in memory is done here by the engine; the release is read back and
counted anew just the same before it takes its name.
"""

import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

import microagg
from microagg.actions.protect import notes_on
from microagg.base.certificate import Certificate, Check
from microagg.base.errors import InputError, OptionError, PromiseError
from microagg.base.files import whole_path
from microagg.base.progress import watch
from microagg.base.recipe import Recipe
from microagg.columns.profile import Tally
from microagg.columns.told import Attribute, Correlations
from microagg.engine.disk.engine import OutOfCore, published_schema
from microagg.engine.disk.work import Work, free_space, open_work
from microagg.engine.plan import Plan
from microagg.kernels.memory import available_memory
from microagg.release.assessment import Assessment
from microagg.release.release import certificate_path, refuse_overwriting, sizes_of
from microagg.release.sampled import Sampled
from microagg.table import formats
from microagg.table.checks import sha256_of
from microagg.table.digests import Digests, digests_for, read_back_stream
from microagg.table.opening import STANDARD_STREAM, Origin, check_columns
from microagg.table.recount import Alike
from microagg.table.recount_parts import count_parts
from microagg.table.sinks import open_sink
from microagg.table.streams import Stream, estimated_size, open_stream

LEAST_MEMORY = 10**9
# `protect` holds a table about so many times.
_IN_MEMORY = 4


@dataclass(eq=False)
class LargeRelease:
    """A release that was written part by part, and what is known of it."""

    path: Path
    recipe: Recipe
    certificate: Certificate
    plan: Plan = field(repr=False)
    origin: Origin = field(repr=False)
    counted: tuple[str, ...] = field(repr=False)
    attributes: tuple[Attribute, ...] = field(repr=False)
    correlations: Correlations | None = field(repr=False)
    assessment: Assessment | None = field(repr=False)
    sizes: NDArray[np.int64] = field(repr=False)
    alone: tuple[tuple[Attribute, ...], Correlations | None] = field(repr=False)

    def class_sizes(self) -> NDArray[np.int64]:
        """How many records look alike, class by class."""
        return self.sizes

    def shown_alone(self) -> tuple[tuple[Attribute, ...], Correlations | None]:
        """The columns and how they go together, by the release alone."""
        return self.alone

    def report(self, path: str | os.PathLike[str], *, public: bool = False) -> None:
        """Write the report, one HTML file; a public one shows only what the release shows."""
        from microagg.release.telling import story_of
        from microagg.report.page import write

        write(story_of(self, public=public), Path(path))


def protect_large(
    source: str | os.PathLike[str],
    target: str | os.PathLike[str],
    *,
    recipe: Recipe | None = None,
    memory: int | str | None = None,
    resume: bool = False,
    force: bool = False,
    measures: bool = True,
    cell_rows: int | None = None,
    progress: bool | None = None,
    **settings: Any,
) -> LargeRelease:
    """Protect a table that may be larger than memory, from disk to disk.

    source: a Parquet, Arrow or CSV file, or a folder of Parquet files.
    target: the file to write; its suffix says the format. Beside it appear its certificate and, for
        those who made it only, the plan by which rows found their cells.
    recipe, settings: as for `protect`; `entity` and aggregate="proximity" need the whole table.
    memory: about how much may be used, such as "4GB"; at least 1 GB, which is also all that tables
        of usual width need.
    resume: go on where a run with the same input and recipe was cut off.
    force: replace the target.
    measures: judge risk and utility, on a sample, for the report.
    cell_rows: about how many rows a cell may have; groups do not cross the borders of cells.

    The same input and recipe give the same release, whatever the memory. Records are grouped cell
    by cell by the recipe's method, so there is a little more loss than on the whole. Needs disk
    space beside the target for the quasi-identifiers twice.
    """
    recipe = Recipe.from_settings(settings, recipe)
    _check_memory(memory)
    path = Path(target)
    origin_path = Path(source)
    refuse_overwriting(path, origin_path, force)
    formats.check_writable(str(path))
    same_form = not origin_path.is_dir() and formats.form_of(str(source)) == formats.form_of(
        str(path)
    )
    with watch("opening", progress) as report:
        stream = open_stream(
            source,
            recipe.reading.as_reading(),
            typed=recipe.quasi_identifiers if same_form else None,
            report=report,
        )
    check_columns(recipe.columns(), stream.schema.names)
    with open_work(path, resume) as work:
        return _Journey(stream, recipe, work, path, measures, progress).run(cell_rows)


class _Journey:
    """One large release in the making."""

    def __init__(
        self,
        stream: Stream,
        recipe: Recipe,
        work: Work,
        path: Path,
        measures: bool,
        progress: bool | None,
    ) -> None:
        self.stream, self.recipe, self.path = stream, recipe, path
        self.work, self.measures, self.progress = work, measures, progress
        self.engine = OutOfCore(stream, recipe, work)

    def run(self, cell_rows: int | None) -> LargeRelease:
        with watch("looking at all rows", self.progress) as report:
            plan, sample, rows = self.engine.plan(report, cell_rows)
        self._check_space(plan)
        with watch("sending rows to their cells", self.progress) as report:
            plan, counts = self.engine.route(plan, report)
        looked_at = Sampled(plan, sample, rows, self.measures)
        with watch(f"grouping {counts.size} cells by {plan.method}", self.progress) as report:
            self.engine.group(plan, counts, report, looked_at.see)
        certificate = certificate_path(self.path)
        kept_plan = plan_path(self.path)
        with (
            whole_path(certificate) as beside,
            whole_path(kept_plan, 0o600) as planned,
            whole_path(self.path) as temporary,
        ):
            release = self._write(plan, looked_at, temporary)
            release.certificate.write(beside)
            planned.write_text(plan.to_json(), encoding="utf-8")
            # What speaks of an earlier release must never stand beside this one.
            certificate.unlink(missing_ok=True)
            kept_plan.unlink(missing_ok=True)
        return release

    def _write(self, plan: Plan, looked_at: Sampled, path: Path) -> LargeRelease:
        schema = published_schema(self.stream.schema, plan)
        rows = plan.rows - plan.dropped
        tally = Tally(looked_at.columns, [coding.origin for coding in plan.codings])
        written = digests_for(path, self.stream.origin)
        with (
            watch("writing", self.progress) as report,
            open_sink(path, schema, self.stream.origin, rows) as sink,
        ):
            start = 0
            for part in self.engine.ranges(plan, report):
                tally.add(part.before, part.after)
                start = looked_at.find(part.after, start, part.kept)
                for batch in part.table.to_batches():
                    sink.write(batch)
                    written.add(batch)
        checks, alike = self._check(path, schema, written, rows, plan)
        certificate = certificate_in_parts(
            plan,
            tally,
            sizes_of(alike),
            columns=schema.names,
            input_sha256=self.stream.sha256,
            release_sha256=sha256_of(path),
            checks=checks,
            notes=self.stream.notes,
        )
        certificate.refuse_broken()
        confidential = looked_at.confidential(self.recipe, self.stream.origin, public=False)
        return LargeRelease(
            path=self.path,
            recipe=self.recipe,
            certificate=certificate,
            plan=plan,
            origin=self.stream.origin,
            counted=plan.counted,
            attributes=(*tally.attributes(), *confidential),
            correlations=tally.correlations(public=False),
            assessment=looked_at.assessment(tally, alike, plan, rows) if self.measures else None,
            sizes=alike.sizes,
            alone=looked_at.alone(self.recipe, self.stream.origin, tally),
        )

    def _check(
        self, path: Path, schema: pa.Schema, written: Digests, rows: int, plan: Plan
    ) -> tuple[tuple[Check, ...], Alike]:
        """Read the release back, compare it with what was meant, and count it anew."""
        try:
            with watch("reading back and counting", self.progress) as report:
                back = read_back_stream(path, schema, self.stream.origin)
                found = digests_for(path, self.stream.origin)
                batches = _hashed(back.batches(), found)
                alike = count_parts(batches, plan.counted, rows, self.work.folder, report)
        except InputError:
            raise PromiseError(
                "the written release cannot be read back, so it was not published"
            ) from None
        meant, there = written.of(), found.of()
        protected = set(self.recipe.quasi_identifiers)
        same = {name for name in meant if there.get(name) == meant[name]}
        return (
            Check(
                "every row and column is there, in order",
                list(meant) == list(there) and back.rows == rows,
            ),
            Check(
                "columns that nobody asked to protect are as they were",
                {name for name in meant if name not in protected} <= same,
            ),
            Check("protected columns hold the published values", protected <= same),
            Check(
                f"at least {self.recipe.k} records share each combination of values",
                alike.k >= self.recipe.k,
            ),
        ), alike

    def _check_space(self, plan: Plan) -> None:
        """Refuse to begin what the disk cannot hold: rows on their way, and the release."""
        needed = 8 * plan.rows * (len(plan.codings) + 2)
        free = free_space(self.work.folder)
        if free < needed:
            raise OptionError(
                f"work in parts needs about {needed / 1e9:.1f} GB of disk beside "
                f"{self.path.name}, but {free / 1e9:.1f} GB are free; write elsewhere, or make room"
            )


def engine_for(source: str, wanted: str, memory: int | str | None, resume: bool) -> str:
    """Where to protect the table at an address: "memory", "disk" or "spark".

    wanted: one of these, or "auto": on disk if the table is a folder of files, or if it would not
        fit into memory as `protect` needs it.
    """
    if wanted not in ("auto", "memory", "disk", "spark"):
        raise OptionError(f"there is no engine {wanted!r}; there are auto, memory, disk and spark")
    if wanted != "auto":
        return wanted
    if resume or (source != STANDARD_STREAM and Path(source).is_dir()):
        return "disk"
    size = estimated_size(source)
    allowed = available_memory() if memory is None else bytes_of(memory)
    fits = size is None or allowed is None or _IN_MEMORY * size + LEAST_MEMORY / 2 <= allowed
    return "memory" if fits else "disk"


def certificate_in_parts(
    plan: Plan,
    tally: Tally,
    sizes: Mapping[str, Any],
    *,
    columns: Sequence[str],
    input_sha256: str,
    checks: tuple[Check, ...],
    notes: Sequence[str],
    release_sha256: str | None = None,
) -> Certificate:
    """What a release made by a plan promises and what was found; sizes: see `sizes_of`."""
    recipe, cells = plan.recipe, plan.n_cells
    return Certificate(
        version=microagg.__version__,
        recipe=recipe.to_dict(),
        method=plan.called,
        seed=recipe.seed,
        counts="records",
        k_asked=recipe.k,
        **sizes,
        rows_read=plan.rows,
        rows_released=plan.rows - plan.dropped,
        columns=tuple(columns),
        information_loss=tally.total_loss,
        attribute_losses=tally.losses,
        input_sha256=input_sha256,
        recipe_sha256=recipe.sha256,
        release_sha256=release_sha256,
        checks=checks,
        notes=(
            *notes,
            f"Made in parts: {cells} cell{'s' * (cells > 1)} of similar records, which no group "
            "crosses.",
            *notes_on(
                recipe,
                plan.codings,
                plan.rows,
                small=plan.small,
                moved=plan.moved,
                crossed=plan.crossed,
            ),
        ),
    )


def plan_path(path: Path) -> Path:
    """Where the plan of a release stands."""
    return path.with_name(path.name + ".plan.json")


def bytes_of(memory: int | str) -> int:
    """A number of bytes, or a text such as "4GB" or "500 MB"."""
    if isinstance(memory, int) and not isinstance(memory, bool):
        return memory
    text = str(memory).strip().upper().removesuffix("B")
    unit = {"K": 10**3, "M": 10**6, "G": 10**9, "T": 10**12}.get(text[-1:], 1)
    number = text.rstrip("KMGT").strip()
    try:
        return int(float(number) * unit)
    except (ValueError, OverflowError):
        raise OptionError(
            f"memory must be a size such as 4GB or 500MB, but {str(memory)!r:.30} arrived"
        ) from None


def _check_memory(memory: int | str | None) -> None:
    if memory is not None and bytes_of(memory) < LEAST_MEMORY:
        raise OptionError(
            f"memory is {memory}, but work in parts needs {LEAST_MEMORY / 1e9:g}GB, whatever the "
            "size of the table; give at least that"
        )


def _hashed(batches: Iterator[pa.RecordBatch], digests: Digests) -> Iterator[pa.RecordBatch]:
    for batch in batches:
        digests.add(batch)
        yield batch
