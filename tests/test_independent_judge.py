"""A program of other people counts k on what was written, and agrees.

pycanon pins versions of NumPy and pandas, so it lives in an environment of its own.
"""

import csv
import json
import os
import random
import subprocess
from itertools import islice
from pathlib import Path

import pytest

import microagg
from tests.reference import folder

NAMES = (
    "age",
    "workclass",
    "education",
    "marital-status",
    "occupation",
    "race",
    "sex",
    "hours-per-week",
    "native-country",
)
JUDGE = """
import json, sys
import pandas
from pycanon import anonymity

table = pandas.read_csv(sys.argv[1], dtype=str, keep_default_na=False)
known = json.loads(sys.argv[2])
secret = json.loads(sys.argv[3])
print(json.dumps({
    "k": anonymity.k_anonymity(table, known),
    "l": anonymity.l_diversity(table, known, secret),
    "t": anonymity.t_closeness(table, known, secret),
}))
"""


def judged(path, confidential):
    """What pycanon finds, or a skipped test."""
    home = Path(__file__).resolve().parents[1] / ".venv-judge"
    python = Path(os.environ.get("MICROAGG_JUDGE", home / "bin" / "python"))
    if not python.exists():
        pytest.skip("no pycanon: `make judge` installs it")
    arguments = [str(path), json.dumps(NAMES), json.dumps([confidential])]
    done = subprocess.run(
        [python, "-c", JUDGE, *arguments], capture_output=True, text=True, check=True
    )
    return json.loads(done.stdout)


@pytest.fixture(scope="module")
def adult(tmp_path_factory):
    """The first records of the Adult data as a file."""
    home = folder()
    if home is None or not (home / "adult.csv").exists():
        pytest.skip("reference data 'adult' not found; set MICROAGG_DATA to its folder")
    path = tmp_path_factory.mktemp("judge") / "adult.csv"
    with (home / "adult.csv").open(newline="") as source, path.open("w", newline="") as target:
        csv.writer(target, lineterminator="\n").writerows(islice(csv.reader(source), 3001))
    return path


@pytest.mark.parametrize("k", [3, 10])
def test_pycanon_counts_the_same_k(adult, tmp_path, k):
    release = microagg.protect(adult, k=k, quasi_identifiers=NAMES, method="mdav")
    path = tmp_path / "release.csv"
    certificate = release.write(path)
    with path.open(newline="") as stream:
        confidential = csv.DictReader(stream).fieldnames[-1]
    found = judged(path, confidential)
    assert found["k"] == certificate.k_found >= k
    assessed = microagg.assess(
        adult, path, record=release.record, quasi_identifiers=NAMES, confidential=confidential
    )
    assert assessed.k_found == found["k"]
    measured = assessed.to_dict()["confidential"][confidential]
    assert measured["diversity"]["distinct"]["least"] == found["l"]
    assert measured["closeness"]["largest"] == pytest.approx(found["t"])


def test_pycanon_finds_somebody_alone_in_the_original(adult):
    with adult.open(newline="") as stream:
        confidential = csv.DictReader(stream).fieldnames[-1]
    found = judged(adult, confidential)
    assert found["k"] == 1
    risk = microagg.risk(adult, NAMES, confidential=confidential, largest=0)
    assert risk.frequency.min() == found["k"]
    assert risk.diversity[confidential].distinct.min() == found["l"]


# What an intruder knows, of mixed kinds, and what demands are about: two values, texts, numbers.
KNOWN = ["age", "workclass", "education", "marital-status", "race", "sex", "native-country"]
SECRETS = ["prediction", "occupation", "hours-per-week"]
# What pycanon calls recursive (c, l) is of the rarest value in the place of the commonest, so its
# own definition is written out here, on pandas.
DEMANDS = """
import json, sys
import pandas
from pycanon import anonymity

known, secrets, paths = map(json.loads, sys.argv[1:4])
told = {}
for path in paths:
    table = pandas.read_csv(path, keep_default_na=False)
    classes = [rows for _, rows in table.groupby(known, dropna=False)]
    told[path] = {"k": int(anonymity.k_anonymity(table, known))}
    for name in secrets:
        counts = [sorted(rows[name].value_counts(), reverse=True) for rows in classes]
        told[path][name] = {
            "l": int(anonymity.l_diversity(table, known, [name])),
            "entropy": int(anonymity.entropy_l_diversity(table, known, [name])),
            "recursive": max(each[0] / sum(each[1:]) for each in counts),
            "t": float(anonymity.t_closeness(table, known, [name])),
        }
print(json.dumps(told))
"""


def demands_judged(paths):
    """What pycanon finds in each file, by path."""
    home = Path(__file__).resolve().parents[1] / ".venv-judge"
    python = Path(os.environ.get("MICROAGG_JUDGE", home / "bin" / "python"))
    if not python.exists():
        pytest.skip("no pycanon: `make judge` installs it")
    arguments = map(json.dumps, (KNOWN, SECRETS, [str(path) for path in paths]))
    done = subprocess.run(
        [python, "-c", DEMANDS, *arguments], capture_output=True, text=True, check=True
    )
    return json.loads(done.stdout)


def demanded(k, l, t):  # noqa: E741
    return {
        "k": k,
        "quasi_identifiers": KNOWN,
        "method": "mdav",
        "diversity": {
            "prediction": {"l": 2, "kind": "recursive", "c": 8},
            "occupation": [l, {"l": l, "kind": "entropy"}],
            "hours-per-week": l,
        },
        "closeness": dict.fromkeys(SECRETS, t),
    }


def agree(source, folder, recipes):
    """Every certificate says what pycanon finds, and that keeps what was asked.

    Memory and disk publish the same rows, so pycanon, which takes far longer, counts them once.
    """
    certified = {}
    for place, recipe in enumerate(recipes):
        written, certificates = [], []
        for engine in ("memory", "disk"):
            path = folder / f"{place}.{engine}.csv"
            with microagg.protect(source, engine=engine, progress=False, **recipe) as release:
                certificates.append(release.write(path).to_dict())
            header, *rows = path.read_text().splitlines()
            written.append((header, sorted(rows)))
        assert written[0] == written[1]
        certified[str(path)] = recipe, certificates
    found = demands_judged(certified)
    for path, (recipe, certificates) in certified.items():
        for certificate in certificates:
            agrees(found[path], recipe, certificate)


def agrees(own, recipe, certificate):
    assert certificate["verdict"] == "passed"
    assert own["k"] == certificate["k"]["found"] >= recipe["k"]
    for each in [each for check in certificate["checks"] for each in check.get("found", ())]:
        theirs, asked, figure = own[each["column"]], each["asked"], each["found"]
        if "t" in asked:
            assert figure == pytest.approx(theirs["t"])
            assert theirs["t"] <= asked["t"] + 1e-9
        elif asked["kind"] == "distinct":
            assert figure == theirs["l"] >= asked["l"]
        elif asked["kind"] == "entropy":
            # It says how many whole values that is.
            assert theirs["entropy"] - 1e-9 <= figure < theirs["entropy"] + 1 + 1e-9
            assert figure >= asked["l"] - 1e-9
        else:
            assert figure == pytest.approx(theirs["recursive"])
            assert figure < asked["c"]


@pytest.mark.parametrize("k", [3, 10])
def test_pycanon_agrees_on_every_demand_on_adult(adult, tmp_path, k):
    # Demands take most of the time here: a few hundred records are enough.
    source = tmp_path / "adult.csv"
    source.write_text("".join(adult.read_text().splitlines(keepends=True)[:401]))
    agree(source, tmp_path, [demanded(k, l, t) for l in (2, 3) for t in (0.3, 0.15)])  # noqa: E741


def test_pycanon_agrees_on_every_demand_on_invented_people(tmp_path):
    rng = random.Random(0)
    lines = [",".join([*KNOWN, *SECRETS])]
    for _ in range(400):
        age = rng.randrange(18, 80)
        known = [age, *(rng.choice("abc"[: 2 + place % 2]) for place in range(len(KNOWN) - 1))]
        hours = min(99, max(1, round(rng.gauss(20 + age / 4, 8))))
        job = rng.choice(["clerk", "nurse", "smith", "" if age > 60 else "clerk"])
        lines.append(",".join(map(str, [*known, rng.choice(["low", "low", "high"]), job, hours])))
    source = tmp_path / "people.csv"
    source.write_text("\n".join(lines) + "\n")
    agree(source, tmp_path, [demanded(4, 2, 0.3)])


# Which records, what is known of them, and what is secret.
SUBSETS = (
    (slice(0, 700), ["sex", "race"], "occupation"),
    (slice(700, 1500), ["education", "sex"], "prediction"),
    (slice(1500, 2200), ["age", "workclass", "marital-status"], "hours-per-week"),
    (slice(2200, 3000), ["native-country"], "occupation"),
)
FIGURES = """
import json, sys
import pandas
from pycanon import anonymity

told = {}
for path, known, secret in json.loads(sys.argv[1]):
    table = pandas.read_csv(path, keep_default_na=False)
    sizes = table.groupby(known, dropna=False).size()
    told[path] = {
        "k": int(anonymity.k_anonymity(table, known)),
        "classes": len(sizes),
        "unique": int((sizes == 1).sum()),
        "l": int(anonymity.l_diversity(table, known, [secret])),
        "entropy": int(anonymity.entropy_l_diversity(table, known, [secret])),
        "t": float(anonymity.t_closeness(table, known, [secret])),
    }
print(json.dumps(told))
"""


def test_pycanon_finds_the_figures_of_risk_and_assess(adult, tmp_path):
    """Before and after, on parts of Adult, in one run; in memory and on disk."""
    with adult.open(newline="") as stream:
        header, *records = csv.reader(stream)
    asked, told = [], {}
    for place, (rows, known, secret) in enumerate(SUBSETS):
        before, after = (tmp_path / f"{name}{place}.csv" for name in ("before", "after"))
        with before.open("w", newline="") as target:
            csv.writer(target, lineterminator="\n").writerows([header, *records[rows]])
        settings = {"k": 4, "quasi_identifiers": known, "confidential": [secret]}
        microagg.protect(before, method="mdav", **settings).write(after)
        asked += [(str(path), known, secret) for path in (before, after)]
        told[str(before)] = [microagg.risk(before, known, confidential=[secret], largest=0)]
        told[str(after)] = [
            microagg.assess(before, after, engine=engine) for engine in ("memory", "disk")
        ]
    home = Path(__file__).resolve().parents[1] / ".venv-judge"
    python = Path(os.environ.get("MICROAGG_JUDGE", home / "bin" / "python"))
    if not python.exists():
        pytest.skip("no pycanon: `make judge` installs it")
    command = [python, "-c", FIGURES, json.dumps(asked)]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    for path, theirs in json.loads(done.stdout).items():
        secret = next(each[2] for each in asked if each[0] == path)
        for found in told[path]:
            if isinstance(found, microagg.Risk):
                diversity = found.diversity[secret]
                assert found.frequency.min() == theirs["k"]
                assert found.violations[2] == theirs["unique"]
                assert sum(times for _, times in found.class_sizes) == theirs["classes"]
                least = diversity.distinct.min(), diversity.entropy.min()
            else:
                measured = found.to_dict()["confidential"][secret]
                assert (found.k_found, found.unique) == (theirs["k"], theirs["unique"])
                assert measured["closeness"]["largest"] == pytest.approx(theirs["t"])
                least = tuple(
                    measured["diversity"][kind]["least"] for kind in ("distinct", "entropy")
                )
            assert least[0] == theirs["l"]
            # It says how many whole values that is.
            assert theirs["entropy"] - 1e-9 <= least[1] < theirs["entropy"] + 1 + 1e-9
