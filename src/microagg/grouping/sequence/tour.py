"""A short tour through all records: the best of the orders, and the slowest.

Mortazavi, "Improved Univariate Microaggregation for Integer Values", section 2.2, splits a tour of
a travelling salesman and leaves open how to find one. Here the tour is a path from the record
farthest from the centroid to wherever it ends. It is joined greedily from the shortest edges
between near neighbours, then improved by 2-opt and Or-opt moves among near neighbours until none
helps, then shaken: two neighbouring stretches of the path change places, the moves run again
around the six loose ends, and what did not become shorter is undone.

No chance is involved beyond a generator with a fixed seed: the same records give the same tour.
"""

from functools import partial

import numpy as np
from numpy.typing import NDArray

from microagg.base.errors import InputError
from microagg.base.progress import Advance, silent
from microagg.grouping.sequence.orderings import farthest_from_centroid
from microagg.grouping.sequence.sorting import sort_stably
from microagg.grouping.sequence.split import by_order
from microagg.kernels.compiling import inner, kernel
from microagg.kernels.group_passes import root_of
from microagg.kernels.trees.lists import nearest_lists

_NEIGHBOURS = 8
# Leaves that a search for neighbours may look at: beyond, a tour gains little.
_LOOKS = 256
_SHAKES_A_RECORD = 100
_SHAKES_A_RECORD_AT_LEAST = 2
_SHAKES_AFFORDED = 1 << 18
_SHAKES_A_CALL = 1 << 14
_MOVES_A_CALL = 1 << 14
# Longest way between two stops that one move may bring together: it has to be turned round.
_LONGEST_TURN = 50_000
_LONGEST_SHAKEN = 25
# What the edge that must stay is worth.
_BOUND = -1e30
_NO_MOVE, _SWAP_EDGES, _MOVE_STRETCH, _TURN_STRETCH = range(4)


def order_by_tour(
    records: NDArray[np.float64], advance: Advance = silent, *, undo: int = 1 << 12
) -> NDArray[np.int32]:
    """A short open path through all records from the one farthest from the centroid (TSP).

    Its length is the sum of the distances between neighbours. About O(n log n) time and O(n d)
    memory; up to a hundred thousand records get more care each, since they can afford it.
    `undo` turns after a shake can be undone; by default far more than a shake sets off.
    """
    n = len(records)
    start = farthest_from_centroid(records)
    everyone = np.arange(n, dtype=np.int32)
    if n < 4:
        return np.concatenate([everyone[start : start + 1], np.delete(everyone, start)])
    sequence, lists, squares = nearest_lists(
        records, everyone, _NEIGHBOURS, _LOOKS, lambda share: advance(0.1 * share)
    )
    number = np.empty(n, np.int32)
    number[sequence] = everyone
    points = np.ascontiguousarray(records[sequence])
    lists = number[lists]
    path = _greedy_path(points, lists, squares, number[start])
    advance(0.2)
    if n >= 8:
        path = _shorten(points, lists, np.sqrt(squares), path, advance, undo)
    return sequence[path]


def _greedy_path(points, lists, squares, start):
    """Join the closest loose ends until one path is left.

    Edges between near neighbours come first. When they are used up, the loose ends look for near
    neighbours among themselves: each round joins a good part of the pieces that are left.
    """
    n = len(points)
    links = np.full((n, 2), -1, np.int32)
    pieces = np.arange(n, dtype=np.int32)
    rows = np.arange(n, dtype=np.int32)
    left = n
    while True:
        edges, lengths = _edges(rows, lists, squares, pieces)
        joined = _join(edges, sort_stably(lengths)[0], links, pieces, start)
        left -= joined
        if left == 1:
            return _follow(links, start)
        if joined == 0:
            raise InputError("the records lie too far apart for distances; standardise them")
        ends = np.flatnonzero((links[:, 1] < 0) & ((links[:, 0] < 0) | (np.arange(n) != start)))
        rows, lists, squares = nearest_lists(points, ends.astype(np.int32), _NEIGHBOURS, _LOOKS)


def _shorten(points, lists, lengths, path, advance, undo):
    n = len(points)
    nowhere = n  # a stop at no distance from any other closes the path to a tour
    tour = np.concatenate([np.array([nowhere], np.int32), path])
    place = np.empty(n + 1, np.int32)
    place[tour] = np.arange(n + 1, dtype=np.int32)
    # Waiting stops, in a ring: where the first is, how many; and whether a stop is among them.
    ring = np.roll(tour, -1)
    state = np.array([0, n])
    waiting = np.ones(n + 1, np.bool_)
    waiting[nowhere] = False
    steps = np.sqrt(np.sum((points[path[1:]] - points[path[:-1]]) ** 2, axis=1))
    least_gain = 1e-9 * float(steps.mean())
    start = int(path[0])
    log = np.empty((undo, 2), np.int32)

    search = partial(
        _search, points, lists, lengths, start, tour, place, ring, state, waiting, least_gain, log
    )
    moved = 0
    while state[1] > 0:
        moved += search(np.empty((0, 3), np.int64))
        advance(0.2 + 0.2 * min(1.0, moved / n))
    rng = np.random.default_rng(0)
    shakes = min(_SHAKES_A_RECORD * n, max(_SHAKES_AFFORDED, _SHAKES_A_RECORD_AT_LEAST * n))
    longest = min(_LONGEST_SHAKEN, n // 4)
    for done in range(0, shakes, _SHAKES_A_CALL):
        count = min(_SHAKES_A_CALL, shakes - done)
        where = rng.integers(0, n + 1, (count, 1))
        search(np.hstack([where, rng.integers(1, longest + 1, (count, 2))]))
        advance(0.4 + 0.6 * (done + count) / shakes)
    path = np.roll(tour, -place[nowhere])[1:]
    return path if path[0] == start else path[::-1]


@kernel
def _edges(rows, lists, squares, pieces):
    """Every edge between near neighbours of different pieces, once."""
    n, count = lists.shape
    entry = np.full(pieces.size, -1, np.int32)
    for i in range(n):
        entry[rows[i]] = i
    kept = 0
    edges = np.empty((n * count, 2), np.int32)
    lengths = np.empty(n * count)
    for i in range(n):
        one = rows[i]
        for j in range(count):
            other = lists[i, j]
            known = root_of(pieces, one) == root_of(pieces, other)
            if other < one:
                for t in range(count):
                    known = known or lists[entry[other], t] == one
            if not known:
                edges[kept, 0] = one
                edges[kept, 1] = other
                lengths[kept] = squares[i, j]
                kept += 1
    return edges[:kept], lengths[:kept]


@kernel
def _join(edges, order, links, pieces, start):
    """Take the edges in this order where they join loose ends of two pieces; count them."""
    joined = 0
    for e in order:
        one, other = edges[e, 0], edges[e, 1]
        if links[one, 1] >= 0 or links[other, 1] >= 0:
            continue
        if (one == start and links[one, 0] >= 0) or (other == start and links[other, 0] >= 0):
            continue
        piece, other_piece = root_of(pieces, one), root_of(pieces, other)
        if piece == other_piece:
            continue
        pieces[piece] = other_piece
        links[one, 0 if links[one, 0] < 0 else 1] = other
        links[other, 0 if links[other, 0] < 0 else 1] = one
        joined += 1
    return joined


@kernel
def _follow(links, start):
    path = np.empty(links.shape[0], np.int32)
    before, stop = -1, start
    for i in range(path.size):
        path[i] = stop
        after = links[stop, 0] if links[stop, 0] != before else links[stop, 1]
        before, stop = stop, after
    return path


@kernel(inline="always")
def _length(points, start, one, other):
    if one == points.shape[0] or other == points.shape[0]:
        return _BOUND if one == start or other == start else 0.0
    total = 0.0
    for a in range(points.shape[1]):
        away = points[one, a] - points[other, a]
        total += away * away
    return np.sqrt(total)


@kernel
def _search(
    points, lists, lengths, start, tour, place, ring, state, waiting, least_gain, log, shakes
):
    """Make moves around the waiting stops until none helps; after each shake, if there are any.

    A move is written p a..z q ... c f: the stretch a..z, which starts at the stop looked at, goes
    between c and f, either way round (Or-opt); or, with z = a and q = p, the edges a-p and c-f make
    way for a-c and p-f (2-opt). A shake is a move too, but a bad one. Without shakes, the search
    pauses after a good many moves. Returns how many were made.
    """
    size = tour.size
    count = lists.shape[1]
    swaps = np.empty((3, 4), np.int64)
    own = np.empty(9, np.int64)
    steps = np.empty(8)
    sides = np.empty((2, count), np.int64)
    side_steps = np.empty((2, count))
    freed = np.empty(3)
    made = 0
    shaking = shakes.shape[0] > 0
    for shake in range(max(1, shakes.shape[0])):
        gained = 0.0
        logged = 0
        kind = _NO_MOVE
        a, p, z, q, c, f = 0, 0, 0, 0, 0, 0
        if shaking:
            at = shakes[shake, 0]
            p, a = np.int64(tour[at]), np.int64(tour[(at + 1) % size])
            at += shakes[shake, 1]
            z, q = np.int64(tour[at % size]), np.int64(tour[(at + 1) % size])
            at += shakes[shake, 2]
            c, f = np.int64(tour[at % size]), np.int64(tour[(at + 1) % size])
            for one, other, sign in (
                (p, a, 1.0),
                (z, q, 1.0),
                (c, f, 1.0),
                (p, q, -1.0),
                (c, a, -1.0),
                (z, f, -1.0),
            ):
                gained += sign * _length(points, start, one, other)
            if gained < 0.5 * _BOUND:
                continue
            kind = _MOVE_STRETCH
        while True:
            if kind == _NO_MOVE:
                if state[1] == 0 or (made >= _MOVES_A_CALL and not shaking):
                    break
                a = np.int64(ring[state[0]])
                state[0] = state[0] + 1 if state[0] + 1 < size else 0
                state[1] -= 1
                waiting[a] = False
            else:
                turns = 1
                if kind == _SWAP_EDGES:
                    _write(swaps, 0, a, p, c, f)
                elif kind == _MOVE_STRETCH:
                    _write(swaps, 0, p, a, c, f)
                    _write(swaps, 1, p, c, q, z)
                    _write(swaps, 2, c, z, a, f)
                    turns = 3
                else:
                    _write(swaps, 0, p, a, f, c)
                    _write(swaps, 1, p, f, q, z)
                    turns = 2
                if not shaking:
                    logged = 0
                for i in range(turns):
                    # Edges 0-1 and 2-3 become 0-2 and 1-3: the stretch between them is turned
                    # round, or all the rest, which comes to the same in a ring.
                    first, last = np.int64(place[swaps[i, 1]]), np.int64(place[swaps[i, 2]])
                    if (place[swaps[i, 0]] + 1) % size != first:
                        first, last = last, first
                    inside = (last - first) % size + 1
                    if 2 * inside > size:
                        first = (last + 1) % size
                        inside = size - inside
                    log[logged, 0] = first
                    log[logged, 1] = inside
                    logged += 1
                    _turn(tour, place, first, inside)
                for stop in (p, z, q, c, f):
                    if stop != a and stop != size - 1 and not waiting[stop]:
                        waiting[stop] = True
                        ring[(state[0] + state[1]) % size] = stop
                        state[1] += 1
                made += 1
                kind = _NO_MOVE
                if a == size - 1:
                    continue
            at = np.int64(place[a])
            for i in range(9):
                own[i] = tour[(at - 4 + i) % size]
            for i in range(1, 7):
                steps[i] = _length(points, start, own[i], own[i + 1])
            best = least_gain
            ready = 0
            for side in (1, -1):
                ahead = own[4 + side]
                along = steps[4] if side == 1 else steps[3]
                widest = along
                for i in range(3):
                    freed[i] = along + (steps[3 - i] if side == 1 else steps[4 + i])
                    freed[i] -= _length(points, start, ahead, own[4 - side * (i + 1)])
                    widest = max(widest, freed[i])
                for t in range(count):
                    near = lengths[a, t]
                    if widest - near <= least_gain:
                        break
                    to = np.int64(lists[a, t])
                    if t == ready:
                        ready += 1
                        sides[0, t] = tour[(place[to] + 1) % size]
                        sides[1, t] = tour[(place[to] - 1) % size]
                        for i in range(2):
                            side_steps[i, t] = _length(points, start, to, sides[i, t])
                    # How far `to` lies behind a, on the way that the stretch takes.
                    behind = (at - place[to]) * side % size
                    if min(behind, size - behind) > _LONGEST_TURN:
                        continue
                    toward = 0 if side == 1 else 1
                    beside = sides[toward, t]
                    if along - near > least_gain and beside != a and to != ahead:
                        gain = along - near + side_steps[toward, t]
                        gain -= _length(points, start, ahead, beside)
                        if gain > best:
                            best, kind = gain, _SWAP_EDGES
                            p, z, q, c, f = ahead, a, ahead, to, beside
                    for i in range(min(3, behind)):
                        if freed[i] - near <= least_gain:
                            continue
                        end, after = own[4 - side * i], own[4 - side * (i + 1)]
                        for way in range(2):
                            beside = sides[way, t]
                            if (to == ahead and beside == a) or (to == after and beside == end):
                                continue
                            gain = freed[i] - near + side_steps[way, t]
                            gain -= _length(points, start, end, beside)
                            if gain > best:
                                best = gain
                                kind = _TURN_STRETCH if way == toward else _MOVE_STRETCH
                                p, z, q, c, f = ahead, end, after, to, beside
            if logged + 3 > log.shape[0]:
                kind = _NO_MOVE
            elif kind != _NO_MOVE:
                gained += best
        if shaking and gained < -least_gain:
            for entry in range(logged - 1, -1, -1):
                _turn(tour, place, np.int64(log[entry, 0]), np.int64(log[entry, 1]))
    return made


@kernel(inline="always")
def _write(swaps, i, one, two, three, four):
    swaps[i, 0] = one
    swaps[i, 1] = two
    swaps[i, 2] = three
    swaps[i, 3] = four


@inner
def _turn(tour, place, first, count):
    """Turn round `count` stops of the ring."""
    size = tour.size
    last = (first + count - 1) % size
    for _ in range(count // 2):
        one, other = tour[first], tour[last]
        tour[first] = other
        place[other] = first
        tour[last] = one
        place[one] = last
        first = first + 1 if first + 1 < size else 0
        last = last - 1 if last > 0 else size - 1


METHODS = (
    by_order(
        "tsp",
        "records along a short tour",
        "about O(n log n)",
        lambda task: order_by_tour(task.records, task.advance),
        "IMHMI, section 2.2 (FDM)",
    ),
)
