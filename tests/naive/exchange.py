"""Moves, dissolving and exchanges of records, each change of the SSE computed from scratch."""

from tests.naive.decompose import decompose, sse_of


def exchange(records, groups, neighbours):
    """Whether any exchange with a record of the nearest groups lowered the SSE; made in place."""
    exchanged = False
    for own, group in enumerate(groups):
        for place in range(len(group)):
            row = group[place]
            others = sorted(
                (number for number in range(len(groups)) if number != own),
                key=lambda number: (
                    ((records[row] - records[groups[number]].mean(axis=0)) ** 2).sum(),
                    number,
                ),
            )[:neighbours]
            best = (0.0, None, None)
            for other in others:
                before = sse_of(records, group) + sse_of(records, groups[other])
                for at, partner in enumerate(groups[other]):
                    mine = [partner if one == row else one for one in group]
                    theirs = [row if one == partner else one for one in groups[other]]
                    after = sse_of(records, mine) + sse_of(records, theirs)
                    if after - before < best[0] - 1e-12 * before:
                        best = (after - before, other, at)
            if best[1] is not None:
                _, other, at = best
                group[place], groups[other][at] = groups[other][at], row
                exchanged = True
    return exchanged


def exchange_and_decompose(records, groups, k, neighbours):
    while True:
        groups = decompose(records, groups, k)
        again = exchanged = exchange(records, groups, neighbours)
        while again:
            again = exchange(records, groups, neighbours)
        if not exchanged:
            return groups
