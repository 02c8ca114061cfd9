"""Judging a release against the original, whoever made it."""

import json
import os
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from microagg.base.errors import InputError, MicroaggError, OptionError
from microagg.base.progress import watch
from microagg.base.reading import Reading
from microagg.base.recipe import Recipe
from microagg.base.record import Record, order_key
from microagg.columns.coded import Coded, encode
from microagg.columns.secrets import ObservedSecret
from microagg.engine.counting import Counting, Counts, Wanted
from microagg.kernels.shuffling import shuffled_order
from microagg.measure.anonymity import disclosure
from microagg.release.assessment import Assessment, measure
from microagg.release.output import certificate_path, record_path
from microagg.table.checks import fingerprint
from microagg.table.classes import classes_by
from microagg.table.opening import Opened, check_columns, open_table


def assess(
    original: Any,
    released: Any,
    *,
    recipe: Recipe | str | os.PathLike[str] | None = None,
    quasi_identifiers: Sequence[str] | None = None,
    confidential: Sequence[str] | None = None,
    key: str | None = None,
    record: Record | str | os.PathLike[str] | None = None,
    known: Sequence[str] | None = None,
    kinds: dict[str, str] | None = None,
    orders: dict[str, Sequence[str]] | None = None,
    sd: float = 5.0,
    distance: Any = None,
    importance: Any = 1.0,
    relative: bool = False,
    alpha: float | None = None,
    progress: bool | None = None,
    reading: dict[str, Any] | None = None,
) -> Assessment:
    """Judge a release, also one made by another tool.

    original, released: whatever `protect` takes.
    recipe: says which columns have which role and kind; if not given, the record or the certificate
    that stands beside the release, if any. What is named here goes before.
    quasi_identifiers: columns others may know; if nothing says so, those that the release changed.
    confidential: columns whose diversity among records that look alike is measured.
    key: a column in both that says which record is which; record: that of the release, which says
    in which order it was written. Without either rows are paired in order.
    known: which of the quasi-identifiers an intruder knows who links records; all if not given.
    kinds, orders: as in `Recipe`. sd: how close to the original is too close, in percent of a
    deviation. distance, importance, relative: as in `microagg.measure.interval.satisfaction`; with
    alpha, of proximity centroids, also what somebody guesses who knows how these are made.
    """
    told = _recipe(recipe, record, released)
    settings = Reading() if told is None else told.reading
    settings = settings if reading is None else Reading(**reading)
    if told is not None:
        quasi_identifiers = quasi_identifiers or told.quasi_identifiers
        confidential = told.confidential if confidential is None else confidential
        kinds, orders = {**told.kinds, **(kinds or {})}, {**told.orders, **(orders or {})}
    confidential = _as_list(confidential or ())
    named = [*_as_list(quasi_identifiers or ()), *confidential, *(() if key is None else (key,))]
    with watch("reading", progress) as advance:
        before = open_table(original, settings, None, lambda share: advance(share / 2), named)
        after = open_table(released, settings, None, lambda share: advance(0.5 + share / 2), named)
    known = None if known is None else _some(known, "known")
    _once(confidential, "confidential")
    tables = _Tables(before, after, _pairs(before, after, key, record))
    names = _judged_columns(tables, quasi_identifiers, key)
    for table in (before, after):
        check_columns([*names, *confidential], table.frame.names)
    pairs = [
        tables.coded(name, (kinds or {}).get(name), (orders or {}).get(name)) for name in names
    ]
    labels, counts = _counted(after, names, confidential)
    with watch("measuring", progress) as advance:
        assessment = measure(
            pairs,
            rows_original=before.frame.rows,
            rows_released=after.frame.rows,
            labels=labels,
            known=known,
            sd=sd,
            distance=distance,
            importance=importance,
            relative=relative,
            alpha=alpha,
            advance=advance,
            notes=(*before.notes, *after.notes),
        )
    return assessment.counted(classes_by(labels), counts)


@dataclass(frozen=True, eq=False)
class _Tables:
    """The original and the release.

    rows: for each released row its row in the original; None where rows are paired in order.
    """

    before: Opened
    after: Opened
    rows: NDArray[np.int64] | None

    def column(self, name: str) -> tuple[pa.Array, pa.Array]:
        """A column before and after, row by row and of one type."""
        one, other = self.before.without_codes(name), self.after.without_codes(name)
        if self.rows is not None:
            one = one.take(pa.array(self.rows))
        one, other = (
            array.cast(array.type.value_type) if pa.types.is_dictionary(array.type) else array
            for array in (one, other)
        )
        if one.type != other.type:
            common = _common_type(one.type, other.type)
            one, other = one.cast(common, safe=False), other.cast(common, safe=False)
        return one, other

    def changed(self, name: str) -> bool:
        """Whether the release shows anything else in a column."""
        one, other = (fingerprint(pa.table([array], ["column"])) for array in self.column(name))
        return one != other

    def coded(
        self, name: str, kind: str | None, order: Sequence[str] | None
    ) -> tuple[Coded, Coded]:
        """A column before and after as numbers: coded together, so that codes mean the same."""
        one, other = self.column(name)
        if order is not None:
            kind = "ordinal"
        elif kind is None:
            kind = self.before.origin.kind_of(name)
        if kind in (None, "ordinal") and order is None:
            order = _order_of(self.before.frame.column(name), other)
        both = encode(
            name, pa.concat_arrays([one, other]), kind, None if order is None else tuple(order)
        )
        return both.rows(slice(0, len(one))), both.rows(slice(len(one), None))


def _pairs(
    before: Opened, after: Opened, key: str | None, record: Record | str | os.PathLike[str] | None
) -> NDArray[np.int64] | None:
    """For each released row its row in the original; None where rows are paired in order."""
    if key is not None:
        if record is not None:
            raise OptionError("key and record both say which record is which; give one of them")
        return _rows_by_key(before, after, key)
    if record is None and _is_shuffled(after.origin.path):
        raise InputError(
            f"the rows of {after.origin.name} were shuffled, so they cannot be paired in order; "
            "name a key column that is in both (--key), or give the owner's record of the release "
            "(--record)"
        )
    if before.frame.rows != after.frame.rows:
        raise InputError(
            f"the original has {before.frame.rows} records and the release "
            f"{after.frame.rows}, so rows cannot be paired in order; name a key column that "
            "is in both"
        )
    if record is None:
        return None
    record = record if isinstance(record, Record) else Record.read(record)
    if not record.is_of_input(before.sha256) or record.release_sha256 != after.sha256:
        raise InputError(
            "the record is of another original or release than these, so it cannot pair their "
            "rows; give the table as protect had it and the file as it was written, or a key"
        )
    secret = order_key(record.secret, record.row_order)
    return None if secret is None else shuffled_order(secret, np.arange(before.frame.rows))


def _is_shuffled(released: Path | None) -> bool:
    """Whether what stands beside a release says that its rows were shuffled."""
    return any(told.get("row_order") == "shuffled" for told in _beside(released))


def _beside(released: Path | None) -> Iterator[dict[str, Any]]:
    """What record and certificate say that stand beside a release, as far as they can be read."""
    for path in () if released is None else (record_path(released), certificate_path(released)):
        with suppress(OSError, ValueError):
            told = json.loads(path.read_bytes())
            if isinstance(told, dict):
                yield told


def _recipe(
    recipe: Recipe | str | os.PathLike[str] | None,
    record: Record | str | os.PathLike[str] | None,
    released: Any,
) -> Recipe | None:
    """The recipe of a release: the one given, that of its record, or what stands beside it."""
    if recipe is not None:
        return recipe if isinstance(recipe, Recipe) else Recipe.read(recipe)
    if record is not None:
        return Recipe(**(record if isinstance(record, Record) else Record.read(record)).recipe)
    # A database has nothing beside it, nor has a frame.
    for told in _beside(Path(released) if isinstance(released, str | os.PathLike) else None):
        with suppress(MicroaggError, TypeError):
            return Recipe(**told["recipe"]) if "recipe" in told else None
    return None


def _rows_by_key(before: Opened, after: Opened, key: str) -> NDArray[np.int64]:
    """For each released row the row in the original that has the same key."""
    for table in (before, after):
        check_columns([key], table.frame.names)
    keys = [table.frame.column(key).cast(pa.string()) for table in (before, after)]
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


def _some(names: Sequence[str], setting: str) -> list[str]:
    if not names:
        raise OptionError(f"{setting} must name at least one column")
    return _once(_as_list(names), setting)


def _once(names: list[str], setting: str) -> list[str]:
    for name in names:
        if names.count(name) > 1:
            raise OptionError(f"column {name!r} stands twice in {setting}; name each column once")
    return names


def _judged_columns(tables: _Tables, given: Sequence[str] | None, key: str | None) -> list[str]:
    if given is not None:
        return _some(given, "quasi_identifiers")
    before, after = tables.before.frame.names, tables.after.frame.names
    common = [name for name in after if name in before and name != key]
    changed = [name for name in common if tables.changed(name)]
    if not changed:
        raise OptionError(
            "the release changed no column that both tables have; name the columns to judge: "
            "quasi_identifiers"
        )
    return changed


def _common_type(*types: pa.DataType) -> pa.DataType:
    """What two types are compared as: numbers or moments if both are, else text."""
    if all(
        pa.types.is_integer(each) or pa.types.is_floating(each) or pa.types.is_decimal(each)
        for each in types
    ):
        return pa.float64()
    if all(pa.types.is_date(each) or pa.types.is_timestamp(each) for each in types):
        return pa.timestamp("us")
    return pa.string()


def _order_of(original: pa.Array, released: pa.Array) -> Sequence[str] | None:
    """The order that an ordinal column brings along, if the release has no other categories."""
    if not (pa.types.is_dictionary(original.type) and original.type.ordered):
        return None
    order: list[str] = original.dictionary.cast(pa.string()).to_pylist()
    known = set(released.unique().cast(pa.string()).to_pylist()) - {None} <= set(order)
    return order if known else None


def _counted(
    table: Opened, names: Sequence[str], confidential: Sequence[str]
) -> tuple[NDArray[np.int64], Counts]:
    """The class of each record, and what classes give away of confidential columns."""
    columns = {name: table.frame.column(name) for name in (*names, *confidential)}
    secrets = []
    for name in confidential:
        observed = ObservedSecret(name, columns[name].type, table.origin)
        observed.add(columns[name])
        secret = observed.secret(table.origin)
        if secret is None:
            raise InputError(f"column {name!r} cannot be compared; leave it out of confidential")
        secrets.append(secret)
    counting = Counting(Wanted(tuple(secrets), tuple(map(disclosure, confidential))))
    return counting.whole(pa.table(columns), names), counting.found
