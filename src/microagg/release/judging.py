"""What a sample of the original and the profile of its release tell: pages, risk and utility.

A table of up to `MEASURED` records is judged as a whole: the sample holds all of it. Of larger ones
the sample is judged, the same wherever the release was made. Where columns have so many categories
that no index helps to find anybody, fewer are linked to all.
"""

from dataclasses import dataclass, field, replace

import numpy as np
import pyarrow as pa

from microagg.base.progress import Advance
from microagg.columns.coded import Coded
from microagg.columns.summary import attribute, correlations, understood
from microagg.columns.told import Attribute, Correlations
from microagg.engine.plan import Plan
from microagg.engine.profile import Profile, Sampled
from microagg.measure.exposure import Exposure
from microagg.measure.figures import FIGURES
from microagg.release.assessment import Assessment, linkage_note, measure
from microagg.table.opening import Origin

MEASURED = 100_000


@dataclass(frozen=True)
class Shown:
    """The columns and how they go together: before and after, and by the release alone.

    exposures: what groups of k alone gave away of columns that more is demanded of.
    """

    attributes: tuple[Attribute, ...]
    correlations: Correlations | None
    public_attributes: tuple[Attribute, ...]
    public_correlations: Correlations | None
    exposures: dict[str, Exposure] = field(default_factory=dict)


def is_judged_whole(plan: Plan) -> bool:
    """Whether all records are judged, and linked to all; else a sample of them is."""
    return plan.rows <= min(MEASURED, 2 * plan.rows_at_once)


def shown(plan: Plan, sample: pa.Table, profile: Profile, origin: Origin) -> Shown:
    """What pages show of the columns."""
    sampled, tally = profile.sampled(), profile.tally
    confidential = _confidential(plan, sample, sampled, origin)
    same = plan.dropped == 0
    told = [attribute("confidential", each, each if same else None) for each in confidential]
    alone = [attribute("confidential", each) for each in confidential]
    # The borders of the tally's bars are round numbers near quantiles of the original sample. Of a
    # large one these tell of nobody; a small one is the whole table, and shows itself.
    if sample.num_rows < plan.rows:
        public, together = tally.attributes(public=True), tally.correlations(public=True)
    else:
        public = tuple(attribute("quasi-identifier", column) for column in sampled.after)
        together = correlations(sampled.after)
    return Shown(
        (*tally.attributes(public=False), *told),
        tally.correlations(public=False),
        (*public, *alone),
        together,
        profile.exposures,
    )


def assessed(plan: Plan, sample: pa.Table, profile: Profile, advance: Advance) -> Assessment:
    """Risk and utility, of all records or of a sample of many; but for what classes tell."""
    sampled, tally = profile.sampled(), profile.tally
    before = [column.rows(sampled.places) for column in plan.code(sample)]
    whole = is_judged_whole(plan)
    found = measure(
        list(zip(before, sampled.after, strict=True)),
        rows_original=plan.rows,
        rows_released=plan.rows - plan.dropped,
        losses=tally.losses,
        changes=tally.changes,
        figures=[figure for figure in FIGURES if whole or figure.of_sample],
        advance=advance,
    )
    if whole:
        return found
    if plan.rows > MEASURED:
        sampled_note = (
            "Figures other than those of losses, classes and confidential columns are of a sample "
            f"of {sampled.places.size} records."
        )
        found = replace(found, notes=(sampled_note, *found.notes))
    if profile.links is not None:
        staying = np.isin(profile.linked, sampled.places)
        linked = profile.linked[staying]
        rows = np.searchsorted(sampled.places, linked)
        points = plan.place([column.rows(rows) for column in sampled.after], weighted=False)
        profile.links.place(np.flatnonzero(staying), points)
        found.figures["expected_linkage"] = profile.links.expected
        found.figures["class_linkage"] = profile.links.by_class
        records = f"{linked.size} of these among all {found.rows_released} records"
        note = linkage_note(records, found.linked_columns)
        found = replace(found, linked=linked.size, notes=(*found.notes, note))
    return found


def _confidential(plan: Plan, sample: pa.Table, sampled: Sampled, origin: Origin) -> list[Coded]:
    """The confidential columns of the sampled records that stay, as numbers or categories."""
    columns = (
        understood(name, sample[name].combine_chunks(), origin) for name in plan.recipe.confidential
    )
    return [column.rows(sampled.places) for column in columns if column is not None]
