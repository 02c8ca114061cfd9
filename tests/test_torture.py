"""Everything at once, at random: tables, recipes, engines and faults; and what is promised of all.

A trial is made from its seed alone. Ten are tried with every run of the tests; `make torture`
goes on for as long as one likes (`SECONDS=3600`), on Spark too where there is Java, and says what
it tried. `python -m tests.test_torture 0 SEED` tries one again.
"""

import errno
import hashlib
import json
import os
import random
import signal
import sys
import tempfile
import time
from collections import Counter
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass, field
from datetime import date, timedelta
from pathlib import Path

import pyarrow as pa
import pytest
from pyarrow import csv, ipc, parquet

from microagg.base.record import Record
from tests import forking
from tests.commands import microagg
from tests.engine.spark.cluster import why_not

# In every original value that nobody may tell.
SECRET = "Zwiebel"
NUMBER = 4711
ROOT = Path(__file__).parents[1]
# What takes seconds for each trial is for `make torture`.
QUICK, ALL = ("memory", "disk"), ("memory", "disk", "spark")
FAULTS = ("none", "failing", "failing", "changed", "killed", "killed", "asked to end")
EVENTS = {"open", "os.rename", "os.mkdir", "os.chmod", "os.remove", "os.rmdir"}
# Where the disk may refuse: not where something is cleaned up.
REFUSABLE = {"open", "os.rename", "os.mkdir", "os.chmod"}


# --- What is tried --------------------------------------------------------------------------------


@dataclass(frozen=True)
class Trial:
    """A table, a recipe and a fault, all from one seed."""

    seed: int
    suffix: str
    engine: str
    fault: str
    at: int
    force: bool
    resume: bool
    k: int
    roles: list[str]
    names: list[str] = field(repr=False)
    rows: int

    @classmethod
    def of(cls, seed, engines=QUICK):
        draw = random.Random(seed)
        names = ["id", "age", "income", "town", "born", "member", "comment", "score"]
        protected = draw.sample(["age", "income", "town", "born", "score"], draw.randint(1, 4))
        engine = draw.choice(engines)
        suffix = draw.choice(["csv", "csv", "parquet", *(["arrow"] if engine != "spark" else [])])
        k, rows = draw.randint(2, 12), draw.choice([draw.randint(20, 60), draw.randint(100, 900)])
        roles = ["-q", ",".join(protected), "-k", str(k), "-m", draw.choice(["mdav", "zscore"])]
        if draw.random() < 0.6:
            roles += ["-i", "id"]
        if draw.random() < 0.3:
            roles += ["-c", "comment"]
        if draw.random() < 0.5:
            roles += ["--cell-rows", str(max(4 * k, 50))]
        if draw.random() < 0.2:
            roles += ["--row-order", "kept"]
        fault = draw.choice(FAULTS)
        at = int(draw.expovariate(1 / 40)) + 1
        return cls(seed, suffix, engine, fault, at, draw.random() < 0.5, draw.random() < 0.5, k,
                   roles, names, rows)  # fmt: skip

    @property
    def quasi_identifiers(self):
        return self.roles[1].split(",")

    @property
    def released(self):
        return [name for name in self.names if not ("-i" in self.roles and name == "id")]

    def table(self, version=0):
        draw = random.Random(f"{self.seed} {version}")

        def column(make, gaps=0.0):
            return [None if draw.random() < gaps else make() for _ in range(self.rows)]

        day = date(1950, 1, 1)
        # Spark reads text line by line, and refuses records that go over several.
        end = "" if self.engine == "spark" else "\n"
        gaps = draw.choice([0.0, 0.0, 0.1])
        return pa.table(
            {
                "id": [f"{SECRET}-{version}-{row}" for row in range(self.rows)],
                "age": column(lambda: draw.randint(0, 90), gaps),
                "income": column(lambda: float(f"{NUMBER}{draw.randint(0, 10**6)}.25"), gaps),
                "town": column(lambda: draw.choice(["A", "B", "C", "D"]) + SECRET, gaps),
                "born": column(lambda: day + timedelta(draw.randint(0, 20_000))),
                "member": column(lambda: draw.choice([True, False])),
                "comment": column(lambda: f'{SECRET} "{draw.randint(0, 999)}",{end}', 0.1),
                "score": column(lambda: draw.choice([0.0, -0.0, 1e-300, draw.gauss(0, 1)])),
            }
        )

    def write(self, path, version=0):
        table = self.table(version)
        if self.suffix == "parquet":
            parquet.write_table(table, path)
        elif self.suffix == "arrow":
            with ipc.new_file(path, table.schema) as sink:
                sink.write_table(table)
        else:
            csv.write_csv(table, path)
        return sha256(path)

    def arguments(self, *more):
        output = ("-o", f"out.{self.suffix}", "--engine", self.engine)
        return ("protect", f"in.{self.suffix}", *self.roles, *output, *more)


# --- Faults: at the i-th time that something is done to files below a folder ----------------------


class _Fault:
    """What happens at the i-th event; nothing while it is switched off."""

    folder, kind, left, change = None, "none", 0, None

    def __call__(self, event, arguments):
        if self.folder is None or event not in EVENTS or not arguments:
            return
        path = arguments[0]
        # The work folder is reached by its number, and files in it by names alone.
        if not isinstance(path, str | os.PathLike) or self.folder not in os.path.realpath(path):
            return
        writes = event != "open" or bool((arguments[2] or 0) & (os.O_WRONLY | os.O_RDWR))
        if self.kind == "failing" and (event not in REFUSABLE or not writes):
            return
        if self.kind == "changed" and writes:
            return
        self.left -= 1
        if self.left == 0:
            self.happen(path)

    def happen(self, path):
        if self.kind == "failing":
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), os.fspath(path))
        if self.kind == "changed":
            self.change()
        if self.kind == "killed":
            os.kill(os.getpid(), signal.SIGKILL)
        if self.kind == "asked to end":
            os.kill(os.getpid(), signal.SIGTERM)


FAULT = _Fault()


@contextmanager
def fault(folder, kind, at, change=None):
    if not getattr(FAULT, "hooked", False):
        sys.addaudithook(FAULT)
        FAULT.hooked = True
    FAULT.kind, FAULT.left, FAULT.change, FAULT.folder = kind, at, change, os.path.realpath(folder)
    try:
        yield
    finally:
        FAULT.folder = None


def child():
    """A command in a process of its own, with a fault: the arguments say which."""
    kind, at, *arguments = sys.argv[1:]
    from microagg.cli import main

    sys.argv = ["microagg", *arguments]
    with fault(Path.cwd(), kind, int(at)):
        main()


def run_in_a_process(folder, trial, *more):
    script = "from tests.test_torture import child; child()"
    return forking.run(
        *("-c", script, trial.fault, str(trial.at), *trial.arguments(*more)), cwd=folder
    )


# --- What is promised -----------------------------------------------------------------------------


def names(folder):
    return sorted(path.name for path in folder.iterdir())


def contents(folder):
    """Every file and folder below one; of files what they hold."""
    return {
        str(path.relative_to(folder)): path.read_bytes() if path.is_file() else None
        for path in folder.rglob("*")
    }


def sha256(path):
    """Of a file; of a folder of files, their names and hashes."""
    content = (
        path.read_bytes()
        if path.is_file()
        else "".join(f"{each.name}\0{sha256(each)}\n" for each in sorted(path.iterdir())).encode()
    )
    return hashlib.sha256(content).hexdigest()


def read(path):
    """The rows as plain values, by nobody's code but Arrow's."""
    if path.is_dir():
        return [row for each in sorted(path.iterdir()) for row in read(each)]
    if path.suffix == ".parquet":
        return parquet.read_table(path).to_pylist()
    if path.suffix == ".arrow":
        with pa.OSFile(str(path)) as file:
            return ipc.open_file(file).read_all().to_pylist()
    options = csv.ConvertOptions(
        column_types=dict.fromkeys(Trial.of(0).names, pa.string()), strings_can_be_null=False
    )
    parse = csv.ParseOptions(newlines_in_values=True)
    return csv.read_csv(path, parse_options=parse, convert_options=options).to_pylist()


def multiset(rows, names):
    return Counter(tuple(repr(row[name]) for name in names) for row in rows)


def check_whole(folder, trial, versions):
    """The release, by an independent count, and that it, certificate and record belong together."""
    path = folder / f"out.{trial.suffix}"
    rows = read(path)
    said = [json.loads(path.with_name(f"{path.name}.{each}.json").read_text())
            for each in ("certificate", "record")]  # fmt: skip
    found = sha256(path)
    assert [each["sha256"]["release"] for each in said] == [found, found]
    assert len(rows) == trial.rows
    assert list(rows[0]) == trial.released
    assert min(multiset(rows, trial.quasi_identifiers).values()) >= trial.k
    untouched = [name for name in trial.released if name not in trial.quasi_identifiers]
    record = Record.read(path.with_name(f"{path.name}.record.json"))
    of = [place for place, (original, sha256) in enumerate(versions) if record.is_of_input(sha256)
          and multiset(original, untouched) == multiset(rows, untouched)]  # fmt: skip
    assert len(of) == 1, "what was hashed is not what was published"
    return of[0]


def check_never_half(folder, trial):
    """Whatever happened: a certificate or record speaks of the release beside it, or is not there.

    The certificate comes last: where it is, everything is.
    """
    path = folder / f"out.{trial.suffix}"
    beside = [path.with_name(f"{path.name}.{each}.json") for each in ("certificate", "record")]
    for each in beside:
        if each.exists():
            found = sha256(path)
            assert json.loads(each.read_text())["sha256"]["release"] == found
    assert not beside[0].exists() or beside[1].exists()


def check_silent(*said):
    for each in said:
        assert SECRET not in each
        assert str(NUMBER) not in each
        assert "Traceback" not in each
        assert "should not" not in each


# --- The trial ------------------------------------------------------------------------------------


def attempt(trial, folder):
    """Try it; a word for what became of it."""
    source, release = folder / f"in.{trial.suffix}", f"out.{trial.suffix}"
    versions = [(None, trial.write(source))]
    versions = [(read(source), versions[0][1])]
    mine = {source.name}
    whole = {source.name, release, f"{release}.certificate.json", f"{release}.record.json"}
    if trial.force:
        done = microagg(*trial.arguments(), folder=folder)
        assert done.code == 0, done.err
        check_whole(folder, trial, versions)
        mine = whole
    more = ("--force",) if trial.force else ()
    before = contents(folder)

    def change():
        """The same place, another table."""
        versions.append((None, trial.write(folder / "new", version=1)))
        versions[1] = (read_as(folder / "new", trial), versions[1][1])
        (folder / "new").replace(source)

    if trial.fault in ("killed", "asked to end"):
        done = run_in_a_process(folder, trial, *more)
        code, said = done.returncode, (done.stdout, done.stderr)
    else:
        at = trial.at if trial.fault == "failing" else 1 + trial.at % 12
        with fault(folder, trial.fault, at, change):
            done = microagg(*trial.arguments(*more), folder=folder)
        code, said = done.code, (done.out, done.err)
    check_silent(*said)
    check_never_half(folder, trial)
    if code == 0:
        assert set(names(folder)) == whole
        check_whole(folder, trial, versions)
        return "done"
    if code == -signal.SIGKILL:
        resume = trial.resume and (folder / f".{release}.parts" / "microagg-work").is_dir()
        done = microagg(
            *trial.arguments("--force", *(["--resume"] if resume else [])), folder=folder
        )
        check_silent(done.out, done.err)
        assert done.code == 0, done.err
        assert set(names(folder)) == whole
        check_whole(folder, trial, versions)
        return "killed, resumed" if resume else "killed, run again"
    assert code == (143 if trial.fault == "asked to end" else 2), said
    # In a process of its own Spark first says how it starts.
    ours = [line for line in said[1].splitlines() if line.startswith("microagg: ")]
    assert len(ours) == 1, said
    assert trial.engine == "spark" or said[1].count("\n") == 1, said
    after = contents(folder)
    if trial.fault == "changed":
        # Spark may be the first to see it, and has words of its own.
        assert "was changed while it was being read" in said[1] or trial.engine == "spark"
        before[source.name] = after[source.name]
    if set(names(folder)) == whole != mine or (trial.force and after != before):
        # Asked to end while names were taken, which is then finished.
        assert trial.fault == "asked to end"
        check_whole(folder, trial, versions)
        return "ended, whole"
    assert after == before
    return "refused, nothing changed"


def read_as(path, trial):
    named = path.with_suffix(f".{trial.suffix}")
    path.rename(named)
    try:
        return read(named)
    finally:
        named.rename(path)


def attempt_in(seed, engines=QUICK):
    trial = Trial.of(seed, engines)
    with tempfile.TemporaryDirectory(prefix="torture-") as folder:
        try:
            return trial, attempt(trial, Path(folder))
        except BaseException as failure:
            failure.add_note(f"try again: python -m tests.test_torture 0 {seed}\n{trial}")
            raise


def one_of_each():
    """Seeds of few trials: every fault on every quick engine."""
    firsts = {}
    for seed in range(200):
        trial = Trial.of(seed)
        firsts.setdefault((trial.engine, trial.fault), seed)
    return sorted(firsts.values())


@pytest.mark.parametrize("seed", one_of_each())
def test_what_is_promised_holds(seed):
    attempt_in(seed)


def main():
    """Try for so many seconds, from a seed on; say what was tried and what became of it."""
    seconds = float(sys.argv[1]) if len(sys.argv) > 1 else 3600
    seed = int(sys.argv[2]) if len(sys.argv) > 2 else random.SystemRandom().randrange(10**9)
    engines = QUICK if why_not() else ALL
    print(f"from seed {seed} on, by {', '.join(engines)}", flush=True)
    with session() if engines == ALL else nullcontext():
        try_until(time.monotonic() + seconds, seed, engines)


@contextmanager
def session():
    """One of Spark for all trials in this process."""
    from microagg.engine.spark.session import start_session

    started = start_session("local[2]")
    try:
        yield
    finally:
        started.stop()


def try_until(until, seed, engines):
    found, said = Counter(), time.monotonic()
    while True:
        trial, end = attempt_in(seed, engines)
        found[f"{trial.engine:7} {trial.fault:13} {end}"] += 1
        seed += 1
        if time.monotonic() >= until:
            break
        if time.monotonic() > said + 60:
            said = time.monotonic()
            print(f"{found.total()} trials, seed {seed}", flush=True)
    for what, count in sorted(found.items()):
        print(f"{count:7} {what}")
    print(f"{found.total()} trials, every promise kept")


if __name__ == "__main__":
    main()
