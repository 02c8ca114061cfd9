from decimal import Decimal

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

import microagg
from microagg.columns.coding import Observed
from microagg.columns.digits import FEW, Digits, may_be_codes


def naive_decimals(values):
    """From the shortest text of each number; None where one has more than ten places."""
    places = [max(0, -Decimal(repr(value)).normalize().as_tuple().exponent) for value in values]
    return None if max(places, default=0) > 10 else max(places, default=0)


def seen(*parts):
    digits = Digits()
    for part in parts:
        digits.add(np.array(part, np.float64))
    return digits


NUMBERS = st.one_of(
    st.decimals(-(10**4), 10**4, places=3).map(float),
    st.integers(-(10**6), 10**6).map(float),
    st.floats(-(10**4), 10**4),
)


@given(st.lists(st.lists(NUMBERS, max_size=20), max_size=4))
def test_decimals_and_few_values_of_parts(parts):
    values = [value for part in parts for value in part]
    halves = seen(*parts[:2])
    halves.merge(seen(*parts[2:]))
    for digits in (seen(*parts), seen(*parts[::-1]), halves):
        assert digits.decimals == naive_decimals(values)
        distinct = sorted(set(values))
        assert digits.few == (tuple(distinct) if len(distinct) <= FEW else None)


def test_floats_of_half_the_width_have_the_decimals_they_show():
    observed = Observed("x", pa.float32())
    observed.add(pa.array([0.1, 2.25, 3.0], pa.float32()))
    assert observed.coding().decimals == 2


@pytest.mark.parametrize("engine", ["memory", "disk"])
def test_means_have_the_decimals_of_the_input(tmp_path, engine):
    rng = np.random.default_rng(0)
    table = pd.DataFrame({"pay": rng.normal(40, 9, 90).round(3), "size": rng.random(90)})
    table.to_parquet(tmp_path / "t.parquet")
    settings = {"k": 4, "quasi_identifiers": ["pay", "size"], "method": "mdav", "engine": engine}

    def released(**more):
        with microagg.protect(tmp_path / "t.parquet", **settings, **more) as release:
            release.write(tmp_path / "out.parquet", force=True)
            losses = release.record.attribute_losses
        return pd.read_parquet(tmp_path / "out.parquet"), losses

    plain, losses = released(row_order="kept")
    assert naive_decimals(plain["pay"].tolist()) == 3
    # True floats have no decimals to keep.
    assert naive_decimals(plain["size"].tolist()) is None
    # What is reported is the loss of what is published.
    gone = ((plain["pay"] - table["pay"]) ** 2).sum() / (
        (table["pay"] - table["pay"].mean()) ** 2
    ).sum()
    assert losses["pay"] == pytest.approx(100 * gone, rel=1e-12)
    # What is asked for goes before.
    assert naive_decimals(released(decimals={"pay": 1})[0]["pay"].tolist()) == 1


@pytest.mark.parametrize("engine", ["memory", "disk"])
def test_floats_that_are_all_whole_stay_whole(tmp_path, engine):
    rng = np.random.default_rng(1)
    table = pd.DataFrame({"age": rng.integers(18, 90, 70).astype(float), "pay": rng.random(70)})
    table.loc[3, "age"] = np.nan
    table.to_parquet(tmp_path / "t.parquet")
    settings = {"k": 3, "quasi_identifiers": ["age", "pay"], "method": "mdav", "engine": engine}
    with microagg.protect(tmp_path / "t.parquet", **settings) as release:
        release.write(tmp_path / "out.parquet")
        assert [each.kind for each in release.shown.attributes] == ["integer", "continuous"]
    after = pd.read_parquet(tmp_path / "out.parquet")["age"]
    assert after.dtype == np.float64
    assert (after == after.round()).all()
    with microagg.protect(
        tmp_path / "t.parquet", **settings, kinds={"age": "continuous"}, decimals=2
    ) as release:
        release.write(tmp_path / "two.parquet")
    after = pd.read_parquet(tmp_path / "two.parquet")["age"]
    assert (after != after.round()).any()


@pytest.mark.parametrize(
    ("name", "few", "codes"),
    [
        ("household_size", True, False),
        ("number of children", True, False),
        ("Anzahl Kinder", True, False),
        ("rooms", True, False),
        ("answer7", True, True),
        ("region", False, True),
        ("size class", True, True),
        ("income", False, False),
    ],
)
def test_what_was_counted_is_no_code(name, few, codes):
    assert may_be_codes(name, "integer", few) == codes
    assert not may_be_codes(name, "continuous", few)
