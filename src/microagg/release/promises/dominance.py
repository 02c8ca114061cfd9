"""Nobody makes up nearly all of a mean that is published."""

from microagg.base.recipe import Recipe
from microagg.engine.protocol import Recount
from microagg.release.promises.promise import Promise


def _sentence(recipe: Recipe) -> str:
    one = "record" if recipe.entity is None else "entity"
    limits = (f"{100 * share:g} % of {name}" for name, share in recipe.dominance.items())
    return f"no {one} contributes more to a published mean than {', '.join(limits)}"


def _is_kept(recipe: Recipe, recount: Recount) -> bool | None:
    # Columns of categories have no means.
    return all(
        recount.dominance.get(name, 0.0) <= limit for name, limit in recipe.dominance.items()
    )


PROMISES = (Promise(_sentence, _is_kept, lambda recipe: bool(recipe.dominance)),)
