"""Attacks on releases: what each finds without its remedy, and with it.

    python benchmarks/audit/attacks.py

Each row is one attack that works on a release, tried twice in the same run: with the setting that
lets it in, and as `protect` does it now. Rows on Adult, Tarragona, Census and EIA need reference
data. Writes benchmarks/results/attacks as .csv and .md.
"""

import itertools
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pandas as pd

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))
import microagg
from benchmarks.data import find, load, standardise
from benchmarks.measuring import save, show
from microagg.measure.attacks.attack import Earlier, Share
from microagg.measure.attacks.intersecting import candidates
from microagg.measure.evidence import Evidence
from microagg.measure.statistics import paired

Row = list[object]


def main() -> None:
    rows: list[Row] = []
    for attack in (
        row_order,
        two_releases,
        certificate,
        merged_strata,
        weights,
        linkage,
        proximity,
    ):
        for row in attack():
            rows.append(row)
            print(*row, sep=" | ", file=sys.stderr, flush=True)
    header = ["attack", "what is found", "without the remedy", "as released", "remedy"]
    show("Attacks on releases", header, rows)
    save("attacks", header, rows)


def people(n: int = 1000) -> pd.DataFrame:
    rng = np.random.default_rng(7)
    table = pd.DataFrame(
        {
            "income": np.sort(rng.lognormal(10.3, 0.5, n)).round(2),
            "age": rng.integers(18, 90, n),
            "height": rng.normal(170, 10, n).round(1),
        }
    )
    table["row"] = np.arange(n)
    return table


def written(table: pd.DataFrame, **settings: object) -> pd.DataFrame:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "release.csv"
        microagg.protect(table, progress=False, measures=False, **settings).write(path)
        return pd.read_csv(path)


def order_attack(table: pd.DataFrame, release: pd.DataFrame) -> Share:
    """What the order of rows tells of incomes; the owner pairs rows by their number."""
    found = microagg.assess(
        table, release, quasi_identifiers=["income"], key="row", attacks=True, progress=False
    )
    [share] = [each.found.values for each in found.attacks if each.attack.name == "order"]
    assert share is not None
    return share


def row_order() -> Iterator[Row]:
    """A rising curve through rows that were sorted."""
    table = people()
    shares = []
    for order in ("kept", "shuffled"):
        found = written(table, k=5, quasi_identifiers=["income", "age", "height"], row_order=order)
        share = order_attack(table, found)
        shares.append(f"{share.percent:.1f} % ({share.chance:.1f} % by chance)")
    what = "incomes within 5 % of a deviation, of 1,000 sorted by it"
    yield ["isotonic regression along the rows", what, *shares, "rows are shuffled"]


def two_releases() -> Iterator[Row]:
    """Groups of two releases that have one record in common, where rows can be paired."""
    table = people()
    shares = []
    for order in ("kept", "shuffled"):
        one, two = (
            written(
                table,
                k=k,
                quasi_identifiers=["income", "age", "height"],
                row_order=order,
                method="mdav",
            )
            for k in (3, 10)
        )
        # Rows that were shuffled anew, and show no number of their own, cannot be paired.
        rows = {row: place for place, row in enumerate(two["row"])}
        places = np.array([rows[row] for row in one["row"]])
        marks = (places, np.arange(len(two))) if order == "kept" else (0 * places, 0 * places)
        labels = [
            each[["income", "age", "height"]].apply(tuple, axis=1).factorize()[0]
            for each in (one, two)
        ]
        earlier = Earlier(labels[1].astype(np.int64), places, *marks)
        alone = candidates(labels[0].astype(np.int64), earlier, np.empty((0, len(one))))[0]
        shares.append(f"{100 * (alone == np.arange(len(one))).mean():.1f} %")
    what = "records singled out, k = 3 and 10"
    yield ["two releases paired by row", what, *shares, "rows are shuffled, anew each time"]


def certificate() -> Iterator[Row]:
    """All records known but one group's: which of its possible values fit the loss told?"""
    rng = np.random.default_rng(1)
    known, group = rng.integers(0, 100, 57), np.array([12, 30, 47])
    mean = group.mean()
    labels = np.append(np.arange(57) // 3, [19] * 3)

    def loss(members: tuple[int, ...]) -> float:
        values = np.append(known, members).astype(float)
        return microagg.information_loss(values.reshape(-1, 1), labels)

    # The mean is published, so members add up to three times it.
    total = round(3 * mean)
    candidates = [
        (a, b, total - a - b)
        for a, b in itertools.combinations_with_replacement(range(100), 2)
        if b <= total - a - b < 100
    ]
    losses = np.array([loss(each) for each in candidates])
    true = loss(tuple(group))
    exact, rounded = (int((np.round(losses, d) == round(true, d)).sum()) for d in (12, 2))
    what = f"candidates left of {len(candidates)} for the last group"
    yield ["exact loss in the certificate", what, exact, rounded, "two decimals; no input hash"]


def merged_strata() -> Iterator[Row]:
    """People who are alone with protected values and stratum."""
    table = people(300)
    table["region"] = ["small" if row % 60 == 0 else "large" for row in range(300)]
    settings = {"k": 10, "within": ["region"], "small_strata": "merge"}
    found = written(table, quasi_identifiers=["income", "age"], row_order="kept", **settings)
    alone = []
    for region in (table["region"], found["region"]):
        classes = found.assign(region=region).groupby(["income", "age", "region"])
        alone.append(int((classes["row"].transform("size") == 1).sum()))
    what = "records alone in their class, of 300"
    yield ["strata that were merged", what, *alone, "groups publish the stratum of most"]


def weights() -> Iterator[Row]:
    """Records whose value is published to the cent, for they carry all the weight."""
    table = people(300)
    rng = np.random.default_rng(3)
    table["weight"] = np.where(rng.random(300) < 0.3, 0.0, rng.uniform(1, 50, 300))
    settings = {"k": 3, "quasi_identifiers": ["income", "age", "height"], "weights": "weight"}
    release = microagg.protect(table, **settings, method="mdav", progress=False)
    same = (release.data["income"].round(2) == table["income"]).sum()
    try:
        with tempfile.TemporaryDirectory() as folder:
            microagg.protect(
                table, **settings, method="mdav", dominance={"income": 0.8}, progress=False
            ).write(Path(folder) / "release.csv")
        refused = "released"
    except microagg.MicroaggError:
        refused = "refused"
    what = "incomes published to the cent, of 300, 30 % without weight"
    yield ["sampling weights", what, int(same), refused, "noted; dominance refuses"]


def linkage() -> Iterator[Row]:
    """The nearest released record, by numbers alone and by all that is known."""
    path = find("adult")
    if path is None:
        return
    table = pd.read_csv(path)
    names = ["age", "workclass", "education", "marital-status"]
    names += ["occupation", "race", "sex", "native-country"]
    release = microagg.protect(table, k=5, quasi_identifiers=names, method="mdav", progress=False)
    numbers = microagg.assess(
        table, release.data, quasi_identifiers=names, known=["age"], progress=False
    )
    found = release.assessment
    assert found is not None
    told = [each.figures["expected_linkage"] for each in (numbers, found)]
    what = "records of Adult found, 8 quasi-identifiers, k = 5, as reported"
    yield [
        "linkage by all kinds of columns",
        what,
        *(f"{share:.2f} %" for share in told),
        "risk is told in full, not lowered",
    ]


def proximity() -> Iterator[Row]:
    """What is guessed of moved centroids by who knows how they are moved."""
    for name in ("tarragona", "census", "eia"):
        if find(name) is None:
            continue
        records = standardise(load(name))
        groups = microagg.partition(records, 3, "mdav")
        told = []
        for solution in ("global", "random"):
            moved = microagg.aggregate(
                records, groups, how="proximity", distance=0.8, alpha=0.6, solution=solution
            )
            evidence = Evidence(
                numbers=paired(records, moved), distance=0.8, importance=0.001, alpha=0.6
            )
            told.append(f"{evidence.transparent_interval:.1f} %")
        what = f"values of {name} within 5 % of a deviation, k = 3"
        yield ["proximity, its settings known", what, *told, 'solution="random"; settings secret']


if __name__ == "__main__":
    main()
