"""Every figure a release is judged by: what it means, and all of them at once."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from numpy.typing import ArrayLike

from microagg.base.arrays import as_records
from microagg.base.groups import Partition
from microagg.base.progress import Report, silent
from microagg.measure.anonymity import anonymity, classes
from microagg.measure.interval import (
    disclosure_risk,
    interval_disclosure,
    satisfaction,
    scoring_index,
    sdid,
)
from microagg.measure.linkage import link
from microagg.measure.probabilistic_loss import probabilistic_loss
from microagg.measure.statistics import changes, eigenvalue_distance, il1s, paired, release_loss


@dataclass(frozen=True)
class Figure:
    """What a figure is called, how it is computed, and which way is better.

    Of a change that has a sign, the lower is the one nearer to 0.
    """

    name: str
    formula: str
    group: Literal["risk", "utility", "satisfaction"]
    better: Literal["lower", "higher"]
    unit: str
    description: str


FIGURES: tuple[Figure, ...] = (
    Figure(
        "k",
        "min over classes of class size",
        "risk",
        "higher",
        "records",
        "The size of the smallest group of records that cannot be told apart.",
    ),
    Figure(
        "unique_records",
        "#{i : nobody shares the class of i}",
        "risk",
        "lower",
        "records",
        "How many records share their released values with nobody.",
    ),
    Figure(
        "linkage",
        "DLD = 100 #{i : i = i'} / n, i' the released record nearest to original i",
        "risk",
        "lower",
        "percent",
        "Records that an intruder who knows the originals links to themselves; ties go to the "
        "first.",
    ),
    Figure(
        "expected_linkage",
        "100 / n sum over i among its nearest of 1 / number of nearest",
        "risk",
        "lower",
        "percent",
        "Records that an intruder who knows the originals links to themselves; lots decide among "
        "equally near ones.",
    ),
    Figure(
        "interval",
        "SDID = 100 #{|x - x'| <= sd sigma} / cells",
        "risk",
        "lower",
        "percent",
        "Values released within a few percent of a standard deviation of the original.",
    ),
    Figure(
        "interval_attributes",
        "SDID of each column",
        "risk",
        "lower",
        "percent",
        "The same share, column by column.",
    ),
    Figure(
        "linked_interval",
        "SDID with x' from the nearest released record",
        "risk",
        "lower",
        "percent",
        "Values that an intruder guesses as closely who trusts the nearest released record.",
    ),
    Figure(
        "range_interval",
        "100 #{|x - x'| <= sd (max x - min x)} / cells",
        "risk",
        "lower",
        "percent",
        "Values released within a few percent of the column's range of the original.",
    ),
    Figure(
        "rank_interval",
        "100 #{|rank x - rank x'| <= sd n} / cells",
        "risk",
        "lower",
        "percent",
        "Values released within a few percent of all ranks of the original.",
    ),
    Figure(
        "disclosure_risk",
        "DR = (DLD + SDID) / 2",
        "risk",
        "lower",
        "percent",
        "The risk in one figure: half linkage, half interval.",
    ),
    Figure(
        "loss",
        "IL = mean over columns of 100 sum (x - x')^2 / sum (x - mean)^2",
        "utility",
        "lower",
        "percent",
        "How much of the variation in the data the release wiped out.",
    ),
    Figure(
        "loss_attributes",
        "IL of each column",
        "utility",
        "lower",
        "percent",
        "The same loss, column by column.",
    ),
    Figure(
        "il1s",
        "IL1s = mean over cells of |x - x'| / (sqrt(2) sigma)",
        "utility",
        "lower",
        "",
        "How far values moved, in standard deviations of a difference between two records.",
    ),
    Figure(
        "mean_changes",
        "100 (mean' - mean) / sigma of each column",
        "utility",
        "lower",
        "percent",
        "How far each mean moved.",
    ),
    Figure(
        "variance_changes",
        "100 (variance' / variance - 1) of each column",
        "utility",
        "lower",
        "percent",
        "How much each variance grew or shrank.",
    ),
    Figure(
        "quantile_changes",
        "mean over q = 5, ..., 95 % of 100 |Q'(q) - Q(q)| / sigma, of each column",
        "utility",
        "lower",
        "percent",
        "How far the quantiles of each column moved.",
    ),
    Figure(
        "total_changes",
        "100 (sum x' - sum x) / sum |x| of each column",
        "utility",
        "lower",
        "percent",
        "How much the total of each column changed.",
    ),
    Figure(
        "correlation_change",
        "mean over pairs of columns of |r' - r|",
        "utility",
        "lower",
        "",
        "How much correlations changed on average.",
    ),
    Figure(
        "largest_correlation_change",
        "max over pairs of columns of |r' - r|",
        "utility",
        "lower",
        "",
        "How much the correlation that changed most did.",
    ),
    Figure(
        "eigenvalue_distance",
        "100 sum |l' - l| / sum l over the eigenvalues of the covariances",
        "utility",
        "lower",
        "percent",
        "How much the cloud of records changed its shape.",
    ),
    Figure(
        "probabilistic_loss",
        "PIL = mean of the five parts below",
        "utility",
        "lower",
        "percent",
        "How surely the usual statistics tell the release from the originals.",
    ),
    *(
        Figure(
            f"pil_{part}",
            f"mean over {each} of 100 (2 Phi(|T' - T| / sqrt(Var T)) - 1)",
            "utility",
            "lower",
            "percent",
            f"The part of PIL that is due to {part}.",
        )
        for part, each in (
            ("quantiles", "columns and q = 5, ..., 95 %"),
            ("means", "columns"),
            ("variances", "columns"),
            ("covariances", "pairs of columns"),
            ("correlations", "pairs of columns"),
        )
    ),
    Figure(
        "scoring_index",
        "SI = (DR + PIL) / 2",
        "utility",
        "lower",
        "percent",
        "Risk and loss in one figure.",
    ),
    Figure(
        "satisfaction",
        "SL = 100 sum w [|x - x'| >= Delta sigma] / sum w",
        "satisfaction",
        "higher",
        "percent",
        "Values as far from the original as their owners ask, weighted by importance.",
    ),
)


def judge(
    original: ArrayLike,
    released: ArrayLike,
    *,
    labels: ArrayLike | Partition | None = None,
    sd: float = 5.0,
    known: Sequence[int] | None = None,
    distance: ArrayLike | None = None,
    importance: ArrayLike | None = None,
    report: Report = silent,
) -> dict[str, float | list[float]]:
    """Every figure of FIGURES under its name, in that order; one list entry a column.

    original, released: the same records and numeric columns, row by row.
    labels: the group of each record; if not given, records with equal released values are one.
    sd: how close a released value may not come, in percent (see `interval_disclosure`).
    known: the columns an intruder knows (see `link`).
    distance, importance: what owners ask (see `satisfaction`); without a distance that figure is
    left out.

    The time goes into linkage, whose share `report` tells.
    """
    pair = paired(original, released)
    if labels is None:
        labels = classes(as_records(released, "released"))
    groups = anonymity(labels)
    links = link(pair, known=known, report=report)
    interval = sdid(pair, sd=sd)
    loss = release_loss(pair)
    change = changes(pair)
    probabilistic = probabilistic_loss(pair)
    risk = disclosure_risk(links.percent, interval.total)
    figures: dict[str, float | list[float]] = {
        "k": groups.k,
        "unique_records": groups.alone,
        "linkage": links.percent,
        "expected_linkage": links.expected,
        "interval": interval.total,
        "interval_attributes": list(interval.attributes),
        "linked_interval": sdid(pair, sd=sd, links=links.rows).total,
        "range_interval": interval_disclosure(pair, width=sd, basis="range").total,
        "rank_interval": interval_disclosure(pair, width=sd, basis="rank").total,
        "disclosure_risk": risk,
        "loss": loss.total,
        "loss_attributes": list(loss.attributes),
        "il1s": il1s(pair),
        "mean_changes": list(change.means),
        "variance_changes": list(change.variances),
        "quantile_changes": list(change.quantiles),
        "total_changes": list(change.totals),
        "correlation_change": change.correlations,
        "largest_correlation_change": change.largest_correlation,
        "eigenvalue_distance": eigenvalue_distance(pair),
        "probabilistic_loss": probabilistic.total,
        **{
            f"pil_{part}": share
            for part, share in probabilistic.to_dict().items()
            if part != "total"
        },
        "scoring_index": scoring_index(risk, probabilistic.total),
    }
    if distance is not None:
        figures["satisfaction"] = satisfaction(
            pair, distance=distance, importance=1.0 if importance is None else importance
        )
    return figures
