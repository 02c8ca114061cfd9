"""What numbers look like: how many decimals they have, and whether they look like codes."""

import re
import unicodedata
from collections.abc import Collection

import numpy as np
from numpy.typing import NDArray

from microagg.base.texts import command, written_pairs
from microagg.columns.naming import named_like_code, named_like_count

# Up to so many different numbers are few, if records share each of them.
FEW, _REPEATED = 20, 3
# Numbers with more places than these are measured, not written down.
_MOST_PLACES = 10
# Most columns that have many values, or places without end, show it in a handful of rows.
_GLANCE = 1000


class Digits:
    """The decimals of a column of numbers and its different values, seen in parts.

    decimals: the least places that show every number; None if some have no end of them.
    few: the different numbers in order; None if there are more than `FEW`.
    """

    def __init__(self) -> None:
        self.decimals: int | None = 0
        self.few: tuple[float, ...] | None = ()
        # Of floats, how far from zero they go; below zero if none came.
        self._farthest = -1.0

    def add(self, values: NDArray, *, narrow: bool = False) -> None:
        """Take the next part; narrow: floats that have 32 bits where they came from."""
        if values.dtype.kind == "f" and values.size:
            self._farthest = max(self._farthest, float(np.abs(values).max()))
        glance = values[:: values.size // _GLANCE] if values.size >= 2 * _GLANCE else None
        for some in (values,) if glance is None else (glance, values):
            if self.few is not None:
                self._join(np.unique(some).tolist())
            if values.dtype.kind == "f" and self.decimals is not None:
                self._lengthen(some, np.float32 if narrow else np.float64)

    @property
    def whole(self) -> bool:
        """Whether there are floats, and all of them are whole numbers that floats tell apart."""
        return self.decimals == 0 and 0.0 <= self._farthest < 2.0**53

    def merge(self, other: "Digits") -> None:
        """Take what somebody else saw of other parts."""
        self._farthest = max(self._farthest, other._farthest)
        places = (self.decimals, other.decimals)
        self.decimals = None if None in places else max(places)  # type: ignore[type-var]
        if self.few is not None and other.few is not None:
            self._join(other.few)
        else:
            self.few = None

    def _join(self, values: Collection[float]) -> None:
        assert self.few is not None
        both = {*self.few, *values}
        self.few = tuple(sorted(both)) if len(both) <= FEW else None

    def _lengthen(self, values: NDArray, kind: type[np.floating]) -> None:
        assert self.decimals is not None
        given = values.astype(kind)
        for places in range(self.decimals, _MOST_PLACES + 1):
            if (rounded(values, places).astype(kind) == given).all():
                self.decimals = places
                return
        self.decimals = None


def rounded(numbers: NDArray[np.float64], decimals: int) -> NDArray[np.float64]:
    """Numbers rounded to so many places."""
    with np.errstate(over="ignore"):
        rounded = np.round(numbers, decimals)
    # Numbers that overflow on the way are too large to have such places.
    return np.where(np.isfinite(rounded), rounded, numbers)


def words_of(name: str) -> str:
    """A name as lower-case words, without accents."""
    apart = unicodedata.normalize("NFKD", re.sub(r"(?<=[^\W\d_A-Z])(?=[A-Z])", " ", name))
    plain = "".join(each for each in apart.casefold() if not unicodedata.combining(each))
    return re.sub(r"[^a-z]+", " ", plain)


def is_few(different: int, present: int) -> bool:
    """Whether so many different values of so many records are few, and come again and again."""
    return different <= FEW and _REPEATED * different <= present


def may_be_codes(name: str, kind: str, few: bool) -> bool:
    """Whether numbers are whole, and few or named like codes: means of codes say nothing.

    Few that are named like counts are none.
    """
    words = words_of(name)
    counted = named_like_count(words)
    return kind == "integer" and (named_like_code(words) or (few and not counted))


def ask_about_codes(names: Collection[str]) -> list[str]:
    """The question whether these columns are codes, if there are any, with the answer to give."""
    if not names:
        return []
    said = command("--kinds", written_pairs(dict.fromkeys(names, "nominal")))
    return [
        f"{', '.join(names)} may be codes, of which means say nothing; if so, say {said} (or "
        "ordinal, where their order means something; integer for numbers)."
    ]
