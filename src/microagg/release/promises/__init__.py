"""What a release promises: every file in this folder with a tuple `PROMISES` brings some."""

import importlib
import pkgutil
from functools import cache

from microagg.base.certificate import Check
from microagg.base.demands import Closeness, Diversity
from microagg.base.recipe import Recipe
from microagg.engine.counting import Counts
from microagg.engine.protocol import Recount
from microagg.measure.anonymity import ClassCount
from microagg.release.promises import closeness, diversity
from microagg.release.promises.promise import Promise

Demand = Diversity | Closeness


@cache
def all_promises() -> tuple[Promise, ...]:
    """Every promise there is, by file."""
    names = sorted(each.name for each in pkgutil.iter_modules(__path__))
    files = (importlib.import_module(f"{__name__}.{name}") for name in names)
    return tuple(promise for file in files for promise in getattr(file, "PROMISES", ()))


def counts_for(recipe: Recipe) -> tuple[ClassCount, ...]:
    """What has to be counted of confidential columns to hold a release against its promises."""
    return tuple(count for promise in _asked(recipe) for count in promise.counts(recipe))


def checks(recipe: Recipe, recount: Recount) -> tuple[Check, ...]:
    """Every promise of a recipe that can be told of, and whether it is kept."""
    held = ((promise, promise.is_kept(recipe, recount)) for promise in _asked(recipe))
    return tuple(
        Check(promise.sentence(recipe), is_kept, promise.found(recipe, recount))
        for promise, is_kept in held
        if is_kept is not None
    )


def found_for(recipe: Recipe, counts: Counts) -> dict[Demand, float | None]:
    """The figure of the worst class for every demand on a confidential column."""
    return {
        demand: diversity.figure(demand, counts)
        if isinstance(demand, Diversity)
        else closeness.figure(demand.column, counts)
        for demand in recipe.demands
    }


def _asked(recipe: Recipe) -> tuple[Promise, ...]:
    return tuple(promise for promise in all_promises() if promise.is_asked(recipe))
