"""The original and a release beside each other: whose row is whose, columns as numbers."""

import json
import os
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from microagg.base.errors import InputError, OptionError
from microagg.base.files import content_of
from microagg.base.record import Record, order_key
from microagg.columns.coded import Coded, encode
from microagg.columns.summary import understood
from microagg.columns.text import is_text
from microagg.kernels.shuffling import shuffled_order
from microagg.release.output import certificate_path, record_path
from microagg.table.checks import fingerprint
from microagg.table.formats.database import Database, certificate_text
from microagg.table.keys import as_key, rows_by_key
from microagg.table.opening import Opened, Origin, check_columns


@dataclass(frozen=True, eq=False)
class Tables:
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
        return _alike(one, other)

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

    def understood(
        self, names: Sequence[str], kinds: dict[str, str], orders: dict[str, Sequence[str]]
    ) -> list[tuple[Coded, Coded]]:
        """Columns that are not judged: as numbers, or as categories, as far as they can be."""
        found = []
        for name in names:
            if name in kinds or name in orders:
                found.append(self.coded(name, kinds.get(name), orders.get(name)))
                continue
            one, other = self.column(name)
            both = understood(name, pa.concat_arrays([one, other]), self.before.origin)
            if both is not None:
                found.append((both.rows(slice(0, len(one))), both.rows(slice(len(one), None))))
        return found


@dataclass(frozen=True)
class Paired:
    """What says whose row is whose, where there is no key.

    record: if none is given, that beside a release whose rows were shuffled. stated: what stands
    beside the release, see `beside`. setting: what the record is given as.
    """

    record: Record | str | os.PathLike[str] | None = None
    stated: Sequence[dict[str, Any]] = ()
    setting: str = "record"

    def refuse_record(self) -> None:
        """Refuse a record beside a key."""
        if self.record is not None:
            raise OptionError(
                f"key and {self.setting} both say which record is which; give one of them"
            )


class Ordered(Protocol):
    """A table whose rows have an order, as far as it is told by."""

    origin: Origin
    sha256: str

    @property
    def rows(self) -> int:
        """How many rows there are."""

    @property
    def in_order(self) -> bool:
        """Whether the numbers of rows are their places."""


def paired_rows(
    before: Opened, after: Opened, key: str | None, how: Paired
) -> NDArray[np.int64] | None:
    """For each released row its row in the original; None where rows are paired in order.

    Of an earlier release, a row is -1 if nobody has its key.
    """
    if key is None:
        return rows_in_order(before, after, how)
    how.refuse_record()
    for table in (before, after):
        check_columns([key], table.frame.names)
    mine, theirs = (as_key(table.frame.column(key)) for table in (before, after))
    return rows_by_key(mine, theirs, key, all_there=how.setting == "record")


def rows_in_order(before: Ordered, after: Ordered, how: Paired) -> NDArray[np.int64] | None:
    """For each released row its row in the original, by their places; None where it is the same."""
    record, origin = how.record, after.origin
    if record is None and any(told.get("row_order") == "shuffled" for told in how.stated):
        if origin.path is not None and origin.format.is_file:
            record = record_path(origin.path)
        if record is None or not record.exists():
            raise InputError(
                f"the rows of {origin.name} were shuffled, so they cannot be paired in "
                "order; name a key column that is in both (--key), or give the owner's record of "
                f"the release (--{how.setting.replace('_', '-')})"
            )
    for table in (before, after):
        if not table.in_order:
            raise InputError(
                f"the rows of {table.origin.name} have no order in Spark, so they cannot be paired "
                "by it; name a key column that is in both, or give the paths of Parquet files"
            )
    if before.rows != after.rows:
        raise InputError(
            f"the original has {before.rows} records and the release "
            f"{after.rows}, so rows cannot be paired in order; name a key column that "
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
    return None if secret is None else shuffled_order(secret, np.arange(before.rows))


def beside(released: Any) -> list[dict[str, Any]]:
    """What record and certificate say that stand beside a release, as far as they can be read.

    released: whatever a release can be given as; a data frame has nothing beside it.
    """
    if not isinstance(released, str | os.PathLike):
        return []
    found = []
    for text in _texts_beside(os.fspath(released)):
        with suppress(ValueError):
            told = json.loads(text)
            if isinstance(told, dict):
                found.append(told)
    return found


def _texts_beside(address: str) -> Iterator[str | bytes]:
    if Database().holds(address):
        text = certificate_text(address)
        if text is not None:
            yield text
        return
    for path in (record_path(Path(address)), certificate_path(Path(address))):
        with suppress(OSError, ValueError, InputError):
            yield content_of(path)


def _alike(one: pa.Array, other: pa.Array) -> tuple[pa.Array, pa.Array]:
    """Two columns in one type; text beside dates is read as such, for some files have no dates."""
    if one.type == other.type:
        return one, other
    with suppress(pa.ArrowInvalid):
        if is_text(other.type) and _is_moment(one.type):
            return one, other.cast(one.type)
        if is_text(one.type) and _is_moment(other.type):
            return one.cast(other.type), other
    common = _common_type(one.type, other.type)
    return one.cast(common, safe=False), other.cast(common, safe=False)


def _is_moment(kind: pa.DataType) -> bool:
    return pa.types.is_date(kind) or pa.types.is_timestamp(kind)


def _common_type(*types: pa.DataType) -> pa.DataType:
    """What two types are compared as: numbers or moments if both are, else text."""
    if all(
        pa.types.is_integer(each) or pa.types.is_floating(each) or pa.types.is_decimal(each)
        for each in types
    ):
        return pa.float64()
    if all(map(_is_moment, types)):
        return pa.timestamp("us")
    return pa.string()


def _order_of(original: pa.Array, released: pa.Array) -> Sequence[str] | None:
    """The order that an ordinal column brings along, if the release has no other categories."""
    if not (pa.types.is_dictionary(original.type) and original.type.ordered):
        return None
    order: list[str] = original.dictionary.cast(pa.string()).to_pylist()
    known = set(released.unique().cast(pa.string()).to_pylist()) - {None} <= set(order)
    return order if known else None
