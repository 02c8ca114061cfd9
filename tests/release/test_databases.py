"""A table of a database that the input is read from is never replaced, however it is spelled."""

import json
import os
import sqlite3
from contextlib import closing

import pyarrow as pa
import pytest

import microagg
from microagg.actions.publish import Publication, refuse_outputs
from microagg.base.certificate import Certificate
from microagg.base.errors import MicroaggError, OptionError
from microagg.base.reading import Reading
from microagg.engine.memory import draft_of
from microagg.release.output import open_place
from microagg.table.opening import open_table
from tests.commands import microagg as command
from tests.databases import execute

# That the usual way to ask is safe is tested where it stands.
pytestmark = pytest.mark.usefixtures("asked_by_forks")
NEW = pa.table({"b": ["x", "y"]})
PEOPLE = [(1,), (2,), (3,)]
MAKE = (
    "CREATE TABLE people (a int)",
    "INSERT INTO people VALUES (1), (2), (3)",
    "CREATE TABLE others (a int)",
    "INSERT INTO others VALUES (5)",
    "CREATE VIEW seen AS SELECT a FROM people",
    "CREATE VIEW twice AS SELECT a FROM seen WHERE a > 0",
)


def replace(source, target, query=None):
    """Read an input, and write something else over a table."""
    opened = open_table(source, Reading(query=query))
    with open_place(target, opened.origin, True) as place, draft_of(NEW, place, opened.origin):
        certify(place)


def certify(place):
    place.certificate.write_text("{}")


def is_refused(source, target, query=None):
    with pytest.raises(OptionError, match=r"is the input, which is never written over"):
        replace(source, target, query)
    with pytest.raises(OptionError, match=r"is the input, which is never written over"):
        refuse_outputs(source, target, [], True, reading=Reading(query=query))


def people(url):
    return sorted(execute(url, "SELECT a FROM people"))


@pytest.mark.parametrize(
    ("source", "query"),
    [
        ("#people", None),
        ("#PEOPLE", None),
        ("#p%65ople", None),
        ("#seen", None),
        ("#twice", None),
        ("", "SELECT a FROM people"),
        ("", "SELECT a FROM twice"),
        ("", "SELECT a FROM others WHERE EXISTS (SELECT 1 FROM people)"),
        ("#others", "SELECT count(*) AS a FROM PeoplE"),
    ],
)
@pytest.mark.parametrize("target", ["#people", "#p%65ople"])
def test_an_input_by_another_name(base, source, query, target):
    execute(base, *MAKE)
    if source == "#PEOPLE" and base.startswith("postgresql"):
        pytest.skip("another name in PostgreSQL")
    is_refused(f"{base}{source}", f"{base}{target}", query)
    assert people(base) == PEOPLE


def test_a_query_may_read_no_table_at_all(base):
    execute(base, "CREATE TABLE others (n INTEGER)")
    counting = "SELECT 1 UNION ALL SELECT n + 1 FROM t WHERE n < 9"
    query = f"WITH RECURSIVE t(n) AS ({counting}) SELECT n FROM t"
    release = microagg.protect(
        base, quasi_identifiers=["n"], k=3, reading={"query": query}, progress=False
    )
    release.write(f"{base}#released")
    assert execute(base, "SELECT count(*) FROM released") == [(9,)]


def test_what_is_not_the_input_is_replaced(base):
    execute(base, *MAKE)
    replace(f"{base}#people", f"{base}#others")
    replace(f"{base}#twice", f"{base}#others")
    replace(base, f"{base}#others", "SELECT a FROM people")
    replace(f"{base}#people", f"{base}#new")
    assert people(base) == PEOPLE
    refuse_outputs(f"{base}#people", f"{base}#others", [], True)
    assert sorted(execute(base, "SELECT b FROM others")) == [("x",), ("y",)]


@pytest.mark.parametrize("how", ["symlink", "hard link", "folder", "relative", "capitals"])
def test_a_sqlite_file_by_another_path(tmp_path, how, monkeypatch):
    path, other = tmp_path / "survey.db", tmp_path / "other.db"
    execute(f"sqlite:///{path}", *MAKE)
    source = f"sqlite:///{other}"
    if how == "symlink":
        other.symlink_to(path)
    elif how == "hard link":
        os.link(path, other)
    elif how == "folder":
        (tmp_path / "room").symlink_to(tmp_path)
        source = f"sqlite:///{tmp_path}/room/survey.db"
    elif how == "relative":
        monkeypatch.chdir(tmp_path)
        source = "sqlite:survey.db"
    else:
        source = f"SQLite:///{path}"
    is_refused(f"{source}#people", f"sqlite:///{path}#people")
    is_refused(f"sqlite:///{path}#people", f"{source}#people")
    is_refused(source, f"sqlite:///{path}#people", "SELECT a FROM people")
    assert people(f"sqlite:///{path}") == PEOPLE


def test_a_file_that_is_the_sqlite_input_is_never_written_over(tmp_path):
    path = tmp_path / "survey.csv"
    url = f"sqlite:///{path}"
    execute(url, *MAKE)
    with pytest.raises(OptionError, match="is the input"):
        replace(f"{url}#people", str(path))
    with pytest.raises(OptionError, match="is the input"):
        refuse_outputs(f"{url}#people", str(tmp_path / "safe.csv"), [path], True)
    other = tmp_path / "other.db"
    with pytest.raises(OptionError, match="two outputs have the same name"):
        refuse_outputs(f"{url}#people", f"sqlite:///{other}#people", [other], True)
    assert people(url) == PEOPLE


def test_what_an_index_of_words_reads_is_the_input(tmp_path):
    url = f"sqlite:///{tmp_path / 'survey.db'}"
    execute(
        url,
        "CREATE TABLE people (a)",
        "INSERT INTO people VALUES ('x'), ('y')",
        "CREATE VIRTUAL TABLE words USING fts5(a, content='people', content_rowid='rowid')",
    )
    with pytest.raises(OptionError, match="is the input, which is never"):
        replace(f"{url}#words", f"{url}#people")
    with pytest.raises(OptionError, match="is a virtual table, not a table"):
        replace(f"{url}#people", f"{url}#words")
    assert people(url) == [("x",), ("y",)]


def spellings(server):
    """Other addresses of the same server."""
    place = server.removeprefix("postgresql://").partition("@")[2]
    port = place.partition(":")[2].partition("/")[0]
    home = execute(server, "SELECT current_setting('unix_socket_directories')")[0][0]
    return [
        f"postgresql://tester@localhost:{port}/postgres",
        f"postgres://tester@127.0.0.1:{port}/postgres",
        f"POSTGRESQL://tester@127.0.0.1:{port}/postgres",
        f"postgresql://tester@/postgres?host=127.0.0.1&port={port}",
        f"postgresql://tester@/postgres?host={home}&port={port}",
        f"postgresql://tester@{home.replace('/', '%2F')}:{port}/postgres",
        f"postgresql://tester@127.0.0.1:{port}/p%6fstgres",
        f"postgresql:///?user=tester&dbname=postgres&host=127.0.0.1&port={port}",
        f"postgresql://other@127.0.0.1:{port}/postgres",
    ]


@pytest.fixture
def filled(server):
    execute(server, "DROP SCHEMA public CASCADE", "CREATE SCHEMA public", *MAKE)
    execute(
        server,
        "DO $$ BEGIN CREATE ROLE other LOGIN; EXCEPTION WHEN duplicate_object THEN END $$",
        "GRANT ALL ON SCHEMA public TO other",
        "GRANT ALL ON ALL TABLES IN SCHEMA public TO other",
    )
    return server


@pytest.mark.parametrize("number", range(9))
def test_a_server_by_another_name(filled, number):
    other = spellings(filled)[number]
    is_refused(f"{other}#people", f"{filled}#people")
    is_refused(f"{filled}#people", f"{other}#people")
    is_refused(f"{filled}#people", f"{other}#public.people")
    is_refused(other, f"{filled}#public.people", "SELECT a FROM twice")
    assert people(filled) == PEOPLE


def test_what_a_function_reads_is_the_input(filled):
    execute(
        filled,
        "CREATE FUNCTION told() RETURNS SETOF int LANGUAGE plpgsql AS "
        "$$ BEGIN RETURN QUERY EXECUTE 'SELECT a FROM ' || 'people'; END $$",
    )
    with pytest.raises(OptionError, match="is the input, which is never"):
        replace(filled, f"{filled}#people", "SELECT * FROM told() AS t(a)")
    assert people(filled) == PEOPLE


def test_parts_of_a_table_are_the_input(filled):
    execute(
        filled,
        "CREATE TABLE whole (a int) PARTITION BY LIST (a)",
        "CREATE TABLE part PARTITION OF whole FOR VALUES IN (1)",
        "INSERT INTO whole VALUES (1)",
    )
    is_refused(f"{filled}#part", f"{filled}#whole")
    is_refused(f"{filled}#whole", f"{filled}#part")
    assert execute(filled, "SELECT a FROM part") == [(1,)]


def test_another_database_of_the_server_is_another(filled):
    execute_alone(filled, "DROP DATABASE IF EXISTS second")
    execute_alone(filled, "CREATE DATABASE second TEMPLATE postgres")
    second = filled.removesuffix("postgres") + "second"
    try:
        replace(f"{filled}#people", f"{second}#others")
        replace(f"{filled}#people", f"{second}#people")
    except MicroaggError as problem:
        # The view on it stays in the way.
        assert "depend" in str(problem)  # noqa: PT017
    execute(second, "DROP VIEW twice", "DROP VIEW seen")
    replace(f"{filled}#people", f"{second}#people")
    assert people(filled) == PEOPLE


def execute_alone(url, statement):
    import adbc_driver_postgresql.dbapi as driver

    with driver.connect(url, autocommit=True) as connection, connection.cursor() as cursor:
        cursor.execute(statement)


def test_what_cannot_be_told_is_not_replaced(filled):
    told = r"whether 'others' of .* cannot be told, so it is not replaced"
    execute(
        filled,
        "CREATE EXTENSION postgres_fdw",
        "CREATE SERVER away FOREIGN DATA WRAPPER postgres_fdw OPTIONS (host '127.0.0.1', "
        f"port '{filled.rpartition(':')[2].partition('/')[0]}', dbname 'postgres')",
        "CREATE USER MAPPING FOR tester SERVER away OPTIONS (user 'tester', password 'sesame')",
        "CREATE FOREIGN TABLE away (a int) SERVER away OPTIONS (table_name 'others')",
    )
    try:
        with pytest.raises(OptionError, match=told):
            replace(f"{filled}#away", f"{filled}#others")
        replace(f"{filled}#away", f"{filled}#new")
        execute(filled, "CREATE EXTENSION dblink")
        remote = f"SELECT * FROM dblink('{filled}', 'SELECT a FROM others') AS t(a int)"
        with pytest.raises(OptionError, match=told):
            replace(filled, f"{filled}#others", remote)
        replace(f"{filled}#people", f"{filled}#new")
    finally:
        execute(filled, "DROP EXTENSION postgres_fdw CASCADE", "DROP EXTENSION IF EXISTS dblink")
    execute(filled, "REVOKE EXECUTE ON FUNCTION pg_control_system() FROM public")
    try:
        other = filled.replace("tester:sesame", "other")
        with pytest.raises(OptionError, match=told):
            replace(f"{other}#people", f"{filled}#others")
        with pytest.raises(OptionError, match=told):
            replace(f"{filled}#people", f"{other}#others")
    finally:
        execute(filled, "GRANT EXECUTE ON FUNCTION pg_control_system() TO public")
    assert execute(filled, "SELECT a FROM others") == [(5,)]


def test_a_password_is_not_printed(server, tmp_path):
    execute(server, "DROP TABLE IF EXISTS safe")
    (tmp_path / "a.csv").write_text("age\n" + "\n".join(map(str, range(20))))
    wanted = ("protect", "a.csv", "-k", "5", "-q", "age", "-o", f"{server}#safe", "--force")
    for more in ((), ("--json",)):
        files = ("-r", "r.html", "--save-recipe", "r.toml")
        done = command(*wanted, *more, *files, folder=tmp_path)
        assert done.code == 0, done.err
        written = [each.read_text() for each in tmp_path.iterdir()]
        assert not [text for text in (done.out, done.err, *written) if "sesame" in text]
        assert "#safe" in done.out


def test_nothing_that_is_shown_holds_a_password():
    address = "postgresql://me:sesame@127.0.0.1:1/base#people"
    recipe = microagg.Recipe(k=2, quasi_identifiers=["a"])
    wanted = Publication(source=address, output=address, recipe=recipe, where={})
    assert "sesame" not in repr(wanted)


@pytest.mark.parametrize("mode", ["wal", "persist", "truncate", "delete"])
def test_what_was_replaced_is_in_no_file_beside(tmp_path, mode):
    path = tmp_path / "file.db"
    with closing(sqlite3.connect(path)) as other:
        other.execute(f"PRAGMA journal_mode = {mode}")
        other.execute("PRAGMA wal_autocheckpoint = 0")
        other.execute("CREATE TABLE safe (a text)")
        other.executemany("INSERT INTO safe VALUES (?)", [(f"Zorro {i}",) for i in range(3000)])
        other.commit()
        other.execute("UPDATE safe SET a = a || ' again'")
        other.commit()
        assert [each for each in tmp_path.iterdir() if b"Zorro" in each.read_bytes()]
        origin = open_table(NEW, Reading()).origin
        target = f"sqlite:///{path}#safe"
        with open_place(target, origin, True) as place, draft_of(NEW, place, origin):
            certify(place)
        assert not [each for each in tmp_path.iterdir() if b"Zorro" in each.read_bytes()]
        assert other.execute("SELECT b FROM safe").fetchall() == [("x",), ("y",)]


SETTINGS = {
    "k": 3,
    "quasi_identifiers": ["age", "sex", "born"],
    "confidential": ["ill"],
    "method": "mdav",
}


@pytest.fixture
def survey(tmp_path):
    rows = [f"{20 + i * 7 % 31},{'fm'[i % 2]},{i % 3},{i:02}.04.1970,{i}.5" for i in range(1, 25)]
    path = tmp_path / "survey.csv"
    path.write_text("\n".join(["age,sex,ill,born,pay", *rows]) + "\n")
    return path


def protected(survey, target, **writing):
    with microagg.protect(survey, progress=False, **SETTINGS) as release:
        return release, release.write(target, **writing)


def test_the_certificate_is_a_table_beside_the_release(base, survey):
    release, certificate = protected(survey, f"{base}#safe")
    ((text,),) = execute(base, "SELECT certificate FROM safe_certificate")
    assert json.loads(text) == json.loads(json.dumps(certificate.to_dict()))
    assert release.record.secret not in text
    assert "sesame" not in text
    # Whoever sees the release changed sees its certificate changed, never one of another release.
    with pytest.raises(OptionError, match="already has a table 'safe'"):
        protected(survey, f"{base}#safe")
    release, again = protected(survey, f"{base}#safe", force=True)
    ((text,),) = execute(base, "SELECT certificate FROM safe_certificate")
    assert json.loads(text)["sha256"]["release"] == again.release_sha256


def test_a_certificate_in_a_table_and_in_a_file(base, survey, tmp_path):
    release, _ = protected(survey, f"{base}#safe", certificate=tmp_path / "c.certificate.json")
    ((text,),) = execute(base, "SELECT certificate FROM safe_certificate")
    assert text == (tmp_path / "c.certificate.json").read_text()
    assert release.record.secret in (tmp_path / "c.record.json").read_text()


def test_what_has_the_name_of_the_certificate_is_somebody_elses(base, survey):
    execute(base, "CREATE TABLE safe_certificate (a int)")
    with pytest.raises(OptionError, match="already has a table 'safe_certificate'"):
        protected(survey, f"{base}#safe")
    with pytest.raises(OptionError, match=r"'safe_certificate' .* holds no certificate"):
        protected(survey, f"{base}#safe", force=True)
    with pytest.raises(OptionError, match=r"'safe_certificate' .* holds no certificate"):
        refuse_outputs(str(survey), f"{base}#safe", [], True)
    assert execute(base, "SELECT count(*) FROM safe_certificate") == [(0,)]


def test_an_input_named_like_a_certificate_is_never_replaced(base):
    execute(
        base,
        "CREATE TABLE safe_certificate (certificate int)",
        "INSERT INTO safe_certificate VALUES (1), (2), (3)",
    )
    is_refused(f"{base}#safe_certificate", f"{base}#safe")
    assert execute(base, "SELECT count(*) FROM safe_certificate") == [(3,)]


def test_neither_release_nor_certificate_without_the_other(base, survey, monkeypatch):
    def broken(*_):
        raise MicroaggError("no")

    monkeypatch.setattr(Certificate, "write", broken)
    with pytest.raises(MicroaggError):
        protected(survey, f"{base}#safe")
    execute(base, "CREATE TABLE safe (a int)", "CREATE TABLE safe_certificate (a int)")


def test_a_name_that_leaves_no_room_for_the_certificate(server, survey):
    with pytest.raises(MicroaggError, match=r"_certificate' is longer than the 63 bytes"):
        refuse_outputs(str(survey), f"{server}#{'n' * 60}", [], False)


def test_a_release_in_a_database_is_judged_by_its_certificate(base, survey, tmp_path):
    kinds = {**SETTINGS, "kinds": {"age": "nominal"}}
    with microagg.protect(survey, progress=False, **kinds) as release:
        release.write(f"{base}#safe", certificate=tmp_path / "c.certificate.json")
    loss = release.record.information_loss
    with pytest.raises(MicroaggError, match=r"were shuffled.*--key.*--record"):
        microagg.assess(survey, f"{base}#safe", progress=False)
    found = microagg.assess(
        survey, f"{base}#safe", record=tmp_path / "c.record.json", progress=False
    )
    assert found.information_loss == pytest.approx(loss)
    with microagg.protect(survey, progress=False, row_order="kept", **kinds) as release:
        release.write(f"{base}#kept")
    found = microagg.assess(survey, f"{base}#kept", progress=False)
    assert found.information_loss == pytest.approx(loss)


def test_the_certificate_of_a_private_release_is_a_table_too(base, survey):
    wanted = {"epsilon": 1.0, "bounds": {"age": (0, 99)}, "simulate": True}
    found = microagg.private.release(survey, **wanted)
    place = base.replace("tester:sesame@", "")
    assert found.write(f"{base}#noisy") == f"{place}#noisy_certificate"
    ((text,),) = execute(base, "SELECT certificate FROM noisy_certificate")
    assert json.loads(text)["guarantee"] == found.guarantee.to_dict()


def test_where_the_certificate_is_told(base, survey):
    safe = f"{base}#safe"
    wanted = ("protect", survey.name, "-k", "3", "-q", "age", "-m", "mdav", "-o", safe)
    done = command(*wanted, folder=survey.parent)
    assert done.code == 0, done.err
    place = safe.replace("tester:sesame@", "")
    assert f"  certificate {place}_certificate" in done.out.splitlines()
