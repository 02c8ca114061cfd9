"""Settings found by trying them: which proximity centroids balance risk and loss best."""

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from itertools import product
from typing import Any

from numpy.typing import ArrayLike

from microagg.aggregation.proximity import proximity_centroids
from microagg.base.arrays import as_labels, as_records
from microagg.base.errors import OptionError
from microagg.base.groups import Partition
from microagg.base.progress import watch
from microagg.measure.evidence import Evidence
from microagg.measure.statistics import paired

STEPS = (0.2, 0.4, 0.6, 0.8)


@dataclass(frozen=True)
class ProximityTrial:
    """One setting and its figures, in percent: lower is better for all.

    transparent: the scoring index by an intruder who knows how the centroids were made.
    """

    alpha: float
    distance: float
    scoring_index: float
    disclosure_risk: float
    information_loss: float
    transparent: float


@dataclass(frozen=True)
class ProximityTuning(ProximityTrial):
    """The setting with the lowest scoring index, its figures, and all that were tried."""

    grid: tuple[ProximityTrial, ...]

    def to_dict(self) -> dict[str, Any]:
        """The figures under their names."""
        return asdict(self)


def tune_proximity(
    X: ArrayLike,
    labels: ArrayLike | Partition,
    *,
    alphas: Sequence[float] = STEPS,
    distances: Sequence[float] = STEPS,
    importance: ArrayLike = 0.001,
    solution: str = "global",
    seed: int = 0,
    progress: bool | None = None,
) -> ProximityTuning:
    """Search alpha and distance of the proximity centroids for the lowest scoring index SI.

    P3M paper, section 5.3: SI = (DR + IL) / 2, where DR is the mean of distance linkage and
    interval disclosure within 5 percent of a deviation, and IL the probabilistic loss. Of equal
    settings the first, with the smaller alpha, wins. `transparent` is the same index for an
    intruder who knows alpha, distance and importance and guesses where the originals are (see
    `transparent_disclosure`): the difference is what is won only while the method is a secret.

    X, labels, importance, solution, seed: as for `proximity_centroids`.
    alphas, distances: what is tried, each with each.
    progress: show a bar: True always, False never, None when a terminal watches.

    Takes as long as that many times aggregating and measuring.
    """
    settings = list(product(alphas, distances))
    if not settings:
        raise OptionError("alphas and distances must hold at least one number each to try")
    numbers = as_records(X, "X")
    groups_of, _ = as_labels(labels, len(numbers))
    grid = []
    with watch("tuning proximity", progress) as advance:
        for done, (alpha, distance) in enumerate(settings):
            advance(done / len(settings))
            moved = proximity_centroids(
                numbers,
                groups_of,
                distance=distance,
                importance=importance,
                alpha=alpha,
                solution=solution,
                seed=seed,
            )
            found = Evidence(
                numbers=paired(numbers, moved.values),
                distance=distance,
                importance=importance,
                alpha=alpha,
            )
            grid.append(ProximityTrial(alpha, distance, *score(found)))
        advance(1.0)
    best = min(grid, key=lambda trial: trial.scoring_index)
    return ProximityTuning(**asdict(best), grid=tuple(grid))


def score(evidence: Evidence) -> tuple[float, float, float, float]:
    """SI, DR and IL of a release, in percent (P3M paper, section 2.3), and SI by transparency."""
    loss = evidence.probabilistic_loss.total
    transparent = (evidence.transparent_risk + loss) / 2.0
    return evidence.scoring_index, evidence.risk, loss, transparent
