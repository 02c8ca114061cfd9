"""The door: what goes in, what comes out, what is refused."""

import subprocess
import sys
from decimal import Decimal

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyreadstat
import pytest

from microagg import private
from microagg.base.errors import InputError, MicroaggError, OptionError
from microagg.private import release
from microagg.table.formats.csv.layout import CsvLayout

WORD = "partition-conditional"
SECRET = 987654.25


def table(n=60):
    rng = np.random.default_rng(4)
    return {"income": rng.uniform(0, 1000, n), "age": rng.integers(18, 90, n)}


BOUNDS = {"income": (0, 1000), "age": (0, 120)}


def simulated(data, **options):
    settings = {"epsilon": 2.0, "accept": WORD, "simulate": True, "seed": 0, **options}
    return release(data, **settings)


def test_with_little_noise_linked_rows_are_the_table():
    data = {name: np.asarray(column, float) for name, column in table().items()}
    found = simulated(data, epsilon=1e9, bounds=BOUNDS, method="optimal")
    for name, column in data.items():
        assert found.data[name] == pytest.approx(column, abs=1e-4)
    grouped = simulated(data, epsilon=1e9, bounds=BOUNDS, method="mdav", k=5)
    labels = private_labels(grouped.data["income"])
    for name, column in data.items():
        means = np.bincount(labels, weights=column) / np.bincount(labels)
        assert grouped.data[name] == pytest.approx(means[labels], abs=1e-4)


def private_labels(column):
    return np.unique(column, return_inverse=True)[1]


def test_marginals_are_what_the_data_are_made_of():
    found = simulated(table(), bounds=BOUNDS, method="marginals", k=7)
    for name, marginal in found.marginals.items():
        assert marginal.counts.tolist() == [8, 8, 8, 8, 7, 7, 7, 7]
        assert (
            np.sort(found.data[name]).tolist()
            == np.sort(np.repeat(marginal.values, marginal.counts)).tolist()
        )


def test_a_mean_by_hand():
    found = simulated([1.0, 2, 9, 4], epsilon=1e9, bounds={"0": (0, 10)}, method="marginals", k=2)
    assert found.marginals["0"].values == pytest.approx([1.5, 6.5], abs=1e-6)


def test_kinds_of_tables():
    x = np.arange(10.0)
    flat = simulated(x, bounds={"0": (0, 10)}, method="optimal")
    assert flat.data.shape == (10,)
    wide = simulated(np.column_stack([x, x]), bounds={"0": (0, 10), "1": (0, 9)}, method="optimal")
    assert wide.data.shape == (10, 2)
    lists = simulated({"a": list(range(10))}, bounds={"a": [0, 10]}, method="optimal")
    assert lists.data["a"].shape == (10,)
    one = simulated([3.0], bounds={"0": (0, 10)}, method="marginals")
    assert one.data.shape == (1,)


def survey():
    names = [f"person-{i}" for i in range(60)]
    return {"name": names, "age": np.arange(20, 80), "sex": np.array(["f", "m", "m"] * 20)}


SURVEY_BOUNDS = {"age": (0, 110), "sex": ["f", "m"]}


@pytest.mark.parametrize("kind", [pd.DataFrame, pl.DataFrame, pa.table])
def test_the_same_kind_comes_back_with_bounded_columns_only(kind):
    data = kind(survey())
    made = simulated(data, bounds=SURVEY_BOUNDS, method="marginals")
    assert type(made.data) is type(data)
    names = made.data.column_names if kind is pa.table else list(made.data.columns)
    assert names == ["age", "sex"]
    assert len(made.data) == 60


def test_a_table_gives_what_its_columns_give():
    plain = survey()
    del plain["name"]
    one = simulated(plain, bounds=SURVEY_BOUNDS, method="marginals")
    other = simulated(pa.table(survey()), bounds=SURVEY_BOUNDS, method="marginals")
    assert np.array_equal(one.data["age"], other.data["age"].to_numpy())
    assert one.data["sex"].tolist() == other.data["sex"].to_pylist()


def test_what_a_frame_cannot_release_is_refused_without_values():
    frame = pa.table(
        {
            "age": [1.5, None, 3.0],
            "income": [SECRET, float("nan"), 1.0],
            "sex": ["f", None, "m"],
            "born": pa.array([0, 1, 2], pa.date32()),
            "key": [b"a", b"b", b"c"],
        }
    )
    for name, said, message in (
        ("age", (0, 9), "'age' has 1 missing values.*looks at no other record"),
        ("income", (0, 9), "'income' has 1 missing values"),
        ("sex", ["f", "m"], "'sex' has 1 missing values"),
        ("born", (0, 9), "'born' holds dates; turn them into numbers first"),
        ("key", ["a"], "'key' is of type binary; make it numbers or text"),
    ):
        with pytest.raises(InputError, match=message) as refusal:
            simulated(frame, bounds={name: said}, method="marginals")
        assert "987654" not in str(refusal.value)
    with pytest.raises(OptionError, match="did you mean 'age'"):
        simulated(frame, bounds={"agee": (0, 9)}, method="records")
    with pytest.raises(OptionError, match="bounds name no column"):
        simulated(frame, bounds={}, method="records")


def test_numbers_and_texts_of_a_frame():
    frame = pa.table(
        {
            "code": ["1", "2", "2"],
            "flag": [True, False, True],
            "price": pa.array([Decimal("1.25"), Decimal("2.50"), Decimal("0.75")]),
            "large": pa.array([2**60 + 1, 1, 2]),
            "kind": pa.array(["p", "q", "p"]).dictionary_encode(),
        }
    )
    bounds = {
        "code": ["1", "2"], "flag": ["True", "False"], "kind": ["p", "q"],
        "price": (0, 4), "large": (0, 2**61),
    }  # fmt: skip
    made = simulated(frame, epsilon=1e9, bounds=bounds, method="marginals", k=1)
    assert made.marginals["code"].counts.tolist() == [1, 2, 0]
    assert made.marginals["flag"].counts.tolist() == [2, 1, 0]
    assert made.marginals["kind"].counts.tolist() == [2, 1, 0]
    assert made.marginals["price"].values == pytest.approx([0.75, 1.25, 2.5], abs=1e-6)
    assert made.marginals["large"].values[-1] == pytest.approx(2.0**60, rel=1e-6)


def test_codes_that_a_file_declares_missing_are_missing(tmp_path):
    path = tmp_path / "survey.sav"
    frame = pd.DataFrame({"age": [30.0, 99.0, 40.0], "height": [1.7, 1.8, 1.6]})
    pyreadstat.write_sav(frame, path, missing_ranges={"age": [99], "height": [9]})
    with pytest.raises(InputError, match="'age' has 1 missing values"):
        simulated(path, bounds={"age": (0, 110)}, method="records")
    simulated(path, bounds={"height": (0, 3)}, method="records")


def test_the_origin_names_the_input_and_holds_none_of_it(tmp_path):
    path = tmp_path / "survey.csv"
    path.write_text("age;note\n30;-1\n40;NA\n")
    made = simulated(path, bounds={"age": (0, 110)}, method="records")
    assert made.origin.path == path
    assert (made.origin.name, made.origin.form) == ("survey.csv", "csv")
    assert made.origin.layout == CsvLayout(delimiter=";")
    assert "origin" not in repr(made)
    for data, bounds in (
        ([1.0, 2.0], {"0": (0, 5)}),
        ({"x": [1.0]}, {"x": (0, 5)}),
        (pa.table({"x": [1.0]}), {"x": (0, 5)}),
    ):
        origin = simulated(data, bounds=bounds, method="records").origin
        assert (origin.name, origin.form, origin.path) == ("table", "frame", None)


def test_seeds():
    options = {"bounds": BOUNDS, "method": "marginals", "k": 5}
    one, two = (simulated(table(), seed=3, **options) for _ in range(2))
    other = simulated(table(), seed=4, **options)
    assert (one.data["age"] == two.data["age"]).all()
    assert (one.data["age"] != other.data["age"]).any()
    with pytest.raises(OptionError, match="real releases have none"):
        release(table(), epsilon=1.0, seed=3, **options)


def test_categories():
    rng = np.random.default_rng(0)
    texts = rng.choice(["red", "green", "mauve"], 3000, p=[0.5, 0.3, 0.2])
    found = simulated({"c": texts}, bounds={"c": ["red", "green", "blue"]}, method="marginals")
    marginal = found.marginals["c"]
    assert marginal.values.tolist() == ["red", "green", "blue", "other"]
    truth = [(texts == "red").sum(), (texts == "green").sum(), 0, (texts == "mauve").sum()]
    assert np.abs(marginal.counts - truth).max() < 30
    assert found.data["c"].size == 3000
    assert "mauve" not in found.data["c"]
    own = simulated({"c": texts}, bounds={"c": ["red", "other"]}, method="marginals")
    assert own.marginals["c"].values.tolist() == ["red", "other"]


def test_noise_on_counts():
    """Two counts change when one record does: scale 2 / epsilon."""
    names = [str(number) for number in range(20_000)]
    texts = np.repeat(names, 20)
    found = simulated({"c": texts}, epsilon=1.0, bounds={"c": names}, method="marginals")
    noise = found.marginals["c"].counts[:-1] - 20
    # |noise| of a discrete Laplace with scale 2 has the mean 1 / sinh(1 / 2); none reaches zero.
    assert np.abs(noise).mean() == pytest.approx(1 / np.sinh(0.5), rel=0.03)


def test_categories_need_an_even_budget():
    data = {"c": ["a", "b"], "x": [1.0, 2.0]}
    bounds = {"c": ["a", "b"], "x": (0, 5)}
    simulated(data, bounds=bounds, method="marginals", k=1)
    for budget in ("sensitivity", "optimal"):
        with pytest.raises(OptionError, match="budget='even'"):
            simulated(data, bounds=bounds, method="marginals", budget=budget)


@pytest.mark.parametrize(
    ("data", "bounds", "message"),
    [
        ({"x": [1.0, np.nan]}, {"x": (0, 5)}, "column 'x'.*missing"),
        ({"x": [1.0, np.inf]}, {"x": (0, 5)}, "column 'x'.*infinite"),
        ({"x": [1.0, None]}, {"x": (0, 5)}, "column 'x'.*missing"),
        ({"x": ["a", None]}, {"x": ["a"]}, "column 'x'.*missing"),
        ({"x": [1.0], "y": [1.0, 2.0]}, {"x": (0, 5), "y": (0, 5)}, "one length"),
        ({"x": []}, {"x": (0, 5)}, "no records"),
        ({}, {}, "no columns"),
        ({"x": [[1.0]]}, {"x": (0, 5)}, "1-dimensional"),
        ({"x": [["a"]]}, {"x": ["a"]}, "1-dimensional"),
        ({"x": [[1.0], [1.0, 2.0]]}, {"x": (0, 5)}, "one number or text a record"),
    ],
)
def test_unusable_data(data, bounds, message):
    with pytest.raises(InputError, match=message):
        simulated(data, bounds=bounds, method="marginals")


@pytest.mark.parametrize(
    ("bounds", "message"),
    [
        (None, "bounds are needed.*known without the data"),
        ({}, "missing for 'x'"),
        ({"x": (0, 5), "y": (0, 5)}, "'y', which the table does not have"),
        ({"x": (5, 5)}, "'x' must be finite, with low below high"),
        ({"x": (5, 0)}, "low below high"),
        ({"x": (0, np.inf)}, "finite"),
        ({"x": (0, np.nan)}, "finite"),
        ({"x": (-1.7e308, 1.7e308)}, "finite"),
        ({"x": (0, 1, 2)}, "pair of numbers"),
        ({"x": 5}, "pair of numbers"),
        ({"x": (False, True)}, "pair of numbers"),
        ({"x": ["a", "b"]}, "holds numbers"),
        ("data", "must map column names"),
        ([(0, 5)], "must map column names"),
    ],
)
def test_unusable_bounds(bounds, message):
    with pytest.raises(OptionError, match=message):
        simulated({"x": [1.0, 2.0]}, bounds=bounds, method="records")


def test_codes_are_counted_like_categories(tmp_path):
    """Whole numbers that the bounds list, and the rest as other; a fraction is no code."""
    data = {"x": [1.0, 2.0, 2.0, 7.0, 1.5, -1.0] * 50}
    found = simulated(data, bounds={"x": ["1", "2", "-1"]}, method="marginals", epsilon=1000.0)
    marginal = found.marginals["x"]
    assert dict(zip(marginal.values, marginal.counts, strict=True)) == {
        "1": 50, "2": 100, "-1": 50, "other": 100
    }  # fmt: skip
    path = tmp_path / "t.csv"
    path.write_text("sex\n" + "1\n2\n" * 30)
    found = simulated(path, bounds={"sex": ["1", "2"]}, method="marginals", epsilon=1000.0)
    found.write(tmp_path / "r.csv")
    assert sorted((tmp_path / "r.csv").read_text().split()) == ["1"] * 30 + ["2"] * 30 + ["sex"]


def test_text_needs_categories():
    with pytest.raises(OptionError, match="must list all categories"):
        simulated({"x": ["a", "b"]}, bounds={"x": (0, 5)}, method="marginals")


@pytest.mark.parametrize("epsilon", [0, -1, np.nan, np.inf, "1", True, None, 1e-13])
def test_unusable_epsilon(epsilon):
    with pytest.raises(OptionError, match="epsilon must be"):
        simulated([1.0], epsilon=epsilon, bounds={"0": (0, 5)}, method="records")


def test_unusable_settings():
    data, bounds = [1.0, 2.0], {"0": (0, 5)}
    with pytest.raises(OptionError, match="k must be 1"):
        simulated(data, bounds=bounds, method="records", k=2)
    with pytest.raises(MicroaggError, match="only 2 records"):
        simulated(data, bounds=bounds, method="marginals", k=3)
    with pytest.raises(OptionError, match="budget must be one of"):
        simulated(data, bounds=bounds, method="marginals", budget="odd")
    with pytest.raises(OptionError, match="no private method"):
        simulated(data, bounds=bounds, method="magic")
    with pytest.raises(OptionError, match="given the partition"):
        release(data, epsilon=1.0, bounds=bounds, method="optimal")


def test_messages_quote_no_values():
    for data, bounds in (
        ({"x": [SECRET, np.nan]}, {"x": (0, 5)}),
        ({"x": np.array([SECRET, "a"], object)}, {"x": ["a"]}),
        ({"x": np.array([SECRET, "a"], object)}, {"x": (0, 5)}),
        ({"x": np.array([f"{SECRET}", None], object)}, {"x": ["a"]}),
        ({"x": [SECRET, SECRET]}, "from-data"),
        ({"x": np.array([f"{SECRET}"], object)}, {"x": (0, 5)}),
    ):
        with pytest.raises(MicroaggError) as refusal:
            simulated(data, bounds=bounds, method="marginals")
        shown = f"{refusal.value} {refusal.value.__cause__}"
        assert "987654" not in shown


def test_public_names_and_nothing_heavy():
    for name in private.__all__:
        assert name in dir(private)
    with pytest.raises(AttributeError, match="no_such_name"):
        private.no_such_name  # noqa: B018
    script = (
        "import sys, pkgutil, importlib, microagg.private as p\n"
        "print([m for m in ('numpy', 'numba', 'opendp') if m in sys.modules])\n"
        "for found in pkgutil.iter_modules(p.__path__):\n"
        "    importlib.import_module('microagg.private.' + found.name)\n"
        "print('opendp' in sys.modules, all(callable(getattr(p, n)) for n in p.__all__))\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=True
    )
    assert done.stdout.split("\n")[:2] == ["[]", "False True"]
