"""Judging a release against the original, whoever made it."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from microagg.base.errors import InputError, OptionError
from microagg.base.progress import watch
from microagg.base.recipe import ReadingSettings
from microagg.columns.coded import Coded, encode
from microagg.columns.summary import understood
from microagg.release.assessment import Assessment, measure
from microagg.table.checks import fingerprint
from microagg.table.opening import Opened, check_columns, open_table
from microagg.table.recount import Alike, class_of


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
    importance: Any = 1.0,
    progress: bool | None = None,
    reading: dict[str, Any] | None = None,
) -> Assessment:
    """Judge a release, also one made by another tool.

    original, released: whatever `protect` takes.
    quasi_identifiers: columns others may know; if not given, those that the release changed.
    confidential: columns whose diversity among records that look alike is measured.
    key: a column in both that says which record is which; without it rows are paired in order.
    known: which of the quasi-identifiers an intruder knows who links records; all if not given.
    kinds, orders: as in `Recipe`. sd: how close to the original is too close, in percent of a
    deviation. distance, importance: as in `microagg.measure.interval.satisfaction`.
    """
    settings = ReadingSettings(**(reading or {})).as_reading()
    with watch("reading", progress) as advance:
        before = open_table(original, settings, report=lambda share: advance(share / 2))
        after = open_table(released, settings, report=lambda share: advance(0.5 + share / 2))
    confidential, known = _as_list(confidential), None if known is None else _as_list(known)
    rows = _paired_rows(before, after, key)
    names = _judged_columns(before, after, rows, quasi_identifiers, key)
    for table in (before, after):
        check_columns([*names, *confidential], table.frame.names)
    pairs = [
        _encoded_pair(before, after, rows, name, (kinds or {}).get(name), (orders or {}).get(name))
        for name in names
    ]
    labels = class_of(pa.table([after.frame.column(name) for name in names], names), names)
    sizes = np.bincount(labels)
    with watch("measuring", progress) as advance:
        return measure(
            pairs,
            Alike(sizes, sizes),
            labels,
            rows_original=before.frame.rows,
            confidential=[_understood(after, name) for name in confidential],
            known=known,
            sd=sd,
            distance=distance,
            importance=importance,
            advance=advance,
            notes=(*before.notes, *after.notes),
        )


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


def _understood(table: Opened, name: str) -> Coded:
    column = understood(name, table.frame.column(name), table.origin)
    if column is None:
        raise InputError(f"column {name!r} cannot be compared; leave it out of confidential")
    return column
