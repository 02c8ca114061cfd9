"""What a person should know who decides about a release."""

from microagg.base.recipe import Recipe
from microagg.engine.plan import Plan

_MANY_CATEGORIES = 20


def notes_on(plan: Plan) -> list[str]:
    """Notes on how a release was made."""
    recipe, notes = plan.recipe, []
    if plan.n_cells > 1 and plan.cell_rows is not None:
        notes.append(f"Grouped in {plan.n_cells} cells of similar records, which no group crosses.")
    if plan.small:
        done = (
            f"merged with others, and groups of these publish the {' and '.join(recipe.within)} "
            "that most of them have"
            if plan.crossed
            else "dropped from the release"
        )
        notes.append(
            f"{plan.small} strata had fewer than {recipe.k} members; their {plan.moved} records "
            f"were {done}."
        )
    for coding in plan.codings:
        kinds = 0 if coding.categories is None else len(coding.categories)
        if not coding.traits.numeric and kinds > max(_MANY_CATEGORIES, plan.rows / (2 * recipe.k)):
            notes.append(
                f"{coding.name} has {kinds} different values: if it identifies people, drop it as "
                "an identifier instead."
            )
    if recipe.weights is not None and any(coding.has_gaps for coding in plan.codings):
        notes.append(
            "Groups publish a value for all their records, also for those that had none, so "
            "weighted totals of columns with missing values change."
        )
    if _goes_by_the_clock(recipe):
        notes.append(
            "The search was given seconds, not steps, so the same recipe may give other groups "
            "another time."
        )
    if recipe.entity is not None and recipe.entity not in recipe.identifiers:
        notes.append(f"{recipe.entity}, which says to whom a row belongs, stays in the release.")
    return notes


def _goes_by_the_clock(recipe: Recipe) -> bool:
    return not isinstance(recipe.refine, bool) or "time_limit" in recipe.options
