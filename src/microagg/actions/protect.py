"""The journey of a table: opened, surveyed, planned, grouped and published, wherever that is."""

import os
from contextlib import ExitStack
from datetime import UTC, datetime
from typing import Any, Unpack

import numpy as np
from numpy.typing import ArrayLike, NDArray

import microagg
from microagg.base.errors import OptionError
from microagg.base.groups import Partition
from microagg.base.progress import watch
from microagg.base.recipe import Recipe, Settings, describe_settings
from microagg.base.record import Record, input_hmac, new_secret, order_key
from microagg.engine.block import Given
from microagg.engine.choosing import Where, choose_engine, refuse_large_cells
from microagg.engine.counting import Wanted
from microagg.engine.plan import Plan
from microagg.engine.planning import make_plan
from microagg.engine.profile import LINKED, Profile
from microagg.engine.protocol import Engine
from microagg.grouping.bound.lower_bound import lower_bound
from microagg.grouping.methods import GIVEN
from microagg.kernels.group_passes import group_scatter
from microagg.measure.anonymity import disclosure
from microagg.release.giveaways import giveaways
from microagg.release.judging import assessed, is_judged_whole, shown
from microagg.release.notes import notes_on, public_notes
from microagg.release.promises import counts_for
from microagg.release.release import Release
from microagg.release.risks import classes_before


@describe_settings()
def protect(
    table: Any,
    *,
    recipe: Recipe | None = None,
    engine: str = "auto",
    memory: int | str | None = None,
    work: str | os.PathLike[str] | None = None,
    resume: bool = False,
    master: str | None = None,
    session: Any = None,
    record: Record | str | os.PathLike[str] | None = None,
    measures: bool = True,
    prove: float = 0.0,
    progress: bool | None = None,
    **settings: Unpack[Settings],
) -> Release:
    """Protect a table: records that others may recognise are grouped, and groups publish one value.

    table: a pandas, Polars, Arrow or Spark table, the path of a file or of a folder of Parquet
        files, or the URL of a database table.
    recipe: every setting; see `Recipe`. Settings that are named go before the recipe's own.
    engine: where it is made: memory, disk (in parts, for tables of any size), spark; auto is memory
        if the table fits. It never changes what is published.
    memory: about how much may be used, such as "4GB"; what is free otherwise.
    work: the folder that the disk engine works in, a temporary one otherwise; resume: go on where a
        run with the same input and recipe was cut off there.
    master, session: of Spark: the address of a cluster, or a session that runs already.
    record: that of an earlier release of the same input and recipe, to write it again to the byte.
    measures: judge risk and utility for the report: losses, classes and confidential columns on all
        records, the rest of up to 100,000 records on all, else on a sample.
    prove: spend up to so many seconds to prove how far from the least possible loss the groups are.
    method: besides a name also groups of your own: a Partition of the rows, or a function of
        points (n, m) and k that gives each record a label; in memory only.
    progress: show a bar: True always, False never, None when a terminal watches.

    The release has the same rows, without the identifiers; columns that nobody asked to protect are
    the same as before. Rows that are written are shuffled, see `row_order`. It never holds the
    original.
    """
    given, settings = _given(settings)
    recipe = Recipe.from_settings(settings, recipe)
    where = Where(
        engine=engine,
        memory=memory,
        work=work,
        resume=resume,
        master=master,
        session=session,
    )
    earlier = record if record is None or isinstance(record, Record) else Record.read(record)
    with watch("opening", progress) as advance:
        opened = choose_engine(table, recipe, where, advance, prove, given)
    return release_by(
        opened, where, earlier=earlier, measures=measures, prove=prove, progress=progress
    )


def release_by(
    engine: Engine,
    where: Where,
    *,
    earlier: Record | None = None,
    measures: bool = True,
    prove: float = 0.0,
    progress: bool | None = None,
) -> Release:
    """The release of the table that an engine has opened; see `protect`.

    The engine goes with the release, or is closed if there will be none.
    """
    with ExitStack() as unless_done:
        unless_done.callback(engine.close)
        with watch("looking at all records", progress) as advance:
            survey = engine.survey(advance)
        secret = _secret(earlier, engine, survey.recipe)
        plan = make_plan(survey, {"name": engine.origin.name, "sha256": engine.sha256})
        refuse_large_cells(plan, engine, where)
        with watch("finding the cells of records", progress) as advance:
            secrets = survey.secrets(engine.origin, plan.stays)
            plan = plan.with_counts(*engine.count(plan, advance, secrets))
        sample, rows = survey.sample.result()
        linked = LINKED if measures and not is_judged_whole(plan) else 0
        profile = Profile(plan, sample, rows, linked)
        with watch(f"grouping by {plan.called}", progress) as advance:
            engine.publish(plan, profile, advance, order_key(secret, survey.recipe.row_order))
        above = _above_optimum(engine, plan, prove, progress) if prove else None
        engine.forget()
        counts = [*counts_for(plan.recipe)]
        if measures:
            counts += map(disclosure, plan.recipe.confidential)
        distinct = tuple({count.key: count for count in counts}.values())
        wanted = Wanted(survey.secrets(engine.origin, plan.stays), distinct)
        kept, _ = survey.kept.result()
        told, seen_by_all = giveaways(plan, kept, engine.origin)
        public = (*seen_by_all, *public_notes(plan.recipe))
        notes = (*engine.notes, *notes_on(plan, profile, kept, engine.origin), *told, *public)
        record = _recorded(engine, plan, profile, secret, above, notes)
        assessment = None
        if measures:
            with watch("measuring", progress) as advance:
                assessment = assessed(plan, sample, profile, advance)
            assessment.figures.update(profile.figures)
            if record.dominance:
                assessment.figures["dominance"] = profile.dominance.percent
        pages = shown(plan, sample, profile, engine.origin)
        before = classes_before(plan, sample) if measures else None
        release = Release(engine, plan, record, pages, assessment, wanted, progress, before, public)
        unless_done.pop_all()
    return release


def _given(settings: Settings) -> tuple[Given, Settings]:
    """What makes the groups if somebody brings them along, and the settings that say so."""
    method: Any = settings.get("method", "")
    if isinstance(method, str):
        return None, settings
    if not isinstance(method, Partition) and not callable(method):
        raise OptionError(
            "method must be a name, a Partition or a function of points and k, but an object of "
            f"type {type(method).__name__} arrived"
        )

    def labels(points: NDArray[np.float64], k: int) -> ArrayLike:
        made = method if isinstance(method, Partition) else method(points, k)
        return made.labels if isinstance(made, Partition) else made

    return labels, {**settings, "method": GIVEN}


def _recorded(
    engine: Engine,
    plan: Plan,
    profile: Profile,
    secret: str,
    above: float | None,
    notes: tuple[str, ...],
) -> Record:
    recipe, largest = plan.recipe, profile.dominance.largest.tolist()
    return Record(
        version=microagg.__version__,
        made=datetime.now(UTC).isoformat(timespec="seconds"),
        secret=secret,
        row_order=recipe.row_order,
        recipe=recipe.to_dict(),
        method=plan.called,
        engine=engine.name,
        cells=plan.n_cells,
        cell_rows=plan.cell_rows,
        rows_read=plan.rows,
        rows_released=plan.rows - plan.dropped,
        columns=engine.columns,
        information_loss=profile.tally.total_loss,
        attribute_losses=profile.tally.losses,
        above_optimum=above,
        dominance={
            coding.name: share
            for coding, share in zip(plan.codings, largest, strict=True)
            if coding.categories is None
        },
        input_hmac=input_hmac(secret, engine.sha256),
        recipe_sha256=recipe.sha256,
        plan_sha256=plan.sha256,
        notes=notes,
    )


def _secret(earlier: Record | None, engine: Engine, recipe: Recipe) -> str:
    """A new one, or that of an earlier release of the same input and recipe.

    Two releases in one order can be paired row by row, which tells more than both alone.
    """
    if earlier is None:
        return new_secret()
    if not earlier.is_of_input(engine.sha256) or earlier.recipe_sha256 != recipe.sha256:
        raise OptionError(
            "the record is of another input or recipe, and two releases in one order tell more "
            "than either; give it with the same input and recipe, or leave it out"
        )
    return earlier.secret


def _above_optimum(engine: Any, plan: Plan, seconds: float, progress: bool | None) -> float:
    """By how many percent at most the squared distances within groups exceed the least possible."""
    points, groups = engine.points(plan), engine.partition
    bound = lower_bound(
        points, plan.recipe.k, seconds, standardize=False, upper=groups, progress=progress
    )
    sse = sum(
        group_scatter(np.ascontiguousarray(column), groups.labels, groups.n_groups)
        for column in points.T
    )
    return 100.0 * (sse / bound.sse - 1.0) if bound.sse > 0.0 else float(sse > 0.0) * np.inf
