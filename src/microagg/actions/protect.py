"""The journey of a table: in, grouped, replaced, checked, out."""

from collections.abc import Mapping, Sequence
from typing import Any, Unpack

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

import microagg
from microagg.base.certificate import Certificate
from microagg.base.errors import InputError, OptionError
from microagg.base.progress import watch
from microagg.base.recipe import Recipe, Settings, describe_settings
from microagg.columns.coded import Coded, encode
from microagg.columns.coding import Coding
from microagg.columns.points import as_matrix
from microagg.columns.published import (
    Proximity,
    Published,
    decimals_of,
    publish,
    satisfaction_level,
    total_loss,
)
from microagg.columns.summary import attribute, correlations, understood
from microagg.columns.told import Attribute
from microagg.grouping.bound.lower_bound import lower_bound
from microagg.grouping.constraints import Grouped, partition_units
from microagg.kernels.group_passes import group_scatter
from microagg.release.assessment import measure
from microagg.release.release import Release, check_release, sizes_of
from microagg.table.frames import Frame
from microagg.table.opening import Opened, check_columns, open_table
from microagg.table.recount import class_of

_MEASURED_UNASKED = 100_000


@describe_settings()
def protect(
    table: Any,
    *,
    recipe: Recipe | None = None,
    measures: bool | None = None,
    prove: float = 0.0,
    progress: bool | None = None,
    **settings: Unpack[Settings],
) -> Release:
    """Protect a table: records that others may recognise are grouped, and groups publish one value.

    table: a pandas, Polars or Arrow table, the path of a file or the URL of a database table.
    recipe: every setting. Both may be given: settings go before the recipe's own.
    measures: judge risk and utility for the report; None does so up to 100,000 records, for it can
        take longer than the rest. `assess` measures any release later.
    prove: spend up to so many seconds to prove how far from the least possible loss the groups are.
    progress: show a bar: True always, False never, None when a terminal watches.

    The release has the same rows in the same order, without the identifiers; columns that nobody
    asked to protect are the same as before. It never holds the original.
    """
    recipe = Recipe.from_settings(settings, recipe)
    with watch("reading", progress) as report:
        reading = recipe.reading.as_reading()
        source = open_table(table, reading, typed=recipe.quasi_identifiers, report=report)
    check_columns(recipe.columns(), source.frame.names)
    columns = read_columns(source, recipe)
    weights = weights_of(source, recipe)
    grouped = group(source, columns, recipe, progress)
    published = publish_columns(source, columns, recipe, grouped, weights)
    if measures is None:
        measures = len(grouped.partition) <= _MEASURED_UNASKED
    above = _above_optimum(columns, recipe, grouped, prove, progress) if prove else None
    return _released(source, recipe, grouped, published, measures, above, progress)


def read_columns(source: Opened, recipe: Recipe) -> list[Coded]:
    """The quasi-identifiers as numbers."""
    columns = []
    for name in recipe.quasi_identifiers:
        array = source.frame.column(name)
        column = encode(
            name,
            array,
            recipe.kinds.get(name),
            recipe.orders.get(name),
            source.declared_missing(name, array),
        )
        if recipe.missing == "error" and column.missing is not None:
            raise InputError(
                f"column {name!r} has {int(column.missing.sum())} missing values, and missing is "
                '"error"; fill them, or say missing="group"'
            )
        columns.append(column)
    return columns


def group(
    source: Opened, columns: list[Coded], recipe: Recipe, progress: bool | None = None
) -> Grouped:
    """Who is grouped with whom."""
    strata = _codes_of(source, recipe.within) if recipe.within else None
    return partition_units(
        as_matrix(columns, recipe.attribute_weights),
        recipe.k,
        method=recipe.method,
        seed=recipe.seed,
        options=recipe.method_options(),
        refine=recipe.refine,
        strata=strata,
        strata_name=" and ".join(repr(name) for name in recipe.within),
        small_strata=recipe.small_strata,
        entities=_entities(source, recipe),
        progress=progress,
    )


def publish_columns(
    source: Opened,
    columns: list[Coded],
    recipe: Recipe,
    grouped: Grouped,
    weights: NDArray[np.float64] | None,
) -> list[Published]:
    """The quasi-identifiers of the records that stay, as the groups publish them."""
    if grouped.kept is not None:
        columns = [column.rows(grouped.kept) for column in columns]
        weights = None if weights is None else weights[grouped.kept]
    return [
        publish(
            column,
            grouped.partition,
            weights,
            decimals_of(recipe.decimals, column.name),
            _proximity(source, recipe, column.name, grouped.kept),
        )
        for column in columns
    ]


def _released(
    source: Opened,
    recipe: Recipe,
    grouped: Grouped,
    published: list[Published],
    measures: bool,
    above_optimum: float | None,
    progress: bool | None,
) -> Release:
    columns = [each.original for each in published]
    together = correlations([each.by_group for each in published], columns, grouped.partition.sizes)
    replaced = {each.name: each.entries for each in published}
    data = source.frame.rebuild(replaced, recipe.identifiers, grouped.kept)
    entities = _entities(source, recipe)
    if entities is not None and grouped.kept is not None:
        entities = entities[grouped.kept]
    counted = (*recipe.quasi_identifiers, *(() if grouped.crossed else recipe.within))
    released = Frame(data)
    table = pa.table([released.column(name) for name in counted], list(counted))
    checks, alike = check_release(table, recipe.k, counted, entities)
    certificate = Certificate(
        version=microagg.__version__,
        recipe=recipe.to_dict(),
        method=grouped.partition.method,
        seed=recipe.seed,
        counts="records" if entities is None else "entities",
        k_asked=recipe.k,
        **sizes_of(alike),
        rows_read=source.frame.rows,
        rows_released=released.rows,
        columns=tuple(released.names),
        information_loss=total_loss(published),
        attribute_losses={each.name: each.loss for each in published},
        input_sha256=source.sha256,
        recipe_sha256=recipe.sha256,
        above_optimum=above_optimum,
        checks=checks,
        notes=(
            *source.notes,
            *notes_on(
                recipe,
                columns,
                source.frame.rows,
                small=grouped.small,
                moved=grouped.moved,
                crossed=grouped.crossed,
            ),
        ),
    )
    looked_at = {
        name: understood(name, released.column(name), source.origin) for name in recipe.confidential
    }
    confidential = [column for column in looked_at.values() if column is not None]
    assessment = None
    if measures:
        with watch("measuring", progress) as report:
            assessment = measure(
                [(each.original, each.column) for each in published],
                alike,
                rows_original=source.frame.rows,
                labels=grouped.partition.labels,
                confidential={each.name: (each.values, each.numeric) for each in confidential},
                report=report,
            )
        level = satisfaction_level(published)
        if level is not None:
            assessment.figures["satisfaction"] = level
    return Release(
        data=data,
        partition=grouped.partition,
        recipe=recipe,
        certificate=certificate,
        origin=source.origin,
        counted=counted,
        entities=entities,
        attributes=_attributes(published, confidential, grouped.kept is None),
        correlations=together,
        assessment=assessment,
    )


def _above_optimum(
    columns: list[Coded],
    recipe: Recipe,
    grouped: Grouped,
    seconds: float,
    progress: bool | None,
) -> float:
    """By how many percent at most the squared distances within groups exceed the least possible."""
    if recipe.within or recipe.entity is not None:
        raise OptionError("prove bounds groups of all records: leave out within and entity, or it")
    points = as_matrix(columns, recipe.attribute_weights)
    bound = lower_bound(
        points,
        recipe.k,
        seconds,
        standardize=False,
        upper=grouped.partition,
        progress=progress,
    )
    labels, groups = grouped.partition.labels, grouped.partition.n_groups
    sse = sum(group_scatter(np.ascontiguousarray(column), labels, groups) for column in points.T)
    return 100.0 * (sse / bound.sse - 1.0) if bound.sse > 0.0 else float(sse > 0.0) * np.inf


def _attributes(
    published: list[Published],
    confidential: list[Coded],
    all_rows: bool,
) -> tuple[Attribute, ...]:
    return (
        *(
            attribute("quasi-identifier", each.column, each.original, each.loss, each.changed)
            for each in published
        ),
        # Nobody touched these: they are now what they were, unless records were left out.
        *(
            attribute("confidential", column, column if all_rows else None)
            for column in confidential
        ),
    )


def notes_on(
    recipe: Recipe,
    columns: Sequence[Coded | Coding],
    rows: int,
    *,
    small: int,
    moved: int,
    crossed: bool,
) -> list[str]:
    """What a person should know who decides about the release.

    small, moved: strata that were too small, and the records in them; crossed: they were merged.
    """
    notes = []
    if small:
        done = "merged with others" if crossed else "dropped from the release"
        notes.append(
            f"{small} strata had fewer than {recipe.k} members; their {moved} records were {done}."
        )
    for column in columns:
        kinds = 0 if column.categories is None else len(column.categories)
        if column.kind == "nominal" and kinds > max(20, rows / (2 * recipe.k)):
            notes.append(
                f"{column.name} has {kinds} different values: if it identifies people, drop it as "
                "an identifier instead."
            )
    if recipe.weights is not None and any(column.has_gaps for column in columns):
        notes.append(
            "Groups publish a value for all their records, also for those that had none, so "
            "weighted totals of columns with missing values change."
        )
    if not isinstance(recipe.refine, bool) or "time_limit" in recipe.options:
        notes.append(
            "The search was given seconds, not steps, so the same recipe may give other groups "
            "another time."
        )
    if recipe.entity is not None and recipe.entity not in recipe.identifiers:
        notes.append(f"{recipe.entity}, which says to whom a row belongs, stays in the release.")
    return notes


def _codes_of(source: Opened, names: tuple[str, ...]) -> NDArray[np.int64]:
    """A number for each combination of values, from 0 without gaps."""
    columns = [source.frame.column(name) for name in names]
    return class_of(pa.table(columns, list(names)), names)


def _entities(source: Opened, recipe: Recipe) -> NDArray[np.int64] | None:
    if recipe.entity is None:
        return None
    missing = source.looked_at(recipe.entity).null_count
    if missing:
        raise InputError(
            f"column {recipe.entity!r} says to whom a row belongs, but {missing} rows have no "
            "value there; drop those rows or give each an entity of its own"
        )
    return _codes_of(source, (recipe.entity,))


def _proximity(
    source: Opened, recipe: Recipe, name: str, kept: NDArray[np.bool_] | None
) -> Proximity | None:
    if recipe.aggregate != "proximity":
        return None

    def asked(setting: Any, otherwise: float) -> float | NDArray[np.float64]:
        preference = setting.get(name, otherwise) if isinstance(setting, Mapping) else setting
        if not isinstance(preference, str):
            return float(preference)
        column = encode(preference, source.looked_at(preference), "continuous")
        if column.missing is not None or (column.values < 0.0).any():
            raise InputError(
                f"column {preference!r} holds everybody's preference, which must be numbers of 0 "
                "or more, none missing"
            )
        return column.values if kept is None else column.values[kept]

    return Proximity(
        asked(recipe.distance, Recipe.model_fields["distance"].default),
        asked(recipe.importance, Recipe.model_fields["importance"].default),
        recipe.alpha,
        recipe.solution,
        recipe.relative,
    )


def weights_of(source: Opened, recipe: Recipe) -> NDArray[np.float64] | None:
    """The sampling weights, checked; None where there are none."""
    if recipe.weights is None:
        return None
    column = encode(recipe.weights, source.looked_at(recipe.weights), "continuous")
    weights = column.values.astype(np.float64)
    if column.missing is not None or (weights < 0.0).any() or not weights.any():
        raise InputError(
            f"column {recipe.weights!r} holds sampling weights, which must be numbers of 0 or "
            "more, not all 0 and none missing"
        )
    return weights
