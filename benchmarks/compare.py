"""What got slower, faster, larger or smaller between two runs of benchmarks/speed/ratios.py.

    python benchmarks/compare.py [OLD [NEW]]

Each is a file, or a revision whose committed run is meant; by default the last committed run and
the one on disk. Ratios to one yardstick are compared, so the machines need not be equally fast;
differences of up to a tenth are noise. Ends with 1 if anything got slower or larger.
"""

import argparse
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
from benchmarks.measuring import RESULTS, show

NOISE = 1.1
# Below this, memory is that of the interpreter and its moods.
FEW_MEGABYTES = 20.0
RUN = "benchmarks/results/ratios.json"


def load(which: str) -> dict[str, Any]:
    """A run from a file, or as it was committed in a revision."""
    if Path(which).is_file():
        return json.loads(Path(which).read_text(encoding="utf-8"))
    words = ["git", "-C", str(RESULTS.parents[1]), "show", f"{which}:{RUN}"]
    done = subprocess.run(words, capture_output=True, text=True, check=False)
    if done.returncode:
        sys.exit(f"{which!r} is neither a file nor a revision with {RUN}")
    return json.loads(done.stdout)


def compare(old: dict[str, Any], new: dict[str, Any]) -> list[tuple[str, str, str, str, str]]:
    """For each job of either run: what was, what is, the quotient, and a word where it matters."""
    rows = []
    for name in dict.fromkeys((*old["jobs"], *new["jobs"])):
        before, after = old["jobs"].get(name), new["jobs"].get(name)
        if before is None or after is None:
            rows.append((name, "", "", "", "new" if before is None else "gone"))
            continue
        for what, worse, better, least in (
            ("ratio", "slower", "faster", 0.0),
            ("megabytes", "larger", "smaller", FEW_MEGABYTES),
        ):
            was, now = max(before[what], least), max(after[what], least)
            word = worse if now > NOISE * was else better if was > NOISE * now else ""
            if what == "ratio" or word:
                rows.append((name, f"{was:.1f}", f"{now:.1f}", f"{now / was:.2f}", word))
    return rows


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("old", nargs="?", default="HEAD")
    parser.add_argument("new", nargs="?", default=str(RESULTS / "ratios.json"))
    asked = parser.parse_args()
    old, new = load(asked.old), load(asked.new)
    rows = compare(old, new)
    title = f"{old['commit']} against {new['commit']}: ratios, or megabytes where these changed"
    show(title, ("job", "before", "now", "now / before", ""), rows)
    sys.exit(any(word in ("slower", "larger") for *_, word in rows))


if __name__ == "__main__":
    main()
