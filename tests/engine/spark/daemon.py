"""Spark's own way to start Python workers, without a search for garbage after every task.

That goes through all that was ever imported, and takes longer than most tasks of these tests.
"""

import gc
from types import SimpleNamespace

from pyspark import daemon

if __name__ == "__main__":
    daemon.gc = SimpleNamespace(collect=gc.freeze)
    daemon.manager()
