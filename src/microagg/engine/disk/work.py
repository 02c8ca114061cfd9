"""The work folder of a release made on disk: rows by cell, results by cell, and how far it got.

Everything in it is raw 64-bit words, a row after another: the number of the row, the numbers of its
quasi-identifiers, marks of those that are missing, and what else a cell must know. It is for one
user only, and goes when the release that was made in it does. What others have in the same place
is never touched.
"""

import json
import logging
import os
import shutil
import tempfile
import weakref
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from microagg.base.errors import InputError, OptionError, PromiseError
from microagg.base.files import whole_file
from microagg.base.folders import OwnFolder
from microagg.base.interruptions import uninterrupted
from microagg.columns.coded import Coded
from microagg.engine.plan import DROPPED, Plan
from microagg.measure.dominance import Dominance
from microagg.measure.exposure import Exposure

Words = NDArray[np.int64]
_MARKS = 63
_BLOCK_ROWS = 1 << 17
# In the place that is named there may be more than this work.
_FOLDER = "microagg-work"
_TEMPORARY, _PARTS = "microagg-", ".parts"
# What is made in it: nothing else is removed from it.
_MADE = (
    r"(leaf|piece|told|cell)-\d+(\.part)?|\.?state\.json(\.drafts)?|rows|households|"
    r"\.microagg-\w+|tmp\w+"
)
_log = logging.getLogger("microagg")


@dataclass(frozen=True)
class Row:
    """Which words a row has."""

    values: tuple[np.dtype, ...]
    strata: bool
    households: bool
    weights: bool
    crossed: bool
    demanded: int = 0

    @classmethod
    def of(cls, plan: Plan) -> "Row":
        """As the plan needs it."""
        empty = (coding.code(pa.nulls(0, coding.type)) for coding in plan.codings)
        return cls(
            tuple(column.values.dtype for column in empty),
            plan.strata is not None,
            plan.recipe.household is not None,
            plan.recipe.weights is not None,
            plan.crossed,
            len(plan.recipe.demanded),
        )

    @property
    def household(self) -> int:
        """Where the household stands, if k counts them: behind values and marks."""
        return 1 + len(self.values) + -(-len(self.values) // _MARKS)

    @property
    def stratum(self) -> int:
        """Where the stratum stands, if there are some."""
        return self.household + self.households

    @property
    def published(self) -> int:
        """Words of a row as it is published."""
        return self.stratum + self.crossed

    @property
    def words(self) -> int:
        """Words of a row on its way to its cell."""
        return self.weight + self.weights + self.demanded

    @property
    def weight(self) -> int:
        """Where the weight stands, if there are some."""
        return self.stratum + self.strata

    @property
    def ranks(self) -> slice:
        """Where the ranks of demanded columns stand."""
        return slice(self.weight + self.weights, self.words)

    def pack(
        self, rows: Words, columns: Sequence[tuple[NDArray, NDArray[np.bool_] | None]]
    ) -> Words:
        """Numbers and where they are missing, column by column, as words, row by row."""
        packed = np.zeros((rows.size, self.words), np.int64)
        packed[:, 0] = rows
        marks = 1 + len(self.values)
        for place, (values, missing) in enumerate(columns):
            packed[:, 1 + place] = values.view(np.int64)
            if missing is not None:
                mark = np.int64(1) << np.int64(place % _MARKS)
                packed[:, marks + place // _MARKS] |= np.where(missing, mark, 0)
        return packed

    def unpack(self, packed: Words) -> list[tuple[NDArray, NDArray[np.bool_] | None]]:
        """What `pack` was given."""
        marks = 1 + len(self.values)
        columns = []
        for place, kind in enumerate(self.values):
            values = np.ascontiguousarray(packed[:, 1 + place]).view(kind)
            mark = np.int64(1) << np.int64(place % _MARKS)
            missing = (packed[:, marks + place // _MARKS] & mark) != 0
            columns.append((values, missing if missing.any() else None))
        return columns

    def coded(self, plan: Plan, packed: Words) -> list[Coded]:
        """The quasi-identifiers of some rows."""
        return [
            coding.as_coded(*numbers)
            for coding, numbers in zip(plan.codings, self.unpack(packed), strict=True)
        ]


class Work:
    """A work folder, locked while it is used; two runs cannot have it at the same time.

    Emptied unless an earlier run is resumed. It is removed by `close`, or at last when nobody holds
    it any more; so only what a run leaves that was killed can be resumed.
    """

    def __init__(
        self, place: Path | None, identity: Mapping[str, Any], *, resume: bool = False
    ) -> None:
        """place: where to make the folder, which is made too; a temporary one otherwise.

        identity: what must be the same for a run to be resumed.
        """
        if place is None and resume:
            raise OptionError(
                "there is nothing to resume in a temporary folder; say by work where the run was "
                "at work that was cut off"
            )
        if place is None:
            _sweep(Path(tempfile.gettempdir()))
        self._identity = dict(identity)
        with uninterrupted():
            # Absolute: wherever the program is at the end, this is what is removed.
            self.place = Path(place or tempfile.mkdtemp(prefix=_TEMPORARY)).absolute()
            if resume and not (self.place / _FOLDER).is_dir():
                raise OptionError(
                    f"there is nothing to resume: no run left {self.place.name} behind; leave out "
                    "resume"
                )
            with self.failures_named():
                self._own, made = _locked(self.place, place is None)
            before = self.state
            # The place goes if a run made it, be it one that is dead.
            self._made = made or before.get("made") is True or self.place.suffix == _PARTS
            self._end = weakref.finalize(self, _remove, self._own, self._made)
        if resume:
            try:
                self._own.refuse_links()
                if before.get("identity", identity) != identity:
                    raise OptionError(
                        "the run that was cut off had another input, recipe or version; say these "
                        "again, or leave out resume"
                    )
            except BaseException:
                self._end.detach()
                self._own.let_go()
                raise
        elif "counts" in before and before.get("identity") == self._identity:
            _log.warning(
                "microagg: a run that was cut off had left its work here, and --resume would have "
                "gone on with it; this one begins anew"
            )
        try:
            with self.failures_named():
                if not resume:
                    self._own.clear()
                self.note()
        except BaseException:
            self.close()
            raise

    def close(self) -> None:
        """Remove the folder."""
        with uninterrupted():
            self._end()

    def check_open(self) -> None:
        """Refuse to go on once the folder is gone."""
        if not self._end.alive:
            raise OptionError(
                "the release was closed, and what was to be written is gone; write it before, or "
                "protect the table again"
            )

    @property
    def folder(self) -> Path:
        """A path into the folder, which leads there also if others have taken its name."""
        own = getattr(self, "_own", None)
        return self.place / _FOLDER if own is None else own.inside

    def __getitem__(self, name: str) -> Path:
        return self.folder / name

    @property
    def state(self) -> dict[str, Any]:
        """What was noted; nothing at first."""
        try:
            found: dict[str, Any] = json.loads(self["state.json"].read_text())
        except (OSError, ValueError):
            return {}
        return found

    def note(self, **facts: Any) -> None:
        """Note how far it got."""
        with whole_file(self["state.json"]) as stream:
            known = {"identity": self._identity, "made": self._made}
            json.dump({**self.state, **facts, **known}, stream)

    def route(self, packed: Words, leaves: NDArray[np.int64], count: int) -> NDArray[np.int64]:
        """Add rows to the files of their leaves; how many each of `count` leaves got."""
        return self._append(packed, leaves, count, self._leaf)

    def _append(
        self, packed: Words, leaves: NDArray[np.int64], count: int, home: Callable[[int], Path]
    ) -> NDArray[np.int64]:
        keys = leaves.astype(np.int16) if count < 1 << 15 else leaves
        order = np.argsort(keys, kind="stable")
        counts = np.bincount(leaves[leaves != DROPPED], minlength=count)
        place = leaves.size - int(counts.sum())
        ordered = packed[order]
        for leaf in np.flatnonzero(counts).tolist():
            with home(leaf).open("ab") as stream:
                stream.write(ordered[place : place + counts[leaf]].data)
            place += counts[leaf]
        return counts

    def deal(self, plan: Plan, words: int) -> NDArray[np.int64]:
        """Deal rows of leaves among several cells where the plan says so; how many each cell has.

        Not twice: the files of leaves go once every row has its place.
        """
        assert plan.cell_of is not None
        per_leaf = np.array(self.state["counts"], np.int64)
        counts = np.bincount(plan.cell_of, per_leaf, plan.n_cells).astype(np.int64)
        dealt = [] if plan.dealt is None else np.flatnonzero(plan.dealt > 1).tolist()
        if not dealt:
            return counts
        if "dealt" not in self.state:
            counts[plan.cell_of[dealt]] = 0
            for path in self.folder.glob("piece-*"):
                path.unlink()
            for leaf in dealt:
                for packed in _blocks(self._leaf(leaf), words):
                    cells = plan.cells_of(np.full(len(packed), leaf), packed[:, 0])
                    counts += self._append(packed, cells, plan.n_cells, self._piece)
            self.note(dealt=counts.tolist())
        for leaf in dealt:
            self._leaf(leaf).unlink(missing_ok=True)
        return np.array(self.state["dealt"], np.int64)

    def cell(self, leaves: Sequence[int], words: int, rows: int, cell: int | None = None) -> Words:
        """The rows of a cell, in order: those of its leaves; cell: where rows may be dealt."""
        files = [self._leaf(leaf) for leaf in leaves]
        if cell is not None and self._piece(cell).exists():
            files = [self._piece(cell)]
        parts = [np.fromfile(path, np.int64).reshape(-1, words) for path in files if path.exists()]
        packed = parts[0] if len(parts) == 1 else np.concatenate(parts)
        if len(packed) != rows:
            raise PromiseError(
                f"{len(packed)} rows are left of a cell that had {rows}; leave out --resume"
            )
        if (packed[1:, 0] < packed[:-1, 0]).any():
            packed = packed[np.argsort(packed[:, 0], kind="stable")]
        return packed

    def keep(
        self,
        cell: int,
        packed: Words,
        borders: Words,
        dominance: Dominance,
        exposures: Mapping[str, Exposure] | None = None,
    ) -> None:
        """Keep what a cell publishes, where each range of rows begins in it, and what was found."""
        exposed = {name: each.to_dict() for name, each in (exposures or {}).items()}
        told = {"dominance": dominance.to_dict(), "exposures": exposed}
        self[f"told-{cell}"].write_text(json.dumps(told))
        temporary = self[f"cell-{cell}.part"]
        with temporary.open("wb") as stream:
            stream.write(np.searchsorted(packed[:, 0], borders).data)
            stream.write(np.ascontiguousarray(packed).data)
        temporary.rename(self._cell(cell))

    def kept(self, cell: int, words: int, borders: Words) -> Words:
        """What a cell publishes, in order."""
        with self._cell(cell).open("rb") as stream:
            stream.seek(8 * borders.size)
            return np.fromfile(stream, np.int64).reshape(-1, words)

    def told(self, cell: int) -> tuple[Dominance, dict[str, Exposure]]:
        """What was found of a cell that only its groups could tell."""
        told = json.loads(self[f"told-{cell}"].read_text())
        exposures = {name: Exposure.from_dict(each) for name, each in told["exposures"].items()}
        return Dominance.from_dict(told["dominance"]), exposures

    def is_done(self, cell: int) -> bool:
        """Whether what the cell publishes is here."""
        return self._cell(cell).exists()

    def published(
        self, cells: int, words: int, borders: Words, number: int
    ) -> tuple[Words, NDArray[np.bool_]]:
        """A range of rows as they are published, in order, and which of its rows there are."""
        start, end = (int(border) for border in borders[number : number + 2])
        packed = np.zeros((end - start, words), np.int64)
        there = np.zeros(end - start, bool)
        for cell in range(cells):
            with self._cell(cell).open("rb") as stream:
                stream.seek(8 * number)
                first, last = np.fromfile(stream, np.int64, 2).tolist()
                stream.seek(8 * (borders.size + first * words))
                part = np.fromfile(stream, np.int64, (last - first) * words).reshape(-1, words)
            rows = part[:, 0] - start
            if there[rows].any() or len(part) != last - first:
                raise PromiseError("a row came out of two cells; leave out --resume")
            there[rows] = True
            packed[rows] = part
        return packed, there

    def clear(self) -> None:
        """Start anew: nothing is kept of what was made."""
        self._own.clear()
        self.note()

    @property
    def free_space(self) -> int:
        """Bytes that are free where the folder is."""
        return shutil.disk_usage(self.folder).free

    @contextmanager
    def failures_named(self) -> Iterator[None]:
        """Failures of the disk speak of the place of work, not of files in it that nobody knows."""
        try:
            yield
        except OSError as failure:
            folders = {self.place / _FOLDER, self.folder}
            about = Path(failure.filename or self.folder)
            if failure.errno is None or not folders & {about, *about.parents}:
                raise
            reason = os.strerror(failure.errno)
            raise OSError(failure.errno, reason, str(self.place)) from None

    def _leaf(self, leaf: int) -> Path:
        return self[f"leaf-{leaf}"]

    def _piece(self, cell: int) -> Path:
        return self[f"piece-{cell}"]

    def _cell(self, cell: int) -> Path:
        return self[f"cell-{cell}"]


def _blocks(path: Path, words: int) -> Iterator[Words]:
    """The rows of a file, some at a time."""
    if path.exists():
        with path.open("rb") as stream:
            while len(packed := np.fromfile(stream, np.int64, _BLOCK_ROWS * words)):
                yield packed.reshape(-1, words)


def work_path(target: Path) -> Path:
    """Where the work folder of a release lies that is made for one place."""
    return target.with_name(f".{target.name}{_PARTS}")


def remove_left(place: Path) -> None:
    """Remove what a run left there that was killed; not what one has that is alive."""
    with suppress(InputError, OSError):
        if (place / _FOLDER).is_dir():
            Work(place, {}).close()


def _sweep(folder: Path) -> None:
    """Remove temporary places of runs that were killed; only of those that had begun."""
    for place in folder.glob(f"{_TEMPORARY}*"):
        if (place / _FOLDER / "state.json").exists():
            remove_left(place)


def _locked(place: Path, made: bool) -> tuple[OwnFolder, bool]:
    """The folder to work in, in a place that is made if it is not there; whether that was made."""
    place.parent.mkdir(parents=True, exist_ok=True)
    with suppress(FileExistsError):
        place.mkdir(mode=0o700)
        made = True
    of_runs = place.suffix == _PARTS
    if of_runs and place.is_symlink():
        raise InputError(f"{place.name} is a link, which no run leaves there; remove it")
    busy = f"another run is at work in {place.name} right now; wait for it, or name another folder"
    try:
        return OwnFolder(place / _FOLDER, _MADE, busy, linked=not of_runs), made
    except OSError:
        if made:
            place.rmdir()
        raise


def _remove(own: OwnFolder, made: bool) -> None:
    # Only an empty folder goes: whatever else is in it is somebody's.
    own.remove(with_place=made)
