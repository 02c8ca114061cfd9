"""The index of results: a line for each, what it shows and which script made it.

    python benchmarks/index.py [--check]

Writes benchmarks/results/README.md; with --check it writes nothing, and fails where the page on
disk is another. A result without a line here, or a line without a result, fails as well.
"""

import re
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
RESULTS = HERE / "results"
PAGE = RESULTS / "README.md"
# By script: the name of a result, and what it shows; a chart says so itself.
MADE: dict[str, dict[str, str]] = {
    "speed/univariate.py": {
        "univariate_speed": "optimal univariate grouping against numpy.argsort and peers, "
        "its memory and first call",
    },
    "speed/ratios.py": {
        "ratios": "every part with one thread and with two: seconds, serial share, ratio to "
        "sorting 10^6 numbers, memory; `benchmarks/compare.py` holds two runs against each other",
    },
    "speed/grouping.py": {
        "grouping_speed": "MDAV with its index against brute force; the orderings",
    },
    "speed/protect.py": {
        "protect_speed_auto": "time and memory of protect on 10^6 x 10, the default method",
        "protect_speed_zscore": "the same with the fastest method",
        "protect_speed_auto_parquet": "the default method, from Parquet to Parquet",
        "protect_speed_zscore_parquet": "the fastest method, from Parquet to Parquet",
    },
    "speed/demands.py": {
        "demands_time": "what diversity and closeness add to the time of protect on 10^6 x 10, "
        "where quasi-identifiers tell little of the confidential column and where they tell much",
        "demands_disk": "time and memory of protect with both demands on disk",
    },
    "speed/risk.py": {
        "risk_speed": "time and memory of inspect --risk on 10^6 x 8 keys, and of special uniques "
        "on 10^5 x 8",
    },
    "speed/engines.py": {
        "engines_rate": "records a second and peak memory on disk, up to 20 million records",
        "engines_loss": "information loss in cells against the whole table in one",
        "engines_spark": "Spark beside the disk: time, memory, and whether the releases are equal",
    },
    "papers/imhmi.py": {
        "imhmi_figures": "integer microaggregation, Figures 1 and 2: seconds to split, by k",
        "imhmi_figure?": "",
        "imhmi_table1": "integer microaggregation, Table 1: SSE and seconds, published and ours",
        "imhmi_table3": "integer microaggregation, Table 3: SSE along four orders of records",
    },
    "papers/reporder.py": {
        "reporder_table2": "repeated record ordering, Table 2: information loss",
        "reporder_table3": "repeated record ordering, Table 3: time and iterations",
    },
    "papers/p3m.py": {
        "p3m_table2": "proximity, Table 2: satisfaction, importance 0.001",
        "p3m_table3": "proximity, Table 3: satisfaction, random importance",
        "p3m_table4": "proximity, Table 4: scoring index, the best of 16 settings",
        "p3m_table5": "proximity, Table 5: seconds to aggregate",
        "p3m_table6": "proximity, Table 6: scoring index beside DREAM",
    },
    "papers/p3m_figures.py": {
        "p3m_figures2to5": "proximity, Figures 2 to 5: satisfaction where distances are relative",
        "p3m_figures6to9": "proximity, Figures 6 to 9: six indexes by k and importance",
        "p3m_claims": "proximity: what the paper says of its figures, and whether it holds",
        "p3m_figure*": "",
    },
    "papers/all.py": {
        "papers_seconds": "how long each command of the papers took",
    },
    "papers/page.py": {
        "index": "every table and figure of the papers: published, ours, verdict",
    },
    "papers/dp.py": {
        "dp_figure3": "private releases, Figure 3: SSE by epsilon, k and method",
        "dp_figure3_*": "",
        "dp_figure4": "private releases, Figure 4: error by k and number of records",
        "dp_figure5": "private releases, Figure 5: the optimal split against the best k",
        "dp_claims": "private releases: the paper's claims, and whether they hold",
        "dp_speed": "the noise-aware split against numpy.argsort",
    },
    "papers/best.py": {
        "best_losses": "information loss published, of each heuristic and of searches, the least "
        "known (labels in [best](best)), and the lower bound",
        "best_forest": "a minute of search on 581,012 records",
        "best_cells": "search after grouping in cells, against the whole",
    },
    "papers/leaderboard.py": {
        "leaderboard": "the leaderboard: every method of the registry and every loss of the "
        "literature, the least first: loss, distance to the least known and to the bound, seconds",
    },
    "papers/mixed.py": {
        "mixed_losses": "tables with categories: information loss of each method, and of a search "
        "with and without a look at categories; their time",
    },
    "papers/closeness.py": {
        "closeness": "t-closeness: loss of t-merge, t-swap, t-first and groups searched under t",
        "closeness_gains": "t-closeness: how far the search is below the best of the three",
    },
    "papers/pca.py": {
        "pca_energy": "PCA and cells: variance held by the first components",
        "pca_records_*": "PCA and cells: time and distortion by the number of records",
        "pca_dimensions": "PCA and cells: time and distortion by the dimensions kept",
        "pca_k": "PCA and cells: time and distortion by k",
        "pca_hybrid": "PCA and cells: the hybrid of Lloyd and PCA, to the letter and ours",
        "pca_claims": "PCA and cells: the paper's claims, and whether they hold",
        "pca_bar": "PCA and cells: all of forest against brute force",
        "pca_figure*": "",
    },
    "audit/demands.py": {
        "demands_judged": "pycanon on releases of all of Adult under nine demands, in memory and "
        "on disk: groups of mdav, repaired",
    },
    "audit/private.py": {
        "private_audit": "the share of its epsilon that each private method exceeds for certain",
    },
    "audit/attacks.py": {
        "attacks": "what an intruder finds in releases, without each remedy and with it",
    },
}


def page() -> str:
    """The index as Markdown."""
    files = sorted(path for path in RESULTS.iterdir() if path.is_file() and path != PAGE)
    lines = ["| result | shows | made by |", "| --- | --- | --- |"]
    for script, results in MADE.items():
        for pattern, words in results.items():
            own = [path for path in files if Path(path.stem).match(pattern)]
            if not own or not (HERE / script).exists():
                sys.exit(f"benchmarks/index.py names {pattern} of {script}, which is not there")
            files = [path for path in files if path not in own]
            for stem in sorted({path.stem for path in own}):
                links = [f"[{p.suffix[1:]}]({p.name})" for p in own if p.stem == stem]
                shows = words or chart_title(RESULTS / f"{stem}.svg")
                lines.append(f"| {stem} {' '.join(links)} | {shows} | `{script}` |")
    if files:
        names = ", ".join(path.name for path in files)
        sys.exit(f"no line in benchmarks/index.py says what these results show: {names}")
    head = "# Results\n\nThe last run of each benchmark. Made by `python benchmarks/index.py`.\n\n"
    return head + "\n".join(lines) + "\n"


def chart_title(path: Path) -> str:
    """The title of a chart, and the names of its curves."""
    title, *labels = re.findall(r'<text .*fill="([^"]*)">(.*)</text>', path.read_text("utf-8"))
    curves = [name for colour, name in labels if colour.startswith("hsl")]
    return f"{title[1]} ({'; '.join(curves)})"


def main() -> None:
    text = page()
    if "--check" not in sys.argv[1:]:
        PAGE.write_text(text, encoding="utf-8")
    elif not PAGE.exists() or PAGE.read_text(encoding="utf-8") != text:
        sys.exit("benchmarks/results/README.md is out of step; run python benchmarks/index.py")


if __name__ == "__main__":
    main()
