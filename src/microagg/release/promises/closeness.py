"""Closeness: a class tells of a confidential column hardly more than all records do."""

from microagg.base.certificate import Found
from microagg.base.demands import Closeness
from microagg.base.recipe import Recipe
from microagg.engine.counting import Counts
from microagg.engine.protocol import Recount
from microagg.measure.anonymity import closeness_count
from microagg.release.promises.promise import Promise

# Sums over shares are rounded.
_ROUNDING = 1e-9


def _sentence(recipe: Recipe) -> str:
    each = (Closeness(*asked).sentence for asked in recipe.closeness.items())
    return f"each class has {', and '.join(each)}"


def figure(name: str, counts: Counts) -> float | None:
    """The largest distance of a class; None where it was not counted."""
    spread = counts.get(closeness_count(name).key)
    return None if spread is None else spread.largest


def _is_kept(recipe: Recipe, recount: Recount) -> bool | None:
    if recount.classes is None:
        return None
    figures = ((t, figure(name, recount.counts)) for name, t in recipe.closeness.items())
    return all(found is not None and found <= t + _ROUNDING for t, found in figures)


def _found(recipe: Recipe, recount: Recount) -> tuple[Found, ...]:
    return tuple(
        Found(name, {"t": t}, figure(name, recount.counts)) for name, t in recipe.closeness.items()
    )


PROMISES = (
    Promise(
        _sentence,
        _is_kept,
        lambda recipe: bool(recipe.closeness),
        lambda recipe: [closeness_count(name) for name in recipe.closeness],
        _found,
    ),
)
