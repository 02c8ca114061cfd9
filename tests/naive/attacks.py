"""Every attack once more, by its definition: loops over people, rows and guesses."""

import itertools
import math


def within(x, y, reach):
    return not (math.isnan(x) or math.isnan(y)) and abs(x - y) <= reach


def told_by_member(x, y, asked, labels, reach):
    """The chance that a row drawn from the class asked for tells each original."""
    chances = []
    for i in range(len(x)):
        members = [y[j] for j in range(len(y)) if labels[j] == asked[i]]
        right = sum(within(x[i], value, reach) for value in members)
        chances.append(right / len(members) if members else 0.0)
    return chances


def best_guess(x, y, labels, reach):
    """Whose original the best guess for the class tells: how many of each class, at most."""
    told = {}
    for group in set(labels):
        members = [y[j] for j in range(len(y)) if labels[j] == group and not math.isnan(y[j])]
        # A best guess can be moved down until its stretch ends at a member.
        counts = [
            sum(within(v, top - reach, reach * (1 + 1e-12)) for v in members) for top in members
        ]
        told[group] = max(counts, default=0)
    return told


def monotone(values):
    """The largest of the least means of stretches around each place."""
    n = len(values)

    def mean(a, b):
        return sum(values[a : b + 1]) / (b + 1 - a)

    return [max(min(mean(a, b) for b in range(i, n)) for a in range(i + 1)) for i in range(n)]


def least_assignment(X, R):
    """The least sum of squares over all assignments of originals to released records."""
    n = len(X)
    costs = [[sum((a - b) ** 2 for a, b in zip(x, r, strict=True)) for r in R] for x in X]
    return min(
        sum(costs[i][j] for i, j in enumerate(order)) for order in itertools.permutations(range(n))
    )


def alone(labels, old_labels, rows, marks, old_marks):
    """The only candidate of each person, -1 if there is another number of them."""
    found = []
    for i in range(len(labels)):
        if rows[i] < 0:
            found.append(-1)
            continue
        twins = {
            old_marks[e] for e in range(len(old_labels)) if old_labels[e] == old_labels[rows[i]]
        }
        left = [j for j in range(len(labels)) if labels[j] == labels[i] and marks[j] in twins]
        found.append(left[0] if len(left) == 1 else -1)
    return found


def candidates_of(i, labels, old_labels, rows, marks, old_marks):
    if rows[i] < 0:
        return []
    twins = {old_marks[e] for e in range(len(old_labels)) if old_labels[e] == old_labels[rows[i]]}
    return [j for j in range(len(labels)) if labels[j] == labels[i] and marks[j] in twins]


def last_member(x, y, labels, i):
    """What follows of i's value from the mean of its class and all other members."""
    others = [x[j] for j in range(len(x)) if labels[j] == labels[i] and j != i]
    others = [value for value in others if not math.isnan(value)]
    return (len(others) + 1) * y[i] - sum(others)


def guess(y, labels, group, reach):
    """The middle of the densest stretch of a class's values, the lowest of such, and whether that
    holds everybody of the class."""
    members = [y[j] for j in range(len(y)) if labels[j] == group]
    values = sorted(value for value in members if not math.isnan(value))
    best, middle = 0, math.nan
    for low in values:
        stretch = [value for value in values if low <= value and value - low <= 2 * reach]
        if len(stretch) > best:
            best, middle = len(stretch), (low + max(stretch)) / 2
    return middle, best == len(members)


def inferred(x, y, labels, reach):
    """Whose value the best guess for the class tells, and of whom that is certain."""
    told, certain = [], []
    for i in range(len(x)):
        middle, sure = guess(y, labels, labels[i], reach)
        told.append(within(x[i], middle, reach * (1 + 1e-12)))
        certain.append(told[-1] and sure)
    return told, certain


def curve(y):
    """The nearest monotone curve through those that have a value; the rising one if both are."""
    shown = [value for value in y if not math.isnan(value)]
    rising = monotone(shown)
    falling = [-value for value in monotone([-value for value in shown])]

    def misfit(fitted):
        return sum((a - b) ** 2 for a, b in zip(shown, fitted, strict=True))

    left = iter(rising if misfit(rising) <= misfit(falling) else falling)
    return [math.nan if math.isnan(value) else next(left) for value in y]


def shares_of_best_assignments(X, R, looks):
    """The shares of records that are rightly assigned, of every assignment that costs least."""
    n, least = len(X), least_assignment(X, R)
    found = set()
    for order in itertools.permutations(range(n)):
        cost = sum(
            sum((a - b) ** 2 for a, b in zip(X[i], R[j], strict=True)) for i, j in enumerate(order)
        )
        if cost <= least + 1e-9:
            right = sum(
                1 / looks.count(looks[i]) for i, j in enumerate(order) if looks[i] == looks[j]
            )
            found.add(round(right / n, 9))
    return found
