"""What kinds share whose values are categories."""

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from microagg.aggregation.centres import modes
from microagg.base.errors import InputError
from microagg.columns.coded import Coded
from microagg.columns.kinds.kind import Kind, where_missing
from microagg.columns.told import Bar

_MOST_BARS = 11


class Categories(Kind):
    """Columns of categories, any two of which differ equally; a group publishes the commonest."""

    numeric = False
    categorical = True
    centre = staticmethod(modes)

    def check_categories(self, name: str, categories: pa.Array, ordered: bool) -> None:
        """Refuse categories that this kind cannot have; ordered: somebody says in which order."""
        return

    def encode(self, name: str, array: pa.Array, order: tuple[str, ...] | None) -> Coded:
        """Ranks in the order that is given, or that the type has, or else of the values."""
        given = array.type
        in_order = pa.types.is_dictionary(given) and given.ordered and order is None
        encoded = _plainly_encoded(array, keep_unused=in_order)
        categories = encoded.dictionary
        self.check_categories(name, categories, in_order or order is not None)
        missing = where_missing(encoded.indices)
        codes = encoded.indices.fill_null(0).cast(pa.int64()).to_numpy()
        if len(categories) and not in_order:
            places = _sorted_places(name, categories, order)
            codes = np.argsort(places)[codes]
            categories = categories.take(pa.array(places))
        if missing is not None:
            codes = np.where(missing, 0, codes)
        return Coded(name, self.name, codes, True, missing, given, categories)

    def decode(self, coded: Coded, values: NDArray, missing: NDArray[np.bool_]) -> pa.Array:
        """Codes as the categories that they stand for."""
        assert coded.categories is not None
        if len(coded.categories) == 0:
            return pa.nulls(values.size, coded.type)
        codes = pa.array(values.astype(np.int64), mask=missing)
        if pa.types.is_dictionary(coded.type):
            return pa.DictionaryArray.from_arrays(
                codes.cast(coded.type.index_type), coded.categories, ordered=coded.type.ordered
            )
        return coded.categories.take(codes).cast(coded.type)

    def bars(
        self,
        column: Coded,
        edges: NDArray[np.float64] | None,
        counts: NDArray[np.int64],
        olds: NDArray[np.int64] | None,
    ) -> tuple[Bar, ...]:
        """A bar a category, the commonest or the lowest first; of many, the last is the rest.

        To it belong those that the release has not: nobody but their records would name them.
        """
        sizes = counts if olds is None else np.maximum(counts, olds)
        there = np.flatnonzero(sizes)
        if not self.numeric:
            there = there[np.argsort(-sizes[there], kind="stable")]
        shown = there[counts[there] > 0][:_MOST_BARS]
        rest = np.setdiff1d(there, shown)
        bars = [
            Bar(name, None, None, None if olds is None else int(olds[code]), int(counts[code]))
            for name, code in zip(self.texts(column, shown), shown.tolist(), strict=True)
        ]
        if rest.size:
            old = None if olds is None else int(olds[rest].sum())
            bars.append(Bar(f"{rest.size} others", None, None, old, int(counts[rest].sum())))
        return tuple(bars)


def _plainly_encoded(array: pa.Array, keep_unused: bool) -> pa.DictionaryArray:
    """A dictionary in which each category stands once, and none of them is missing."""
    if pa.types.is_null(array.type):
        return pa.DictionaryArray.from_arrays(pa.nulls(len(array), pa.int32()), array[:0])
    if not pa.types.is_dictionary(array.type):
        return array.dictionary_encode()
    categories = array.dictionary
    known = categories if keep_unused else categories.take(array.indices.unique().drop_null())
    known = known.drop_null().unique()
    if len(known) == len(categories):
        return array
    places = pc.index_in(categories, value_set=known)
    return pa.DictionaryArray.from_arrays(places.take(array.indices), known)


def _sorted_places(
    name: str, categories: pa.Array, order: tuple[str, ...] | None
) -> NDArray[np.int64]:
    """Where the lowest category stands in a list, the next one, and so on."""
    if order is None:
        if pa.types.is_boolean(categories.type):
            categories = categories.cast(pa.int8())
        return pc.array_sort_indices(categories).to_numpy().astype(np.int64)
    known = {category: place for place, category in enumerate(order)}
    texts = categories.cast(pa.string()).to_pylist()
    strange = sum(text not in known for text in texts)
    if strange:
        raise InputError(
            f"column {name!r} has {strange} categories that orders does not list; list them all"
        )
    return np.argsort([known[text] for text in texts])
