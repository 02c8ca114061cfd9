"""One page: every table and figure of the five papers, published beside ours, with a verdict.

    python benchmarks/papers/page.py [--check]

Reads the tables in benchmarks/results and writes benchmarks/results/index.md; with --check it
writes nothing, and fails where the page on disk is another. Verdicts are counted, not written: a
cell is *met* where the published digits are, *better* where less is lost, and *missed* by the rest.
"""

import csv
import sys
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import NamedTuple

RESULTS = Path(__file__).resolve().parents[1] / "results"
PAGE = RESULTS / "index.md"
SECONDS = "papers_seconds"
DRAWN = "an illustration, nothing to measure"


class Entry(NamedTuple):
    """A row of the page. `verdict` is asked when the page is made."""

    item: str
    shows: str
    published: str
    result: str
    command: str
    verdict: Callable[[], tuple[str, str]]


def rows_of(stem: str) -> list[dict[str, str]]:
    with (RESULTS / f"{stem}.csv").open(encoding="utf-8", newline="") as stream:
        return list(csv.DictReader(stream))


def number(text: str) -> float:
    return float(text.split("±")[0].replace(",", "").replace("%", ""))


def told(counts: dict[str, int], worst: str = "") -> str:
    """Counts that are not nought, in words."""
    words = ", ".join(f"{count} {name}" for name, count in counts.items() if count)
    return f"{words}{worst}"


def column(stem: str, published: str, ours: str) -> Callable[[], tuple[str, str]]:
    """A column of losses beside the published one; the tolerance is its last digit."""

    def judge() -> tuple[str, str]:
        counts = {"met": 0, "better": 0, "missed": 0}
        worst, where = 0.0, ""
        for row in rows_of(stem):
            one, other = float(row[published]), float(row[ours])
            unit = 10.0 ** -len(row[published].partition(".")[2])
            kind = "met" if abs(one - other) < unit / 2 else "better" if other < one else "missed"
            counts[kind] += 1
            if other / one - 1 > worst and kind == "missed":
                worst, where = other / one - 1, f"{row['data']} {row['k']}"
        late = f" by {100 * worst:.1f} % at most ({where})" if where else ""
        ours_cells = " ".join(row[ours] for row in rows_of(stem))
        return ours_cells, told(counts, late)

    return judge


def near(
    stem: str, pairs: Iterable[tuple[str, str]], stands: str = ""
) -> Callable[[], tuple[str, str]]:
    """Columns that should be near the published ones: by how many points they are off."""

    def judge() -> tuple[str, str]:
        rows = [row for row in rows_of(stem) if row["data"] != stands]
        words = []
        for published, ours in pairs:
            away = [abs(number(row[ours]) - number(row[published])) for row in rows]
            words.append(f"{ours} off by {sum(away) / len(away):.2f} (at most {max(away):.2f})")
        verdict = f"met within {words[0].partition('off by ')[2]} points"
        return "; ".join(words), verdict + (f"; {stands} is a stand-in" if stands else "")

    return judge


def claims(
    stem: str, own: Callable[[dict[str, str]], bool], stands: str = ""
) -> Callable[[], tuple[str, str]]:
    """What a paper says of its curves: how many of the claims that are a figure's own hold."""

    def judge() -> tuple[str, str]:
        rows = [row for row in rows_of(stem) if own(row)]
        rows = [row for row in rows if row.get("paper") not in ("none", "not shown")]
        held = sum(row["holds"] == "yes" for row in rows)
        missing = [_unlike(row) for row in rows if row["holds"] != "yes"]
        words = f"{held} of {len(rows)} claims hold"
        verdict = "met" if not missing else "missed: " + "; ".join(missing)
        return words, verdict + (f"; {stands} is a stand-in" if stands else "")

    return judge


def _unlike(row: dict[str, str]) -> str:
    """A claim that does not hold, and what was found instead."""
    published = f"published {row['paper']}, " if "paper" in row else ""
    return f"{row['claim']} ({published}ours {row['ours' if published else 'here']})"


def of_figures(*figures: str) -> Callable[[dict[str, str]], bool]:
    return lambda row: row["figure"] in figures


def about(*words: str, but: bool = False) -> Callable[[dict[str, str]], bool]:
    """Claims with any of these words in them, or with none."""
    return lambda row: any(word in row["claim"] for word in words) != but


def fixed(ours: str, verdict: str) -> Callable[[], tuple[str, str]]:
    return lambda: (ours, verdict)


def integer_table_1() -> tuple[str, str]:
    rows = rows_of("imhmi_table1")
    inside = 0
    for row in rows:
        for name in ("IMHM", "IMHMI"):
            mean, spread = (number(x) for x in row[f"{name} published"].split("±"))
            own_spread = number(row[f"{name} ours"].split("±")[1])
            apart = abs(number(row[f"{name} ours"]) - mean)
            few = int(row["seeds"])
            inside += apart <= 3 * (spread**2 / 30 + max(spread, own_spread) ** 2 / few) ** 0.5
    quicker = sum(
        number(row["ours s"]) < float(row["MHM, IMHM, IMHMI published s"].split(", ")[1])
        for row in rows
    )
    seeds = " or ".join(sorted({row["seeds"] for row in rows}))
    ours = f"{len(rows)} rows, {seeds} seeds; {quicker} quicker than IMHM's"
    return ours, f"{inside} of {2 * len(rows)} means within three standard errors"


def integer_table_3() -> tuple[str, str]:
    counts = {"met": 0, "better": 0, "met where ties go as in the paper": 0, "missed": 0}
    stand_in = 0
    for row in rows_of("imhmi_table3"):
        if row["data"] == "vlcensus":
            stand_in += 2
            continue
        for name in ("IMHM", "IMHMI"):
            one, other = int(row[f"{name} published"]), int(row[name])
            if one == other:
                counts["met"] += 1
            elif row["order"] == "tsp":
                counts["better" if other < one else "missed"] += 1
            else:
                counts["met where ties go as in the paper" if _tied(row) else "missed"] += 1
    return "see the table; tours are shorter than the paper's", told(
        {**counts, "of a stand-in (vlCensus)": stand_in}
    )


def _tied(row: dict[str, str]) -> bool:
    return any("larger group" in cell for cell in row.values())


def integer_figure(figure: str) -> Callable[[], tuple[str, str]]:
    def judge() -> tuple[str, str]:
        rows = [row for row in rows_of("imhmi_figures") if row["figure"] == figure]
        last = rows[-1]
        times = float(last["MHM s"]) / float(last["ours s"])
        words = f"k = {last['k']}: MHM {last['MHM s']} s, IMHM {last['IMHM s']} s"
        words += f", ours {last['ours s']} s"
        stands = "; data are a stand-in" if "stand-in" in last["data"] else ""
        return words, f"met: MHM takes {times:.0f} times as long{stands}"

    return judge


def reporder_table_3() -> tuple[str, str]:
    rows = rows_of("reporder_table3")
    quicker = sum(float(row["seconds ours"]) < float(row["seconds published"]) for row in rows)
    away = [int(row["iterations ours"]) / int(row["iterations published"]) - 1 for row in rows]
    words = f"iterations {100 * min(away):+.1f} to {100 * max(away):+.1f} %"
    return words, f"better: quicker in {quicker} of {len(rows)}"


def energy() -> tuple[str, str]:
    rows = [row for row in rows_of("pca_energy") if row["data"] == "EIA"]
    away = abs(99.5 - float(rows[4]["percent"]))
    return f"{rows[4]['percent']} %", f"met within {away:.2f} points"


def proximity_figure(figure: str) -> Callable[[], tuple[str, str]]:
    def judge() -> tuple[str, str]:
        rows = [row for row in rows_of("p3m_figures2to5") if row["figure"] == figure]
        known = [row for row in rows if row["published"]]
        column = "asked of all alike, judged by |z|"
        if not known:
            by_k: dict[str, list[float]] = {}
            for row in rows:
                by_k.setdefault(row["k"], []).append(float(row["asked and judged by |z|"]))
            rising = sum(levels == sorted(levels) for levels in by_k.values())
            words = f"rises with importance at {rising} of {len(by_k)} k"
            return words, "met" if rising == len(by_k) else "missed in part"
        written = "asked and judged by |z|"
        away, fitted = (
            max(abs(float(row[name]) - float(row["published"])) for row in known)
            for name in (written, column)
        )
        ours, other = (" and ".join(row[name] for row in known) for name in (written, column))
        words = f"missed by {away:.2f} points as written; by {fitted:.2f} in a reading that was"
        words += " picked from six because it fits"
        return f"{ours} as written, {other} in another reading", words

    return judge


def proximity_seconds() -> tuple[str, str]:
    most = max(float(row["ours, global"]) for row in rows_of("p3m_table5"))
    return f"at most {most:.3f} s of the processor", "better"


def proximity_index() -> tuple[str, str]:
    rows = rows_of("p3m_table6")
    better = sum(float(row["P3M ours"]) <= float(row["P3M published"]) for row in rows)
    dream = sum(float(row["P3M ours"]) < float(row["DREAM published"]) for row in rows)
    words = f"ours below P3M's in {better}, below DREAM's in {dream} of {len(rows)}"
    verdict = f"better in {better}, missed in {len(rows) - better}; DREAM only as published:"
    verdict += " the paper does not say what bounds the distances that it maximises"
    return words, verdict


def entries() -> dict[str, list[Entry]]:
    imhmi, order, pca = "imhmi.py", "reporder.py", "pca.py"
    p3m, figures, dp = "p3m.py", "p3m_figures.py", "dp.py --runs 100"
    data = fixed("the same files, sizes checked by tests", "met")
    both = (("P3M published", "P3M global"), ("MDAV published", "MDAV ours"))
    table, census = "reporder_table2", "Large Census"
    attributes = ("price:", "longitude:", "latitude:")
    return {
        "IMHMI: Improved univariate microaggregation for integer values": [
            Entry("Table 1", "SSE and seconds of random integers", "25 rows, 30 seeds",
                  "imhmi_table1", f"{imhmi} table1", integer_table_1),
            Entry("Table 2", "data sets", "five", "", "",
                  fixed("four of them, vlCensus as a stand-in of its size", "met, one stand-in")),
            Entry("Table 3", "SSE along four orders", "200 cells", "imhmi_table3",
                  f"{imhmi} table3", integer_table_3),
            Entry("Figure 1", "time by k, vlCensus", "curves", "imhmi_figures",
                  f"{imhmi} figures", integer_figure("1")),
            Entry("Figure 2", "time by k, forest", "curves", "imhmi_figures",
                  f"{imhmi} figures", integer_figure("2")),
        ],
        "RepOrdMic: Repeated record ordering for constrained size clustering": [
            Entry("Figure 1", "insertion of a record", "a drawing", "", "", fixed("", DRAWN)),
            Entry("Table 1", "data sets", "three", "", "", data),
            *(
                Entry(f"Table 2, {name}", "information loss, nine cells",
                      " ".join(row[f"{method} published"] for row in rows_of(table)),
                      table, order, column(table, f"{method} published", f"{method} ours"))
                for name, method in (("MDAV", "mdav"), ("MDAV-MHM", "mdav-mhm"), ("IMHM", "imhm"),
                                     ("IGD", "igd"), ("RepOrdMic", "reporder"))
            ),
            Entry("Table 3", "time and iterations", "nine rows", "reporder_table3", order,
                  reporder_table_3),
        ],
        "PCA: large-scale microaggregation by principal components": [
            Entry("Figures 1, 2", "the plan of the project", "drawings", "", "", fixed("", DRAWN)),
            Entry("Figures 3 to 16", "how the algorithms work", "drawings", "", "",
                  fixed("", DRAWN)),
            Entry("Figure 17", "energy of EIA in 5 of 10 dimensions", "99.5 %", "pca_energy", pca,
                  energy),
            *(
                Entry(f"Figure {figure}", shows, "curves", f"pca_figure{figure}", pca,
                      claims("pca_claims", of_figures(figure, also), stands))
                for figure, shows, also, stands in (
                    ("18", "seconds, PCA & MDAV, Large Census", "", census),
                    ("19", "distortion, Large Census", "19, 21", census),
                    ("20", "seconds, Quant Forest", "", ""),
                    ("21", "distortion, Quant Forest", "19, 21", ""),
                )
            ),
            Entry("Figure 22", "energy of Quant Forest", "a curve", "pca_energy", pca,
                  lambda: ("the curve", "drawn; the paper prints no number")),
            *(
                Entry(f"Figure {figure}", shows, "curves", f"pca_figure{figure}", pca,
                      claims("pca_claims", of_figures(figure), census))
                for figure, shows in (
                    ("23", "time saved by dimensions"), ("24", "distortion by dimensions"),
                    ("25", "seconds, Piecewise PCA"), ("26", "distortion, Piecewise PCA"),
                    ("27", "against A"), ("28", "against B"), ("29", "seconds of the hybrid"),
                    ("30", "distortion of the hybrid"), ("31", "seconds by k"),
                    ("32", "distortion by k"),
                )
            ),
        ],
        "DP: private releases over groups": [
            Entry("Figures 1, 2", "how releases are made", "drawings", "", "", fixed("", DRAWN)),
            Entry("Figure 3", "SSE by k, epsilon 1 and 2, Census", "curves", "dp_figure3", dp,
                  claims("dp_claims", about(*attributes, but=True))),
            Entry("Figure 4", "MSE of the price by k and records", "curves", "dp_figure4", dp,
                  claims("dp_claims", about("MDAV_IR_DP_1 at its best k", "larger best k"))),
            Entry("Figure 5", "the same beside OPT_DP_1; longitude and latitude are in dp_claims",
                  "curves", "dp_figure5", dp,
                  claims("dp_claims", about("MSE: OPT_DP_1", "is close to", "twice the records"))),
        ],
        "P3M: fine granular proximity breach prevention": [
            Entry("Table 1", "data sets", "four", "", "",
                  fixed("three, and a stand-in for the synthetic one", "met, one stand-in")),
            Entry("Figure 1", "29 points, moved centroids", "a drawing", "", "",
                  fixed("", f"{DRAWN}: its points are not printed")),
            Entry("Table 2", "satisfaction, importance 0.001", "16 rows", "p3m_table2", p3m,
                  near("p3m_table2", both, "synthetic")),
            Entry("Table 3", "satisfaction, random importance", "16 rows", "p3m_table3", p3m,
                  near("p3m_table3", both, "synthetic")),
            Entry("Table 4", "scoring index, best of 16 settings", "16 rows", "p3m_table4", p3m,
                  near("p3m_table4", (("P3M published", "P3M local"), *both), "synthetic")),
            Entry("Table 5", "seconds", "1 to 3 s", "p3m_table5", p3m, proximity_seconds),
            Entry("Table 6", "scoring index beside DREAM", "12 rows", "p3m_table6", p3m,
                  proximity_index),
            *(
                Entry(f"Figure {figure}", f"satisfaction by k and importance, {name}",
                      "90.48 and 93.05" if figure == "2" else "curves", "p3m_figures2to5", figures,
                      proximity_figure(figure))
                for figure, name in zip("2345", ("Tarragona", "Census", "EIA", "a stand-in"),
                                        strict=True)
            ),
            *(
                Entry(f"Figure {figure}", f"six indexes, {name}", "curves", "p3m_figures6to9",
                      figures, claims("p3m_claims", of_figures(figure)))
                for figure, name in zip("6789", ("Tarragona", "Census", "EIA", "a stand-in"),
                                        strict=True)
            ),
        ],
    }  # fmt: skip


def page() -> str:
    spent = {row["command"]: row for row in rows_of(SECONDS)}
    lines = [
        "# The papers, published and ours",
        "",
        "Every table and figure of the five papers. Made by `benchmarks/papers/page.py` from the",
        "tables beside it; `make papers` runs all commands, `make papers QUICK=1` small parts of",
        "them, and writes nothing. Seconds are those of the processor and, in",
        "brackets, on the clock, if nothing else ran beside it; none, where the last run was",
        "not timed. All results have a line in [README](README.md).",
        "",
    ]
    for paper, own in entries().items():
        lines += [f"## {paper}", ""]
        lines += ["| item | shows | published | ours | verdict | command | seconds |"]
        lines += ["| --- | --- | --- | --- | --- | --- | --- |"]
        for entry in own:
            ours, verdict = entry.verdict()
            linked = f"[{entry.item}]({_file(entry.result)})" if entry.result else entry.item
            took = spent.get(entry.command)
            seconds = took["processor seconds"] if took else ""
            seconds += f" ({took['seconds']})" if took and took["seconds"] else ""
            command = f"`benchmarks/papers/{entry.command}`" if entry.command else ""
            cells = (linked, entry.shows, entry.published, ours, verdict, command, seconds)
            lines.append("| " + " | ".join(cell.replace("|z|", "z") for cell in cells) + " |")
        lines.append("")
    return "\n".join(lines[:-1]) + "\n"


def _file(stem: str) -> str:
    return f"{stem}.md" if (RESULTS / f"{stem}.md").exists() else f"{stem}.svg"


def main() -> None:
    text = page()
    if "--check" not in sys.argv[1:]:
        PAGE.write_text(text, encoding="utf-8")
    elif not PAGE.exists() or PAGE.read_text(encoding="utf-8") != text:
        sys.exit("benchmarks/results/index.md is out of step; run benchmarks/papers/page.py")


if __name__ == "__main__":
    main()
