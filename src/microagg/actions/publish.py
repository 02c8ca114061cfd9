"""From a table to its release in one step: protected, written, checked and reported on."""

import os
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from microagg.actions.estimate import Estimate, estimate
from microagg.actions.protect import protect
from microagg.base.addresses import without_password
from microagg.base.certificate import Certificate
from microagg.base.errors import OptionError
from microagg.base.files import recover
from microagg.base.progress import library_prints_to_stderr
from microagg.base.reading import Reading
from microagg.base.recipe import Recipe
from microagg.base.record import Record
from microagg.engine.choosing import Where
from microagg.engine.disk.work import remove_left, work_path
from microagg.kernels.announcing import seconds_compiling
from microagg.release.output import (
    certificate_place,
    record_beside,
    refuse_overwriting,
    refuse_target,
)
from microagg.release.release import Release
from microagg.table.formats import format_in_parts, format_of
from microagg.table.formats.database import NO_TABLES, Database, Tables, tables_read
from microagg.table.opening import STANDARD_STREAM


@dataclass(frozen=True)
class Outcome:
    """What was made: the certificate, the owner's record, where all stands, how long it took.

    private: which of the files are not for publication. compiling: seconds of these that went into
    compiling, which is done once.
    """

    certificate: Certificate
    record: Record
    files: dict[str, str]
    private: tuple[str, ...]
    seconds: float
    compiling: float


@dataclass(frozen=True, kw_only=True)
class Publication:
    """What is to be made of a table, and where it goes.

    source, output: addresses, as of `protect` and `Release.write`; prove: as of `protect`.
    where: the settings of `Where` by name. certificate: as of `Release.write`. report: where a page
    goes; public: it shows only what
    the release shows. save_recipe: where the settings go; force: replace what is there. record: as
    of `protect`.
    """

    # Addresses of databases may hold passwords.
    source: str = field(repr=False)
    output: str = field(repr=False)
    recipe: Recipe
    where: Mapping[str, Any]
    certificate: Path | None = None
    report: Path | None = None
    public: bool = False
    save_recipe: Path | None = None
    record: Path | None = None
    prove: float = 0.0
    force: bool = False

    def make(self, progress: bool | None = None) -> Outcome:
        """Make it. What would be refused at the end is refused before any work is done."""
        started, compiled = time.perf_counter(), seconds_compiling()
        with self.release(progress) as release:
            if self.report is not None:
                release.report(self.report, public=self.public)
        if self.save_recipe is not None:
            self.recipe.write(self.save_recipe)
        files = self._files(release.engine == "spark")
        # A recipe says orders and stand-ins as they are; of it the certificate has what is public.
        internal = ("record", "recipe") if self.public else ("record", "report", "recipe")
        return Outcome(
            release.certificate,
            release.record,
            files,
            tuple(what for what in files if what in internal),
            time.perf_counter() - started,
            seconds_compiling() - compiled,
        )

    @contextmanager
    def release(self, progress: bool | None = None) -> Iterator[Release]:
        """The release, written and checked, as long as the block lasts."""
        to_path = self.output != STANDARD_STREAM and "://" not in self.output
        if to_path:
            recover(Path(self.output))
        where = self._settled(Where(**self.where))
        if to_path and where.engine != "disk":
            remove_left(work_path(Path(self.output)))
        with library_prints_to_stderr():
            release = protect(
                self.source,
                recipe=self.recipe,
                record=self.record,
                prove=self.prove,
                progress=progress,
                **where.settings(),
            )
        with release:
            release.write(self.output, force=self.force, certificate=self.certificate)
            yield release

    def estimate(self, progress: bool | None = None) -> Estimate:
        """What making it would do and cost; writes nothing, so its outputs need no names yet."""
        where = Where(**self.where)
        where = self._settled(where) if self.output else where
        return estimate(self.source, self.recipe, where, prove=self.prove, progress=progress)

    def _settled(self, where: Where) -> Where:
        """Where it is made, once it is clear that its outputs can be written."""
        engine = where.settled(self.source)
        others = [path for path in (self.report, self.save_recipe) if path is not None]
        refuse_outputs(
            self.source,
            self.output,
            others,
            self.force,
            folder=engine == "spark",
            certificate=self.certificate,
            reading=self.recipe.reading,
        )
        work = where.work
        if engine == "disk" and self.output != STANDARD_STREAM:
            format_in_parts(self.output, "written")
            work = work or work_path(Path(self.output))
        return replace(where, engine=engine, work=work)

    def _files(self, folder: bool) -> dict[str, str]:
        to_stream = self.output == STANDARD_STREAM
        files = {"release": "standard output" if to_stream else without_password(self.output)}
        beside = self.certificate or certificate_place(self.output, folder)
        if beside is not None:
            files["certificate"] = str(beside)
        if isinstance(beside, Path):
            files["record"] = str(record_beside(beside))
        for what, path in (("report", self.report), ("recipe", self.save_recipe)):
            if path is not None:
                files[what] = str(path)
        return files


def refuse_outputs(
    source: str,
    output: str | None,
    others: Sequence[Path],
    force: bool,
    *,
    folder: bool = False,
    certificate: Path | None = None,
    reading: Reading | None = None,
) -> None:
    """Refuse outputs that cannot be written, or would replace what they must not.

    output: where a release goes, if one does, in one file or a folder; certificate: as of
    `Release.write`; others: further files.
    """
    path, tables = _input_of(source, reading or Reading(), output if force else None)
    if output is None:
        for other in others:
            refuse_overwriting(other, path, force)
        return
    refuse_target(output, path, tables, force, others, folder=folder, certificate=certificate)


def _input_of(source: str, reading: Reading, replaced: str | None) -> tuple[Path | None, Tables]:
    """The file of an input, as far as it has one; its tables, if a database may hold both."""
    try:
        known = format_of(source)
    except OptionError:
        # A table that only Spark knows, or nothing at all, which is said when it is opened.
        return Path(source) if os.path.lexists(source) else None, NO_TABLES
    near = replaced is not None and not known.is_file and Database().holds(replaced)
    return known.file_of(source), tables_read(source, reading) if near else NO_TABLES
