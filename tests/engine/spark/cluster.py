"""A real Spark cluster on this machine: a master and workers, each a process of its own."""

import os
import re
import shutil
import signal
import subprocess
import time
from contextlib import contextmanager
from pathlib import Path

_LOCAL = "127.0.0.1"
_PATIENCE = 120
# Programs that run for minutes: to compile them well takes longer than that saves.
JAVA = "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC -XX:-UsePerfData"


def why_not():
    """Why there can be no cluster here, None if there can."""
    try:
        import pyspark  # noqa: F401
    except ImportError:
        return "pyspark is not installed"
    home = os.environ.get("JAVA_HOME")
    there = home is not None and (Path(home) / "bin" / "java").exists()
    return None if there or shutil.which("java") else "there is no Java"


def is_required():
    """Whether the tests must not be left out."""
    return bool(os.environ.get("CI") or os.environ.get("MICROAGG_REQUIRE_SPARK"))


class Cluster:
    def __init__(self, folder):
        self.folder = folder
        self.master = None
        self.workers = []
        self.url = None

    def start(self, workers=2):
        self.master = self._daemon(
            "master", "org.apache.spark.deploy.master.Master", "--port", "0", "--webui-port", "0"
        )
        found = self._wait_for(r"Starting Spark master at (spark://\S+)", 1)
        self.url = found[0]
        for _ in range(workers):
            self.start_worker(wait=False)
        self._wait_for(r"Registering worker", workers)

    def start_worker(self, wait=True):
        number = len(self.workers)
        room = self.folder / f"worker-{number}"
        self.workers.append(
            self._daemon(
                f"worker-{number}",
                "org.apache.spark.deploy.worker.Worker",
                *("--cores", "1", "--memory", "800m", "--webui-port", "0"),
                *("--work-dir", str(room), self.url),
            )
        )
        if wait:
            self._wait_for(r"Registering worker", len(self.workers))

    def kill_worker(self):
        """The last worker that was started, and its executors, without a word of warning."""
        _signal(self.workers[-1].pid, signal.SIGKILL)
        self.workers[-1].wait()

    def stop(self):
        daemons = [each for each in (*self.workers, self.master) if each is not None]
        for each in daemons:
            _signal(each.pid, signal.SIGTERM)
        end = time.monotonic() + 10
        while any(_session(each.pid) for each in daemons) and time.monotonic() < end:
            for each in daemons:
                each.poll()
            time.sleep(0.1)
        for each in daemons:
            _signal(each.pid, signal.SIGKILL)
            each.wait()

    def _daemon(self, name, main, *arguments):
        import pyspark

        program = Path(pyspark.__file__).parent / "bin" / "spark-class"
        environment = {
            **os.environ,
            "SPARK_LOCAL_IP": _LOCAL,
            "SPARK_DAEMON_MEMORY": "256m",
            "SPARK_DAEMON_JAVA_OPTS": JAVA,
            "SPARK_LOCAL_DIRS": str(self.folder / "local"),
        }
        with (self.folder / f"{name}.log").open("wb") as log:
            # A session of its own: so all that it starts is found again.
            return subprocess.Popen(
                [str(program), main, "--host", _LOCAL, *arguments],
                env=environment,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                start_new_session=True,
            )

    def _wait_for(self, pattern, times):
        end = time.monotonic() + _PATIENCE
        while time.monotonic() < end:
            text = (self.folder / "master.log").read_text(errors="replace")
            found = re.findall(pattern, text)
            if len(found) >= times:
                return found
            assert self.master.poll() is None, text
            time.sleep(0.1)
        raise AssertionError(f"the cluster did not start:\n{text}")


@contextmanager
def running(folder):
    """A cluster of a master and two workers, gone at the end whatever happens."""
    cluster = Cluster(folder)
    try:
        cluster.start()
        yield cluster
    finally:
        cluster.stop()


def _session(leader):
    """The processes of the session that a process was started to lead."""
    found = []
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                fields = (entry / "stat").read_text().rpartition(")")[2].split()
            except OSError:
                continue
            if int(fields[3]) == leader and fields[0] != "Z":
                found.append(int(entry.name))
    return found


def _signal(leader, what):
    for process in _session(leader):
        try:
            os.kill(process, what)
        except ProcessLookupError:
            continue
