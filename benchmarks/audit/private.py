"""An empirical audit: do neighbouring tables ever look more than e^epsilon apart?

    python benchmarks/audit/private.py [--runs 60000]

Every method releases pairs of neighbouring tables many times, with real noise (see
`microagg.private.audit`). What is exceeded for certain, as a share of the epsilon asked for, must
stay within 1, and reach a floor: otherwise the audit is blind. Methods that promise something given
the partition only are tried in the groups of the first table; the counter-example then shows what
they do not promise, and that "insensitive" and "marginals" would fail just so if their rows were
linked. Writes benchmarks/results/private_audit as .csv and .md.
"""

import argparse
import sys
from dataclasses import replace
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))
from benchmarks.measuring import save, show
from microagg.private.audit import COUNTER_EXAMPLE, FLOOR, PAIRS, exceeded, pairs_for
from microagg.private.method import LINKED, PrivateMethod
from microagg.private.registry import all_methods

# With less, groups that adapt to epsilon hold all values of the counter-example.
EPSILON = 4.0


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--runs", type=int, default=60_000, help="releases of each table")
    runs = parser.parse_args().runs
    rows, faults = [], []
    for method in all_methods():
        found = {
            pair.name: exceeded(method, pair, EPSILON, runs, given_partition=not method.standard)
            for pair in pairs_for(method)
        }
        guarantee = "standard" if method.standard else "given the partition"
        shares = {name: epsilon / EPSILON for name, epsilon in found.items()}
        verdict = judged(shares)
        apart = counter_example(method, runs)
        if verdict != "kept" or (method.standard and apart > 1.0):
            faults.append(method.name)
        rows.append(row(method.name, guarantee, shares, apart, verdict))
        print(method.name, "done", file=sys.stderr, flush=True)
    for method in all_methods():
        if not method.rows.linked:
            apart = counter_example(replace(method, rows=LINKED), runs)
            verdict = "broken" if apart > 1.0 else "BLIND"
            faults += [method.name] if verdict == "BLIND" else []
            rows.append(row(f"{method.name}, if rows were linked", "none", {}, apart, verdict))
    header = ["method", "guarantee", *(p.name for p in PAIRS), COUNTER_EXAMPLE.name, "promise"]
    show(f"Exceeded for certain, as a share of epsilon = {EPSILON:g}", header, rows)
    save("private_audit", header, rows)
    sys.exit(f"broken, or not audited: {', '.join(faults)}" if faults else 0)


def judged(shares: dict[str, float]) -> str:
    if max(shares.values()) > 1.0:
        return "BROKEN"
    return "kept" if min(shares.values()) >= FLOOR else "BLIND"


def counter_example(method: PrivateMethod, runs: int) -> float:
    return exceeded(method, COUNTER_EXAMPLE, EPSILON, runs) / EPSILON


def row(
    name: str, guarantee: str, shares: dict[str, float], apart: float, verdict: str
) -> list[object]:
    told = [f"{shares[pair.name]:.2f}" if pair.name in shares else "" for pair in PAIRS]
    return [name, guarantee, *told, f"{apart:.2f}", verdict]


if __name__ == "__main__":
    main()
