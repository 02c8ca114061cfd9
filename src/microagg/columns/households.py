"""Households: whose record each is, as whole numbers, and which sets of records have k of them.

A table that is seen in parts need not be counted whole: a set of records has k different households
if k different numbers occur in it, and the k smallest of each set tell that, put together in any
order. Households whose numbers are equal by chance count as one, so never too many are counted.
"""

from typing import Self

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from microagg.base.errors import InputError
from microagg.columns.secrets import Secret
from microagg.columns.text import is_text, without_views
from microagg.kernels.compiling import kernel
from microagg.table.checks import plain
from microagg.table.classes import not_comparable
from microagg.table.opening import Origin

Codes = NDArray[np.int64]


def household_codes(name: str, column: pa.Array, origin: Origin) -> Codes:
    """A whole number for the household of each record, equal where their entries are."""
    column = plain(without_views(column))
    if is_text(column.type):
        column = pc.utf8_trim_whitespace(column)
    secret = Secret(name, column.type, origin)
    try:
        entries = secret.entries(column)
    except pa.ArrowException:
        raise not_comparable(name, column.type) from None
    if entries.null_count:
        raise InputError(
            f"column {name!r} says to which household a row belongs, but some rows have no value "
            "there; drop those rows or give each a household of its own"
        )
    if secret.is_number:
        return entries.to_numpy()
    entries = entries.cast(pa.large_binary())
    if not len(entries):
        return np.empty(0, np.int64)
    _, offsets, data = entries.buffers()
    starts = np.frombuffer(offsets, np.int64)[entries.offset : entries.offset + len(entries) + 1]
    codes = np.empty(len(entries), np.int64)
    _hash_texts(np.frombuffer(data or b"\0", np.uint8), starts, codes)
    return codes


@kernel
def _hash_texts(data, starts, codes):
    """Each step maps the hash so far one to one, and stirs every bit."""
    for i in range(codes.size):
        stirred = np.uint64(0x9E3779B97F4A7C15)
        for at in range(starts[i], starts[i + 1]):
            stirred ^= np.uint64(data[at]) + np.uint64(1)
            stirred *= np.uint64(0xBF58476D1CE4E5B9)
            stirred ^= stirred >> np.uint64(32)
            stirred *= np.uint64(0x94D049BB133111EB)
            stirred ^= stirred >> np.uint64(29)
        codes[i] = np.int64(stirred)


class Households:
    """The different households of each of some sets of records, seen in parts; not many of each.

    most: how many of each set are held; None holds all.
    """

    def __init__(self, most: int | None = None) -> None:
        self._most = most
        self.sets = self.codes = np.empty(0, np.int64)

    def add(self, sets: Codes, codes: Codes) -> Codes:
        """Take the next records: the set, from 0, and the household of each.

        Returns, for each household that is held, which of those taken before and of the records, in
        one line, is one of it.
        """
        sets, codes = np.concatenate([self.sets, sets]), np.concatenate([self.codes, codes])
        order = np.lexsort((codes, sets))
        sets, codes = sets[order], codes[order]
        new = np.append(True, (sets[1:] != sets[:-1]) | (codes[1:] != codes[:-1]))[: sets.size]
        order, sets, codes = order[new], sets[new], codes[new]
        if self._most is not None:
            few = np.arange(sets.size) - np.searchsorted(sets, sets) < self._most
            order, sets, codes = order[few], sets[few], codes[few]
        self.sets, self.codes = sets, codes
        return order

    def merge(self, other: Self) -> None:
        """Take what somebody else saw of other records."""
        self.add(other.sets, other.codes)

    def counts(self, sets: int) -> Codes:
        """How many of each set are known, which is at least k where it has k."""
        return np.bincount(self.sets, minlength=sets)

    def where_enough(self, records: Codes, k: int) -> Codes:
        """How many records sets have that have k households, and 0 where they do not.

        Sets may share households, so that only one that has enough makes up for another.
        """
        return np.where(self.counts(records.size) < k, 0, records)

    def together(self, some: NDArray[np.bool_]) -> int:
        """How many some sets have together."""
        return np.unique(self.codes[some[self.sets]]).size
