"""A private release on its way out: its file, its certificate and its report.

Nothing here looks at the original data: what is computed comes from the noisy release alone, so it
costs no privacy.
"""

import json
import os
import shutil
import sys
import tempfile
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

import microagg
from microagg.base.errors import PromiseError
from microagg.base.files import whole_file, whole_path
from microagg.base.reading import Reading
from microagg.columns.coded import encode
from microagg.columns.summary import attribute, correlations
from microagg.release.release import certificate_path, refuse_overwriting
from microagg.report.page import write as write_page
from microagg.report.story import Fact, Story
from microagg.table.formats import format_of
from microagg.table.frames import as_arrow
from microagg.table.opening import STANDARD_STREAM, Origin
from microagg.table.writing import ReadBack, draft_in_database, write_file

if TYPE_CHECKING:
    from microagg.private.releasing import PrivateRelease


def write(release: "PrivateRelease", target: str | os.PathLike[str], force: bool) -> None:
    """Write a private release, read it back, and let it take its name; see PrivateRelease.write."""
    address = os.fspath(target)
    table = _as_table(release.data)
    origin = Origin("release", "frame", Reading())
    path = Path(address)
    if not format_of(address).is_file:
        with draft_in_database(table, address, origin, force) as back:
            _refuse_changed(back)
        return
    if address == STANDARD_STREAM:
        with tempfile.TemporaryDirectory(prefix="microagg-") as folder:
            beside = Path(folder) / "release.csv"
            _refuse_changed(write_file(table, beside, origin))
            with beside.open("rb") as written:
                shutil.copyfileobj(written, sys.stdout.buffer)
        sys.stdout.buffer.flush()
        return
    refuse_overwriting(path, None, force)
    with whole_path(path) as temporary:
        back = write_file(table, temporary, origin)
        _refuse_changed(back)
        certificate_path(path).unlink(missing_ok=True)
    certificate = {
        "microagg": microagg.__version__,
        "made": datetime.now(UTC).isoformat(timespec="seconds"),
        "guarantee": release.guarantee.to_dict(),
        "rows": table.num_rows,
        "columns": table.column_names,
        # The input's hash stays out: it would let anyone check a guess at the data.
        "sha256": {"release": back.sha256},
    }
    with whole_file(certificate_path(path)) as stream:
        json.dump(certificate, stream, indent=2, ensure_ascii=False)
        stream.write("\n")


def _refuse_changed(back: ReadBack) -> None:
    if not back.complete or not all(back.same.values()):
        raise PromiseError("the written release is not what was meant; it was not published")


def report(release: "PrivateRelease", path: str | os.PathLike[str]) -> None:
    """Write the report of a private release; see PrivateRelease.report."""
    guarantee = release.guarantee
    table = _as_table(release.data)
    columns = [
        encode(name, table[name].combine_chunks(), _kind(table[name].type))
        for name in table.column_names
    ]
    linked = (
        "linked to the original ones"
        if guarantee.rows_linked
        else "not linked to the original ones"
    )
    private = guarantee.private and not guarantee.bounds_leaked
    story = Story(
        title="Private release",
        public=True,
        verdict=private,
        verdict_sentence=(
            f"{guarantee.definition[0].upper()}{guarantee.definition[1:]}, epsilon = "
            f"{guarantee.epsilon:g}."
            if private
            else "This release is not private: see below. Do not publish it."
        ),
        verdict_title="Noise was added" if private else "Not private",
        guarantee=guarantee.paragraphs,
        limits=tuple(f"{point[0].upper()}{point[1:]}." for point in guarantee.not_protected),
        facts=(
            Fact("epsilon", f"{guarantee.epsilon:g}"),
            Fact("method", guarantee.method),
            Fact("records", table.num_rows),
        ),
        done=(
            "Clamped every value to bounds that were known without the data.",
            f"Formed groups by the method {guarantee.method}.",
            f"Added noise to what each group publishes: {guarantee.randomness}.",
            f"Put the columns together; rows are {linked}.",
        ),
        roles=tuple(
            (name, "released", f"epsilon {share:g}")
            for name, share in guarantee.epsilon_by_column.items()
        ),
        attributes=tuple(attribute("released", column) for column in columns),
        correlations=correlations(columns, None) if guarantee.rows_linked else None,
        certificate=(
            ("definition", guarantee.definition),
            ("neighbouring tables", guarantee.neighbours),
            ("composition", guarantee.composition),
            ("source of randomness", guarantee.randomness),
            ("taken as public", ", ".join(guarantee.public)),
        ),
        software=f"microagg {microagg.__version__}",
        made=datetime.now(UTC).isoformat(timespec="seconds"),
    )
    write_page(story, Path(path))


def _as_table(data: Any) -> pa.Table:
    if isinstance(data, np.ndarray):
        columns = data.reshape(data.shape[0], -1).T
        data = {str(number): column for number, column in enumerate(columns)}
    if isinstance(data, dict):
        return pa.table({name: pa.array(column) for name, column in data.items()})
    return as_arrow(data)


def _kind(kind: pa.DataType) -> str:
    return "continuous" if pa.types.is_floating(kind) else "nominal"
