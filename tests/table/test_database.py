import datetime as dt
import decimal
import gc
import os
import signal
import socket
import sqlite3
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path

import pyarrow as pa
import pytest
from hypothesis import Phase, given, settings
from hypothesis import strategies as st

from microagg.base.addresses import without_password
from microagg.base.errors import InputError, MicroaggError, OptionError
from microagg.base.reading import Reading
from microagg.table.checks import cast_like, decoded, fingerprint
from microagg.table.formats import format_of
from microagg.table.formats.database import Address, Database, draft
from microagg.table.formats.database.aside import ask_aside
from microagg.table.formats.database.postgresql import with_patience
from tests.databases import execute

DATABASE = Database()

MOMENTS = [dt.datetime(2020, 1, 2, 3, 4, 5, 678901), None, dt.datetime(1899, 12, 31)]
TABLE = pa.table(
    {
        "whole": pa.array([1, None, -(2**63)]),
        "small": pa.array([1, None, -3], pa.int8()),
        "number": pa.array([0.1 + 0.2, None, -1e300]),
        "float32": pa.array([0.5, None, 2.0], pa.float32()),
        "yes": pa.array([True, None, False]),
        'its "text" is é': pa.array(["it's", None, ""]),
        "date": pa.array([dt.date(2020, 2, 29), None, dt.date(1, 1, 1)]),
        "micro": pa.array(MOMENTS, pa.timestamp("us")),
        "milli": pa.array([1, None, -1], pa.timestamp("ms")),
        "second": pa.array([1, None, -1], pa.timestamp("s")),
        "zone": pa.array(MOMENTS, pa.timestamp("us", "Europe/Vienna")),
        "time": pa.array([dt.time(1, 2, 3, 4), None, dt.time(0)]),
        "decimal": pa.array(
            [decimal.Decimal("1.25"), None, decimal.Decimal("-300.00")], pa.decimal128(7, 2)
        ),
        "category": pa.array(["x", None, "y"]).dictionary_encode(),
        "nothing": pa.array([None, None, None], pa.float64()),
        "row_number": pa.array([7, 7, 7]),
        "select": pa.array(["a", "b", "c"]),
    }
)
NAMES = ["people", 'my "table"', "two words", "select", "x'; DROP TABLE people; --", "a%2Eb%23c"]


def tables(url):
    if url.startswith("sqlite"):
        return {name for (name,) in execute(url, "SELECT name FROM sqlite_master")}
    query = "SELECT tablename::text FROM pg_tables WHERE schemaname NOT LIKE ALL ('{pg_%,info%}')"
    return {name for (name,) in execute(url, query)}


def write(table, address, check, force):
    with draft(table, address, force) as back:
        check(cast_like(back, table.schema))


def nothing(_table):
    """A check that is content."""


def same_as(table):
    def check(back):
        assert back.schema.equals(table.schema)
        assert decoded(back).equals(decoded(table))

    return check


def test_types_and_values_come_back(base):
    checked = []

    def check(back):
        same_as(TABLE)(back)
        checked.append(back.num_rows)

    write(TABLE, f"{base}#people", check, force=False)
    assert checked == [3]
    assert tables(base) == {"people"}
    read = DATABASE.read(f"{base}#people", Reading(query="SELECT * FROM people ORDER BY 17"))
    assert read.table.column_names == TABLE.column_names
    assert read.table["whole"].to_pylist() == TABLE["whole"].to_pylist()
    assert read.table["number"].to_pylist() == TABLE["number"].to_pylist()
    assert read.table['its "text" is é'].to_pylist() == ["it's", None, ""]
    assert read.sha256 == fingerprint(read.table)
    if base.startswith("postgresql"):
        assert read.table["date"].type == pa.date32()
        assert read.table["yes"].type == pa.bool_()
        assert read.table["decimal"].type == pa.decimal128(5, 2)
        assert read.table["zone"].type == pa.timestamp("us", "UTC")


@settings(max_examples=10, phases=[Phase.generate])
@given(
    rows=st.lists(
        st.tuples(
            st.none() | st.integers(-(2**63), 2**63 - 1),
            st.none() | st.floats(allow_nan=False),
            st.none() | st.text(st.characters(exclude_categories=["C"]), max_size=5),
            st.none() | st.dates(),
            st.none() | st.booleans(),
            st.none() | st.datetimes(dt.datetime(1000, 1, 1), dt.datetime(9000, 1, 1)),
        ),
        min_size=1,
        max_size=20,
    )
)
def test_any_values_come_back(base, rows):
    types = (pa.int64(), pa.float64(), pa.string(), pa.date32(), pa.bool_(), pa.timestamp("us"))
    columns = [
        pa.array(each, kind) for each, kind in zip(zip(*rows, strict=True), types, strict=True)
    ]
    table = pa.table(columns, names=list("abcdef"))
    write(table, f"{base}#any", same_as(table), force=True)


def test_rows_are_checked_in_their_order(base):
    table = pa.table({"a": [(i * 7919) % 5000 for i in range(5000)]})
    write(table, f"{base}#people", same_as(table), force=False)


@pytest.mark.usefixtures("asked_by_forks")
@pytest.mark.parametrize("name", NAMES)
def test_names_are_only_names(base, name):
    execute(base, "CREATE TABLE people (a int)")
    write(TABLE, f"{base}#{name}", same_as(TABLE), force=True)
    wanted = name.replace("%2E", ".").replace("%23", "#")
    assert tables(base) == {"people", wanted}
    assert DATABASE.read(f"{base}#{name}", Reading()).table.num_rows == 3


@pytest.mark.usefixtures("asked_by_forks")
def test_an_existing_table_is_replaced_with_force_only(base):
    old, new = pa.table({"a": [1]}), pa.table({"b": ["x", "y"]})
    write(old, f"{base}#people", nothing, force=False)
    with pytest.raises(OptionError, match=r"already has a table 'people'.*force"):
        write(new, f"{base}#people", nothing, force=False)
    assert DATABASE.read(f"{base}#people", Reading()).table.equals(old)
    write(new, f"{base}#people", nothing, force=True)
    assert DATABASE.read(f"{base}#people", Reading()).table.equals(new)
    assert tables(base) == {"people"}


@pytest.mark.usefixtures("asked_by_forks")
def test_nothing_changes_if_the_check_fails(base):
    old, new = pa.table({"a": [1]}), pa.table({"b": ["x", "y"]})
    write(old, f"{base}#people", nothing, force=False)

    def refuse(_table):
        raise InputError("not as it should be")

    for name in ("people", "others"):
        with pytest.raises(InputError, match="not as it should be"):
            write(new, f"{base}#{name}", refuse, force=True)
    assert tables(base) == {"people"}
    assert DATABASE.read(f"{base}#people", Reading()).table.equals(old)


@pytest.mark.usefixtures("asked_by_forks")
def test_a_view_is_not_replaced_and_does_not_stop_a_table(base):
    execute(base, "CREATE TABLE people (a int)", "CREATE VIEW seen AS SELECT a FROM people")
    with pytest.raises(OptionError, match=r"'seen' of .* is a view, not a table"):
        write(TABLE, f"{base}#seen", nothing, force=True)
    execute(base, "INSERT INTO people VALUES (5)")
    assert DATABASE.read(f"{base}#seen", Reading()).table.to_pydict() == {"a": [5]}
    new = pa.table({"a": [1, 2]})
    if base.startswith("sqlite"):
        write(new, f"{base}#people", nothing, force=True)
        assert DATABASE.read(f"{base}#seen", Reading()).table.to_pydict() == {"a": [1, 2]}
    else:
        with pytest.raises(InputError, match=r"views may depend on the old one.*2BP01"):
            write(new, f"{base}#people", nothing, force=True)
        assert DATABASE.read(f"{base}#people", Reading()).table.to_pydict() == {"a": [5]}
        assert tables(base) == {"people"}


@pytest.mark.usefixtures("asked_by_forks")
def test_queries(base):
    write(pa.table({"a": [3, 1, 2]}), f"{base}#people", nothing, force=False)
    read = DATABASE.read(base, Reading(query="SELECT a, a * 2 AS b FROM people ORDER BY a"))
    assert read.table.to_pydict() == {"a": [1, 2, 3], "b": [2, 4, 6]}
    with pytest.raises(InputError, match="more than one column 'a'"):
        DATABASE.read(base, Reading(query="SELECT a, a FROM people"))
    with pytest.raises(InputError, match="no rows"):
        DATABASE.read(base, Reading(query="SELECT a FROM people WHERE a > 5"))
    with pytest.raises(InputError) as refused:
        DATABASE.read(base, Reading(query="SELECT hushhush FROM people WHERE a = 'hushhush'"))
    assert "hushhush" not in str(refused.value)


@pytest.mark.usefixtures("asked_by_forks")
@pytest.mark.parametrize(
    "query",
    [
        "DELETE FROM people",
        "INSERT INTO people VALUES (4) RETURNING a",
        "DROP TABLE people",
        "CREATE TABLE others (a int)",
        "WITH gone AS (DELETE FROM people RETURNING a) SELECT a FROM gone",
        "SELECT a FROM people; DELETE FROM people",
        "COMMIT",
    ],
)
def test_reading_cannot_write(base, query):
    write(pa.table({"a": [3, 1, 2]}), f"{base}#people", nothing, force=False)
    with pytest.raises(InputError):
        DATABASE.read(base, Reading(query=query))
    assert execute(base, "SELECT count(*) FROM people") == [(3,)]
    assert tables(base) == {"people"}


@pytest.mark.parametrize(
    "query",
    [
        "ATTACH '{0}' AS other",
        "VACUUM INTO '{0}'",
        "PRAGMA journal_mode = WAL",
        "SELECT load_extension('{0}')",
        "SELECT * FROM pragma_query_only",
    ],
)
def test_reading_sqlite_cannot_do_anything_else(tmp_path, query):
    url = f"sqlite:///{tmp_path / 'file.db'}"
    execute(url, "CREATE TABLE people (a int)", "INSERT INTO people VALUES (1)")
    before = (tmp_path / "file.db").read_bytes()
    with pytest.raises(InputError):
        DATABASE.read(url, Reading(query=query.format(tmp_path / "other.db")))
    assert [each.name for each in tmp_path.iterdir()] == ["file.db"]
    assert (tmp_path / "file.db").read_bytes() == before


@pytest.mark.parametrize(
    "query",
    [
        "COPY (SELECT 1) TO '{0}'",
        "COPY (SELECT 1) TO PROGRAM 'cat > {0}'",
        "SELECT lo_export(lo_from_bytea(0, 'x'), '{0}')",
        "SELECT lo_export(4711, '{0}')",
        "SELECT \"lo_export\"/**/(4711, '{0}')",
        "SELECT U&\"lo\\005fexport\"(4711, '{0}')",
        "DO $$ BEGIN COPY (SELECT 1) TO '{0}'; END $$",
    ],
)
def test_a_query_of_who_runs_the_server_writes_no_file(server, query):
    execute(server, "SELECT lo_unlink(oid) FROM pg_largeobject_metadata")
    execute(server, "SELECT lo_from_bytea(4711, 'x')")
    # Not below folders that only we may enter: the server is another user.
    with tempfile.TemporaryDirectory() as room:
        Path(room).chmod(0o777)
        with pytest.raises(InputError):
            DATABASE.read(server, Reading(query=query.format(f"{room}/out")))
        assert list(Path(room).iterdir()) == []


ENDLESS = "WITH RECURSIVE r(a) AS (SELECT 1 UNION ALL SELECT 1 - a FROM r) SELECT {} FROM r"


@pytest.mark.parametrize("what", ["a", "count(*)"])
def test_a_query_that_never_ends_is_given_up(base, what):
    execute(base, "CREATE TABLE people (a int)")
    with pytest.raises(InputError, match=r"did not answer within 0\.5 seconds.*--query-timeout"):
        DATABASE.read(base, Reading(query=ENDLESS.format(what), query_timeout=0.5))


@pytest.mark.parametrize("what", ["a", "'a text of ' || a"])
def test_an_answer_that_never_ends_does_not_fill_memory(base, what, monkeypatch):
    """Whatever time there is: refused once more has come than there is memory left."""
    execute(base, "CREATE TABLE people (a int)")
    monkeypatch.setattr("microagg.base.memory._free_memory", lambda: 10**6)
    with pytest.raises(InputError, match=r"too large for memory: 0\.0 GB have come, and 0\.0 GB"):
        DATABASE.read(base, Reading(query=ENDLESS.format(what), query_timeout=120))


# Within one value a driver looks at no clock.
LONG_VALUES = {
    "sqlite": "SELECT instr(zeroblob(20000000), zeroblob(9999999) || x'01') AS a",
    "postgresql": "SELECT pg_sleep(600)::text AS a",
}


def test_one_value_that_takes_for_ever_is_given_up(base):
    execute(base, "CREATE TABLE people (a int)")
    query = LONG_VALUES[base.partition(":")[0]]
    with pytest.raises(InputError, match=r"did not answer within 0\.5 seconds"):
        DATABASE.read(base, Reading(query=query, query_timeout=0.5))


def test_a_table_whose_values_take_for_ever_is_given_up(tmp_path):
    """What a file of others says is worked out when it is read: views, and columns."""
    base = f"sqlite:///{tmp_path / 'file.db'}"
    execute(base, f"CREATE VIEW people AS {LONG_VALUES['sqlite']}")
    for read in (DATABASE.read, lambda *given: DATABASE.head(*given, None, 10**6)):
        with pytest.raises(InputError, match=r"did not answer within 0\.5 seconds"):
            read(f"{base}#people", Reading(query_timeout=0.5))


@pytest.mark.parametrize("value", ["zeroblob(900000000)", "zeroblob(9000000) FROM r"])
def test_values_do_not_fill_memory(tmp_path, value, monkeypatch):
    """Whether one is too large, or many that are read together."""
    base = f"sqlite:///{tmp_path / 'file.db'}"
    execute(base, "CREATE TABLE people (a int)")
    monkeypatch.setattr("microagg.base.memory._free_memory", lambda: 10**6)
    query = ENDLESS.format("1 AS b").replace("SELECT 1 AS b FROM r", f"SELECT {value} AS b")
    with pytest.raises(InputError, match="is too large for memory"):
        DATABASE.read(base, Reading(query=query, query_timeout=60))


def test_a_server_that_says_nothing_is_given_up():
    with socket.create_server(("127.0.0.1", 0)) as mute:
        address = f"postgresql://me@127.0.0.1:{mute.getsockname()[1]}/base#people"
        with pytest.raises(InputError, match=r"did not answer within 0\.5 seconds"):
            DATABASE.read(address, Reading(query_timeout=0.5))


def test_a_server_that_says_nothing_is_given_up_when_it_is_written_to(monkeypatch):
    monkeypatch.delenv("PGCONNECT_TIMEOUT", raising=False)
    assert with_patience("postgresql://h/b") == "postgresql://h/b?connect_timeout=30"
    assert with_patience("postgresql:///b?host=/x") == "postgresql:///b?host=/x&connect_timeout=30"
    told = "postgresql://h/b?connect_timeout=2"
    assert with_patience(told) == told
    with socket.create_server(("127.0.0.1", 0)) as mute:
        port = mute.getsockname()[1]
        address = f"postgresql://me@127.0.0.1:{port}/base?connect_timeout=2#people"
        with pytest.raises(InputError, match="cannot be opened; is it there"):
            write(TABLE, address, nothing, force=False)


def test_a_driver_that_dies_is_a_sentence():
    place = Address.of("sqlite:///none.db")
    with pytest.raises(InputError, match=r"the process that asked .* was ended; look whether"):
        ask_aside(die, place)


def die(_place):
    yield pa.record_batch([pa.nulls(3)], ["a"])
    os.kill(os.getpid(), signal.SIGSEGV)


def test_nobody_asks_on_when_nobody_listens(tmp_path):
    """However the process ends that has asked."""
    base = f"sqlite:///{tmp_path / 'file.db'}"
    execute(base, "CREATE TABLE people (a int)")
    asking = [sys.executable, "-c", ASK, base, LONG_VALUES["sqlite"]]
    with subprocess.Popen(asking, stdout=subprocess.PIPE) as process:
        other = int(process.stdout.readline())
        process.kill()
    for _ in range(600):
        if not Path(f"/proc/{other}").exists():
            return
        time.sleep(0.1)
    pytest.fail("it still asks")


ASK = """
import sys
from microagg.base.reading import Reading
from microagg.table.formats.database import Database, aside

def start(*arguments, _start=aside.start, **options):
    child = _start(*arguments, **options)
    print(child.pid, flush=True)
    return child

aside.start = start
Database().read(sys.argv[1], Reading(query=sys.argv[2], query_timeout=0))
"""


@pytest.mark.parametrize("seconds", [0, None, 1e9])
def test_there_may_be_no_limit(base, seconds):
    execute(base, "CREATE TABLE people (a int)")
    read = DATABASE.read(base, Reading(query="SELECT 1 AS a", query_timeout=seconds))
    assert read.table.to_pydict() == {"a": [1]}


@pytest.fixture
def interruptible():
    """Signals reach the test, neither a cluster's handler nor a callback that drops them."""
    callbacks, gc.callbacks[:] = list(gc.callbacks), []
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)
    gc.callbacks[:] = callbacks


@pytest.mark.parametrize("what", ["count(*)", "a"])
def test_an_interruption_is_one(base, what, interruptible):
    execute(base, "CREATE TABLE people (a int)")
    timer = threading.Timer(0.5, signal.raise_signal, [signal.SIGINT])
    timer.start()
    with pytest.raises(KeyboardInterrupt):
        DATABASE.read(base, Reading(query=ENDLESS.format(what), query_timeout=4))
    timer.join()


MUTATE = """
import os, random, signal, sys
from contextlib import closing
from microagg.base.errors import MicroaggError
from microagg.table.formats.database import Address, Sqlite, draft
import pyarrow as pa

SAFE = pa.table({"a": [1]})
path, tries = sys.argv[1], int(sys.argv[2])
good = open(path, "rb").read()
for number in range(tries):
    random.seed(number)
    bad = bytearray(good)
    for _ in range(random.choice([1, 3, 30])):
        at = random.randrange(random.choice([100, 400, 4096, len(bad)]))
        bad[at] = random.choice([0, 1, 127, 128, 255, random.randrange(256)])
    if number % 5 == 0:
        del bad[random.randrange(len(bad)):]
    open(path, "wb").write(bad)
    child = os.fork()
    if child == 0:
        signal.alarm(20)
        try:
            try:
                with closing(Sqlite(Address.of(f"sqlite:///{path}#people"), 0.0)) as base:
                    base.ask("SELECT * FROM people")
            finally:
                with draft(SAFE, f"sqlite:///{path}#people", True):
                    pass
        except MicroaggError as problem:
            os._exit(7 if "Zorro" in str(problem) else 0)
        except BaseException:
            os._exit(8)
        os._exit(0)
    status = os.waitpid(child, 0)[1]
    if status:
        sys.exit(f"mutation {number}: {status}")
"""


@pytest.mark.usefixtures("asked_by_forks")
def test_damaged_sqlite_files_are_read_or_refused(tmp_path):
    path = tmp_path / "file.db"
    connection = sqlite3.connect(path)
    connection.execute("CREATE TABLE people (a int PRIMARY KEY, b text, c real, d blob)")
    connection.execute("CREATE VIEW seen AS SELECT a, b FROM people")
    rows = [(i, f"Zorro {i}", i / 7, bytes(i % 50)) for i in range(1000)]
    connection.executemany("INSERT INTO people VALUES (?, ?, ?, ?)", rows)
    connection.commit()
    connection.close()
    done = subprocess.run(
        [sys.executable, "-c", MUTATE, str(path), "150"],
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode, done.stderr) == (0, "")


def test_texts_that_are_none_are_refused(tmp_path):
    url = f"sqlite:///{tmp_path / 'file.db'}"
    execute(url, "CREATE TABLE people (a)", "INSERT INTO people VALUES (CAST(x'ff41' AS TEXT))")
    with pytest.raises(InputError, match="did not answer the query"):
        DATABASE.read(f"{url}#people", Reading())


@pytest.mark.usefixtures("asked_by_forks")
def test_missing_tables_and_no_table(base):
    execute(base, "CREATE TABLE people (a int)")
    with pytest.raises(InputError, match="has no table 'others'"):
        DATABASE.read(f"{base}#others", Reading())
    with pytest.raises(InputError, match="no rows"):
        DATABASE.read(f"{base}#people", Reading())
    with pytest.raises(OptionError, match="which table"):
        DATABASE.read(base, Reading())
    with pytest.raises(OptionError, match="which table"):
        write(TABLE, base, nothing, force=False)


def test_sqlite_columns_may_change_their_type_on_the_way(tmp_path):
    base = f"sqlite:{tmp_path / 'file.db'}"
    path = str(tmp_path / "file.db")
    connection = sqlite3.connect(path)
    connection.execute("CREATE TABLE people (a, b, c)")
    rows = [(i, i, None) for i in range(3000)] + [(0.5, "x", "late")]
    connection.executemany("INSERT INTO people VALUES (?, ?, ?)", rows)
    connection.commit()
    connection.close()
    table = DATABASE.read(f"{base}#PEOPLE", Reading()).table
    assert table.schema.types == [pa.float64(), pa.string(), pa.string()]
    assert table.num_rows == 3001
    assert table["c"].null_count == 3000


def test_sqlite_files_that_are_not(tmp_path):
    path = tmp_path / "a.db"
    with pytest.raises(InputError, match="there is no SQLite file"):
        DATABASE.read(f"sqlite:///{path}#people", Reading())
    assert not path.exists()
    path.write_bytes(b"pay\n123456789\n" * 100)
    for attempt in (
        lambda: DATABASE.read(f"sqlite:///{path}#people", Reading()),
        lambda: write(TABLE, f"sqlite:///{path}#people", nothing, force=True),
    ):
        with pytest.raises(InputError) as refused:
            attempt()
        assert "123456789" not in str(refused.value)
    assert path.read_bytes() == b"pay\n123456789\n" * 100


def test_a_new_sqlite_file_goes_if_nothing_was_written(tmp_path):
    path = tmp_path / "new file #1?.db"

    def refuse(_table):
        raise InputError("not as it should be")

    with pytest.raises(InputError):
        write(TABLE, f"sqlite:///{path}#people", refuse, force=False)
    assert list(tmp_path.iterdir()) == []
    write(TABLE, f"sqlite:///{path}#people", nothing, force=False)
    assert [each.name for each in tmp_path.iterdir()] == [path.name]


def test_what_sqlite_cannot_hold(tmp_path):
    base = f"sqlite:///{tmp_path / 'a.db'}"
    with pytest.raises(InputError, match="column 'c' is of type list"):
        write(pa.table({"c": [[1]]}), f"{base}#a", nothing, force=False)
    with pytest.raises(InputError, match="two columns are called 'age'"):
        write(pa.table({"age": [1], "Age": [1]}), f"{base}#a", nothing, force=False)
    with pytest.raises(InputError, match="zero byte"):
        write(pa.table({"a\0": [1]}), f"{base}#a", nothing, force=False)


@pytest.mark.usefixtures("asked_by_forks")
def test_schemas_of_postgresql(server):
    execute(server, 'DROP SCHEMA IF EXISTS "my ""own" CASCADE', 'CREATE SCHEMA "my ""own"')
    table = pa.table({"a": [1, 2]})
    address = f'{server}#my "own.people'
    write(table, address, same_as(table), force=False)
    write(table, address, same_as(table), force=True)
    assert DATABASE.read(address, Reading()).table.equals(table)
    with pytest.raises(InputError, match="has no table 'people'"):
        DATABASE.read(f"{server}#nowhere.people", Reading())
    with pytest.raises(InputError):
        write(table, f"{server}#nowhere.people", nothing, force=False)
    execute(server, 'DROP SCHEMA "my ""own" CASCADE')


def test_types_of_postgresql(server):
    read = DATABASE.read(
        server,
        Reading(
            query="SELECT 1.250::numeric(10,3) a, 'NaN'::numeric b, '{}'::jsonb j, "
            "'00000000-0000-0000-0000-000000000001'::uuid u, 'x'::char(3) c, "
            "1e50::numeric g, NULL::numeric n"
        ),
    )
    assert read.table.schema.types[:4] == [
        pa.decimal128(4, 3),
        pa.float64(),
        pa.string(),
        pa.string(),
    ]
    values = read.table.to_pylist()[0]
    assert values["a"] == decimal.Decimal("1.250")
    assert values["u"] == "00000000-0000-0000-0000-000000000001"
    assert values["g"] == 1e50
    assert values["n"] is None


def test_long_names_of_postgresql(server):
    with pytest.raises(InputError, match="longer than the 63 bytes"):
        write(pa.table({"x" * 64: [1]}), f"{server}#a", nothing, force=False)
    with pytest.raises(InputError, match="longer than the 63 bytes"):
        write(TABLE, f"{server}#{'x' * 64}", nothing, force=False)


@pytest.mark.parametrize(
    "address",
    [
        "postgresql://me:sesame@127.0.0.1:1/base#people",
        "postgres://me:sesame@127.0.0.1:1/base?connect_timeout=1#people",
        "postgresql://me@127.0.0.1:1/base?password=sesame#people",
        "postgresql://me:ses@me@127.0.0.1/base#people",
        "postgresql://me:sesame#x@127.0.0.1/base",
        "postgresql://me:1sesame#x@127.0.0.1/base",
        "postgresql://me:sesame/x@127.0.0.1/base#people",
    ],
)
def test_a_password_is_never_shown(address):
    for attempt in (
        lambda: DATABASE.read(address, Reading(query="SELECT 1")),
        lambda: write(TABLE, address, nothing, force=False),
        lambda: DATABASE.shown(address),
    ):
        try:
            said = str(attempt())
        except MicroaggError as problem:
            said = str(problem) + str(problem.__cause__)
        assert "ses" not in said.replace("user:password", "")
    try:
        said = repr(Address.of(address))
    except OptionError as problem:
        said = str(problem)
    assert "ses" not in said


def test_addresses():
    address = Address.of("postgresql://me:pw@host:5432/base#own.people")
    assert (address.schema, address.table) == ("own", "people")
    assert address.shown == "postgresql://host:5432/base"
    assert DATABASE.shown("postgres://me:pw@host/base#people") == "postgresql://host/base#people"
    assert Address.of("sqlite:///data/a.db#people").file == Path("data/a.db")
    assert Address.of("sqlite:////data/a.db#b.c").file == Path("/data/a.db")
    assert Address.of("sqlite:////data/a.db#b.c").table == "b.c"
    assert Address.of("sqlite:a.db").table is None
    assert DATABASE.shown("sqlite:////data/a.db#people") == "sqlite:a.db#people"
    for text in ("sqlite:a.db", "SQLITE:///a.db#t", "postgres://h/b", "postgresql://h/b#t"):
        assert DATABASE.holds(text)
    for text in ("a.db", "data/a.csv", "-", "postgresql.csv", "C:\\a.db"):
        assert not DATABASE.holds(text)


def test_without_the_driver(monkeypatch, tmp_path):
    (tmp_path / "adbc_driver_postgresql.py").write_text("raise ImportError")
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    with pytest.raises(OptionError) as missing:
        DATABASE.read("postgresql://host/base#a", Reading())
    assert str(missing.value) == (
        'reading databases needs the package adbc-driver-postgresql: pip install "microagg[sql]"'
    )


@pytest.mark.parametrize(
    ("address", "shown"),
    [
        ("postgresql://me:sesame@host:5432/base#a.people", "postgresql://host:5432/base#a.people"),
        ("postgres://me:sesame@host/base?password=sesame#people", "postgres://host/base#people"),
        ("postgresql:///base?host=/tmp&password=sesame", "postgresql:///base"),
        ("postgresql://me:ses@me#sesame/x@host/base#people", "postgresql://host/base#people"),
        ("MYSQL://me:sesame@host", "MYSQL://host"),
        ("s3a://key:sesame@bucket/folder/a.parquet", "s3a://bucket/folder/a.parquet"),
        ("sqlite:///people.db#people", "sqlite:///people.db#people"),
        ("sqlite:////a@b/c?d.db#people", "sqlite:////a@b/c?d.db#people"),
        ("data/a@b?c#d.csv", "data/a@b?c#d.csv"),
    ],
)
def test_an_address_that_is_shown_has_no_password(address, shown):
    assert without_password(address) == shown


def test_an_address_of_no_format_is_not_quoted_with_its_password():
    for address in ("mysql://me:sesame@host", "mysql://host/base?password=sesame"):
        with pytest.raises(OptionError) as refused:
            format_of(address)
        assert "sesame" not in str(refused.value)
