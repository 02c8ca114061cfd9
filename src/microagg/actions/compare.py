"""Several ways to protect one table, side by side."""

import time
from collections.abc import Mapping, Sequence
from typing import Any, Unpack

from microagg.base.errors import OptionError
from microagg.base.progress import silent, watch
from microagg.base.recipe import Recipe, Settings, describe_settings
from microagg.base.settings import DEMANDS, demands_of
from microagg.engine.counting import Wanted
from microagg.engine.memory import Memory
from microagg.engine.planning import make_plan
from microagg.engine.profile import LINKED, Profile
from microagg.engine.survey import Survey
from microagg.grouping.methods import find
from microagg.kernels.announcing import seconds_compiling
from microagg.measure.anonymity import disclosure
from microagg.release.judging import assessed, is_judged_whole
from microagg.report.comparison import Choice, Comparison
from microagg.table.opening import open_table

# What takes more seconds than these must be better than what is so many times as fast.
_PATIENCE, _MUCH_FASTER, _NEARLY = 5.0, 10.0, 1.02


@describe_settings(without=("k", "method"))
def compare(
    table: Any,
    ks: Sequence[int] = (3, 5, 10),
    methods: Sequence[str] = ("auto", "mdav", "tsp"),
    *,
    demands: Sequence[Mapping[str, Any]] | None = None,
    recipe: Recipe | None = None,
    progress: bool | None = None,
    **settings: Unpack[Settings],
) -> Comparison:
    """Group a table by several methods and k, and judge what each would publish. Writes nothing.

    table, recipe, settings: as in `protect`; k and method come from `ks` and `methods`. demands:
    several sets of diversity, closeness and dominance to be compared as well, `{}` for k alone; all
    choices keep those of the settings if none are given.
    """
    if not ks or not methods:
        raise OptionError("name at least one k and one method, for example 3,5,10 and mdav,tsp")
    for method in methods:
        find(method)
    base = Recipe.from_settings(settings, recipe)
    sets = _sets(base, demands or ())
    if sets:
        base = Recipe.from_settings(sets[0], base)
    recipes = [
        Recipe.from_settings({"k": k, "method": method, **demanded}, base)
        for demanded in sets or [{}]
        for method in dict.fromkeys(methods)
        for k in dict.fromkeys(ks)
    ]
    with watch("opening", progress) as advance:
        source = open_table(table, base.reading, base.quasi_identifiers, advance, base.columns())
    engine = Memory(source, base, shares=True)
    survey = engine.survey(silent)
    choices = []
    with watch("comparing", progress) as advance:
        for done, each in enumerate(recipes):
            choices.append(_judged(engine, survey, each, bool(demands)))
            advance((done + 1) / len(recipes))
    best, words = recommend(choices)
    return Comparison(
        engine.origin.name, base.quasi_identifiers, tuple(choices), best, tuple(words)
    )


def _sets(base: Recipe, demands: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """The settings of each set of demands; all have the same confidential columns."""
    for name in {name for each in demands for name in each} - {*DEMANDS}:
        raise OptionError(f"demands are {', '.join(DEMANDS)}, but {name!r:.40} arrived")
    none: dict[str, Any] = {name: {} for name in DEMANDS}
    sets = [{**none, **each} for each in demands]
    secrets = [name for each in sets for name in Recipe.from_settings(each, base).confidential]
    return [{**each, "confidential": list(dict.fromkeys(secrets))} for each in sets]


def _judged(engine: Memory, survey: Survey, recipe: Recipe, discloses: bool) -> Choice:
    """discloses: count what classes give away, in the place of what each demand costs."""
    plan = make_plan(survey, {"name": engine.origin.name}, recipe)
    sample, rows = survey.sample.result()
    profile = Profile(plan, sample, rows, 0 if is_judged_whole(plan) else LINKED)
    plan = plan.with_counts(*engine.count(plan, silent, survey.secrets(engine.origin, plan.stays)))
    started, compiled = time.perf_counter(), seconds_compiling()
    engine.publish(plan, profile, silent)
    seconds = time.perf_counter() - started - (seconds_compiling() - compiled)
    counts = map(disclosure, recipe.confidential) if discloses else ()
    wanted = Wanted(survey.secrets(engine.origin), tuple(counts))
    recount = engine.recount(None, wanted, silent)
    classes = recount.classes
    assert classes is not None
    figures = assessed(plan, sample, profile, silent).figures
    plain, costs = (None, {}) if discloses else _costs(engine, survey, recipe)
    disclosed = [each.percent_alone for each in recount.counts.values()]
    return Choice(
        asked=recipe.method,
        method=plan.called,
        k=recipe.k,
        groups=classes.count,
        information_loss=profile.tally.total_loss,
        risk=figures["expected_linkage"],
        scoring_index=figures.get("scoring_index"),
        seconds=seconds,
        plain_loss=plain,
        costs=costs,
        demands=demands_of(recipe),
        disclosed=max(disclosed, default=0.0) if discloses else None,
    )


def _costs(engine: Memory, survey: Survey, recipe: Recipe) -> tuple[float | None, dict[str, float]]:
    """The loss with k alone, and what each demand alone adds to it; None where there is none."""
    demands = [
        (setting, name, value)
        for setting in DEMANDS
        for name, value in getattr(recipe, setting).items()
    ]
    if not demands:
        return None, {}
    none: dict[str, Any] = {setting: {} for setting in DEMANDS}

    def loss(demanded: dict[str, Any]) -> float:
        alone = recipe.model_copy(update={**none, **demanded})
        plan = make_plan(survey, {"name": engine.origin.name}, alone)
        plan = plan.with_counts(
            *engine.count(plan, silent, survey.secrets(engine.origin, plan.stays))
        )
        sample, rows = survey.sample.result()
        profile = Profile(plan, sample, rows, 0)
        engine.publish(plan, profile, silent)
        return profile.tally.total_loss

    plain = loss({})
    return plain, {
        f"{setting} of {name}": loss({setting: {name: value}}) - plain
        for setting, name, value in demands
    }


def recommend(choices: list[Choice]) -> tuple[Choice, list[str]]:
    """Least loss at each k, or the best of each set of demands; over all, least risk and loss
    together, unless that takes long and gains little."""
    sets = list(dict.fromkeys(choice.demands for choice in choices))
    words = _words_on_demands(choices, sets) if len(sets) > 1 else _words_on_k(choices)
    least, best = _best(choices)
    sentence = f"Risk and loss together are least for {_named(least)}: {least.risk_and_loss:.2f}."
    if best is not least:
        sentence += (
            f" {_named(best)} comes near, {best.risk_and_loss:.2f}, in "
            f"{best.seconds:.2g} seconds instead of {least.seconds:.2g}."
        )
    if best.plain_loss is not None:
        costs = ", ".join(f"{name} {cost:.2f}" for name, cost in best.costs.items())
        words.append(
            f"{_named(best)} loses {best.plain_loss:.2f} % with k alone and "
            f"{best.information_loss:.2f} % with all that is demanded; each demand alone adds: "
            f"{costs}."
        )
    words.append(f"{sentence} If a rule of yours fixes k, take the method that loses least for it.")
    return best, words


def _named(choice: Choice) -> str:
    demands = f" and {choice.demands}" if choice.disclosed is not None and choice.demands else ""
    return f"{choice.asked} with k = {choice.k}{demands}"


def _best(choices: list[Choice]) -> tuple[Choice, Choice]:
    """The choice with the least risk and loss, and the one to take if that takes long."""
    least = min(choices, key=lambda choice: choice.risk_and_loss)
    if least.seconds <= _PATIENCE:
        return least, least
    near = [
        choice
        for choice in choices
        if choice.risk_and_loss <= _NEARLY * least.risk_and_loss
        and _MUCH_FASTER * choice.seconds <= least.seconds
    ]
    return least, min(near, key=lambda choice: choice.risk_and_loss, default=least)


def _words_on_k(choices: list[Choice]) -> list[str]:
    words = []
    for k in sorted({choice.k for choice in choices}):
        rivals = [choice for choice in choices if choice.k == k]
        least = min(rivals, key=lambda choice: choice.information_loss)
        words.append(
            f"For k = {k} the method {least.asked} loses least: {least.information_loss:.2f} %, "
            f"at {least.risk:.1f} % expected linkage."
        )
    return words


def _words_on_demands(choices: list[Choice], sets: list[str]) -> list[str]:
    """What the best way to keep each set of demands loses, and what it hides."""
    words = []
    for demands in sets:
        _, best = _best([choice for choice in choices if choice.demands == demands])
        words.append(
            f"With {demands or 'k alone'} the best is {best.asked}, k = {best.k}: "
            f"{best.information_loss:.2f} % lost, {best.risk:.1f} % linked, and "
            f"{best.disclosed or 0.0:.1f} % of records in a group that shares one single "
            "confidential value."
        )
    return words
