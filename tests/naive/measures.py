"""Every measure once more, by its definition: rows, loops and n x n distances."""

import math

import numpy as np


def varying(X):
    return [a for a in range(X.shape[1]) if X[:, a].min() < X[:, a].max()]


def scores(X, R):
    """z-scores of both by the original's mean and deviation, columns that vary only."""
    kept = varying(X)
    X, R = X[:, kept] - X[0, kept], R[:, kept] - X[0, kept]
    mean, deviation = X.mean(axis=0), X.std(axis=0)
    return (X - mean) / deviation, (R - mean) / deviation


def linkage(X, R, known=None):
    """(percent, expected, by class, rows), with all distances in sight."""
    n = len(X)
    kept = [a for a in varying(X) if known is None or a in known]
    correct, expected, by_class, rows = 0, 0.0, 0.0, []
    classes = [tuple((R[i, kept] + 0.0).tolist()) for i in range(n)]
    deviations = [
        math.sqrt(((X[:, a] - X[0, a] - (X[:, a] - X[0, a]).mean()) ** 2).mean()) for a in kept
    ]
    for i in range(n):
        squares = np.zeros(n)
        for a, deviation in zip(kept, deviations, strict=True):
            squares += ((R[:, a] - X[i, a]) * (1.0 / deviation)) ** 2
        tied = np.flatnonzero(squares == squares.min())
        rows.append(tied[0])
        correct += tied[0] == i
        expected += 1.0 / tied.size if i in tied else 0.0
        by_class += 1.0 / len({classes[j] for j in tied}) if i in tied else 0.0
    return 100.0 * correct / n, 100.0 * expected / n, 100.0 * by_class / n, rows


def interval(X, R, width, basis, links=None):
    """The percentage at risk of each column; None where the column does not vary."""
    n = len(X)
    links = range(n) if links is None else links
    shares = []
    for a in range(X.shape[1]):
        x = X[:, a].tolist()
        if min(x) == max(x):
            shares.append(None)
            continue
        close = 0
        for i in range(n):
            y = R[links[i], a]
            if basis == "rank":
                middle = [(sum(v < w for v in x) + sum(v <= w for v in x)) / 2 for w in (x[i], y)]
                close += abs(middle[0] - middle[1]) <= width / 100 * n
            elif basis == "range":
                close += abs(x[i] - y) <= width / 100 * (max(x) - min(x))
            else:
                close += abs(x[i] - y) <= width / 100 * np.std(X[:, a] - X[0, a])
        shares.append(100.0 * close / n)
    return shares


def transparent(X, R, width, distance, importance, alpha, relative=False):
    """The percentage guessed of each column that varies."""
    Z, Y = scores(X, R)
    kept = varying(X)
    distance = np.broadcast_to(distance, X.shape)[:, kept]
    importance = np.broadcast_to(importance, X.shape)[:, kept]
    shares = []
    for a in range(Z.shape[1]):
        right = [0] * 5
        for z, y, asked, weight in zip(
            Z[:, a], Y[:, a], distance[:, a], importance[:, a], strict=True
        ):
            guesses = [y] * 5
            if alpha > 0:
                less = (1 - alpha) * (1 - weight) ** 2 / (2 * alpha)
                # Of C: (y - C)^2 = asked^2 C^2 - less, or = asked^2 - less.
                bend = 1 - asked**2 if relative else 1.0
                rest = y * y + less - (0.0 if relative else asked**2)
                inside = y * y - bend * rest
                if inside >= 0 and bend != 0:
                    low, high = (y - math.sqrt(inside)) / bend, (y + math.sqrt(inside)) / bend
                    guesses = [y, low, high, *sorted((low, high), key=abs)]
            for place, guess in enumerate(guesses):
                right[place] += abs(z - guess) <= width / 100
        shares.append(100.0 * max(right) / len(Z))
    return shares


def satisfaction(X, R, distance, importance, relative):
    kept = varying(X)
    Z, Y = scores(X, R)
    distance = np.broadcast_to(distance, X.shape)[:, kept]
    importance = np.broadcast_to(importance, X.shape)[:, kept]
    satisfied = total = 0.0
    for cell in np.ndindex(Z.shape):
        asked = distance[cell] * (abs(Z[cell]) if relative else 1.0)
        satisfied += importance[cell] * (abs(Z[cell] - Y[cell]) >= asked)
        total += importance[cell]
    return 100.0 * satisfied / total if total else 100.0


def class_sets(columns):
    """Rows that agree in every column, as a set of sets."""
    members = {}
    for i in range(len(columns[0])):
        key = tuple("nan" if column[i] != column[i] else column[i].item() for column in columns)
        members.setdefault(key, set()).add(i)
    return {frozenset(rows) for rows in members.values()}


def diversity(values, labels):
    """(distinct, entropy) of each group."""
    found = []
    for g in range(max(labels) + 1):
        inside = [v for v, label in zip(values, labels, strict=True) if label == g]
        shares = [inside.count(v) / len(inside) for v in set(inside)]
        found.append((len(shares), math.exp(-sum(p * math.log(p) for p in shares))))
    return found


def recursive(values, labels, least):
    """The commonest of each group over all but the least - 1 commonest; infinite over none."""
    found = []
    for g in range(max(labels) + 1):
        inside = [v for v, label in zip(values, labels, strict=True) if label == g]
        counts = sorted((inside.count(v) for v in set(inside)), reverse=True)
        rest = sum(counts[least - 1 :])
        found.append(counts[0] / rest if rest else math.inf)
    return found


def span(values, labels):
    """From the least to the largest number of each group; None is no number."""
    found = []
    for g in range(max(labels) + 1):
        numbers = [
            v for v, label in zip(values, labels, strict=True) if label == g and v is not None
        ]
        found.append(max(numbers) - min(numbers) if numbers else 0.0)
    return found


def similar(values, labels, within):
    """The largest share of each group within a distance of one of its numbers; None is alike."""
    found = []
    for g in range(max(labels) + 1):
        inside = [v for v, label in zip(values, labels, strict=True) if label == g]
        numbers = [v for v in inside if v is not None]
        counts = [sum(abs(other - v) <= within for other in numbers) for v in numbers]
        found.append(max([*counts, inside.count(None)]) / len(inside))
    return found


def alone(values, labels):
    """How many records are in a group that has one value only."""
    return sum(
        len({v for v, other in zip(values, labels, strict=True) if other == label}) == 1
        for label in labels
    )


def closeness(values, labels, ordered):
    """The distance of each group from all."""
    n, distinct = len(values), sorted(set(values))
    found = []
    for g in range(max(labels) + 1):
        inside = [v for v, label in zip(values, labels, strict=True) if label == g]
        apart = [inside.count(v) / len(inside) - values.count(v) / n for v in distinct]
        if ordered:
            moved = sum(abs(sum(apart[: i + 1])) for i in range(len(distinct)))
            found.append(moved / max(1, len(distinct) - 1))
        else:
            found.append(sum(map(abs, apart)) / 2)
    return found


def loss(X, R):
    Z, Y = scores(X, R)
    return [100.0 * ((Z[:, a] - Y[:, a]) ** 2).sum() / len(Z) for a in range(Z.shape[1])]


def il1s(X, R):
    Z, Y = scores(X, R)
    return float(np.abs(Z - Y).mean() / math.sqrt(2.0)) if Z.size else 0.0


def quantile(x, twentieths):
    """The least value that at least so many twentieths of all do not exceed."""
    for value in sorted(x):
        if 20 * sum(v <= value for v in x) >= twentieths * len(x):
            return value
    raise AssertionError


def correlation(x, y):
    x, y = x - x.mean(), y - y.mean()
    norm = math.sqrt((x * x).sum()) * math.sqrt((y * y).sum())
    return float((x * y).sum() / norm) if norm > 1e-12 * len(x) else 0.0


def changes(X, R):
    """means, variances, quantiles, totals of columns that vary; |r' - r| of their pairs."""
    Z, Y = scores(X, R)
    kept = varying(X)
    d = len(kept)
    means = [100.0 * Y[:, a].mean() for a in range(d)]
    variances = [100.0 * (Y[:, a].var() - 1.0) for a in range(d)]
    quantiles = [
        sum(5.0 * 20 / 19 * abs(quantile(Y[:, a], q) - quantile(Z[:, a], q)) for q in range(1, 20))
        for a in range(d)
    ]
    totals = [100.0 * (R[:, a] - X[:, a]).sum() / np.abs(X[:, a]).sum() for a in kept]
    apart = [
        abs(correlation(Y[:, s], Y[:, t]) - correlation(Z[:, s], Z[:, t]))
        for s in range(d)
        for t in range(s)
    ]
    return means, variances, quantiles, totals, apart


def eigenvalue_distance(X, R):
    Z, Y = scores(X, R)
    before = sorted(np.linalg.eigvals(np.cov(Z.T, bias=True).reshape(Z.shape[1], -1)).real)
    after = sorted(np.linalg.eigvals(np.cov(Y.T, bias=True).reshape(Z.shape[1], -1)).real)
    return 100.0 * sum(abs(a - b) for a, b in zip(after, before, strict=True)) / sum(before)


def probabilistic_loss(X, R):
    """The five parts; the last two are None for one column."""
    Z, Y = scores(X, R)
    n, d = Z.shape

    def cost(apart, n_times_variance):
        if abs(apart) <= 1e-12:
            return 0.0
        if n_times_variance <= 1e-12:
            return 100.0
        return 100.0 * math.erf(abs(apart) / math.sqrt(2.0 * n_times_variance / n))

    quantiles, means, variances, covariances, correlations = [], [], [], [], []
    for s in range(d):
        z, y = Z[:, s], Y[:, s]
        for twentieths in range(1, 20):
            share = twentieths / 20
            # Compared in the raw units, where values that are equal are equal.
            x, found = X[:, varying(X)[s]], quantile(R[:, varying(X)[s]], twentieths)
            below, upto = sum(x < found) / n, sum(x <= found) / n
            quantiles.append(cost(max(0.0, below - share, share - upto), share * (1 - share)))
        means.append(cost(y.mean(), 1.0))
        variances.append(cost(y.var() - 1.0, (z**4).mean() - 1.0))
        for t in range(s):
            w, v = Z[:, t], Y[:, t]
            rho = correlation(z, w)
            apart = ((y - y.mean()) * (v - v.mean())).mean() - (z * w).mean()
            covariances.append(cost(apart, (z**2 * w**2).mean() - (z * w).mean() ** 2))
            spread = ((z * w - rho * (z**2 + w**2) / 2) ** 2).mean()
            correlations.append(cost(correlation(y, v) - rho, spread))
    parts = [quantiles, means, variances, covariances, correlations]
    return [float(np.mean(part)) if part else None for part in parts]
