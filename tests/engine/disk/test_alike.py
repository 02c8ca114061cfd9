import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import microagg
from microagg.base.errors import InputError
from microagg.base.progress import silent
from microagg.base.reading import Reading
from microagg.engine.alike import Coding, counted
from microagg.engine.disk.engine import Disk
from microagg.table.streams import open_stream
from tests.engine.alike import compare, compare_by_record, homes, recipe
from tests.engine.tables import nasty

KEYS = ["whole", "word", "flag"]


@pytest.mark.parametrize(
    "settings",
    [{}, {"weights": "weight", "household": "home"}, {"fraction": 0.1, "household": "home"}],
)
@pytest.mark.parametrize("keys", [KEYS, ["grade"], ["number", "money", "moment"]])
def test_on_disk(tmp_path, settings, keys):
    table = nasty(600).append_column("home", homes(600))
    pq.write_table(table, tmp_path / "people.parquet", row_group_size=100)
    here = microagg.risk(table, keys, largest=0, **settings)
    disk = Disk(open_stream(tmp_path / "people.parquet", Reading()), recipe(keys, **settings))
    rows = np.arange(0, 600, 7)
    try:
        compare_by_record(compare(disk, here, rows, keys, **settings), here, rows)
    finally:
        disk.close()


def test_bad_weights_are_refused(tmp_path):
    table = pa.table({"a": [1, 2, 3], "w": [1.0, -1.0, 2.0]})
    pq.write_table(table, tmp_path / "people.parquet")
    disk = Disk(open_stream(tmp_path / "people.parquet", Reading()), recipe(["a"]))
    coding = Coding(("a",), "w", None, 1.0, disk.origin, np.array([0]))
    try:
        with pytest.raises(InputError, match="must be numbers of 0 or more"):
            counted(disk, coding, 0.1, silent)
    finally:
        disk.close()
