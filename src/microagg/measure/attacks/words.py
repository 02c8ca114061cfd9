"""How findings are put into words: figures and names of columns, never a value."""

from collections.abc import Sequence

from microagg.measure.attacks.attack import Share

_MOST_NAMED = 6


def share(found: Share) -> str:
    """A share beside that of chance."""
    return f"{found.percent:.2f} % ({found.chance:.2f} % by chance)"


def listed(names: Sequence[str]) -> str:
    """Names of columns, not too many."""
    if len(names) > _MOST_NAMED:
        return f"{', '.join(names[:_MOST_NAMED])} and {len(names) - _MOST_NAMED} more"
    return ", ".join(names)


def right_about(values: Share | None) -> str:
    """The end of a sentence: what is learnt."""
    if values is None:
        return "; nothing is left to be learnt from it."
    return f", and is right about {share(values)} of the values that were not known."
