"""Spark: the journey of a table of any size, on as many machines as there are."""

from dataclasses import dataclass, field
from os import PathLike, fspath
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from microagg.actions.large import certificate_in_parts, plan_path
from microagg.base.certificate import Certificate, Check
from microagg.base.errors import InputError, OptionError
from microagg.base.files import whole_path
from microagg.base.recipe import Recipe
from microagg.columns.summary import attribute, understood
from microagg.columns.told import Attribute, Correlations
from microagg.engine.plan import DROPPED, Plan
from microagg.engine.spark import files
from microagg.engine.spark.engine import Protected, class_sizes, protect_source
from microagg.engine.spark.session import active_session, plainly, session_for, start_session
from microagg.engine.spark.sources import Source, form_of, local_path, open_source
from microagg.engine.survey import check_suitable
from microagg.release.release import certificate_path
from microagg.table.opening import Origin, check_columns

__all__ = ["SparkRelease", "protect", "protect_path"]


@dataclass(eq=False)
class SparkRelease:
    """A protected table in Spark and what is known of it.

    data: the protected table, a Spark DataFrame, whose rows Spark holds until `forget`.
    plan: how rows found their groups; with it a later run gives the same release. It tells averages
        and borders of the original: not for the public.
    certificate: what it promises and what was counted on it.
    """

    data: Any
    plan: Plan = field(repr=False)
    recipe: Recipe
    certificate: Certificate
    origin: Origin = field(repr=False)
    counted: tuple[str, ...] = field(repr=False)
    sizes: tuple[NDArray[np.int64], NDArray[np.int64]] = field(repr=False)
    protected: Protected = field(repr=False)
    source: Source = field(repr=False)
    assessment: None = field(default=None, repr=False)

    def write(self, target: str | PathLike[str], *, force: bool = False) -> Certificate:
        """Write a folder of files, read it back, count it, and only then let it take its name.

        target: a path that all machines share; the suffix says the format, Parquet or CSV, without
            one it is that of the source.
        force: replace what is there. The input itself is never replaced.

        Beside it, `<folder>.certificate.json` says what was promised and found, and
        `<folder>.plan.json` keeps the plan, for those who made it only.
        """
        path, form = files.target_of(target, self.source.form)
        files.refuse_overwriting(path, self.source.path, force)
        certificate, plan = certificate_path(path), plan_path(path)
        # The release takes its name first, then what speaks of it, once all is on the disk.
        with (
            whole_path(certificate) as beside,
            whole_path(plan, 0o600) as planned,
            files.whole_folder(path) as room,
        ):
            if form == "csv":
                delimiter = files.delimiter_for(path, self.source.delimiter)
                found = files.write_csv(self.data, room, delimiter)
            else:
                found = files.write_parquet(self.data, room)
            self._check(found, form, files.sha256_of_files(room))
            self.certificate.write(beside)
            planned.write_text(self.plan.to_json(), encoding="utf-8")
            # What speaks of an earlier release must never stand beside this one.
            certificate.unlink(missing_ok=True)
            plan.unlink(missing_ok=True)
        return self.certificate

    def report(self, path: str | PathLike[str], *, public: bool = False) -> None:
        """Write the report, one HTML file; a public one shows only what the release shows."""
        from microagg.release.telling import story_of
        from microagg.report.page import write

        write(story_of(self, public=public), Path(path))

    def forget(self) -> None:
        """Let Spark forget the rows; `data` would then be made anew from the source."""
        self.protected.kept.unpersist()

    def class_sizes(self) -> NDArray[np.int64]:
        """How many records look alike, class by class."""
        return np.repeat(*self.sizes)

    @property
    def attributes(self) -> tuple[Attribute, ...]:
        """The columns as the report shows them; confidential ones by a sample."""
        return (*self.protected.figures.attributes(), *self._confidential(public=False))

    @property
    def correlations(self) -> Correlations | None:
        """How numbers go together, before and after."""
        return self.protected.figures.correlations(public=False)

    def shown_alone(self) -> tuple[tuple[Attribute, ...], Correlations | None]:
        """The columns and how they go together, by the release alone."""
        figures = self.protected.figures
        shown = (*figures.public_attributes(), *self._confidential(public=True))
        return shown, figures.correlations(public=True)

    def _confidential(self, public: bool) -> list[Attribute]:
        sample, strata = self.protected.sample, self.plan.strata_of(self.protected.sample)
        stays = np.ones(sample.num_rows, bool) if strata is None else strata != DROPPED
        found = [
            understood(name, sample[name].combine_chunks(), self.origin)
            for name in self.recipe.confidential
        ]
        columns = [column.rows(stays) for column in found if column is not None]
        same = not public and bool(stays.all())
        return [attribute("confidential", column, column if same else None) for column in columns]

    def _check(self, found: Any, form: str, sha256: str) -> None:
        """Count the release again as it was written."""
        self.sizes = class_sizes(found, self.counted)
        fields, meant = found.schema.fields, self.data.schema.fields
        same = [each.name for each in fields] == [each.name for each in meant]
        if form == "parquet":
            same = same and [each.dataType for each in fields] == [each.dataType for each in meant]
        checks = (Check("every column is there, in order", same), *_checks(self.plan, self.sizes))
        self.certificate = self.certificate.with_checks(
            checks, release_sha256=sha256, **_told(self.sizes)
        )
        self.certificate.refuse_broken()


def protect(
    source: Any,
    recipe: Recipe | None = None,
    *,
    plan: Plan | str | PathLike[str] | None = None,
    ordered: bool = False,
    session: Any = None,
    cell_rows: int | None = None,
    **settings: Any,
) -> SparkRelease:
    """Protect a table with Spark, as `microagg.protect` does in memory.

    source: a Spark DataFrame, a path (Parquet or CSV, a file or a folder) or the name of a table.
    recipe, settings: as for `microagg.protect`; `entity` and aggregate="proximity" need the whole
        table in one place.
    plan: that of an earlier release of the same table, or where it is kept: gives the same groups.
    ordered: put the rows back in order, which moves them between machines once more; otherwise they
        come cell by cell.
    session: of Spark; otherwise the active one, or one of our own on this machine.
    cell_rows: about how many rows a cell may have; groups do not cross the borders of cells.

    Every row is looked at where it lies, and moves once: to its cell. A part that is lost with its
    machine is made again as it was.
    """
    if plan is not None and not isinstance(plan, Plan):
        plan = Plan.from_json(_text_of(Path(plan)))
    if plan is not None and recipe is None and not settings:
        recipe = plan.recipe
    recipe = Recipe.from_settings(settings, recipe)
    check_suitable(recipe)
    if plan is not None and plan.recipe.to_dict() != recipe.to_dict():
        raise OptionError("the plan was made with another recipe; take that one, or plan anew")
    session = session_for(session)
    with plainly("read the table"):
        opened = open_source(source, recipe, session)
    check_columns(recipe.columns(), opened.names)
    return _released(opened, protect_source(opened, recipe, plan, ordered, cell_rows))


def protect_path(
    source: str | PathLike[str],
    output: str | PathLike[str],
    recipe: Recipe,
    *,
    master: str | None = None,
    force: bool = False,
    plan: Plan | str | PathLike[str] | None = None,
    ordered: bool = False,
) -> SparkRelease:
    """Protect what is at a path and write the release.

    master: of a cluster, otherwise this machine, for a session that ends with the release; one that
        runs already is used instead.
    """
    running = active_session()
    path, _ = files.target_of(output, form_of(fspath(source)))
    files.refuse_overwriting(path, local_path(fspath(source)), force)
    session = start_session(master or "local[*]") if running is None else running
    try:
        release = protect(source, recipe, plan=plan, ordered=ordered, session=session)
        release.write(output, force=force)
        release.forget()
    finally:
        if running is None:
            session.stop()
    return release


def _released(source: Source, protected: Protected) -> SparkRelease:
    plan = protected.plan
    sizes = class_sizes(protected.data, plan.counted)
    certificate = certificate_in_parts(
        plan,
        protected.figures,
        _told(sizes),
        columns=protected.data.columns,
        input_sha256=plan.source["sha256"],
        checks=_checks(plan, sizes),
        notes=source.notes,
    )
    certificate.refuse_broken()
    reading = plan.recipe.reading.as_reading()
    return SparkRelease(
        data=protected.data,
        plan=plan,
        recipe=plan.recipe,
        certificate=certificate,
        origin=Origin(source.name, source.form, reading, path=source.path),
        counted=plan.counted,
        sizes=sizes,
        protected=protected,
        source=source,
    )


def _rows(sizes: tuple[NDArray[np.int64], NDArray[np.int64]]) -> int:
    return int((sizes[0] * sizes[1]).sum())


def _checks(plan: Plan, sizes: tuple[NDArray[np.int64], NDArray[np.int64]]) -> tuple[Check, ...]:
    """Whether all rows are there, and enough of them alike; by the sizes of classes found."""
    k = plan.recipe.k
    return (
        Check("every row that stays is there", _rows(sizes) == plan.rows - plan.dropped),
        Check(
            f"at least {k} records share each combination of values", bool((sizes[0] >= k).all())
        ),
    )


def _told(sizes: tuple[NDArray[np.int64], NDArray[np.int64]]) -> dict[str, Any]:
    """What a certificate says of the classes found."""
    size, times = sizes
    ends = np.cumsum(times)
    middle = np.searchsorted(ends, [(ends[-1] - 1) // 2, ends[-1] // 2], side="right")
    return {
        "k_found": int(size[0]),
        "groups": int(ends[-1]),
        "smallest_group": int(size[0]),
        "median_group": float(size[middle].mean()),
        "largest_group": int(size[-1]),
    }


def _text_of(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError):
        raise InputError(f"the plan {path.name} cannot be read; is it the right file?") from None
