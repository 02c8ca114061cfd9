"""A program of other people counts what releases with demands beyond k promise, on all of Adult.

    python benchmarks/audit/demands.py [--quick] [METHOD]

Quasi-identifiers of mixed kinds; `prediction`, `occupation` and `hours-per-week` are confidential.
k is 3 or 10; l is 2 or 3, of distinct, entropy and recursive diversity (`prediction` has but two
values); t is 0.3 or 0.15 for all three. Every release is made in memory and on disk, by a brief
search. pycanon counts k, distinct and entropy l, and t; what it calls recursive is of the rarest
value in the place of the commonest, so that is written out on pandas. A release whose rows are
those of the other engine is not judged twice. The program fails where a certificate says something
else. METHOD instead of a search; with --quick, 2,000 records by MDAV. Needs `make judge`.
Writes benchmarks/results/demands_judged as .csv and .md.
"""

import itertools
import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))
import microagg
from benchmarks.data import find
from benchmarks.measuring import save, show

QUICK = "--quick" in sys.argv
METHOD = next((name for name in sys.argv[1:] if name != "--quick"), "mdav" if QUICK else "auto")
KNOWN = ["age", "workclass", "education", "marital-status", "race", "sex", "native-country"]
SECRETS = ["prediction", "occupation", "hours-per-week"]
HAIR = 1e-9

JUDGE = """
import json, sys
import pandas
from pycanon import anonymity

path, known, secrets = sys.argv[1], *map(json.loads, sys.argv[2:])
table = pandas.read_csv(path, keep_default_na=False)
classes = [rows for _, rows in table.groupby(known, dropna=False)]
told = {"k": int(anonymity.k_anonymity(table, known)), "classes": len(classes)}
for name in secrets:
    counts = [sorted(rows[name].value_counts(), reverse=True) for rows in classes]
    told[name] = {
        "distinct": int(anonymity.l_diversity(table, known, [name])),
        "entropy": int(anonymity.entropy_l_diversity(table, known, [name])),
        "recursive": {
            l: max(each[0] / max(1e-300, sum(each[l - 1 :])) for each in counts) for l in (2, 3)
        },
        "t": float(anonymity.t_closeness(table, known, [name])),
    }
print(json.dumps(told))
"""


def main() -> None:
    home = Path(__file__).resolve().parents[2] / ".venv-judge"
    judge = Path(os.environ.get("MICROAGG_JUDGE", home / "bin" / "python"))
    adult = find("adult")
    if adult is None or not judge.exists():
        sys.exit("this needs reference data 'adult' (MICROAGG_DATA) and pycanon (make judge)")
    rows = []
    with tempfile.TemporaryDirectory() as folder:
        source = adult
        if QUICK:
            source = Path(folder) / "adult.csv"
            lines = adult.read_text(encoding="utf-8").splitlines(keepends=True)
            source.write_text("".join(lines[:2001]), encoding="utf-8")
        for k, l, t in itertools.product((3, 10), (2, 3), (0.3, 0.15)):  # noqa: E741
            rows.append(judged(source, Path(folder), judge, k, l, t))
            print(*rows[-1], sep="  ", file=sys.stderr, flush=True)
    header = ("k", "l", "t", "k found", "least l of occupation: distinct", "entropy",
              "largest ratio of hours-per-week", "largest t", "classes", "loss %",
              "pycanon agrees", "same on disk")  # fmt: skip
    show("pycanon on releases of Adult with demands beyond k", header, rows)
    save("demands_judged", header, rows)


def asked(k: int, l: int, t: float) -> dict[str, Any]:  # noqa: E741
    """Settings that demand every kind of diversity, and closeness, of three columns."""
    return {
        "k": k,
        "quasi_identifiers": KNOWN,
        # Certificates are judged here and not losses, and nine demands take a search long.
        **({"effort": "brief"} if METHOD in ("auto", "search") else {}),
        "diversity": {
            "prediction": [2, {"l": 2, "kind": "recursive", "c": 8}],
            "occupation": [l, {"l": l, "kind": "entropy"}],
            "hours-per-week": [l, {"l": l, "kind": "recursive", "c": 4}],
        },
        "closeness": dict.fromkeys(SECRETS, t),
        "method": METHOD,
        "progress": False,
    }


def judged(
    source: Path,
    folder: Path,
    judge: Path,
    k: int,
    l: int,  # noqa: E741
    t: float,
) -> list[object]:
    """A row: what was found on two engines, and whether both agree with pycanon."""
    certified, found, texts = {}, {}, {}
    loss = 0.0
    for engine in ("memory", "disk"):
        path = folder / f"{engine}.csv"
        with microagg.protect(source, engine=engine, **asked(k, l, t)) as release:
            certified[engine] = release.write(path, force=True).to_dict()
            loss = release.record.information_loss
        texts[engine] = sorted(path.read_text(encoding="utf-8").splitlines())
        if engine == "disk" and texts["disk"] == texts["memory"]:
            found["disk"] = found["memory"]
            continue
        arguments = [str(path), json.dumps(KNOWN), json.dumps(SECRETS)]
        done = subprocess.run(
            [judge, "-c", JUDGE, *arguments], capture_output=True, text=True, check=True
        )
        found[engine] = json.loads(done.stdout)
    wrong = [
        each
        for engine in certified
        for each in differences(certified[engine], found[engine], k, engine)
    ]
    if wrong:
        sys.exit("pycanon finds something else: " + "; ".join(wrong))
    own = found["memory"]
    return [k, l, t, own["k"], own["occupation"]["distinct"], own["occupation"]["entropy"],
            f"{own['hours-per-week']['recursive'][str(l)]:.3f}",
            f"{max(own[name]['t'] for name in SECRETS):.4f}", own["classes"], f"{loss:.2f}", "yes",
            "yes" if texts["disk"] == texts["memory"] else "no"]  # fmt: skip


def differences(
    certificate: dict[str, Any], theirs: dict[str, Any], k: int, engine: str
) -> list[str]:
    """What a certificate says and somebody else does not find, or what is not kept."""
    checks = [
        ("verdict", certificate["verdict"] == "passed"),
        ("k", theirs["k"] == certificate["k"]["found"] >= k),
    ]
    stated = [each for check in certificate["checks"] for each in check.get("found", ())]
    checks.append(("all demands are stated", len(stated) == 9))
    for each in stated:
        column, limits, figure = theirs[each["column"]], each["asked"], each["found"]
        if "t" in limits:
            kept = column["t"] <= limits["t"] + HAIR
            same = abs(column["t"] - figure) < HAIR
        elif limits["kind"] == "distinct":
            kept, same = column["distinct"] >= limits["l"], column["distinct"] == figure
        elif limits["kind"] == "entropy":
            # It says how many whole values that is.
            kept = column["entropy"] >= limits["l"] or figure >= limits["l"] - HAIR
            same = column["entropy"] - HAIR <= figure < column["entropy"] + 1 + HAIR
        else:
            ratio = column["recursive"][str(limits["l"])]
            kept, same = ratio < limits["c"], abs(ratio - figure) < HAIR * max(1.0, ratio)
        checks.append((f"{each['column']} {limits} in {engine}", kept and same))
    return [name for name, holds in checks if not holds]


if __name__ == "__main__":
    main()
