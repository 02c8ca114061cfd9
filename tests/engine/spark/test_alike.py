import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import microagg
from microagg.base.progress import silent
from microagg.engine.spark.engine import Spark
from tests.engine.alike import compare, compare_by_record, homes, recipe
from tests.engine.spark.tables import WARNINGS, as_spark_has_it
from tests.engine.tables import nasty

pytestmark = WARNINGS


@pytest.mark.parametrize(
    "settings", [{"fraction": 0.1}, {"weights": "weight", "household": "home"}]
)
def test_records_that_are_alike_are_counted_by_the_workers(session, tmp_path, settings):
    keys = ["whole", "word", "flag"]
    rows = as_spark_has_it(nasty(600).append_column("home", homes(600)))
    pq.write_table(rows, tmp_path / "people.parquet")
    here = microagg.risk(rows, keys, largest=0, **settings)
    spark = Spark(tmp_path / "people.parquet", recipe(keys, **settings), session=session)
    chosen = np.arange(0, 600, 7)
    compare_by_record(compare(spark, here, chosen, keys, **settings), here, chosen)


def test_equal_rows_of_a_frame_are_counted_each(session):
    rows = pa.table(
        {
            "a": [1, 1, 1, 2, 2, 3] * 20,
            "b": [0.0, -0.0, 0.0, float("nan"), None, 1.5] * 20,
            "home": ["x", "x", None, "y", None, "z"] * 20,
        }
    )
    here = microagg.risk(rows, ["a", "b"], household="home", largest=0)
    frame = session.createDataFrame(rows)
    spark = Spark(frame, recipe(["a", "b"], household="home"), session=session, sampled=30)
    sample, numbers = spark.survey(silent).sample.result()
    found = compare(spark, here, numbers, ["a", "b"], household="home")
    sizes = {1: 60, 2: 40, 3: 20}
    assert found.frequencies.sample.tolist() == [sizes[a] for a in sample["a"].to_pylist()]
    risks = dict(zip(rows["home"].to_pylist(), here.household, strict=True))
    known = sample["home"].is_valid().to_numpy()
    expected = [risks[home] for home in sample["home"].drop_null().to_pylist()]
    np.testing.assert_allclose(found.household_risks[known], expected, rtol=1e-12)
