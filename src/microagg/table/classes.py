"""How many records share their values in some columns, counted on the table itself.

In memory, classes are numbered column by column. Of a table that is seen only in parts, records
become lines of whole numbers that are counted on disk.
"""

import tempfile
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from typing import Any, Self

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from microagg.base.errors import InputError
from microagg.base.progress import Advance, silent
from microagg.kernels.collapsing import collapse, hash_lines, put_rows
from microagg.kernels.threads import run_all
from microagg.table.checks import plain
from microagg.table.frames import give_back_memory, in_one_piece

# The share of the work that is done when the last part was seen.
_SEEN = 0.6
# Files that are in memory side by side.
_FILES_AT_ONCE = 8


@dataclass(frozen=True, eq=False)
class Classes:
    """How many records share their values in some columns.

    sizes: the different sizes of classes, ascending; times: how many classes have each size.
    k: the least number of units (records, or entities) that share a class; 0 without records.
    """

    sizes: NDArray[np.int64]
    times: NDArray[np.int64]
    k: int

    @classmethod
    def of(cls, sizes: NDArray[np.int64], units: NDArray[np.int64] | None = None) -> Self:
        """From the size of each class and, where entities count, the different ones in each."""
        different, times = np.unique(np.asarray(sizes, np.int64), return_counts=True)
        counted = sizes if units is None else units
        return cls(different, times.astype(np.int64), int(np.min(counted)) if len(counted) else 0)

    @property
    def count(self) -> int:
        """How many classes there are."""
        return int(self.times.sum())

    @property
    def smallest(self) -> int:
        """The records of the smallest class."""
        return int(self.sizes[0])

    @property
    def median(self) -> float:
        """The median number of records of a class."""
        up_to, count = np.cumsum(self.times), self.count
        middle = np.searchsorted(up_to, [(count - 1) // 2, count // 2], side="right")
        return float(self.sizes[middle].mean())

    @property
    def largest(self) -> int:
        """The records of the largest class."""
        return int(self.sizes[-1])

    @property
    def unique(self) -> int:
        """How many records share their values with no other."""
        return int(self.times[self.sizes == 1].sum())


def count_classes(
    table: pa.Table, names: Sequence[str], entities: NDArray[np.int64] | None = None
) -> Classes:
    """Classes of records equal in the columns named. Missing equals missing, NaN equals NaN.

    entities: whose record each is, as numbers from 0; then k counts the different ones in a class.
    """
    classes = class_of(table, names)
    sizes = np.bincount(classes)
    if entities is None:
        return Classes.of(sizes)
    who = int(entities.max()) + 1
    different = pa.array(classes * who + entities).unique().to_numpy() // who
    return Classes.of(sizes, np.bincount(different, minlength=sizes.size))


def class_of(table: pa.Table, names: Sequence[str]) -> NDArray[np.int64]:
    """For each record the number of its class, from 0 without gaps, in order of appearance.

    Column by column: pairs of the class so far and the next value are numbered by a hash table. So
    no more than a few numbers a record are held at a time.
    """
    classes = np.zeros(table.num_rows, np.int64)
    for name in names:
        try:
            codes = _codes(_comparable(in_one_piece(table[name])))
        except pa.ArrowNotImplementedError:
            raise _not_comparable(name, table[name].type) from None
        classes *= int(codes.max()) + 1
        classes += codes
        classes = _codes(pa.array(classes)).astype(np.int64)
    give_back_memory()
    return classes


def _not_comparable(name: str, kind: pa.DataType) -> InputError:
    return InputError(
        f"column {name!r} is of type {kind}, whose values cannot be compared; "
        "make it numbers, text or dates"
    )


def _codes(column: pa.Array) -> NDArray[np.int32]:
    encoded = column.dictionary_encode("encode")
    return encoded.indices.to_numpy()


def _comparable(column: pa.Array) -> pa.Array:
    """The same values, equal ones in the same bits: categories spelt out, one zero, one NaN."""
    column = plain(column)
    if pa.types.is_floating(column.type):
        column = pc.add(column.cast(pa.float64()), 0.0)
        column = pc.if_else(pc.is_nan(column), float("nan"), column)
    return column


def count_classes_in_parts(
    batches: Iterable[pa.RecordBatch],
    names: Sequence[str],
    rows: int,
    folder: Path,
    advance: Advance = silent,
    *,
    block_rows: int = 1 << 16,
    file_bytes: int = 1 << 25,
) -> Classes:
    """Classes of records equal in the columns named, as `count_classes` finds them.

    rows: how many records will come, or about; folder: where temporary files may lie for a while.
    block_rows, file_bytes: how much is counted at a time, before and after it was on disk.

    Records become lines of whole numbers, equal where the records are. Equal lines of a block
    become one with a weight, so however large a class is, few lines of it remain. A hash of 64 bits
    sends each line to one of many files that fit into memory, where equal ones meet. Hashes only
    bring lines together: whether two are equal is seen number by number.

    O(n log n) time. Memory for a few blocks and files, for the sizes, and for the different texts
    of each column, which are numbered as they come.
    """
    remaining = iter(batches)
    first = next(remaining, None)
    if first is None:
        return _counted([])
    lines = _Lines(first.schema, names)
    blocks = lines.blocks(chain([first], remaining), block_rows)
    files = -(-rows * lines.width * 8 // file_bytes)
    if files <= 1:
        seen = [_collapsed(block)[0] for block in blocks]
        advance(_SEEN)
        sizes = [_collapsed(np.concatenate(seen))[0][:, -1]] if seen else []
        advance(1.0)
        return _counted(sizes)
    with tempfile.TemporaryDirectory(prefix=".microagg-", dir=folder) as room:
        bits = (files - 1).bit_length()
        return _counted(_on_disk(blocks, lines.width, bits, rows, room, advance))


def _counted(sizes: Sequence[NDArray[np.int64]]) -> Classes:
    give_back_memory()
    return Classes.of(np.concatenate([np.empty(0, np.int64), *sizes]))


def _on_disk(
    blocks: Iterable[NDArray[np.int64]],
    width: int,
    bits: int,
    rows: int,
    room: str,
    advance: Advance,
) -> list[NDArray[np.int64]]:
    files = [Path(room, f"{number}") for number in range(1 << bits)]
    done = 0
    for block in blocks:
        entries, counts = _collapsed(block, bits)
        pieces = np.split(entries, np.cumsum(counts)[:-1])
        for path, piece in zip(files, pieces, strict=True):
            if len(piece):
                with path.open("ab") as file:
                    file.write(piece.data)
        done += len(block)
        advance(_SEEN * min(1.0, done / rows))
    sizes = [np.empty(0, np.int64)] * len(files)

    def count(number: int, _tell: Advance) -> None:
        if files[number].exists():
            entries = np.fromfile(files[number], np.int64).reshape(-1, width)
            sizes[number] = _collapsed(entries)[0][:, -1].copy()
            files[number].unlink()

    def tell(share: float) -> None:
        advance(_SEEN + (1.0 - _SEEN) * share)

    run_all(count, np.ones(len(files), np.int64), tell, _FILES_AT_ONCE)
    return sizes


class _Lines:
    """Records as lines of whole numbers: which values are missing, the values, and a weight."""

    def __init__(self, schema: pa.Schema, names: Sequence[str]) -> None:
        self.names = names
        self.masks = -(-len(names) // 64)
        words = [_words(schema.field(name).type) for name in names]
        self.ends = self.masks + np.cumsum([0, *words])
        self.width = int(self.ends[-1]) + 1
        self.texts: list[dict[Any, int]] = [{} for _ in names]

    def blocks(self, parts: Iterable[pa.RecordBatch], rows: int) -> Iterator[NDArray[np.int64]]:
        """The lines in blocks of so many rows, each good until the next is asked for."""
        block = np.empty((rows, self.width), np.int64)
        filled = 0
        for part in parts:
            taken = 0
            while taken < part.num_rows:
                piece = part.slice(taken, rows - filled)
                self._write(piece, block[filled : filled + piece.num_rows])
                taken += piece.num_rows
                filled += piece.num_rows
                if filled == rows:
                    yield block
                    filled = 0
        if filled:
            yield block[:filled]

    def _write(self, part: pa.RecordBatch, block: NDArray[np.int64]) -> None:
        block[:, : self.masks] = 0
        block[:, -1] = 1
        for place, name in enumerate(self.names):
            column = part.column(name)
            inside = block[:, self.ends[place] : self.ends[place + 1]]
            try:
                column = plain(column)
                inside[:] = _as_words(column, self.texts[place])
            except pa.ArrowNotImplementedError:
                raise _not_comparable(name, column.type) from None
            if column.null_count:
                missing = column.is_null().to_numpy(zero_copy_only=False)
                inside[missing] = 0
                block[missing, place // 64] |= np.int64(1) << np.int64(place % 64)


def _words(kind: pa.DataType) -> int:
    if pa.types.is_dictionary(kind):
        return _words(kind.value_type)
    return max(1, kind.bit_width // 64) if pa.types.is_decimal(kind) else 1


def _as_words(column: pa.Array, texts: dict[Any, int]) -> NDArray[np.int64]:
    """A line of whole numbers for each entry, equal for equal ones; any where none is."""
    kind = column.type
    if pa.types.is_null(kind):
        return np.zeros((len(column), 1), np.int64)
    if pa.types.is_boolean(kind):
        column = column.cast(pa.uint8())
    elif pa.types.is_floating(kind):
        numbers = _entries(column, f"f{kind.bit_width // 8}").astype(np.float64)
        numbers += 0.0  # there is one zero, not two
        numbers[np.isnan(numbers)] = np.nan
        return numbers.view(np.int64)
    elif not (
        pa.types.is_integer(kind)
        or pa.types.is_decimal(kind)
        or (pa.types.is_temporal(kind) and not pa.types.is_interval(kind))
    ):
        return _numbered(column, texts)
    return _entries(column, f"i{min(8, column.type.bit_width // 8)}")


def _entries(column: pa.Array, dtype: str) -> NDArray:
    """What lies in memory for a column of entries of one width, as rows of words."""
    words = max(1, column.type.bit_width // 64)
    if len(column) == 0:
        return np.empty((0, words), dtype)
    end = column.offset + len(column)
    raw = np.frombuffer(column.buffers()[1], dtype, end * words)
    return raw.reshape(-1, words)[column.offset :]


def _numbered(column: pa.Array, texts: dict[Any, int]) -> NDArray[np.int64]:
    """Texts and the like by numbers that grow from part to part."""
    if not pa.types.is_interval(column.type) and not pa.types.is_nested(column.type):
        # Bytes need not be decoded, and may even be no text.
        column = column.cast(pa.large_binary())
    encoded = column.dictionary_encode()
    numbers = [texts.setdefault(value, len(texts)) for value in encoded.dictionary.to_pylist()]
    places = encoded.indices.fill_null(0).to_numpy()
    return np.array(numbers or [0], np.int64)[places, np.newaxis]


def _collapsed(
    entries: NDArray[np.int64], bits: int = 0
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """One entry of each kind with the summed weight, by the leading bits of its hash; and how many
    entries begin with each number of so many bits."""
    n = len(entries)
    keys = np.empty(n, np.uint64)
    hash_lines(entries, keys)
    mask = np.uint64((1 << max(1, (n - 1).bit_length())) - 1)
    put_rows(keys, mask)
    keys.sort()
    firsts, weights = np.empty(n, np.int64), np.empty(n, np.int64)
    counts = np.zeros(1 << bits, np.int64)
    kinds = collapse(entries, keys, mask, bits, firsts, weights, counts)
    distinct = entries[firsts[:kinds]]
    distinct[:, -1] = weights[:kinds]
    return distinct, counts
