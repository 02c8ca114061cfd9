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
import time
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import numba
from numpy.typing import NDArray

from microagg.kernels import announcing
from microagg.kernels.turns import Turn

# About what compiling one of the larger kernels takes, in seconds.
_COMPILING = 1.0
_PACKAGE = Path(__file__).parents[1]
_IMPORT = re.compile(r"^ *from (microagg[.\w]*) import (\([^)]*\)|.*)", re.MULTILINE)


def kernel(function: Callable[..., Any] | None = None, /, **options: Any) -> Any:
    """Compile a function for the numbers it is given, on first use.

    Kernels release the interpreter lock, so that plain threads can run them side by side, and
    follow IEEE arithmetic unless `fastmath` says otherwise: no flag may change a result between
    machines, hence neither reassociation nor contraction is ever allowed.
    """
    if function is None:
        return lambda wrapped: kernel(wrapped, **options)
    # Nobody calls kernels from C.
    settings = {"nogil": True, "error_model": "numpy", "no_cfunc_wrapper": True, **options}
    try:
        compiled = numba.njit(cache=True, **settings)(function)
    except RuntimeError:  # Numba found no folder that it may write its cache to
        return _uncached(function, settings)
    return compiled if _tend_cache(compiled) else _uncached(function, settings)


def _uncached(function: Callable[..., Any], settings: dict[str, Any]) -> Any:
    announcing.nothing_is_kept()
    return numba.njit(**settings)(function)


def inner(function: Callable[..., Any] | None = None, /, **options: Any) -> Any:
    """Compile a kernel that only kernels call: a way in from Python would take time to compile."""
    return kernel(function, no_cpython_wrapper=True, **options)


_put_off: dict[Any, float] = {}


def worth_compiling(compiled: Any, plain_seconds: float) -> bool:
    """Whether to call a kernel now, or rather do the same without it, which takes so many seconds.

    A kernel that is compiled, here or on disk, is called. One that is not is put off until work
    without it would have taken as long as to compile it: so the detour never costs much more than
    it saves, and few records never wait for the compiler.
    """
    stored: Any = getattr(compiled, "_cache", None)
    if not hasattr(stored, "load_overload") or compiled.signatures:
        return True
    spent = _put_off.get(compiled, 0.0) + plain_seconds
    if spent > _COMPILING or _is_stored(stored):
        return True
    _put_off[compiled] = spent
    return False


def _is_stored(stored: Any) -> bool:
    try:
        return bool(stored._cache_file._load_index())
    except Exception:
        return False


def read_only(array: NDArray) -> NDArray:
    """The array as one that nobody writes to, so that a kernel is compiled for such alone."""
    seen = array.view()
    seen.flags.writeable = False
    return seen


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
    _take_turns(stored, Turn(folder, f"{compiled.py_func.__module__}.{found._index_name}"))
    return True


def _take_turns(stored: Any, turn: Turn) -> None:
    """Have one process compile while others that need the same wait, and load what it made."""
    load, save = stored.load_overload, stored.save_overload

    def load_or_none(*arguments: Any) -> Any:
        try:
            return load(*arguments)
        except Exception:
            return None

    def load_or_compile(*arguments: Any) -> Any:
        loaded = load_or_none(*arguments)
        if loaded is None:
            started = time.monotonic()
            if turn.take():
                announcing.waited(time.monotonic() - started)
                loaded = load_or_none(*arguments)
        if loaded is not None:
            turn.give_back()
        return loaded

    def save_and_give_back(*arguments: Any) -> None:
        try:
            save(*arguments)
        finally:
            turn.give_back()

    stored.load_overload, stored.save_overload = load_or_compile, save_and_give_back


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
    return path == Path(__file__) or b"kernels.compiling import" in path.read_bytes()
