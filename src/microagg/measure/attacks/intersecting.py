"""Intersection: who is in the same class as whom in two releases."""

import numpy as np
from numpy.typing import NDArray

from microagg.kernels.compiling import kernel
from microagg.measure.attacks.attack import Attack, Earlier, Found, Scene, Share
from microagg.measure.attacks.guessing import percent, told_by_member
from microagg.measure.attacks.words import share


def _intersection(scene: Scene) -> list[Found]:
    assert scene.earlier is not None
    columns, reaches = scene.unknown, [column.reach(scene.sd) for column in scene.unknown]
    shown = [np.where(column.shown, column.released, np.nan) for column in columns]
    alone, lows, highs = candidates(scene.labels, scene.earlier, np.reshape(shown, (-1, scene.n)))
    told, before = [], []
    for column, reach, low, high in zip(columns, reaches, lows, highs, strict=True):
        within = (low >= column.original - reach) & (high <= column.original + reach)
        told.append(within & column.there)
        before.append(told_by_member(column, scene.labels, scene.labels, reach) == 1.0)
    sizes = np.bincount(scene.labels)[scene.labels]
    right = alone == np.arange(scene.n)
    records = Share(*(100.0 * float(each.mean()) for each in (right, sizes == 1)))
    values = Share(percent(told, columns), percent(before, columns)) if columns else None
    both = int((scene.earlier.rows >= 0).sum())
    words = (
        f"Of the {scene.n} records {both} are in the earlier release too. Who finds a person's "
        f"class in both and keeps the records that agree in what both show as it is, is left with "
        f"the right one alone for {share(records)} of the records"
    )
    if values is not None:
        words += f", and certain about {share(values)} of the values that were not known"
    return [Found(words + "; by chance is by this release alone.", records, values)]


def candidates(
    labels: NDArray[np.int64], earlier: Earlier, values: NDArray[np.float64]
) -> tuple[NDArray[np.int64], NDArray[np.float64], NDArray[np.float64]]:
    """For each row who may be it, by both releases: the only one, and the range of their values.

    values: (columns, n), NaN where there is none, which leaves no range. The only one is -1 where
    there are several, or none, or the person is not in the earlier release; then no range either.
    Time is that of a look at both classes of each different pair of classes that people are in.
    """
    n = labels.size
    order = np.lexsort((earlier.marks, labels))
    starts = np.concatenate([[0], np.cumsum(np.bincount(labels))])
    old_order = np.lexsort((earlier.earlier_marks, earlier.labels))
    old_starts = np.concatenate([[0], np.cumsum(np.bincount(earlier.labels))])
    there = np.flatnonzero(earlier.rows >= 0)
    alone, lows, highs = (
        np.full(n, -1),
        np.full(values.shape, np.inf),
        np.full(values.shape, -np.inf),
    )
    if there.size:
        many = int(earlier.labels.max()) + 1
        keys = labels[there] * many + earlier.labels[earlier.rows[there]]
        pairs, places = np.unique(keys, return_inverse=True)
        found = (
            np.full(pairs.size, -1),
            np.full((len(values), pairs.size), np.inf),
            np.full((len(values), pairs.size), -np.inf),
        )
        new = (order, starts, earlier.marks[order])
        old = (old_starts, earlier.earlier_marks[old_order])
        _meet(pairs // many, pairs % many, new, old, values, found)
        alone[there] = found[0][places]
        lows[:, there], highs[:, there] = found[1][:, places], found[2][:, places]
    nobody = lows > highs
    lows[nobody], highs[nobody] = -np.inf, np.inf
    return alone, lows, highs


@kernel
def _meet(news, olds, new, old, values, found):
    """Those of a class of this release whose marks the earlier class has; both lists ascend."""
    order, starts, marks = new
    old_starts, old_marks = old
    alone, lows, highs = found
    for pair in range(news.size):
        at, end = old_starts[olds[pair]], old_starts[olds[pair] + 1]
        count = 0
        for place in range(starts[news[pair]], starts[news[pair] + 1]):
            while at < end and old_marks[at] < marks[place]:
                at += 1
            if at == end:
                break
            if old_marks[at] != marks[place]:
                continue
            row = order[place]
            count += 1
            alone[pair] = row if count == 1 else -1
            for column in range(len(values)):
                value = values[column, row]
                if np.isnan(value):
                    lows[column, pair], highs[column, pair] = -np.inf, np.inf
                else:
                    lows[column, pair] = min(lows[column, pair], value)
                    highs[column, pair] = max(highs[column, pair], value)


INTERSECTION = Attack(
    "intersection",
    "Two releases",
    ("singling out", "linkability", "inference"),
    "The classes that a person is in, in this and in an earlier release.",
    "Of the records in the person's class those stay that have a twin in the person's class of the "
    "earlier release: a row that agrees in all columns that both show as they are (and in its "
    "number, if both have their rows in one order).",
    "those of whom one record is left, the right one",
    "values of columns not known that all records left share",
    "this release alone",
    _intersection,
    ("earlier",),
)
