"""Judging a release against the original, whoever made it."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from microagg.base.errors import InputError, OptionError
from microagg.base.progress import Report, silent, watch
from microagg.base.recipe import ReadingSettings
from microagg.columns.coded import Coded, encode
from microagg.columns.summary import understood
from microagg.measure.anonymity import closeness, diversity
from microagg.measure.change import category_loss, numeric_loss, share_changed
from microagg.measure.figures import judge
from microagg.measure.interval import interval_disclosure, sdid
from microagg.measure.statistics import changes, eigenvalue_distance, il1s, paired
from microagg.table.checks import fingerprint
from microagg.table.classes import Classes, class_of, count_classes
from microagg.table.opening import Opened, check_columns, open_table


@dataclass(frozen=True)
class Assessment:
    """Every risk and utility figure of a release.

    columns: those judged, that others may know. k_found: the least number of records that share
    their values in them. figures: of the columns that have distances, by the names of
    `microagg.measure.figures`; over `judged` records that have all these values before and after.
    confidential: how diverse each confidential column is within records that look alike.
    """

    columns: tuple[str, ...]
    rows_original: int
    rows_released: int
    k_found: int
    unique: int
    classes: int
    smallest_class: int
    median_class: float
    largest_class: int
    information_loss: float
    attribute_losses: dict[str, float]
    attribute_changes: dict[str, float]
    judged: int
    judged_columns: tuple[str, ...]
    figures: dict[str, Any]
    confidential: dict[str, dict[str, Any]]
    notes: tuple[str, ...] = ()

    def to_dict(self) -> dict[str, Any]:
        """Plain data."""
        return {
            "columns": list(self.columns),
            "rows": {"original": self.rows_original, "released": self.rows_released},
            "k": {"found": self.k_found, "unique_records": self.unique},
            "classes": {
                "count": self.classes,
                "smallest": self.smallest_class,
                "median": self.median_class,
                "largest": self.largest_class,
            },
            "information_loss": {
                "total": self.information_loss,
                "attributes": self.attribute_losses,
            },
            "percent_changed": self.attribute_changes,
            "figures": self.figures,
            "judged": {"records": self.judged, "columns": list(self.judged_columns)},
            "confidential": self.confidential,
            "notes": list(self.notes),
        }


def assess(
    original: Any,
    released: Any,
    *,
    quasi_identifiers: Sequence[str] | None = None,
    confidential: Sequence[str] = (),
    key: str | None = None,
    known: Sequence[str] | None = None,
    kinds: dict[str, str] | None = None,
    orders: dict[str, Sequence[str]] | None = None,
    sd: float = 5.0,
    distance: Any = None,
    importance: Any = None,
    progress: bool | None = None,
    reading: dict[str, Any] | None = None,
) -> Assessment:
    """Judge a release, also one made by another tool.

    original, released: whatever `protect` takes.
    quasi_identifiers: columns others may know; if not given, those that the release changed.
    confidential: columns whose diversity among records that look alike is measured.
    key: a column in both that says which record is which; without it rows are paired in order.
    known: which of the quasi-identifiers an intruder knows who links records; all if not given.
    kinds, orders: as in `Recipe`. sd, distance, importance: as in `microagg.measure.figures.judge`.
    """
    settings = ReadingSettings(**(reading or {})).as_reading()
    with watch("reading", progress) as report:
        before = open_table(original, settings, advance=lambda share: report(share / 2))
        after = open_table(released, settings, advance=lambda share: report(0.5 + share / 2))
    confidential, known = _as_list(confidential), None if known is None else _as_list(known)
    rows = _paired_rows(before, after, key)
    names = _judged_columns(before, after, rows, quasi_identifiers, key)
    for table in (before, after):
        check_columns([*names, *confidential], table.frame.names)
    pairs = [
        _encoded_pair(before, after, rows, name, (kinds or {}).get(name), (orders or {}).get(name))
        for name in names
    ]
    with watch("measuring", progress) as report:
        return measure(
            pairs,
            count_classes(_only(after, names), names),
            rows_original=before.frame.rows,
            confidential={name: _codes(after, name) for name in confidential},
            known=known,
            sd=sd,
            distance=distance,
            importance=importance,
            report=report,
            notes=(*before.notes, *after.notes),
            labels=class_of(_only(after, names), names),
        )


def measure(
    pairs: Sequence[tuple[Coded, Coded]],
    alike: Classes,
    *,
    rows_original: int,
    labels: NDArray[np.int64],
    confidential: dict[str, tuple[NDArray, bool]],
    known: Sequence[str] | None = None,
    sd: float = 5.0,
    distance: Any = None,
    importance: Any = None,
    report: Report = silent,
    notes: tuple[str, ...] = (),
) -> Assessment:
    """Every figure of columns before and after, row by row.

    labels: which records look alike; confidential: numbers or codes, and whether they have an
    order.
    """
    names = [after.name for _, after in pairs]
    losses, changes, varies = {}, {}, []
    for before, after in pairs:
        loss_of = numeric_loss if after.numeric else category_loss
        gaps = (before.missing, after.missing)
        losses[after.name] = loss_of(before.values, after.values, *gaps)
        changes[after.name] = share_changed(before.values, after.values, *gaps)
        if before.varies:
            varies.append(losses[after.name])
    numeric, complete = _complete_numbers(pairs)
    figures: dict[str, Any] = {}
    if complete[0].size:
        places = {name: place for place, name in enumerate(numeric)}
        check_columns(known or (), list(places))
        figures = judge(
            *complete,
            sd=sd,
            known=None if known is None else [places[name] for name in known],
            distance=distance,
            importance=importance,
            report=report,
        )
        # These are counted over all columns and records above.
        for name in ("k", "unique_records"):
            del figures[name]
    return Assessment(
        columns=tuple(names),
        rows_original=rows_original,
        rows_released=labels.size,
        **class_figures(alike),
        information_loss=float(np.mean(varies)) if varies else 0.0,
        attribute_losses=losses,
        attribute_changes=changes,
        judged=len(complete[0]),
        judged_columns=numeric,
        figures=figures,
        confidential={
            name: {
                "diversity": diversity(values, labels).to_dict(),
                "closeness": closeness(values, labels, ordered=ordered).to_dict(),
            }
            for name, (values, ordered) in confidential.items()
        },
        notes=notes,
    )


def sampled_figures(pairs: Sequence[tuple[Coded, Coded]]) -> tuple[dict[str, Any], int]:
    """The figures that a sample of the records can tell, and of how many it tells them.

    Linkage is not among them: in a sample everybody is easier to find than among all.
    """
    _, complete = _complete_numbers(pairs)
    if complete[0].size == 0:
        return {}, 0
    pair = paired(*complete)
    change = changes(pair)
    return {
        "interval": sdid(pair).total,
        "range_interval": interval_disclosure(pair, width=5.0, basis="range").total,
        "rank_interval": interval_disclosure(pair, width=5.0, basis="rank").total,
        "il1s": il1s(pair),
        "correlation_change": change.correlations,
        "largest_correlation_change": change.largest_correlation,
        "eigenvalue_distance": eigenvalue_distance(pair),
    }, len(complete[0])


def class_figures(alike: Classes) -> dict[str, Any]:
    """What an assessment says of records that look alike."""
    return {
        "k_found": alike.k,
        "unique": alike.unique,
        "classes": alike.count,
        "smallest_class": alike.smallest,
        "median_class": alike.median,
        "largest_class": alike.largest,
    }


def _complete_numbers(
    pairs: Sequence[tuple[Coded, Coded]],
) -> tuple[tuple[str, ...], tuple[NDArray[np.float64], NDArray[np.float64]]]:
    """The columns that have distances; before and after, of the records that have all values."""
    numeric = [pair for pair in pairs if pair[1].numeric]
    whole = np.ones(pairs[0][0].values.size if numeric else 0, bool)
    for column in (column for pair in numeric for column in pair):
        if column.missing is not None:
            whole &= ~column.missing
    before, after = (
        np.column_stack([_numbers(pair[side])[whole] for pair in numeric])
        if numeric
        else np.zeros((0, 0))
        for side in (0, 1)
    )
    return tuple(after.name for _, after in numeric), (before, after)


def _paired_rows(before: Opened, after: Opened, key: str | None) -> NDArray[np.int64] | None:
    """For each released row its row in the original; None where rows are paired in order."""
    if key is None:
        if before.frame.rows != after.frame.rows:
            raise InputError(
                f"the original has {before.frame.rows} records and the release "
                f"{after.frame.rows}, so rows cannot be paired in order; name a key column that "
                "is in both"
            )
        return None
    for table in (before, after):
        check_columns([key], table.frame.names)
    keys = [_as_text(table.frame.column(key)) for table in (before, after)]
    for array, what in zip(keys, ("original", "release"), strict=True):
        if array.null_count or len(array.unique()) < len(array):
            raise InputError(
                f"the key {key!r} is missing or repeated in the {what}; "
                "a key has its own value in every record"
            )
    rows = pa.compute.index_in(keys[1], value_set=keys[0])
    if rows.null_count:
        raise InputError(
            f"{rows.null_count} records of the release have a key {key!r} that the original "
            "does not have"
        )
    return np.asarray(rows.to_numpy(zero_copy_only=False), np.int64)


def _as_list(names: Sequence[str]) -> list[str]:
    return [names] if isinstance(names, str) else list(names)


def _as_text(array: pa.Array) -> pa.Array:
    return array.cast(pa.string())


def _judged_columns(
    before: Opened,
    after: Opened,
    rows: NDArray[np.int64] | None,
    given: Sequence[str] | None,
    key: str | None,
) -> list[str]:
    if given is not None:
        if not given:
            raise OptionError("quasi_identifiers must name at least one column")
        return _as_list(given)
    common = [name for name in after.frame.names if name in before.frame.names and name != key]
    changed = [name for name in common if _changed(before, after, rows, name)]
    if not changed:
        raise OptionError(
            "the release changed no column that both tables have; name the columns to judge: "
            "quasi_identifiers"
        )
    return changed


def _changed(before: Opened, after: Opened, rows: NDArray[np.int64] | None, name: str) -> bool:
    one, other = _both(before, after, rows, name)
    same = [fingerprint(pa.table([array], ["column"])) for array in (one, other)]
    return same[0] != same[1]


def _both(
    before: Opened, after: Opened, rows: NDArray[np.int64] | None, name: str
) -> tuple[pa.Array, pa.Array]:
    """A column before and after, of one type."""
    one, other = before.frame.column(name), after.frame.column(name)
    if rows is not None:
        one = one.take(pa.array(rows))
    one, other = (
        array.cast(array.type.value_type) if pa.types.is_dictionary(array.type) else array
        for array in (one, other)
    )
    if one.type != other.type:
        numbers = all(
            pa.types.is_integer(array.type)
            or pa.types.is_floating(array.type)
            or pa.types.is_decimal(array.type)
            for array in (one, other)
        )
        moments = all(
            pa.types.is_date(array.type) or pa.types.is_timestamp(array.type)
            for array in (one, other)
        )
        common = pa.float64() if numbers else pa.timestamp("us") if moments else pa.string()
        one, other = one.cast(common, safe=False), other.cast(common, safe=False)
    return one, other


def _encoded_pair(
    before: Opened,
    after: Opened,
    rows: NDArray[np.int64] | None,
    name: str,
    kind: str | None,
    order: Sequence[str] | None,
) -> tuple[Coded, Coded]:
    """A column before and after as numbers: coded together, so that codes mean the same."""
    one, other = _both(before, after, rows, name)
    if kind is None and order is None:
        order = _order_of(before.frame.column(name), other)
    both = encode(
        name, pa.concat_arrays([one, other]), kind, None if order is None else tuple(order)
    )
    return both.rows(slice(0, len(one))), both.rows(slice(len(one), None))


def _order_of(original: pa.Array, released: pa.Array) -> Sequence[str] | None:
    """The order that an ordinal column brings along, if the release has no other categories."""
    if not (pa.types.is_dictionary(original.type) and original.type.ordered):
        return None
    order: list[str] = original.dictionary.cast(pa.string()).to_pylist()
    known = set(released.unique().cast(pa.string()).to_pylist()) - {None} <= set(order)
    return order if known else None


def _numbers(column: Coded) -> NDArray[np.float64]:
    return column.values.astype(np.float64)


def _only(table: Opened, names: Sequence[str]) -> pa.Table:
    return pa.table([table.frame.column(name) for name in names], list(names))


def _codes(table: Opened, name: str) -> tuple[NDArray, bool]:
    """A confidential column as numbers or codes, and whether these have an order."""
    column = understood(name, table.frame.column(name), table.origin)
    if column is None:
        raise InputError(f"column {name!r} cannot be compared; leave it out of confidential")
    # Having no value is a value too, below all others.
    codes = np.unique(column.values, return_inverse=True)[1] + 1
    if column.missing is not None:
        codes[column.missing] = 0
    return codes, column.numeric
