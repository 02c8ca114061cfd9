"""Columns that are made of parts: lists, structures and maps, rebuilt from what they show."""

from collections.abc import Callable

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

# What becomes of an array that has no parts, and the type that it gets.
Leaf = Callable[[pa.Array, pa.DataType], pa.Array]


def rebuilt(array: pa.Array, kind: pa.DataType, leaf: Leaf) -> pa.Array:
    """The array with everything inside of it as `leaf` makes it, in the type `kind`.

    kind: the type of the array, but for what `leaf` changes. Nothing stays beneath gaps, nor of
        what the array was cut from.
    """
    types = pa.types
    missing = array.is_null() if array.null_count else None
    if isinstance(kind, pa.BaseExtensionType):
        storage = rebuilt(array.storage, kind.storage_type, leaf)
        return pa.ExtensionArray.from_storage(kind, storage)
    if types.is_struct(kind) and kind.num_fields:
        parts = [
            rebuilt(_filled(part) if not field.nullable else part, field.type, leaf)
            for part, field in zip(array.flatten(), kind, strict=True)
        ]
        return pa.StructArray.from_arrays(parts, fields=list(kind), mask=missing)
    if types.is_list(kind) or types.is_large_list(kind):
        make = pa.ListArray if types.is_list(kind) else pa.LargeListArray
        values = rebuilt(array.flatten(), kind.value_type, leaf)
        return make.from_arrays(_offsets(array), values, type=kind, mask=missing)
    if types.is_list_view(kind) or types.is_large_list_view(kind):
        make = pa.ListViewArray if types.is_list_view(kind) else pa.LargeListViewArray
        values, offsets = rebuilt(array.flatten(), kind.value_type, leaf), _offsets(array)
        sizes = pc.subtract(offsets[1:], offsets[:-1])
        return make.from_arrays(offsets[:-1], sizes, values, type=kind, mask=missing)
    if types.is_fixed_size_list(kind):
        values = rebuilt(_slots(array, kind.list_size), kind.value_type, leaf)
        return pa.FixedSizeListArray.from_arrays(values, type=kind, mask=missing)
    if types.is_map(kind):
        # Once taken, keys and items of gaps and of rows that were cut off are gone.
        array = array.take(pa.array(np.arange(len(array))))
        keys = rebuilt(array.keys, kind.key_type, leaf)
        items = rebuilt(array.items, kind.item_type, leaf)
        return pa.MapArray.from_arrays(array.offsets, keys, items, type=kind, mask=missing)
    if types.is_union(kind):
        return _rebuilt_union(array, kind, leaf)
    return leaf(array, kind)


def _rebuilt_union(array: pa.Array, kind: pa.UnionType, leaf: Leaf) -> pa.Array:
    array = array.take(pa.array(np.arange(len(array))))
    codes, sparse = array.type_codes.to_numpy(), kind.mode == "sparse"
    offsets, parts = np.zeros(len(array), np.int32), []
    for place, code in enumerate(kind.type_codes):
        chosen, part = codes == code, array.field(place)
        if sparse:
            part = part.take(pa.array(np.arange(len(array)), mask=~chosen))
        else:
            part = part.take(pa.array(array.offsets.to_numpy()[chosen]))
            offsets[chosen] = np.arange(len(part))
        parts.append(rebuilt(part, kind.field(place).type, leaf))
    named = [kind.field(place).name for place in range(kind.num_fields)], kind.type_codes
    if sparse:
        return pa.UnionArray.from_sparse(array.type_codes, parts, *named)
    return pa.UnionArray.from_dense(array.type_codes, pa.array(offsets), parts, *named)


def _filled(part: pa.Array) -> pa.Array:
    """A part that has to have values, with some that it shows where only the whole has gaps."""
    valid = part.is_valid().to_numpy(zero_copy_only=False)
    places = np.where(valid, np.arange(len(part)), np.argmax(valid) if len(part) else 0)
    return part.take(pa.array(places)) if valid.any() and not valid.all() else part


def _offsets(array: pa.Array) -> pa.Array:
    lengths = pc.list_value_length(array).fill_null(0)
    return pa.array(np.concatenate([[0], np.cumsum(lengths.to_numpy())]), lengths.type)


def _slots(array: pa.Array, size: int) -> pa.Array:
    """The values of lists of one size, gaps for those of lists that are missing."""
    if not array.null_count:
        return array.flatten()
    valid = array.is_valid().to_numpy(zero_copy_only=False)
    firsts = (np.cumsum(valid) - 1) * size
    places = (firsts[:, np.newaxis] + np.arange(size)).ravel()
    return array.flatten().take(pa.array(places, mask=np.repeat(~valid, size)))
