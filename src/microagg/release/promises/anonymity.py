"""k-anonymity: at least k records, entities or households share each combination of values."""

from microagg.base.recipe import Recipe
from microagg.engine.protocol import Recount
from microagg.release.promises.promise import Promise


def _sentence(recipe: Recipe) -> str:
    units = "different households" if recipe.household is not None else recipe.units
    return f"at least {recipe.k} {units} share each combination of values"


def _is_kept(recipe: Recipe, recount: Recount) -> bool | None:
    return None if recount.classes is None else recount.classes.k >= recipe.k


PROMISES = (Promise(_sentence, _is_kept),)
