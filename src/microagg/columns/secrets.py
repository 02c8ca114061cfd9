"""Confidential columns as they are counted: how their entries are read, and which values there are.

Unlike columns that are protected, they need no place and no centre: values are equal or not, and
some have an order. Having no value, or NaN, is one value more, below all others.
"""

import tempfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Self

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from microagg.base.errors import InputError
from microagg.columns.kinds import kinds_of_text
from microagg.columns.text import is_text, read_text, without_views
from microagg.measure.anonymity import AmongAll, summed_by
from microagg.table.checks import plain
from microagg.table.opening import Origin

# Decimals of so many digits fit into a whole number of 64 bits; longer ones count as floats.
_DIGITS = 18
_SIGN, _ALL_BUT_SIGN = np.uint64(1 << 63), np.int64(2**63 - 1)
_LOOKED_AT_FIRST = 1000
# Beside columns of strata, which cannot be called so.
_LEVEL = "\0level"

# Which of some rows, of which the strata are known, are not left out.
Stays = Callable[[pa.Table], NDArray[np.bool_]]


class ObservedSecret:
    """What a confidential column can be read as, seen part by part."""

    def __init__(
        self,
        name: str,
        column_type: pa.DataType,
        origin: Origin,
        kind: str | None = None,
        order: tuple[str, ...] | None = None,
    ) -> None:
        """kind, order: what was declared, of which only an order, or that there is none, counts."""
        self.name, self._origin, self._order = name, origin, order
        self._nominal = kind in ("nominal", "boolean")
        # Categories that bring their order along.
        self._ranked = (
            pa.types.is_dictionary(column_type)
            and column_type.ordered
            and is_text(column_type.value_type)
            and kind in (None, "ordinal")
            and order is None
        )
        # A dictionary may list what nobody has, or nobody who stays, which a release is not to
        # know: levels that occur, with the stratum that they do in where strata may be left out.
        self._shown: pa.Table | None = None
        empty = pa.nulls(0, pa.string() if order or self._ranked else column_type)
        empty = plain(without_views(empty))
        self._type = pa.string() if pa.types.is_null(empty.type) else empty.type
        # Text is read as the first of these that takes all of it.
        types = [each for kind in kinds_of_text() for each in kind.read_as]
        self._left = types if is_text(empty.type) and not (order or self._ranked) else []
        self._empty = True

    def add(self, part: pa.Array, strata: pa.Table | None = None) -> None:
        """Take the next part; strata: of its rows, where some of them may be left out."""
        if self._ranked:
            part = without_views(part)
            self._same_order(tuple(part.dictionary.to_pylist()))
            beside = {} if strata is None else dict(zip(strata.column_names, strata, strict=True))
            self._show(pa.table({**beside, _LEVEL: plain(part)}))
        if not self._left:
            return
        entries = self._origin.readable(plain(without_views(part)))
        # Most text is no number, which its first entries tell.
        for some in (entries[:_LOOKED_AT_FIRST], entries[_LOOKED_AT_FIRST:]):
            self._left = [each for each in self._left if read_text(some, [each]) is not None]
        self._empty &= entries.null_count == len(entries)

    def merge(self, other: Self) -> None:
        """Take what somebody else saw of other parts."""
        self._left = [each for each in self._left if each in other._left]
        self._empty &= other._empty
        self._ranked &= other._ranked
        if other._shown is not None:
            self._show(other._shown)
        if self._ranked and other._order is not None:
            self._same_order(other._order)

    def secret(self, origin: Origin, stays: Stays | None = None) -> "Secret | None":
        """How the column is read, now that every part was seen; None if it cannot be counted.

        origin: of the release, for that of the input may hold more than a release shows; stays: of
        strata, once it is known which are left out.
        """
        kind = self._type if self._empty or not self._left else self._left[0]
        order = self._order if self._ranked or not self._left else None
        if self._ranked and order is not None and self._shown is not None:
            shown = self._shown
            if stays is not None and shown.num_columns > 1:
                shown = shown.filter(pa.array(stays(shown)))
            levels = set(shown[_LEVEL].to_pylist())
            order = tuple(level for level in order if level in levels)
        secret = Secret(self.name, kind, origin, self._nominal, order)
        return secret if _is_counted(kind) else None

    def _show(self, shown: pa.Table) -> None:
        if self._shown is not None:
            shown = pa.concat_tables([self._shown, shown])
        self._shown = shown.group_by(shown.column_names, use_threads=False).aggregate([])

    def _same_order(self, order: tuple[str, ...]) -> None:
        """Parts of a column have one order, or none."""
        self._ranked &= self._order in (None, order)
        self._order = order if self._ranked else None


@dataclass(frozen=True, eq=False)
class Secret:
    """How a confidential column is read, in whatever part and file its entries come.

    nominal: somebody says that its values have no order; order: of its categories, lowest first.
    """

    name: str
    type: pa.DataType
    origin: Origin
    nominal: bool = False
    order: tuple[str, ...] | None = None

    @property
    def ordered(self) -> bool:
        """Whether its values have an order."""
        if self.order is not None or self.nominal:
            return not self.nominal
        return self.is_number and not pa.types.is_boolean(self.type)

    @property
    def is_amount(self) -> bool:
        """Whether its values are numbers that have differences."""
        kinds = (pa.types.is_integer, pa.types.is_floating, pa.types.is_decimal)
        return any(is_it(self.type) for is_it in kinds)

    def sorted(self, texts: Sequence[bytes]) -> NDArray[np.int64]:
        """Which of different texts is the lowest, the next, ..."""
        if self.order is None:
            return np.array(sorted(range(len(texts)), key=texts.__getitem__), np.int64)
        places = {category.encode(): place for place, category in enumerate(self.order)}
        if not places.keys() >= set(texts):
            raise InputError(
                f"orders lists the categories of {self.name!r}, but the column has others; list "
                "all of them, lowest first"
            )
        return np.argsort([places[each] for each in texts]).astype(np.int64)

    @property
    def is_number(self) -> bool:
        """Whether its entries are whole numbers, and not texts."""
        return not (is_text(self.type) or _is_bytes(self.type))

    def entries(self, part: pa.Array) -> pa.Array:
        """Equal for equal values: whole numbers in the order of the values, or bytes."""
        array = self.origin.readable(plain(without_views(part)))
        if not self.is_number:
            return array.cast(pa.large_string() if is_text(self.type) else self.type).cast(
                pa.large_binary()
            )
        if is_text(array.type):
            array = self._read(array)
        return _ordered(array.cast(self.type))

    def _read(self, texts: pa.Array) -> pa.Array:
        """What texts of a file say, which has no other sign for what is missing than no text."""
        texts = pc.if_else(pc.equal(texts, ""), pa.scalar(None, texts.type), texts)
        if pa.types.is_duration(self.type):
            return texts.cast(pa.int64())
        if pa.types.is_time(self.type):
            texts = pc.binary_join_element_wise("1970-01-01T", texts, "")
            return texts.cast(pa.timestamp(self.type.unit))
        return pc.utf8_trim_whitespace(texts)

    def numbers(self, words: NDArray[np.int64]) -> NDArray[np.float64]:
        """The values that whole numbers of `entries` stand for; moments in ticks."""
        kind = self.type
        if kind == pa.uint64():
            return (words.view(np.uint64) ^ _SIGN).astype(np.float64)
        if pa.types.is_floating(kind) or _is_long(kind):
            return (words ^ ((words >> 63) & _ALL_BUT_SIGN)).view(np.float64)
        return words / 10.0**kind.scale if pa.types.is_decimal(kind) else words.astype(np.float64)


def _is_bytes(kind: pa.DataType) -> bool:
    known = (pa.types.is_binary, pa.types.is_large_binary, pa.types.is_fixed_size_binary)
    return any(is_it(kind) for is_it in known)


def _is_counted(kind: pa.DataType) -> bool:
    return bool(
        is_text(kind)
        or _is_bytes(kind)
        or pa.types.is_decimal(kind)
        or (pa.types.is_primitive(kind) and not pa.types.is_interval(kind))
    )


def _is_long(kind: pa.DataType) -> bool:
    return bool(pa.types.is_decimal(kind) and kind.precision > _DIGITS)


def _ordered(array: pa.Array) -> pa.Array:
    """Numbers, moments and truth values as whole numbers in the same order."""
    kind = array.type
    if pa.types.is_decimal(kind) and not _is_long(kind):
        wide = array.cast(pa.decimal128(_DIGITS, kind.scale))
        words = np.frombuffer(wide.buffers()[1] or b"", np.int64).reshape(-1, 2)
        values = words[wide.offset : wide.offset + len(wide), 0]
        return pa.array(values, mask=_where_null(array))
    if pa.types.is_floating(kind) or _is_long(kind):
        floats = array.cast(pa.float64()).to_numpy(zero_copy_only=False) + 0.0
        bits = floats.view(np.int64)
        # Of numbers below zero a larger one has fewer bits.
        return pa.array(bits ^ ((bits >> 63) & _ALL_BUT_SIGN), mask=np.isnan(floats))
    if kind == pa.uint64():
        words = array.fill_null(0).to_numpy() ^ _SIGN
        return pa.array(words.view(np.int64), mask=_where_null(array))
    if pa.types.is_boolean(kind):
        array = array.cast(pa.uint8())
    elif pa.types.is_temporal(kind):
        array = array.cast(pa.int32() if kind.bit_width == 32 else pa.int64())
    return array.cast(pa.int64())


def _where_null(array: pa.Array) -> NDArray[np.bool_]:
    missing: NDArray[np.bool_] = array.is_null().to_numpy(zero_copy_only=False)
    return missing


def counted_at_once(secret: Secret, entries: pa.Array) -> tuple[AmongAll, NDArray[np.int64]]:
    """How often each value occurs in a whole column, and the rank of every entry."""
    present, words = entries.drop_null(), np.zeros(0, np.int64)
    if secret.is_number and len(present[:_LOOKED_AT_FIRST].unique()) > _LOOKED_AT_FIRST // 2:
        words, there = np.unique(present.to_numpy(), return_inverse=True)
    else:
        encoded = present.dictionary_encode()
        if secret.order is None:
            order = pc.array_sort_indices(encoded.dictionary).to_numpy()
        else:
            order = secret.sorted(encoded.dictionary.to_pylist())
        there = np.argsort(order)[encoded.indices.to_numpy()]
        if secret.is_number:
            words = encoded.dictionary.to_numpy()[order]
    among_all = _among_all(secret, np.bincount(there), entries.null_count, words, Room())
    if not entries.null_count:
        return among_all, there
    ranks = np.zeros(len(entries), np.int64)
    ranks[~_where_null(entries)] = there + 1
    return among_all, ranks


@dataclass(frozen=True)
class Room:
    """Where whole numbers are held: in a file that nobody sees, if a folder may hold it, and in
    memory otherwise.

    most: so many are worked on at a time; what is held has a file from a quarter of that on.
    """

    folder: Path | None = None
    most: int = 1 << 21

    def __call__(self, size: int) -> NDArray[np.int64]:
        """An array of so many."""
        if self.folder is None or 4 * size <= self.most:
            return np.empty(size, np.int64)
        with tempfile.TemporaryFile(dir=self.folder) as file:
            return np.memmap(file, np.int64, "w+", shape=(size,))


def _among_all(
    secret: Secret, counts: NDArray[np.int64], missing: int, words: NDArray[np.int64], room: Room
) -> AmongAll:
    gap, every = int(missing > 0), counts
    # Counts may fill a file, so they are not copied for nothing.
    if gap:
        every = room(gap + counts.size)
        every[:gap], every[gap:] = missing, counts
    return AmongAll(
        every,
        secret.ordered,
        lambda: np.concatenate([[np.nan] * gap, secret.numbers(words)]),
        room,
        missing > 0,
    )


# Different values, ascending, and how often each occurs.
_Counted = tuple[NDArray[np.int64], NDArray[np.int64]]


class SeenValues:
    """The different values of a confidential column as they come, and how often each does.

    Memory for the different texts; of numbers for as many as there is room for.
    """

    def __init__(self, secret: Secret, room: Room) -> None:
        self.secret, self._room = secret, room
        self._missing = 0
        # Of whole numbers: the different ones, ascending. Of bytes: the number of each.
        self._words, self._texts = np.zeros(0, np.int64), dict[bytes, int]()
        self._counts = self._ranks = np.zeros(0, np.int64)
        self._waiting: list[_Counted] = []
        self._full: list[_Counted] = []

    def add(self, entries: pa.Array) -> NDArray[np.int64]:
        """Count entries, as `Secret.entries` gives them; as whole numbers, any where missing."""
        found = pc.value_counts(entries.drop_null())
        self.add_counts(found.field("values"), found.field("counts").to_numpy(), entries.null_count)
        return self.coded(entries)

    def add_counts(self, values: pa.Array, counts: NDArray[np.int64], missing: int) -> None:
        """Take different values that were counted."""
        self._missing += missing
        if not self.secret.is_number:
            texts = self._texts
            numbers = [texts.setdefault(text, len(texts)) for text in values.to_pylist()]
            self._counts = np.pad(self._counts, (0, len(texts) - self._counts.size))
            self._counts[numbers] += counts
            return
        self._waiting.append((values.to_numpy(), counts))
        waiting = sum(words.size for words, _ in self._waiting)
        # Not each time: a part may have few of many values.
        if waiting > self._words.size or self._is_full(waiting + self._words.size):
            self._settle()

    def coded(self, entries: pa.Array) -> NDArray[np.int64]:
        """Entries that were counted as whole numbers, any where missing."""
        if self.secret.is_number:
            return entries.fill_null(0).to_numpy()
        encoded = entries.dictionary_encode()
        numbers = [self._texts[text] for text in encoded.dictionary.to_pylist()]
        return np.array(numbers or [0], np.int64)[encoded.indices.fill_null(0).to_numpy()]

    def among_all(self) -> AmongAll:
        """How often each value occurs, now that every one was counted."""
        self._settle()
        if self._full:
            self._words, self._counts = self._merged()
        counts = self._counts
        if not self.secret.is_number:
            order = self.secret.sorted(list(self._texts))
            self._ranks, counts = np.argsort(order), counts[order]
        return _among_all(self.secret, counts, self._missing, self._words, self._room)

    def ranks(self, codes: NDArray[np.int64], missing: NDArray[np.bool_]) -> NDArray[np.int64]:
        """Where values stand among all that `among_all` told of."""
        if self.secret.is_number:
            # In order they are looked up where the last one was.
            order, ranks = np.argsort(codes), np.empty_like(codes)
            ranks[order] = np.searchsorted(self._words, codes[order])
        else:
            ranks = np.append(self._ranks, 0)[codes]
        if self._missing:
            ranks += 1
            ranks[missing] = 0
        return ranks

    def _is_full(self, size: int) -> bool:
        return self._room.folder is not None and size > self._room.most

    def _settle(self) -> None:
        if self._waiting:
            words, counts = zip((self._words, self._counts), *self._waiting, strict=True)
            self._waiting = []
            self._words, self._counts = summed_by(np.concatenate(words), np.concatenate(counts))
        # Where half the room is left for what is new, it is not soon full again.
        if self._is_full(2 * self._words.size):
            held = self._room(self._words.size), self._room(self._words.size)
            held[0][:], held[1][:] = self._words, self._counts
            self._full.append(held)
            self._words = self._counts = np.zeros(0, np.int64)

    def _merged(self) -> "_Counted":
        """All that was put away, range by range of values, few of which are in memory at a time."""
        runs = [*self._full, (self._words, self._counts)]
        self._full, size = [], sum(words.size for words, _ in runs)
        step = max(1, self._room.most // len(runs))
        borders = np.unique(np.concatenate([words[::step] for words, _ in runs]))
        ends = [np.append(np.searchsorted(words, borders[1:]), words.size) for words, _ in runs]
        starts, done = [0] * len(runs), 0
        all_words, all_counts = self._room(size), self._room(size)
        for ended in zip(*ends, strict=True):
            ranges = [slice(*ends) for ends in zip(starts, ended, strict=True)]
            some = [
                (words[part], counts[part])
                for (words, counts), part in zip(runs, ranges, strict=True)
            ]
            words, counts = summed_by(*(np.concatenate(each) for each in zip(*some, strict=True)))
            all_words[done : done + words.size], all_counts[done : done + words.size] = (
                words,
                counts,
            )
            starts, done = list(ended), done + words.size
        return all_words[:done], all_counts[:done]
