"""How a plan is made: from one look at every row and a sample, by the recipe alone."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from microagg.aggregation.values import find_aggregate
from microagg.base.errors import InputError, OptionError
from microagg.base.recipe import Recipe
from microagg.columns.secrets import counted_at_once
from microagg.engine.demanded import demanded_secrets
from microagg.engine.plan import DROPPED, Plan, rows_at_once
from microagg.engine.strata import Strata
from microagg.engine.survey import Survey, bad_weights, piece
from microagg.grouping.demands.untold import directions, expected
from microagg.grouping.divide.cells import CellTree, plan_cells
from microagg.grouping.methods import resolve

# Beyond, a column of which groups can keep nothing is refused: distances would take hours.
_MANY_CATEGORIES = 20_000


def make_plan(survey: Survey, source: Mapping[str, Any], recipe: Recipe | None = None) -> Plan:
    """The plan for a table of which every row was seen.

    source: what tells the input from another: its name and hash.
    recipe: that of the survey, or one that differs in k and method only.
    """
    recipe, n = recipe or survey.recipe, survey.units
    units, counted = recipe.units, n
    if survey.households is not None:
        counted = min(n, int(survey.households.counts(1)[0]))
    if counted < recipe.k:
        raise InputError(
            f"k is {recipe.k}, but there are only {counted} {units}; groups of k need at least k "
            f"{units}"
        )
    codings = tuple(column.coding() for column in survey.columns)
    for coding in codings:
        if recipe.missing == "error" and coding.missing:
            raise InputError(
                f"column {coding.name!r} has {coding.missing} missing values, and missing is "
                '"error"; fill them, or say missing="group"'
            )
        kinds = 0 if coding.categories is None else len(coding.categories)
        if kinds > _MANY_CATEGORIES and kinds * recipe.k > n:
            raise InputError(
                f"column {coding.name!r} has {kinds} categories for {n} records, fewer than k = "
                f"{recipe.k} each, so that next to nothing of it would be left; make it coarser, "
                "such as the first digits of a code, or drop it: identifiers"
            )
    demanded_secrets(recipe, survey.secrets(survey.origin))
    if recipe.weights is not None and survey.weight == 0.0:
        raise bad_weights(recipe.weights)
    aggregate = find_aggregate(recipe.aggregate, "aggregate")
    if recipe.weights is not None and not aggregate.weighted:
        raise OptionError(
            f'aggregate="{aggregate.name}" does not count sampling weights; leave out weights, '
            "or take means"
        )
    width = sum(coding.width for coding in codings)
    resolved = resolve(
        recipe.method, recipe.method_options(), n, width, recipe.k, refine=recipe.refine
    )
    cell_rows = recipe.cell_rows
    if cell_rows is None and recipe.method != resolved.method.name:
        cell_rows = rows_at_once(codings)
    if cell_rows is not None:
        cell_rows = max(cell_rows, 4 * recipe.k)
    plan = Plan(
        recipe=recipe,
        source=source,
        method=resolved.method.name,
        options=resolved.options,
        called=resolved.called,
        rows=survey.rows,
        cell_rows=cell_rows,
        codings=codings,
        trees=(),
        first_leaf=np.zeros(0, np.int64),
        leaves=0,
    )
    table, _ = survey.sample.result()
    points = plan.place(plan.code(table))
    across = _telling(survey, recipe, points, table)
    if survey.strata is None:
        return _with_trees(plan, [_tree(points, plan, survey.rows, across)], None)
    return _with_strata(plan, survey.strata.numbered(recipe.k), points, table, across)


def _telling(
    survey: Survey, recipe: Recipe, points: NDArray[np.float64], sample: pa.Table
) -> NDArray[np.float64] | None:
    """Where records stand that tells what is demanded of: cells are not cut along there, lest some
    have values that others lack."""
    if not recipe.demanded:
        return None
    ranks = [
        counted_at_once(secret, secret.entries(piece(sample, secret.name)))[1]
        for secret in demanded_secrets(recipe, survey.secrets(survey.origin))
    ]
    return directions(points, expected(points, ranks))


def _with_strata(
    plan: Plan,
    strata: Strata,
    points: NDArray[np.float64],
    sample: pa.Table,
    across: NDArray[np.float64] | None,
) -> Plan:
    plan = _settled_strata(plan, strata, points, sample)
    where = plan.merged(plan.strata_of(sample))
    assert plan.stratum_of is not None
    stays = plan.stratum_of >= 0
    sizes = strata.counts if plan.recipe.household is None else strata.rows
    counts = np.bincount(
        plan.stratum_of[stays], weights=sizes[stays], minlength=len(strata)
    ).astype(np.int64)
    trees: list[CellTree] = []
    homes, shared, held = np.full(len(strata), DROPPED), 0, 0
    most = plan.cell_rows or plan.rows
    for stratum in np.flatnonzero(counts).tolist():
        if counts[stratum] > most:
            homes[stratum] = -2 - len(trees)
            there = points[where == stratum]
            there = there if len(there) else points[:1]
            trees.append(_tree(there, plan, counts[stratum], across))
            continue
        if held and held + counts[stratum] > most:
            shared, held = shared + 1, 0
        homes[stratum] = shared
        held += counts[stratum]
    shared += held > 0
    return _with_trees(plan, trees, homes, shared)


def _with_trees(
    plan: Plan, trees: Sequence[CellTree], homes: NDArray[np.int64] | None, shared: int = 0
) -> Plan:
    sizes = np.array([shared, *(tree.n_cells for tree in trees)], np.int64)
    ends = np.cumsum(sizes)
    return replace(
        plan,
        trees=tuple(trees),
        first_leaf=ends[:-1],
        leaves=int(ends[-1]),
        strata_leaf=homes,
    )


def _tree(
    points: NDArray[np.float64], plan: Plan, total: int, across: NDArray[np.float64] | None
) -> CellTree:
    return plan_cells(points, plan.cell_rows or plan.rows, total=int(total), across=across)


def _settled_strata(
    plan: Plan, strata: Strata, points: NDArray[np.float64], sample: pa.Table
) -> Plan:
    """The plan with the stratum that each counts as, and what is told of those too small."""
    recipe, itself = plan.recipe, np.arange(len(strata))
    few = strata.counts < recipe.k
    plan = replace(plan, strata=strata, stratum_of=itself)
    if not few.any():
        return plan
    small = int(few.sum())
    of_sample = plan.strata_of(sample)
    assert of_sample is not None
    name = " and ".join(repr(each) for each in strata.names)
    units = recipe.units
    if recipe.small_strata == "error":
        raise InputError(
            f"{small} of {len(strata)} strata of {name} have fewer than k = {recipe.k} {units}; "
            'lower k, take coarser strata, or say small_strata="merge" or "drop"'
        )
    if recipe.small_strata == "drop" and few.all():
        raise InputError(
            f"all strata of {name} are smaller than k = {recipe.k}, so nothing would be left; "
            "lower k or take coarser strata"
        )
    if recipe.small_strata == "drop":
        stratum_of = np.where(few, DROPPED, itself)
    else:
        stratum_of = np.where(few, _home_of_small(strata, few, points, of_sample, recipe.k), itself)
    return replace(plan, stratum_of=stratum_of, small=small, moved=int(strata.rows[few].sum()))


def _home_of_small(
    strata: Strata,
    few: NDArray[np.bool_],
    points: NDArray[np.float64],
    of_sample: NDArray[np.int64],
    k: int,
) -> int:
    """The stratum that small ones become: one of them, or, if all together are still too small, the
    one whose sampled records lie nearest to theirs; the largest where none were sampled."""
    if strata.units_in(few) >= k or few.all():
        return int(np.flatnonzero(few)[0])
    theirs = points[few[of_sample]]
    large = np.intersect1d(np.flatnonzero(~few), of_sample)
    if not len(theirs) or not large.size:
        return int(np.argmax(strata.counts))
    middle = theirs.mean(axis=0)
    away = [((points[of_sample == each].mean(axis=0) - middle) ** 2).sum() for each in large]
    return int(large[int(np.argmin(away))])
