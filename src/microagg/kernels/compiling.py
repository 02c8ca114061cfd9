"""How kernels are compiled: once, cached on disk, and not in silence.

`kernel` is the only way this project calls Numba's compiler. Compiled code is cached beside the
source, or in Numba's folder below the user's own cache folder when the package folder is not
writable. Where neither can be written, kernels still run; they are compiled again in each process.
To load such code is to run it: it never comes from a folder that others can write to.
"""

import hashlib
import logging
import os
import re
import stat
import sys
import threading
import time
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import numba
from numba.core import event, types

from microagg.kernels.watching import is_watched

_PACKAGE = Path(__file__).parents[1]
_IMPORT = re.compile(r"^ *from (microagg[.\w]*) import (\([^)]*\)|.*)", re.MULTILINE)


class Inner:
    """A kernel that only kernels call: without the doors for Python, which take long to compile
    where many arrays come in."""

    def __init__(self, compiled: Any) -> None:
        self.compiled = compiled  # for the type holds on to it by a thread
        self._numba_type_ = types.Dispatcher(compiled)


def inner(function: Callable[..., Any]) -> Any:
    """A kernel that only kernels call."""
    compiled = kernel(function, no_cpython_wrapper=True, no_cfunc_wrapper=True)
    return compiled if numba.config.DISABLE_JIT else Inner(compiled)


def kernel(function: Callable[..., Any] | None = None, /, **options: Any) -> Any:
    """Compile a function for the numbers it is given, on first use.

    Kernels release the interpreter lock, so that plain threads can run them side by side, and
    follow IEEE arithmetic unless `fastmath` says otherwise: no flag may change a result between
    machines, hence neither reassociation nor contraction is ever allowed.
    """
    if function is None:
        return lambda wrapped: kernel(wrapped, **options)
    settings = {"nogil": True, "error_model": "numpy", **options}
    try:
        compiled = numba.njit(cache=True, **settings)(function)
    except RuntimeError:  # Numba found no folder that it may write its cache to
        return numba.njit(**settings)(function)
    return compiled if _tend_cache(compiled) else numba.njit(**settings)(function)


def _tend_cache(compiled: Any) -> bool:
    """Make Numba's cache notice changes in other files, and survive damage; False without one.

    A kernel is compiled together with the kernels it calls, but Numba looks only at the file it
    stands in: with a stamp for all files that it reaches nothing stale is ever run. What a full
    disk or a killed process left half written is compiled again.
    """
    stored: Any = getattr(compiled, "_cache", None)
    if not hasattr(stored, "load_overload"):  # compilation is switched off
        return True
    found = stored._cache_file
    folder = _folder_for(Path(found._cache_path))
    if folder is None:
        return False
    stored._cache_path = found._cache_path = str(folder)
    found._index_path = str(folder / found._index_name)
    if compiled.py_func.__module__.startswith("microagg."):
        found._source_stamp = _stamp_of(Path(compiled.py_func.__code__.co_filename))
    load = stored.load_overload

    def load_or_compile(*arguments: Any) -> Any:
        try:
            return load(*arguments)
        except Exception:
            return None

    stored.load_overload = load_or_compile
    return True


@cache
def _folder_for(wanted: Path) -> Path | None:
    """The folder to keep compiled code in: as wanted if nobody else can write there, else own."""
    if not hasattr(os, "getuid"):
        return wanted
    files = (wanted, *wanted.glob("*.nb[ic]"))
    if all(_is_safe(path.lstat(), (0, os.getuid()), 0o022) for path in files):
        return wanted
    log = logging.getLogger("microagg")
    why = "microagg: others can write to %s, where compiled code was to be kept"
    try:
        home = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
        own = home / "microagg" / hashlib.sha256(os.fsencode(wanted)).hexdigest()[:16]
        own.parent.mkdir(parents=True, exist_ok=True)
        own.mkdir(mode=0o700, exist_ok=True)
        if _is_safe(own.lstat(), (os.getuid(),), 0o077):
            log.info(f"{why}; it is kept in %s", wanted, own)
            return own
    except (OSError, RuntimeError):  # there is no home, or nothing can be written there
        pass
    log.warning(f"{why}; it is not kept, and compiled again each time", wanted)
    return None


def _is_safe(found: os.stat_result, owners: tuple[int, ...], others: int) -> bool:
    """Whether it is a file or folder of these, and none of these rights of others is given."""
    kind = stat.S_ISDIR(found.st_mode) or stat.S_ISREG(found.st_mode)
    return kind and found.st_uid in owners and not found.st_mode & others


@cache
def _stamp_of(path: Path) -> str:
    """Of what a file with kernels and all files that these may call say, not of when they were
    written: a copy compiles nothing, and neither does a kernel elsewhere that is edited."""
    found = hashlib.sha256()
    for each in sorted(_reached_from(path)):
        found.update(each.read_bytes())
    return found.hexdigest()


def _reached_from(path: Path) -> set[Path]:
    """The file, and all whose kernels or constants are compiled into its own."""
    reached, waiting = {path}, [path]
    while waiting:
        for module, names in _imports_of(waiting.pop()):
            constants = any(name.isupper() for name in names)
            if module not in reached and (_has_kernels(module) or constants):
                reached.add(module)
                waiting.append(module)
    return reached


@cache
def _imports_of(path: Path) -> list[tuple[Path, list[str]]]:
    """The package's own modules that a file imports, with the names it takes from each."""
    found = []
    for dotted, names in _IMPORT.findall(path.read_text("utf-8")):
        module = _PACKAGE.joinpath(*dotted.split(".")[1:])
        words = re.findall(r"\w+", names)
        files = [module.with_suffix(".py"), module / "__init__.py"]
        files += [module / f"{word}.py" for word in words]
        found += [(each, words) for each in files if each.is_file()]
    return found


@cache
def _has_kernels(path: Path) -> bool:
    return path == Path(__file__) or b"microagg.kernels.compiling import" in path.read_bytes()


def seconds_compiling() -> float:
    """How long this process has waited for the compiler so far."""
    return _announcement.spent


class _Announcement(event.Listener):
    """Tell a person at a terminal or a notebook, once, why the first call takes long."""

    def __init__(self, after_seconds: float = 1.0) -> None:
        self.after_seconds = after_seconds
        self.lock = threading.Lock()
        self.depth = 0
        self.spent = 0.0
        self.started = 0.0
        self.told = False
        self.timer: threading.Timer | None = None

    def on_start(self, event: Any) -> None:
        if not _is_ours(event):
            return
        with self.lock:
            self.depth += 1
            if self.depth > 1:
                return
            self.started = time.monotonic()
            if not self.told:
                # Many short compilations feel like one long one: waiting adds up.
                patience = max(0.0, self.after_seconds - self.spent)
                self.timer = threading.Timer(patience, self.tell)
                self.timer.daemon = True
                self.timer.start()

    def on_end(self, event: Any) -> None:
        if not _is_ours(event):
            return
        with self.lock:
            self.depth -= 1
            if self.depth > 0:
                return
            self.spent += time.monotonic() - self.started
            if self.timer is not None:
                self.timer.cancel()
                self.timer = None

    def tell(self) -> None:
        with self.lock:
            if self.told:
                return
            self.told = True
        if is_watched():
            print("microagg: compiling kernels, first run only", file=sys.stderr, flush=True)


def _is_ours(event: Any) -> bool:
    function = event.data["dispatcher"].py_func
    return bool(function.__module__.startswith("microagg."))


_announcement = _Announcement()
event.register("numba:compile", _announcement)
