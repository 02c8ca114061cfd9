import datetime as dt
import re

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

import microagg
from microagg.base.errors import InputError, OptionError
from microagg.base.reading import Reading
from microagg.table.formats.csv.dates import as_written, find_dates
from microagg.table.opening import open_table

FORMS = ["%d.%m.%Y", "%m/%d/%Y", "%d/%m/%Y", "%Y/%m/%d", "%d-%m-%Y", "%m-%d-%Y"]


def written(day, form, padded):
    text = day.strftime(form)
    return text if padded else re.sub(r"(?<!\d)0", "", text)


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("padded", [True, False])
@given(
    days=st.lists(st.dates(dt.date(1000, 1, 1)), min_size=1, max_size=9),
)
def test_dates_are_read_and_written_in_their_form(form, padded, days):
    # One that no other form reads, and one that shows whether zeros lead.
    days = [*days, dt.date(1966, 11, 25), dt.date(1970, 2, 28), None]
    texts = pa.array([None if day is None else written(day, form, padded) for day in days])
    convert, found, shown = find_dates(texts.drop_null()[0].as_py(), texts, None)
    assert (found, shown) == (form, padded)
    values = convert(texts)
    assert values.to_pylist() == days
    assert as_written(values, found, shown).equals(texts.cast(pa.large_string()))


@pytest.mark.parametrize("text", ["31.02.1966", "32/01/1990", "13/13/1990", "1/2/90", "1.2.3.1990"])
def test_what_is_no_date_stays_text(text):
    with pytest.raises(pa.ArrowInvalid):
        find_dates(text, pa.array([text]), None)


def people(form, n=60, most_day=28):
    rng = np.random.default_rng(0)
    days = [
        dt.date(1950 + int(y), int(m), int(d))
        for y, m, d in zip(
            rng.integers(0, 40, n), rng.integers(1, 13, n), rng.integers(1, most_day + 1, n),
            strict=True,
        )
    ]  # fmt: skip
    return pd.DataFrame({"born": [day.strftime(form) for day in days], "pay": rng.random(n)})


SETTINGS = {"k": 4, "quasi_identifiers": ["born", "pay"], "method": "mdav"}


@pytest.mark.parametrize("engine", ["memory", "disk"])
@pytest.mark.parametrize("form", ["%d.%m.%Y", "%m/%d/%Y"])
def test_a_release_has_dates_in_the_form_of_the_input(tmp_path, form, engine):
    people(form).to_csv(tmp_path / "t.csv", index=False)
    with microagg.protect(tmp_path / "t.csv", engine=engine, **SETTINGS) as release:
        assert [each.kind for each in release.shown.attributes] == ["date", "continuous"]
        assert release.write(tmp_path / "r.csv").passed
        release.write(tmp_path / "r.parquet")
    after = pd.read_csv(tmp_path / "r.csv")["born"]
    days = [dt.datetime.strptime(text, form).date() for text in after]
    assert [day.strftime(form) for day in days] == after.tolist()
    plain = pd.read_parquet(tmp_path / "r.parquet")["born"]
    assert sorted(days) == sorted(plain)


def test_ambiguous_dates_are_refused_with_both_readings(tmp_path):
    people("%d/%m/%Y", most_day=12).to_csv(tmp_path / "t.csv", index=False)
    with pytest.raises(InputError, match=r"%d/%m/%Y.*%m/%d/%Y.*date.format"):
        microagg.protect(tmp_path / "t.csv", **SETTINGS)
    found = {each.name: each for each in microagg.inspect(tmp_path / "t.csv").columns}
    assert (found["born"].kind, found["pay"].kind) == ("unclear", "continuous")
    for form in ("%d/%m/%Y", "%m/%d/%Y"):
        reading = {"date_format": form}
        opened = open_table(tmp_path / "t.csv", Reading(**reading))
        days = [
            dt.datetime.strptime(text, form).date()
            for text in people("%d/%m/%Y", most_day=12)["born"]
        ]
        assert opened.frame.column("born").to_pylist() == days
        release = microagg.protect(tmp_path / "t.csv", reading=reading, **SETTINGS)
        assert release.shown.attributes[0].kind == "date"


@pytest.mark.parametrize("form", ["d.m.Y", "%d.%m", "%d.%m.%Y.%d", "%d %B %Y"])
def test_forms_that_are_none(form):
    with pytest.raises(OptionError, match="date_format"):
        Reading(date_format=form)
