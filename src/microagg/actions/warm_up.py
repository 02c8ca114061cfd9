"""Compile all kernels once: for images, containers and the impatient.

A rehearsal does some of the work on a small invented table, so that its kernels are compiled and
cached on disk. Numba compiles in Python, on one core; so several processes rehearse side by side,
each beginning elsewhere: what one is compiling the others wait for, and load (`kernels.turns`).
"""

import os
import subprocess
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np

from microagg.actions.demo import write_patients
from microagg.actions.example import CONFIDENTIAL, QUASI_IDENTIFIERS
from microagg.base.errors import MicroaggError
from microagg.base.processes import start
from microagg.base.progress import Advance, silent
from microagg.kernels.announcing import announcement
from microagg.kernels.threads import thread_count

Rehearsal = Callable[[], None]
_K = 3
_ROWS = 90


def warm_up(advance: Advance = silent, processes: int | None = None) -> int:
    """Compile all that is not compiled yet, in so many processes; how many rehearsals it took."""
    count = len(_everything())
    shares = processes or thread_count()
    with _rehearsing(range(shares), shares, "all", subprocess.PIPE) as helpers:
        done = 0
        for helper in helpers:
            for line in helper.stdout or ():
                done += line.startswith(b"done")
                advance(done / (count * shares))
            if helper.wait() != 0:
                raise MicroaggError(
                    "kernels could not be compiled: a process that did it was ended; "
                    "look whether memory or disk space ran out"
                )
    advance(1.0)
    return count


@contextmanager
def compiling_beside() -> Iterator[None]:
    """Once there is something to compile, have other processes begin with what is needed last."""
    shares = min(thread_count(), len(JOURNEY))
    with ExitStack() as helpers:

        def begin() -> None:
            parts = range(1, shares)
            helpers.enter_context(_rehearsing(parts, shares, "journey", subprocess.DEVNULL))

        announcement.beside = begin
        try:
            yield
        finally:
            announcement.beside = None


@contextmanager
def _rehearsing(
    parts: Iterable[int], shares: int, which: str, output: int
) -> Iterator[list[subprocess.Popen[bytes]]]:
    """Processes that rehearse, each beginning at its part; none is left in the end."""
    helpers = []
    try:
        for part in parts:
            helpers.append(start(__name__, str(part), str(shares), which, stdout=output))
        yield helpers
    finally:
        for helper in helpers:
            helper.kill()
            helper.communicate()


def _records(columns: int = 4) -> np.ndarray:
    return np.random.default_rng(0).normal(size=(_ROWS, columns))


def _anneal() -> None:
    from microagg.grouping.refine.search import compile_search

    compile_search(_records(), _K)


def _plant() -> None:
    """What few records do without."""
    from microagg.grouping.cluster.mdav import mdav
    from microagg.kernels.trees.few import nearest_among
    from microagg.kernels.trees.lists import nearest_lists

    records = _records()
    mdav(records, _K, prunes=True)
    nearest_lists(records, np.arange(_ROWS, dtype=np.int32), _K, _ROWS, few=0)
    bounds, weights = np.full(_ROWS, np.inf), np.ones(_ROWS, np.int64)
    nearest_among(records, None, records, bounds, weights, silent, few=0)


def _match() -> None:
    """What only many records need."""
    from microagg.kernels.compiling import read_only
    from microagg.kernels.labelling import Words, label
    from microagg.kernels.trees.nearest import find_nearest
    from microagg.kernels.trees.planting import plant

    records = _records()
    label([Words(read_only(records.view(np.uint64)), True)], _ROWS, few=0)
    bounds, weights = np.full(_ROWS, np.inf), np.ones(_ROWS, np.int64)
    find_nearest(plant(records), records, bounds, weights, silent)


def _journey() -> None:
    from microagg.actions.protect import protect

    with TemporaryDirectory() as folder:
        original = Path(folder) / "patients.csv"
        write_patients(original, _ROWS)
        release = protect(
            original,
            k=_K,
            quasi_identifiers=QUASI_IDENTIFIERS,
            confidential=CONFIDENTIAL,
            progress=False,
        )
        release.write(Path(folder) / "release.csv")
        release.report(Path(folder) / "report.html")


def _demands() -> None:
    from microagg.actions.protect import protect

    protect(_patients(), k=_K, quasi_identifiers=QUASI_IDENTIFIERS, confidential=CONFIDENTIAL,
            diversity={"diagnosis": 2}, closeness={"cost": 0.5}, progress=False)  # fmt: skip


def _households() -> None:
    from microagg.actions.protect import protect

    table = _patients().append_column("home", [np.arange(_ROWS) // 2])
    protect(table, k=_K, quasi_identifiers=QUASI_IDENTIFIERS, household="home", progress=False)


def _mixed() -> None:
    from microagg.actions.protect import protect

    names = (*QUASI_IDENTIFIERS, "diagnosis")
    protect(_patients(), k=_K, quasi_identifiers=names, progress=False)


def _patients():
    import pyarrow as pa

    from microagg.actions.example import patients

    return pa.table(patients(_ROWS))


def _risk() -> None:
    from microagg.actions.risk import risk

    risk(_patients(), ["age", "diagnosis"])


def _attacks() -> None:
    from microagg.actions.assess import assess
    from microagg.actions.protect import protect

    table = _patients()
    release = protect(table, k=_K, quasi_identifiers=QUASI_IDENTIFIERS, progress=False)
    assess(table, release.data, attacks=True, quasi_identifiers=QUASI_IDENTIFIERS)


def _proximity() -> None:
    from microagg.actions.protect import protect

    protect(
        _patients(),
        k=_K,
        quasi_identifiers=QUASI_IDENTIFIERS,
        aggregate="proximity",
        progress=False,
    )


def _univariate() -> None:
    from microagg.grouping.sequence.univariate import optimal_univariate

    for values in (_records()[:, 0], np.arange(_ROWS)):
        for k in (_K, 30):
            optimal_univariate(values, k)


def _method(name: str) -> Rehearsal:
    def rehearse() -> None:
        from microagg.grouping.doors import partition

        with suppress(MicroaggError):  # it may need an option, or data of another kind
            partition(_records(), k=_K, method=name)

    return rehearse


def _methods() -> list[Rehearsal]:
    from microagg.grouping.methods import all_methods

    return [_method(method.name) for method in all_methods()]


# What a plain `protect` needs, the longest first that a process beside it can begin with.
JOURNEY: Sequence[Rehearsal] = (_anneal, _journey, _plant)


def _everything() -> Sequence[Rehearsal]:
    return (
        _journey, _demands, _anneal, _mixed, _plant, _households, _attacks, _risk, _proximity,
        _univariate, _match, *_methods(),
    )  # fmt: skip


def rehearse(part: int, shares: int, which: str) -> None:
    """All rehearsals, beginning with a part of them; a line for each that is done."""
    jobs = _everything() if which == "all" else JOURNEY
    first = part * len(jobs) // shares if which == "all" else part - 1
    parent = os.getppid()
    for job in (*jobs[first:], *jobs[:first]):
        if os.getppid() != parent:  # nobody waits any more
            return
        job()
        print("done", flush=True)


def main() -> None:
    """What a process beside another one does, by its arguments."""
    rehearse(int(sys.argv[1]), int(sys.argv[2]), sys.argv[3])
