"""What was written is what was meant."""

from microagg.base.recipe import Recipe
from microagg.engine.protocol import Recount
from microagg.release.promises.promise import Promise


def _is_untouched(recipe: Recipe, recount: Recount) -> bool | None:
    others = (same for name, same in recount.same.items() if name not in recipe.replaced)
    return all(others) if recount.complete else None


def _is_published(recipe: Recipe, recount: Recount) -> bool | None:
    return all(recount.same[name] for name in recipe.replaced) if recount.complete else None


PROMISES = (
    Promise(lambda _: "every row and column is there", lambda _, recount: recount.complete),
    Promise(lambda _: "columns that nobody asked to protect are as they were", _is_untouched),
    Promise(lambda _: "protected columns hold the published values", _is_published),
)
