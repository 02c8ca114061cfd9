"""The journey of a table: opened, surveyed, planned, grouped and published, wherever that is."""

import os
from contextlib import ExitStack
from datetime import UTC, datetime
from typing import Any, Unpack

import numpy as np
import pyarrow as pa

import microagg
from microagg.base.progress import watch
from microagg.base.recipe import Recipe, Settings, describe_settings
from microagg.engine.choosing import Where, choose_engine, refuse_large_cells
from microagg.engine.counting import Wanted
from microagg.engine.plan import Plan, make_plan
from microagg.engine.profile import LINKED, Profile
from microagg.engine.protocol import Engine
from microagg.grouping.bound.lower_bound import lower_bound
from microagg.kernels.group_passes import group_scatter
from microagg.measure.anonymity import disclosure
from microagg.release.giveaways import giveaways
from microagg.release.judging import MEASURED, assessed, shown
from microagg.release.notes import notes_on
from microagg.release.promises import counts_for
from microagg.release.release import Release


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
    ordered: bool = False,
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
    master, session: of Spark: the address of a cluster, or a session that runs already; ordered:
        its rows come out in the order of the input, which moves them once more.
    measures: judge risk and utility for the report: losses, classes and confidential columns on all
        records, the rest of up to 100,000 records on all, else on a sample.
    prove: spend up to so many seconds to prove how far from the least possible loss the groups are.
    progress: show a bar: True always, False never, None when a terminal watches.

    The release has the same rows in the same order, without the identifiers; columns that nobody
    asked to protect are the same as before. It never holds the original.
    """
    recipe = Recipe.from_settings(settings, recipe)
    where = Where(
        engine=engine,
        memory=memory,
        work=work,
        resume=resume,
        master=master,
        session=session,
        ordered=ordered,
    )
    with watch("opening", progress) as advance:
        opened = choose_engine(table, recipe, where, advance, prove)
    return release_by(opened, where, measures=measures, prove=prove, progress=progress)


def release_by(
    engine: Engine,
    where: Where,
    *,
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
        plan = make_plan(survey, {"name": engine.origin.name, "sha256": engine.sha256})
        refuse_large_cells(plan, engine, where)
        with watch("finding the cells of records", progress) as advance:
            plan = plan.with_counts(engine.count(plan, advance))
        sample, rows = survey.sample.result()
        told = giveaways(plan, survey.kept.result()[0], engine.origin)
        linked = LINKED if measures and plan.rows > MEASURED else 0
        profile = Profile(plan, sample, rows, linked)
        with watch(f"grouping by {plan.called}", progress) as advance:
            engine.publish(plan, profile, advance)
        above = _above_optimum(engine, plan, prove, progress) if prove else None
        engine.forget()
        counts = [*counts_for(plan.recipe)]
        if measures:
            counts += map(disclosure, plan.recipe.confidential)
        wanted = Wanted(survey.secrets(), tuple({count.key: count for count in counts}.values()))
        release = _released(engine, plan, sample, profile, measures, above, told, wanted, progress)
        unless_done.pop_all()
    return release


def _released(
    engine: Engine,
    plan: Plan,
    sample: pa.Table,
    profile: Profile,
    measures: bool,
    above: float | None,
    told: list[str],
    wanted: Wanted,
    progress: bool | None,
) -> Release:
    recipe = plan.recipe
    assessment = None
    if measures:
        with watch("measuring", progress) as advance:
            assessment = assessed(plan, sample, profile, advance)
        assessment.figures.update(profile.figures)
    facts = {
        "made": datetime.now(UTC).isoformat(timespec="seconds"),
        "version": microagg.__version__,
        "recipe": recipe.to_dict(),
        "method": plan.called,
        "seed": recipe.seed,
        "counts": "records" if recipe.entity is None else "entities",
        "k_asked": recipe.k,
        "rows_read": plan.rows,
        "rows_released": plan.rows - plan.dropped,
        "columns": engine.columns,
        "information_loss": profile.tally.total_loss,
        "attribute_losses": profile.tally.losses,
        "above_optimum": above,
        "engine": engine.name,
        "cells": plan.n_cells,
        "cell_rows": plan.cell_rows,
        "plan_sha256": plan.sha256,
        "input_sha256": engine.sha256,
        "recipe_sha256": recipe.sha256,
        "notes": (*engine.notes, *notes_on(plan, profile.dominance), *told),
    }
    pages = shown(plan, sample, profile, engine.origin)
    return Release(engine, recipe, plan.counted, facts, pages, assessment, wanted, progress)


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
