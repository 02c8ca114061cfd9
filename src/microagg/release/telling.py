"""The story of a release, in words for the person who must decide about it."""

from dataclasses import replace
from typing import TYPE_CHECKING

from microagg.aggregation.values import find_aggregate
from microagg.base.files import suffix_of
from microagg.base.texts import command
from microagg.columns.kinds import find
from microagg.columns.told import Attribute
from microagg.grouping.methods import GIVEN
from microagg.measure.figures import FIGURES, Figure
from microagg.release.beyond import beyond, beyond_sentence
from microagg.release.risks import risks_of
from microagg.report.story import Story

# So many columns are named in a sentence.
_NAMED = 8

if TYPE_CHECKING:
    from microagg.release.release import Release


def story_of(release: "Release", *, public: bool, name: str = "") -> Story:
    """What the report says; a public one only what the release itself and its certificate show.

    name: what the table is called, if not like its file.
    """
    name = name or release.origin.name
    certificate, recipe = release.certificate, release.recipe
    classes, shown = release.classes, release.shown
    attributes = shown.public_attributes if public else shown.attributes
    together = shown.public_correlations if public else shown.correlations
    units = certificate.counts
    measured_notes = () if release.assessment is None else release.assessment.notes
    return Story(
        title=name if not public else "Protected release",
        public=public,
        verdict=certificate.passed,
        verdict_title=f"{'k-anonymity' if recipe.k > 1 else 'Demands'} "
        + ("verified" if certificate.passed else "NOT verified"),
        verdict_sentence=(
            f"Every combination of protected values is shared by at least {certificate.k_found} "
            f"{units}; {certificate.k_asked} are required."
        ),
        guarantee=_guarantee(release),
        limits=_limits(release, public),
        limits_title="What an intruder may still do",
        facts=_facts(release, public),
        done=_done(release, public),
        roles=_roles(release, attributes),
        group_sizes=tuple(zip(classes.sizes.tolist(), classes.times.tolist(), strict=True)),
        beyond=beyond(release, public=public),
        beyond_sentence=_demands(release),
        figures=() if public else _figures(release),
        risk=risks_of(
            None if public else release.before, classes, recipe.k, release.record.rows_read
        ),
        attributes=attributes,
        correlations=together,
        notes=certificate.notes if public else (*release.record.notes, *measured_notes),
        certificate=_certificate_rows(release, public),
        recipe=recipe.to_toml(public=public),
        reproduce="" if public or recipe.method == GIVEN else _command(release, name),
        software=f"microagg {certificate.version}",
        made=certificate.made,
    )


_ONE = {"records": "record", "entities": "entity", "households": "household"}


def _guarantee(release: "Release") -> tuple[str, ...]:
    certificate, recipe = release.certificate, release.recipe
    units = certificate.counts
    columns = ", ".join(recipe.quasi_identifiers)
    others = certificate.k_found - 1
    if recipe.household is not None:
        units = "different households"
    first = (
        f"Somebody who knows a person's {columns} finds at least {certificate.k_found} {units} "
        f"with the same values here, and cannot tell which one is meant: k-anonymity with k = "
        f"{certificate.k_found}. Each {_ONE[certificate.counts]} hides among at least {others} "
        "others."
    )
    if others == 0:
        first = (
            f"No k-anonymity: somebody who knows a person's {columns} may find that one record. "
            "What is demanded of confidential columns is all that is promised."
        )
    second = (
        "This was counted again on the release itself after it was written, not taken from the "
        "groups that were meant."
        if certificate.release_sha256
        else "This was counted on the release itself, not taken from the groups that were meant."
    )
    third: tuple[str, ...] = ()
    if recipe.within:
        inside = ", ".join(recipe.within)
        third = (f"The count includes {inside}, so knowing that too does not help.",)
    demanded = _demands(release)
    return (first, second, *third, *([demanded] if demanded else []))


def _demands(release: "Release") -> str:
    return beyond_sentence(release) if release.recipe.demands else ""


def _limits(release: "Release", public: bool) -> tuple[str, ...]:
    """What an intruder may still do; a public page says so without figures of the original."""
    recipe, assessment = release.recipe, release.assessment
    kept = [name for name in release.certificate.columns if name not in recipe.replaced]
    limits = []
    if kept:
        some = ", ".join(kept[:_NAMED]) + (" and more" if len(kept) > _NAMED else "")
        limits.append(
            f"Recognise people by what was kept as it is ({some}), if he knows it: the promise is "
            f"about {', '.join(release.counted)} alone."
        )
    unguarded = [name for name in kept if name not in recipe.demanded]
    if unguarded or not recipe.demanded:
        of_these = f" of {', '.join(unguarded[:_NAMED])}" if recipe.demanded else ""
        limits.append(
            "Learn what all records of a class share: it hides who is who, not a confidential "
            f"value{of_these} that a whole class has."
        )
    figures = {} if public or assessment is None else assessment.figures
    if "class_linkage" in figures:
        limits.append(
            "Find the class of somebody whose values he knows exactly: the nearest one is right "
            f"for {figures['class_linkage']:.1f} % of the records, and the record itself is found "
            f"for {figures['expected_linkage']:.1f} %."
        )
    limits.append(
        "Work out the last value of a group of which he knows all others, and put this release "
        "together with others of the same people: it is k-anonymity, not differential privacy."
    )
    if recipe.row_order == "kept":
        limits.append("Use the order of the rows, which is that of the input.")
    if recipe.household is not None:
        limits.append(
            "Put the members of a household together, where he knows several of them and the "
            "release shows who lives with whom: each member hides among other households, not the "
            "household as a whole."
        )
    elif recipe.entity is None:
        limits.append("Count on people with several records: each record counts for itself.")
    return tuple(limits)


def _facts(release: "Release", public: bool) -> tuple[tuple[str, str | float], ...]:
    certificate = release.certificate
    facts: list[tuple[str, str | float]] = [
        ("k found", certificate.k_found),
        ("k required", certificate.k_asked),
        ("records", certificate.rows_released),
        ("groups", certificate.groups),
    ]
    # The release alone tells this, so a public page does too.
    for name, found in (release.assessment.confidential if release.assessment else {}).items():
        percent = f"{found['disclosed']['percent']:.2f} %"
        facts.append((f"of records are in a class with one single {name}", percent))
    if not public:
        facts.append(("information loss", f"{certificate.information_loss:.2f} %"))
        if certificate.above_optimum is not None:
            facts.append(("above the optimum, at most", f"{certificate.above_optimum:.2f} %"))
    return tuple(facts)


def _figures(release: "Release") -> tuple[tuple[Figure, str], ...]:
    """The loss of all columns in the place of that of numbers alone, which would only confuse."""
    loss = replace(
        next(figure for figure in FIGURES if figure.name == "loss"),
        title="Information loss",
        description="The share of the variation in the protected columns that is gone: 0 is no "
        "change, 100 is one value for all.",
    )
    measured = [] if release.assessment is None else release.assessment.shown()
    return (
        (loss, f"{release.certificate.information_loss:.2f} %"),
        *((figure, value) for figure, value in measured if figure.name != "loss"),
    )


def _done(release: "Release", public: bool) -> tuple[str, ...]:
    certificate, recipe = release.certificate, release.recipe
    steps = []
    if recipe.identifiers:
        steps.append(f"Dropped {', '.join(recipe.identifiers)}: people can be told by it at once.")
    within = f" within {', '.join(recipe.within)}" if recipe.within else ""
    steps.append(
        f"Grouped {certificate.counts} that are alike in {', '.join(recipe.quasi_identifiers)}"
        f"{within}, at least {recipe.k} in each group, by the method {certificate.method}."
    )
    steps.append(
        "Replaced these values by one for the whole group"
        + (f", weighted by {recipe.weights}" if recipe.weights else "")
        + "."
    )
    steps += filter(None, [find_aggregate(recipe.aggregate, "aggregate").done])
    dropped = release.record.rows_read - certificate.rows_released
    if dropped and not public:
        steps.append(f"Left out {dropped} records of strata with fewer than {recipe.k} members.")
    if recipe.row_order == "kept":
        steps.append("Kept all other columns and the order of the rows as they were.")
    else:
        steps.append("Kept all other columns as they were, and shuffled the rows.")
    steps.append(
        "Wrote the release, read it back and counted it again."
        if certificate.release_sha256
        else "Counted the release again."
    )
    return tuple(steps)


def _roles(
    release: "Release", attributes: tuple[Attribute, ...]
) -> tuple[tuple[str, str, str], ...]:
    recipe = release.recipe
    kinds = {each.name: each.kind for each in attributes}
    rows = [
        (name, "quasi-identifier", find(kinds[name]).treatment) for name in recipe.quasi_identifiers
    ]
    rows += [(name, "confidential", "kept as it is") for name in recipe.confidential]
    rows += [(name, "identifier", "dropped") for name in recipe.identifiers]
    named = {name for name, _, _ in rows}
    for name in release.certificate.columns:
        if name not in named:
            role = {
                recipe.weights: "weights",
                recipe.entity: "entity",
                recipe.household: "household",
            }.get(name, "other")
            role = "stratum" if name in recipe.within else role
            rows.append((name, role, "kept as it is"))
    return tuple(rows)


def _certificate_rows(release: "Release", public: bool) -> tuple[tuple[str, str], ...]:
    certificate = release.certificate
    rows = [(check.promise, "yes" if check.kept else "NO") for check in certificate.checks]
    rows += [
        ("k found, k required", f"{certificate.k_found}, {certificate.k_asked}"),
        (
            "group sizes: smallest, median, largest",
            f"{certificate.smallest_group}, {certificate.median_group:g}, "
            f"{certificate.largest_group}",
        ),
        ("records released", str(certificate.rows_released)),
        ("method", certificate.method),
        ("order of the rows", certificate.row_order),
    ]
    if certificate.release_sha256:
        rows.append(("sha256 of the release", certificate.release_sha256))
    if not public:
        record = release.record
        rows += [
            ("seed", str(release.recipe.seed)),
            ("engine, cells of similar records", f"{record.engine}, {record.cells}"),
            ("records read", str(record.rows_read)),
            ("sha256 of the recipe", record.recipe_sha256),
            ("sha256 of the plan", record.plan_sha256),
        ]
    return tuple(rows)


def _command(release: "Release", name: str) -> str:
    record = ("--record", "record.json") if release.recipe.row_order == "shuffled" else ()
    return command(
        *("microagg", "protect", name, "--recipe", "recipe.toml", "--engine", release.engine),
        *("-o", f"release{suffix_of(name) or '.csv'}", *record),
    )
