"""One cluster and one session for all tests of Spark: they take long to start."""

import pyarrow.parquet as pq
import pytest

from tests.engine.spark import cluster as clusters
from tests.engine.spark.tables import as_spark_has_it
from tests.engine.tables import nasty


@pytest.fixture(scope="package")
def cluster(tmp_path_factory):
    reason = clusters.why_not()
    if reason is not None and clusters.is_required():
        pytest.fail(f"Spark must be tested here, but {reason}")
    if reason is not None:
        pytest.skip(reason)
    with clusters.running(tmp_path_factory.mktemp("cluster")) as found:
        yield found


@pytest.fixture(scope="package")
def session(cluster):
    from microagg.engine.spark.session import start_session

    settings = {
        "spark.executor.memory": "600m",
        "spark.sql.shuffle.partitions": "4",
        "spark.default.parallelism": "2",
        # Queries on few rows take longer to compile than to run.
        "spark.sql.codegen.wholeStage": "false",
        "spark.sql.session.timeZone": "America/New_York",
        # Small batches, so that small tables have many.
        "spark.sql.execution.arrow.maxRecordsPerBatch": "300",
    }
    made = start_session(cluster.url, settings)
    yield made
    made.stop()


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
