"""A table for all tests of Spark."""

import pyarrow.parquet as pq
import pytest

from tests.engine.spark.tables import as_spark_has_it
from tests.engine.tables import nasty


@pytest.fixture(scope="package")
def table(tmp_path_factory):
    """Every kind of column in three files, one of them empty."""
    rows = as_spark_has_it(nasty(1000))
    folder = tmp_path_factory.mktemp("table") / "people.parquet"
    folder.mkdir()
    for name, piece in (
        ("b", rows.slice(300, 700)),
        ("a + [më%20re]", rows.slice(0, 300)),
        ("c", rows[:0]),
    ):
        pq.write_table(piece, folder / f"{name}.parquet", row_group_size=170)
    return folder
