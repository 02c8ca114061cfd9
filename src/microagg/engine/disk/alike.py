"""Records that share their keys, and households, of a table on disk: see `engine/alike.py`."""

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from microagg.engine.alike import HOUSEHOLD, ROW, Alike, Coding, Homes
from microagg.measure.risk.individual import individual_risk, log_safe
from microagg.table.classes_in_parts import WholeClasses

SAFE = "\0safe"


def alike_in(part: WholeClasses, coding: Coding) -> Alike:
    """What a part tells, whose first value is the weight, if any, and whose last is the row."""
    weights = part.sizes.astype(np.float64)
    if coding.weights is not None:
        each = part.values[:, 0].copy().view(np.float64) * _times(part)
        weights = np.asarray(np.bincount(part.labels, each, part.sizes.size), np.float64)
    lines = np.flatnonzero(~part.missing[:, -1])
    return Alike(part.sizes, weights, part.values[lines, -1], part.labels[lines])


def members_in(part: WholeClasses, coding: Coding, alone: list[Homes]) -> pa.RecordBatch:
    """The household of each record and how safe it is; who has none goes to those alone."""
    combinations = alike_in(part, coding)
    risks = individual_risk(combinations.sizes, coding.population(combinations))[part.labels]
    lines, times = np.arange(risks.size), _times(part)
    by_itself = part.missing[:, -2]
    own, in_sample = lines[by_itself], ~part.missing[by_itself, -1]
    rows = part.values[own, -1][in_sample]
    alone.append(Homes(float((risks[own] * times[own]).sum()), rows, risks[own][in_sample]))
    shared = np.repeat(lines[~by_itself], times[~by_itself])
    return pa.RecordBatch.from_pydict(
        {
            HOUSEHOLD: part.values[shared, -2],
            SAFE: log_safe(risks[shared]),
            ROW: pa.array(part.values[shared, -1], mask=part.missing[shared, -1]),
        }
    )


def homes_in(part: WholeClasses) -> Homes:
    """The risk of households, all members of each."""
    safe = part.values[:, 0].copy().view(np.float64)
    risks = -np.expm1(np.bincount(part.labels, safe * _times(part), part.sizes.size))
    lines = np.flatnonzero(~part.missing[:, -1])
    found = risks[part.labels[lines]]
    return Homes(float((risks * part.sizes).sum()), part.values[lines, -1], found)


def _times(part: WholeClasses) -> NDArray[np.int64]:
    """How many records each line stands for."""
    return np.ones(part.labels.size, np.int64) if part.weights is None else part.weights
