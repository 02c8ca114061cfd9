"""What a report tells of demands beyond k: what classes keep, beside groups of k alone."""

from typing import TYPE_CHECKING

from microagg.base.demands import Closeness, Diversity
from microagg.columns.told import Bar
from microagg.measure.exposure import BINS, MOST_VALUES, Exposure
from microagg.release.promises import found_for
from microagg.report.story import Beyond

if TYPE_CHECKING:
    from microagg.release.release import Release

_DIGITS = 4


def beyond(release: "Release", *, public: bool) -> tuple[Beyond, ...]:
    """By column; a public page is silent on groups of k alone, which no release shows."""
    recipe, counts = release.recipe, release.counts
    found = found_for(recipe, counts)
    told = []
    for name in recipe.demanded:
        own = [demand for demand in recipe.demands if demand.column == name]
        disclosed = counts.get(("disclosure", name))
        after = None if disclosed is None else Exposure.of_classes(disclosed)
        before = None if public else release.shown.exposures.get(name)
        distinct = [
            demand.limits[0]
            for demand in own
            if isinstance(demand, Diversity) and demand.kind == "distinct"
        ]
        close = [demand.t for demand in own if isinstance(demand, Closeness)]
        told.append(
            Beyond(
                name,
                tuple((demand.sentence, _words(found.get(demand))) for demand in own),
                () if after is None else _values(after, before),
                () if after is None else _distances(after, before),
                max(distinct, default=None),
                min(close, default=None),
            )
        )
    return tuple(told)


def beyond_sentence(release: "Release") -> str:
    """What is promised about somebody who finds the class of a person."""
    sentences = ", and ".join(demand.sentence for demand in release.recipe.demands)
    return (
        "How much the class of a person tells of what is confidential has a limit: each class has "
        f"{sentences}. This was counted on the release itself, class by class."
    )


def _words(figure: float | None) -> str:
    return "none" if figure is None else f"{figure:.{_DIGITS}g}"


def _values(after: Exposure, before: Exposure | None) -> tuple[Bar, ...]:
    last = int(max(each.distinct.nonzero()[0].max() for each in (after, before) if each))
    return tuple(
        Bar(
            f"{MOST_VALUES} or more" if place == MOST_VALUES else str(place),
            place - 0.5,
            place + 0.5,
            None if before is None else int(before.distinct[place]),
            int(after.distinct[place]),
        )
        for place in range(1, max(last, 4) + 1)
    )


def _distances(after: Exposure, before: Exposure | None) -> tuple[Bar, ...]:
    last = int(max(each.distance.nonzero()[0].max() for each in (after, before) if each))
    return tuple(
        Bar(
            f"{place / BINS:g} to {(place + 1) / BINS:g}",
            place / BINS,
            (place + 1) / BINS,
            None if before is None else int(before.distance[place]),
            int(after.distance[place]),
        )
        for place in range(max(last, 4) + 1)
    )
