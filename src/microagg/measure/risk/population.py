"""How many records are unique in the population, as far as a sample tells.

Which estimate: Dankar, El Emam, Neisa and Roffey (2012), Estimating the re-identification risk of
clinical data sets, BMC Medical Informatics and Decision Making 12:66: Pitman's model for samples of
up to a tenth of the population, Zayatz's estimate for larger ones.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize
from scipy.special import betaln, gammaln

# Samples up to this share of the population are judged by Pitman's model.
SMALL_SAMPLE = 0.1


class PopulationUniques(NamedTuple):
    """An estimate of the records of the sample that are unique in the population, in percent.

    The same share of the population is unique in it. words: how it was made, if there is more to it
    than counting.
    """

    percent: float
    words: str = ""


def population_uniques(
    sizes: NDArray[np.int64], times: NDArray[np.int64], population: float
) -> PopulationUniques:
    """By the sizes of classes in the sample, how many classes have each, and the population."""
    n = int((sizes * times).sum())
    alone = int(times[sizes == 1].sum())
    if population <= n or alone == 0:
        return PopulationUniques(100.0 * alone / max(1, n))
    if alone == n:
        return PopulationUniques(
            100.0,
            "All records are unique by the keys, so nothing tells how many are in the population: "
            "all are taken to be.",
        )
    told = "How many are unique in the population is estimated "
    if n <= SMALL_SAMPLE * population:
        told += "by Pitman's model (Hoshino 2001), as the table is a tenth of it or less."
        return PopulationUniques(100.0 * pitman(sizes, times, population), told)
    told += "as by Zayatz (1991), as the table is more than a tenth of it."
    return PopulationUniques(100.0 * zayatz(sizes, times, population), told)


def pitman(sizes: NDArray[np.int64], times: NDArray[np.int64], population: float) -> float:
    """The share that is unique in the population, by Pitman's sampling formula.

    Hoshino (2001), Applying Pitman's sampling formula to microdata disclosure risk assessment,
    Journal of Official Statistics 17. The two parameters are those of the largest likelihood; the
    chance that one record joins no other of the N is prod over i = 1, ..., N - 1 of
    (theta + alpha + i - 1) / (theta + i).
    """
    theta, alpha = _pitman_fit(sizes, times)
    others = population - 1.0
    return float(np.exp(_log_rising(theta + alpha, others) - _log_rising(theta + 1.0, others)))


def _pitman_fit(sizes: NDArray[np.int64], times: NDArray[np.int64]) -> tuple[float, float]:
    n, classes = int((sizes * times).sum()), int(times.sum())

    def surprise(parameters: NDArray[np.float64]) -> float:
        theta, alpha = _bounded(parameters)
        # The sum over i = 1, ..., classes - 1 of log(theta + i alpha).
        likely = (classes - 1.0) * np.log(alpha) + _log_rising(theta / alpha + 1.0, classes - 1.0)
        likely -= _log_rising(theta + 1.0, n - 1.0)
        likely += (times * (gammaln(sizes - alpha) - gammaln(1.0 - alpha))).sum()
        return -float(likely)

    start = np.array([np.log(classes), 0.0])
    best = minimize(surprise, start, method="Nelder-Mead", options={"xatol": 1e-8, "fatol": 1e-9})
    return _bounded(best.x)


def _log_rising(first: float, factors: float) -> float:
    """The logarithm of first (first + 1) ... of so many factors."""
    return float(gammaln(factors) - betaln(first, factors)) if factors else 0.0


def _bounded(parameters: NDArray[np.float64]) -> tuple[float, float]:
    """theta above 0, and alpha between 0 and 1."""
    log_theta, logit = np.clip(parameters, (-30.0, -30.0), (60.0, 30.0))
    return float(np.exp(log_theta)), float(1.0 / (1.0 + np.exp(-logit)))


def zayatz(sizes: NDArray[np.int64], times: NDArray[np.int64], population: float) -> float:
    """The share that is unique in the population, by Bayes' rule.

    Zayatz (1991), Estimation of the percent of unique population elements on a microdata file using
    the sample, US Bureau of the Census: classes of the population are taken to be as large as those
    of the sample. One of j records is sampled with the chance j C(N - j, n - 1) / C(N, n).
    """
    n = int((sizes * times).sum())
    j = sizes.astype(np.float64)
    possible = j <= population - n + 1.0
    j, shares = j[possible], times[possible] / times.sum()
    # Divided by the chance of j = 1, which keeps the numbers small.
    chances = j * np.exp(
        _log_choose(population - j, n - 1.0) - _log_choose(population - 1.0, n - 1.0)
    )
    unique = float(times[sizes == 1].sum())
    return unique / n * (unique / times.sum()) / float((shares * chances).sum())


def _log_choose(of: NDArray[np.float64] | float, chosen: float) -> NDArray[np.float64]:
    return np.asarray(gammaln(of + 1.0) - gammaln(chosen + 1.0) - gammaln(of - chosen + 1.0))
