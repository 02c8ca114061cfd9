"""The registry of private releases: how each groups, and what a substitution can change.

A method forms groups for every column; the release publishes group sums with Laplace noise, divided
by the group's size. For column j of width D_j let s be the sensitivity of its group sums: the most
that all of them together change when one record is substituted. Noise of scale s / epsilon_j on
each sum then spends epsilon_j. What s is, and why, stands with each method below.
"""

import difflib
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from microagg.base.errors import OptionError
from microagg.base.groups import Partition
from microagg.grouping.doors import partition
from microagg.grouping.sequence.univariate import optimal_univariate
from microagg.private.domains import Range

WORD = "partition-conditional"


@dataclass(frozen=True)
class Task:
    """What a method groups: values (n, d) within their ranges, and each column's epsilon."""

    values: NDArray[np.float64]
    ranges: list[Range]
    shares: list[float]
    k: int


@dataclass(frozen=True)
class Method:
    """A way to release a table.

    group: a partition for each column.
    standard: epsilon-differentially private in the standard sense; otherwise given the partition.
    linked: row i of the release is row i of the table.
    together: the values of a released row belong to one group of records; otherwise each column
        stands for itself.
    all_change: a substitution may change every group, not one only, by as much as a record can.
    sized: groups have k members; otherwise k is only the least size, 1 unless given.
    """

    name: str
    paper: str
    description: str
    group: Callable[[Task], list[Partition]]
    standard: bool
    linked: bool
    together: bool
    all_change: bool = False
    sized: bool = True
    groups_adapt: bool = False
    categories: bool = False


def methods() -> dict[str, str]:
    """Every private release by name, with a one-line description of it and its guarantee."""
    return {
        name: f"{found.description} [{found.paper}; {_promise(found)}]"
        for name, found in METHODS.items()
    }


def _promise(method: Method) -> str:
    if method.standard:
        return "epsilon-differential privacy in the standard sense"
    return "given the partition only, which is not differential privacy in the standard sense"


def find(name: str, accept: str | None) -> Method:
    """The method of this name, if its guarantee is standard or was accepted in words."""
    if name not in METHODS:
        near = difflib.get_close_matches(str(name), METHODS, n=2, cutoff=0.5)
        hint = f"did you mean {' or '.join(near)}?" if near else f"there are {', '.join(METHODS)}"
        raise OptionError(f"there is no private method {name!r}; {hint}")
    if accept not in (None, WORD):
        raise OptionError(f"accept must be {WORD!r} or left out, but it is {accept!r}")
    method = METHODS[name]
    if not method.standard and accept is None:
        free = ", ".join(repr(other.name) for other in METHODS.values() if other.standard)
        raise OptionError(
            f"method {name!r} protects a record only given the partition: who is grouped with whom "
            "is worked out from the data and shows in the release, so this is not differential "
            f"privacy in the standard sense. Say accept={WORD!r} if that is enough, or use one of "
            f"{free}, which need no such word."
        )
    return method


def _by_record(task: Task) -> list[Partition]:
    """MDAV_DP. s = D_j given the partition: one record sits in one group."""
    found = partition(task.values, task.k, method="mdav", progress=False)
    return [found] * len(task.ranges)


def _by_column(task: Task) -> list[Partition]:
    """MDAV_IR_DP. s = D_j given the partitions, one for each column."""
    return [partition(x, task.k, method="mdav", progress=False) for x in task.values.T]


def _at_least_error(task: Task) -> list[Partition]:
    """OPT_DP. s = D_j given the partitions, which have the least SSE plus noise.

    m records that share noise of variance 2 (D_j / (m epsilon_j))^2 cost 2 (D_j / epsilon_j)^2 / m.
    The paper's Algorithm 3 tries all pairs of boundaries, in n^2 time; sums of squares plus c / m
    are Monge costs on sorted values, and n log n is enough for the same optimum.
    """
    found = []
    for x, known, epsilon in zip(task.values.T, task.ranges, task.shares, strict=True):
        # Lengths in units of the width: squares neither overflow nor vanish.
        shares = (x - known.low) / known.width
        found.append(optimal_univariate(shares, task.k, size_cost=2.0 / epsilon**2))
    return found


def _from_corner(task: Task) -> list[Partition]:
    """INS_DP. s = g D_j for g groups; for a mean, (n / k) (D_j / k) at most, as g <= n / k.

    Records stand in line by their distance to the corner of all lower bounds, each column measured
    by its width, and row numbers break ties; the line is cut into groups of public sizes, none
    below k. Proof of s: the key of a record depends on that record alone. So a substitution takes
    one record out of the line, at place p, and puts another in, at place q, while all others keep
    their order. Those between p and q move up by one place, so each group from the one of p to that
    of q loses one member and gains one, and no other group changes: corresponding groups differ in
    one member at most, which is what Soria-Comas et al. (VLDB Journal 2014) call insensitive. One
    member more and one less changes a group's sum by D_j at most, and there are g groups. In more
    than one dimension nothing telescopes: neighbours in line may lie at far ends of a column. When
    k divides n, a mean changes by D_j / k and n / k of them do: (n / k) (D_j / k), as in the paper.

    This holds for the line of noisy groups. Their members must not be told, or the release would
    say who is grouped with whom: for (0, 1, 9, 10) and k = 2 rows 1 and 2 share a group; when row 2
    becomes 11 they do not. So the rows of the release are not those of the table.
    """
    keys = np.zeros(len(task.values))
    for x, known in zip(task.values.T, task.ranges, strict=True):
        keys += ((x - known.low) / known.width) ** 2
    order = np.argsort(keys, kind="stable")
    found = Partition.from_sequence(order, public_sizes(order.size, task.k), task.k, "insensitive")
    return [found] * len(task.ranges)


def _by_rank(task: Task) -> list[Partition]:
    """Marginals. s = D_j for all groups of a column together.

    A column is sorted and cut into groups of public sizes. Proof of s: let a record's value rise
    from a to b. Then no order statistic falls, and together they rise by b - a; so no group sum
    falls, and together they rise by b - a <= D_j. A fall is the same the other way round.
    """
    sizes = public_sizes(len(task.values), task.k)
    return [
        Partition.from_sequence(np.argsort(x, kind="stable"), sizes, task.k, "marginals")
        for x in task.values.T
    ]


def _each_alone(task: Task) -> list[Partition]:
    """Plain noise. s = D_j: the sums are the values."""
    return [Partition(np.arange(len(task.values)), 1, "records")] * len(task.ranges)


def public_sizes(n: int, k: int) -> NDArray[np.int64]:
    """As many groups of at least k as n records allow, of sizes that differ by one at most."""
    groups = n // k
    sizes = np.full(groups, n // groups)
    sizes[: n % groups] += 1
    return sizes


METHODS = {
    method.name: method
    for method in (
        Method(
            "mdav",
            "MDAV_DP (Algorithm 1)",
            "noisy means of groups of similar records, found by MDAV",
            _by_record,
            standard=False,
            linked=True,
            together=True,
        ),
        Method(
            "mdav-columns",
            "MDAV_IR_DP (Algorithm 2)",
            "noisy means of groups of similar values, found by MDAV in each column",
            _by_column,
            standard=False,
            linked=True,
            together=False,
        ),
        Method(
            "optimal",
            "OPT_DP (Algorithm 3)",
            "noisy means of the groups with the least error plus noise in each column",
            _at_least_error,
            standard=False,
            linked=True,
            together=False,
            sized=False,
            groups_adapt=True,
        ),
        Method(
            "insensitive",
            "INS_DP",
            "noisy means of groups of records in line from a corner, not linked to the input rows",
            _from_corner,
            standard=True,
            linked=False,
            together=True,
            all_change=True,
        ),
        Method(
            "marginals",
            "ours",
            "noisy means by rank in each column and counts of categories, nothing linked",
            _by_rank,
            standard=True,
            linked=False,
            together=False,
            categories=True,
        ),
        Method(
            "records",
            "plain Laplace, k = 1",
            "noise on every value of every record, the baseline",
            _each_alone,
            standard=True,
            linked=True,
            together=True,
        ),
    )
}
