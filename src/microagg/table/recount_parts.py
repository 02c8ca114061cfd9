"""How many records look alike, counted on a table that is seen only in parts."""

import tempfile
from collections.abc import Iterable, Iterator, Sequence
from functools import partial
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from microagg.base.errors import InputError
from microagg.base.progress import Report, silent
from microagg.kernels.compiling import kernel
from microagg.kernels.threads import run_both
from microagg.table.frames import give_back_memory
from microagg.table.recount import Alike

_BLOCK = 1 << 16
_FILE_BYTES = 1 << 25
# The share of the work that is done when the last part was seen.
_SEEN = 0.6


def count_parts(
    parts: Iterable[pa.RecordBatch],
    names: Sequence[str],
    rows: int,
    folder: Path,
    report: Report = silent,
) -> Alike:
    """Classes of records equal in the columns named, as `count_alike` finds them, in another order.

    rows: how many records will come, or about; folder: where temporary files may lie for a while.

    Records become lines of whole numbers, equal where the records are. Equal lines of a block
    become one with a weight, so however large a class is, few lines of it remain. A hash of 64 bits
    sends each line to one of many files that fit into memory, where equal ones meet. Hashes only
    bring lines together: whether two are equal is seen number by number.

    O(n log n) time. Memory for a few blocks and files, for the sizes, and for the different texts
    of each column, which are numbered as they come.
    """
    remaining = iter(parts)
    first = next(remaining, None)
    if first is None:
        return _alike([])
    lines = _Lines(first.schema, names)
    blocks = lines.blocks(chain([first], remaining))
    files = -(-rows * lines.width * 8 // _FILE_BYTES)
    if files <= 1:
        seen = [_collapsed(block)[0] for block in blocks]
        report(_SEEN)
        sizes = [_collapsed(np.concatenate(seen))[0][:, -1]] if seen else []
        report(1.0)
        return _alike(sizes)
    with tempfile.TemporaryDirectory(prefix=".microagg-", dir=folder) as room:
        return _alike(_on_disk(blocks, lines.width, (files - 1).bit_length(), rows, room, report))


def _alike(found: Sequence[NDArray[np.int64]]) -> Alike:
    give_back_memory()
    sizes = np.concatenate([np.empty(0, np.int64), *found])
    return Alike(sizes, sizes)


def _on_disk(
    blocks: Iterable[NDArray[np.int64]],
    width: int,
    bits: int,
    rows: int,
    room: str,
    report: Report,
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
        report(_SEEN * min(1.0, done / rows))
    found = [np.empty(0, np.int64)] * len(files)

    def count(number: int) -> None:
        if files[number].exists():
            entries = np.fromfile(files[number], np.int64).reshape(-1, width)
            found[number] = _collapsed(entries)[0][:, -1].copy()
            files[number].unlink()

    for number in range(0, len(files), 2):
        run_both(partial(count, number), partial(count, number + 1))
        report(_SEEN + (1.0 - _SEEN) * (number + 2) / len(files))
    return found


class _Lines:
    """Records as lines of whole numbers: which values are missing, the values, and a weight."""

    def __init__(self, schema: pa.Schema, names: Sequence[str]) -> None:
        self.names = names
        self.masks = -(-len(names) // 64)
        words = [_words(schema.field(name).type) for name in names]
        self.ends = self.masks + np.cumsum([0, *words])
        self.width = int(self.ends[-1]) + 1
        self.texts: list[dict[Any, int]] = [{} for _ in names]

    def blocks(self, parts: Iterable[pa.RecordBatch]) -> Iterator[NDArray[np.int64]]:
        """The lines in blocks that are good until the next is asked for."""
        block = np.empty((_BLOCK, self.width), np.int64)
        filled = 0
        for part in parts:
            taken = 0
            while taken < part.num_rows:
                piece = part.slice(taken, _BLOCK - filled)
                self._write(piece, block[filled : filled + piece.num_rows])
                taken += piece.num_rows
                filled += piece.num_rows
                if filled == _BLOCK:
                    yield block
                    filled = 0
        if filled:
            yield block[:filled]

    def _write(self, part: pa.RecordBatch, block: NDArray[np.int64]) -> None:
        block[:, : self.masks] = 0
        block[:, -1] = 1
        for place, name in enumerate(self.names):
            column = part.column(name)
            try:
                values, missing = _as_words(column, self.texts[place])
            except pa.ArrowNotImplementedError:
                raise InputError(
                    f"column {name!r} is of type {column.type}, whose values cannot be compared; "
                    "make it numbers, text or dates"
                ) from None
            inside = block[:, self.ends[place] : self.ends[place + 1]]
            inside[:] = values
            if missing is not None:
                inside[missing] = 0
                block[missing, place // 64] |= np.int64(1) << np.int64(place % 64)


def _words(kind: pa.DataType) -> int:
    if pa.types.is_dictionary(kind):
        return _words(kind.value_type)
    return max(1, kind.bit_width // 64) if pa.types.is_decimal(kind) else 1


def _as_words(
    column: pa.Array, texts: dict[Any, int]
) -> tuple[NDArray[np.int64], NDArray[np.bool_] | None]:
    """A line of whole numbers for each entry, equal for equal ones, and where none is."""
    kind = column.type
    missing = column.is_null().to_numpy(zero_copy_only=False) if column.null_count else None
    if pa.types.is_dictionary(kind):
        return _spelt_out(column, missing, *_as_words(column.dictionary, texts))
    if pa.types.is_null(kind):
        return np.zeros((len(column), 1), np.int64), np.ones(len(column), bool)
    if pa.types.is_boolean(kind):
        column = column.cast(pa.uint8())
    elif pa.types.is_floating(kind):
        numbers = _entries(column, f"f{kind.bit_width // 8}").astype(np.float64)
        numbers += 0.0  # there is one zero, not two
        numbers[np.isnan(numbers)] = np.nan
        return numbers.view(np.int64), missing
    elif not (
        pa.types.is_integer(kind)
        or pa.types.is_decimal(kind)
        or (pa.types.is_temporal(kind) and not pa.types.is_interval(kind))
    ):
        return _numbered(column, missing, texts)
    return _entries(column, f"i{min(8, column.type.bit_width // 8)}"), missing


def _entries(column: pa.Array, dtype: str) -> NDArray:
    """What lies in memory for a column of entries of one width, as rows of words."""
    words = max(1, column.type.bit_width // 64)
    if len(column) == 0:
        return np.empty((0, words), dtype)
    end = column.offset + len(column)
    raw = np.frombuffer(column.buffers()[1], dtype, end * words)
    return raw.reshape(-1, words)[column.offset :]


def _numbered(
    column: pa.Array, missing: NDArray[np.bool_] | None, texts: dict[Any, int]
) -> tuple[NDArray[np.int64], NDArray[np.bool_] | None]:
    """Texts and the like by numbers that grow from part to part."""
    if not pa.types.is_interval(column.type) and not pa.types.is_nested(column.type):
        # Bytes need not be decoded, and may even be no text.
        column = column.cast(pa.large_binary())
    encoded = column.dictionary_encode()
    values = encoded.dictionary.to_pylist()
    numbers = [texts.setdefault(value, len(texts)) for value in values]
    return _spelt_out(encoded, missing, np.array(numbers, np.int64)[:, np.newaxis], None)


def _spelt_out(
    column: pa.DictionaryArray,
    missing: NDArray[np.bool_] | None,
    values: NDArray[np.int64],
    none: NDArray[np.bool_] | None,
) -> tuple[NDArray[np.int64], NDArray[np.bool_] | None]:
    """The line of each entry, from those of the dictionary, where `none` says what is missing."""
    if len(values) == 0:
        return np.zeros((len(column), 1), np.int64), missing
    places = column.indices.fill_null(0).to_numpy()
    if none is not None:
        missing = none[places] if missing is None else missing | none[places]
    return values[places], missing


def _collapsed(
    entries: NDArray[np.int64], bits: int = 0
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """One entry of each kind with the summed weight, by the leading bits of its hash; and how many
    entries begin with each number of so many bits."""
    n = len(entries)
    keys = np.empty(n, np.uint64)
    _hash(entries, keys)
    mask = np.uint64((1 << max(1, (n - 1).bit_length())) - 1)
    _put_rows(keys, mask)
    keys.sort()
    firsts, weights = np.empty(n, np.int64), np.empty(n, np.int64)
    counts = np.zeros(1 << bits, np.int64)
    kinds = _collapse(entries, keys, mask, bits, firsts, weights, counts)
    kept = entries[firsts[:kinds]]
    kept[:, -1] = weights[:kinds]
    return kept, counts


@kernel
def _hash(entries, hashes):
    """All but the weight; each step maps the hash so far one to one, and stirs every bit."""
    n, width = entries.shape
    for i in range(n):
        stirred = np.uint64(0x9E3779B97F4A7C15)
        for a in range(width - 1):
            stirred ^= np.uint64(entries[i, a])
            stirred *= np.uint64(0xBF58476D1CE4E5B9)
            stirred ^= stirred >> np.uint64(32)
            stirred *= np.uint64(0x94D049BB133111EB)
            stirred ^= stirred >> np.uint64(29)
        hashes[i] = stirred


@kernel
def _put_rows(keys, mask):
    """The row number in place of the last bits: sorted keys say where their entries stand."""
    for i in range(keys.size):
        keys[i] = (keys[i] & ~mask) | np.uint64(i)


@kernel
def _collapse(entries, keys, mask, bits, firsts, weights, counts):
    """Go through runs of one hash; within a run, compare with every kind found there so far."""
    last = entries.shape[1] - 1
    kinds = 0
    run = 0
    for i in range(keys.size):
        row = keys[i] & mask
        if i > 0 and (keys[i] | mask) != (keys[i - 1] | mask):
            run = kinds
        kind = run
        while kind < kinds:
            known = firsts[kind]
            a = 0
            while a < last and entries[row, a] == entries[known, a]:
                a += 1
            if a == last:
                break
            kind += 1
        if kind == kinds:
            firsts[kind] = np.int64(row)
            weights[kind] = 0
            # In two steps: there is no shift by all 64 bits.
            counts[(keys[i] >> np.uint64(1)) >> np.uint64(63 - bits)] += 1
            kinds += 1
        weights[kind] += entries[row, last]
    return kinds
