"""Every figure a release is judged by: what it means, and how it is computed.

Those of a table before anything is done to it are in `risk/figures.py`.
"""

from collections.abc import Iterable, Mapping
from dataclasses import replace
from functools import partial
from math import inf
from operator import attrgetter
from typing import Any

from microagg.measure.dominance import DOMINATES
from microagg.measure.evidence import Evidence
from microagg.measure.figure import Figure as Figure
from microagg.measure.figure import Value
from microagg.measure.interval import TOO_CLOSE, interval_disclosure, satisfaction
from microagg.measure.models.figures import LIKENESS, MODELS
from microagg.measure.statistics import eigenvalue_distance, il1s


def _satisfaction(evidence: Evidence) -> float:
    assert evidence.distance is not None
    return satisfaction(
        evidence.pair, evidence.distance, evidence.importance, relative=evidence.relative
    )


_risk = partial(Figure, group="risk")
_utility = partial(Figure, group="utility")

FIGURES: tuple[Figure, ...] = (
    _risk(
        "k",
        "Smallest class",
        "min over classes of class size",
        "The size of the smallest class of records that share their released values.",
        attrgetter("k"),
        better="higher",
        unit="records",
        range=(1.0, inf),
        needs=("k",),
    ),
    _risk(
        "unique_records",
        "Sample uniques",
        "#{i : nobody shares the class of i}",
        "How many records share their released values with nobody.",
        attrgetter("unique"),
        unit="records",
        range=(0.0, inf),
        needs=("unique",),
    ),
    _risk(
        "linkage",
        "Record linkage",
        "DLD = 100 #{i : i = i'} / n, i' the released record nearest to original i",
        "Records that an intruder who knows the originals links to themselves; ties go to the "
        "first. Of a class of equal records one at most, so 100 / k at most: that no one is "
        "picked out does not say that classes are not found, see class linkage.",
        lambda evidence: evidence.links.percent,
        needs=("records",),
    ),
    _risk(
        "expected_linkage",
        "Expected record linkage",
        "100 / n sum over i among its nearest of 1 / number of nearest",
        "Records that an intruder who knows the originals links to themselves, choosing at random "
        "among equally near ones.",
        lambda evidence: evidence.links.expected,
        needs=("records",),
    ),
    _risk(
        "class_linkage",
        "Class linkage",
        "100 / n sum over i whose class is among the nearest of 1 / number of nearest classes",
        "Records whose class an intruder who knows the originals finds, choosing at random among "
        "equally near ones: what all records of a class share is known of them.",
        lambda evidence: evidence.links.by_class,
        needs=("records",),
    ),
    _risk(
        "interval",
        "Interval disclosure",
        "SDID = 100 #{|x - x'| <= sd sigma} / cells",
        f"Values released within {TOO_CLOSE:g} % of a standard deviation of the original.",
        lambda evidence: evidence.interval.total,
        of_sample=True,
    ),
    _risk(
        "interval_attributes",
        "Interval disclosure by column",
        "SDID of each column",
        "The same share, column by column.",
        lambda evidence: list(evidence.interval.attributes),
        of_sample=True,
    ),
    _risk(
        "transparent_interval",
        "Transparent interval disclosure",
        "mean over columns of max over guesses g of 100 #{|x - g| <= sd sigma} / n; g is x', "
        "x' - r, x' + r, the inner or the outer of these; "
        "r^2 = Delta^2 - (1 - alpha) (1 - w)^2 / (2 alpha)",
        "Values that an intruder guesses as closely who knows how proximity centroids are made, "
        "with alpha, distance and importance: the best of his guesses in each column.",
        attrgetter("transparent_interval"),
        needs=("numbers", "distance", "alpha"),
        of_sample=True,
    ),
    _risk(
        "linked_interval",
        "Linked interval disclosure",
        "SDID with x' from the nearest released record",
        "Values that an intruder guesses as closely who trusts the nearest released record.",
        lambda evidence: (
            interval_disclosure(evidence.pair, evidence.sd, links=evidence.linked_numbers).total
        ),
    ),
    _risk(
        "range_interval",
        "Range interval disclosure",
        "100 #{|x - x'| <= sd (max x - min x)} / cells",
        f"Values released within {TOO_CLOSE:g} % of the column's range of the original.",
        lambda evidence: interval_disclosure(evidence.pair, evidence.sd, "range").total,
        of_sample=True,
    ),
    _risk(
        "rank_interval",
        "Rank interval disclosure",
        "100 #{|rank x - rank x'| <= sd n} / cells",
        f"Values released within {TOO_CLOSE:g} % of all ranks of the original.",
        lambda evidence: interval_disclosure(evidence.pair, evidence.sd, "rank").total,
        of_sample=True,
    ),
    _risk(
        "dominance",
        "Dominance",
        f"100 #{{groups : max w |x| / sum w |x| or max w / sum w > {DOMINATES}}} / groups",
        f"Groups in which one record contributes more than {100 * DOMINATES:g} percent of a "
        "published mean, by its value or its weight (or more than the recipe allows): its own "
        "value can nearly be told.",
        attrgetter("dominance.percent"),
        needs=("dominance",),
    ),
    _risk(
        "disclosure_risk",
        "Disclosure risk",
        "DR = (DLD + SDID) / 2",
        "The risk in one figure: half linkage, half interval.",
        lambda evidence: evidence.risk,
    ),
    _risk(
        "diversity",
        "Diversity (distinct l-diversity)",
        "min over classes of the number of different values of a confidential column",
        "The least number of different values among records that share their released values, no "
        "value being one of them; 1 means that a whole class shares one.",
        lambda evidence: {
            name: int(each.distinct.least) for name, each in evidence.disclosures.items()
        },
        better="higher",
        unit="values",
        range=(1.0, inf),
        needs=("confidential",),
    ),
    _risk(
        "closeness",
        "Closeness (t-closeness)",
        "max over classes of the distance between the distributions of a confidential column in "
        "the class and among all",
        "How far the distribution in the most unusual class is from that among all: 0 is as among "
        "all, 1 is as different as can be. Of numbers and dates: the earth mover's distance by "
        "rank, no value being the lowest; of all else what shares differ by, added up and halved.",
        lambda evidence: {
            name: each.distance.largest for name, each in evidence.disclosures.items()
        },
        unit="",
        range=(0.0, 1.0),
        needs=("confidential",),
    ),
    _risk(
        "attribute_disclosure",
        "Attribute disclosure",
        "100 #{i : the class of i has one single value of a confidential column} / n",
        "Records in a class that shares one single confidential value: whoever finds the class "
        "knows it.",
        lambda evidence: {name: each.percent_alone for name, each in evidence.disclosures.items()},
        needs=("confidential",),
    ),
    _utility(
        "loss",
        "Squared error of numbers",
        "SE = mean over columns of 100 sum (x - x')^2 / sum (x - mean)^2",
        "How much of the variation in columns of numbers the release lost.",
        lambda evidence: evidence.loss.total,
        range=(0.0, inf),
    ),
    _utility(
        "loss_attributes",
        "Squared error by column",
        "SE of each column",
        "The same loss, column by column.",
        lambda evidence: list(evidence.loss.attributes),
        range=(0.0, inf),
    ),
    _utility(
        "il1s",
        "IL1s",
        "IL1s = mean over cells of |x - x'| / (sqrt(2) sigma)",
        "How far values moved, in standard deviations of a difference between two records.",
        lambda evidence: il1s(evidence.pair),
        unit="",
        range=(0.0, inf),
        of_sample=True,
    ),
    _utility(
        "mean_changes",
        "Mean changes",
        "100 (mean' - mean) / sigma of each column",
        "How far each mean moved.",
        lambda evidence: list(evidence.changes.means),
        range=(-inf, inf),
    ),
    _utility(
        "variance_changes",
        "Variance changes",
        "100 (variance' / variance - 1) of each column",
        "How much each variance grew or shrank.",
        lambda evidence: list(evidence.changes.variances),
        range=(-100.0, inf),
    ),
    _utility(
        "quantile_changes",
        "Quantile changes",
        "mean over q = 5, ..., 95 % of 100 |Q'(q) - Q(q)| / sigma, of each column",
        "How far the quantiles of each column moved.",
        lambda evidence: list(evidence.changes.quantiles),
        range=(0.0, inf),
    ),
    _utility(
        "total_changes",
        "Total changes",
        "100 (sum x' - sum x) / sum |x| of each column",
        "How much the total of each column changed.",
        lambda evidence: list(evidence.changes.totals),
        range=(-inf, inf),
    ),
    _utility(
        "correlation_change",
        "Correlation change",
        "mean over pairs of columns of |r' - r|",
        "How much correlations changed on average.",
        lambda evidence: evidence.changes.correlations,
        unit="",
        range=(0.0, 2.0),
        of_pairs=True,
        of_sample=True,
    ),
    _utility(
        "largest_correlation_change",
        "Largest correlation change",
        "max over pairs of columns of |r' - r|",
        "How much the correlation that changed most did.",
        lambda evidence: evidence.changes.largest_correlation,
        unit="",
        range=(0.0, 2.0),
        of_pairs=True,
        of_sample=True,
    ),
    _utility(
        "eigenvalue_distance",
        "Eigenvalue distance",
        "100 sum |l' - l| / sum l over the eigenvalues of the covariances",
        "How much the covariances of all columns together changed.",
        lambda evidence: eigenvalue_distance(evidence.pair),
        range=(0.0, inf),
        of_sample=True,
    ),
    _utility(
        "kolmogorov_smirnov",
        "Kolmogorov-Smirnov distance",
        "KS = mean over columns of 100 max over v of |F'(v) - F(v)|",
        "How far the distribution of a column of numbers moved where it moved most.",
        lambda evidence: evidence.distributions.total,
        of_sample=True,
    ),
    _utility(
        "kolmogorov_smirnov_attributes",
        "Kolmogorov-Smirnov distance by column",
        "KS of each column",
        "The same distance, column by column.",
        lambda evidence: list(evidence.distributions.attributes),
        of_sample=True,
    ),
    *LIKENESS,
    _utility(
        "probabilistic_loss",
        "Probabilistic loss",
        "PIL = mean of the five parts below",
        "How surely the usual statistics tell the release from the originals.",
        lambda evidence: evidence.probabilistic_loss.total,
    ),
    *(
        _utility(
            f"pil_{part}",
            f"PIL: {part}",
            f"mean over {each} of 100 (2 Phi(|T' - T| / sqrt(Var T)) - 1)",
            f"The part of PIL that is due to {part}.",
            attrgetter(f"probabilistic_loss.{part}"),
            of_pairs=each == "pairs of columns",
        )
        for part, each in (
            ("quantiles", "columns and q = 5, ..., 95 %"),
            ("means", "columns"),
            ("variances", "columns"),
            ("covariances", "pairs of columns"),
            ("correlations", "pairs of columns"),
        )
    ),
    _utility(
        "scoring_index",
        "Scoring index",
        "SI = (DR + PIL) / 2",
        "Risk and loss in one figure.",
        lambda evidence: evidence.scoring_index,
    ),
    *MODELS,
    Figure(
        "satisfaction",
        "Satisfaction",
        "SL = 100 sum w [|x - x'| >= Delta sigma] / sum w",
        "Values as far from the original as their owners ask, weighted by importance.",
        _satisfaction,
        group="satisfaction",
        better="higher",
        needs=("numbers", "distance"),
    ),
)


def judge(evidence: Any, figures: Iterable[Figure] = FIGURES) -> dict[str, Value]:
    """Every figure whose needs the evidence meets, by its name."""
    return {
        figure.name: figure.compute(evidence)
        for figure in figures
        if all(getattr(evidence, need) is not None for need in figure.needs)
    }


def shown(
    values: Mapping[str, Value], figures: Iterable[Figure] = FIGURES
) -> list[tuple[Figure, str]]:
    """What a person reads of figures by their names: each figure with its value as text.

    A figure of confidential columns or targets comes once for each, which its title names; lists,
    which have an entry a numeric column, are left to where columns are shown. What wants two
    columns of numbers is said not to be measured where there is one.
    """
    rows, by_column = [], values.get("loss_attributes")
    one_column = isinstance(by_column, list) and len(by_column) == 1
    for figure in figures:
        value = values.get(figure.name)
        if isinstance(value, dict):
            for column, one in value.items():
                titled = replace(figure, title=f"{figure.title} of {column}")
                rows.append((titled, _text(one, figure.unit)))
        elif isinstance(value, int | float):
            unmeasured = one_column and figure.of_pairs
            text = "not measured: one numeric column" if unmeasured else _text(value, figure.unit)
            rows.append((figure, text))
    return rows


def _text(value: float, unit: str) -> str:
    if unit == "percent":
        return "below 0.01 %" if 0.0 < value < 0.005 else f"{value:.2f} %"
    if isinstance(value, int) or abs(value) >= 999.5:
        return f"{value:.0f}"
    return f"{value:.3g}"
