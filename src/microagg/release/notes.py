"""What a person should know who decides about a release."""

from microagg.base.recipe import Recipe
from microagg.engine.plan import Plan
from microagg.measure.dominance import DOMINATES, Dominance

_MANY_CATEGORIES = 20


def notes_on(plan: Plan, dominance: Dominance) -> list[str]:
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
    one = "record" if recipe.entity is None else "entity"
    for place, coding in enumerate(plan.codings):
        count = int(dominance.by_column[place])
        if count:
            share = recipe.dominance.get(coding.name, DOMINATES)
            notes.append(
                f"In {count} of {dominance.groups} groups one {one} contributes more than "
                f"{100 * share:g} % of the published {coding.name}, by its weight or its value, so "
                "its own value can nearly be told; dominance refuses that, a larger k helps."
            )
    if recipe.side_columns and not recipe.rounded:
        notes.append(
            f"{' and '.join(recipe.side_columns)} stays in the release as it is: weights and "
            "wishes may tell who is who. Drop it as an identifier, or say weight_digits."
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
