"""What a release will cost before any data are seen: errors to expect, and the k that suits.

What is assumed of the data stands in `costs`. Groups of k do better than plain noise even in the
worst case when k^3 / (k^2 - 1) < 8 n / epsilon^2. Soria-Comas and Domingo-Ferrer, section 7 of the
paper that `releasing` names, go on to k < 8 n / epsilon^2, Inequality 3, and from there to "any k
will do when epsilon < sqrt(8)". That step goes the wrong way: k is less than k^3 / (k^2 - 1), so
Inequality 3 is necessary, not sufficient: for n = k = 2 and epsilon = 2.7 it holds; groups lose.
"""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from microagg.base.errors import OptionError
from microagg.private.budget import check_epsilon, split
from microagg.private.costs import ASSUMPTIONS, UNIFORM, Error, Setting
from microagg.private.domains import as_range
from microagg.private.method import PrivateMethod
from microagg.private.registry import WORD, find


def expected_error(
    method: str,
    n: int,
    epsilon: float,
    bounds: Mapping[str, Any],
    *,
    k: int | None = None,
    budget: str = "even",
    assume: str = UNIFORM,
    sse: float | None = None,
) -> Error:
    """The expected squared error of a release, from public knowledge only.

    method, n, epsilon, bounds, k, budget: as `release` will be told; bounds are pairs of numbers.
    assume: "uniform" or "worst-case", see `microagg.private.costs`.
    sse: the groups' SSE where it is known, from last year's data for example; then nothing is
        assumed. Not for the method "optimal", whose groups depend on epsilon.
    """
    chosen, setting = _check(method, n, epsilon, bounds, budget, assume)
    if sse is not None and chosen.groups_adapt:
        raise OptionError(f"method {method!r} has no SSE of its own: leave sse out")
    # A release without k takes the one that suits uniform data, whatever is assumed here.
    size = chosen.group_size(k, replace(setting, assume=UNIFORM))
    error = chosen.error(size, setting)
    return error if sse is None else Error(float(sse), error.noise)


def suggest_k(
    n: int,
    epsilon: float,
    method: str = "marginals",
    *,
    bounds: Mapping[str, Any] | None = None,
    columns: int = 1,
    budget: str = "even",
    assume: str = UNIFORM,
) -> int:
    """The group size with the least expected error, from public knowledge only.

    bounds: as `release` will be told; or only how many `columns` there are, all of one width.
    assume: "uniform" suits most data, and what the paper found best on its own; "worst-case" gives
        smaller groups, but says nothing on groups of records in several columns.

    One column, "uniform": (24 n^2 / epsilon^2)^(1/4). "worst-case": (16 n / epsilon^2)^(1/3).
    """
    if bounds is None:
        bounds = {str(number): (0.0, 1.0) for number in range(columns)}
    chosen, setting = _check(method, n, epsilon, bounds, budget, assume)
    return chosen.group_size(None, setting)


def _check(
    method: str, n: int, epsilon: float, bounds: Mapping[str, Any], budget: str, assume: str
) -> tuple[PrivateMethod, Setting]:
    chosen = find(method, WORD)
    if n < 1 or not bounds:
        raise OptionError("at least one record and one column are needed")
    if assume not in ASSUMPTIONS:
        raise OptionError(f"assume must be one of {', '.join(ASSUMPTIONS)}, but it is {assume!r}")
    ranges = {name: as_range(said, f"bounds of column {name!r}") for name, said in bounds.items()}
    shares = split(check_epsilon(epsilon), ranges, budget, groups_adapt=chosen.groups_adapt)
    widths = [known.width for known in ranges.values()]
    return chosen, Setting(n, widths, list(shares.values()), assume)
