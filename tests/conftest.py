import gc
import os
import re
import shutil
import signal
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

from tests.asking import asked_by_forks, forking
from tests.databases import base, server

__all__ = ["asked_by_forks", "base", "forking", "server"]

# What tests share that takes long to start, and what stands in the names of those that share it.
SHARED = {
    "cluster": "spark|test_engines",
    "databases and who asks them": "database|postgresql",
    "app, its worker and a browser": "tests/app/",
}

# Kernels compile inside the first example, so deadlines would only measure the compiler.
settings.register_profile(
    "microagg",
    deadline=None,
    derandomize=True,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.function_scoped_fixture],
)
settings.load_profile("microagg")


def pytest_collection_modifyitems(items):
    """Try so many times as many examples as a test says, and others each time: make test-long."""
    times = int(os.environ.get("MICROAGG_EXAMPLES", "1"))
    for item in items if times > 1 else ():
        test = getattr(item, "obj", None)
        said = getattr(test, "_hypothesis_internal_use_settings", None)
        if said is not None or getattr(test, "is_hypothesis_test", False):
            said = said or settings()
            test = getattr(test, "__func__", test)
            test._hypothesis_internal_use_settings = settings(
                said, max_examples=times * said.max_examples, derandomize=False
            )


def pytest_configure():
    """Files of tests lie in memory where there is room: a release waits for the disk many times."""
    memory = Path("/dev/shm")
    if memory.is_dir() and shutil.disk_usage(memory).free > 4 << 30:
        os.environ.setdefault("PYTEST_DEBUG_TEMPROOT", str(memory))


def pytest_collection_finish():
    """What was imported and collected stays: nobody has to look there for garbage again."""
    gc.collect()
    gc.freeze()


# A job in the background ignores these, and so would the processes that tests send them to.
for name, usual in (("SIGINT", signal.default_int_handler), ("SIGHUP", signal.SIG_DFL)):
    if hasattr(signal, name) and signal.getsignal(getattr(signal, name)) is signal.SIG_IGN:
        signal.signal(getattr(signal, name), usual)


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_auto_num_workers():
    """One more than there are cores: the one with the cluster waits for it most of the time."""
    affinity = getattr(os, "sched_getaffinity", None)
    return 1 + (len(affinity(0)) if affinity else os.cpu_count() or 1)


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config, log):
    """What takes long to start, one process has, and begins with it; others come as they come."""
    from xdist.scheduler import LoadScopeScheduling

    class OneOfEach(LoadScopeScheduling):
        def _split_scope(self, nodeid):
            every = SHARED.items()
            return next((name for name, words in every if re.search(words, nodeid)), nodeid)

    return OneOfEach(config, log)


@pytest.fixture
def threads(monkeypatch):
    """Set the number of threads, until the test ends."""
    return lambda count: monkeypatch.setenv("MICROAGG_THREADS", str(count))


@pytest.fixture(scope="session")
def cluster(tmp_path_factory):
    """A Spark cluster on this machine: a master and two workers, for all tests that want one."""
    from tests.engine.spark import cluster as clusters

    reason = clusters.why_not()
    if reason is not None and clusters.is_required():
        pytest.fail(f"Spark must be tested here, but {reason}")
    if reason is not None:
        pytest.skip(reason)
    with clusters.running(tmp_path_factory.mktemp("cluster")) as found:
        yield found


@pytest.fixture(scope="session")
def session(cluster):
    """A session of Spark on the cluster."""
    from microagg.engine.spark.session import start_session
    from tests.engine.spark.cluster import JAVA

    settings = {
        "spark.driver.extraJavaOptions": JAVA,
        "spark.executor.extraJavaOptions": JAVA,
        "spark.python.daemon.module": "tests.engine.spark.daemon",
        "spark.executorEnv.PYTHONPATH": str(Path(__file__).parents[1]),
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
