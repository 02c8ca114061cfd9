"""Spark itself: a session of our own, and its failures in one sentence."""

import logging
import os
import re
import shutil
import sys
import traceback
import warnings
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from microagg.base import errors
from microagg.base.errors import InputError, MicroaggError, OptionError
from microagg.table.checks import require

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

# It writes down every failed query with all its words, before anybody can catch the failure.
_LOUD = "DataFrameQueryContextLogger"
_OURS = re.compile(r"^microagg\.base\.errors\.(\w+): (.+)$", re.MULTILINE)
_PYTHON = re.compile(r"^([A-Za-z_][\w.]*(?:Error|Exception|Interrupt))\b", re.MULTILINE)
_LOCAL = "127.0.0.1"
_BATCH_ROWS = 1 << 16
# The work is Python's: what Java does for it is over before a better compiler has paid, and threads
# that compile or collect garbage take cores from who works.
_BRIEF_JAVA = "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC"


def require_spark() -> Any:
    """pyspark.sql, or a sentence on how to get it."""
    with _quietly():
        return require("pyspark.sql", "the Spark engine", "spark")


def start_session(
    master: str = "local[*]", settings: Mapping[str, str] | None = None
) -> "SparkSession":
    """A session of our own; its workers run this Python, one thread each.

    settings: of Spark, before ours.

    It shows no pages to the network, and where Spark runs on this machine alone it talks to nobody
    else.
    """
    sql = require_spark()
    if _java() is None:
        raise OptionError("Spark needs Java 17 or later, which was not found; install it first")
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    ours = {
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
        "spark.sql.execution.arrow.maxRecordsPerBatch": str(_BATCH_ROWS),
        "spark.executorEnv.MICROAGG_THREADS": "1",
        # Data of others may lie in the folder one works in, and files with names of modules.
        "spark.executorEnv.PYTHONSAFEPATH": "1",
    }
    if master.startswith("local") or f"//{_LOCAL}:" in master:
        ours |= {"spark.driver.host": _LOCAL, "spark.driver.bindAddress": _LOCAL}
    if master.startswith("local"):
        ours |= {"spark.driver.defaultJavaOptions": _BRIEF_JAVA}
    with plainly("start"):
        builder = sql.SparkSession.builder.appName("microagg").master(master)
        for name, value in {**ours, **(settings or {})}.items():
            builder = builder.config(name, value)
        session = builder.getOrCreate()
        session.sparkContext.setLogLevel("OFF")
    return session


def active_session() -> "SparkSession | None":
    """The session that runs already, if one does."""
    found: SparkSession | None = require_spark().SparkSession.getActiveSession()
    return found


def session_for(session: Any, master: str | None = None) -> tuple["SparkSession", bool]:
    """The session given, the one there is, or a new one; and whether it is new.

    master: of a new one: a cluster, or this machine.
    """
    with plainly("start"):
        session = session or active_session()
    return (start_session(master or "local[*]"), True) if session is None else (session, False)


@contextmanager
def plainly(doing: str = "do this") -> Iterator[None]:
    """Failures of Spark become one sentence that quotes no record."""
    from py4j.protocol import Py4JError
    from pyspark.errors import PySparkException

    with _quietly():
        try:
            yield
        except MicroaggError:
            raise
        except (PySparkException, Py4JError, ConnectionError) as failure:
            raise _sentence(failure, doing) from None
        except Exception as failure:
            # Spark was ended by others: what talks to it stumbles over half an answer.
            if not _is_of_py4j(failure):
                raise
            raise _sentence(failure, doing) from None


def _is_of_py4j(failure: BaseException) -> bool:
    *_, (frame, _) = traceback.walk_tb(failure.__traceback__)
    return str(frame.f_globals.get("__name__")).startswith("py4j.")


def _sentence(failure: BaseException, doing: str) -> MicroaggError:
    text = str(failure)
    ours = _OURS.search(text)
    if ours is not None:
        kind: type[MicroaggError] = getattr(errors, ours[1], InputError)
        return kind(ours[2].strip())
    condition = getattr(failure, "getCondition", lambda: None)()
    if condition == "PYTHON_EXCEPTION":
        found = _PYTHON.findall(text)
        condition = f"{found[-1]} in a worker" if found else None
    java = re.search(r"\b(?:java|org)\.[\w.]+(?:Error|Exception)\b", text)
    cause = condition or (java[0] if java else type(failure).__name__)
    return InputError(f"Spark could not {doing}: {cause}; its log tells more")


@contextmanager
def _quietly() -> Iterator[None]:
    """Without the log of queries and of lost connections, and without warnings about libraries that
    nobody here calls."""
    logger = logging.getLogger(_LOUD)
    before, logger.disabled = logger.disabled, True
    logging.root.addFilter(_is_not_of_py4j)
    try:
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", "PySpark does not yet fully support")
            yield
    finally:
        logger.disabled = before
        logging.root.removeFilter(_is_not_of_py4j)


def _is_not_of_py4j(record: logging.LogRecord) -> bool:
    return Path(record.pathname).parent.name != "py4j"


def _java() -> str | None:
    home = os.environ.get("JAVA_HOME")
    if home is not None and (Path(home) / "bin" / "java").exists():
        return home
    return shutil.which("java")
