"""Whether groups respect strata and entities, counted one record after the other."""

from collections import defaultdict


def units_in_groups(labels, entities=None):
    """How many different units each group has."""
    units = defaultdict(set)
    for row, label in enumerate(labels):
        units[label].add(row if entities is None else entities[row])
    return [len(units[label]) for label in sorted(units)]


def groups_of_each(labels, keys):
    """For each key the groups in which its records are."""
    found = defaultdict(set)
    for label, key in zip(labels, keys, strict=True):
        found[key].add(label)
    return found


def crossing(labels, strata):
    """How many groups have records of more than one stratum."""
    found = defaultdict(set)
    for label, stratum in zip(labels, strata, strict=True):
        found[label].add(stratum)
    return sum(len(each) > 1 for each in found.values())
