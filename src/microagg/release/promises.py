"""What a release promises: each promise is one object that a release is held against.

To add one, write its entry in `PROMISES`: the certificate, the report and the shared tests read it
from there.
"""

from collections.abc import Callable
from dataclasses import dataclass

from microagg.base.certificate import Check
from microagg.base.recipe import Recipe
from microagg.engine.protocol import Recount


@dataclass(frozen=True)
class Promise:
    """Something that every release of some recipes keeps.

    sentence: in words, as certificate and report say it.
    is_kept: whether what was counted keeps it; None where that cannot be told yet.
    is_asked: whether a release of a recipe promises it.
    """

    sentence: Callable[[Recipe], str]
    is_kept: Callable[[Recipe, Recount], bool | None]
    is_asked: Callable[[Recipe], bool] = lambda _recipe: True


def _is_untouched(recipe: Recipe, recount: Recount) -> bool | None:
    others = (same for name, same in recount.same.items() if name not in recipe.replaced)
    return all(others) if recount.complete else None


def _is_published(recipe: Recipe, recount: Recount) -> bool | None:
    return all(recount.same[name] for name in recipe.replaced) if recount.complete else None


def _anonymity(recipe: Recipe) -> str:
    units = "records" if recipe.entity is None else "entities"
    return f"at least {recipe.k} {units} share each combination of values"


def _is_anonymous(recipe: Recipe, recount: Recount) -> bool | None:
    return None if recount.classes is None else recount.classes.k >= recipe.k


PROMISES = (
    Promise(lambda _: "every row and column is there", lambda _, recount: recount.complete),
    Promise(lambda _: "columns that nobody asked to protect are as they were", _is_untouched),
    Promise(lambda _: "protected columns hold the published values", _is_published),
    Promise(_anonymity, _is_anonymous),
)


def checks(recipe: Recipe, recount: Recount) -> tuple[Check, ...]:
    """Every promise of a recipe that can be told of, and whether it is kept."""
    held = (
        (promise.sentence(recipe), promise.is_kept(recipe, recount))
        for promise in PROMISES
        if promise.is_asked(recipe)
    )
    return tuple(Check(sentence, is_kept) for sentence, is_kept in held if is_kept is not None)
