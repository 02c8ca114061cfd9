"""Cells, projections and trees of splits, one record at a time."""

import numpy as np


def components(records):
    """Mean, variances and unit vectors (rows), by the singular values of the centred records."""
    mean = records.mean(axis=0)
    _, values, vectors = np.linalg.svd(records - mean, full_matrices=True)
    variances = np.zeros(records.shape[1])
    variances[: values.size] = values**2 / len(records)
    return mean, variances, vectors


def kept(variances, energy):
    """The least number of leading components that hold the share."""
    for m in range(1, variances.size + 1):
        if variances[:m].sum() >= energy * variances.sum() * (1 - 1e-12):
            return m
    raise AssertionError


def reconstruction_errors(records, members, m):
    """Squared distance of records from their image on the first m components of some members."""
    mean, _, vectors = components(members)
    image = mean + (records - mean) @ vectors[:m].T @ vectors[:m]
    return ((records - image) ** 2).sum(axis=1)


def nearest(records, centres):
    """The number of the nearest centre, the first of equally near ones."""
    return np.array([np.argmin(((centres - record) ** 2).sum(axis=1)) for record in records])


def group_cells(records, cell_of, k, group):
    """Group each cell by itself: sets of rows."""
    found = []
    for cell in np.unique(cell_of):
        rows = np.flatnonzero(cell_of == cell)
        if len(rows) < 2 * k:
            found.append(rows)
            continue
        order, sizes = group(records[rows], k)
        found += np.split(rows[order], np.cumsum(sizes)[:-1])
    return as_sets(found)


def as_sets(groups):
    """Groups whatever their order."""
    return {frozenset(np.asarray(group).tolist()) for group in groups}


def join_small(records, cell_of, k):
    """Cells as lists of rows; the smallest joins the nearest mean while it has fewer than k."""
    cells = [list(np.flatnonzero(cell_of == cell)) for cell in np.unique(cell_of)]
    while len(cells) > 1 and min(map(len, cells)) < k:
        small = min(range(len(cells)), key=lambda cell: len(cells[cell]))
        rows = cells.pop(small)
        means = np.array([records[cell].mean(axis=0) for cell in cells])
        cells[int(nearest([records[rows].mean(axis=0)], means)[0])] += rows
    return as_sets(cells)


def follow(plain, row):
    """The cell of one row, in a tree written down as plain lists."""
    if not plain["cuts"]:
        return 0
    split = 0
    while split >= 0:
        score = 0.0
        for x, w in zip(row, plain["weights"][split], strict=True):
            score += float(x) * w
        split = plain["children"][split][0 if score <= plain["cuts"][split] else 1]
    return -1 - split
