"""Sessions: loaded on use only, and ended by whom they were started by."""

import subprocess
import sys

import pytest

from microagg.base.errors import InputError
from tests.engine.spark import cluster as clusters
from tests.engine.spark.tables import plane, put

OWN_SESSION = """
import sys, microagg
from microagg.base.errors import InputError
from pyspark import SparkContext
from pyspark.sql import SparkSession
settings = {"engine": "spark", "master": "local[1]", "k": 3, "quasi_identifiers": ["x", "y"]}
with microagg.protect(sys.argv[1], progress=False, measures=False, **settings) as release:
    assert SparkSession.getActiveSession() is not None
    release.write(sys.argv[2])
assert SparkSession.getActiveSession() is None
assert SparkContext._active_spark_context is None
try:
    microagg.protect(sys.argv[1] + ".gone.parquet", progress=False, **settings)
except InputError:
    pass
assert SparkContext._active_spark_context is None
print(release.certificate.passed)
"""


def test_pyspark_is_loaded_on_use_only():
    script = "import sys, microagg.engine.spark.engine; print('pyspark' in sys.modules)"
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=True
    )
    assert done.stdout.strip() == "False"


def test_a_session_that_others_end_is_one_sentence():
    pytest.importorskip("pyspark")
    from py4j.protocol import get_return_value

    from microagg.engine.spark.session import plainly

    # Half an answer of a virtual machine that is no more.
    with pytest.raises(InputError, match="Spark could not count"), plainly("count"):
        get_return_value("y?", None)
    with pytest.raises(KeyError), plainly("count"):
        {}["ours"]


def test_a_session_that_was_started_for_a_release_ends_with_it(tmp_path):
    if clusters.why_not() is not None:
        pytest.skip(clusters.why_not())
    source = put(plane(200), tmp_path / "plane.parquet")
    done = subprocess.run(
        [sys.executable, "-c", OWN_SESSION, str(source), str(tmp_path / "release.parquet")],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.stdout.strip() == "True", done.stderr


def test_workers_import_nothing_from_the_folder_one_works_in(session):
    """Data of others may lie there, and files with names of modules."""
    safe = session.sparkContext.parallelize([0], 1).map(lambda _: sys.flags.safe_path).collect()
    assert safe == [True]
