"""What a private release is: the noisy table, its guarantee, and how both go out.

Nothing here looks at the original data: what is computed comes from the noisy release alone, so it
costs no privacy.
"""

from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime
from os import PathLike, fspath
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

import microagg
from microagg.base.errors import InputError, MicroaggError, PromiseError, sentence_of
from microagg.base.files import write_json
from microagg.base.reading import Reading
from microagg.engine.memory import draft_of
from microagg.private.guarantee import Guarantee
from microagg.private.ledger import refuse_ledger
from microagg.release.output import certificate_place, open_place
from microagg.table.formats import format_of
from microagg.table.frames import as_arrow
from microagg.table.opening import STANDARD_STREAM, Origin

NO_ORIGIN = Origin("table", "frame", Reading())


class _RehearsedError(Exception):
    """A draft is good, and is to vanish."""


@contextmanager
def after_noise(spent: str | None) -> Iterator[None]:
    """Whatever fails here, noise was drawn before: the error says what that cost.

    spent: in words; None for a simulation, which costs nothing.
    """
    try:
        yield
    except (MicroaggError, OSError) as failure:
        if spent is None or isinstance(failure, BrokenPipeError):
            raise
        kind = type(failure) if isinstance(failure, MicroaggError) else InputError
        raise kind(f"{sentence_of(failure)}; although this failed, {spent}") from failure


@dataclass(frozen=True, eq=False)
class Marginal:
    """One column released for itself.

    values: the noisy means of its groups by rank, lowest ranks first; or its categories.
    counts: the public sizes of the groups; or the noisy counts of the categories, 0 to n.
    """

    values: NDArray
    counts: NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class PrivateRelease:
    """A release and its promise.

    data: of the same kind as the table, with as many rows. Only where `guarantee.rows_linked` says
        so is row i about row i of the table.
    origin: where the table came from, so that it is never written over, and how a text file is laid
        out; nothing of its records.
    marginals: where each column stands for itself, what was released of it; `data` is made of it.
    spent: what it cost, in words, for when it cannot be written; None if it cost nothing.
    """

    data: Any
    guarantee: Guarantee
    origin: Origin = field(repr=False)
    marginals: dict[str, Marginal] | None = None
    spent: str | None = field(default=None, repr=False)

    def write(
        self, target: str | PathLike[str], *, force: bool = False, certificate: Path | None = None
    ) -> Path | str | None:
        """Write the release, read it back, and only then let it take its name.

        target, force, certificate: as for `microagg.Release.write`. Beside a file,
            `<file>.certificate.json` states the guarantee, beside the table of a database the table
            `<table>_certificate`. A file like the input has its layout.

        Returns where the certificate is, None if there is none; of a server without its password.
        """
        with after_noise(self.spent), self._drafted(target, force, certificate) as written:
            return written

    def rehearse(
        self, target: str | PathLike[str], *, force: bool = False, certificate: Path | None = None
    ) -> None:
        """Do all that `write` does, but let nothing take its name: refuse what it would refuse."""
        with suppress(_RehearsedError), self._drafted(target, force, certificate):
            raise _RehearsedError

    @contextmanager
    def _drafted(
        self, target: str | PathLike[str], force: bool, where: Path | None
    ) -> Iterator[Path | str | None]:
        """The release and its certificate as drafts, which take their names if the block ends."""
        table, address = self.table(), fspath(target)
        refuse_ledger(address)
        alike = address == STANDARD_STREAM or format_of(address).name == self.origin.form
        with (
            open_place(address, self.origin, force, has_record=False, certificate=where) as place,
            draft_of(table, place, self.origin if alike else NO_ORIGIN) as back,
        ):
            if not back.complete or not all(back.same.values()):
                raise PromiseError(
                    "the written release is not what was meant; it was not published"
                )
            if place.certificate is not None:
                certificate = {
                    "microagg": microagg.__version__,
                    "made": datetime.now(UTC).isoformat(timespec="seconds"),
                    "guarantee": self.guarantee.to_dict(),
                    "rows": table.num_rows,
                    "columns": table.column_names,
                    # The input's hash stays out: it would let anyone check a guess at the data.
                    "sha256": {"release": back.sha256},
                }
                write_json(place.certificate, certificate)
            yield where or certificate_place(address)

    def report(self, path: str | PathLike[str]) -> None:
        """Write a report, one HTML file: the guarantee first, then what the release itself shows.

        Nothing in it comes from the original data, so it may be published with the release.
        """
        from microagg.private.telling import story_of
        from microagg.report.page import write

        with after_noise(self.spent):
            refuse_ledger(path)
            write(story_of(self.guarantee, self.table()), Path(path))

    def table(self) -> pa.Table:
        """The data as an Arrow table."""
        data = self.data
        if isinstance(data, np.ndarray):
            columns = data.reshape(data.shape[0], -1).T
            data = {str(number): column for number, column in enumerate(columns)}
        if isinstance(data, dict):
            return pa.table({name: pa.array(column) for name, column in data.items()})
        return as_arrow(data)
