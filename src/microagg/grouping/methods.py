"""The registry: every grouping method by name.

The command line, the docs and the shared tests are driven by it: a method that is registered is
offered, described and tested.
"""

import difflib
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from microagg.base.errors import OptionError
from microagg.base.progress import Advance, silent

Groups = tuple[NDArray[np.integer], NDArray[np.integer]]


@dataclass
class Task:
    """What a method is asked to do.

    records: float64, (n, d), standardised if wanted, without constant columns; n >= 2k, k >= 2.
    whole: the records as they came, where groups are to be centred on integers.
    """

    records: NDArray[np.float64]
    k: int
    rng: np.random.Generator
    advance: Advance = silent
    whole: NDArray[np.float64] | None = None
    options: dict[str, Any] = field(default_factory=dict)
    orders: dict[str, NDArray[np.int32]] = field(default_factory=dict)


@dataclass(frozen=True)
class Method:
    """A way to group records.

    group: returns the row numbers, group by group, and the group sizes.
    options: what the method can be told, and what each option means.
    integer: it can centre groups on integers.
    bounded: no group has more than 2k - 1 members.
    one_column: it takes records of a single attribute only.
    choose: in place of `group`, which method fits n, d, k and whether centres are to be integers.
    """

    name: str
    description: str
    paper: str
    time: str
    group: Callable[[Task], Groups]
    options: Mapping[str, str] = field(default_factory=dict)
    integer: bool = False
    bounded: bool = True
    one_column: bool = False
    choose: Callable[[int, int, int, bool], str] | None = None


def methods() -> dict[str, str]:
    """Every grouping method by name, with a one-line description."""
    return {
        method.name: f"{method.description} [{method.time}; {method.paper}]"
        for method in all_methods()
    }


def all_methods() -> tuple[Method, ...]:
    """Every registered method; their kernels are loaded only when this is first asked."""
    from microagg.grouping.registered import ALL

    return ALL


def find(name: str) -> Method:
    """The method of this name, or a sentence with the nearest names."""
    known = {method.name: method for method in all_methods()}
    if name not in known:
        raise OptionError(f"there is no method {name!r}; {_near(name, known)}")
    return known[name]


def check_options(method: Method, options: Mapping[str, Any]) -> None:
    """Refuse options that the method does not have."""
    for name in options:
        if name not in method.options:
            own = _near(name, method.options) if method.options else "it has none"
            raise OptionError(f"method {method.name!r} has no option {name!r}; {own}")


def _near(name: str, known: Mapping[str, Any]) -> str:
    near = difflib.get_close_matches(str(name), known, n=3, cutoff=0.5)
    return f"did you mean {' or '.join(near)}?" if near else f"there are {', '.join(known)}"
