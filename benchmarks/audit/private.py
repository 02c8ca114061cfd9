"""An empirical audit: do neighbouring tables ever look more than e^epsilon apart?

    python benchmarks/audit/private.py [--runs 2000]

Every method releases two neighbouring tables many times, with real noise. One half of the runs is
searched for the event whose probabilities differ the most; on the other half this one event is
counted, and Clopper-Pearson bounds at 99.9 % give an epsilon that the method provably exceeds. For
the methods with the standard guarantee it must stay below the epsilon asked for; if it comes near,
the audit has teeth. For those that hold given the partition only it must not: that is the
counter-example, and the last rows show that "insensitive" and "marginals" would fail just so if
their rows were linked. Writes benchmarks/results/private_audit as .csv and .md.
"""

import argparse
import math
import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path

import numpy as np
from scipy.stats import beta

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))
from benchmarks.measuring import save, show
from microagg.private import release
from microagg.private.domains import Range
from microagg.private.method import PrivateMethod, Task
from microagg.private.registry import WORD, all_methods

EPSILON = 1.0
# With less, groups that adapt to epsilon hold all four values, and there is nothing to see.
EPSILON_OF_ADAPTIVE = 4.0
BOUNDS = {"0": (0.0, 11.0)}
DOUBT = 0.001
QUANTILES = np.linspace(0.02, 0.98, 25)
# What one record's change does: moves groups, or moves one mean as far as it can.
PAIRS = {
    "counter-example": ([0.0, 1, 9, 10], [0.0, 11, 9, 10]),
    "far": ([0.0, 0, 0, 0], [0.0, 0, 0, 11]),
    "shift": ([0.0, 0, 11, 11], [11.0, 0, 11, 11]),
    "across": ([0.0, 4, 8, 11], [11.0, 4, 8, 11]),
}
Look = Callable[[list[float]], np.ndarray]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--runs", type=int, default=2000, help="releases of each table")
    runs = parser.parse_args().runs
    rows = []
    for method in all_methods():
        shown = {pair: audit(partial(look, method), pair, runs) for pair in PAIRS}
        guarantee = "standard" if method.standard else "given the partition"
        rows.append(row(method.name, guarantee, epsilon_of(method), shown))
        print(method.name, "done", file=sys.stderr, flush=True)
    for method in all_methods():
        if not method.rows.linked:
            shown = {pair: audit(partial(linked, method), pair, runs) for pair in PAIRS}
            rows.append(row(f"{method.name}, if rows were linked", "none", EPSILON, shown))
    header = ["method", "guarantee", "epsilon", *PAIRS, "within epsilon"]
    show("Epsilon that is exceeded for certain, by pair of tables", header, rows)
    save("private_audit", header, rows)
    broken = [line for line in rows if line[1] == "standard" and line[-1] != "yes"]
    sys.exit(f"{len(broken)} standard guarantees are broken" if broken else 0)


def epsilon_of(method: PrivateMethod) -> float:
    return EPSILON_OF_ADAPTIVE if method.groups_adapt else EPSILON


def row(name: str, guarantee: str, epsilon: float, found: dict[str, float]) -> list[object]:
    within = "yes" if all(exceeded <= epsilon for exceeded in found.values()) else "NO"
    return [name, guarantee, epsilon, *(f"{exceeded:.2f}" for exceeded in found.values()), within]


def look(method: PrivateMethod, table: list[float]) -> np.ndarray:
    """What a release of four values shows, in groups of two."""
    made = release(
        table,
        epsilon=epsilon_of(method),
        bounds=BOUNDS,
        method=method.name,
        k=method.only_k or 2,
        accept=WORD,
    )
    return made.marginals["0"].values if made.marginals else made.data


def linked(method: PrivateMethod, table: list[float]) -> np.ndarray:
    """The same, but row i told with the noisy mean of its group: what must not be published."""
    means = look(method, table)
    if method.rows.together:
        means = means[::2]
    task = Task(np.array(table)[:, np.newaxis], [Range(*BOUNDS["0"])], [EPSILON], 2)
    return means[method.group(task)[0].labels]


def audit(show_release: Look, pair: str, runs: int) -> float:
    """The greatest epsilon that is exceeded, with the confidence 1 - DOUBT."""
    one, two = (features(np.array([show_release(t) for _ in range(runs)])) for t in PAIRS[pair])
    half = runs // 2
    exceeded = 0.0
    for p, q in ((one, two), (two, one)):
        column, threshold, above = worst_event(p[:half], q[:half])
        hits = [int(((side[half:, column] >= threshold) == above).sum()) for side in (p, q)]
        rest = runs - half
        # Two bounds for each of two directions.
        low = beta.ppf(DOUBT / 4, hits[0], rest - hits[0] + 1) if hits[0] else 0.0
        high = beta.ppf(1 - DOUBT / 4, hits[1] + 1, rest - hits[1]) if hits[1] < rest else 1.0
        if low > 0.0:
            exceeded = max(exceeded, math.log(low / high))
    return exceeded


def features(releases: np.ndarray) -> np.ndarray:
    """Numbers to look at: all values, differences of neighbours, and who shares a value."""
    same = [releases[:, i] == releases[:, j] for i in range(releases.shape[1]) for j in range(i)]
    total = releases.sum(axis=1, keepdims=True)
    return np.column_stack([releases, np.diff(releases, axis=1), total, *same]).astype(float)


def worst_event(p: np.ndarray, q: np.ndarray) -> tuple[int, float, bool]:
    """The feature, threshold and side whose share differs the most, rare events set aside."""
    best, found = -1.0, (0, 0.0, True)
    for column in range(p.shape[1]):
        for threshold in np.unique(np.quantile(np.r_[p[:, column], q[:, column]], QUANTILES)):
            for above in (True, False):
                shares = [((side[:, column] >= threshold) == above).mean() for side in (p, q)]
                # A few standard deviations to the safe side, so that luck does not choose.
                ratio = (shares[0] - 3 * math.sqrt(shares[0] / len(p))) / (
                    shares[1] + 3 * math.sqrt((shares[1] + 1 / len(q)) / len(q))
                )
                if ratio > best:
                    best, found = ratio, (column, float(threshold), above)
    return found


if __name__ == "__main__":
    main()
