"""A program of other people counts k on what was written, and agrees.

pycanon pins versions of NumPy and pandas, so it lives in an environment of its own.
"""

import csv
import json
import os
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
    assert judged(adult, confidential)["k"] == 1
