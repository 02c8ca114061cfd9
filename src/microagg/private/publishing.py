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
from microagg.columns.coded import encode
from microagg.columns.summary import attribute, correlations
from microagg.release.release import certificate_path, refuse_overwriting
from microagg.report.page import write as write_page
from microagg.report.story import Fact, Story
from microagg.table import formats
from microagg.table.checks import sha256_of
from microagg.table.exporting import read_back, same_columns
from microagg.table.frames import as_arrow
from microagg.table.opening import STANDARD_STREAM

if TYPE_CHECKING:
    from microagg.private.releasing import PrivateRelease


def write(release: "PrivateRelease", target: str | os.PathLike[str], force: bool) -> None:
    """Write a private release, read it back, and let it take its name; see PrivateRelease.write."""
    address = os.fspath(target)
    form = formats.form_of(address)
    table = _as_table(release.data)
    path = Path(address)
    file = Path("release.csv") if address == STANDARD_STREAM else path
    layout = None if form == "database" else formats.layout_for(file, None, None)

    def check(found: pa.Table) -> None:
        same = same_columns(form, found, table, layout) if found.num_rows == table.num_rows else {}
        if found.column_names != table.column_names or not all(same.values()) or not same:
            raise PromiseError("the written release is not what was meant; it was not published")

    if form == "database":
        formats.write_database(table, address, check, force)
        return
    if address == STANDARD_STREAM:
        with tempfile.TemporaryDirectory(prefix="microagg-") as folder:
            beside = Path(folder) / "release.csv"
            formats.write_file(form, table, beside, layout)
            check(read_back(form, beside, table, layout))
            with beside.open("rb") as written:
                shutil.copyfileobj(written, sys.stdout.buffer)
        sys.stdout.buffer.flush()
        return
    refuse_overwriting(path, None, force)
    with whole_path(path) as temporary:
        formats.write_file(form, table, temporary, layout)
        check(read_back(form, temporary, table, layout))
        certificate_path(path).unlink(missing_ok=True)
    certificate = {
        "microagg": microagg.__version__,
        "made": datetime.now(UTC).isoformat(timespec="seconds"),
        "guarantee": release.guarantee.to_dict(),
        "rows": table.num_rows,
        "columns": table.column_names,
        # The input's hash stays out: it would let anyone check a guess at the data.
        "sha256": {"release": sha256_of(path)},
    }
    with whole_file(certificate_path(path)) as stream:
        json.dump(certificate, stream, indent=2, ensure_ascii=False)
        stream.write("\n")


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
