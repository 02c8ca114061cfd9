"""What noise and groups cost before any data are seen: errors to expect, and the k that suits.

Errors are sums over records and columns of squared differences, in the columns' own units, before
values are clamped to their bounds, which can only bring them nearer. They consist of the SSE of the
groups and of the noise. The noise is known. The SSE is the data's, so something is assumed of them:

"uniform"      values spread evenly between their bounds. k neighbours in one column then are
               (k^2 - 1) D^2 / (12 n^2) away from their mean, squared and on average. Groups of
               records in d columns are taken for cubes of volume k / n. Groups in line from a
               corner narrow down one direction in d only.
"worst-case"   the data that suit groups worst: all the SSE that groups of neighbours can have.

Propositions 7 to 10 are those of Soria-Comas and Domingo-Ferrer, "Differentially Private Data
Publishing via Optimal Univariate Microaggregation and Record Perturbation", section 7; they are
about one column of width D.
"""

import math
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from microagg.base.arrays import check_k
from microagg.base.errors import OptionError
from microagg.private.budget import check_epsilon, split
from microagg.private.domains import as_range
from microagg.private.registry import METHODS, WORD, find

ASSUMPTIONS = ("uniform", "worst-case")


class Error(NamedTuple):
    """An expected squared error, by where it comes from."""

    groups: float
    noise: float

    @property
    def total(self) -> float:
        """Both together (Proposition 5)."""
        return self.groups + self.noise


def plain_error(n: int, epsilon: float, width: float) -> float:
    """Proposition 7: the expected SSE of noise on every record."""
    return 2.0 * n * (width / epsilon) ** 2


def grouped_error(n: int, k: int, epsilon: float, width: float) -> Error:
    """Proposition 8: at most this is the expected SSE with groups of k neighbours.

    Groups of neighbours have widths that add up to D at most, and k values within w have an SSE of
    k w^2 / 4 at most; squares add up to the most when one group has all the width.
    """
    return Error(k * (width / 2.0) ** 2, 2.0 * n * (width / (k * epsilon)) ** 2)


def mean_error(n: int, k: int, epsilon: float, width: float) -> Error:
    """Expression 4: Proposition 8 for one record."""
    found = grouped_error(n, k, epsilon, width)
    return Error(found.groups / n, found.noise / n)


def mean_error_with_more_records(before: Error, factor: float) -> Error:
    """Proposition 9: from `mean_error` at n to that at factor * n, k unchanged."""
    return Error(before.groups / factor, before.noise)


def mean_error_with_larger_groups(before: Error, factor: float) -> Error:
    """Proposition 10: from `mean_error` at n and k to that at factor * n and factor * k."""
    return Error(before.groups, before.noise / factor**2)


def groups_always_help(n: int, k: int, epsilon: float) -> bool:
    """Whether groups of k beat plain noise even in the worst case.

    They do when k^3 / (k^2 - 1) < 8 n / epsilon^2. The paper goes on to k < 8 n / epsilon^2,
    Inequality 3, and from there to "any k will do when
    epsilon < sqrt(8)". That step goes the wrong way: k is less than k^3 / (k^2 - 1), so Inequality
    3 is necessary, not sufficient. For n = k = 2 and epsilon = 2.7 it holds, and groups lose.
    """
    return k > 1 and k**3 / (k**2 - 1) < 8 * n / epsilon**2


def expected_error(
    method: str,
    n: int,
    epsilon: float,
    bounds: Mapping[str, Any],
    *,
    k: int | None = None,
    budget: str = "even",
    assume: str = "uniform",
    sse: float | None = None,
) -> Error:
    """The expected squared error of a release, from public knowledge only.

    method, n, epsilon, bounds, k, budget: as `release` will be told; bounds are pairs of numbers.
    assume: "uniform" or "worst-case", see the head of this file.
    sse: the groups' SSE where it is known, from last year's data for example; then nothing is
        assumed. Not for the method "optimal", whose groups depend on epsilon.
    """
    widths, shares = _widths_and_shares(method, n, epsilon, bounds, budget)
    if method == "optimal":
        if sse is not None:
            raise OptionError("method 'optimal' has no SSE of its own: leave sse out")
        return _optimal_error(n, widths, shares, assume, 1 if k is None else check_k(k, n))
    size = 1 if method == "records" else k
    if size is None:
        size = best_k(method, n, widths, shares)
    cost = _Cost(method, n, widths, shares, assume)
    found = cost.at(check_k(size, n))
    return found if sse is None else Error(float(sse), found.noise)


def suggest_k(
    n: int,
    epsilon: float,
    method: str = "marginals",
    *,
    bounds: Mapping[str, Any] | None = None,
    columns: int = 1,
    budget: str = "even",
    assume: str = "uniform",
) -> int:
    """The group size with the least expected error, from public knowledge only.

    bounds: as `release` will be told; or only how many `columns` there are, all of one width.
    assume: "uniform" suits most data, and what the paper found best on its own; "worst-case" gives
        smaller groups, but says nothing on groups of records in several columns.

    One column, "uniform": (24 n^2 / epsilon^2)^(1/4). "worst-case": (16 n / epsilon^2)^(1/3).
    """
    if bounds is None:
        bounds = {str(number): (0.0, 1.0) for number in range(columns)}
    widths, shares = _widths_and_shares(method, n, epsilon, bounds, budget)
    if method in ("records", "optimal"):
        return 1
    return best_k(method, n, widths, shares, assume)


def best_k(
    method: str,
    n: int,
    widths: Sequence[float],
    shares: Sequence[float],
    assume: str = "uniform",
) -> int:
    """`suggest_k` for columns of these widths and epsilons."""
    # The unit makes no difference, and squares of such widths neither overflow nor vanish.
    widths = [width / max(widths) for width in widths]
    cost = _Cost(method, n, widths, shares, assume)
    if cost.group_power == 0.0:
        raise OptionError(
            "in the worst case groups of records in several columns never come near their mean, "
            "whatever k is; use assume='uniform'"
        )
    best = min(max(cost.balance(), 1.0), float(n))
    return min(math.floor(best), math.ceil(best), key=lambda k: cost.at(k).total)


class _Cost:
    """SSE: groups * (k^group_power - start) + spare. Noise: noise * k^-noise_power. k divides n."""

    def __init__(
        self,
        method: str,
        n: int,
        widths: Sequence[float],
        shares: Sequence[float],
        assume: str,
    ) -> None:
        if assume not in ASSUMPTIONS:
            raise OptionError(
                f"assume must be one of {', '.join(ASSUMPTIONS)}, but it is {assume!r}"
            )
        d = len(widths)
        several = METHODS[method].together and d > 1
        squares = math.fsum(width**2 for width in widths)
        scales = math.fsum((w / e) ** 2 for w, e in zip(widths, shares, strict=True))
        self.noise, self.noise_power = 2.0 * n * scales, 2.0
        if METHODS[method].all_change:
            self.noise, self.noise_power = self.noise * n**2, 4.0
        self.spare = 0.0
        self.start = 1.0
        if method == "records":
            self.groups, self.group_power = 0.0, 1.0
        elif assume == "worst-case":
            self.start = 0.0
            self.groups, self.group_power = squares / 4.0, 1.0
            if several:
                self.groups, self.group_power = n * squares / 4.0, 0.0
        elif not several:
            self.groups, self.group_power = squares / (12.0 * n), 2.0
        elif method == "insensitive":
            self.groups, self.group_power = squares / (12.0 * d * n), 2.0
            self.spare = n * squares / 12.0 * (1.0 - 1.0 / d)
        else:
            self.group_power = 2.0 / d
            self.groups = n * squares / 12.0 * n**-self.group_power

    def at(self, k: float) -> Error:
        groups = self.groups * (k**self.group_power - self.start) + self.spare
        return Error(groups, self.noise * k**-self.noise_power)

    def balance(self) -> float:
        """Where the derivative is zero."""
        p, q = self.group_power, self.noise_power
        return float((q * self.noise / (p * self.groups)) ** (1.0 / (p + q)))


def _optimal_error(
    n: int, widths: Sequence[float], shares: Sequence[float], assume: str, least: int
) -> Error:
    """The method "optimal" does at least as well as the best groups of one size in each column."""
    parts = []
    for width, share in zip(widths, shares, strict=True):
        size = max(least, best_k("marginals", n, [width], [share], assume))
        parts.append(_Cost("marginals", n, [width], [share], assume).at(size))
    return Error(math.fsum(p.groups for p in parts), math.fsum(p.noise for p in parts))


def _widths_and_shares(
    method: str, n: int, epsilon: float, bounds: Mapping[str, Any], budget: str
) -> tuple[list[float], list[float]]:
    chosen = find(method, WORD)
    if n < 1 or not bounds:
        raise OptionError("at least one record and one column are needed")
    ranges = {name: as_range(said, f"bounds of column {name!r}") for name, said in bounds.items()}
    shares = split(check_epsilon(epsilon), ranges, budget, groups_adapt=chosen.groups_adapt)
    return [known.width for known in ranges.values()], list(shares.values())
