"""Databases to test with: SQLite files, and a PostgreSQL server of our own if there can be one."""

import os
import pwd
import shutil
import socket
import sqlite3
import subprocess
import tempfile
import time
from pathlib import Path

import pytest


def binaries():
    folders = [
        shutil.which("postgres"),
        *sorted(Path("/usr/lib/postgresql").glob("*/bin/postgres")),
    ]
    for found in folders:
        if found and Path(found).resolve().with_name("initdb").exists():
            return Path(found).resolve().parent
    return None


@pytest.fixture(scope="session")
def server():
    """The address of a PostgreSQL server of our own, which goes when the tests do."""
    folder = binaries()
    if folder is None:
        pytest.skip("no PostgreSQL binaries (initdb, postgres) on this machine")
    options = {}
    if os.geteuid() == 0:
        names = [user.pw_name for user in pwd.getpwall()]
        name = next((name for name in ("postgres", "nobody") if name in names), None)
        if name is None:
            pytest.skip("PostgreSQL does not run as root, and there is no other user")
        user = pwd.getpwnam(name)
        options = {"user": user.pw_uid, "group": user.pw_gid, "extra_groups": []}
    home = Path(tempfile.mkdtemp(prefix="pg-"))
    if options:
        os.chown(home, options["user"], options["group"])
    running = None
    try:
        setup = [folder / "initdb", "-D", home / "data", "-U", "tester", "-A", "trust", "--no-sync"]
        done = subprocess.run(
            [*map(str, setup), "--locale=C", "--encoding=UTF8"],
            capture_output=True,
            cwd=home,
            check=False,
            **options,
        )
        if done.returncode:
            pytest.skip("initdb does not work on this machine")
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            port = free.getsockname()[1]
        start = [folder / "postgres", "-D", home / "data", "-p", port, "-k", home]
        start += ["-c", "fsync=off", "-c", "listen_addresses=127.0.0.1"]
        with (home / "log").open("wb") as log:
            running = subprocess.Popen(
                list(map(str, start)), stdout=log, stderr=log, cwd=home, **options
            )
        wait_for(port, running)
        yield f"postgresql://tester:sesame@127.0.0.1:{port}/postgres"
    finally:
        if running is not None:
            running.terminate()
            try:
                running.wait(20)
            except subprocess.TimeoutExpired:
                running.kill()
                running.wait()
        shutil.rmtree(home, ignore_errors=True)


def wait_for(port, running):
    import adbc_driver_postgresql.dbapi as driver

    for _ in range(200):
        if running.poll() is not None:
            pytest.skip("PostgreSQL does not start on this machine")
        try:
            driver.connect(f"postgresql://tester@127.0.0.1:{port}/postgres").close()
        except driver.Error:
            time.sleep(0.05)
        else:
            return
    pytest.skip("PostgreSQL does not answer on this machine")


@pytest.fixture(params=["sqlite", "postgresql"])
def base(request, tmp_path):
    """The address of an empty database, without a table."""
    if request.param == "sqlite":
        return f"sqlite:///{tmp_path / 'file.db'}"
    url = request.getfixturevalue("server")
    execute(url, "DROP SCHEMA public CASCADE", "CREATE SCHEMA public")
    return url


def execute(url, *statements):
    if url.startswith("sqlite"):
        connection = sqlite3.connect(url.removeprefix("sqlite:///"))
        try:
            answers = [connection.execute(statement).fetchall() for statement in statements]
            connection.commit()
        finally:
            connection.close()
        return answers[-1]
    import adbc_driver_postgresql.dbapi as driver

    with driver.connect(url) as connection, connection.cursor() as cursor:
        for statement in statements:
            cursor.execute(statement)
        answer = cursor.fetchall() if statements[-1].startswith("SELECT") else []
        connection.commit()
        return answer
