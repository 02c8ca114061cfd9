"""What a page about a release says, as plain data: whoever made the release fills it in.

Nothing here is a record. Counts, means and sentences only, so a page cannot show more than it was
told; `None` stands for what is not known or not to be told.
"""

from dataclasses import dataclass

from microagg.base.errors import OptionError
from microagg.columns.told import Attribute, Correlations
from microagg.measure.figures import Figure


@dataclass(frozen=True, kw_only=True)
class Story:
    """Everything the page of one release says. Only the first five must be given.

    verdict: whether the promise was checked and is kept; verdict_sentence: the same, with numbers;
    verdict_title: in two or three words, if not in the usual ones.
    facts: (label, key number); numbers are formatted by the page, text is kept as it is.
    guarantee, limits, notes: paragraphs; done: what was done, step by step.
    roles: (column, role, treatment); certificate: (label, value); group_sizes: (records in a group,
    groups of that size); figures: each with its value. recipe is TOML, reproduce a command.
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
    figures: tuple[tuple[Figure, str], ...] = ()
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
        if self.correlations and self.correlations.before is not None:
            telling.append("the correlations")
        if telling:
            raise OptionError(
                f"a public page shows nothing of the original data, but {', '.join(telling)} came "
                "with figures about it; leave them None, or make the page with public=False"
            )
