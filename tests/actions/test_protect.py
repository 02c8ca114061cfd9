import datetime as dt
import gc
import pickle
import types

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import microagg
from microagg.base.errors import InputError, MicroaggError, OptionError
from microagg.base.recipe import Recipe
from tests.naive import centres as naive_centres
from tests.naive import measures
from tests.naive import protect as naive
from tests.naive import units as naive_units

SECRET = 4711.0625
LEVELS = ("low", "mid", "high")


def people(n=40, seed=0):
    """A table with a column of every kind, and one of every role."""
    rng = np.random.default_rng(seed)
    days = [dt.date(1950, 1, 1) + dt.timedelta(days=int(each)) for each in rng.integers(0, 9999, n)]
    return pd.DataFrame(
        {
            "name": [f"p{each}" for each in range(n)],
            "income": rng.lognormal(10, 1, n),
            "age": rng.integers(18, 90, n),
            "born": pd.Series(days, dtype=pd.ArrowDtype(pa.date32())),
            "city": np.array(["Graz", "Linz", "Wien"])[rng.integers(0, 3, n)],
            "level": pd.Categorical(
                np.array(LEVELS)[rng.integers(0, 3, n)], [*LEVELS, "none"], ordered=True
            ),
            "member": rng.random(n) < 0.5,
            "region": np.array(["n", "s"])[np.arange(n) % 2],
            "weight": rng.exponential(1.0, n),
            "household": np.arange(n) // 2 // 2 * 2 + np.arange(n) % 2,
            "illness": np.array(["x", "y", "z"])[rng.integers(0, 3, n)],
        },
        index=pd.Index(rng.permutation(n)),
    ).set_axis(pd.RangeIndex(n, name="row"))


QUASI = ["income", "age", "born", "city", "level", "member"]


def protect(table, **settings):
    settings = {"k": 3, "quasi_identifiers": QUASI, "method": "mdav", **settings}
    return microagg.protect(table, measures=settings.pop("measures", False), **settings)


def with_gaps(table, share=0.3, seed=1):
    rng = np.random.default_rng(seed)
    table = table.copy()
    for name in QUASI:
        column = table[name].astype("boolean" if name == "member" else table[name].dtype)
        column = column.astype("Int64") if name == "age" else column
        table[name] = column.mask(rng.random(len(table)) < share)
    return table


def rows(table, names):
    frame = table if isinstance(table, pd.DataFrame) else table.to_pandas()
    columns = ([None if pd.isna(each) else each for each in frame[name]] for name in names)
    return list(zip(*columns, strict=True))


def recounted(release, names=None):
    """The certificate's figures against a count by hand."""
    recipe = release.recipe
    names = names or [*recipe.quasi_identifiers, *recipe.within]
    entities = None if recipe.entity is None else list(release.data[recipe.entity])
    sizes, k = naive.recount(rows(release.data, names), entities)
    certificate = release.certificate
    assert certificate.passed
    assert certificate.k_found == k >= recipe.k == certificate.k_asked
    assert certificate.groups == len(sizes)
    assert (certificate.smallest_group, certificate.largest_group) == (sizes[0], sizes[-1])
    assert certificate.median_group == np.median(sizes)
    return k


# What comes back


def test_a_release_of_every_kind_of_column():
    table = people()
    before = table.copy(deep=True)
    release = protect(table, identifiers="name", confidential="illness")
    pd.testing.assert_frame_equal(table, before)
    data = release.data
    assert list(data) == [name for name in table if name != "name"]
    assert data.index.equals(table.index)
    assert data.index.name == "row"
    # Of levels, those that some record has.
    table["level"] = table["level"].cat.remove_unused_categories()
    assert (data.dtypes == table.dtypes[list(data)]).all()
    others = [name for name in data if name not in QUASI]
    pd.testing.assert_frame_equal(data[others], table[others])
    recounted(release)
    assert len(release.partition) == 40
    assert release.recipe.k == 3
    assert release.certificate.columns == tuple(data)
    assert release.record.rows_read == release.certificate.rows_released == 40


def test_an_index_that_is_no_range_has_a_role_or_goes():
    table = people()
    named = table.set_index("name")
    release = protect(named)
    assert release.data.index.equals(pd.RangeIndex(40))
    assert "p0" not in release.data.to_csv()
    assert any("index of the table was left out" in note for note in release.record.notes)
    dropped = protect(named, identifiers="name")
    assert not any("index" in note for note in dropped.certificate.notes)
    pd.testing.assert_frame_equal(dropped.data, release.data)
    aged = protect(table.set_index("age")[[name for name in table if name != "age"]])
    by_column = protect(table).data
    assert next(iter(aged.data)) == "age"
    pd.testing.assert_frame_equal(aged.data[list(by_column)], by_column.set_axis(aged.data.index))
    judged = microagg.assess(table.set_index("age"), aged.data, quasi_identifiers=["age", "income"])
    assert judged.figures["k"] >= 3


def published(column, labels, kind, weights=None, order=None):
    """By hand: one value a group over those that have one."""
    codes = {entry: place for place, entry in enumerate(order)} if order else None
    present = [i for i, entry in enumerate(column) if entry is not None]
    if not present:
        return [None] * len(column)
    groups = {label: place for place, label in enumerate(sorted({labels[i] for i in present}))}
    values = [codes[column[i]] if codes else column[i] for i in present]
    weights = [1 if weights is None else weights[i] for i in present]
    centres = naive_centres.centres(values, [groups[labels[i]] for i in present], weights, kind)
    shown = [order[each] if order else each for each in centres]
    return [shown[groups[label]] if label in groups else None for label in labels]


@pytest.mark.parametrize("gaps", [False, True])
@pytest.mark.parametrize("weighted", [False, True])
def test_values_and_losses_by_hand(gaps, weighted):
    table = with_gaps(people()) if gaps else people()
    release = protect(table, weights="weight" if weighted else None)
    labels = release.partition.labels.tolist()
    weights = table["weight"].tolist() if weighted else None
    day = dt.date(1970, 1, 1)
    kinds = {
        "income": ("mean", None),
        "age": ("integer", None),
        "born": ("integer", None),
        "city": ("mode", ["Graz", "Linz", "Wien"]),
        "level": ("median", list(LEVELS)),
        "member": ("mode", [False, True]),
    }
    losses = {}
    for name, (kind, order) in kinds.items():
        before, after = (
            [None if pd.isna(each) else each for each in frame[name]]
            for frame in (table, release.data)
        )
        if name == "born":
            before, after = (
                [None if each is None else (each - day).days for each in column]
                for column in (before, after)
            )
        expected = published(before, labels, kind, weights, order)
        if kind == "mean":
            shown, wanted = (
                [np.nan if each is None else float(each) for each in column]
                for column in (after, expected)
            )
            np.testing.assert_allclose(shown, wanted, rtol=1e-12)
        else:
            assert after == expected
        if kind == "mode":
            losses[name] = naive.category_loss(before, after)
        else:
            ranks = {level: place for place, level in enumerate(LEVELS)}
            both = [
                [None if each is None else ranks.get(each, each) for each in column]
                for column in (before, after)
            ]
            losses[name] = naive.numeric_loss(*both)
    assert release.record.attribute_losses == pytest.approx(losses)
    assert release.record.information_loss == pytest.approx(np.mean(list(losses.values())))
    recounted(release)


def test_the_loss_of_numbers_is_the_information_loss():
    table = people(60)
    table["height"] = np.random.default_rng(5).normal(170, 9, 60)
    release = protect(table, quasi_identifiers=["income", "height", "weight"])
    numbers = table[["income", "height", "weight"]].to_numpy()
    assert release.record.information_loss == pytest.approx(
        microagg.information_loss(numbers, release.partition), rel=1e-9
    )
    expected = microagg.partition(numbers, 3, "mdav")
    assert release.partition.labels.tolist() == expected.labels.tolist()


@pytest.mark.parametrize("library", ["polars", "arrow"])
def test_other_libraries_give_the_same_release(library):
    table = people().reset_index(drop=True)
    ours = protect(table).data
    if library == "polars":
        levels = pl.col("level").cast(pl.String).cast(pl.Enum([*LEVELS, "none"]))
        native = pl.from_pandas(table).with_columns(levels)
        found = protect(native).data
        assert isinstance(found, pl.DataFrame)
        assert found.schema == {**native.schema, "level": pl.Enum(LEVELS)}
    else:
        native = pa.Table.from_pandas(table, preserve_index=False)
        found = protect(native).data
        assert isinstance(found, pa.Table)
        assert found.schema.equals(native.schema)
        kept = pa.Table.from_pandas(table.drop(columns="born"), preserve_index=False)
        pd.testing.assert_frame_equal(
            protect(kept, quasi_identifiers="income").data.drop(["income", "level"]).to_pandas(),
            kept.drop(["income", "level"]).to_pandas(),
        )
    if library == "polars":
        # pandas has no days of its own, and Polars makes them moments there.
        found = found.to_pandas().assign(born=found["born"].to_list())
    assert rows(found, table) == rows(ours, table)


def test_untouched_columns_may_be_anything():
    table = people(12)
    table["list"] = [[each] for each in range(12)]
    table["thing"] = [object() for _ in range(12)]
    table["mixed"] = [1, "a", None] * 4
    found = protect(table, quasi_identifiers=["income"]).data
    for name in ("list", "thing", "mixed"):
        assert found[name].tolist() == table[name].tolist()


# Kinds


def test_integers_declared_continuous_publish_means():
    numbers = [1, 2, 2, 9, 9, 10]
    for table in (
        pd.DataFrame({"x": numbers}),
        pd.DataFrame({"x": pd.Categorical(numbers)}),
        pl.DataFrame({"x": numbers}),
        pa.table({"x": pa.array(numbers, pa.int8())}),
    ):
        data = protect(table, quasi_identifiers="x", kinds={"x": "continuous"}).data
        assert list(np.asarray(data["x"], float)) == pytest.approx([5 / 3] * 3 + [28 / 3] * 3)


def test_kinds_and_orders_can_be_declared():
    table = pd.DataFrame(
        {
            "code": [1, 1, 2, 7, 7, 8],
            "grade": ["b", "a", "c", "e", "d", "e"],
            "x": [0] * 3 + [9] * 3,
        }
    )
    release = protect(
        table,
        quasi_identifiers=["code", "grade", "x"],
        kinds={"code": "nominal"},
        orders={"grade": list("abcde")},
    )
    assert release.data["code"].tolist() == [1, 1, 1, 7, 7, 7]
    assert release.data["grade"].tolist() == ["b", "b", "b", "e", "e", "e"]
    assert [each.kind for each in release.shown.attributes] == ["nominal", "ordinal", "integer"]


def test_many_categories():
    rng = np.random.default_rng(0)
    cities = np.array([f"city {each}" for each in range(200)])[rng.integers(0, 200, 300)]
    release = protect(pd.DataFrame({"city": cities}), quasi_identifiers="city")
    recounted(release)
    assert set(release.data["city"]) <= set(cities)
    assert any("city has" in note for note in release.record.notes)
    assert not any("city has" in note for note in release.certificate.notes)


# Missing values


@pytest.mark.parametrize(
    "column",
    [
        pd.array([None] * 9, "Float64"),
        pd.array([None] * 9, "string"),
        pd.array([5, *[None] * 8], "Int64"),
        pd.array([True, False, None] * 3, "boolean"),
        pd.array([5, 5, 5, *[None] * 6], "Int64"),
        np.array([np.nan] * 9),
        pd.array([pd.NaT] * 8 + [pd.Timestamp("2024-01-01")]),
    ],
)
def test_missing_values_break_nothing(column):
    table = pd.DataFrame({"x": column, "y": np.arange(9.0)})
    release = protect(table, quasi_identifiers=["x", "y"])
    assert release.data["x"].dtype == table["x"].dtype
    recounted(release)
    groups = pd.Series(release.partition.labels)
    had = table["x"].notna().groupby(groups).any()
    assert (release.data["x"].notna().groupby(groups).all() == had).all()


def test_presence_counts_as_similarity():
    table = pd.DataFrame({"x": [1.0, np.nan] * 6, "y": [0.0] * 12})
    data = protect(table, quasi_identifiers=["x", "y"]).data
    assert data["x"].isna().tolist() == [False, True] * 6


def test_missing_values_can_be_refused():
    table = pd.DataFrame({"x": [SECRET, None, 1.0]})
    with pytest.raises(InputError, match="'x' has 1 missing values"):
        protect(table, quasi_identifiers="x", missing="error")


def test_a_constant_column_with_gaps_has_nothing_to_lose():
    table = pd.DataFrame({"x": pd.array([7, None] * 6, "Int64"), "y": np.arange(12.0)})
    certificate = protect(table, quasi_identifiers=["x", "y"]).certificate
    assert certificate.information_loss == certificate.attribute_losses["y"] > 0


# Strata, weights, entities


def test_no_group_crosses_strata():
    table = people()
    release = protect(table, within=["region", "city"], quasi_identifiers=["income", "age"], k=2)
    assert naive_units.crossing(release.partition.labels, rows(table, ["region", "city"])) == 0
    recounted(release)
    kept = release.data[["region", "city"]]
    pd.testing.assert_frame_equal(kept, table[["region", "city"]])


def test_small_strata():
    table = people()
    table["region"] = ["a"] + ["b"] * 2 + ["c"] * 37
    wanted = {"within": "region", "quasi_identifiers": ["income", "age"]}
    with pytest.raises(InputError, match="2 of 3 strata of 'region' have fewer than k = 3"):
        protect(table, **wanted)
    merged = protect(table, small_strata="merge", **wanted)
    assert len(merged.data) == 40
    recounted(merged)
    # Nobody is alone in a stratum; each group says the one that most of it are in.
    for label in range(merged.partition.n_groups):
        there = merged.partition.labels == label
        (told,) = set(merged.data["region"][there])
        counts = table["region"][there].value_counts()
        assert counts[told] == counts.max()
    assert set(merged.data["region"][1:3]) <= {"a", "b"}
    unmerged = protect(table[3:], small_strata="merge", **wanted)
    assert unmerged.data["region"].tolist() == ["c"] * 37
    assert "2 strata had fewer than 3 members; their 3 records were merged" in str(
        merged.record.notes
    )
    dropped = protect(table, small_strata="drop", weights="weight", entity="name", **wanted)
    kept = table[["illness"]][3:].reset_index(drop=True)
    pd.testing.assert_frame_equal(dropped.data[["illness"]], kept)
    recounted(dropped)
    assert "their 3 records were dropped" in str(dropped.record.notes)
    assert (dropped.record.rows_read, dropped.certificate.rows_released) == (40, 37)


def test_weighted_totals_stay():
    table = people(80)
    table["far"] = 1e9 + table["income"]
    table.loc[table.index[:20], "weight"] = 0.0
    release = protect(
        table, quasi_identifiers=["income", "far", "age"], weights="weight", within="region"
    )
    recounted(release)
    for name in ("income", "far"):
        total = (release.data[name] * table["weight"]).sum()
        assert total == pytest.approx((table[name] * table["weight"]).sum(), rel=1e-9)
    plain = protect(table, quasi_identifiers=["income", "far", "age"], within="region")
    assert (plain.partition.labels == release.partition.labels).all()


@pytest.mark.parametrize(
    "weights",
    [[-SECRET, 1, 1], [None, 1.0, SECRET], [0, 0, 0], ["a", "b", "c"], [np.inf, SECRET, 1]],
)
def test_bad_weights(weights):
    with pytest.raises(MicroaggError, match="'w'") as caught:
        protect(pd.DataFrame({"x": [1, 2, 3], "w": weights}), quasi_identifiers="x", weights="w")
    assert "4711" not in str(caught.value)


@pytest.mark.parametrize("gaps", [False, True])
def test_groups_hold_k_entities_and_all_their_rows(gaps):
    table = with_gaps(people()) if gaps else people()
    release = protect(table, entity="household", within="region", weights="weight")
    labels, owners = release.partition.labels, table["household"].tolist()
    assert min(naive_units.units_in_groups(labels, owners)) >= 3
    assert all(len(each) == 1 for each in naive_units.groups_of_each(labels, owners).values())
    assert naive_units.crossing(labels, table["region"]) == 0
    assert release.certificate.counts == "entities"
    recounted(release)


def test_entities_need_a_name():
    table = pd.DataFrame({"x": [1, 2, 3], "e": [1, None, 2]})
    with pytest.raises(InputError, match="1 rows have no value"):
        protect(table, quasi_identifiers="x", entity="e")
    with pytest.raises(InputError, match="only 1 entities"):
        protect(table.assign(e=1), quasi_identifiers="x", entity="e")


def test_attribute_weights():
    table = pd.DataFrame({"x": [0, 0, 0, 1, 1, 1], "y": [0, 1, 0, 1, 0, 1]})
    for heavy, light in (("x", "y"), ("y", "x")):
        release = protect(table, quasi_identifiers=["x", "y"], attribute_weights={light: 0.0})
        assert release.data[heavy].tolist() == table[heavy].tolist()
        assert release.data[light].tolist() != table[light].tolist()
        recounted(release)
    nothing = protect(table, quasi_identifiers=["x", "y"], attribute_weights={"x": 0.0, "y": 0.0})
    recounted(nothing)


# Numbers


@pytest.mark.parametrize("n", [3, 4, 5, 6, 7])
def test_few_records(n):
    release = protect(people(n))
    recounted(release)
    assert release.certificate.groups <= n // 3


@pytest.mark.parametrize(
    "column",
    [
        np.full(12, 7.0),
        1e15 + np.arange(12.0),
        2**62 + np.arange(12),
        np.array([-(2**63), 2**63 - 1] * 6),
        np.array([0, 2**64 - 1] * 6, np.uint64),
        np.array([-1.7e308, 1.7e308] * 6),
        5e-324 * np.arange(12),
        np.array([-0.0, 0.0] * 6),
        np.arange(-128, -116, dtype=np.int8),
        np.linspace(-1e-50, 1e-50, 12).astype(np.float32),
    ],
)
def test_numbers_at_the_edge(column, tmp_path):
    table = pd.DataFrame({"x": column})
    release = protect(table, quasi_identifiers="x", measures=True)
    recounted(release)
    assert release.data["x"].dtype == table["x"].dtype
    low, high = min(column), max(column)
    assert all(low <= each <= high for each in release.data["x"])
    for public in (False, True):
        release.report(tmp_path / "report.html", public=public)


def test_fifty_columns():
    numbers = np.random.default_rng(0).normal(size=(60, 50))
    table = pd.DataFrame(numbers, columns=[f"c{each}" for each in range(50)])
    release = protect(table, quasi_identifiers=list(table))
    recounted(release)
    assert (
        release.partition.labels.tolist() == microagg.partition(numbers, 3, "mdav").labels.tolist()
    )


def test_rounding_keeps_k():
    table = people(60)
    for decimals, places in ((0, 0), (-4, -4), ({"income": 1}, 1), (15, 15)):
        release = protect(table, quasi_identifiers=["income", "weight"], decimals=decimals)
        recounted(release)
        found = release.data["income"].to_numpy()
        np.testing.assert_array_equal(found, np.round(found, places))
    huge = protect(pd.DataFrame({"x": [1e300] * 3}), quasi_identifiers="x", decimals=15)
    assert huge.data["x"].tolist() == [1e300] * 3


@given(
    numbers=st.lists(
        st.floats(-1e9, 1e9) | st.just(None) | st.integers(-2, 2).map(float),
        min_size=2,
        max_size=25,
    ),
    k=st.integers(2, 4),
    decimals=st.none() | st.integers(-2, 2),
)
@settings(max_examples=60)
def test_k_always_holds(numbers, k, decimals):
    k = min(k, len(numbers))
    table = pa.table(
        {"x": pa.array(numbers, pa.float64()), "y": [i % 3 for i in range(len(numbers))]}
    )
    release = protect(table, quasi_identifiers=["x", "y"], k=k, decimals=decimals)
    recounted(release)


# Settings


def test_recipes_and_settings():
    table = people()
    recipe = Recipe(quasi_identifiers=["income"], k=4, method="mdav", decimals=1)
    plain = microagg.protect(table, recipe=recipe, measures=False)
    assert plain.recipe == recipe
    other = microagg.protect(table, recipe=recipe, k=2, measures=False)
    assert other.recipe == Recipe(quasi_identifiers=["income"], k=2, method="mdav", decimals=1)
    with pytest.raises(OptionError, match="recipe must be a Recipe"):
        microagg.protect(table, recipe={"k": 3})


def test_methods_and_their_options():
    table = people()
    assert protect(table, method="zscore").certificate.method == "zscore"
    assert protect(table, method="vmdav", options={"gamma": 0.2}).certificate.method == "vmdav"
    with pytest.raises(OptionError, match="no option 'gama'"):
        protect(table, method="vmdav", options={"gama": 0.2})
    with pytest.raises(OptionError, match="there is no method 'mdaw'; did you mean mdav"):
        protect(table, method="mdaw")


@pytest.mark.parametrize(
    ("wrong", "words"),
    [
        ({"quasi_identifiers": ["incme"]}, "no column 'incme'; did you mean 'income'?"),
        ({"quasi_identifiers": ["INCOME"]}, "did you mean 'income'?"),
        ({"confidential": ["ilness"]}, "did you mean 'illness'?"),
        ({"identifiers": ["nme"]}, "did you mean 'name'?"),
        ({"within": ["regio"]}, "did you mean 'region'?"),
        ({"weights": "weigth"}, "did you mean 'weight'?"),
        ({"entity": "housold"}, "did you mean 'household'?"),
        ({"k": 41}, "k is 41, but there are only 40 records"),
        ({"quasi_identifiers": ["name"], "kinds": {"name": "date"}}, "declared date"),
        ({"quasi_identifiers": []}, "quasi_identifiers must be given"),
    ],
)
def test_refused(wrong, words):
    with pytest.raises(MicroaggError) as caught:
        protect(people(), **wrong)
    assert words in str(caught.value)


@pytest.mark.parametrize(
    "entries",
    [
        [SECRET, np.inf, 1.0],
        [str(SECRET), "1", "x"],
        [str(SECRET), "1", "2"],
        [[SECRET], [1], [2]],
        [SECRET, "x", None],
        [complex(SECRET), 1j, 2j],
    ],
)
def test_errors_tell_no_values(entries):
    table = pd.DataFrame({"pay": pd.Series(entries)})
    with pytest.raises(InputError, match="'pay'") as caught:
        protect(table, quasi_identifiers="pay")
    assert "4711" not in str(caught.value)
    assert "4711" not in repr(caught.value.__cause__)
    assert caught.value.__suppress_context__ or caught.value.__context__ is None


# The same again, and nothing of the original


@pytest.mark.parametrize("suffix", [".csv", ".parquet", ".arrow"])
def test_the_same_recipe_gives_the_same_bytes(tmp_path, suffix):
    table = with_gaps(people())
    paths = [tmp_path / f"{place}{suffix}" for place in "ab"]
    for path in paths:
        certificate = protect(table, confidential="illness", row_order="kept").write(path)
        assert certificate.passed
        assert certificate.k_found >= 3
    assert paths[0].read_bytes() == paths[1].read_bytes()
    back = {".csv": pd.read_csv, ".parquet": pd.read_parquet, ".arrow": pd.read_feather}[suffix](
        paths[0]
    )
    sizes, k = naive.recount(rows(back, QUASI))
    assert k == certificate.k_found
    assert len(sizes) == certificate.groups


def test_the_record_knows_the_input_and_the_recipe():
    one, again = (protect(people()).record for _ in range(2))
    assert one.secret != again.secret
    assert one.input_hmac != again.input_hmac
    same = protect(people(), record=one).record
    assert (same.secret, same.input_hmac) == (one.secret, one.input_hmac)
    assert one.recipe_sha256 == again.recipe_sha256 == protect(people()).recipe.sha256
    for table, other in ((people(seed=9), {}), (people(), {"k": 4})):
        with pytest.raises(OptionError, match="the record is of another input or recipe"):
            protect(table, record=one, **other)


def reachable(thing):
    """Everything that can be reached from an object, but not by way of modules and code."""
    seen, waiting = {}, [thing]
    while waiting:
        each = waiting.pop()
        skipped = types.ModuleType | types.FunctionType | types.BuiltinFunctionType | type
        if id(each) in seen or isinstance(each, skipped):
            continue
        seen[id(each)] = each
        waiting += gc.get_referents(each)
        if isinstance(each, np.ndarray) and each.base is not None:
            waiting.append(each.base)
    return seen.values()


@pytest.mark.parametrize("library", ["pandas", "polars", "arrow"])
def test_a_release_never_holds_the_original(library, tmp_path):
    rng = np.random.default_rng(3)
    numbers = rng.normal(size=(30, 3))
    table = pd.DataFrame(numbers, columns=["x", "y", "z"])
    table["label"] = [f"person {each}" for each in range(30)]
    native = {
        "pandas": table,
        "polars": pl.from_pandas(table),
        "arrow": pa.Table.from_pandas(table, preserve_index=False),
    }[library]
    release = protect(
        native, quasi_identifiers=["x", "y"], identifiers="label", confidential="z", measures=True
    )
    release.report(tmp_path / "report.html")
    secrets = set(numbers[:, :2].ravel().tolist())
    for each in reachable(release):
        if isinstance(each, np.ndarray) and each.dtype.kind == "f":
            assert not np.isin(numbers[:, :2], each).any()
        elif isinstance(each, float):
            assert each not in secrets
        elif isinstance(each, str):
            assert not each.startswith("person ")
        assert each is not native
    packed = (
        pickle.dumps(release.data)
        + pickle.dumps((release.partition, release.recipe, release.certificate, release.record))
        + pickle.dumps(release.shown.attributes)
    )
    assert b"person 7" not in packed
    for value in numbers[:, :2].ravel():
        assert value.tobytes() not in packed


def test_reports_of_every_kind(tmp_path):
    release = protect(
        with_gaps(people()), confidential="illness", identifiers="name", measures=True
    )
    for public in (False, True):
        release.report(tmp_path / f"{public}.html", public=public)
        assert "income" in (tmp_path / f"{public}.html").read_text()


@pytest.mark.parametrize(
    "column",
    [
        np.array([-128, 127] * 6, np.int8),
        2**62 + np.arange(12) * 100,
        np.array([0, 2**64 - 1] * 6, np.uint64),
        pd.array([None] * 12, "Int64"),
        pd.array([1, None, 3, 4] * 3, "Int64"),
        pd.Series(pd.date_range("2024-01-01", periods=12)),
        np.arange(12.0),
    ],
)
def test_moved_centroids_stay_within_their_type(column):
    table = pd.DataFrame({"x": column, "far": np.full(12, 2.0)})
    release = protect(table, quasi_identifiers="x", aggregate="proximity", distance="far")
    recounted(release)
    found = release.data["x"]
    assert found.dtype == table["x"].dtype
    if table["x"].notna().any() and found.dtype != float:
        assert table["x"].min() <= found.min() <= found.max() <= table["x"].max()


@pytest.mark.parametrize(
    "asked", [{"refine": 0.01}, {"method": "search", "options": {"time_limit": 0.01}}]
)
def test_a_search_by_the_clock_says_that_it_may_not_repeat(asked):
    table = pd.DataFrame(np.random.default_rng(0).normal(size=(60, 2)), columns=["x", "y"])
    release = microagg.protect(table, quasi_identifiers=["x", "y"], progress=False, **asked)
    assert any("seconds, not steps" in note for note in release.certificate.notes)
    again = microagg.protect(table, quasi_identifiers=["x", "y"], progress=False, refine=True)
    assert not any("seconds, not steps" in note for note in again.certificate.notes)


def test_what_is_grouped_by_is_what_is_reported():
    # Two of twelve are marked. To group them with others would lose all of that column.
    marked = np.isin(np.arange(12), [2, 9])
    for mark in (marked, np.where(marked, "yes", "no")):
        table = pd.DataFrame({"x": np.arange(12.0), "mark": mark})
        release = microagg.protect(table, k=2, quasi_identifiers=["x", "mark"], progress=False)
        assert (release.data["mark"] == table["mark"]).all()
        losses = release.certificate.attribute_losses
        assert (losses["mark"], losses["x"] < 30.0) == (0.0, True)


def test_moved_centroids_are_judged_by_who_knows_how():
    rng = np.random.default_rng(0)
    x = np.repeat(rng.normal(size=40), 3) + rng.normal(scale=0.001, size=120)
    table = pd.DataFrame({"x": x, "y": x, "z": np.repeat(np.arange(40), 3) + 0.5})
    asked = {"distance": {"x": 0.8, "y": 0.8, "z": 0.7}, "alpha": 0.6, "importance": 0.1}
    names = list(table)
    figures = {}
    for solution in ("global", "random"):
        release = microagg.protect(
            table,
            k=3,
            quasi_identifiers=names,
            aggregate="proximity",
            solution=solution,
            progress=False,
            **asked,
        )
        figures[solution] = found = release.assessment.figures
        guessed = measures.transparent(
            table.to_numpy(), release.data.to_numpy(), 5.0, [0.8, 0.8, 0.7], 0.1, 0.6
        )
        assert found["transparent_interval"] == pytest.approx(np.mean(guessed))
        same = {"distance": [0.8, 0.8, 0.7], "alpha": 0.6, "importance": 0.1}
        again = microagg.assess(table, release.data, **same).figures
        assert again["transparent_interval"] == pytest.approx(found["transparent_interval"])
    assert found["interval"] < 10.0
    assert found["transparent_interval"] < 0.8 * figures["global"]["transparent_interval"]
    # Lots are drawn for each column anew.
    assert not np.allclose(release.data["x"], release.data["y"])
