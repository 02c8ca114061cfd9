"""What a person should know who decides about a release."""

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from microagg.base.recipe import Recipe
from microagg.columns.digits import ask_about_codes, may_be_codes
from microagg.engine.plan import Plan
from microagg.engine.profile import Profile
from microagg.measure.dominance import DOMINATES
from microagg.table.opening import Origin

_MANY_CATEGORIES = 20
# When a column is taken to be ordered along the rows: correlations of ranks as large as this, and
# so many deviations beyond chance; of few values, all of them.
_LEAST_CORRELATION, _DEVIATIONS, _FEWEST = 0.3, 4.0, 5


def notes_on(plan: Plan, profile: Profile, sample: pa.Table, origin: Origin) -> list[str]:
    """Notes on how a release was made that may tell of the original.

    sample: of all columns, in the order of the rows.
    """
    recipe, notes, dominance = plan.recipe, [], profile.dominance
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
    notes += _notes_on_values(plan, profile, origin)
    gaps = [name for name, exposure in profile.exposures.items() if exposure.gaps]
    if gaps:
        notes.append(
            f"Some records have no value of {' and '.join(gaps)}: in what is demanded of classes "
            "that counts as one value more."
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
                f"its own value can nearly be told; dominance={{{coding.name!r}: {share:g}}} "
                "refuses that, a larger k helps."
            )
    if recipe.row_order == "kept":
        notes += _notes_on_order(recipe, sample, origin)
    return notes


def _notes_on_values(plan: Plan, profile: Profile, origin: Origin) -> list[str]:
    """Codes that may have been averaged, and what else changed without anybody asking."""

    def counts(found: dict[str, int], between: str = " ") -> str:
        return ", ".join(f"{name}{between}{count}" for name, count in found.items() if count)

    recipe, tally = plan.recipe, profile.tally
    said = {coding.name: origin.kind_of(coding.name) for coding in plan.codings}
    unsaid = [name for name in said if name not in recipe.kinds and name not in recipe.orders]
    kinds = [f"{name} {said[name]}" for name in unsaid if said[name] is not None]
    notes = [f"Kinds that the file says: {', '.join(kinds)}."] if kinds else []
    notes += ask_about_codes(
        [
            coding.name
            for coding in plan.codings
            if coding.name in unsaid
            and may_be_codes(coding.name, coding.kind, coding.few is not None)
        ]
    )
    invented, filled, vanished = (
        counts(tally.invented, " in "), counts(tally.filled), counts(tally.vanished)
    )  # fmt: skip
    if invented:
        notes.append(f"Records now show numbers that no record had: {invented} records.")
    if filled:
        notes.append(f"Missing values that were filled in with those of their group: {filled}.")
    if vanished:
        notes.append(f"Categories that vanished, for no group has most of them: {vanished}.")
    return notes


def public_notes(recipe: Recipe) -> tuple[str, ...]:
    """Notes that follow from the recipe alone, so that they say nothing of the data."""
    notes = []
    if recipe.side_columns and not recipe.rounded:
        notes.append(
            f"{' and '.join(recipe.side_columns)} stays in the release as it is: weights and "
            "wishes may tell who is who. Drop it as an identifier, or round it: weight_digits=2."
        )
    if not isinstance(recipe.refine, bool) or "time_limit" in recipe.options:
        notes.append(
            "The search was given seconds, not steps, so the same recipe may give other groups "
            "another time."
        )
    if recipe.entity is not None and recipe.entity not in recipe.identifiers:
        notes.append(f"{recipe.entity}, which says to whom a row belongs, stays in the release.")
    if recipe.household is not None and recipe.household not in recipe.identifiers:
        notes.append(
            f"{recipe.household} stays in the release and tells who lives with whom: whoever knows "
            "several members of a household may find all of it. Drop it as an identifier, unless "
            "it is needed."
        )
    return tuple(notes)


def _notes_on_order(recipe: Recipe, sample: pa.Table, origin: Origin) -> list[str]:
    """Columns that the order of the rows tells about, though they are replaced or dropped."""
    telling = [
        name
        for name in (*recipe.quasi_identifiers, *recipe.identifiers)
        if name in sample.column_names
        and _follows_rows(origin.readable(sample[name].combine_chunks()))
    ]
    if not telling:
        return []
    return [
        f"The rows keep the order of the input, along which {', '.join(telling)} "
        f"{'is' if len(telling) == 1 else 'are'} ordered: that gives back part of what was "
        'protected; row_order="shuffled" does not.'
    ]


def _follows_rows(column: pa.Array) -> bool:
    """Whether values rise or fall along the rows, or neighbours are alike, beyond chance."""
    column = column.drop_null()
    try:
        low, high = (
            pc.rank(column, tiebreaker=tie).to_numpy().astype(np.float64) for tie in ("min", "max")
        )
    except pa.ArrowNotImplementedError:
        return False
    ranks = low + high
    if ranks.size < _FEWEST or ranks.min() == ranks.max():
        return False
    along = abs(_correlation(ranks, np.arange(ranks.size)))
    beside = _correlation(ranks[:-1], ranks[1:])
    least = max(_LEAST_CORRELATION, _DEVIATIONS / np.sqrt(ranks.size))
    return bool(max(along, beside) >= min(least, 1.0 - 1e-9))


def _correlation(one: NDArray, other: NDArray) -> float:
    one, other = one - one.mean(), other - other.mean()
    scale = np.sqrt((one @ one) * (other @ other))
    return float(one @ other / scale) if scale > 0.0 else 0.0
