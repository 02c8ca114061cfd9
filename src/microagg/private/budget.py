"""How epsilon is divided among the columns; the shares never add up to more than epsilon.

By sequential composition a release that spends epsilon_j on column j spends the sum. Column j of
width D_j then gets noise of scale b_j = D_j / epsilon_j on its group sums, at an expected squared
error proportional to b_j^2, since group sizes are the same whatever the shares.

"even"          epsilon_j = epsilon / d. Every column suffers alike, measured by its own width, and
                the sum over columns of (error / width)^2 is the least that any split reaches.
"sensitivity"   epsilon_j proportional to D_j: the same noise in every column, as in Algorithm 1.
"optimal"       the least expected total squared error in the columns' own units:

    minimise  sum (D_j / epsilon_j)^2   subject to  sum epsilon_j = epsilon.

The derivatives -2 D_j^2 / epsilon_j^3 must be equal, so epsilon_j is proportional to D_j^(2/3). The
noise then costs (sum D_j^(2/3))^3 / epsilon^2, where "sensitivity" costs d (sum D_j)^2 / epsilon^2
and "even" d^2 (sum D_j^2) / epsilon^2. Only widths are used, which are public; and whatever the
data, no other split has a lower expected error before clamping, as long as the groups do not depend
on epsilon.

With the method "optimal" they do depend on it: it trades noise for larger groups, so that its total
error falls with 1 / epsilon_j only. For values spread evenly over their bounds (see `costs`) that
error is proportional to D_j^2 / epsilon_j, the derivatives are -D_j^2 / epsilon_j^2, and the best
share is proportional to D_j: there "optimal" is the same as "sensitivity", which is why OPT_DP_2
does better than OPT_DP_1 in the paper. Other data may have another best split, but it would not be
public.

Neither "sensitivity" nor "optimal" is of use where the squared errors of columns cannot be added
up, as with degrees and dollars: there "even" is the split to take. Counts of categories have no
width, so with them "even" is the only one.
"""

import math
from collections.abc import Mapping
from fractions import Fraction
from numbers import Real

import numpy as np

from microagg.base.errors import OptionError
from microagg.private.domains import Domain, Range

BUDGETS = ("even", "sensitivity", "optimal")
# Below this the noise would leave nothing but the bounds.
_LEAST = 1e-12


def check_epsilon(epsilon: float) -> float:
    """Epsilon as a float that noise can be drawn for."""
    if isinstance(epsilon, bool | np.bool_) or not isinstance(epsilon, Real):
        raise OptionError("epsilon must be a number above 0; 0.1 to 2 are usual")
    number = float(epsilon)
    if not _LEAST <= number < math.inf:
        raise OptionError(
            f"epsilon must be finite and at least {_LEAST:g}, but it is {number:g}; "
            "0.1 to 2 are usual"
        )
    return number


def split(
    epsilon: float, domains: Mapping[str, Domain], budget: str, *, groups_adapt: bool
) -> dict[str, float]:
    """The share of each column; see the head of this file.

    groups_adapt: whether the groups themselves depend on epsilon, as with the method "optimal".
    """
    if budget not in BUDGETS:
        raise OptionError(f"budget must be one of {', '.join(BUDGETS)}, but it is {budget!r}")
    ranges = [domain for domain in domains.values() if isinstance(domain, Range)]
    if budget == "even":
        weights = [1.0] * len(domains)
    elif len(ranges) < len(domains):
        raise OptionError(
            f"budget={budget!r} compares the widths of columns, but categories have none; "
            "use budget='even'"
        )
    else:
        power = 2 / 3 if budget == "optimal" and not groups_adapt else 1.0
        widest = max(known.width for known in ranges)
        weights = [(known.width / widest) ** power for known in ranges]
    total = math.fsum(weights)
    shares = {
        name: epsilon * (weight / total) for name, weight in zip(domains, weights, strict=True)
    }
    poorest = min(shares, key=lambda name: shares[name])
    if shares[poorest] < _LEAST:
        raise OptionError(
            f"budget={budget!r} leaves next to nothing for column {poorest!r}; give the columns "
            "units of like size, or use budget='even'"
        )
    # Rounding may have added a unit in the last place somewhere: it is taken from the richest.
    richest = max(shares, key=lambda name: shares[name])
    while sum(map(Fraction, shares.values())) > Fraction(epsilon):
        shares[richest] = math.nextafter(shares[richest], 0.0)
    return shares
