"""How much of a group's mean one record or entity contributes, by the definition."""


def largest_shares(amounts, labels, groups, weights, entities, missing):
    found = []
    for group in range(groups):
        rows = [i for i, label in enumerate(labels) if label == group and not missing[i]]
        weight = {i: weights[i] for i in rows}
        if sum(weight.values()) == 0:
            weight = dict.fromkeys(rows, 1.0)
        shares = [0.0]
        for part in (weight, {i: weight[i] * abs(amounts[i]) for i in rows}):
            total = sum(part.values())
            for who in {entities[i] for i in rows}:
                theirs = sum(part[i] for i in rows if entities[i] == who)
                shares.append(theirs / total if total else 0.0)
        found.append(max(shares))
    return found
