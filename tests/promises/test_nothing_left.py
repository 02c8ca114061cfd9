"""What every format and every engine keeps: a release holds nothing of the original unseen.

Secrets are put wherever a table or a file can hold them, beside its values and among them; then all
that a release holds is decoded and searched. Whoever registers a format says here where its files
can hold secrets, and how all that they hold is read.
"""

import base64
import json
import pickle
import re
import sqlite3
import zipfile
from contextlib import suppress

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import microagg
from microagg.table.formats import FORMATS, format_of
from microagg.table.frames import as_arrow

pytestmark = [
    # Spark's own, about libraries and sockets that are not ours.
    pytest.mark.filterwarnings("ignore:PySpark does not yet fully support"),
    pytest.mark.filterwarnings("ignore::ResourceWarning"),
    pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning"),
]

N = 40
RANDOM = np.random.default_rng(5)
# No text that is published has this in it, and no number that is published is one of these.
SECRET = "Zorro"
AGES = np.round(RANDOM.uniform(20, 90, N), 9)
UNDER_GAPS = 4711.625
GAPS = np.arange(N) % 7 == 0
NAMES = [f"{SECRET} {place}" for place in range(N)]
JOBS = ["clerk", "nurse"] * (N // 2)
JOBS[0] = f"{SECRET} minister"
TOWNS = ["Graz", "Linz"] * (N // 2)
RECIPE = {
    "k": 4,
    "quasi_identifiers": ["age", "job"],
    "identifiers": ["name"],
    "confidential": ["town"],
    "progress": False,
}
FILES = [each for each in FORMATS.values() if each.is_file]
SUFFIXES = [suffix for each in FILES for suffix in each.suffixes if suffix not in each.only_read]
IN_PARTS = [suffix for suffix in SUFFIXES if format_of(f"t{suffix}").in_parts]


def plain():
    return pa.table({"name": NAMES, "age": AGES, "job": JOBS, "town": TOWNS})


def nested():
    """A column of Arrow that is made of parts: metadata, levels and values under gaps in each."""

    def levels(count, ordered):
        places = pa.array(np.tile([1, 2], count // 2), pa.int8())
        known = [f"{SECRET} level", "low", "high"]
        return pa.DictionaryArray.from_arrays(places, known, ordered=ordered)

    whole, gaps = np.arange(0, 2 * N + 1, 2), pa.array(GAPS)
    hidden = pa.array(np.where(np.repeat(GAPS, 2), UNDER_GAPS, 1.0))
    keys = pa.array(["a", "b"] * N)
    parts = {
        "inner": pa.array([1] * N),
        "level": levels(N, True),
        "levels": pa.ListArray.from_arrays(whole, levels(2 * N, True)),
        "unordered": pa.LargeListArray.from_arrays(whole, levels(2 * N, False)),
        "pair": pa.FixedSizeListArray.from_arrays(levels(2 * N, True), 2),
        "by_name": pa.MapArray.from_arrays(whole, keys, levels(2 * N, True)),
        "hidden": pa.ListArray.from_arrays(whole, hidden, mask=gaps),
        "hidden_pair": pa.FixedSizeListArray.from_arrays(hidden, 2, mask=gaps),
        "deep": pa.StructArray.from_arrays(
            [pa.array(np.where(GAPS, UNDER_GAPS, 1.0)), levels(N, True)],
            ["number", "level"],
            mask=gaps,
        ),
    }
    fields = [
        pa.field(name, part.type, metadata={"note": f"{SECRET} inside"})
        for name, part in parts.items()
    ]
    return pa.StructArray.from_arrays(list(parts.values()), fields=fields)


def arrow():
    """A table of Arrow: metadata of all sorts, levels that nobody has, values under gaps."""

    def levels(entries):
        known = [f"{SECRET} level", *sorted(set(entries))]
        places = pa.array([known.index(each) for each in entries], pa.int8())
        return pa.DictionaryArray.from_arrays(places, known)

    columns = {
        "name": pa.array(NAMES),
        "age": pa.array(AGES),
        "job": levels(JOBS),
        "town": levels(TOWNS),
        "pay": pa.array(np.where(GAPS, UNDER_GAPS, 1.0), mask=GAPS),
        "more": nested(),
    }
    fields = [
        pa.field(name, column.type, metadata={"comment": f"{SECRET} of {name}"})
        for name, column in columns.items()
    ]
    frame = pd.DataFrame({name: [0] for name in columns})
    frame.attrs = {"about": SECRET}
    noted = json.loads(pa.Table.from_pandas(frame).schema.metadata[b"pandas"])
    noted["columns"][1]["metadata"] = {"highest": SECRET}
    noted["index_columns"] = ["name"]
    metadata = {"geo": f'{{"bbox": ["{SECRET}"]}}', "pandas": json.dumps(noted)}
    return pa.table(list(columns.values()), schema=pa.schema(fields, metadata))


def pandas():
    """A table of pandas: an index of names, attributes, levels, values under gaps."""
    frame = pd.DataFrame({"name": NAMES, "age": AGES}, pd.Index(NAMES, name=SECRET))
    frame["job"] = pd.Categorical(JOBS, [*sorted(set(JOBS)), f"{SECRET} level"], ordered=True)
    frame["town"] = pd.Categorical(TOWNS, ["Linz", f"{SECRET} town", "Graz"])
    frame["pay"] = pd.arrays.FloatingArray(np.where(GAPS, UNDER_GAPS, 1.0), GAPS.copy())
    frame.attrs = {"about": SECRET}
    return frame


def polars():
    """A table of Polars: levels, values under gaps, also in what is made of parts."""
    hidden = pa.table({"hidden": nested().field("hidden"), "pair": nested().field("hidden_pair")})
    frame = pl.from_arrow(arrow().select(["name", "age", "pay"])).hstack(pl.from_arrow(hidden))
    jobs = pl.Series("job", JOBS, pl.Enum([*sorted(set(JOBS)), f"{SECRET} level"]))
    towns = pl.Enum(["Graz", SECRET, "Linz"])
    parts = pl.Struct({"one": towns, "some": pl.List(towns), "two": pl.Array(towns, 2)})
    more = [{"one": town, "some": [town], "two": [town, None]} for town in TOWNS]
    more[3] = {"one": None, "some": [], "two": None}
    return frame.with_columns(jobs, pl.Series("town", TOWNS, towns), pl.Series("more", more, parts))


FRAMES = {"arrow": arrow, "pandas": pandas, "polars": polars}


def put_csv(path):
    known = format_of(str(path))
    known.write(plain(), path, known.layout_for(path, None, None))


def put_arrow(path):
    table = arrow()
    if path.suffix in (".parquet", ".pq"):
        pq.write_table(table, path)
        return
    make = pa.ipc.new_stream if path.suffix == ".arrows" else pa.ipc.new_file
    with make(path, table.schema) as writer:
        (batch,) = table.to_batches()
        writer.write_batch(batch, custom_metadata={"batch": SECRET})


def put_excel(path):
    import openpyxl
    from openpyxl.comments import Comment
    from openpyxl.packaging.custom import StringProperty
    from openpyxl.workbook.defined_name import DefinedName
    from openpyxl.worksheet.datavalidation import DataValidation

    book = openpyxl.Workbook()
    sheet = book.active
    sheet.append(plain().column_names)
    for row in zip(*plain().to_pydict().values(), strict=True):
        sheet.append(row)
    for row in range(2, N + 2):
        sheet.cell(row, 2).number_format = f'0.00 "{SECRET}"'
        sheet.cell(row, 3).comment = Comment(SECRET, SECRET)
        sheet.cell(row, 4).hyperlink = f"https://example.org/{SECRET}"
    sheet.oddHeader.center.text = SECRET
    sheet.add_data_validation(DataValidation("list", formula1=f'"{SECRET},Graz"'))
    for name in ("title", "creator", "keywords", "description", "lastModifiedBy", "subject"):
        setattr(book.properties, name, SECRET)
    book.custom_doc_props.append(StringProperty(name=SECRET, value=SECRET))
    book.defined_names["highest"] = DefinedName("highest", attr_text=f'"{SECRET}"')
    book.create_sheet(SECRET).append([SECRET])
    book.save(path)


def put_stats(path):
    import pyreadstat

    jobs = [9 if SECRET in job else JOBS.index(job, 1) for job in JOBS]
    frame = pl.from_arrow(plain()).with_columns(
        pl.Series("job", jobs, pl.Int32),
        pl.Series("town", [1, 2] * (N // 2), pl.Int32),
        pl.Series("answer", ["yes", "no"] * (N // 2)),
    )
    labels = {1: "one", 2: "two", 9: f"{SECRET} 9", 8: f"{SECRET} 8"}
    said = {"file_label": SECRET, "variable_value_labels": {"job": labels, "town": labels}}
    if path.suffix == ".xpt":
        pyreadstat.write_xport(frame, path, file_label=SECRET)
    elif path.suffix == ".dta":
        moment = pl.Series("moment", range(N), pl.Int32)
        frame = frame.with_columns(
            moment, pl.Series("pay", [*["z"] * 4, *[1] * (N - 4)], pl.Object)
        )
        said["variable_value_labels"]["pay"] = {"z": "refused", "y": f"{SECRET} refused"}
        shown = {"moment": "%td" + "".join(f"!{letter}" for letter in SECRET) + "CCYY"}
        tags = {"pay": ["z", "y"]}
        pyreadstat.write_dta(frame, path, variable_format=shown, missing_user_values=tags, **said)
    else:
        codes = {"answer": [SECRET], "town": [{"lo": 471100, "hi": 471199}, 2]}
        pyreadstat.write_sav(
            frame,
            path,
            compress=path.suffix == ".zsav",
            note=[SECRET, SECRET],
            missing_ranges=codes,
            **said,
        )


PUT = {
    "csv": put_csv,
    "arrow": put_arrow,
    "excel": put_excel,
    "stats": put_stats,
    "jsonl": put_csv,
}


def put_database(folder):
    """A database with the table, and others; the address of the table."""
    path = folder / "people.db"
    with sqlite3.connect(path) as base:
        pd.DataFrame(plain().to_pydict()).to_sql("people", base, index=False)
        base.execute(f"CREATE TABLE {SECRET} (x)")
    base.close()
    return f"sqlite:///{path}#people"


def all_of_arrow(path):
    if path.suffix in (".parquet", ".pq"):
        file = pq.ParquetFile(path)
        yield repr((file.metadata.to_dict(), file.metadata.metadata, file.schema_arrow))
        table = file.read()
    else:
        make = pa.ipc.open_stream if path.suffix == ".arrows" else pa.ipc.open_file
        with make(path) as reader:
            table = reader.read_all()
    yield table.schema.to_string(truncate_metadata=False) + repr(table.schema.metadata)
    # Values under gaps, and dictionaries with all that they hold.
    yield pickle.dumps(table)


def all_of_csv(path):
    with pa.input_stream(path) as file:
        yield file.read()


def all_of_excel(path):
    with zipfile.ZipFile(path) as parts:
        for part in parts.namelist():
            yield part
            yield parts.read(part)


def all_of_stats(path):
    import pyreadstat

    kind = {".sav": "sav", ".zsav": "sav", ".dta": "dta", ".xpt": "xport"}[path.suffix]
    more = {} if kind == "xport" else {"user_missing": True}
    values, found = getattr(pyreadstat, f"read_{kind}")(
        path, output_format="dict", disable_datetime_conversion=True, **more
    )
    yield repr([list(column) for column in values.values()])
    yield repr(vars(found))


ALL_OF = {
    "csv": all_of_csv,
    "arrow": all_of_arrow,
    "excel": all_of_excel,
    "stats": all_of_stats,
    "jsonl": lambda _: (),
    "database": lambda _: (),
}


def all_in(path):
    """Whatever is in a file: its bytes, what they mean, and what is encoded in them."""
    parts = [path.read_bytes(), *ALL_OF[format_of(str(path)).name](path)]
    return [part.encode() if isinstance(part, str) else part for part in parts]


def decoded(content):
    """Some bytes, and those that are encoded in them as text."""
    yield content
    for text in re.findall(rb"[A-Za-z0-9+/]{40,}={0,2}", content):
        with suppress(ValueError):
            yield base64.b64decode(text + b"=" * (-len(text) % 4))


def secrets():
    """Texts and numbers as they may stand in a file."""
    for encoding in ("utf-8", "utf-16-le", "utf-16-be"):
        yield SECRET.encode(encoding)
    yield b"471100"
    yield b"471199"
    for number in (UNDER_GAPS, *AGES.tolist()):
        yield repr(number).encode()
        yield np.array(number, "<f8").tobytes()
        yield np.array(number, ">f8").tobytes()


def assert_nothing_in(*contents):
    known = list(secrets())
    for content in contents:
        for part in decoded(content):
            left = [secret for secret in known if secret in part]
            assert not left, (left, part[part.index(left[0]) - 80 :][:200])


def written(release, path):
    """All that is left behind of a release at a path: files beside it too."""
    release.write(path)
    found = sorted(path.rglob("*")) if path.is_dir() else [path]
    beside = path.with_name(path.name + ".certificate.json")
    return [
        *(part for file in found if file.is_file() for part in all_in(file)),
        beside.read_bytes(),
    ]


def protected(table, **settings):
    return microagg.protect(table, **{**RECIPE, **settings})


def test_every_format_is_searched():
    assert PUT.keys() == {each.name for each in FILES}
    assert ALL_OF.keys() == FORMATS.keys()


@pytest.mark.parametrize("suffix", SUFFIXES)
def test_secrets_are_found_where_they_are(tmp_path, suffix):
    path = tmp_path / f"people{suffix}"
    PUT[format_of(str(path)).name](path)
    with pytest.raises(AssertionError):
        assert_nothing_in(*all_in(path))


def check(table, folder):
    """Nothing is left in a release in memory, nor in any file that it is written to."""
    release = protected(table, engine="memory")
    assert_nothing_in(pickle.dumps(release), pickle.dumps(release.data), repr(release).encode())
    assert_nothing_in(repr(vars(release)).encode(), repr(release.data).encode())
    if isinstance(release.data, pd.DataFrame):
        assert_nothing_in(release.data.to_csv().encode())
    targets = set(SUFFIXES)
    names = as_arrow(release.data).column_names
    made_of_parts = [name for name in ("more", "hidden", "pair") if name in names]
    if made_of_parts:
        for suffix in FORMATS["arrow"].suffixes:
            assert_nothing_in(*written(release, folder / f"release{suffix}"))
            targets.remove(suffix)
        # Others cannot hold what is made of parts.
        release = protected(table, engine="memory", identifiers=["name", *made_of_parts])
    for suffix in sorted(targets):
        assert_nothing_in(*written(release, folder / f"release{suffix}"))
    release.write(f"sqlite:///{folder / 'release.db'}#people")
    assert_nothing_in((folder / "release.db").read_bytes())
    release.report(folder / "page.html", public=True)
    assert_nothing_in((folder / "page.html").read_bytes())


@pytest.mark.parametrize("suffix", SUFFIXES)
def test_of_a_file_nothing_is_left_anywhere(tmp_path, suffix):
    path = tmp_path / f"people{suffix}"
    PUT[format_of(str(path)).name](path)
    check(path, tmp_path)


@pytest.mark.parametrize("name", FRAMES)
def test_of_a_frame_nothing_is_left_anywhere(tmp_path, name):
    check(FRAMES[name](), tmp_path)


def test_of_a_database_nothing_is_left_anywhere(tmp_path):
    check(put_database(tmp_path), tmp_path)


# Of the first record alone, which is dropped; others are given by JOBS, TOWNS and AGES.
ALONE = {"grade": f"{SECRET} grade", "job": f"{SECRET} clerk", "house": f"{SECRET} house"}
GRADES = ["low", ALONE["grade"], "high"]
DROPS = {"within": ["town"], "small_strata": "drop", "confidential": ["grade", "sum"]}
FEATURES = {
    "plain": {},
    "weights": {"weights": "sum"},
    "household": {"household": "house"},
    "closeness": {"closeness": {"grade": 0.8, "sum": 0.8}},
    "dominance": {"dominance": {"age": 0.9}},
    "kept": {"row_order": "kept"},
}


def with_a_record_to_drop(name):
    """A table whose first record is alone in its stratum, and in every value that it has."""
    others = np.arange(1, N)
    columns = {
        "age": [1e9, *AGES[1:]],
        "town": [SECRET, *TOWNS[1:]],
        "job": [ALONE["job"], *JOBS[1:]],
        "grade": [ALONE["grade"], *np.array(["low", "high"])[others // 2 % 2]],
        "sum": [UNDER_GAPS, *(others % 5 + 1.0)],
        "house": [ALONE["house"], *(f"house {each // 2}" for each in others)],
    }
    if name == "polars":
        return pl.DataFrame(columns).with_columns(pl.col("grade").cast(pl.Enum(GRADES)))
    if name == "pandas":
        return pd.DataFrame(columns).assign(
            town=pd.Categorical(columns["town"]),
            grade=pd.Categorical(columns["grade"], GRADES, ordered=True),
        )
    grades = pa.array([GRADES.index(each) for each in columns["grade"]], pa.int8())
    columns["grade"] = pa.DictionaryArray.from_arrays(grades, GRADES, ordered=True)
    return pa.table({**columns, "town": pa.array(columns["town"]).dictionary_encode()})


@pytest.mark.parametrize("name", FRAMES)
@pytest.mark.parametrize("feature", FEATURES)
def test_records_that_were_dropped_are_not_left(tmp_path, name, feature):
    table = with_a_record_to_drop(name)
    settings = {**DROPS, "identifiers": ["house"], "method": "mdav", **FEATURES[feature]}
    release = protected(table, **settings)
    assert len(release.data) == N - 1
    assert_nothing_in(pickle.dumps(release))
    assert_nothing_in(*written(release, tmp_path / "release.arrow"))
    bars = [bar for column in release.shown.attributes for bar in column.bars]
    assert max(bar.high or 0.0 for bar in bars) < 100.0
    # Once more, with all that was counted.
    assert release.assessment is not None
    assert_nothing_in(pickle.dumps(release))


def test_records_that_were_dropped_on_disk_are_not_left(tmp_path):
    path = tmp_path / "people.arrow"
    table = with_a_record_to_drop("arrow")
    with pa.ipc.new_file(path, table.schema) as file:
        file.write_table(table)
    with protected(path, engine="disk", identifiers=["house"], method="mdav", **DROPS) as release:
        assert release._wanted.secrets[0].order == ("low", "high")
        assert_nothing_in(*written(release, tmp_path / "release.arrow"))
        with pytest.raises(microagg.MicroaggError, match="engine=memory"):
            pickle.dumps(release)


def test_who_brings_groups_along_does_not_leave_with_them():
    X = np.column_stack([AGES])
    own = microagg.partition(X, 4)

    def grouped(points, k):
        return own if len(NAMES) == len(points) else None

    release = protected(plain(), quasi_identifiers=["age", "job"], method=grouped)
    assert_nothing_in(pickle.dumps(release))


@pytest.mark.parametrize("suffix", IN_PARTS)
def test_on_disk_nothing_is_left_in_any_file(tmp_path, suffix):
    path = tmp_path / f"people{suffix}"
    PUT[format_of(str(path)).name](path)
    arrow_files, others = (
        [each for each in IN_PARTS if (format_of(f"t{each}").name == "arrow") == is_arrow]
        for is_arrow in (True, False)
    )
    for identifiers, targets in ((["name"], arrow_files), (["name", "more"], others)):
        dropped = [name for name in identifiers if name != "more" or suffix in arrow_files]
        with protected(path, engine="disk", identifiers=dropped) as release:
            assert_nothing_in(repr(release).encode())
            for other in targets:
                assert_nothing_in(*written(release, tmp_path / f"release{other}"))


def frame_of_spark(session):
    """A table of Spark: metadata of fields, and of fields inside of them."""
    from pyspark.sql.types import ArrayType, DoubleType, StringType, StructField, StructType

    said = {"comment": SECRET}
    inner = StructType([StructField("inner", DoubleType(), True, said)])
    fields = [
        StructField("name", StringType(), True, said),
        StructField("age", DoubleType(), True, said),
        StructField("job", StringType(), True, said),
        StructField("town", StringType(), True, said),
        StructField("more", ArrayType(inner), True, said),
    ]
    rows = zip(NAMES, AGES.tolist(), JOBS, TOWNS, [[(1.0,)]] * N, strict=True)
    return session.createDataFrame(list(rows), StructType(fields))


@pytest.mark.parametrize("suffix", [".parquet", ".csv", "frame"])
def test_on_spark_nothing_is_left_in_any_file(tmp_path, session, suffix):
    if suffix == "frame":
        table = frame_of_spark(session)
    else:
        table = tmp_path / f"people{suffix}"
        PUT[format_of(str(table)).name](table)
    with protected(table, engine="spark", session=session) as release:
        for field in release.data.schema.fields:
            assert not field.metadata
        assert_nothing_in(release.data.schema.json().encode())
        assert_nothing_in(*written(release, tmp_path / "release.parquet"))


def test_what_is_listed_stays(tmp_path):
    path, keep = tmp_path / "people.parquet", ["geo", "age", "about"]
    put_arrow(path)
    for engine in ("memory", "disk"):
        target = tmp_path / f"{engine}.parquet"
        with protected(path, engine=engine, keep_metadata=keep) as release:
            release.write(target)
        schema = pq.read_schema(target)
        assert SECRET in schema.metadata[b"geo"].decode()
        assert json.loads(schema.metadata[b"pandas"])["attributes"] == {"about": SECRET}
        told = {field.name for field in schema if field.metadata and b"comment" in field.metadata}
        assert told == {"age"}
    pyreadstat = pytest.importorskip("pyreadstat")
    path, target = tmp_path / "people.sav", tmp_path / "release.sav"
    put_stats(path)
    protected(path, keep_metadata=["notes", "file_label", "town"]).write(target)
    _, found = pyreadstat.read_sav(target, user_missing=True)
    assert (found.file_label, found.notes) == (SECRET, [SECRET, SECRET])
    assert found.variable_value_labels["job"] == {1.0: "one", 2.0: "two"}
    assert len(found.variable_value_labels["town"]) == 4
    assert found.missing_ranges["town"] == [
        {"lo": 471100.0, "hi": 471199.0}, {"lo": 2.0, "hi": 2.0},
    ]  # fmt: skip


def test_what_a_release_needs_to_look_alike_stays(tmp_path):
    pyreadstat = pytest.importorskip("pyreadstat")
    path, target = tmp_path / "people.dta", tmp_path / "release.dta"
    put_stats(path)
    protected(path).write(target)
    _, found = pyreadstat.read_dta(target, user_missing=True)
    assert found.missing_user_values == {"pay": ["z"]}
    assert found.variable_value_labels["pay"] == {"z": "refused"}
    assert found.variable_value_labels["town"] == {1: "one", 2: "two"}


def test_a_table_that_a_release_replaces_is_not_left_in_its_file(tmp_path):
    path = tmp_path / "release.db"
    with sqlite3.connect(path) as base:
        pd.DataFrame({"name": NAMES * 50}).to_sql("people", base, index=False)
    base.close()
    assert SECRET.encode() in path.read_bytes()
    protected(plain()).write(f"sqlite:///{path}#people", force=True)
    assert_nothing_in(path.read_bytes())
    with sqlite3.connect(path) as base:
        assert base.execute("SELECT count(*) FROM people").fetchone() == (N,)
    base.close()
