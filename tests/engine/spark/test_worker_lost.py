"""A worker that is lost in the middle makes no difference."""

import threading
import time

import numpy as np
import pyarrow.parquet as pq

from tests.engine.spark.tables import SIMPLE, WARNINGS, plane, protect, put, sizes_of

pytestmark = WARNINGS


def test_a_worker_lost_in_the_middle(cluster, session, tmp_path):
    """The last test of all: it leaves another worker behind."""
    path = put(plane(30_000, seed=5), tmp_path / "plane.parquet")
    settings = {**SIMPLE, "cell_rows": 1500}
    with protect(path, session, **settings) as whole:
        whole.write(tmp_path / "whole.parquet")
    settings["record"] = tmp_path / "whole.parquet.record.json"
    found = {}

    def run():
        release = protect(path, session, **settings)
        release.write(tmp_path / "torn.parquet")
        found["release"] = release

    at_work = threading.Thread(target=run)
    at_work.start()
    done, cells = in_the_middle(session, at_work)
    cluster.kill_worker()
    cluster.start_worker()
    at_work.join(timeout=240)
    assert 0 < done < cells
    release = found["release"]
    assert release.record.plan_sha256 == whole.record.plan_sha256
    files = sorted(path.name for path in (tmp_path / "whole.parquet").iterdir())
    assert files == sorted(path.name for path in (tmp_path / "torn.parquet").iterdir())
    for name in files:
        torn, meant = (tmp_path / each / name for each in ("torn.parquet", "whole.parquet"))
        assert torn.read_bytes() == meant.read_bytes()
    rows = pq.read_table(tmp_path / "torn.parquet")
    assert np.array_equal(np.sort(rows["id"]), np.arange(30_000))
    assert sizes_of(rows, ["x", "y"]).min() >= 3
    assert release.certificate.k_found >= 3
    release.close()


def in_the_middle(session, at_work):
    """Wait until some cells are done and others are not; how many are, and how many there are."""
    tracker = session.sparkContext.statusTracker()
    while at_work.is_alive():
        for stage in tracker.getActiveStageIds():
            told = tracker.getStageInfo(stage)
            # No other stage has so many tasks as there are cells.
            if told is not None and told.numTasks > 8 and told.numCompletedTasks > 1:
                return told.numCompletedTasks, told.numTasks
        time.sleep(0.005)
    return 0, 0
