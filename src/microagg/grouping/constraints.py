"""More than similarity: strata that no group crosses, entities whose records stay together."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from microagg.base.errors import InputError
from microagg.base.groups import Partition
from microagg.base.progress import watch
from microagg.grouping.doors import partition
from microagg.kernels.group_passes import group_means

Codes = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class Grouped:
    """A partition of the records that stay, and what became of small strata.

    kept: which records stay; None where all do.
    small: how many strata had fewer than k units, and `moved` how many records were in them.
    crossed: some groups cross strata, for small ones were merged.
    """

    partition: Partition
    kept: NDArray[np.bool_] | None = None
    small: int = 0
    moved: int = 0
    crossed: bool = False


def partition_units(
    points: NDArray[np.float64],
    k: int,
    *,
    method: str,
    seed: int,
    options: dict[str, Any],
    refine: bool | float = False,
    strata: Codes | None = None,
    strata_name: str = "",
    small_strata: str = "error",
    entities: Codes | None = None,
    progress: bool | None = None,
) -> Grouped:
    """Group records, or entities with all their records, within strata.

    points: where the records stand, (n, m); distances are taken as they are.
    strata, entities: the number, from 0 without gaps, of each record's stratum and entity.
    small_strata: what becomes of strata with fewer than k units: "error", "merge" or "drop".

    An entity stands where its records do on average, and counts once.
    """
    units, stratum_of = points, strata
    if entities is not None:
        units = _entity_points(points, entities)
        if units.shape[0] < k:
            raise InputError(
                f"k is {k}, but there are only {units.shape[0]} entities; groups of k need at "
                "least k entities"
            )
        stratum_of = None if strata is None else _entity_strata(strata, entities, strata_name)
    kept = None
    small = moved = 0
    if stratum_of is not None:
        sizes = np.bincount(stratum_of)
        few = sizes < k
        small = int(few.sum())
        if small:
            in_small = few[stratum_of]
            moved = int(in_small.sum() if entities is None else in_small[entities].sum())
            if small_strata == "error":
                raise InputError(_small_sentence(small, sizes.size, strata_name, k, entities))
            if small_strata == "merge":
                stratum_of = _merge(units, stratum_of, few, k)
            else:
                kept = ~in_small
                if not kept.any():
                    raise InputError(
                        f"all strata of {strata_name} are smaller than k = {k}, so nothing would "
                        "be left; lower k or take coarser strata"
                    )
                units, stratum_of = units[kept], stratum_of[kept]
    settings = {"method": method, "seed": seed, "refine": refine, **options}
    found = _partition_strata(units, k, stratum_of, settings, progress)
    labels = found.labels
    if entities is not None:
        entity_kept, kept = kept, None if kept is None else kept[entities]
        if entity_kept is not None:
            spread = np.full(entity_kept.size, -1, np.int64)
            spread[entity_kept] = labels
            labels = spread[entities[kept]]
        else:
            labels = labels[entities]
    whole = Partition(np.ascontiguousarray(labels), k, found.method)
    return Grouped(whole, kept, small, moved, crossed=bool(small) and small_strata == "merge")


def _partition_strata(
    units: NDArray[np.float64],
    k: int,
    strata: Codes | None,
    settings: dict[str, Any],
    progress: bool | None,
) -> Partition:
    if strata is None:
        return partition(units, k, standardize=False, progress=progress, **settings)
    order = np.argsort(strata, kind="stable")
    ends = np.cumsum(np.bincount(strata))
    labels = np.empty(strata.size, np.int64)
    groups, used, start = 0, set(), 0
    with watch("grouping within strata", progress) as advance:
        for end in ends.tolist():
            rows = order[start:end]
            if rows.size:
                part = partition(units[rows], k, standardize=False, progress=False, **settings)
                labels[rows] = part.labels + groups
                groups += part.n_groups
                used.add(part.method)
            advance(end / strata.size)
            start = end
    return Partition(labels, k, ", ".join(sorted(used)))


def _merge(units: NDArray[np.float64], strata: Codes, few: NDArray[np.bool_], k: int) -> Codes:
    """Small strata become one; if that is still small, it joins the stratum nearest to it."""
    small = few[strata]
    target = int(np.flatnonzero(few)[0])
    merged = np.where(small, target, strata)
    if small.sum() < k and not few.all():
        large = np.flatnonzero(~few)
        home = units[small].mean(axis=0)
        distances = [
            ((units[strata == stratum].mean(axis=0) - home) ** 2).sum() for stratum in large
        ]
        merged[small] = large[int(np.argmin(distances))]
    return merged


def _entity_points(points: NDArray[np.float64], entities: Codes) -> NDArray[np.float64]:
    count = int(entities.max()) + 1
    columns = [group_means(np.ascontiguousarray(column), entities, count) for column in points.T]
    return np.ascontiguousarray(np.column_stack(columns))


def _entity_strata(strata: Codes, entities: Codes, name: str) -> Codes:
    of_entity = np.empty(int(entities.max()) + 1, np.int64)
    of_entity[entities] = strata
    crossing = np.unique(entities[of_entity[entities] != strata]).size
    if crossing:
        raise InputError(
            f"{crossing} entities have rows in several strata of {name}; rows of an entity stay "
            "together, so each entity must lie in one stratum"
        )
    return of_entity


def _small_sentence(small: int, strata: int, name: str, k: int, entities: Codes | None) -> str:
    units = "records" if entities is None else "entities"
    return (
        f"{small} of {strata} strata of {name} have fewer than k = {k} {units}; lower k, take "
        'coarser strata, or say small_strata="merge" or "drop"'
    )
