import builtins
import importlib
import inspect
import io
import re
import subprocess
import sys
import time
from pathlib import Path
from types import SimpleNamespace

import numba
import pytest
from numba.core.dispatcher import Dispatcher

from microagg.kernels import announcing, compiling
from microagg.kernels.announcing import Announcement
from microagg.kernels.turns import Turn


def compilation(module):
    function = SimpleNamespace(__module__=module)
    return SimpleNamespace(data={"dispatcher": SimpleNamespace(py_func=function)})


class Terminal(io.StringIO):
    def isatty(self):
        return True


@pytest.fixture
def announcement():
    return Announcement(after_seconds=0.3)


def compile_for(announcement, seconds, module="microagg.kernels.somewhere"):
    announcement.on_start(compilation(module))
    time.sleep(seconds)
    announcement.on_end(compilation(module))


@pytest.mark.parametrize(
    ("stream", "seconds", "module", "told"),
    [
        (Terminal(), [0.6, 0.6], "microagg.kernels.somewhere", 1),
        (Terminal(), [0.12, 0.12, 0.12], "microagg.kernels.somewhere", 1),
        (Terminal(), [0.001], "microagg.kernels.somewhere", 0),
        (io.StringIO(), [0.6], "microagg.kernels.somewhere", 0),
        (Terminal(), [0.6], "somebody.else", 0),
    ],
)
def test_a_long_compilation_is_announced_once(
    announcement, monkeypatch, stream, seconds, module, told
):
    monkeypatch.setattr("sys.stderr", stream)
    for duration in seconds:
        compile_for(announcement, duration, module)
    assert stream.getvalue().count("first run only") == told
    if told:
        assert re.search(rf"compiling [1-3] of {announcing.OF_A_JOURNEY},", stream.getvalue())


def test_kernels_run_where_nothing_can_be_cached(monkeypatch):
    original = numba.njit

    def unwritable(*arguments, cache=False, **options):
        if cache:
            raise RuntimeError("cannot cache function: no locator available")
        return original(*arguments, **options)

    monkeypatch.setattr(numba, "njit", unwritable)

    @compiling.kernel
    def double(x):
        return 2 * x

    assert double(21) == 42


def test_a_damaged_cache_is_compiled_again(tmp_path, monkeypatch):
    source = tmp_path / "damaged.py"
    source.write_text(
        "from microagg.kernels.compiling import kernel\n@kernel\ndef double(x):\n    return 2 * x\n"
    )
    monkeypatch.syspath_prepend(tmp_path)

    def load():
        sys.modules.pop("damaged", None)
        return importlib.import_module("damaged")

    assert load().double(21) == 42
    compiled = list(tmp_path.rglob("*.nbc"))
    assert compiled
    for path in compiled:
        path.write_bytes(path.read_bytes()[:100])
    assert load().double(21) == 42


PLANTED = """
import os, pickle, sys
class Planted:
    def __reduce__(self):
        return os.mkdir, (sys.argv[2],)
with open(sys.argv[1], "wb") as stream:
    pickle.dump(Planted(), stream)
"""


@pytest.mark.parametrize("way", ["folder", "index", "nowhere"])
def test_what_others_can_write_is_never_loaded(tmp_path, monkeypatch, caplog, way):
    """An index is code to be run, whoever wrote it."""
    source, trap, home = tmp_path / "open_to_all.py", tmp_path / "trap", tmp_path / "home"
    source.write_text(
        "from microagg.kernels.compiling import kernel\n@kernel\ndef double(x):\n    return 2 * x\n"
    )
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setenv("XDG_CACHE_HOME", str(home))
    caplog.set_level("INFO", "microagg")

    def load():
        sys.modules.pop("open_to_all", None)
        compiling._folder_for.cache_clear()
        return importlib.import_module("open_to_all").double(21)

    assert load() == 42
    assert not home.exists()
    (index,) = (tmp_path / "__pycache__").glob("*.nbi")
    subprocess.run([sys.executable, "-c", PLANTED, index, trap], check=True)
    (index if way == "index" else index.parent).chmod(0o777)
    if way == "nowhere":
        home.write_text("no folder")
    for _ in range(2):
        assert load() == 42
    assert not trap.exists()
    told = "it is not kept" if way == "nowhere" else "it is kept in"
    assert told in caplog.text
    if way != "nowhere":
        (kept,) = (home / "microagg").iterdir()
        assert kept.stat().st_mode & 0o777 == 0o700
        assert list(kept.glob("*.nbc"))


def kernels_of_the_package():
    """Every kernel there is, with the file it stands in."""
    for path in sorted(compiling._PACKAGE.rglob("*.py")):
        if b"kernels.compiling import" in path.read_bytes():
            name = ".".join(path.relative_to(compiling._PACKAGE.parent).with_suffix("").parts)
            for found in vars(importlib.import_module(name)).values():
                if isinstance(found, Dispatcher) and found.py_func.__module__ == name:
                    yield path, found


def defines(path, name):
    return re.search(rf"^[\w, ()]*\b{name}\b.* = ", path.read_text("utf-8"), re.MULTILINE)


def test_every_kernel_carries_the_stamp_of_all_that_it_calls():
    """A change in a file whose kernels or constants others use must not leave them stale."""
    calls = 0
    for path, found in kernels_of_the_package():
        stored = getattr(found._cache, "_cache_file", None)
        assert stored is None or stored._source_stamp == compiling._stamp_of(path)
        reached = compiling._reached_from(path)
        for name in found.py_func.__code__.co_names:
            used = found.py_func.__globals__.get(name)
            if isinstance(used, Dispatcher):
                assert Path(used.py_func.__code__.co_filename) in reached, (path, name)
                calls += 1
            elif inspect.isclass(used) and used.__module__.startswith("microagg."):
                assert Path(inspect.getfile(used)) in reached, (path, name)
            elif isinstance(used, (int, float)) and name not in vars(builtins):
                owners = [each for each in reached if defines(each, name)]
                assert owners, (path, name)
    assert calls > 100


@pytest.mark.parametrize(
    ("text", "modules"),
    [
        ("from microagg.kernels.trees import lists\n", {"kernels/trees/lists.py"}),
        ("    from microagg.kernels.columns import (\n    a,\n)\n", {"kernels/columns.py"}),
        ("from microagg.base.errors import InputError\n", set()),
        ("from microagg.base.errors import LIMIT\n", {"base/errors.py"}),
        ("import numpy as np\n", set()),
    ],
)
def test_what_a_file_reaches(tmp_path, text, modules):
    path = tmp_path / "reaching.py"
    path.write_text(text)
    reached = {each for each in compiling._reached_from(path) if each != path}
    direct = {compiling._PACKAGE / each for each in modules}
    assert direct <= reached
    assert bool(direct) == bool(reached)


def test_an_edited_kernel_is_not_loaded_from_the_cache(tmp_path):
    path = tmp_path / "edited.py"
    path.write_text("ONE = 1\n")
    before = compiling._stamp_of(path)
    path.write_text("ONE = 2\n")
    compiling._stamp_of.cache_clear()
    assert compiling._stamp_of(path) != before


DEMO = """
import sys
from pathlib import Path
from numba.core.dispatcher import Dispatcher
from microagg.actions.demo import run
from microagg.kernels.announcing import announcement

run(Path(sys.argv[1]), k=5, records=600, seed=1, quiet=True)
called = {
    id(found): len(found.signatures)
    for name, module in list(sys.modules.items()) if name.startswith("microagg.")
    for found in vars(module).values() if isinstance(found, Dispatcher) and found.signatures
    if not found.targetoptions.get("no_cpython_wrapper")
}
print(announcement.count, len(called), max(called.values()))
"""


def test_kernels_of_a_plain_journey_have_one_signature_each(tmp_path):
    """And there are as many as people are told; those that only kernels call are not counted."""
    for _ in range(2):
        done = subprocess.run(
            [sys.executable, "-c", DEMO, tmp_path], capture_output=True, text=True, check=True
        )
        compiled, called, most = map(int, done.stdout.split())
        assert most == 1
        if compiled == 0:  # then nothing has a signature but what Python called
            break
    assert called == announcing.OF_A_JOURNEY


def test_a_kernel_is_put_off_until_doing_without_would_take_as_long(tmp_path):
    path = tmp_path / "twice.py"
    path.write_text(
        "from microagg.kernels.compiling import kernel\n@kernel\ndef twice(x):\n    return 2 * x\n"
    )

    def load():
        spec = importlib.util.spec_from_file_location("twice", path)
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
        return module.twice

    twice, part = load(), 0.4 * compiling._COMPILING
    worth = [compiling.worth_compiling(twice, part) for _ in range(3)]
    assert worth == [False, False, True]
    assert not compiling.worth_compiling(twice, 0.0)
    assert twice(21) == 42
    assert compiling.worth_compiling(twice, 0.0)
    assert compiling.worth_compiling(load(), 0.0)


TURNS = """
import sys, time
from pathlib import Path
from microagg.kernels.turns import Turn

turn = Turn(Path(sys.argv[1]), "one")
print(turn.take(), flush=True)
time.sleep(float(sys.argv[2]))
"""


def test_another_process_is_waited_for(tmp_path):
    words = [sys.executable, "-c", TURNS, tmp_path]
    with subprocess.Popen([*words, "1.5"], stdout=subprocess.PIPE, text=True) as first:
        assert first.stdout.readline() == "False\n"
        assert Turn(tmp_path, "another").take() is False
        second = Turn(tmp_path, "one")
        assert second.take() is True
    assert second.take() is False
    second.give_back()


def test_no_turns_where_no_file_can_be_locked(tmp_path):
    assert Turn(tmp_path / "missing", "one").take() is False


def test_where_nothing_is_kept_people_are_told_how_to_help(announcement, monkeypatch):
    stream = Terminal()
    monkeypatch.setattr("sys.stderr", stream)
    announcement.kept = False
    compile_for(announcement, 0.6)
    assert "NUMBA_CACHE_DIR" in stream.getvalue()
    assert "first run only" not in stream.getvalue()
