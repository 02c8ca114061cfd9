"""Release a table with noise: clamp, group, add noise to group sums, and say what that promises."""

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from microagg.base.arrays import as_records
from microagg.base.errors import OptionError
from microagg.base.groups import Partition
from microagg.base.reading import Reading
from microagg.kernels.group_passes import whole_sums
from microagg.private import budget as budgets
from microagg.private.costs import Setting
from microagg.private.domains import (
    FROM_DATA,
    Categories,
    Domain,
    Range,
    check_bounds,
    checked_columns,
)
from microagg.private.guarantee import state
from microagg.private.ledger import Ledger, fingerprint
from microagg.private.method import PrivateMethod, Task
from microagg.private.noise import add_noise, open_dp, steps_for
from microagg.private.outcome import NO_ORIGIN, Marginal, PrivateRelease
from microagg.private.registry import all_methods, find
from microagg.table import opening
from microagg.table.frames import values_of


def release(
    table: Any,
    *,
    epsilon: float,
    bounds: Mapping[str, Any] | str | None = None,
    method: str,
    budget: str = "even",
    k: int | None = None,
    accept: str | None = None,
    simulate: bool = False,
    seed: int | None = None,
    ledger: Ledger | None = None,
) -> PrivateRelease:
    """Publish a table with calibrated noise, and the guarantee that comes with it.

    table: a pandas, Polars or Arrow table, the path of a file or the URL of a database table, of
        which only the columns that `bounds` names are released; or a mapping from names to columns
        of numbers or text; or numbers, (n, d) or (n,), whose columns are then named "0", "1", ...
        Without missing values.
    epsilon: the privacy budget of the whole release: the smaller, the more noise.
    bounds: what each column may hold, known without looking at the data: {name: (low, high)}, or
        {name: [text, ...]} for categories (method "marginals" only). Values outside are clamped;
        texts outside count as "other". "from-data" is for experiments: the release leaks the
        extremes then, and its guarantee says so.
    method: see `methods()`. Three promise epsilon-differential privacy in the standard sense:
        "insensitive", "marginals" and "records". Three hold given the partition only: "mdav",
        "mdav-columns" and "optimal".
    budget: how epsilon is divided among columns: "even", "sensitivity" or "optimal"; see
        `microagg.private.budget`. The paper's MDAV_DP is "mdav" with "sensitivity", its variants
        _1 and _2 are "even" and "sensitivity".
    k: the group size. If not given, `suggest_k` of what is public; for the method "optimal", whose
        groups have the size that pays, k is the least size, 1 if not given.
    accept: "partition-conditional" is the word that methods of the weaker guarantee ask for.
    simulate: draw the noise from NumPy, for studies. The result is not private and says so.
    seed: of a simulation. Real noise has none.
    ledger: where to write down the epsilon spent on this table, before any noise is drawn.

    Missing values are refused, and so a refusal may depend on the data: it is for the eyes of
    whoever holds them.

    Soria-Comas and Domingo-Ferrer, "Differentially Private Data Publishing via Optimal Univariate
    Microaggregation and Record Perturbation", section 4. Departures: noise is discrete, on a public
    ruler (see `noise`); results are clamped to the bounds, as in the paper's experiments; and the
    groups of "insensitive" are not linked to the rows, for that would break its guarantee.
    """
    chosen = find(method, accept)
    given, put_back, origin = _take_apart(table, bounds)
    columns = checked_columns(given)
    domains = check_bounds(bounds, columns)
    _check_categories(chosen, domains)
    epsilon = budgets.check_epsilon(epsilon)
    shares = budgets.split(epsilon, domains, budget, groups_adapt=chosen.groups_adapt)
    n = next(iter(columns.values())).size
    ranges = {name: known for name, known in domains.items() if isinstance(known, Range)}
    widths = [known.width for known in ranges.values()]
    size = chosen.group_size(k, Setting(n, widths, [shares[name] for name in ranges]))
    if seed is not None and not simulate:
        raise OptionError(
            "a seed would let anyone subtract the noise: real releases have none; "
            "leave it out, or say simulate=True for a study"
        )
    rng = np.random.default_rng(seed) if simulate else None
    guarantee = state(
        chosen,
        epsilon,
        shares,
        domains,
        n=n,
        k=size,
        bounds_leaked=isinstance(bounds, str) and bounds == FROM_DATA,
        simulated=simulate,
    )
    if not simulate:
        open_dp()
        if ledger is not None:
            ledger.spend(fingerprint(columns), epsilon, guarantee.definition)
    partitions = _groups(chosen, columns, ranges, shares, size)
    marginals = {}
    for name, known in domains.items():
        if isinstance(known, Range):
            groups = partitions[name]
            means = noisy_means(known, columns[name], groups, chosen, shares[name], rng)
            marginals[name] = Marginal(means, groups.sizes)
        else:
            counts = known.count(columns[name])
            counts = add_noise(counts, known.sensitivity, shares[name], rng).clip(0, n)
            marginals[name] = Marginal(np.array(known.names, object), counts)
    data = put_back(_rows(chosen, partitions, marginals, n, rng))
    return PrivateRelease(data, guarantee, origin, None if chosen.rows.together else marginals)


def _take_apart(
    table: Any, bounds: Any
) -> tuple[Mapping[str, Any], Callable[[Mapping[str, NDArray]], Any], opening.Origin]:
    """The columns of a table by name, how columns become such a table again, and its origin.

    A mapping or an array is taken whole. Of a data frame, a file or a database table only the
    columns that `bounds` names are taken: what has no bounds is not released.
    """
    if isinstance(table, Mapping):
        return table, dict, NO_ORIGIN
    if isinstance(table, np.ndarray | list | tuple):
        columns = {str(place): column for place, column in enumerate(as_records(table, "table").T)}
        shape = np.shape(table)
        return columns, lambda made: np.column_stack(list(made.values())).reshape(shape), NO_ORIGIN
    named = list(map(str, bounds)) if isinstance(bounds, Mapping) else None
    if named == []:
        raise OptionError("bounds name no column; name each column to release")
    source = opening.open_table(table, Reading(), typed=named)
    opening.check_columns(named or [], source.frame.names)
    names = named or source.frame.names
    columns = {name: values_of(name, source.without_codes(name)) for name in names}
    # A layout may tell how entries were written, such as the code of a missing value.
    return columns, source.frame.like, replace(source.origin, layout=None)


def _check_categories(method: PrivateMethod, domains: Mapping[str, Domain]) -> None:
    for name, known in domains.items():
        if isinstance(known, Categories) and not method.categories:
            able = " or ".join(repr(other.name) for other in all_methods() if other.categories)
            raise OptionError(
                f"column {name!r} holds categories, which method {method.name!r} cannot average; "
                f"leave it out, or use {able}"
            )


def _groups(
    method: PrivateMethod,
    columns: Mapping[str, NDArray],
    ranges: Mapping[str, Range],
    shares: Mapping[str, float],
    k: int,
) -> dict[str, Partition]:
    """The groups of every column of numbers."""
    if not ranges:
        return {}
    values = np.column_stack([known.clamp(columns[name]) for name, known in ranges.items()])
    epsilons = [shares[name] for name in ranges]
    found = method.group(Task(values, list(ranges.values()), epsilons, k))
    return dict(zip(ranges, found, strict=True))


def noisy_means(
    known: Range,
    column: NDArray[np.float64],
    groups: Partition,
    method: PrivateMethod,
    epsilon: float,
    rng: np.random.Generator | None,
) -> NDArray[np.float64]:
    """The mean of each group of one column plus Laplace noise, within the bounds."""
    steps = steps_for(column.size)
    sums = whole_sums(known.to_steps(known.clamp(column), steps), groups.labels, groups.n_groups)
    noisy = add_noise(sums, method.sensitivity(steps, groups.n_groups), epsilon, rng)
    return known.from_steps(noisy / groups.sizes, steps)


def _rows(
    method: PrivateMethod,
    partitions: Mapping[str, Partition],
    marginals: Mapping[str, Marginal],
    n: int,
    rng: np.random.Generator | None,
) -> dict[str, NDArray]:
    """Columns of n values, in the order that the method may show."""
    if method.rows.linked:
        return {name: own.values[partitions[name].labels] for name, own in marginals.items()}
    if method.rows.together:
        return {name: np.repeat(own.values, own.counts) for name, own in marginals.items()}
    shuffler = np.random.default_rng() if rng is None else rng
    return {name: _shuffled(own, n, shuffler) for name, own in marginals.items()}


def _shuffled(found: Marginal, n: int, rng: np.random.Generator) -> NDArray:
    """A column of n values that a marginal stands for, in an order that means nothing."""
    counts = found.counts if int(found.counts.sum()) == n else _apportion(found.counts, n)
    return rng.permutation(np.repeat(found.values, counts))


def _apportion(counts: NDArray[np.int64], n: int) -> NDArray[np.int64]:
    """Whole numbers in proportion to noisy counts that add up to n, by largest remainders."""
    weights = counts / counts.sum() if counts.any() else np.full(counts.size, 1 / counts.size)
    exact = n * weights
    whole = np.floor(exact).astype(np.int64)
    missing = n - int(whole.sum())
    whole[np.argsort(whole - exact, kind="stable")[:missing]] += 1
    return whole
