from pathlib import Path

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import microagg
from microagg.base.errors import InputError, MicroaggError, OptionError
from microagg.base.reading import Reading
from microagg.measure.evidence import Evidence
from microagg.measure.figures import FIGURES, judge
from microagg.measure.linkage import Records
from microagg.measure.statistics import paired
from microagg.release.assessment import Asked, measure
from microagg.release.pairing import Tables
from microagg.table.opening import open_table
from tests.measure.test_anonymity import counts_of
from tests.naive import points
from tests.naive import protect as naive

NUMBERS = ["height", "income"]


def original(n=36, seed=0):
    rng = np.random.default_rng(seed)
    return pd.DataFrame(
        {
            "id": rng.permutation(n) + 100,
            "height": rng.normal(170, 10, n),
            "income": rng.integers(1000, 9000, n),
            "city": np.array(["Graz", "Linz", "Wien"])[rng.integers(0, 3, n)],
            "level": pd.Categorical(
                np.array(["low", "mid", "high"])[rng.integers(0, 3, n)],
                ["low", "mid", "high"],
                ordered=True,
            ),
            "illness": np.array(["x", "y", "z"])[rng.integers(0, 3, n)],
            "cost": rng.exponential(100, n),
        }
    )


def released(table, quasi=(*NUMBERS, "city", "level"), k=3):
    return microagg.protect(
        table, k=k, quasi_identifiers=list(quasi), method="mdav", measures=False
    ).data


def numbers(table):
    return table[NUMBERS].to_numpy(float)


def same_figures(found, expected):
    assert found.keys() == expected.keys()
    for name, figure in expected.items():
        assert found[name] == pytest.approx(figure, nan_ok=True), name


def test_figures_are_those_of_the_measures():
    table = original()
    release = released(table, NUMBERS)
    found = microagg.assess(table, release, confidential=["illness", "cost"])
    expected = judge(Evidence(numbers=paired(numbers(table), numbers(release))))
    others = ("k", "unique_records", "dominance", "diversity", "closeness", "attribute_disclosure")
    assert found.figures.keys() == {*expected, *others}
    same_figures({name: found.figures[name] for name in expected}, expected)
    assert found.columns == tuple(NUMBERS)
    assert found.judged == 36
    assert found.judged_columns == tuple(NUMBERS)
    assert found.information_loss == pytest.approx(found.figures["loss"])
    assert list(found.attribute_losses.values()) == pytest.approx(found.figures["loss_attributes"])
    rows = list(zip(*(release[name] for name in NUMBERS), strict=True))
    sizes, k = naive.recount(rows)
    assert (found.k_found, found.classes) == (k, len(sizes))
    assert (found.figures["k"], found.figures["unique_records"]) == (k, found.unique) == (k, 0)
    assert (found.smallest_class, found.largest_class) == (sizes[0], sizes[-1])
    labels = pd.factorize(pd.Series(rows))[0]
    codes = pd.factorize(table["illness"])[0]
    illness = found.confidential["illness"]
    assert illness["diversity"]["distinct"]["least"] == counts_of(codes, labels).distinct.least
    apart = counts_of(codes, labels, ordered=False).distance
    assert illness["closeness"]["largest"] == pytest.approx(apart.largest)
    assert found.figures["diversity"]["illness"] == illness["diversity"]["distinct"]["least"]
    assert found.figures["closeness"]["illness"] == illness["closeness"]["largest"]
    assert found.confidential["cost"]["closeness"]["largest"] == pytest.approx(
        counts_of(table["cost"].to_numpy(), labels).distance.largest
    )


def test_settings_reach_the_measures():
    table = original()
    release = released(table, NUMBERS)
    asked = {"sd": 10.0, "distance": 0.5, "importance": 0.2, "alpha": 0.7}
    found = microagg.assess(table, release, known="income", **asked)
    pair = paired(numbers(table), numbers(release))
    points = Records.of_numbers(pair.only([1]))
    expected = judge(Evidence(numbers=pair, points=points, **asked))
    for name in ("expected_linkage", "interval", "satisfaction", "transparent_interval"):
        assert found.figures[name] == pytest.approx(expected[name])
    assert found.linked_columns == ("income",)


def test_records_are_linked_by_all_that_is_known_of_them():
    rng = np.random.default_rng(0)
    table = pd.DataFrame(
        {
            "age": rng.integers(0, 2, 40).astype(float),
            "town": [f"t{place % 20}" for place in range(40)],
            "born": pd.Timestamp("2000-01-01") + pd.to_timedelta(np.arange(40) // 20, "D"),
        }
    )
    table.loc[3:9, "age"] = np.nan
    names = list(table)
    found = microagg.assess(table, table, quasi_identifiers=names)
    assert (found.linked, found.linked_columns) == (40, ("age", "town", "born"))
    assert (found.judged, found.judged_columns) == (33, ("age", "born"))
    assert found.figures["linkage"] == found.figures["class_linkage"] == 100.0
    assert found.to_dict()["linked"] == {"records": 40, "columns": names}
    assert "Linkage looks for all 40 records, by age, town, born." in found.notes
    assert any("33 records that have all of these" in note for note in found.notes)
    by_town = microagg.assess(table, table, quasi_identifiers=names, known="town").figures
    assert (by_town["expected_linkage"], by_town["class_linkage"]) == (50.0, 100.0)
    alone = microagg.assess(table[["town"]], table[["town"]], quasi_identifiers=["town"])
    assert alone.figures["expected_linkage"] == 50.0
    assert alone.judged == 0


def test_a_release_is_linked_by_the_definition():
    table = original(60)
    table.loc[::7, "height"] = np.nan
    table.loc[::5, "city"] = None
    columns = [*NUMBERS, "city", "level"]
    release = microagg.protect(table, k=3, quasi_identifiers=columns, method="mdav")
    found = microagg.assess(table, release.data, quasi_identifiers=columns)
    near = [[0.0] * 60 for _ in range(60)]
    for name in columns:
        kind = "nominal" if name == "city" else "numbers"
        before, after = (
            [None if pd.isna(each) else each for each in frame[name]]
            for frame in (table, release.data)
        )
        if name == "level":
            before, after = ([("low", "mid", "high").index(x) for x in y] for y in (before, after))
        for i, line in enumerate(points.squares(before, after, kind)):
            near[i] = [one + other for one, other in zip(near[i], line, strict=True)]
    classes = [str(row) for row in release.data[columns].to_numpy().tolist()]
    expected = by_class = 0.0
    for i, line in enumerate(near):
        tied = [j for j in range(60) if line[j] <= min(line) + 1e-9]
        if i in tied:
            expected += 100.0 / 60 / len(tied)
            by_class += 100.0 / 60 / len({classes[j] for j in tied})
    assert found.figures["expected_linkage"] == pytest.approx(expected)
    assert found.figures["class_linkage"] == pytest.approx(by_class)
    same = {name: release.assessment.figures[name] for name in ("expected_linkage", "linkage")}
    assert same == pytest.approx({name: found.figures[name] for name in same})


def test_the_record_says_the_same():
    table = original()
    release = microagg.protect(
        table,
        k=3,
        quasi_identifiers=[*NUMBERS, "city", "level"],
        confidential=["illness"],
        method="mdav",
    )
    found = microagg.assess(
        table,
        release.data,
        quasi_identifiers=release.recipe.quasi_identifiers,
        confidential=release.recipe.confidential,
    )
    record = release.record
    assert found.attribute_losses == pytest.approx(record.attribute_losses)
    assert found.information_loss == pytest.approx(record.information_loss)
    assert found.k_found == release.certificate.k_found
    assert found.judged_columns == ("height", "income", "level")
    assert {"diversity", "closeness"} <= release.assessment.figures.keys()
    same_figures(release.assessment.figures, found.figures)


def test_shuffled_rows_with_a_key():
    table = original()
    release = released(table)
    plain = microagg.assess(table, release)
    assert plain.columns == (*NUMBERS, "city", "level")
    mixed = microagg.assess(table, release.sample(frac=1, random_state=1), key="id")
    assert mixed.information_loss == pytest.approx(plain.information_loss)
    assert mixed.attribute_changes == pytest.approx(plain.attribute_changes)
    assert mixed.k_found == plain.k_found
    # Text and numbers are the same key, for files often turn one into the other.
    text = release.assign(id=release["id"].astype(str)).sample(frac=1, random_state=2)
    again = microagg.assess(table, text, key="id")
    assert again.attribute_losses == pytest.approx(mixed.attribute_losses)
    part = microagg.assess(table, release[:20], key="id", quasi_identifiers=NUMBERS)
    assert (part.rows_original, part.rows_released) == (36, 20)


def test_a_release_by_another_tool():
    table = original()
    release = pd.DataFrame(
        {
            "income": table["income"].round(-3).astype(float),
            "city": np.where(table["city"] == "Graz", "elsewhere", table["city"]),
            "height": table["height"],
        }
    )
    found = microagg.assess(table, release)
    assert found.columns == ("income", "city")
    before, after = table["income"].tolist(), release["income"].tolist()
    assert found.attribute_losses["income"] == pytest.approx(naive.numeric_loss(before, after))
    assert found.attribute_losses["city"] == pytest.approx(
        naive.category_loss(table["city"].tolist(), release["city"].tolist())
    )
    assert found.attribute_changes["income"] == pytest.approx(naive.share_changed(before, after))
    assert microagg.assess(table, pl.from_pandas(release)).columns == found.columns
    assert microagg.assess(pa.Table.from_pandas(table), release).columns == found.columns


def test_days_are_compared_with_moments():
    days = pa.array(range(12), pa.int32()).cast(pa.date32())
    moments = pa.array([4] * 12, pa.int32()).cast(pa.date32()).cast(pa.timestamp("s"))
    found = microagg.assess(pa.table({"born": days}), pa.table({"born": moments}))
    expected = naive.numeric_loss(list(range(12)), [4] * 12)
    assert found.attribute_losses["born"] == pytest.approx(expected)
    same = pa.table({"born": days.cast(pa.timestamp("ms"))})
    with pytest.raises(OptionError, match="changed no column"):
        microagg.assess(pa.table({"born": days}), same)


def test_large_integers_against_floats_tell_nothing():
    table = pd.DataFrame({"x": [2**53 + 1, 2**53 + 3, 5, 6]})
    release = pd.DataFrame({"x": [2.0**53, 2.0**53, 5.5, 5.5]})
    assert microagg.assess(table, release).k_found == 2


def test_missing_values():
    table = original()
    table["height"] = table["height"].mask(np.arange(36) % 5 == 0)
    release = released(table, NUMBERS)
    found = microagg.assess(table, release, quasi_identifiers=NUMBERS)
    whole = table["height"].notna() & release["height"].notna()
    assert found.judged == whole.sum() < 36
    expected = judge(Evidence(numbers=paired(numbers(table)[whole], numbers(release)[whole])))
    assert found.figures["interval"] == pytest.approx(expected["interval"])
    assert (found.linked, found.linked_columns) == (36, tuple(NUMBERS))
    before, after = (
        [None if np.isnan(each) else each for each in frame["height"]] for frame in (table, release)
    )
    assert found.attribute_losses["height"] == pytest.approx(naive.numeric_loss(before, after))
    assert found.attribute_changes["height"] == pytest.approx(naive.share_changed(before, after))


def test_having_no_confidential_value_is_a_value():
    table = pd.DataFrame({"x": [1, 2, 3, 4], "ill": pd.array([0, None, 0, None], "Int64")})
    release = table.assign(x=2)
    found = microagg.assess(table, release, confidential="ill")
    assert found.confidential["ill"]["diversity"]["distinct"]["least"] == 2.0
    protected = microagg.protect(table, k=4, quasi_identifiers="x", confidential="ill")
    assert protected.assessment.confidential == found.confidential


def test_categories_alone_have_no_figures_of_numbers():
    table = original()
    release = released(table, ["city"])
    found = microagg.assess(table, release, quasi_identifiers="city")
    linkage = {"linkage", "expected_linkage", "class_linkage"}
    assert found.figures.keys() == {"k", "unique_records", *linkage}
    assert found.judged == 0


def test_orders_that_a_column_brings_along():
    table = original()
    release = table.assign(level=pd.Categorical(["mid"] * 36, ["low", "mid", "high"], ordered=True))
    ranks = table["level"].cat.codes.tolist()
    found = microagg.assess(table, release)
    assert found.attribute_losses["level"] == pytest.approx(naive.numeric_loss(ranks, [1] * 36))
    plain = table.assign(level=table["level"].astype(str))
    said = microagg.assess(
        plain, release.assign(level="mid"), orders={"level": ["low", "mid", "high"]}
    )
    assert said.attribute_losses == pytest.approx(found.attribute_losses)
    other = microagg.assess(table, table.assign(level="any"))
    assert other.attribute_changes["level"] == 100.0


@pytest.mark.parametrize(
    ("change", "settings", "error", "words"),
    [
        (lambda t: t[:30], {}, InputError, "36 records and the release 30"),
        (lambda t: t, {}, OptionError, "changed no column"),
        (lambda t: t, {"quasi_identifiers": []}, OptionError, "at least one column"),
        (lambda t: t, {"quasi_identifiers": ["heigt"]}, OptionError, "did you mean 'height'"),
        (lambda t: t, {"key": "idd"}, OptionError, "did you mean 'id'"),
        (lambda t: t.assign(id=1), {"key": "id"}, InputError, "missing or repeated in the rel"),
        (lambda t: t.assign(id=t["id"] + 4711), {"key": "id"}, InputError, "36 records of the rel"),
        (lambda t: t.assign(height=1), {"known": []}, OptionError, "known must name at least one"),
        (lambda t: t.assign(height=1), {"known": ["city"]}, OptionError, "no column 'city'"),
        (lambda t: t.assign(height=1), {"confidential": "ilness"}, OptionError, "'illness'"),
        (lambda _: {"x": 4711}, {}, InputError, "type dict"),
    ],
)
def test_refused(change, settings, error, words):
    table = original()
    with pytest.raises(error, match=words) as caught:
        microagg.assess(table, change(table), **settings)
    assert "4711" not in str(caught.value)
    assert isinstance(caught.value, MicroaggError)


def test_plain_data():
    table = original()
    told = microagg.assess(table, released(table), confidential=["illness"]).to_dict()
    assert told["rows"] == {"original": 36, "released": 36}
    assert told["k"]["found"] >= 3
    assert set(told["percent_changed"]) == {*NUMBERS, "city", "level"}


def test_what_stands_beside_a_release_says_how_to_judge_it(tmp_path):
    rng = np.random.default_rng(5)
    table = pd.DataFrame(
        {
            "age": rng.integers(18, 90, 80),
            "region": rng.integers(1, 9, 80),
            "grade": np.array(["low", "mid", "top"])[rng.integers(0, 3, 80)],
            "illness": np.array(["x", "y"])[rng.integers(0, 2, 80)],
        }
    )
    table.to_csv(tmp_path / "t.csv", index=False)
    release = microagg.protect(
        tmp_path / "t.csv",
        k=4,
        quasi_identifiers=["age", "region", "grade"],
        confidential=["illness"],
        kinds={"region": "nominal"},
        orders={"grade": ["low", "mid", "top"]},
        row_order="kept",
    )
    certificate = release.write(tmp_path / "r.csv")
    release.recipe.write(tmp_path / "recipe.toml")

    def judged(**settings):
        return microagg.assess(tmp_path / "t.csv", tmp_path / "r.csv", **settings)

    found = judged()
    assert found.information_loss == pytest.approx(release.record.information_loss)
    assert round(found.information_loss, 2) == certificate.information_loss
    assert found.classes == certificate.groups
    assert found.columns == ("age", "region", "grade")
    assert found.confidential.keys() == {"illness"}
    # What is said goes before what stands beside.
    assert judged(quasi_identifiers=["age"]).columns == ("age",)
    assert judged(kinds={"region": "integer"}).information_loss != found.information_loss
    # The certificate alone knows kinds, but not the order of categories, which is not published.
    (tmp_path / "r.csv.record.json").unlink()
    orders = {"grade": ["low", "mid", "top"]}
    assert judged(orders=orders).information_loss == pytest.approx(found.information_loss)
    (tmp_path / "r.csv.certificate.json").unlink()
    assert judged(orders=orders).information_loss != pytest.approx(found.information_loss)
    again = judged(recipe=tmp_path / "recipe.toml")
    assert again.information_loss == pytest.approx(found.information_loss)


def test_one_figure_is_called_information_loss():
    assert not [each.title for each in FIGURES if each.title.startswith("Information loss")]


def attacked(found, name):
    return next(each for each in found.attacks if each.attack.name == name).found


def test_attacks_are_tried_when_asked_for():
    table = original(60)
    release = released(table)
    plain = microagg.assess(table, release, confidential=["illness", "cost"])
    assert plain.attacks == ()
    found = microagg.assess(table, release, confidential=["illness", "cost"], attacks=True)
    same_figures(found.figures, plain.figures)
    assert [each.attack.name for each in found.attacks] == [
        "nearest", "assignment", "class", "inference", "inference", "order", "reconstruction",
    ]  # fmt: skip
    assert attacked(found, "nearest").records.percent == found.figures["expected_linkage"]
    assert attacked(found, "class").records.percent == found.figures["class_linkage"]
    told = {each.found.column: each.found for each in found.attacks if each.found.column}
    classes = release[[*NUMBERS, "city", "level"]].astype(str).agg(" ".join, axis=1)
    most = [part.value_counts().max() for _, part in table["illness"].groupby(classes)]
    assert told["illness"].values.percent == pytest.approx(100 * sum(most) / 60)
    assert told["illness"].values.chance == pytest.approx(
        100 * table["illness"].value_counts().max() / 60
    )
    for column, disclosed in found.confidential.items():
        if column == "illness":
            assert told[column].records.percent == disclosed["disclosed"]["percent"]
    told = found.to_dict()["attacks"]
    assert told[0]["criteria"] == ["singling out", "linkability"]
    # Rows may come in any order, if a key says whose they are.
    mixed = microagg.assess(
        table,
        release.sample(frac=1, random_state=1),
        key="id",
        confidential=["illness", "cost"],
        attacks=True,
    )
    for one, other in zip(mixed.attacks, found.attacks, strict=True):
        # Of equally good assignments and in another order of rows others may be found.
        if one.attack.name not in ("order", "assignment"):
            assert one.found.records.percent == pytest.approx(other.found.records.percent)
    assert any("within 5 % of a deviation" in note for note in found.notes)


def test_what_is_known_decides_what_is_learnt():
    table = original(60)
    release = released(table)
    columns = [*NUMBERS, "city", "level"]
    settings = {"quasi_identifiers": columns, "attacks": True}
    every = microagg.assess(table, release, **settings)
    assert attacked(every, "nearest").values is None
    some = microagg.assess(table, release, known="height", **settings)
    assert attacked(some, "nearest").values.percent > 0
    assert "No confidential column was named" in " ".join(some.notes)
    # Somebody who knows more finds more.
    few, many = (attacked(each, "nearest").records.percent for each in (some, every))
    assert few < many


def test_two_releases_beside_each_other(tmp_path):
    table = original(90)
    one = microagg.protect(table, k=3, quasi_identifiers=NUMBERS, method="mdav", measures=False)
    two = microagg.protect(table, k=4, quasi_identifiers=NUMBERS, method="mdav", measures=False)
    names = {"quasi_identifiers": NUMBERS, "confidential": "illness", "attacks": True}

    def alone(earlier, **more):
        return attacked(
            microagg.assess(table, two.data, also=earlier, **names, **more), "intersection"
        )

    pairs = pd.concat([one.data[NUMBERS], two.data[NUMBERS]], axis=1).astype(str)
    pairs = pairs.agg(" ".join, axis=1)
    expected = 100 * (pairs.map(pairs.value_counts()) == 1).mean()
    by_order = alone(one.data)
    assert by_order.records.percent == pytest.approx(expected)
    assert by_order.records.chance == 0.0
    # A key in both pairs them as well, in whatever order, and not everybody need be there.
    shuffled = one.data.sample(frac=1, random_state=3)
    assert alone(shuffled, key="id").records.percent == pytest.approx(expected)
    part = alone(shuffled[:50], key="id")
    assert 0 < part.records.percent < expected
    assert "90 records 50 are in the earlier" in part.words
    # The owner knows whose row is whose; the intruder pairs them by what both show.
    files = tmp_path / "t.csv", tmp_path / "one.csv", tmp_path / "two.csv"
    table.drop(columns="id").to_csv(files[0], index=False)
    for path, k in ((files[1], 3), (files[2], 4)):
        microagg.protect(
            files[0], k=k, quasi_identifiers=NUMBERS, method="mdav", measures=False
        ).write(path)
    records = [f"{path}.record.json" for path in files[1:]]
    found = microagg.assess(
        files[0],
        files[2],
        record=records[1],
        also=files[1],
        also_record=records[0],
        attacks=True,
        confidential="illness",
    )
    # Costs are kept and are each person's own: they pair rows as well as their order did.
    assert attacked(found, "intersection").records.percent == pytest.approx(expected)
    beside = microagg.assess(files[0], files[2], also=files[1], attacks=True)
    assert attacked(beside, "intersection").records.percent == pytest.approx(expected)
    Path(records[0]).unlink()
    with pytest.raises(InputError, match="--also-record"):
        microagg.assess(files[0], files[2], record=records[1], also=files[1], attacks=True)
    with pytest.raises(OptionError, match="attacks=True"):
        microagg.assess(table, two.data, also=one.data)
    with pytest.raises(InputError, match="nobody of this release"):
        alone(shuffled.assign(id=shuffled["id"] + 4711), key="id")


def test_the_intruder_knows_the_recipe_of_proximity(tmp_path):
    table = original(60)[NUMBERS]
    table.to_csv(tmp_path / "t.csv", index=False)
    release = microagg.protect(
        tmp_path / "t.csv", k=3, quasi_identifiers=NUMBERS, aggregate="proximity",
        distance=0.8, alpha=0.6, row_order="kept",
    )  # fmt: skip
    release.write(tmp_path / "r.csv")
    found = microagg.assess(tmp_path / "t.csv", tmp_path / "r.csv", attacks=True)
    same = {"distance": 0.8, "importance": 0.001, "alpha": 0.6}
    expected = microagg.assess(tmp_path / "t.csv", tmp_path / "r.csv", **same)
    told = attacked(found, "transparent").values.percent
    assert told == expected.figures["transparent_interval"] > 0


def test_models_learn_from_a_release():
    table = original(120)
    table["cost"] = table["height"] + table["income"] / 500
    release = released(table)
    plain = microagg.assess(table, release, confidential=["illness", "cost"])
    found = microagg.assess(
        table, release, confidential=["illness", "cost"], targets=["cost", "illness"]
    )
    new = found.figures.keys() - plain.figures.keys()
    assert new == {
        "table_distance", "largest_table_distance", "propensity", "propensity_ratio", "r_squared",
        "r_squared_original", "accuracy", "accuracy_original", "auc", "auc_original",
        "coefficient_overlap",
    }  # fmt: skip
    assert found.figures["r_squared_original"] == {"cost": pytest.approx(1.0)}
    assert 0.5 < found.figures["r_squared"]["cost"] < 1.0
    learnt = found.models["cost"]
    assert learnt.records == 120
    columns = {"height", "income", "city", "level", "illness"}
    assert {each.column for each in learnt.coefficients} == columns
    assert [each.model for each in learnt.others] == ["boosted trees"]
    told = found.to_dict()["models"]
    assert [each["target"] for each in told] == ["cost", "illness"]
    # A target may be any column of both.
    other = microagg.assess(table, release, quasi_identifiers=NUMBERS, targets="cost")
    assert {each.column for each in other.models["cost"].coefficients} == set(NUMBERS)


def test_models_of_many_records_are_of_a_sample():
    table = original(50)
    pairs = Tables(*(open_table(each, Reading()) for each in (table, released(table))), None)
    coded = [pairs.coded(name, None, None) for name in NUMBERS]
    found = measure(
        coded, rows_original=50, rows_released=50, asked=Asked(targets=["income"], most=20)
    )
    assert found.models["income"].records == 20
    assert any("a sample of 20 of the 50 records" in note for note in found.notes)


@pytest.mark.parametrize(
    ("targets", "settings", "words"),
    [
        ("cots", {}, "did you mean 'cost'"),
        (["cost", "cost"], {}, "stands twice in targets"),
        ("flat", {}, "one value for everybody"),
        ("height", {"quasi_identifiers": "height"}, "from other columns, but there are none"),
    ],
)
def test_targets_that_are_refused(targets, settings, words):
    table = original().assign(flat=4711)
    with pytest.raises(MicroaggError, match=words) as caught:
        microagg.assess(table, released(table), targets=targets, **settings)
    assert "4711" not in str(caught.value)
