import importlib
import io
import subprocess
import sys
import time
from types import SimpleNamespace

import numba
import pytest

from microagg.kernels import compiling


def compilation(module):
    function = SimpleNamespace(__module__=module)
    return SimpleNamespace(data={"dispatcher": SimpleNamespace(py_func=function)})


class Terminal(io.StringIO):
    def isatty(self):
        return True


@pytest.fixture
def announcement():
    return compiling._Announcement(after_seconds=0.3)


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
    assert stream.getvalue().count("compiling kernels, first run only") == told


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


def test_every_kernel_carries_the_stamp_of_the_whole_package():
    """A change in a file whose kernels others call must not leave them stale in the cache."""
    from microagg.grouping.sequence.scan import fill_sequence

    assert fill_sequence._cache._cache_file._source_stamp == compiling._package_stamp()
