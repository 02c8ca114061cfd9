"""What a release promises: every file in this folder with a tuple `PROMISES` brings some."""

import importlib
import pkgutil
from functools import cache

from microagg.base.certificate import Check
from microagg.base.recipe import Recipe
from microagg.engine.protocol import Recount
from microagg.measure.anonymity import ClassCount
from microagg.release.promises.promise import Promise


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
    held = (
        (promise.sentence(recipe), promise.is_kept(recipe, recount)) for promise in _asked(recipe)
    )
    return tuple(Check(sentence, is_kept) for sentence, is_kept in held if is_kept is not None)


def _asked(recipe: Recipe) -> tuple[Promise, ...]:
    return tuple(promise for promise in all_promises() if promise.is_asked(recipe))
