"""Release: a protected table, and how it goes out: written, read back, checked, named."""

import os
import shutil
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from microagg.base.certificate import Certificate, Check
from microagg.base.errors import OptionError
from microagg.base.files import whole_path
from microagg.base.groups import Partition
from microagg.base.recipe import Recipe
from microagg.columns.coded import encode
from microagg.columns.summary import attribute, correlations, understood
from microagg.columns.told import Attribute, Correlations
from microagg.release.assessment import Assessment
from microagg.table import formats
from microagg.table.classes import Classes, count_classes
from microagg.table.formats.database import same_table
from microagg.table.frames import Frame, as_arrow
from microagg.table.opening import STANDARD_STREAM, Origin
from microagg.table.writing import ReadBack, draft_in_database, write_file


@dataclass(eq=False)
class Release:
    """A protected table and what is known of it; nothing of the original but sums over many.

    data: the protected table, of the kind that came in; an Arrow table for a file or a database.
    partition: who was grouped with whom, in the order of the rows.
    recipe: the settings it was made with.
    certificate: what it promises and what was counted on it.
    assessment: risk and utility, if they were measured.
    """

    data: Any
    partition: Partition
    recipe: Recipe
    certificate: Certificate
    origin: Origin = field(repr=False)
    counted: tuple[str, ...] = field(repr=False)
    entities: NDArray[np.int64] | None = field(repr=False)
    attributes: tuple[Attribute, ...] = field(repr=False)
    correlations: Correlations | None = field(repr=False)
    assessment: Assessment | None = field(repr=False)

    def write(self, target: str | os.PathLike[str], *, force: bool = False) -> Certificate:
        """Write the release, read it back, check it, and only then let it take its name.

        target: a path, a database URL with a table (`sqlite:///release.db#people`), or "-" for
            standard output. The suffix says the format; a file of the input's format looks like it.
        force: replace what is there. The input itself is never replaced.

        Beside a file, `<file>.certificate.json` says what was promised and found. A release that
        fails its check is not published: PromiseError.
        """
        address = os.fspath(target)
        if not formats.format_of(address).is_file:
            self._write_database(address, force)
        elif address == STANDARD_STREAM:
            self._write_stream()
        else:
            self._write_file(Path(address), force)
        return self.certificate

    def report(self, path: str | os.PathLike[str], *, public: bool = False) -> None:
        """Write the report, one HTML file.

        public: show nothing but what the release itself shows.
        """
        from microagg.release.telling import story_of
        from microagg.report.page import write

        write(story_of(self, public=public), Path(path))

    def class_sizes(self) -> NDArray[np.int64]:
        """How many records look alike, class by class."""
        frame = Frame(self.data)
        table = pa.table([frame.column(name) for name in self.counted], list(self.counted))
        classes = count_classes(table, self.counted, self.entities)
        return np.repeat(classes.sizes, classes.times)

    def shown_alone(self) -> tuple[tuple[Attribute, ...], Correlations | None]:
        """The columns and how they go together, by the release alone."""
        frame = Frame(self.data)
        kinds = {each.name: each.kind for each in self.attributes}
        columns = [
            encode(name, frame.column(name), kinds[name], self.recipe.orders.get(name))
            for name in self.recipe.quasi_identifiers
        ]
        shown = [attribute("quasi-identifier", column) for column in columns]
        for name in self.recipe.confidential:
            column = understood(name, frame.column(name), self.origin)
            if column is not None:
                shown.append(attribute("confidential", column))
        return tuple(shown), correlations(columns, None)

    def _write_file(self, path: Path, force: bool) -> None:
        refuse_overwriting(path, self.origin.path, force)
        certificate = certificate_path(path)
        # The release takes its name first, then the certificate, once both are on the disk.
        with whole_path(certificate) as beside, whole_path(path) as temporary:
            self._write_checked(temporary)
            self.certificate.write(beside)
            # A certificate of an earlier release must never stand beside this one.
            certificate.unlink(missing_ok=True)

    def _write_stream(self) -> None:
        with tempfile.TemporaryDirectory(prefix="microagg-") as folder:
            path = Path(folder) / "release.csv"
            self._write_checked(path)
            with path.open("rb") as stream:
                shutil.copyfileobj(stream, sys.stdout.buffer)
            sys.stdout.buffer.flush()

    def _write_checked(self, path: Path) -> None:
        self._check(write_file(as_arrow(self.data), path, self.origin))

    def _write_database(self, address: str, force: bool) -> None:
        refuse_same_table(address, self.origin.address, force)
        with draft_in_database(as_arrow(self.data), address, self.origin, force) as back:
            self._check(back)

    def _check(self, back: ReadBack) -> None:
        """Count the release again as it was written, and compare it with what was meant."""
        protected = set(self.recipe.quasi_identifiers)
        checks = [Check("every row and column is there, in order", back.complete)]
        sizes = {}
        if back.complete:
            checks += [
                Check(
                    "columns that nobody asked to protect are as they were",
                    all(same for name, same in back.same.items() if name not in protected),
                ),
                Check(
                    "protected columns hold the published values",
                    all(back.same[name] for name in protected),
                ),
            ]
            more, classes = check_release(back.table, self.recipe.k, self.counted, self.entities)
            checks += more
            sizes = sizes_of(classes)
        self.certificate = self.certificate.with_checks(
            tuple(checks), release_sha256=back.sha256, **sizes
        )
        self.certificate.refuse_broken()


def check_release(
    table: pa.Table, k: int, counted: Sequence[str], entities: NDArray[np.int64] | None
) -> tuple[tuple[Check, ...], Classes]:
    """Count anew how many records look alike, and hold it against k."""
    alike = count_classes(table, counted, entities)
    units = "records" if entities is None else "entities"
    return (Check(f"at least {k} {units} share each combination of values", alike.k >= k),), alike


def sizes_of(alike: Classes) -> dict[str, Any]:
    """What a certificate says of the classes found."""
    return {
        "k_found": alike.k,
        "groups": alike.count,
        "smallest_group": alike.smallest,
        "median_group": alike.median,
        "largest_group": alike.largest,
    }


def certificate_path(path: Path) -> Path:
    """Where the certificate of a release stands."""
    return path.with_name(path.name + ".certificate.json")


def refuse_early(source: str, output: str, others: Sequence[Path], force: bool) -> None:
    """Refuse what would be refused at the end anyway, before any work is done."""
    is_file = source != STANDARD_STREAM and formats.format_of(source).is_file
    origin = Path(source) if is_file else None
    paths = list(others)
    if not formats.format_of(output).is_file:
        refuse_same_table(output, source, force)
    elif output != STANDARD_STREAM:
        formats.check_writable(output)
        paths.append(Path(output))
    for path in paths:
        refuse_overwriting(path, origin, force)
    wanted = [path.absolute() for path in paths]
    if len(set(wanted)) < len(wanted):
        raise OptionError("two outputs have the same name; give each a name of its own")


def refuse_same_table(target: str, source: str | None, force: bool) -> None:
    """Refuse to replace the database table that the input is, or may be a query on."""
    if force and source is not None and same_table(target, source):
        shown = formats.format_of(target).shown(target)
        raise OptionError(f"{shown} is the input, which is never written over; name another")


def refuse_overwriting(path: Path, source: Path | None, force: bool) -> None:
    """Refuse to write over the input, ever, or over anything else unless told to."""
    if not path.exists():
        _check_folder(path)
        return
    if source is not None and source.exists() and path.samefile(source):
        raise OptionError(f"{path.name} is the input, which is never written over; name another")
    if path.is_dir():
        raise OptionError(f"{path.name} is a folder; name a file")
    if not force:
        raise OptionError(f"{path.name} exists; say force (--force) to replace it, or name another")


def _check_folder(path: Path) -> None:
    """Refuse a path that no file can be written to; folders that are not there will be made."""
    folder = next(folder for folder in path.absolute().parents if folder.exists())
    if not folder.is_dir() or not os.access(folder, os.W_OK | os.X_OK):
        raise OptionError(f"{path.name} cannot be written: {folder} is no folder one may write to")
