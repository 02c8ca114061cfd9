"""What a grouping method is: an entry beside its algorithm, with options that check themselves."""

import difflib
import operator
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from microagg.base.errors import OptionError
from microagg.base.progress import silent
from microagg.grouping.demands.book import Book

# More is beyond all clocks.
MOST_SECONDS = 1e9
Groups = tuple[NDArray[np.integer], NDArray[np.integer]]


class Mixed(NamedTuple):
    """What records have to lose, where groups do not publish the mean of their points.

    numbers: (n, p), of which groups publish the mean; NaN where there is none, which is not lost.
    codes: (n, q), of categories, of which groups publish the commonest; -1 where there is none.
    prices: what a record loses whose category is not the published one, in terms of squared
        distances of the numbers.
    """

    numbers: NDArray[np.float64]
    codes: NDArray[np.int32]
    prices: NDArray[np.float64]

    def of(self, rows: NDArray[np.integer]) -> "Mixed":
        """What some of the records have to lose."""
        return Mixed(self.numbers[rows], self.codes[rows], self.prices)


@dataclass
class Task:
    """What a method is asked to do.

    records: float64, (n, d), standardised if wanted, without constant columns; n >= 2k, k >= 2.
    advance: to be called with the share done, 0 to 1.
    whole: the records as they came, where groups are to be centred on integers.
    options: every option of the method, checked.
    orders: what methods worked out that serves another k too.
    mixed: what the records lose, where that is not their squared distance from the mean; who does
        not look at it groups them by distance.
    demands: what groups are to keep beyond k, if anything; a method may look at it, and what its
        groups do not keep is repaired.
    """

    records: NDArray[np.float64]
    k: int
    rng: np.random.Generator
    advance: Callable[[float], None] = silent
    whole: NDArray[np.float64] | None = None
    options: Mapping[str, Any] = field(default_factory=dict)
    orders: dict[str, NDArray[np.int32]] = field(default_factory=dict)
    mixed: Mixed | None = None
    demands: Book | None = None


@dataclass(frozen=True)
class Option:
    """What a method can be told.

    meaning: what it does, in a few words for the docs.
    default: what counts where nobody says; None, if the method works it out itself.
    check: makes the value that the method gets of the one given; TypeError or ValueError, if it is
        not allowed.
    allowed: what is, in words that end the sentence "<name> must be ...".
    """

    name: str
    meaning: str
    default: Any
    check: Callable[[Any], Any]
    allowed: str

    def value(self, given: Any) -> Any:
        """What the method gets, or a sentence."""
        if given is None and self.default is None:
            return None
        try:
            return self.check(given)
        except OptionError:
            raise
        except (TypeError, ValueError):
            raise OptionError(
                f"{self.name} must be {self.allowed}; {given!r:.60} arrived"
            ) from None


@dataclass(frozen=True)
class Method:
    """A way to group records.

    group: returns the row numbers, group by group, and the group sizes.
    options: what the method can be told.
    integer: it can centre groups on integers.
    bounded: no group has more than 2k - 1 members.
    one_column: it takes records of a single attribute only.
    needs: what must be demanded beyond k for it to work, in words; mostly nothing.
    choose: for a method that stands for others: which one fits n, d, k, whether centres are to
        be integers and the options given; and the options of that one.
    agree: refuses options that do not go together, or not with d attributes.
    """

    name: str
    description: str
    paper: str
    time: str
    group: Callable[[Task], Groups]
    options: tuple[Option, ...] = ()
    integer: bool = False
    bounded: bool = True
    one_column: bool = False
    needs: str = ""
    choose: (
        Callable[[int, int, int, bool, Mapping[str, Any]], tuple[str, Mapping[str, Any]]] | None
    ) = None
    agree: Callable[[Mapping[str, Any], int], None] | None = None

    def complete(self, given: Mapping[str, Any]) -> dict[str, Any]:
        """Every option: what was given, checked, or its default."""
        own = {option.name: option for option in self.options}
        for name in given:
            if name not in own:
                hint = near_names(name, own) if own else "it has none"
                raise OptionError(f"method {self.name!r} has no option {name!r}; {hint}")
        return {
            name: option.value(given[name]) if name in given else option.default
            for name, option in own.items()
        }


def whole(least: int) -> Callable[[Any], int]:
    """A check: a whole number, not less than this."""

    def check(given: Any) -> int:
        number = operator.index(given)
        if isinstance(given, bool) or number < least:
            raise ValueError
        return number

    return check


def number(accepts: Callable[[float], bool]) -> Callable[[Any], float]:
    """A check: a number that is accepted."""

    def check(given: Any) -> float:
        if isinstance(given, bool) or not isinstance(given, int | float | np.number):
            raise TypeError
        if not accepts(float(given)):
            raise ValueError
        return float(given)

    return check


def near_names(name: Any, known: Iterable[str]) -> str:
    """The known names nearest to this one, or all of them, as the hint of a sentence."""
    known = list(known)
    near = difflib.get_close_matches(str(name), known, n=3, cutoff=0.5)
    return f"did you mean {' or '.join(near)}?" if near else f"there are {', '.join(known)}"
