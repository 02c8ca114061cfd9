"""PIL: would an analyst notice, by the usual statistics, that the data are not the originals?"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from microagg.measure.statistics import QUANTILES, Pair, correlations_of, quantiles_of

_ROUNDING = 1e-12


@dataclass(frozen=True)
class ProbabilisticLoss:
    """PIL and its five parts, in percent: 0 to 100, lower is better."""

    total: float
    quantiles: float
    means: float
    variances: float
    covariances: float
    correlations: float


def probabilistic_loss(pair: Pair) -> ProbabilisticLoss:
    """Probabilistic information loss PIL, in percent: 0 to 100, lower is better.

    P3M paper, equations 9 to 11, after Mateo-Sanz, Domingo-Ferrer and Sebé (2005): a statistic T of
    the originals and T' of the release are z = |T' - T| / sqrt(Var) apart, which costs
    100 * (2 Phi(z) - 1), Phi the standard normal distribution. A part is the mean over all columns,
    pairs of different columns, or columns and quantiles; PIL is the mean of the five parts. With
    one column there are no pairs, and PIL is the mean of the first three. Where Var is 0, the cost
    is 0 for equal statistics and 100 for others.

    The papers leave Var open. These are the large-sample textbook formulas that ask nothing of the
    distribution. Let s and t be z-scores of original columns, E the mean over the records:

    - mean: 1 / n
    - variance: (E s^4 - 1) / n
    - covariance: (E s^2 t^2 - (E s t)^2) / n
    - correlation rho = E s t: E (s t - rho (s^2 + t^2) / 2)^2 / n, the delta method's
    - quantile q: q (1 - q) / (n f^2) needs the density f of the originals, which no two estimate
      alike. Multiplied by f, the distance T' - T is the share of originals between the two
      quantiles, and Var is q (1 - q) / n: this is used. Where T' is a value that many originals
      have, their share is a jump; z is 0 if q lies within it, else q's distance from it counts.

    O(n d (d + log n)) time.
    """
    if pair.columns.size == 0:
        return ProbabilisticLoss(0.0, 0.0, 0.0, 0.0, 0.0, 0.0)
    n = pair.n
    means, covariances, twins = pair.moments
    squares = np.square(pair.scores[0])
    fourth = squares @ squares.T / n
    quantiles = [_shares_apart(*lines) for lines in zip(*pair.ascending, strict=True)]
    single = (
        _cost(np.array(quantiles), QUANTILES * (1.0 - QUANTILES), n),
        _cost(means, np.diag(covariances), n),
        _cost(np.diag(twins - covariances), np.diag(fourth) - 1.0, n),
    )
    if pair.columns.size == 1:
        return ProbabilisticLoss(float(np.mean(single)), *single, 0.0, 0.0)
    third = (squares * pair.scores[0]) @ pair.scores[0].T / n
    kurtosis = np.diag(fourth)
    rho = correlations_of(covariances)
    of_rho = (
        fourth * (1.0 + rho**2 / 2.0)
        + rho**2 / 4.0 * (kurtosis + kurtosis[:, np.newaxis])
        - rho * (third + third.T)
    )
    pairs = np.triu_indices(pair.columns.size, 1)
    double = (
        _cost((twins - covariances)[pairs], (fourth - covariances**2)[pairs], n),
        _cost((correlations_of(twins) - rho)[pairs], of_rho[pairs], n),
    )
    return ProbabilisticLoss(float(np.mean(single + double)), *single, *double)


def _shares_apart(before: NDArray[np.float64], after: NDArray[np.float64]) -> NDArray[np.float64]:
    """How far, in shares of the originals, the released quantiles are from where they should be.

    Both in ascending order.
    """
    found = quantiles_of(after)
    below = np.searchsorted(before, found, side="left") / before.size
    upto = np.searchsorted(before, found, side="right") / before.size
    return np.maximum(0.0, np.maximum(below - QUANTILES, QUANTILES - upto))


def _cost(apart: NDArray[np.float64], variances: NDArray[np.float64], n: int) -> float:
    """The mean cost in percent of statistics that are so far apart; `variances` are n times Var."""
    from scipy.special import erf

    # Statistics of z-scores are about 1: what is below this is rounding.
    apart = np.where(np.abs(apart) <= _ROUNDING, 0.0, np.abs(apart))
    scale = np.where(variances <= _ROUNDING, _ROUNDING**2, np.sqrt(np.abs(variances)))
    return 100.0 * float(erf(apart / scale * np.sqrt(n / 2.0)).mean())
