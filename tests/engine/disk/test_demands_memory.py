"""What is held of all values while a release with demands is made on disk."""

import gc
import weakref

import numpy as np
import pyarrow as pa
from pyarrow import parquet

import microagg
from microagg.columns.secrets import Room


def test_values_of_all_records_are_let_go_once_groups_are_made(tmp_path, monkeypatch):
    rng = np.random.default_rng(0)
    table = pa.table({"x": rng.normal(size=300), "income": rng.normal(size=300)})
    parquet.write_table(table, tmp_path / "in.parquet")
    rooms = []

    class Watched(Room):
        def __call__(self, size):
            found = super().__call__(size)
            rooms.append(weakref.ref(found))
            return found

    monkeypatch.setattr("microagg.engine.disk.engine.Room", lambda folder: Watched(folder, most=64))
    with microagg.protect(
        tmp_path / "in.parquet", k=3, quasi_identifiers=["x"], closeness={"income": 0.3},
        method="mdav", engine="disk", progress=False,
    ) as release:  # fmt: skip
        gc.collect()
        assert rooms
        assert not [room for room in rooms if isinstance(room(), np.memmap)]
        release.write(tmp_path / "out.parquet")
    assert release.certificate.passed
