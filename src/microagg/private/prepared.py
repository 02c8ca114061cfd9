"""A release before its noise is drawn: what is asked of each column, and what will be shown of it.

It holds the data and exact sums of them, and is shown to nobody.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from microagg.base.groups import Partition
from microagg.columns.digits import rounded
from microagg.kernels.group_passes import whole_sums
from microagg.private.domains import Categories, Domain, Range
from microagg.private.guarantee import Guarantee
from microagg.private.method import PrivateMethod
from microagg.private.noise import add_noise, steps_for
from microagg.private.outcome import Marginal, PrivateRelease
from microagg.table.opening import Origin


@dataclass(frozen=True, eq=False)
class Question:
    """What is asked of one column: the sums of its groups, or the counts of its categories.

    sensitivity: the most that substituting one record changes all sums together.
    publish: noisy sums as what is published of each group.
    """

    sums: NDArray[np.int64]
    sensitivity: int
    epsilon: float
    publish: Callable[[NDArray[np.int64]], NDArray]

    def drawn(self, rng: np.random.Generator | None, times: int = 1) -> NDArray:
        """What is published, (times, groups), each time with noise of its own."""
        sums = np.tile(self.sums, times)
        noisy = add_noise(sums, self.sensitivity, self.epsilon, rng)
        return self.publish(noisy.reshape(times, -1))


def means_of(
    known: Range,
    column: NDArray[np.float64],
    groups: Partition,
    method: PrivateMethod,
    epsilon: float,
    decimals: int | None = None,
) -> Question:
    """The mean of each group of one column, published within the bounds."""
    steps = steps_for(column.size)
    sums = whole_sums(known.to_steps(known.clamp(column), steps), groups.labels, groups.n_groups)

    def publish(noisy: NDArray[np.int64]) -> NDArray[np.float64]:
        means = known.from_steps(noisy / groups.sizes, steps)
        return means if decimals is None else known.clamp(rounded(means, decimals))

    return Question(sums, method.sensitivity(steps, groups.n_groups), epsilon, publish)


def counts_of(known: Categories, column: NDArray, epsilon: float) -> Question:
    """How many records hold each category, from none to all."""
    n = column.size
    return Question(known.count(column), known.sensitivity, epsilon, lambda noisy: noisy.clip(0, n))


@dataclass(frozen=True, eq=False)
class Prepared:
    """All that a release is made of but its noise.

    partitions: the groups of every column of numbers; decimals: by column, where it is rounded.
    put_back: columns as a table of the kind that came in.
    """

    method: PrivateMethod
    guarantee: Guarantee
    columns: Mapping[str, NDArray]
    domains: Mapping[str, Domain]
    partitions: Mapping[str, Partition]
    decimals: Mapping[str, int]
    put_back: Callable[[Mapping[str, NDArray]], Any]
    origin: Origin

    def questions(self) -> dict[str, Question]:
        """What is asked of each column."""
        columns, shares = self.columns, self.guarantee.epsilon_by_column
        return {
            name: means_of(
                known,
                columns[name],
                self.partitions[name],
                self.method,
                shares[name],
                self.decimals.get(name),
            )
            if isinstance(known, Range)
            else counts_of(known, columns[name], shares[name])
            for name, known in self.domains.items()
        }

    def draw(self, rng: np.random.Generator | None) -> PrivateRelease:
        """The release, with noise from OpenDP, or from a generator in a study."""
        marginals = {}
        for name, question in self.questions().items():
            known, (made,) = self.domains[name], question.drawn(rng)
            marginals[name] = (
                Marginal(made, self.partitions[name].sizes)
                if isinstance(known, Range)
                else Marginal(np.array(known.names, object), made)
            )
        data = self.put_back(self._rows(marginals, rng))
        shown = None if self.method.rows.together else marginals
        return PrivateRelease(data, self.guarantee, self.origin, shown)

    def made_up(self) -> PrivateRelease:
        """A release of the same shape from public knowledge alone, to try where it goes."""
        columns = {
            name: np.resize([known.low, known.high], self.n)
            if isinstance(known, Range)
            else np.resize(np.array(known.names, object), self.n)
            for name, known in self.domains.items()
        }
        return PrivateRelease(self.put_back(columns), self.guarantee, self.origin)

    @property
    def n(self) -> int:
        """The number of records, which is public."""
        return next(iter(self.columns.values())).size

    def _rows(
        self, marginals: Mapping[str, Marginal], rng: np.random.Generator | None
    ) -> dict[str, NDArray]:
        """Columns of n values, in the order that the method may show."""
        if self.method.rows.linked:
            return {n: own.values[self.partitions[n].labels] for n, own in marginals.items()}
        if self.method.rows.together:
            return {name: np.repeat(own.values, own.counts) for name, own in marginals.items()}
        shuffler = np.random.default_rng() if rng is None else rng
        return {name: _shuffled(own, self.n, shuffler) for name, own in marginals.items()}


def _shuffled(found: Marginal, n: int, rng: np.random.Generator) -> NDArray:
    """A column of n values that a marginal stands for, in an order that means nothing."""
    counts = found.counts if int(found.counts.sum()) == n else apportioned(found.counts, n)
    return rng.permutation(np.repeat(found.values, counts))


def apportioned(counts: NDArray[np.int64], n: int) -> NDArray[np.int64]:
    """Whole numbers in proportion to noisy counts that add up to n, by largest remainders."""
    weights = counts / counts.sum() if counts.any() else np.full(counts.size, 1 / counts.size)
    exact = n * weights
    whole = np.floor(exact).astype(np.int64)
    missing = n - int(whole.sum())
    whole[np.argsort(whole - exact, kind="stable")[:missing]] += 1
    return whole
