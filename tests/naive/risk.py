"""Every figure of a table's risk once more, by its definition: records compared one by one.

Records are tuples of keys; None is no value.
"""

import math
from itertools import combinations


def agree(one, other, wildcards):
    return all(
        a == b or (wildcards and (a is None or b is None)) for a, b in zip(one, other, strict=True)
    )


def frequencies(records, weights, wildcards=False):
    """f and F of each record."""
    sample, population = [], []
    for one in records:
        alike = [j for j, other in enumerate(records) if agree(one, other, wildcards)]
        sample.append(len(alike))
        population.append(sum(weights[j] for j in alike))
    return sample, population


def individual(f, F):
    """Benedetti and Franconi, as written."""
    p = f / F
    if p >= 1:
        return 1 / f
    if f == 1:
        return p / (1 - p) * math.log(1 / p)
    if f == 2:
        return p / (1 - p) - (p / (1 - p)) ** 2 * math.log(1 / p)
    return p / (f - (1 - p))


def expected(f, p, terms=400):
    """E(1 / F) where F is negative binomial from f on: sum over F of P(F) / F."""
    return sum(
        math.comb(total - 1, f - 1) * p**f * (1 - p) ** (total - f) / total
        for total in range(f, f + terms)
    )


def household(risks, households):
    found = []
    for mine in households:
        safe = 1.0
        for risk, theirs in zip(risks, households, strict=True):
            if theirs == mine:
                safe *= 1.0 - risk
        found.append(1.0 - safe)
    return found


def minimal_uniques(records, largest, wildcards=False):
    """For each record the sets of columns that single it out, and no subset of which does."""
    columns = len(records[0])
    found = []
    for i, record in enumerate(records):
        own = []
        for size in range(1, largest + 1):
            for chosen in combinations(range(columns), size):
                if any(set(smaller) <= set(chosen) for smaller in own):
                    continue
                values = [record[column] for column in chosen]
                if wildcards and None in values:
                    continue
                if all(
                    j == i or [other[column] for column in chosen] != values
                    for j, other in enumerate(records)
                ):
                    own.append(chosen)
        found.append(own)
    return found


def suda(records, largest, wildcards=False):
    """The score of each record."""
    columns = len(records[0])
    return [
        sum(
            math.prod(columns - i for i in range(len(chosen), min(largest, columns - 1) + 1))
            for chosen in own
        )
        for own in minimal_uniques(records, largest, wildcards)
    ]


def dis(scores, records, columns):
    """DIS of each record, but for the precision of two factors."""
    times = [records.count(record) for record in records]
    unique, paired = times.count(1), times.count(2)
    overall = 0.01 * unique / (0.01 * unique + 0.99 * paired)
    q = 1 + (8 - columns) / 20
    total = sum(score**-q for score in scores if score)
    return [
        1 / (1 + unique * (1 / overall - 1) / (score**q * total)) if score else 0.0
        for score in scores
    ]


def separation(values):
    pairs = list(combinations(values, 2))
    return 100 * sum(a != b for a, b in pairs) / len(pairs) if pairs else 0.0


def pitman_likelihood(sizes, theta, alpha):
    """The logarithm of Pitman's sampling formula: records come one by one, to a class or a new."""
    total, logarithm = 0, 0.0
    for classes, size in enumerate(sizes):
        for already in range(size):
            chance = (theta + classes * alpha) if already == 0 else (already - alpha)
            logarithm += math.log(chance / (theta + total)) if total else 0.0
            total += 1
    return logarithm


def pitman_alone(theta, alpha, population):
    """The chance that none of the others joins the first record."""
    alone = 1.0
    for i in range(1, population):
        alone *= (theta + alpha + i - 1) / (theta + i)
    return alone


def zayatz(sizes, population):
    """Bayes' rule, with the chance that one of j is in the sample of n among N."""
    n = sum(sizes)

    def chance(j):
        return j * math.comb(population - j, n - 1) / math.comb(population, n)

    shares = {j: sizes.count(j) / len(sizes) for j in set(sizes)}
    given = shares[1] * chance(1) / sum(share * chance(j) for j, share in shares.items())
    return sizes.count(1) / n * given


def population_uniques(sizes, population):
    """The share of the records that are likely to be unique, of a sample above a tenth."""
    n, alone = sum(sizes), sizes.count(1)
    if population <= n or alone in (0, n):
        return alone / n
    return zayatz(sizes, population)


def recursive(values, c=2):
    """The largest l with r_1 < c (r_l + ...), at least 1."""
    times = sorted((values.count(value) for value in set(values)), reverse=True)
    found = [at for at in range(2, len(times) + 1) if times[0] < c * sum(times[at - 1 :])]
    return max(found, default=1)
