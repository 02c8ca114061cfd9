"""The public doors to grouping: one k, several k, one attribute at a time."""

from collections.abc import Callable, Iterable, Mapping
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from microagg.base.arrays import as_records, as_whole_numbers, check_k, check_seed
from microagg.base.errors import InputError, OptionError
from microagg.base.groups import Partition
from microagg.base.progress import Advance, silent, watch
from microagg.grouping.demands.book import Book
from microagg.grouping.demands.keeping import Coarser, keep_demands
from microagg.grouping.divide.blocks import group_block
from microagg.grouping.divide.small_cells import IN_SMALL_CELLS
from microagg.grouping.method import Groups, Mixed, Task
from microagg.grouping.methods import Resolved, resolve
from microagg.grouping.refine.searching import refine_groups
from microagg.grouping.sequence.univariate import optimal_univariate
from microagg.kernels.columns import standardise


def partition(
    X: ArrayLike,
    k: int = 5,
    method: str = "auto",
    *,
    seed: int = 0,
    standardize: bool = True,
    integer: bool = False,
    refine: bool | float = False,
    progress: bool | None = None,
    **options: Any,
) -> Partition:
    """Group similar records, at least k in each group.

    X: numbers, (n, d) or (n,): a NumPy array, a list of rows, a pandas, Polars or Arrow table.
        Without missing or infinite values.
    k: the least group size.
    method: a name from `methods()`; "auto" picks by n and d: search, but univariate, which is
        optimal, for one column; beyond 200,000 records, or fewer with more than 64 columns, a
        brief search. The result's `method` says which.
    seed: methods that draw lots give the same result for the same seed, whatever the threads.
    standardize: give every column the same weight by z-scores; otherwise distances are taken on the
        numbers as they are. Constant columns never count.
    integer: for integer data, let the methods that split a line centre groups on integers.
    refine: search on from the method's groups for fewer losses: True for a number of steps that
        depends on n only, or for so many seconds (then results may differ from run to run).
    progress: show a bar: True always, False never, None when a terminal watches.
    options: the method's own, see `microagg methods`; those of "auto" are of the one picked.
    """
    job = _Job(X, standardize, integer)
    k = check_k(k, job.n)
    chosen = resolve(method, options, job.n, job.d, k, integer=integer, refine=refine)
    with watch(f"grouping by {chosen.called}", progress) as advance:
        return job.run(chosen, k, seed, advance, refine)


def partition_points(
    points: NDArray[np.float64],
    k: int,
    *,
    method: str,
    seed: int,
    options: Mapping[str, Any],
    refine: bool | float = False,
    advance: Advance = silent,
    orders: dict[str, NDArray[np.int32]] | None = None,
    mixed: Mixed | None = None,
    demands: Book | None = None,
    before: Callable[[NDArray[np.int64]], None] | None = None,
) -> Partition:
    """Group points by their distances as they are; see `partition`.

    orders: lines that methods put these points in, kept from one k to the next.
    mixed: what the records lose, where that is not their squared distance from the mean.
    demands: what groups are to keep beyond k: those of a method are repaired, and those of a search
        searched on; by distance, and of several the best by `mixed`. All points together keep it.
    before: is told the groups by k alone.
    """
    job = _Job(points, standardize=False, integer=False)
    job.orders = job.orders if orders is None else orders
    chosen = resolve(method, options, job.n, job.d, k, refine=refine)
    if demands is None:
        return job.run(chosen, check_k(k, job.n), seed, advance, refine, mixed)
    job.demands = demands
    found = job.run(
        chosen, check_k(k, job.n), seed, lambda share: advance(0.5 * share), refine, mixed
    )
    if before is not None:
        before(found.labels)
    searches = chosen.method.name == "search" or refine is not False or method == "auto"
    budget = {"time_limit": refine} if refine not in (True, False) else chosen.options
    labels = keep_demands(
        job.records,
        found.labels,
        k,
        demands,
        seed=seed,
        search=budget if searches else None,
        coarser=_coarser(chosen, seed),
        mixed=mixed,
        advance=lambda share: advance(0.5 + 0.5 * share),
    )
    return Partition(labels, k, found.method)


def _coarser(chosen: Resolved, seed: int) -> Coarser | None:
    """Larger groups by the same method, or by that which a search starts from; None for methods
    that look at demands themselves."""
    if chosen.method.needs:
        return None

    def group(points: NDArray[np.float64], size: int, mixed: Mixed | None) -> NDArray[np.int64]:
        job, how = _Job(points, standardize=False, integer=False), chosen
        if "start" in chosen.options:
            start = chosen.options["start"]
            how = Resolved(IN_SMALL_CELLS, {}, IN_SMALL_CELLS.name)
            if start is not None:
                how = resolve(start, {}, job.n, job.d, size)
        return job.run(how, size, seed, silent, False, mixed).labels

    return group


def partition_many(
    X: ArrayLike,
    ks: Iterable[int],
    method: str = "auto",
    *,
    seed: int = 0,
    standardize: bool = True,
    integer: bool = False,
    refine: bool | float = False,
    progress: bool | None = None,
    **options: Any,
) -> dict[int, Partition]:
    """A partition for each k, by the same method; see `partition`.

    Methods that put the records in a line do so once for all k (the idea of FDM, Mortazavi and
    Jalili 2014): further values of k cost only a split each.
    """
    job = _Job(X, standardize, integer)
    wanted = [check_k(k, job.n) for k in ks]
    if not wanted:
        raise OptionError("ks must name at least one k, for example [3, 5, 10]")
    chosen = resolve(method, options, job.n, job.d, max(wanted), integer=integer, refine=refine)
    found = {}
    with watch(f"grouping by {chosen.called}", progress) as advance:
        for number, k in enumerate(wanted):

            def part(share: float, number: int = number) -> None:
                advance((number + share) / len(wanted))

            found[k] = job.run(chosen, k, seed, part, refine)
    return found


def partition_columns(X: ArrayLike, k: int = 5, *, cost: str = "sse") -> list[Partition]:
    """Group each attribute on its own, at the least loss: a partition a column.

    This is individual ranking, made optimal. It loses far less than grouping records as a whole,
    and protects far less: only single values are shared by k records, not their combinations.
    """
    return [optimal_univariate(column, k, cost=cost) for column in as_records(X, "X").T]


class _Job:
    """Checked input, and what methods have worked out on it that serves another k too."""

    def __init__(self, X: ArrayLike, standardize: bool, integer: bool) -> None:
        numbers = as_records(X, "X")
        self.n = numbers.shape[0]
        varying = (numbers != numbers[0]).any(axis=0)
        if not varying.any():
            varying[0] = True
        if not varying.all():
            numbers = numbers[:, varying]
        self.records = _records(numbers, standardize)
        self.d = self.records.shape[1]
        self.whole = _whole_records(numbers) if integer else None
        self.orders: dict[str, NDArray[np.int32]] = {}
        self.demands: Book | None = None

    def run(
        self,
        chosen: Resolved,
        k: int,
        seed: int,
        advance: Advance,
        refine: bool | float,
        mixed: Mixed | None = None,
    ) -> Partition:
        rng = np.random.default_rng(check_seed(seed))
        if chosen.method.needs and self.demands is None:
            raise OptionError(f"method {chosen.method.name!r} needs {chosen.method.needs}")
        task = Task(
            self.records,
            k,
            rng,
            advance,
            self.whole,
            chosen.options,
            self.orders,
            mixed,
            self.demands,
        )
        if k == 1:
            groups: Groups = np.arange(self.n), np.ones(self.n, np.int64)
        elif refine is False or chosen.method.one_column or self.n < 2 * k:
            groups = group_block(task, chosen.method.group)
        else:
            seconds = np.inf if refine is True else float(refine)
            groups = refine_groups(task, chosen.method, seconds)
        return Partition.from_sequence(*groups, k, chosen.called)


def _records(numbers: NDArray, standardize: bool) -> NDArray[np.float64]:
    """Records to take distances on: float64, contiguous; a lone constant column becomes zeros."""
    low, high = numbers.min(axis=0), numbers.max(axis=0)
    if low[0] == high[0]:
        return np.zeros(numbers.shape)
    if numbers.dtype.kind == "f":
        records, spans = numbers, high / 2 - low / 2
    else:
        records, spans = _offsets(numbers, low), _offsets(high, low)
    if not ((spans > 1e-120) & (spans < 1e120)).all():
        # Squares would overflow or vanish. Only columns of equal weight may be scaled differently.
        powers = np.frexp(spans)[1]
        records = np.ldexp(records, -(powers if standardize else powers.max()))
    if not standardize:
        return np.ascontiguousarray(records)
    scaled = np.empty(records.shape)
    standardise(np.ascontiguousarray(records), scaled)
    return scaled


def _offsets(numbers: NDArray, low: NDArray) -> NDArray[np.float64]:
    """Integers as distances from the least of their column: float64 rarely rounds those."""
    return (numbers.astype(np.uint64) - low.astype(np.uint64)).astype(np.float64)


def _whole_records(numbers: NDArray) -> NDArray[np.float64]:
    whole = as_whole_numbers(numbers, "X")
    records = _offsets(whole, whole.min(axis=0))
    if records.max() >= 2.0**53:
        raise InputError(
            "X holds integers too far apart for exact integer centroids; "
            "divide the columns by a common unit, or leave out integer=True"
        )
    return np.ascontiguousarray(records)
