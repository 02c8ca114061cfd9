"""Dates that tell the month only: read, grouped and published as such."""

import datetime as dt

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

import microagg
from microagg.columns.kinds.date import nearest_firsts

FORMS = {"%Y-%m": "{y}-{m:02}", "%m/%Y": "{m:02}/{y}", "%m.%Y": "{m:02}.{y}", "%Y/%m": "{y}/{m:02}"}


def births(n=200, seed=0):
    rng = np.random.default_rng(seed)
    return [(int(y), int(m)) for y, m in zip(rng.integers(1930, 2010, n), rng.integers(1, 13, n),
                                             strict=True)]  # fmt: skip


@pytest.mark.parametrize("engine", ["memory", "disk"])
@pytest.mark.parametrize("form", FORMS)
def test_months_are_published_as_they_are_written(tmp_path, form, engine):
    path, out = tmp_path / "in.csv", tmp_path / "out.csv"
    texts = [FORMS[form].format(y=y, m=m) for y, m in births()]
    pd.DataFrame({"born": texts, "x": range(200)}).to_csv(path, index=False)
    told = {} if form in ("%Y-%m", "%m/%Y") else {"reading": {"date_format": form}}
    with microagg.protect(
        path, k=4, quasi_identifiers=["born"], engine=engine, row_order="kept", progress=False,
        **told,
    ) as release:  # fmt: skip
        certificate = release.write(out)
    assert certificate.passed
    found = pd.read_csv(out, dtype=str)["born"]
    assert found.str.fullmatch(form.replace("%Y", r"\d{4}").replace("%m", r"\d\d")).all()
    assert found.value_counts().min() >= 4
    months = [12 * y + m for y, m in births()]
    parts = found.str.extract(form.replace("%Y", r"(?P<y>\d{4})").replace("%m", r"(?P<m>\d\d)"))
    after = 12 * parts["y"].astype(int) + parts["m"].astype(int)
    assert np.corrcoef(months, after)[0, 1] > 0.99


def test_dates_on_the_first_of_the_month_stay_such():
    days = [dt.date(y, m, 1) for y, m in births(60)]
    table = pa.table({"born": pa.array(days), "x": np.arange(60.0)})
    release = microagg.protect(table, k=3, quasi_identifiers=["born", "x"], progress=False)
    assert {each.day for each in release.data["born"].to_pylist()} == {1}
    moments = table.set_column(0, "born", table["born"].cast(pa.timestamp("ms")))
    release = microagg.protect(moments, k=3, quasi_identifiers=["born", "x"], progress=False)
    assert {each.day for each in release.data["born"].to_pylist()} == {1}
    table = table.set_column(0, "born", pa.array([dt.date(1999, 5, 17), *days[1:]]))
    release = microagg.protect(table, k=3, quasi_identifiers=["born", "x"], progress=False)
    assert {each.day for each in release.data["born"].to_pylist()} != {1}


@given(st.lists(st.dates(dt.date(2, 1, 1), dt.date(9998, 1, 1)), min_size=1))
def test_the_nearest_first_of_a_month(dates):
    days = np.array([(each - dt.date(1970, 1, 1)).days for each in dates], np.int64)
    for each, found in zip(dates, nearest_firsts(days).tolist(), strict=True):
        near = [each + dt.timedelta(away) for away in range(-16, 17)]
        firsts = [(abs(day - each), day) for day in near if day.day == 1]
        assert dt.date(1970, 1, 1) + dt.timedelta(found) == min(firsts)[1]


def test_texts_that_are_no_months_stay_texts(tmp_path):
    path = tmp_path / "in.csv"
    pd.DataFrame({"a": ["1999-00", "2000-01"] * 5, "b": ["2010/11", "2011/12"] * 5}).to_csv(
        path, index=False
    )
    assert [each.kind for each in microagg.inspect(path).columns] == ["nominal", "nominal"]
