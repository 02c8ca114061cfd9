"""What somebody may demand of every class beyond k: how it is written, and what it says in words.

A class is all records of a release that look alike: equal in quasi-identifiers and strata.
"""

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from microagg.base.errors import OptionError

# How each kind is written in a table, and in this order on a command line: name=kind:l:c.
_SETTINGS = {
    "distinct": ("l",),
    "entropy": ("l",),
    "recursive": ("l", "c"),
    "range": ("range",),
    "similar": ("similar", "share"),
}
_FORMS = (
    'a number of values such as 3, {l = 3, kind = "entropy"}, {l = 3, kind = "recursive", c = 2}, '
    "{range = 5000} or {similar = 500, share = 0.5}"
)
_LIMITS = {
    "l": (lambda l: l >= 2 and l == int(l), "a whole number from 2 on"),  # noqa: E741
    "c": (lambda c: c > 0, "a number above 0"),
    "range": (lambda wide: wide > 0, "a number above 0"),
    "similar": (lambda near: near >= 0, "a number of 0 or more"),
    "share": (lambda share: 0 < share <= 1, "a share above 0, up to 1"),
}


@dataclass(frozen=True)
class Diversity:
    """How different the values of a confidential column must be within each class.

    kind: distinct: at least l different values; entropy: e to the entropy of their shares is at
    least l; recursive: the commonest is less often there than c times all but the l - 1 commonest
    together; range: they span at least so much; similar: at most a share of them lies within so
    much of any of them. limits: l, or l and c, the range, or the distance and the share.
    """

    column: str
    kind: str
    limits: tuple[float, ...]

    @property
    def numeric(self) -> bool:
        """Whether only numbers can keep it."""
        return self.kind in ("range", "similar")

    @property
    def asked(self) -> dict[str, Any]:
        """As a table."""
        limits = dict(zip(_SETTINGS[self.kind], self.limits, strict=True))
        return limits if self.numeric else {**limits, "kind": self.kind}

    @property
    def sentence(self) -> str:
        """What it promises of a class."""
        name, (first, *more) = self.column, self.limits
        return {
            "distinct": f"at least {first:g} different values of {name}",
            "entropy": f"values of {name} as hard to guess as {first:g} equally common ones",
            "recursive": f"no value of {name} as often as {(more or [0])[0]:g} times all but the "
            f"{first - 1:g} commonest together",
            "range": f"values of {name} that span at least {first:g}",
            "similar": f"at most {100 * (more or [0])[0]:g} % of its values of {name} within "
            f"{first:g} of any of them",
        }[self.kind]


@dataclass(frozen=True)
class Closeness:
    """How far the distribution of a confidential column within each class may be from that among
    all records: by the earth mover's distance, 0 to 1."""

    column: str
    t: float

    @property
    def sentence(self) -> str:
        """What it promises of a class."""
        return f"values of {self.column} distributed within {self.t:g} of those of all records"


def checked_diversity(value: Any) -> Any:
    """What `diversity` says of a column, checked, as plain data: the shortest that says it.

    One demand, or a list of several.
    """
    several = [
        _shortest(_read(each)) for each in (value if isinstance(value, list | tuple) else [value])
    ]
    if not several:
        raise OptionError(f"diversity takes for each column {_FORMS}, but none arrived")
    return several[0] if len(several) == 1 else several


def diversities(diversity: Mapping[str, Any]) -> tuple[Diversity, ...]:
    """Every demand of the setting `diversity`."""
    return tuple(
        Diversity(name, *_read(each))
        for name, value in diversity.items()
        for each in (value if isinstance(value, list) else [value])
    )


def written_diversity(pairs: Iterable[tuple[str, str]], option: str) -> dict[str, Any]:
    """Demands by column as a command line spells them, 3 or entropy:3; several of one as a list."""
    found: dict[str, list[Any]] = {}
    for name, text in pairs:
        kind, *limits = (f"distinct:{text}" if _is_number(text) else text).split(":")
        names = _SETTINGS.get(kind, ())
        if not names or len(names) != len(limits) or not all(map(_is_number, limits)):
            raise OptionError(
                f"{option} takes name=3, name=entropy:3, name=recursive:3:2, name=range:5000 or "
                f"name=similar:500:0.5, but {text!r:.60} arrived for {name!r}"
            )
        table: dict[str, Any] = dict(zip(names, map(float, limits), strict=True))
        implied = {} if kind in ("range", "similar") else {"kind": kind}
        found.setdefault(name, []).append({**table, **implied})
    return {name: each[0] if len(each) == 1 else each for name, each in found.items()}


def _read(value: Any) -> tuple[str, tuple[float, ...]]:
    """The kind and the limits of a demand."""
    table = value if isinstance(value, Mapping) else {"l": value}
    given = {name: each for name, each in table.items() if name != "kind"}
    implied = next((name for name in ("range", "similar") if name in given), "distinct")
    kind = str(table.get("kind", implied))
    names = _SETTINGS.get(kind, ())
    if not names or set(given) != set(names) or (kind != implied and implied != "distinct"):
        raise OptionError(f"diversity takes for each column {_FORMS}, but {value!r:.60} arrived")
    return kind, tuple(_limit(name, given[name], kind) for name in names)


def _limit(name: str, value: Any, kind: str) -> float:
    is_right, allowed = _LIMITS[name]
    if kind == "entropy":
        is_right, allowed = (lambda least: least > 1), "a number above 1"
    plain = value.item() if hasattr(value, "item") else value
    is_number = isinstance(plain, int | float) and not isinstance(plain, bool)
    if not is_number or not math.isfinite(plain) or not is_right(plain):
        raise OptionError(f"{name} of diversity must be {allowed}, but {value!r:.60} arrived")
    return int(plain) if plain == int(plain) else plain


def _shortest(read: tuple[str, tuple[float, ...]]) -> Any:
    demand = Diversity("", *read)
    return demand.limits[0] if demand.kind == "distinct" else demand.asked


def _is_number(text: str) -> bool:
    try:
        return math.isfinite(float(text))
    except ValueError:
        return False
