"""How diverse a confidential column is among records that share their keys."""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from microagg.measure.anonymity import AmongAll, WithinClasses

# c of recursive (c, l)-diversity, as sdcMicro has it.
RECURSIVE = 2.0


class Diversity(NamedTuple):
    """l by record, in three ways (Machanavajjhala and others 2007); 1 is none at all.

    distinct: the number of different values. entropy: exp(-sum p ln p) over their shares p.
    recursive: with r_1 >= r_2 >= ... times that each occurs, the largest l with
    r_1 < c (r_l + r_l+1 + ...), c = 2. No value is one of the values.
    """

    distinct: NDArray[np.int64]
    entropy: NDArray[np.float64]
    recursive: NDArray[np.int64]

    def to_dict(self) -> dict[str, Any]:
        """The least of each, and how many records share their one single value."""
        return {
            "distinct": int(self.distinct.min()),
            "entropy": float(self.entropy.min()),
            "recursive": int(self.recursive.min()),
            "disclosed": int((self.distinct == 1).sum()),
        }


def diversity(labels: NDArray[np.int64], codes: NDArray) -> Diversity:
    """By the combination of keys of each record, and the code of its value. O(n log n) time."""
    _, ranks, counts = np.unique(codes, return_inverse=True, return_counts=True)
    within = WithinClasses(AmongAll(counts, ordered=False), labels, ranks.astype(np.int64))
    return Diversity(
        within.distinct()[labels], within.entropy()[labels], _recursive(within)[labels]
    )


def _recursive(within: WithinClasses) -> NDArray[np.int64]:
    """1 and as many values after the first as still have enough records, they and the rarer."""
    counts = within.counts[np.lexsort((-within.counts, within.groups))]
    up_to = np.cumsum(counts) - counts
    ends = np.append(up_to[within.firsts][1:], counts.sum())
    from_here = ends[within.groups] - up_to
    enough = RECURSIVE * from_here > counts[within.firsts][within.groups]
    enough[within.firsts] = True
    return np.bincount(within.groups, enough).astype(np.int64)
