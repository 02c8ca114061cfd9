"""The door of the numeric core: what arrives becomes a checked NumPy array, or one sentence."""

import math
import operator
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from microagg.base.errors import InputError, OptionError
from microagg.base.groups import Partition

_MOST_RECORDS = 2**31 - 1


def as_numbers(values: ArrayLike, name: str, dimensions: tuple[int, ...]) -> NDArray:
    """Finite numbers as a float64, int64 or uint64 array, never copied without need.

    Takes lists, NumPy arrays and whatever converts itself to one: pandas, Polars and Arrow columns
    and tables.
    """
    array = _as_array(values, name)
    if array.ndim not in dimensions:
        wanted = " or ".join(f"{d}-dimensional" for d in dimensions)
        hint = "; pass one column at a time" if dimensions == (1,) and array.ndim == 2 else ""
        raise InputError(f"{name} must be {wanted}, but it has {array.ndim} dimensions{hint}")
    if array.shape[0] > _MOST_RECORDS:
        raise InputError(
            f"{name} has {array.shape[0]} records; at most {_MOST_RECORDS} are allowed"
        )
    kind = array.dtype.kind
    if kind in "bi":
        return np.asarray(array, dtype=np.int64)
    if kind == "u":
        return np.asarray(array, dtype=np.uint64 if array.dtype.itemsize == 8 else np.int64)
    if kind != "f":
        raise InputError(
            f"{name} must hold real numbers, but its type is {array.dtype}; "
            "convert it to numbers first"
        )
    with np.errstate(over="ignore"):
        array = np.asarray(array, dtype=np.float64)
    finite = np.isfinite(array)
    if not finite.all():
        bad = array.size - int(finite.sum())
        raise InputError(
            f"{name} must hold finite numbers, but {bad} of {array.size} are missing (NaN) or "
            "infinite; drop or fill them first"
        )
    return array


def as_records(values: ArrayLike, name: str) -> NDArray:
    """Finite numbers as an (n, d) array with at least one record and one column."""
    numbers = as_numbers(values, name, (1, 2))
    numbers = numbers[:, np.newaxis] if numbers.ndim == 1 else numbers
    for count, what in zip(numbers.shape, ("records", "columns"), strict=True):
        if count == 0:
            raise InputError(f"{name} has no {what}; at least one is needed")
    return numbers


def _as_array(values: Any, name: str) -> NDArray:
    try:
        array = np.asarray(values)
    except (TypeError, ValueError):
        raise InputError(
            f"{name} must be an array, a list or a column of numbers, but {_kind_of(values)} "
            "cannot be made into one; are its rows of one length?"
        ) from None
    if array.dtype.kind != "O":
        return array
    # Nullable columns and mixed lists come as objects: numbers among them are still numbers.
    try:
        return array.astype(np.float64) if not _all_integers(array) else array.astype(np.int64)
    except OverflowError:
        raise InputError(
            f"{name} holds integers beyond 64 bits; divide them by a common unit first"
        ) from None
    except (TypeError, ValueError):
        raise InputError(
            f"{name} must hold numbers, but some of its entries are text, missing or of another "
            "kind; drop, fill or convert them first"
        ) from None


def _all_integers(array: NDArray) -> bool:
    return all(isinstance(entry, int | np.integer) for entry in array.flat)


def _kind_of(values: Any) -> str:
    return f"an object of type {type(values).__name__}"


def as_whole_numbers(array: NDArray, name: str) -> NDArray:
    """Integers as int64 or uint64, from integers or from floats that hold nothing but integers."""
    if array.dtype.kind != "f":
        return array
    broken = int((array != np.floor(array)).sum())
    if broken:
        raise InputError(
            f"{name} must hold integers, but {broken} of {array.size} values have a fraction; "
            "round them first, or ask for means instead"
        )
    if array.size and float(np.abs(array).max()) >= 2.0**63:
        raise InputError(
            f"{name} holds integers beyond 64 bits; divide them by a common unit first"
        )
    return array.astype(np.int64)


def check_k(k: Any, n: int) -> int:
    """k as an int, at least 1 and at most the number of records."""
    try:
        if isinstance(k, bool | np.bool_):
            raise TypeError
        count = operator.index(k)
    except TypeError:
        raise OptionError(
            f"k must be a whole number, 1 or more, but {_kind_of(k)} arrived; for example k=5"
        ) from None
    if count < 1:
        raise OptionError(f"k must be at least 1, but it is {count}; 3 to 10 are usual")
    if n < count:
        raise InputError(
            f"k is {count}, but there are only {n} records; groups of k need at least k records"
        )
    return count


def check_seed(seed: Any) -> int:
    """A seed as an int, 0 or more."""
    if isinstance(seed, bool) or not isinstance(seed, int | np.integer) or seed < 0:
        raise OptionError("seed must be a whole number, 0 or more; the same one draws the same")
    return int(seed)


def as_labels(labels: ArrayLike | Partition, n: int) -> tuple[NDArray[np.int64], int]:
    """Group labels 0 to g - 1, one a record, and g."""
    array = _as_array(labels.labels if isinstance(labels, Partition) else labels, "labels")
    if array.ndim != 1 or array.shape[0] != n:
        raise InputError(
            f"labels must be one number a record, {n} in all, but their shape is {array.shape}"
        )
    if array.dtype.kind not in "iu":
        raise InputError(f"labels must be integers, but their type is {array.dtype}")
    if n == 0:
        raise InputError("there are no records; at least one is needed")
    array = np.asarray(array, dtype=np.int64)
    least, most = int(array.min()), int(array.max())
    if least < 0 or most >= n or not np.bincount(array, minlength=most + 1).all():
        raise InputError(
            "labels must be the numbers 0 to g - 1, each used at least once; "
            "numpy.unique(labels, return_inverse=True)[1] makes them so"
        )
    return array, most + 1


def centred(column: NDArray) -> NDArray[np.float64]:
    """Move and scale a column so that no offset costs digits and no square overflows."""
    least = column.argmin()
    if column.dtype.kind == "f":
        halved = 0.5 if np.abs(column).max() > 2.0**1000 else 1.0
        distances = column * halved - column[least] * halved
    else:
        bits = np.ascontiguousarray(column).view(np.uint64)
        distances = (bits - bits[least]).astype(np.float64)
    widest = float(distances.max())
    return distances if widest == 0.0 else np.ldexp(distances, -math.frexp(widest)[1])
