"""How many records share their values in some columns of a table that is seen only in parts.

Records become lines of whole numbers that are counted on disk.
"""

import tempfile
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from hashlib import blake2b
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from microagg.base.progress import Advance, silent
from microagg.kernels.collapsing import collapse, hash_lines, put_rows
from microagg.kernels.threads import run_each
from microagg.table.checks import plain
from microagg.table.classes import Classes, not_comparable
from microagg.table.frames import give_back_memory

# The share of the work that is done when the last part was seen.
_SEEN = 0.6
# Files that are in memory side by side.
_FILES_AT_ONCE = 8


def classes_of(parts: Iterable["WholeClasses"], by_owner: bool = False) -> Classes:
    """The classes of all parts; by_owner: k counts the different values of the last column."""
    nothing = np.empty(0, np.int64)
    found = [(nothing, nothing)]
    found += [(part.sizes, part.owners if by_owner else nothing) for part in parts]
    sizes, owners = (np.concatenate(each) for each in zip(*found, strict=True))
    give_back_memory()
    return Classes.of(sizes, owners if by_owner else None)


@dataclass(frozen=True, eq=False)
class WholeClasses:
    """All records of some classes, as lines: records that are equal in every number are one.

    sizes: how many records each class has. labels: the class of each line. values: whole numbers,
    (lines, columns), 0 where there is none, which `missing` says. weights: how many records a line
    stands for; None if one each.
    """

    sizes: NDArray[np.int64]
    labels: NDArray[np.int64]
    values: NDArray[np.int64]
    missing: NDArray[np.bool_]
    weights: NDArray[np.int64] | None = None

    @property
    def owners(self) -> NDArray[np.int64]:
        """How many different values the last column has in each class."""
        order = np.lexsort((self.values[:, -1], self.labels))
        pairs = np.stack([self.labels[order], self.values[order, -1]])
        first = np.append(True, (pairs[:, 1:] != pairs[:, :-1]).any(axis=0))
        return np.bincount(pairs[0, first], minlength=self.sizes.size)


def classes_in_parts(
    batches: Iterable[pa.RecordBatch],
    names: Sequence[str],
    values: Sequence[str],
    rows: int,
    folder: Path,
    advance: Advance = silent,
    *,
    block_rows: int = 1 << 16,
    file_bytes: int = 1 << 25,
) -> Iterator[WholeClasses]:
    """Records equal in the columns named, class by class: each class whole in one of the parts.

    values: columns of whole numbers that are counted within classes. rows: how many records will
    come, or about; folder: where temporary files may lie for a while. block_rows, file_bytes: how
    much is counted at a time, before and after it was on disk. The first part comes once all
    batches were seen.

    Records become lines of whole numbers, equal where the records are. Equal lines of a block
    become one with a weight, so however large a class is, few lines of it remain, if it has few
    values. A hash of 64 bits sends each class to one of many files that fit into memory, where
    equal lines meet. Hashes only bring lines together: whether two are equal is seen number by
    number.

    O(n log n) time. Memory for a few blocks and files, for the sizes, for the different texts
    of each column, which are numbered as they come, and for the different lines of one class.
    """
    remaining = iter(batches)
    first = next(remaining, None)
    if first is None:
        return
    lines = _Lines(first.schema, names, values)
    blocks = lines.blocks(chain([first], remaining), block_rows)
    files = -(-rows * lines.width * 8 // file_bytes)
    if files <= 1:
        seen = [lines.collapsed(block)[0] for block in blocks]
        advance(_SEEN)
        if seen:
            yield lines.classes(np.concatenate(seen))
        advance(1.0)
        return
    with tempfile.TemporaryDirectory(prefix=".microagg-", dir=folder) as room:
        bits = (files - 1).bit_length()
        yield from _on_disk(blocks, lines, bits, rows, room, advance)


def class_hashes(part: pa.RecordBatch, names: Sequence[str]) -> NDArray[np.uint64]:
    """A number for each record, equal where the columns named are.

    It follows from the values alone, so that parts may be numbered anywhere.
    """
    lines = _Lines(part.schema, names, (), _ByContent)
    hashes = np.empty(part.num_rows, np.uint64)
    hash_lines(lines.of(part), lines.words, hashes)
    return hashes


def _on_disk(
    blocks: Iterable[NDArray[np.int64]],
    lines: "_Lines",
    bits: int,
    rows: int,
    room: str,
    advance: Advance,
) -> Iterator[WholeClasses]:
    files = [Path(room, f"{number}") for number in range(1 << bits)]
    done = 0
    for block in blocks:
        entries, counts = lines.collapsed(block, bits)
        pieces = np.split(entries, np.cumsum(counts)[:-1])
        for path, piece in zip(files, pieces, strict=True):
            if len(piece):
                with path.open("ab") as file:
                    file.write(piece.data)
        done += len(block)
        advance(_SEEN * min(1.0, done / rows))

    def count(number: int, found: list[WholeClasses]) -> None:
        if files[number].exists():
            entries = np.fromfile(files[number], np.int64).reshape(-1, lines.width)
            found.append(lines.classes(entries))
            files[number].unlink()

    for start in range(0, len(files), _FILES_AT_ONCE):
        some = range(start, min(start + _FILES_AT_ONCE, len(files)))
        parts: list[list[WholeClasses]] = [[] for _ in some]
        run_each([partial(count, *each) for each in zip(some, parts, strict=True)])
        yield from chain(*parts)
        advance(_SEEN + (1.0 - _SEEN) * (start + len(some)) / len(files))


class _AsTheyCome(dict[Any, int]):
    """Texts by numbers that grow from part to part."""

    def __missing__(self, text: Any) -> int:
        self[text] = number = len(self)
        return number


class _ByContent(dict[Any, int]):
    """Texts by a hash of each."""

    def __missing__(self, text: Any) -> int:
        content = text if isinstance(text, bytes) else repr(text).encode()
        digest = blake2b(content, digest_size=8).digest()
        self[text] = number = int.from_bytes(digest, "little", signed=True)
        return number


class _Lines:
    """Records as lines of whole numbers: which values are missing, the values, and a weight.

    words: of the columns that tell classes apart, which stand first. Values that are counted within
    classes follow, in the same way.
    """

    def __init__(
        self,
        schema: pa.Schema,
        names: Sequence[str],
        values: Sequence[str],
        texts: type[dict[Any, int]] = _AsTheyCome,
    ) -> None:
        """texts: how these become numbers."""
        self.names = (*names, *values)
        self.texts = [texts() for _ in self.names]
        self.places: list[tuple[int, int, int]] = []
        self.masks: list[int] = []
        self.values = len(values)
        end = self._take(schema, names, 0)
        self.words = end
        self.width = self._take(schema, values, end) + 1

    def _take(self, schema: pa.Schema, names: Sequence[str], end: int) -> int:
        """Give some columns their places: bits of masks first, then words; where these end."""
        masks = -(-len(names) // 64)
        first = end
        self.masks += range(end, end + masks)
        end += masks
        for place, name in enumerate(names):
            start, end = end, end + _words(schema.field(name).type)
            self.places.append((start, end, 64 * first + place))
        return end

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

    def of(self, part: pa.RecordBatch) -> NDArray[np.int64]:
        """The lines of one part."""
        block = np.empty((part.num_rows, self.width), np.int64)
        self._write(part, block)
        return block

    def collapsed(
        self, entries: NDArray[np.int64], bits: int = 0
    ) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """One entry of each kind with the summed weight, by the leading bits of the hash of its
        class; and how many entries begin with each number of so many bits."""
        firsts, weights, _, counts = _kinds(entries, self.words, self.width - 1, bits)
        distinct = entries[firsts]
        distinct[:, -1] = weights
        return distinct, counts

    def classes(self, entries: NDArray[np.int64]) -> WholeClasses:
        """The classes of lines that are all there."""
        distinct, _ = self.collapsed(entries)
        sizes, labels = distinct[:, -1].copy(), np.arange(len(distinct))
        if self.values:
            _, sizes, labels, _ = _kinds(distinct, self.words, self.words, 0)
        places = self.places[len(self.places) - self.values :]
        bits = np.array([bit for _, _, bit in places], np.int64)
        return WholeClasses(
            sizes,
            labels,
            values=distinct[:, [start for start, _, _ in places]],
            missing=(distinct[:, bits // 64] >> (bits % 64)) & 1 > 0,
            weights=distinct[:, -1].copy(),
        )

    def _write(self, part: pa.RecordBatch, block: NDArray[np.int64]) -> None:
        block[:, self.masks] = 0
        block[:, -1] = 1
        for name, texts, (start, end, bit) in zip(self.names, self.texts, self.places, strict=True):
            column = part.column(name)
            inside = block[:, start:end]
            try:
                column = plain(column)
                inside[:] = _as_words(column, texts)
            except pa.ArrowNotImplementedError:
                raise not_comparable(name, column.type) from None
            if column.null_count:
                missing = column.is_null().to_numpy(zero_copy_only=False)
                inside[missing] = 0
                block[missing, bit // 64] |= np.int64(1) << np.int64(bit % 64)


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
    """Texts and the like by the numbers that they have."""
    if not pa.types.is_interval(column.type) and not pa.types.is_nested(column.type):
        # Bytes need not be decoded, and may even be no text.
        column = column.cast(pa.large_binary())
    encoded = column.dictionary_encode()
    numbers = [texts[value] for value in encoded.dictionary.to_pylist()]
    places = encoded.indices.fill_null(0).to_numpy()
    return np.array(numbers or [0], np.int64)[places, np.newaxis]


def _kinds(
    entries: NDArray[np.int64], leading: int, words: int, bits: int
) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]:
    """The kinds of entries that so many words tell apart, by so many leading bits of the hash of
    the leading words: an entry of each, its weight, the kind of every entry, and how many kinds
    begin with each number of so many bits."""
    n = len(entries)
    keys = np.empty(n, np.uint64)
    hash_lines(entries, words, keys)
    if bits and leading < words:
        home, rest = np.empty(n, np.uint64), np.uint64((1 << (64 - bits)) - 1)
        hash_lines(entries, leading, home)
        keys = (home & ~rest) | (keys & rest)
    mask = np.uint64((1 << max(1, (n - 1).bit_length())) - 1)
    put_rows(keys, mask)
    keys.sort()
    firsts, weights, kind_of = (np.empty(n, np.int64) for _ in range(3))
    counts = np.zeros(1 << bits, np.int64)
    kinds = collapse(entries, words, keys, mask, bits, firsts, weights, kind_of, counts)
    return firsts[:kinds], weights[:kinds], kind_of, counts
