"""Diversity: what classes share of a confidential column is not one value."""

import math

from microagg.base.certificate import Found
from microagg.base.demands import Diversity, diversities
from microagg.base.recipe import Recipe
from microagg.engine.counting import Counts
from microagg.engine.protocol import Recount
from microagg.measure.anonymity import diversity_count
from microagg.release.promises.promise import Promise

# Sums of shares are rounded, and what is 3 to the last digits is 3.
_ROUNDING = 1e-9


def _sentence(recipe: Recipe) -> str:
    return f"each class has {', and '.join(each.sentence for each in _demands(recipe))}"


def _demands(recipe: Recipe) -> tuple[Diversity, ...]:
    return diversities(recipe.diversity)


def figure(demand: Diversity, counts: Counts) -> float | None:
    """That of the worst class; None where no number tells it."""
    spread = counts.get(diversity_count(demand).key)
    if spread is None:
        return None
    found = spread.largest if demand.kind in ("recursive", "similar") else spread.least
    return found if math.isfinite(found) else None


def _keeps(demand: Diversity, found: float | None) -> bool:
    limit = demand.limits[-1]
    if found is None:
        return False
    if demand.kind == "recursive":
        return found < limit
    if demand.kind == "similar":
        return found <= limit * (1.0 + _ROUNDING)
    return found >= limit * (1.0 - _ROUNDING)


def _is_kept(recipe: Recipe, recount: Recount) -> bool | None:
    if recount.classes is None:
        return None
    return all(_keeps(demand, figure(demand, recount.counts)) for demand in _demands(recipe))


def _found(recipe: Recipe, recount: Recount) -> tuple[Found, ...]:
    return tuple(
        Found(demand.column, demand.asked, figure(demand, recount.counts))
        for demand in _demands(recipe)
    )


PROMISES = (
    Promise(
        _sentence,
        _is_kept,
        lambda recipe: bool(recipe.diversity),
        lambda recipe: [diversity_count(demand) for demand in _demands(recipe)],
        _found,
    ),
)
