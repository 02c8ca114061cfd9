"""The promise of a release, as fields for programs and as a paragraph for people."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

from microagg.base.showing import Rows, Showing
from microagg.private.domains import Categories, Domain
from microagg.private.method import PrivateMethod
from microagg.private.noise import SIMULATED_SOURCE, SOURCE

BROKEN = "none: the bounds were read from the data"
_SIMULATION = (
    "SIMULATION, NOT PRIVATE: this release must not be published. "
    "A real one by the same settings would carry what follows."
)
_LEAKED = (
    "BOUNDS FROM THE DATA, NOT PRIVATE: the release leaks them. What follows would hold had they "
    "been known without the data."
)
_WARNINGS = (_SIMULATION, _LEAKED)
_NEIGHBOURS = "tables of the same number of records that differ in one record, all its columns"
_CLAMPED = (
    " and their bounds or categories; values outside were clamped first, or counted as 'other'"
)
_LAYOUT = "how the input's file is laid out (delimiter, decimal sign, line ends)"
_EXTREMES = "the least and the greatest value of every column, or its categories"
_NEVER_PROTECTED = (
    "that somebody is in the data, as the number of records is public",
    "what the whole population shows and thereby suggests about anyone in it",
    "people with several records, or whose records depend on each other, as fully as others",
)
_COMPOSITION = (
    "The epsilons of the columns add up to that of the release, and those of all releases about "
    "the same people add up to what these people have spent."
)


@dataclass(frozen=True, repr=False)
class Guarantee(Showing):
    """What a release promises, what it takes for granted and what it leaves open.

    private: False for simulations and for bounds read from the data: both are experiments only.
    definition: the standard notion, or the one that holds given the partition only, or none.
    standard: the definition is the standard one.
    bounds_leaked: the bounds were read from the data, so the release shows its extremes.
    public: what everybody may know without harm to the promise, as values.
    Nothing here depends on the data beyond what `public` lists, unless `bounds_leaked` says so.
    """

    private: bool
    definition: str
    standard: bool
    epsilon: float
    epsilon_by_column: dict[str, float]
    method: str
    neighbours: str
    bounds_leaked: bool
    public: dict[str, Any]
    rows_linked: bool
    not_protected: tuple[str, ...]
    composition: str
    randomness: str
    sentences: tuple[str, ...]

    def _told(self) -> dict[str, object]:
        return {name: value for name, value in self.lines[:4] if name not in ("rows", "protected")}

    def _rows(self) -> Rows:
        return ("", ""), self.lines

    @property
    def text(self) -> str:
        """The promise in plain words, as one paragraph."""
        return " ".join(self.sentences)

    @property
    def lines(self) -> list[tuple[str, str]]:
        """The promise in short: pairs of a word and what it is."""
        shares = ", ".join(f"{name} {share:g}" for name, share in self.epsilon_by_column.items())
        warnings = [part.partition(":")[0] for part in self.sentences if part in _WARNINGS]
        return [
            *(("warning", f"{part}: do not publish it") for part in warnings),
            ("promise", self.definition),
            ("epsilon", f"{self.epsilon:g} ({shares}), by {self.method}"),
            ("rows", f"{self.public['n']}, {'' if self.rows_linked else 'not '}those of the table"),
            ("protected", "what one record says, up to a factor e^epsilon in every probability"),
            *(("unprotected", point) for point in self.not_protected),
        ]

    @property
    def paragraphs(self) -> tuple[str, ...]:
        """The text without the points that are not protected, for a page that lists them itself."""
        return tuple(part for part in self.sentences if not part.startswith("Not protected: "))

    def to_dict(self) -> dict[str, Any]:
        """Every field, ready for JSON."""
        fields = asdict(self)
        del fields["sentences"]
        fields["not_protected"] = list(self.not_protected)
        fields["text"] = self.text
        return fields

    def __str__(self) -> str:
        return self.text


def state(
    method: PrivateMethod,
    epsilon: float,
    shares: Mapping[str, float],
    domains: Mapping[str, Domain],
    *,
    n: int,
    k: int,
    layout_kept: bool,
    bounds_leaked: bool,
    simulated: bool,
) -> Guarantee:
    """The guarantee of a release by this method, in fields and words."""
    randomness = SIMULATED_SOURCE if simulated else SOURCE
    not_protected = (
        *([_EXTREMES] if bounds_leaked else []),
        *method.definition.not_protected,
        *_NEVER_PROTECTED,
    )
    epsilons = ", ".join(f"{name} {share:g}" for name, share in shares.items())
    sentences = (
        *([_SIMULATION] if simulated else []),
        *([_LEAKED] if bounds_leaked else []),
        f"Method {method.name!r} with epsilon = {epsilon:g} ({epsilons}).",
        method.definition.sentence,
        f"Neighbours are {_NEIGHBOURS}.",
        f"Taken as public: the number of records ({n}), {method.sizes.format(k=k)}"
        f"{f'{_LAYOUT}, ' if layout_kept else ''}the columns' names"
        f"{'' if bounds_leaked else _CLAMPED}.",
        method.rows.sentence,
        f"Not protected: {'; '.join(not_protected)}.",
        _COMPOSITION,
        f"Source of randomness: {randomness}.",
    )
    public: dict[str, Any] = {"n": n, "k": k, "columns": list(domains)}
    if layout_kept:
        public["layout"] = _LAYOUT
    if not bounds_leaked:
        public["bounds"] = {
            name: list(known.names) if isinstance(known, Categories) else [known.low, known.high]
            for name, known in domains.items()
        }
    return Guarantee(
        private=not (simulated or bounds_leaked),
        definition=BROKEN if bounds_leaked else method.definition.name,
        standard=method.standard and not bounds_leaked,
        epsilon=epsilon,
        epsilon_by_column=dict(shares),
        method=method.name,
        neighbours=_NEIGHBOURS,
        bounds_leaked=bounds_leaked,
        public=public,
        rows_linked=method.rows.linked,
        not_protected=not_protected,
        composition=_COMPOSITION,
        randomness=randomness,
        sentences=sentences,
    )
