"""What a private release is: the noisy table, its guarantee, and how both go out.

Nothing here looks at the original data: what is computed comes from the noisy release alone, so it
costs no privacy.
"""

from dataclasses import dataclass, field
from datetime import UTC, datetime
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

import microagg
from microagg.base.errors import PromiseError
from microagg.base.files import write_json
from microagg.base.reading import Reading
from microagg.engine.memory import draft_of
from microagg.private.guarantee import Guarantee
from microagg.release.output import open_place
from microagg.table.frames import as_arrow
from microagg.table.opening import Origin

NO_ORIGIN = Origin("table", "frame", Reading())


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
    origin: where the table came from, so that it is never written over; nothing of its content.
    marginals: where each column stands for itself, what was released of it; `data` is made of it.
    """

    data: Any
    guarantee: Guarantee
    origin: Origin = field(repr=False)
    marginals: dict[str, Marginal] | None = None

    def write(self, target: str | PathLike[str], *, force: bool = False) -> None:
        """Write the release, read it back, and only then let it take its name.

        target, force: as for `microagg.Release.write`. Beside a file,
            `<file>.certificate.json` states the guarantee.
        """
        table = self.table()
        with (
            open_place(target, self.origin, force, has_record=False) as place,
            # How the input was laid out says something of its entries.
            draft_of(table, place, NO_ORIGIN) as back,
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

    def report(self, path: str | PathLike[str]) -> None:
        """Write a report, one HTML file: the guarantee first, then what the release itself shows.

        Nothing in it comes from the original data, so it may be published with the release.
        """
        from microagg.private.telling import story_of
        from microagg.report.page import write

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
