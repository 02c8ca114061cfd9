"""What a sample of the original and the profile of its release tell: pages, risk and utility.

A table of up to `MEASURED` records is judged as a whole: the sample holds all of it. Of larger ones
the sample is judged, the same wherever the release was made.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from microagg.base.progress import Advance
from microagg.columns.coded import Coded
from microagg.columns.summary import attribute, correlations, understood
from microagg.columns.told import Attribute, Correlations
from microagg.engine.plan import Plan
from microagg.engine.profile import Profile, Sampled
from microagg.measure.figures import FIGURES
from microagg.release.assessment import Assessment, linkage_note, measure
from microagg.table.classes import Classes, class_of
from microagg.table.opening import Origin

MEASURED = 100_000


@dataclass(frozen=True)
class Shown:
    """The columns and how they go together: before and after, and by the release alone."""

    attributes: tuple[Attribute, ...]
    correlations: Correlations | None
    public_attributes: tuple[Attribute, ...]
    public_correlations: Correlations | None


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
    )


def assessed(
    plan: Plan, sample: pa.Table, profile: Profile, origin: Origin, advance: Advance
) -> Assessment:
    """Risk and utility: of all records, or of a sample of many."""
    sampled, tally = profile.sampled(), profile.tally
    before = [column.rows(sampled.places) for column in plan.code(sample)]
    whole = plan.rows <= MEASURED
    labels = _classes_of(sampled.after, plan, sample, sampled)
    found = measure(
        list(zip(before, sampled.after, strict=True)),
        Classes.of(np.bincount(labels)),
        labels,
        rows_original=plan.rows,
        # Of classes a sample has too few records to tell how diverse they are.
        confidential=_confidential(plan, sample, sampled, origin) if whole else (),
        losses=tally.losses,
        changes=tally.changes,
        figures=[figure for figure in FIGURES if whole or figure.of_sample],
        advance=advance,
    )
    if whole:
        return found
    found = replace(found, rows_released=plan.rows - plan.dropped)
    sampled_note = (
        f"Figures other than losses and classes are of a sample of {sampled.places.size} records."
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


def _classes_of(
    after: Sequence[Coded], plan: Plan, sample: pa.Table, sampled: Sampled
) -> NDArray[np.int64]:
    """Which records share their published values, and their strata where these count."""
    columns = {f"c{place}": _as_array(column) for place, column in enumerate(after)}
    within = [name for name in plan.counted if name in plan.recipe.within]
    for place, name in enumerate(within):
        columns[f"s{place}"] = sample[name].combine_chunks().take(pa.array(sampled.places))
    return class_of(pa.table(columns), list(columns))


def _as_array(column: Coded) -> pa.Array:
    return pa.array(column.values, mask=column.missing)
