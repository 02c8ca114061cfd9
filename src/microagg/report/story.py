"""What a page about a release says, as plain data: whoever made the release fills it in.

Nothing here is a record. Counts, means and sentences only, so a page cannot show more than it was
told; `None` stands for what is not known or not to be told.
"""

from dataclasses import dataclass

from microagg.base.errors import OptionError
from microagg.columns.told import Attribute, Bar, Correlations
from microagg.measure.figures import Figure


@dataclass(frozen=True)
class Risks:
    """Risk before and after.

    bars: (how many share their values, percent of the records before, after); figures: (label,
    before, after); before is None where it is not to be told. note: what they are counted on, if
    not on all records.
    """

    bars: tuple[tuple[str, float | None, float], ...]
    figures: tuple[tuple[str, str | None, str], ...]
    note: str = ""

    @property
    def tells_the_original(self) -> bool:
        """Whether anything here could not be computed from the release alone."""
        return any(before is not None for _, before, _ in (*self.bars, *self.figures))


@dataclass(frozen=True)
class Beyond:
    """What classes keep of a confidential column beyond k.

    promises: (what was asked, what was found). values: how many classes have how many different
    values; distances: how far they are from all records, 0 to 1; before: with k alone. least,
    farthest: the limits that were asked for, if they were.
    """

    name: str
    promises: tuple[tuple[str, str], ...]
    values: tuple[Bar, ...] = ()
    distances: tuple[Bar, ...] = ()
    least: float | None = None
    farthest: float | None = None

    @property
    def tells_before(self) -> bool:
        """Whether something is told that the release does not show."""
        return any(bar.before is not None for bar in (*self.values, *self.distances))


@dataclass(frozen=True, kw_only=True)
class Story:
    """Everything the page of one release says. Only the first five must be given.

    verdict: whether the promise was checked and is kept; verdict_sentence: the same, with numbers;
    verdict_title: in two or three words, if not in the usual ones.
    facts: (label, key number); numbers are formatted by the page, text is kept as it is.
    guarantee, limits, notes: paragraphs; done: what was done, step by step.
    roles: (column, role, treatment); certificate: (label, value); group_sizes: (records in a group,
    groups of that size); risk: before and after; beyond: what is kept of confidential columns,
    beyond the sentence of that promise; figures: each with its value. recipe is TOML, reproduce a
    command.
    """

    title: str
    public: bool
    verdict: bool
    verdict_sentence: str
    guarantee: tuple[str, ...]
    limits: tuple[str, ...] = ()
    facts: tuple[tuple[str, str | float], ...] = ()
    done: tuple[str, ...] = ()
    roles: tuple[tuple[str, str, str], ...] = ()
    group_sizes: tuple[tuple[int, int], ...] = ()
    beyond: tuple[Beyond, ...] = ()
    beyond_sentence: str = ""
    figures: tuple[tuple[Figure, str], ...] = ()
    risk: Risks | None = None
    attributes: tuple[Attribute, ...] = ()
    correlations: Correlations | None = None
    notes: tuple[str, ...] = ()
    certificate: tuple[tuple[str, str], ...] = ()
    recipe: str = ""
    reproduce: str = ""
    software: str = ""
    made: str = ""
    verdict_title: str = ""
    limits_title: str = "What it does not protect"

    def __post_init__(self) -> None:
        if not self.public:
            return
        telling = [repr(each.name) for each in self.attributes if each.tells_the_original]
        if self.risk and self.risk.tells_the_original:
            telling.append("the risk")
        telling += [repr(each.name) for each in self.beyond if each.tells_before]
        if self.correlations and self.correlations.before is not None:
            telling.append("the correlations")
        if telling:
            raise OptionError(
                f"a public page shows nothing of the original data, but {', '.join(telling)} came "
                "with figures about it; leave them None, or make the page with public=False"
            )
