"""What a private method is: how it groups, what a substitution changes, and what it promises.

A method forms groups for every column; the release publishes group sums with Laplace noise, divided
by the group's size. For column j of width D_j let s be the sensitivity of its group sums: the most
that all of them together change when one record is substituted. Noise of scale s / epsilon_j on
each sum then spends epsilon_j. What s is, and why, stands with each method in `mechanisms`.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from microagg.base.arrays import check_k
from microagg.base.errors import OptionError
from microagg.base.groups import Partition
from microagg.private.costs import Error, PowerCost, Setting
from microagg.private.domains import Range


@dataclass(frozen=True)
class Task:
    """What a method groups: values (n, d) within their ranges, and each column's epsilon."""

    values: NDArray[np.float64]
    ranges: list[Range]
    shares: list[float]
    k: int


@dataclass(frozen=True)
class Definition:
    """A notion of privacy: its name, a few words on it, its sentence, and what it leaves open."""

    name: str
    short: str
    sentence: str
    not_protected: tuple[str, ...] = ()


STANDARD = Definition(
    "epsilon-differential privacy",
    "epsilon-differential privacy in the standard sense",
    "It gives epsilon-differential privacy in the standard sense: whoever sees the release learns "
    "almost the same, up to a factor e^epsilon in every probability, whatever one person's record "
    "says.",
)
CONDITIONAL = Definition(
    "epsilon-differential privacy given the partition",
    "given the partition only, which is not differential privacy in the standard sense",
    "It gives epsilon-differential privacy given the partition: if who is grouped with whom is "
    "taken as known, the noisy means say almost the same, up to a factor e^epsilon, whatever one "
    "person's record says. The groups, however, are worked out from the data and show as equal "
    "values, so this is not differential privacy in the standard sense.",
    ("who is grouped with whom, and whatever can be inferred from that",),
)


@dataclass(frozen=True)
class Rows:
    """What the rows of a release are.

    linked: row i is about row i of the table.
    together: the values of a row belong together; otherwise each column stands for itself.
    """

    linked: bool
    together: bool
    sentence: str


LINKED = Rows(True, True, "Row i of the release stands for row i of the table.")
GROUPED = Rows(
    False,
    True,
    "The values of a released row belong together, but rows are not those of the table: to tell "
    "who is in which group would break the promise.",
)
SHUFFLED = Rows(
    False,
    False,
    "Rows of the release are no records: each column was released for itself and shuffled, so "
    "nothing can be learnt about how columns depend on each other.",
)


@dataclass(frozen=True)
class PrivateMethod:
    """A way to release a table.

    group: a partition for each column.
    cost: the error to expect of groups of one size, from public knowledge only.
    sensitivity: of all group sums of a column of this width, in this number of groups; mostly they
        change together no more than one value can.
    sizes: what is said of the group size {k}, which is public.
    only_k: the one group size there is, where there is no choice.
    groups_adapt: groups depend on epsilon, and k is their least size only.
    categories: columns of text are released too, as counts.
    """

    name: str
    paper: str
    description: str
    group: Callable[[Task], list[Partition]]
    cost: Callable[[Setting], PowerCost]
    definition: Definition
    rows: Rows
    sensitivity: Callable[[int, int], int] = lambda width, _groups: width
    sizes: str = "the group size k ({k}), "
    only_k: int | None = None
    groups_adapt: bool = False
    categories: bool = False

    @property
    def standard(self) -> bool:
        """Epsilon-differentially private in the standard sense; otherwise given the partition."""
        return self.definition is STANDARD

    def group_size(self, k: int | None, setting: Setting) -> int:
        """The k that was asked for, if it can be had; or the one with the least expected error."""
        if k is None:
            return 1 if self.groups_adapt else self.cost(setting.in_widths()).best_k()
        if self.only_k not in (None, k):
            raise OptionError(
                f"method {self.name!r} has groups of {self.only_k} only: "
                f"k must be {self.only_k} or left out"
            )
        return check_k(k, setting.n)

    def error(self, k: int, setting: Setting) -> Error:
        """The error to expect in groups of k, or of k at least."""
        if not self.groups_adapt:
            return self.cost(setting).at(k)
        # At least as good as the best groups of one size in each column.
        parts = [
            self.cost(column).at(max(k, self.cost(column.in_widths()).best_k()))
            for column in setting.each_column()
        ]
        return Error(math.fsum(p.groups for p in parts), math.fsum(p.noise for p in parts))


def public_sizes(n: int, k: int) -> NDArray[np.int64]:
    """As many groups of at least k as n records allow, of sizes that differ by one at most."""
    groups = n // k
    sizes = np.full(groups, n // groups)
    sizes[: n % groups] += 1
    return sizes
