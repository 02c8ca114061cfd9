import base64
import datetime as dt
import subprocess
import sys
import zlib

import numpy as np
import polars
import pyarrow as pa
import pyreadstat
import pytest
from hypothesis import Phase, given, settings
from hypothesis import strategies as st

from microagg.base.errors import InputError, OptionError
from microagg.base.reading import Reading
from microagg.table.checks import cast_like, fingerprint, sha256_of
from microagg.table.formats.stats import Stats
from microagg.table.formats.stats.layout import Layout, mask_of_missing, unit_of
from microagg.table.opening import open_table
from microagg.table.writing import write_file

STATS = Stats()

WRITTEN = (".sav", ".zsav", ".dta", ".xpt")
# A table of three rows: age (number), town (text), born (DATE9, the second is .B).
SAS_FILE = (
    "c-muNK!8K98WT2)2%g_NiGzXjxM7ckynvvw5`(cZBa<N`M2QFk12ZFvxG|%$F@uN*g90-n%$#7yU<Ef%A6FO05XW"
    "HG5CvR-fdByMM^e}D{ro0JBpMY6Krkbku%(`XiGiW7sZVBJX$6wFv7VuUo`J5Rp_zf6p`o53x^Wd2X7OewC_)WBe"
    ")&&f7+w90U3dPWxpNeZf>AIEM!_f;1*2dTjDk@x3P!;w7&KreqTh-FxY?l$CO!skAa#QW!qs3#Rd)a?E`g>$g9}1"
    "OFrkWzK*d8~0?-co15OBSf+ju%D(-_O9s?D(KoggNiaVgW=MD#U@i_#<(Ts-zJGgT9qQokU@r;W<>cRBhAN5$rI~"
    "wdE`X7`z_+;i)5j!3-3P!;w7zLwX6pRG$@ArQ&Ko{r4q27jpg(&@$+K(S-Fz~?iL$v=_f%0XbG&2w~GQb*AObq}3"
    "qc*DkK=oOmnG9}{urPwBIzRwy4+|3m2bw%GfEx85(YR27+H3+1Eeo_zV_^6T)q~U~5<#E40nhD(xCSJqr!qLErz&"
    "LTDO9E=78RG|m**wr7v%xvU9ouzW+u!|b{eG}9(L5QgoO$lT6>NS&CiTz?nCGQM^nd&rj8XY?itbiiOz>6F@kCA7"
    "m@0I{--R>4>j-&2q1Y16?_K*5d8tl=S7njG*AN53h+FM9iWTD@-R0{Kmb+V8ZDjtA7Sx9tNtjdfDvB0qVl=W_&jK"
    "QJ~TcD&3wv%RPKr(*~0^7%MfWZ3(%#EK#~VVv<_$bMeoW20AIH8Q2"
)
TABLE = pa.table(
    {
        "whole": pa.array([1, None, -3]),
        "large": pa.array([2**53 - 1, None, 2**31 - 2]),
        "number": pa.array([0.1 + 0.2, None, -1e70]),
        "yes": pa.array([True, None, False]),
        "text": pa.array(["a b", None, "é☃"]),
        "long_text": pa.array(["x" * 2100, None, "y"]),
        "born": pa.array([dt.date(1582, 10, 15), None, dt.date(2999, 12, 31)]),
        "seen": pa.array([dt.datetime(1800, 1, 2, 3, 4, 5, 678000), None, dt.datetime(2020, 1, 1)]),
        "nothing": pa.array([None, None, None], pa.float64()),
        "category": pa.array(["x", None, "y"]).dictionary_encode(),
    }
)


def stored(table, path, layout=None):
    STATS.write(table, path, layout)
    return STATS.read(path, Reading())


@pytest.mark.parametrize("suffix", WRITTEN)
def test_types_and_values_come_back(tmp_path, suffix):
    path = tmp_path / f"a{suffix}"
    back = stored(TABLE, path)
    same = cast_like(back.table, TABLE.schema)
    for name in TABLE.column_names:
        if name == "long_text" and suffix == ".xpt":
            continue
        assert same[name].to_pylist() == TABLE[name].to_pylist(), name
    assert back.table["born"].type == pa.date32()
    assert back.table["seen"].type == pa.timestamp("ms")
    assert back.sha256 == sha256_of(path)


@pytest.mark.parametrize("suffix", WRITTEN)
def test_what_was_read_is_written_the_same(tmp_path, suffix):
    first = stored(TABLE, tmp_path / f"a{suffix}")
    second = stored(first.table, tmp_path / f"b{suffix}", first.layout)
    assert second.table.equals(first.table)
    assert second.layout == first.layout
    assert second.sha256 == first.sha256


@pytest.mark.parametrize("suffix", WRITTEN)
@settings(max_examples=15, phases=[Phase.generate])
@given(
    rows=st.lists(
        st.tuples(
            st.none() | st.integers(-(2**53) + 1, 2**53 - 1),
            st.none() | st.floats(-1e70, 1e70).filter(lambda x: x == 0 or abs(x) > 1e-60),
            st.none()
            | st.text(st.characters(exclude_categories=["C", "Z"]), min_size=1, max_size=5),
            st.none() | st.dates(dt.date(1583, 1, 1), dt.date(3000, 1, 1)),
        ),
        min_size=1,
        max_size=12,
    )
)
def test_any_values_come_back(tmp_path, suffix, rows):
    types = (pa.int64(), pa.float64(), pa.string(), pa.date32())
    columns = [
        pa.array(each, kind) for each, kind in zip(zip(*rows, strict=True), types, strict=True)
    ]
    table = pa.table(columns, names=["a", "b", "c", "d"])
    back = stored(table, tmp_path / f"a{suffix}").table
    assert cast_like(back, table.schema).equals(table)


def spss(path):
    frame = polars.DataFrame(
        {
            "id": [1, 2, 3, 4],
            "income": [1200.5, 99999.0, -7.0, None],
            "sex": [1, 2, 9, None],
            "answer": ["yes", "NA", "no", ""],
            "day": [13_800_000_000.0 - 13_800_000_000.0 % 86_400, None, 0.0, 86_400.0],
        }
    )
    pyreadstat.write_sav(
        frame,
        path,
        file_label="A survey",
        note=["first line", "second line"],
        row_compress=True,
        column_labels={"income": "Net income", "sex": "Sex of the person"},
        variable_value_labels={
            "sex": {1.0: "male", 2.0: "female", 9.0: "refused"},
            "answer": {"yes": "Yes!"},
        },
        missing_ranges={
            "income": [99999.0, {"lo": -9.0, "hi": -1.0}],
            "sex": [9],
            "answer": ["NA"],
            "day": [86_400.0],
        },
        variable_measure={"sex": "nominal", "income": "scale"},
        variable_display_width={"income": 15},
        variable_format={"income": "F10.2", "sex": "F1.0", "id": "F4.0", "day": "EDATE10"},
    )
    return path


def test_spss_keeps_what_it_says_about_its_variables(tmp_path):
    first = STATS.read(spss(tmp_path / "a.sav"), Reading())
    assert first.table["sex"].to_pylist() == [1, 2, 9, None]
    assert first.table["sex"].type == pa.int64()
    assert first.table["income"].to_pylist() == [1200.5, 99999.0, -7.0, None]
    assert first.table["day"].type == pa.date32()
    second = stored(first.table, tmp_path / "b.sav", first.layout)
    assert second.table.equals(first.table)
    assert second.layout == first.layout
    _, found = pyreadstat.read_sav(tmp_path / "b.sav", output_format="dict", user_missing=True)
    assert found.file_label == "A survey"
    assert found.notes == ["first line", "second line"]
    assert found.column_names_to_labels["income"] == "Net income"
    assert found.variable_value_labels["sex"][9.0] == "refused"
    assert found.variable_measure["sex"] == "nominal"
    assert found.variable_display_width["income"] == 15
    assert found.original_variable_types["income"] == "F10.2"
    assert {"lo": -9.0, "hi": -1.0} in found.missing_ranges["income"]


def test_declared_codes_are_found(tmp_path):
    read = STATS.read(spss(tmp_path / "a.sav"), Reading())

    def mask(name, table=read.table):
        return mask_of_missing(table[name], read.layout, name)

    assert mask("id") is None
    assert mask("income").tolist() == [False, True, True, False]
    assert mask("sex").tolist() == [False, False, True, False]
    assert mask("answer").tolist() == [False, True, False, False]
    assert mask("day").tolist() == [False, False, False, True]
    whole = mask_of_missing(read.table["sex"].combine_chunks(), read.layout, "sex")
    assert whole.tolist() == [False, False, True, False]
    plain = STATS.exported(read.table, None, Reading(), read.layout)
    assert plain["income"].to_pylist() == [1200.5, None, None, None]
    assert plain["sex"].to_pylist() == [1, 2, None, None]
    assert plain["answer"].to_pylist() == ["yes", None, "no", None]
    assert plain["id"].equals(read.table["id"])
    ranges = read.table.set_column(1, "income", pa.array(["1-2"] * 4))
    assert mask("income", ranges) is None


def test_columns_that_changed_lose_what_no_longer_fits(tmp_path):
    read = STATS.read(spss(tmp_path / "a.sav"), Reading())
    released = pa.table(
        {
            "income": ["0-2000", "0-2000", "0-2000", None],
            "sex": pa.array([1.5, 1.5, 9.0, None]),
            "answer": read.table["answer"],
        }
    )
    back = stored(released, tmp_path / "b.sav", read.layout)
    assert back.table.equals(released)
    assert set(back.layout.missing_codes) == {"sex", "answer"}
    assert back.layout.labels["income"] == "Net income"
    assert back.layout.formats["sex"] != "F1.0"
    assert back.layout.value_labels["sex"] == read.layout.value_labels["sex"]


def stata(path, version=14):
    frame = polars.DataFrame(
        {
            "whole": polars.Series([1, "a", None, 2], dtype=polars.Object),
            "number": polars.Series([1.5, "z", "b", None], dtype=polars.Object),
            "day": polars.Series([0.0, "c", 366.0, None], dtype=polars.Object),
            "text": ["x", "", "y", "z"],
        }
    )
    pyreadstat.write_dta(
        frame,
        path,
        version=version,
        file_label="A panel",
        column_labels={"whole": "How many"},
        missing_user_values={"whole": ["a"], "number": ["b", "z"], "day": ["c"]},
        variable_value_labels={"whole": {1: "one", "a": "refused"}},
        variable_format={"number": "%9.2f", "day": "%td"},
    )
    return path


@pytest.mark.parametrize("version", [8, 10, 12, 13, 14, 15])
def test_stata_keeps_its_lettered_missing_values(tmp_path, version):
    first = STATS.read(stata(tmp_path / "a.dta", version), Reading())
    assert first.layout.version == {8: 113, 10: 114, 12: 115, 13: 117, 14: 118, 15: 119}[version]
    assert first.table["text"].to_pylist() == ["x", None, "y", "z"]
    masks = [
        mask_of_missing(first.table[name], first.layout, name)
        for name in ("whole", "number", "day")
    ]
    assert np.array(masks).tolist() == [[0, 1, 0, 0], [0, 1, 1, 0], [0, 1, 0, 0]]
    assert mask_of_missing(first.table["text"], first.layout, "text") is None
    second = stored(first.table, tmp_path / "b.dta", first.layout)
    assert second.table.equals(first.table)
    assert second.layout == first.layout
    values, found = pyreadstat.read_dta(
        tmp_path / "b.dta",
        output_format="dict",
        user_missing=True,
        disable_datetime_conversion=True,
    )
    assert values["whole"] == [1, "a", None, 2]
    assert values["number"] == [1.5, "z", "b", None]
    assert values["day"] == [0.0, "c", 366.0, None]
    assert found.variable_value_labels["whole"] == {1: "one", "a": "refused"}
    assert found.column_names_to_labels["whole"] == "How many"
    assert found.original_variable_types["number"] == "%9.2f"
    assert found.file_label == "A panel"
    STATS.write(first.table, tmp_path / "c.dta", first.layout)
    assert (tmp_path / "c.dta").read_bytes() == (tmp_path / "b.dta").read_bytes()


def test_stata_dates_are_dates(tmp_path):
    frame = polars.DataFrame({"day": polars.Series([0, 366, None], dtype=polars.Int32)})
    pyreadstat.write_dta(frame, tmp_path / "a.dta", variable_format={"day": "%tdD_m_Y"})
    first = STATS.read(tmp_path / "a.dta", Reading())
    assert first.table["day"].to_pylist() == [dt.date(1960, 1, 1), dt.date(1961, 1, 1), None]
    second = stored(first.table, tmp_path / "b.dta", first.layout)
    assert second.table.equals(first.table)
    assert second.layout.formats == {"day": "%tdD_m_Y"}


def test_old_stata_files_with_other_letters_become_newer(tmp_path):
    layout = Layout("Stata", 115)
    assert stored(pa.table({"a": ["x"]}), tmp_path / "a.dta", layout).layout.version == 115
    back = stored(pa.table({"a": ["é"]}), tmp_path / "b.dta", layout)
    assert back.layout.version == 118
    assert back.table["a"].to_pylist() == ["é"]


def test_moments_that_are_none_stay_numbers(tmp_path):
    frame = polars.DataFrame({"day": [1.5, 2.0], "far": [1e300, 0.0], "seen": [0.00001, 1.0]})
    formats = {"day": "DATE11", "far": "DATE11", "seen": "DATETIME20"}
    pyreadstat.write_sav(frame, tmp_path / "a.sav", variable_format=formats)
    read = STATS.read(tmp_path / "a.sav", Reading())
    assert read.table.to_pydict() == frame.to_dict(as_series=False)
    assert stored(read.table, tmp_path / "b.sav", read.layout).table.equals(read.table)


@pytest.mark.parametrize(
    ("kind", "shown", "unit"),
    [
        ("SPSS", "DATE11", "D"),
        ("SPSS", "DATETIME23.2", "ms"),
        ("SPSS", "TIME8", None),
        ("SPSS", "F8.2", None),
        ("Stata", "%tcDDmonCCYY_HH:MM", "ms"),
        ("Stata", "%tcHH:MM", None),
        ("Stata", "%tC", None),
        ("Stata", "%9.0g", None),
        ("SAS", "YYMMDD10.", "D"),
        ("SAS xport", "E8601DT19.3", "ms"),
        ("SAS", "BEST12.", None),
    ],
)
def test_formats_of_dates(kind, shown, unit):
    assert unit_of(kind, shown) == unit


@pytest.mark.parametrize("version", [5, 8])
def test_sas_transport_files(tmp_path, version):
    frame = polars.DataFrame({"AGE": [30.0, None], "BORN": [0.0, 366.0], "TOWN": ["Graz", ""]})
    pyreadstat.write_xport(
        frame,
        tmp_path / "a.xpt",
        file_label="People",
        table_name="PEOPLE",
        column_labels={"AGE": "Age"},
        file_format_version=version,
        variable_format={"BORN": "DATE9."},
        variable_informat={"BORN": "DATE9."},
    )
    first = STATS.read(tmp_path / "a.xpt", Reading())
    assert first.table["BORN"].to_pylist() == [dt.date(1960, 1, 1), dt.date(1961, 1, 1)]
    assert first.layout.version == version
    second = stored(first.table, tmp_path / "b.xpt", first.layout)
    assert second.table.equals(first.table)
    assert second.layout == first.layout
    assert second.layout.table_name == "PEOPLE"
    STATS.write(first.table, tmp_path / "c.xpt", first.layout)
    assert (tmp_path / "c.xpt").read_bytes() == (tmp_path / "b.xpt").read_bytes()
    assert b"01JAN70:00:00:00" in (tmp_path / "b.xpt").read_bytes()


def test_sas_files_are_read_but_not_written(tmp_path):
    path = tmp_path / "a.sas7bdat"
    path.write_bytes(zlib.decompress(base64.b85decode(SAS_FILE)))
    read = STATS.read(path, Reading())
    assert read.table.to_pydict() == {
        "age": [30.0, None, 31.5],
        "town": ["Graz", None, "Linz"],
        "born": [dt.date(1960, 1, 1), None, dt.date(1961, 1, 1)],
    }
    assert read.layout.labels == {"age": "Age in years"}
    assert "column 'born'" in read.notes[0]
    with pytest.raises(OptionError, match=r"write \.xpt, \.sav or \.dta instead"):
        write_file(read.table, tmp_path / "b.sas7bdat", open_table(path, Reading()).origin)
    for suffix in WRITTEN:
        back = stored(read.table, tmp_path / f"b{suffix}", read.layout)
        assert back.table.equals(read.table)
        assert back.layout.labels == {"age": "Age in years"}


def test_from_one_package_to_another(tmp_path):
    read = STATS.read(spss(tmp_path / "a.sav"), Reading())
    back = stored(read.table, tmp_path / "b.dta", read.layout)
    assert back.table["income"].to_pylist() == [1200.5, None, None, None]
    assert back.table["sex"].to_pylist() == [1, 2, None, None]
    assert back.layout.value_labels["sex"] == {1: "male", 2: "female", 9: "refused"}
    assert back.layout.labels == read.layout.labels
    assert back.layout.missing_codes == {}
    read = STATS.read(stata(tmp_path / "a.dta"), Reading())
    back = stored(read.table, tmp_path / "b.sav", read.layout)
    assert back.table["number"].to_pylist() == [1.5, None, None, None]
    assert back.layout.value_labels == {"whole": {1.0: "one"}}


@pytest.mark.parametrize("suffix", [*WRITTEN, ".sas7bdat"])
def test_other_and_damaged_files_are_refused(tmp_path, suffix):
    path = tmp_path / f"a{suffix}"
    whole = zlib.decompress(base64.b85decode(SAS_FILE))
    if suffix != ".sas7bdat":
        STATS.write(pa.table({"pay": [123456789.25] * 50}), path, None)
        whole = path.read_bytes()
    for content in (b"", b"pay\n123456789\n" * 20, whole[:60], whole[: len(whole) // 2]):
        path.write_bytes(content)
        if suffix == ".xpt" and content == whole[: len(whole) // 2]:
            continue  # nothing in such a file says how many rows there are
        with pytest.raises(InputError) as refused:
            STATS.read(path, Reading())
        assert "123456789" not in str(refused.value)
    with pytest.raises(InputError, match="cannot be read"):
        STATS.read(tmp_path / f"none{suffix}", Reading())


def test_a_head_that_claims_billions_of_rows_is_refused(tmp_path):
    path = tmp_path / "a.dta"
    STATS.write(pa.table({"a": [1.5] * 10}), path, None)
    content = path.read_bytes()
    path.write_bytes(content.replace(b"<N>\x0a\0\0\0", b"<N>\xff\xff\xff\x7f"))
    assert path.read_bytes() != content
    with pytest.raises(InputError, match="damaged"):
        STATS.read(path, Reading())


@pytest.mark.parametrize("suffix", WRITTEN)
def test_no_rows(tmp_path, suffix):
    STATS.write(pa.table({"a": pa.array([], pa.float64())}), tmp_path / f"a{suffix}", None)
    with pytest.raises(InputError, match="no rows"):
        STATS.read(tmp_path / f"a{suffix}", Reading())


@pytest.mark.parametrize("suffix", WRITTEN)
@pytest.mark.parametrize(
    ("values", "words"),
    [
        ([float("inf")], "infinite"),
        ([2**53], "more than 15 digits"),
        ([[1]], "of type list"),
        ([dt.time(1)], "of type time64"),
    ],
)
def test_what_cannot_be_held_is_refused(tmp_path, suffix, values, words):
    with pytest.raises(InputError, match=f"column 'c'.*{words}"):
        STATS.write(pa.table({"c": values}), tmp_path / f"a{suffix}", None)


@pytest.mark.parametrize("suffix", WRITTEN)
def test_names_that_do_not_fit_are_refused(tmp_path, suffix):
    for name in ("two words", "1st", "x" * 100):
        with pytest.raises(InputError, match="names of columns"):
            STATS.write(pa.table({name: [1]}), tmp_path / f"a{suffix}", None)


def test_numbers_beyond_stata(tmp_path):
    with pytest.raises(InputError, match="larger than Stata"):
        STATS.write(pa.table({"c": [1e308]}), tmp_path / "a.dta", None)


def test_missing_numbers_may_be_nan(tmp_path):
    assert (
        stored(pa.table({"c": [float("nan"), 1.0]}), tmp_path / "a.sav").table["c"].null_count == 1
    )


@pytest.mark.parametrize("package", ["pyreadstat", "polars"])
def test_without_a_package(tmp_path, monkeypatch, package):
    STATS.write(TABLE, tmp_path / "a.sav", None)
    monkeypatch.setitem(sys.modules, package, None)
    words = rf'needs the package {package}: pip install "microagg\[stats-files\]"'
    with pytest.raises(OptionError, match=words):
        STATS.write(TABLE, tmp_path / "b.sav", None)
    if package == "pyreadstat":
        with pytest.raises(OptionError, match="reading SPSS files " + words):
            STATS.read(tmp_path / "a.sav", Reading())
    else:
        assert fingerprint(STATS.read(tmp_path / "a.sav", Reading()).table)


def test_pandas_is_needed_nowhere(tmp_path):
    script = """
import sys

from importlib.machinery import PathFinder

class NoPandas:
    def find_spec(self, name, path=None, target=None):
        hidden = name.partition(".")[0] == "pandas"
        return None if hidden else PathFinder.find_spec(name, path, target)

sys.meta_path[sys.meta_path.index(PathFinder)] = NoPandas()
from pathlib import Path
import pyarrow as pa
from microagg.base.reading import Reading
from microagg.table.formats import FORMATS, format_of
from microagg.table.formats.database import draft
table = pa.table({"a": [1.5, None], "t": ["x", "y"]})
for name in ("a.csv", "a.parquet", "a.feather", "a.xlsx", "a.sav", "a.dta", "a.xpt"):
    format_of(name).write(table, Path(name), None)
    assert format_of(name).read(name, Reading()).table.equals(table), name
with draft(table, "sqlite:a.db#t", False):
    pass
assert FORMATS["database"].read("sqlite:a.db#t", Reading()).table.equals(table)
assert "pandas" not in sys.modules
"""
    subprocess.run([sys.executable, "-W", "error", "-c", script], cwd=tmp_path, check=True)
