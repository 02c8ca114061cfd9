"""A release, plainly: the whole table in memory, cell by cell as the plan says."""

import numpy as np
import pyarrow as pa

from microagg.grouping.doors import partition


def walk(tree, point):
    """The leaf that a point falls into."""
    split = 0 if tree.cuts.size else -1
    while split >= 0:
        score = 0.0
        for value, weight in zip(point, tree.weights[split], strict=True):
            score += value * weight
        split = int(tree.children[split, 0 if score <= tree.cuts[split] else 1])
    return -1 - split


def points_of(table, plan):
    """Where the records stand; to the last bit, for ties decide who is grouped with whom."""
    return plan.place(plan.code(table))


def cells_of(table, plan):
    """The cell of each record of a table without strata."""
    points = points_of(table, plan)
    return np.array([plan.cell_of[walk(plan.trees[0], point)] for point in points])


def groups_of(table, plan):
    """A number for the group of each record of a table without strata."""
    points, cells = points_of(table, plan), cells_of(table, plan)
    labels = np.empty(len(points), np.int64)
    groups = 0
    for cell in np.unique(cells):
        rows = np.flatnonzero(cells == cell)
        seed = int(np.random.SeedSequence([plan.recipe.seed, cell, 0]).generate_state(1)[0])
        grouped = partition(
            points[rows], plan.recipe.k, plan.method, seed=seed, standardize=False, **plan.options
        )
        labels[rows] = grouped.labels + groups
        groups += grouped.n_groups
    return labels


def means(column, labels):
    """The mean of each record's group, over the records that have a value."""
    values = np.array(column.cast(pa.float64()).to_pylist(), float)
    published = np.full(values.size, np.nan)
    for label in np.unique(labels):
        rows = np.flatnonzero(labels == label)
        present = values[rows][~np.isnan(values[rows])]
        if present.size:
            published[rows] = present.mean()
    return published


def are_means(published, column, labels):
    """Whether records show the means of their groups, to the decimals that the column has, where
    these are so few that somebody wrote them down."""
    texts = [repr(value) for value in column.to_pylist() if value is not None]
    places = max(len(text.partition(".")[2]) for text in texts)
    short = (published == published.round(places)) | (places > 5)
    middle = means(column, labels)
    near = np.abs(published - middle) <= 0.5 * 10.0**-places + 1e-12 * np.abs(middle)
    return bool((near & short | np.isnan(published) & np.isnan(middle)).all())
