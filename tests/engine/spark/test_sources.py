"""Tables that Spark reads: by name, and files that change meanwhile."""

import pyarrow.parquet as pq
import pytest

import microagg
from microagg.base.errors import InputError
from microagg.base.progress import silent
from microagg.engine.planning import make_plan
from microagg.engine.spark.engine import Spark
from tests.engine.spark.tables import SIMPLE, WARNINGS, plane, protect, put

pytestmark = WARNINGS


def test_tables_by_name(session):
    session.range(100).selectExpr("id", "id * id % 17 as x").createOrReplaceTempView("numbers")
    with protect("numbers", session, k=4, quasi_identifiers=["x"]) as release:
        assert release.data.count() == 100
        assert release.certificate.k_found >= 4


def test_a_file_that_changes_meanwhile_is_refused(session, tmp_path):
    path = put(plane(300), tmp_path / "plane.parquet")
    engine = Spark(path, microagg.Recipe(**SIMPLE), session=session)
    survey = engine.survey(silent)
    plan = make_plan(survey, {"name": "plane", "sha256": engine.sha256})
    pq.write_table(plane(300, seed=1), path)
    with pytest.raises(InputError, match="changed"):
        engine.count(plan, silent)
    engine.close()
