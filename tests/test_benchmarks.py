"""The page that says which result is whose."""

import subprocess
import sys
from pathlib import Path


def test_the_index_of_results_is_in_step():
    script = Path(__file__).parents[1] / "benchmarks" / "index.py"
    done = subprocess.run(
        [sys.executable, str(script), "--check"], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
