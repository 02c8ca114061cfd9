"""Release a table with noise: clamp, group, add noise to group sums, and say what that promises."""

from collections.abc import Callable, Mapping
from dataclasses import replace
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from microagg.base.arrays import as_records, check_seed
from microagg.base.errors import OptionError
from microagg.base.groups import Partition
from microagg.base.reading import Reading
from microagg.private import budget as budgets
from microagg.private.costs import Setting
from microagg.private.domains import (
    FROM_DATA,
    Categories,
    Domain,
    Range,
    check_bounds,
    checked_columns,
    with_codes,
)
from microagg.private.guarantee import state
from microagg.private.ledger import Ledger
from microagg.private.method import PrivateMethod, Task
from microagg.private.noise import open_dp
from microagg.private.outcome import NO_ORIGIN, PrivateRelease, after_noise
from microagg.private.prepared import Prepared
from microagg.private.registry import all_methods, find
from microagg.release.output import certificate_path
from microagg.table import opening
from microagg.table.frames import values_of


def release(
    table: Any,
    *,
    epsilon: float,
    bounds: Mapping[str, Any] | str | None = None,
    method: str = "marginals",
    budget: str = "even",
    k: int | None = None,
    decimals: int | Mapping[str, int] | None = None,
    accept: str | None = None,
    simulate: bool = False,
    seed: int | None = None,
    ledger: Ledger | None = None,
    dataset: str | None = None,
    output: str | PathLike[str] | None = None,
    force: bool = False,
    certificate: Path | None = None,
    reading: Mapping[str, Any] | None = None,
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
    decimals: how many places numbers are rounded to, those of all columns or by name. How many
        the data have is not asked: one record could change it.
    accept: "partition-conditional" is the word that methods of the weaker guarantee ask for.
    simulate: draw the noise from NumPy, for studies. The result is not private and says so.
    seed: of a simulation. Real noise has none.
    ledger, dataset: where to write down the epsilon, before any noise is drawn, and the name under
        which all that is about the same people is added up.
    output, force, certificate: where the release will be written. Whether it can be is tried on
        made-up values of the same shape before epsilon is spent; to write it is for
        `PrivateRelease.write`.
    reading: how the table is read, as in `Recipe`.

    Missing values are refused, and so a refusal may depend on the data: it is for the eyes of
    whoever holds them.

    Soria-Comas and Domingo-Ferrer, "Differentially Private Data Publishing via Optimal Univariate
    Microaggregation and Record Perturbation", section 4. Departures: noise is discrete, on a public
    ruler (see `noise`); results are clamped to the bounds, as in the paper's experiments; and the
    groups of "insensitive" are not linked to the rows, for that would break its guarantee.
    """
    if (ledger is None) != (dataset is None):
        raise OptionError(
            "ledger and dataset go together: the file that adds up epsilon, and the name under "
            "which everything about the same people is added up, such as 'survey-2026'"
        )
    if seed is not None and not simulate:
        raise OptionError(
            "a seed would let anyone subtract the noise: real releases have none; "
            "leave it out, or say simulate=True for a study"
        )
    prepared = prepare(
        table,
        epsilon=epsilon,
        bounds=bounds,
        method=method,
        budget=budget,
        k=k,
        decimals=decimals,
        accept=accept,
        simulate=simulate,
        reading=reading,
    )
    if not simulate:
        open_dp()
    spends = None if simulate or dataset is None else ledger
    if spends is not None:
        beside = certificate
        if beside is None and output is not None:
            beside = certificate_path(Path(output))
        spends.keep_apart(prepared.origin.path, output, beside)
        spends.check(dataset or "", prepared.guarantee.epsilon)
    if output is not None:
        prepared.made_up().rehearse(output, force=force, certificate=certificate)
    if spends is not None:
        stated = prepared.guarantee
        spends.spend(dataset or "", stated.epsilon, stated.definition)
    if simulate:
        return prepared.draw(np.random.default_rng(seed if seed is None else check_seed(seed)))
    spent = f"epsilon {prepared.guarantee.epsilon:g} is spent, for noise was drawn"
    if spends is not None and spends.receipt is not None:
        spent = spends.receipt
    with after_noise(spent):
        return replace(prepared.draw(None), spent=spent)


def prepare(
    table: Any,
    *,
    epsilon: float,
    bounds: Mapping[str, Any] | str | None,
    method: str,
    budget: str = "even",
    k: int | None = None,
    decimals: int | Mapping[str, int] | None = None,
    accept: str | None = None,
    simulate: bool = False,
    reading: Mapping[str, Any] | None = None,
) -> Prepared:
    """Everything up to the noise, as `release` is told: what can be refused is refused here."""
    chosen = find(method, accept)
    given, put_back, origin = _take_apart(table, bounds, Reading(**(reading or {})))
    columns = with_codes(checked_columns(given), bounds)
    domains = check_bounds(bounds, columns)
    _check_categories(chosen, domains)
    epsilon = budgets.check_epsilon(epsilon)
    shares = budgets.split(epsilon, domains, budget, groups_adapt=chosen.groups_adapt)
    n = next(iter(columns.values())).size
    ranges = {name: known for name, known in domains.items() if isinstance(known, Range)}
    widths = [known.width for known in ranges.values()]
    size = chosen.group_size(k, Setting(n, widths, [shares[name] for name in ranges]))
    guarantee = state(
        chosen,
        epsilon,
        shares,
        domains,
        n=n,
        k=size,
        layout_kept=origin.layout is not None,
        bounds_leaked=isinstance(bounds, str) and bounds == FROM_DATA,
        simulated=simulate,
    )
    return Prepared(
        chosen,
        guarantee,
        columns,
        domains,
        _groups(chosen, columns, ranges, shares, size),
        _places(decimals, ranges),
        put_back,
        origin,
    )


def _take_apart(
    table: Any, bounds: Any, reading: Reading
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
    source = opening.open_table(table, reading, typed=named)
    opening.check_columns(named or [], source.frame.names)
    names = [name for name in source.frame.names if named is None or name in named]
    columns = {name: values_of(name, source.without_codes(name)) for name in names}
    origin = source.origin
    layout = origin.format.layout_of_file(origin.layout)
    return columns, source.frame.like, replace(origin, layout=layout)


def _places(decimals: Any, ranges: Mapping[str, Range]) -> dict[str, int]:
    """By column, how many places it is rounded to."""
    given = decimals if isinstance(decimals, Mapping) else dict.fromkeys(ranges, decimals)
    for name, places in given.items():
        if name not in ranges:
            raise OptionError(f"decimals name {name!r}, which is no column of numbers with bounds")
        if decimals is not None and (type(places) is not int or not -15 <= places <= 15):
            raise OptionError("decimals must be a whole number of places, -15 to 15, or by column")
    return {} if decimals is None else dict(given)


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
