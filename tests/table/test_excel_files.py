import datetime as dt
import sys
import zipfile

import openpyxl
import pyarrow as pa
import pytest
from hypothesis import Phase, given, settings
from hypothesis import strategies as st

from microagg.base.errors import InputError, OptionError
from microagg.base.reading import Reading
from microagg.base.recipe import Recipe
from microagg.table.checks import cast_like, sha256_of
from microagg.table.formats.excel import Excel, Layout

EXCEL = Excel()

MOMENTS = [dt.datetime(2020, 1, 2, 3, 4, 5, 678000), None, dt.datetime(1999, 12, 31)]
TYPES = {
    "whole": (pa.int64(), [1, None, -(2**62) - 1]),
    "number": (pa.float64(), [1.5, None, 0.1 + 0.2]),
    "yes": (pa.bool_(), [True, None, False]),
    "text": (pa.string(), ["=1+1", None, "#N/A"]),
    "more text": (pa.string(), ["12", None, " é\t☃\n"]),
    "date": (pa.date32(), [dt.date(1900, 3, 1), None, dt.date(2199, 12, 31)]),
    "moment": (pa.timestamp("us"), MOMENTS),
    "time": (pa.time64("us"), [dt.time(1, 2, 3), None, dt.time(23, 59, 59)]),
    "duration": (pa.duration("us"), [dt.timedelta(2, 5), None, dt.timedelta(0)]),
    "empty": (pa.string(), [None, None, None]),
}
TABLE = pa.table({name: pa.array(values, kind) for name, (kind, values) in TYPES.items()})


def stored(table, path, layout=None, reading=None):
    EXCEL.write(table, path, layout)
    return EXCEL.read(path, reading or Reading())


def workbook(path, rows, title="People"):
    book = openpyxl.Workbook()
    book.active.title = title
    for row in rows:
        book.active.append(row)
    book.save(path)
    return path


def test_types_and_values_come_back(tmp_path):
    path = tmp_path / "a.xlsx"
    back = stored(TABLE, path)
    assert back.table.schema.equals(TABLE.schema)
    assert back.table.equals(TABLE)
    assert back.sha256 == sha256_of(path)
    assert back.notes == []


@settings(max_examples=25, phases=[Phase.generate])
@given(
    rows=st.lists(
        st.tuples(
            st.none() | st.integers(-(10**15), 10**15),
            st.none() | st.floats(allow_nan=False, allow_infinity=False),
            st.none() | st.text(st.characters(exclude_categories=["C"]), min_size=1, max_size=5),
            st.none() | st.dates(dt.date(1901, 1, 1), dt.date(2999, 1, 1)),
        ),
        min_size=1,
        max_size=12,
    )
)
def test_any_values_come_back(tmp_path, rows):
    types = (pa.int64(), pa.float64(), pa.string(), pa.date32())
    columns = [
        pa.array(each, kind) for each, kind in zip(zip(*rows, strict=True), types, strict=True)
    ]
    table = pa.table([pa.array(range(len(rows))), *columns], names=["n", "a", "b", "c", "d"])
    back = stored(table, tmp_path / "a.xlsx").table
    assert cast_like(back, table.schema).equals(table)


def test_other_types_are_held_as_well_as_they_can_be(tmp_path):
    zoned = pa.timestamp("ns", "Europe/Vienna")
    table = pa.table(
        {
            "category": pa.array(["a", "b"]).dictionary_encode(),
            "small": pa.array([1, 2], pa.uint8()),
            "gap": pa.array([float("nan"), 1.0]),
            "zone": pa.array([dt.datetime(2020, 1, 1, 12), None], zoned),
        }
    )
    back = stored(table, tmp_path / "a.xlsx").table.to_pydict()
    assert back["category"] == ["a", "b"]
    assert back["small"] == [1, 2]
    assert back["gap"] == [None, 1]
    assert back["zone"] == [dt.datetime(2020, 1, 1, 12), None]


def test_same_table_same_bytes(tmp_path):
    EXCEL.write(TABLE, tmp_path / "a.xlsx", None)
    EXCEL.write(pa.concat_tables([TABLE[:1], TABLE[1:]]), tmp_path / "b.xlsx", None)
    assert (tmp_path / "a.xlsx").read_bytes() == (tmp_path / "b.xlsx").read_bytes()
    with zipfile.ZipFile(tmp_path / "a.xlsx") as book:
        assert b"1980-01-01T00:00:00Z" in book.read("docProps/core.xml")
        assert {part.date_time[0] for part in book.infolist()} == {1980}


def test_sheet_and_number_formats_are_kept(tmp_path):
    path = workbook(tmp_path / "a.xlsx", [["id", "income", "born"], [1, 2.5, MOMENTS[2]]])
    book = openpyxl.load_workbook(path)
    book.active["B2"].number_format = "#,##0.00"
    book.active["C2"].number_format = "dd.mm.yyyy"
    book.create_sheet("Other").append(["x"])
    book.save(path)
    read = EXCEL.read(path, Reading())
    assert read.table["born"].type == pa.date32()
    EXCEL.write(read.table, tmp_path / "b.xlsx", read.layout)
    sheet = openpyxl.load_workbook(tmp_path / "b.xlsx").active
    assert sheet.title == "People"
    assert sheet["B2"].number_format == "#,##0.00"
    assert sheet["C2"].number_format == "dd.mm.yyyy"


@pytest.mark.parametrize(
    ("released", "kind"),
    [
        (pa.array([36525.5]), pa.float64()),
        (pa.array(["1990-2000"]), pa.string()),
        (pa.array(MOMENTS[:1], pa.timestamp("us")), pa.timestamp("us")),
        (pa.array([dt.time(1, 2)]), pa.time64("us")),
    ],
)
def test_a_format_does_not_turn_what_replaced_a_date(tmp_path, released, kind):
    layout = Layout("S", {"born": "yyyy-mm-dd"})
    back = stored(pa.table({"born": released}), tmp_path / "a.xlsx", layout).table
    assert back["born"].type == kind
    assert back["born"].to_pylist() == released.to_pylist()


def test_named_sheet(tmp_path):
    path = workbook(tmp_path / "a.xlsx", [["a"], [1]])
    book = openpyxl.load_workbook(path)
    book.create_sheet("Second").append(["b"])
    book["Second"].append(["x"])
    book.save(path)
    read = EXCEL.read(path, Reading(sheet="Second"))
    assert read.table.to_pydict() == {"b": ["x"]}
    assert read.layout.sheet == "Second"
    with pytest.raises(OptionError, match="no sheet 'Third'; it has 'People', 'Second'"):
        EXCEL.read(path, Reading(sheet="Third"))


def test_empty_rows_and_columns_behind_the_table_do_not_count(tmp_path):
    rows = [["a", "b", None], [1, None, None], [None, None, ""], [None, "x", None], [None, ""], []]
    read = EXCEL.read(workbook(tmp_path / "a.xlsx", rows), Reading())
    assert read.table.to_pydict() == {"a": [1, None, None], "b": [None, None, "x"]}


def test_formulas_give_their_stored_values(tmp_path):
    path = workbook(tmp_path / "a.xlsx", [["a", "b"], [1, "=A2+1"]])
    with zipfile.ZipFile(path) as book:
        parts = {part: book.read(part) for part in book.namelist()}
    name = "xl/worksheets/sheet1.xml"
    parts[name] = parts[name].replace(b"<v></v>", b"<v>2</v>").replace(b"<v />", b"<v>2</v>")
    with zipfile.ZipFile(path, "w") as book:
        for part, content in parts.items():
            book.writestr(part, content)
    assert EXCEL.read(path, Reading()).table.to_pydict() == {"a": [1], "b": [2]}


def test_mixed_column_is_named_and_counted_but_not_quoted(tmp_path):
    path = workbook(tmp_path / "a.xlsx", [["pay"], [1], [2.5], ["hushhush"]])
    with pytest.raises(InputError) as refused:
        EXCEL.read(path, Reading())
    said = str(refused.value)
    assert "column 'pay'" in said
    assert "2 of numbers and 1 of text" in said
    assert "hushhush" not in said


@pytest.mark.parametrize(
    "cells", [[1, True], [MOMENTS[0], 3], ["x", True], [dt.time(1), MOMENTS[0]]]
)
def test_other_mixtures_are_refused_too(tmp_path, cells):
    with pytest.raises(InputError, match="mixes cells"):
        EXCEL.read(workbook(tmp_path / "a.xlsx", [["a"], *([c] for c in cells)]), Reading())


def test_stand_ins_for_missing_numbers(tmp_path):
    path = workbook(tmp_path / "a.xlsx", [["a", "t"], [1, "NA"], ["NA", "x"], ["#N/A", "y"]])
    read = EXCEL.read(path, Reading())
    assert read.table.to_pydict() == {"a": [1, None, None], "t": ["NA", "x", "y"]}
    assert len(read.notes) == 1
    assert "column 'a': 2 cells" in read.notes[0]
    path = workbook(tmp_path / "b.xlsx", [["a"], [1], ["refused"]])
    read = EXCEL.read(path, Reading(missing_values=("refused",)))
    assert read.table.to_pydict() == {"a": [1, None]}


@pytest.mark.parametrize(
    ("rows", "words"),
    [
        ([], "is empty"),
        ([["a", "b"]], "no rows"),
        ([["a", "a"], [1, 2]], "more than one column 'a'"),
        ([["a", None], [1, 2]], "column 2 has no name"),
    ],
)
def test_unusable_sheets_are_refused(tmp_path, rows, words):
    with pytest.raises(InputError, match=words):
        EXCEL.read(workbook(tmp_path / "a.xlsx", rows), Reading())


def test_names_that_are_numbers(tmp_path):
    path = workbook(tmp_path / "a.xlsx", [[2019, 2020], [1, 2]])
    assert EXCEL.read(path, Reading()).table.column_names == ["2019", "2020"]


def test_other_and_damaged_files_are_refused(tmp_path):
    whole = workbook(tmp_path / "whole.xlsx", [["a"], *([i] for i in range(300))]).read_bytes()
    path = tmp_path / "a.xlsx"
    for content in (b"", b"a,b\n1,2\n", whole[:100], whole[:-30], whole[: len(whole) // 2]):
        path.write_bytes(content)
        with pytest.raises(InputError, match="not an Excel workbook"):
            EXCEL.read(path, Reading())
    with zipfile.ZipFile(path, "w") as other:
        other.writestr("hello.txt", "x")
    with pytest.raises(InputError, match="not an Excel workbook"):
        EXCEL.read(path, Reading())
    with zipfile.ZipFile(tmp_path / "whole.xlsx") as book, zipfile.ZipFile(path, "w") as broken:
        for part in book.namelist():
            content = book.read(part)
            broken.writestr(part, content[:400] if "sheet1" in part else content)
    with pytest.raises(InputError):
        EXCEL.read(path, Reading())
    with pytest.raises(InputError, match="cannot be read"):
        EXCEL.read(tmp_path / "none.xlsx", Reading())


@pytest.mark.parametrize(
    ("values", "words"),
    [
        (["a\x01b"], "control characters"),
        (["x" * 32_768], "longer than"),
        ([float("inf")], "infinite"),
        ([dt.date(1899, 12, 31)], "before 1900"),
        ([[1]], "of type list"),
    ],
)
def test_what_a_cell_cannot_hold_is_refused(tmp_path, values, words):
    with pytest.raises(InputError, match=f"column 'c'.*{words}"):
        EXCEL.write(pa.table({"c": values}), tmp_path / "a.xlsx", None)
    assert not (tmp_path / "a.xlsx").exists()


def test_too_large_a_table_is_refused(tmp_path):
    with pytest.raises(InputError, match="1,048,576 rows"):
        EXCEL.write(pa.table({"c": range(1_048_576)}), tmp_path / "a.xlsx", None)


def test_progress_reaches_the_end(tmp_path):
    rows = [["a"], *([i] for i in range(9000))]
    shares = []
    EXCEL.read(workbook(tmp_path / "a.xlsx", rows), Reading(), advance=shares.append)
    assert len(shares) == 3
    assert shares == sorted(shares)
    assert shares[-1] == 1.0


def test_without_openpyxl(tmp_path, monkeypatch):
    path = workbook(tmp_path / "a.xlsx", [["a"], [1]])
    monkeypatch.setitem(sys.modules, "openpyxl", None)
    with pytest.raises(OptionError) as missing:
        EXCEL.read(path, Reading())
    assert str(missing.value) == (
        'reading Excel files needs the package openpyxl: pip install "microagg[excel]"'
    )


def test_formats_that_hold_more_than_a_pattern_stay_behind():
    kept = ["0.00", "#,##0.00", "0%", "0.0E+00", "yyyy-mm-dd", r"yyyy\-mm\-dd\ hh:mm", "h:mm AM/PM"]
    kept += ["[h]:mm:ss", openpyxl.styles.numbers.BUILTIN_FORMATS[42], "@", "General"]
    gone = ['0.00 "kg"', "[>4711]0.0;0", r"0\Z\o", "[$Zorro-407] 0", "[Red]0", "4711", '"="0']
    layout = Layout("people", {f"c{place}": each for place, each in enumerate([*kept, *gone])})
    table = pa.table({name: [1] for name in [*layout.formats, "other"] if name != "c0"})
    found = EXCEL.released(layout, table, Recipe(quasi_identifiers="c1")).formats
    assert list(found.values()) == kept[1:]
    listed = Recipe(quasi_identifiers="c1", keep_metadata=list(layout.formats))
    assert list(EXCEL.released(layout, table, listed).formats.values()) == [*kept[1:], *gone]


def test_a_row_may_not_claim_any_number(tmp_path):
    """Rows between would be made up one by one, which takes hours."""
    path, claimed = tmp_path / "table.xlsx", tmp_path / "claimed.xlsx"
    Excel().write(pa.table({"age": [1, 2]}), path, None)
    with zipfile.ZipFile(path) as source, zipfile.ZipFile(claimed, "w") as target:
        for part in source.namelist():
            content = source.read(part)
            if part.endswith("sheet1.xml"):
                assert b'<row r="3"' in content
                content = content.replace(b'<row r="3"', b'<row r="2000000000"')
                content = content.replace(b'r="A3"', b'r="A2000000000"')
            target.writestr(part, content)
    with pytest.raises(InputError, match="is damaged"):
        Excel().read(claimed, Reading())


def changed(path, change):
    """The same workbook with other contents of its sheets."""
    with zipfile.ZipFile(path) as source:
        parts = {part: source.read(part) for part in source.namelist()}
    with zipfile.ZipFile(path, "w") as target:
        for part, content in parts.items():
            target.writestr(part, change(part, content) if "worksheets/" in part else content)


def test_sheets_that_nobody_asked_for_are_not_gone_through(tmp_path):
    book = openpyxl.Workbook(write_only=True)
    for title in ("first", "second"):
        sheet = book.create_sheet(title)
        for row in (["age"], *([age] for age in range(50))):
            sheet.append(row)
    book.save(tmp_path / "two.xlsx")
    changed(tmp_path / "two.xlsx", lambda part, text: text[:-200] if "sheet2" in part else text)
    assert EXCEL.read(tmp_path / "two.xlsx", Reading()).table.num_rows == 50
    with pytest.raises(InputError, match="sheet 'second' is damaged"):
        EXCEL.read(tmp_path / "two.xlsx", Reading(sheet="second"))


@pytest.mark.parametrize("stated", [b"A1:B301", b"B301", b"A1", b"A1:B7", None])
def test_a_sheet_may_say_how_large_it_is(tmp_path, stated):
    path = workbook(tmp_path / "t.xlsx", [["a", "b"], *([i, i] for i in range(300))])

    def state(_part, text):
        assert b'<dimension ref="A1:B301" />' in text
        new = b"" if stated is None else b'<dimension ref="' + stated + b'"/>'
        return text.replace(b'<dimension ref="A1:B301" />', new)

    changed(path, state)
    assert EXCEL.read(path, Reading()).table.num_rows == 300
    head = EXCEL.head(str(path), Reading(), None, 1 << 14)
    assert 0.0 < head.share <= 1.0
    if stated != b"A1:B7" and stated != b"A1":
        assert round(head.loaded.table.num_rows / head.share) == 300
