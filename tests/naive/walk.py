"""A walk through groups, always on to the nearest record, by looking at all of them."""

import numpy as np

from tests.naive.reorder import square


def walk_groups(records, groups):
    squares = ((records - records.mean(axis=0)) ** 2).sum(axis=1)
    unseen = set(range(len(records)))
    line = []
    inside: set[int] = set()
    while unseen:
        if line:
            last = records[line[-1]]
            current = min(inside or unseen, key=lambda i: (square(records[i], last), i))
        else:
            current = int(np.argmax(squares))
        if not inside:
            inside = set(next(group for group in groups if current in group))
        line.append(current)
        unseen.remove(current)
        inside.remove(current)
    return line
