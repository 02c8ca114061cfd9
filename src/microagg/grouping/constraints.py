"""More than similarity: strata that no group crosses, entities whose records stay together,
households of which every group has k."""

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from microagg.base.errors import InputError
from microagg.base.groups import Partition
from microagg.base.progress import Advance, silent
from microagg.grouping.demands.book import Book
from microagg.grouping.demands.demand import Confidential, Demands, Distinct
from microagg.grouping.doors import partition_points
from microagg.grouping.households import different_in, keep_households
from microagg.grouping.method import Mixed
from microagg.grouping.methods import GIVEN
from microagg.kernels.group_passes import group_means

Codes = NDArray[np.int64]


class How(NamedTuple):
    """How units are grouped; see `partition_points`."""

    method: str
    seed: int
    options: Mapping[str, Any]
    refine: bool | float = False


def partition_units(
    points: NDArray[np.float64],
    k: int,
    how: How,
    *,
    strata: Codes | None = None,
    entities: Codes | None = None,
    households: Codes | None = None,
    demands: Demands = (),
    advance: Advance = silent,
    orders: dict[str, NDArray[np.int32]] | None = None,
    mixed: Mixed | None = None,
    before: Callable[[Codes], None] | None = None,
) -> Partition:
    """Group records, or entities with all their records, within strata.

    points: where the records stand, (n, m); distances are taken as they are.
    strata, entities: the number, from 0 without gaps, of each record's stratum and entity; every
        stratum has k units or more, and no entity lies in two.
    households: the number of each record's, likewise: every group has records of k different ones,
        and every stratum has k.
    demands: what every group is to keep beyond its size; an InputError where none can.
    orders: lines that methods put these records in, kept from one k to the next.
    mixed: what the records lose, where that is not their squared distance from the mean.
    before: is told the group of each record by k alone, before groups keep demands.

    An entity stands where its records do on average, and counts once; what it has to lose is taken
    to be that of one record with its averages and its commonest categories.
    """
    units, stratum_of = points, strata
    if entities is not None:
        units = entity_points(points, entities)
        mixed = None if mixed is None else entity_mixed(mixed, entities)
        stratum_of = None if strata is None else _of_entities(strata, entities)
    if households is not None and demands:
        # Whoever repairs groups for one demand must not undo what another one wants; no column of a
        # table has this name.
        homes = Confidential("\0households", households, np.bincount(households))
        demands, households = (*demands, Distinct(homes, k)), None
    book = Book.of(demands, len(points), entities) if demands else None
    plain: list[Codes] = []
    if stratum_of is None:
        if book is not None:
            book.check_possible()
        grouped = partition_points(
            units,
            k,
            **how._asdict(),
            advance=advance,
            orders=orders,
            mixed=mixed,
            demands=book,
            before=plain.append,
        )
        grouped = _with_households(units, grouped, households)
    else:
        grouped = _partition_strata(
            units, k, stratum_of, how, book, advance, plain.append, mixed, households
        )
    if before is not None and plain:
        before(plain[0] if entities is None else plain[0][entities])
    if entities is None:
        return grouped
    return Partition(np.ascontiguousarray(grouped.labels[entities]), k, grouped.method)


def given_groups(
    labels: ArrayLike,
    n: int,
    k: int,
    strata: Codes | None,
    entities: Codes | None,
    households: Codes | None = None,
) -> Partition:
    """The groups that somebody gives for n records, if they do: k units in each, none across
    strata, entities whole."""
    given = np.asarray(labels)
    if given.shape != (n,) or given.dtype.kind not in "iu":
        raise InputError(
            f"given groups are a Partition or whole numbers, one a record, but {given.size} labels "
            f"for {n} records arrived, of type {given.dtype}"
        )
    codes = np.unique(given, return_inverse=True)[1]
    units, what = codes, "records"
    if entities is not None:
        units, what = _of_entities(codes, entities), "entities"
        if (units[entities] != codes).any():
            raise InputError("given groups keep some rows of entities apart; keep them together")
    sizes = np.bincount(units)
    if households is not None:
        sizes, what = different_in(codes, households), "different households"
    if (sizes < k).any():
        raise InputError(
            f"given groups must have at least k = {k} {what}, but {int((sizes < k).sum())} of "
            f"{sizes.size} have fewer"
        )
    if strata is not None and np.unique(np.stack([codes, strata]), axis=1).shape[1] > sizes.size:
        raise InputError("given groups cross strata, which within forbids; divide them")
    return Partition(codes, k, GIVEN)


def _partition_strata(
    units: NDArray[np.float64],
    k: int,
    strata: Codes,
    how: How,
    book: Book | None,
    advance: Advance,
    before: Callable[[Codes], None],
    mixed: Mixed | None,
    households: Codes | None,
) -> Partition:
    order = np.argsort(strata, kind="stable")
    ends = np.cumsum(np.bincount(strata))
    if book is not None:
        for rows in np.split(order, ends[:-1]):
            book.rows(rows).check_possible("of a stratum")
    labels, plain = np.empty((2, strata.size), np.int64)
    groups, plain_groups, start, name = 0, 0, 0, ""
    for end in ends.tolist():
        rows = order[start:end]
        demands = None if book is None else book.rows(rows)
        inside = None if mixed is None else mixed.of(rows)
        own: list[Codes] = []
        part = partition_points(
            units[rows], k, **how._asdict(), mixed=inside, demands=demands, before=own.append
        )
        if households is not None:
            there = np.unique(households[rows], return_inverse=True)[1]
            part = _with_households(units[rows], part, there)
        labels[rows] = part.labels + groups
        for each in own:
            plain[rows] = each + plain_groups
            plain_groups += int(each.max()) + 1
        groups += part.n_groups
        name = part.method
        advance(end / strata.size)
        start = end
    if book is not None:
        before(plain)
    return Partition(labels, k, name)


def _with_households(
    points: NDArray[np.float64], grouped: Partition, households: Codes | None
) -> Partition:
    """The groups once each has records of k different households, if there are some."""
    if households is None:
        return grouped
    labels = keep_households(points, grouped.labels, households, grouped.k)
    return Partition(labels, grouped.k, grouped.method)


def entity_points(points: NDArray[np.float64], entities: Codes) -> NDArray[np.float64]:
    """Where entities stand, (entities, m): where their records do on average."""
    count = int(entities.max()) + 1
    columns = [group_means(np.ascontiguousarray(column), entities, count) for column in points.T]
    return np.ascontiguousarray(np.column_stack(columns))


def entity_mixed(mixed: Mixed, entities: Codes) -> Mixed:
    """What entities have to lose: the means of their numbers and their commonest categories, of
    equally common ones the first; to have none counts as one category more."""
    count = int(entities.max()) + 1
    numbers = np.full((count, mixed.numbers.shape[1]), np.nan)
    for place, column in enumerate(mixed.numbers.T):
        there = ~np.isnan(column)
        known, of_known = np.unique(entities[there], return_inverse=True)
        means = group_means(np.ascontiguousarray(column[there]), of_known, known.size)
        numbers[known, place] = means
    codes = np.empty((count, mixed.codes.shape[1]), np.int32)
    for place, column in enumerate(mixed.codes.T):
        kinds = int(column.max(initial=0)) + 2
        pairs, often = np.unique(entities * kinds + (column + 1), return_counts=True)
        # The last that is written stays: the commonest, and of these the first.
        order = np.lexsort((-pairs, often))
        codes[pairs[order] // kinds, place] = pairs[order] % kinds - 1
    return Mixed(numbers, codes, mixed.prices)


def check_entities_within(strata: Codes, entities: Codes, name: str) -> None:
    """Refuse entities that lie in several strata."""
    crossing = np.unique(entities[_of_entities(strata, entities)[entities] != strata]).size
    if crossing:
        raise InputError(
            f"{crossing} entities have rows in several strata of {name}; rows of an entity stay "
            "together, so each entity must lie in one stratum"
        )


def _of_entities(codes: Codes, entities: Codes) -> Codes:
    of_entity = np.empty(int(entities.max()) + 1, np.int64)
    of_entity[entities] = codes
    return of_entity
