"""An empirical audit: do neighbouring tables ever look more than e^epsilon apart?

Two tables that differ in one record are released many times. One half of the runs is searched for
the event that tells the tables apart best; on the other half this one event is counted, and
Clopper-Pearson bounds give an epsilon that is exceeded for certain. A method that keeps its promise
stays within its epsilon. An audit that never comes near it proves nothing: so it has a floor.
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.stats import beta

from microagg.private.method import PrivateMethod
from microagg.private.prepared import Prepared
from microagg.private.registry import WORD
from microagg.private.releasing import prepare

# The share of a true epsilon that an audit must find. More than 2 / 3, so that noise that is too
# small by a third shows as an epsilon that is exceeded.
FLOOR = 0.7
_BINS = 24


@dataclass(frozen=True)
class Pair:
    """Two tables that differ in one record, and how they are released; name: what it tries.

    k: the group size, where there is a choice.
    """

    name: str
    one: Mapping[str, Any]
    two: Mapping[str, Any]
    bounds: Mapping[str, Any]
    k: int = 2
    budget: str = "even"


def _line(name: str, n: int, wide: float = 1.0, budget: str = "even") -> Pair:
    """Two columns in three groups, of which the first record in line becomes the last.

    Each group then gives its first record to the one before. These records lie in turn at the far
    ends of one column and of the other, so all sums of both change by all they can.
    """
    k = n // 3
    starts = [0, n - 2 * k, n - k, n]
    turn = np.isin(np.arange(n + 1), [starts[1], starts[3]])
    # Each a little farther from the corner than the one before it.
    reach = np.linspace(0.97, 1.0, n + 1)
    line = {"a": np.where(turn, 0.0, reach), "b": np.where(turn, reach, 0.0) * wide}
    return Pair(
        name,
        {column: x[:-1] for column, x in line.items()},
        {column: np.r_[x[-1], x[1:-1]] for column, x in line.items()},
        {"a": (0.0, 1.0), "b": (0.0, wide)},
        k,
        budget,
    )


# In each of them one record moves all that the noise is made for, whatever the method.
PAIRS = (
    Pair("one group", {"a": [0.0] * 5}, {"a": [0.0] * 4 + [1.0]}, {"a": (0.0, 1.0)}, k=3),
    _line("two columns", 6),
    _line("uneven groups", 7),
    _line("split by width", 7, wide=8.0, budget="sensitivity"),
    _line("optimal split", 7, wide=8.0, budget="optimal"),
    Pair(
        "categories",
        {"a": [0.0, 0.0, 0.0, 1.0], "c": ["x", "x", "y", "y"]},
        {"a": [1.0, 0.0, 0.0, 1.0], "c": ["y", "x", "y", "y"]},
        {"a": (0.0, 1.0), "c": ["x", "y"]},
    ),
)
# Here it is the groups that change: whether rows 1 and 2 share one.
COUNTER_EXAMPLE = Pair(
    "counter-example", {"a": [0.0, 1, 9, 10]}, {"a": [0.0, 11, 9, 10]}, {"a": (0.0, 11.0)}
)


def pairs_for(method: PrivateMethod) -> list[Pair]:
    """Those that a method can release."""
    return [pair for pair in PAIRS if method.categories or "c" not in pair.one]


def exceeded(
    method: PrivateMethod,
    pair: Pair,
    epsilon: float,
    runs: int,
    *,
    given_partition: bool = False,
    rng: np.random.Generator | None = None,
    doubt: float = 1e-4,
) -> float:
    """The greatest epsilon that is exceeded, with the confidence 1 - doubt.

    given_partition: both tables in the groups of the first, which is all that some methods promise.
    rng: for simulated noise; without it the noise is OpenDP's.
    """
    one, two = (
        prepare(
            table,
            epsilon=epsilon,
            bounds=pair.bounds,
            method=method.name,
            k=method.only_k or pair.k,
            budget=pair.budget,
            accept=WORD,
        )
        for table in (pair.one, pair.two)
    )
    two = replace(one, columns=two.columns) if given_partition else two
    p, q = (_shown(replace(each, method=method), runs, rng) for each in (one, two))
    return max(_exceeded(p, q, doubt / 2), _exceeded(q, p, doubt / 2), 0.0)


def _shown(prepared: Prepared, runs: int, rng: np.random.Generator | None) -> NDArray[np.float64]:
    """What releases show, (runs, features): values, and of linked rows also which are equal."""
    made = {name: asked.drawn(rng, runs) for name, asked in prepared.questions().items()}
    if not prepared.method.rows.linked:
        return np.column_stack(list(made.values())).astype(float)
    rows = [values[:, prepared.partitions[name].labels] for name, values in made.items()]
    same = [x[:, i] == x[:, j] for x in rows for i in range(x.shape[1]) for j in range(i)]
    return np.column_stack([*rows, *same]).astype(float)


def _exceeded(p: NDArray[np.float64], q: NDArray[np.float64], doubt: float) -> float:
    """ln P(event) / Q(event) at least, of an event found in the first half of the runs."""
    half = len(p) // 2
    scores = _scores(p[:half], q[:half], (p, q))
    thresholds = np.unique(np.quantile(scores[0][:half], np.linspace(0.0, 0.98, 50)))
    found = [_bounds(scores, slice(half), threshold, doubt) for threshold in thresholds]
    return _bounds(scores, slice(half, None), thresholds[int(np.argmax(found))], doubt)


def _bounds(
    scores: list[NDArray[np.float64]], part: slice, threshold: float, doubt: float
) -> float:
    """The least that the ratio of two shares can be, in logarithms, but for the doubt."""
    above, others = (s[part] >= threshold for s in scores)
    hits, luck = int(above.sum()), int(others.sum())
    low = beta.ppf(doubt / 2, hits, above.size - hits + 1) if hits else 0.0
    high = beta.ppf(1 - doubt / 2, luck + 1, others.size - luck) if luck < others.size else 1.0
    return math.log(low / high) if low > 0.0 else -math.inf


def _scores(
    p: NDArray[np.float64], q: NDArray[np.float64], tables: tuple[NDArray[np.float64], ...]
) -> list[NDArray[np.float64]]:
    """How much more each release looks like those of p than those of q: log ratios, added up.

    Noise is independent from group to group, so nothing tells more than the sum over them.
    """
    totals = [np.zeros(len(table)) for table in tables]
    for column in range(p.shape[1]):
        pooled = np.concatenate([p[:, column], q[:, column]])
        if pooled.min() == pooled.max():
            continue
        edges = np.unique(np.quantile(pooled, np.linspace(0, 1, _BINS + 1)[1:-1]))
        places = [np.searchsorted(edges, table[:, column], "right") for table in (p, q, *tables)]
        counts = [np.bincount(place, minlength=edges.size + 1) + 0.5 for place in places[:2]]
        ratios = np.log(counts[0] / counts[1])
        for total, place in zip(totals, places[2:], strict=True):
            total += ratios[place]
    return totals
