"""IGD with lists, and every distance and SSE computed when it is needed."""

import numpy as np


def sse_of(records, rows):
    group = records[rows]
    return float(((group - group.mean(axis=0)) ** 2).sum())


def grow_groups(records, rows, k):
    """Split a group of 2k or more; a smaller one stays."""
    rows = list(rows)
    if len(rows) < 2 * k:
        return [rows]
    groups = []
    while len(rows) >= k:
        centre = records[rows].mean(axis=0)
        seed = max(rows, key=lambda row: ((records[row] - centre) ** 2).sum())
        rows.remove(seed)
        group = [seed]
        while len(group) < k:
            centre = records[group].mean(axis=0)
            row = min(rows, key=lambda row: ((records[row] - centre) ** 2).sum())
            rows.remove(row)
            group.append(row)
        groups.append(group)
    for row in rows:
        nearest = min(groups, key=lambda g: ((records[row] - records[g].mean(axis=0)) ** 2).sum())
        nearest.append(row)
    return groups


def decompose(records, groups, k):
    """The groups after as many passes as it takes, in slots numbered as in the fast version."""
    slots = [part for group in groups for part in grow_groups(records, group, k)]
    slots += [[] for _ in range(len(records) // k - len(slots))]
    free = [slot for slot in reversed(range(len(slots))) if not slots[slot]]

    def nearest(row, own):
        others = [slot for slot in range(len(slots)) if slots[slot] and slot != own]
        centres = {slot: records[slots[slot]].mean(axis=0) for slot in others}
        return min(others, key=lambda slot: ((records[row] - centres[slot]) ** 2).sum())

    def split_large(slot):
        first, *rest = grow_groups(records, slots[slot], k)
        slots[slot] = first
        for part in rest:
            slots[free.pop()] = part

    def lower(after, before):
        return after < before * (1 - 1e-10)

    def dissolve(slot):
        targets = [nearest(row, slot) for row in slots[slot]]
        grown = {target: list(slots[target]) for target in targets}
        for row, target in zip(slots[slot], targets, strict=True):
            grown[target].append(row)
        added = sum(sse_of(records, grown[t]) - sse_of(records, slots[t]) for t in grown)
        if not lower(added, sse_of(records, slots[slot])):
            return False
        slots[slot] = []
        free.append(slot)
        for target, rows in grown.items():
            slots[target] = rows
        for target in grown:
            split_large(target)
        return True

    def shrink(slot):
        moved = False
        while len(slots[slot]) > k:
            options = []
            for row in slots[slot]:
                target = nearest(row, slot)
                others = [other for other in slots[slot] if other != row]
                leaving = sse_of(records, slots[slot]) - sse_of(records, others)
                joining = sse_of(records, [*slots[target], row]) - sse_of(records, slots[target])
                if lower(joining, leaving):
                    options.append((joining - leaving, row, target))
            if not options:
                break
            _, row, target = min(options, key=lambda option: option[0])
            slots[slot].remove(row)
            slots[target].append(row)
            split_large(target)
            moved = True
        return moved

    idle, passes = 0, 0
    while idle < 2:
        gained = False
        for slot in range(len(slots)):
            if len(free) < len(slots) - 1 and slots[slot]:
                gained |= shrink(slot) if passes % 2 else dissolve(slot)
        idle = 0 if gained else idle + 1
        passes += 1
    return [rows for rows in slots if rows]


def total_sse(records, groups):
    return float(np.sum([sse_of(records, group) for group in groups]))
