"""Invented stories that fill every part of a page."""

import math

from microagg.columns.told import Attribute, Bar, Correlations
from microagg.measure.figures import Figure
from microagg.report.comparison import Choice, Comparison
from microagg.report.story import Story

RECORDS = 3000
NASTY = "<script>alert(1)</script>\"'&"
LONG = "a_very_long_column_name_" * 9
RIGHT_TO_LEFT = "גיל המטופל בשנים"


def bell(low, high, bins, centre, width, told, skew=0.0, shrink=0.94):
    """Bins of a rounded heap of records, a little narrower after than before."""

    def counts(width):
        middles = [low + (high - low) * (i + 0.5) / bins for i in range(bins)]
        away = [(x - centre) / width for x in middles]
        heap = [math.exp(-0.5 * z * z / (1 + skew * (z > 0) * z)) for z in away]
        return [round(RECORDS * each / sum(heap)) for each in heap]

    edges = [low + (high - low) * i / bins for i in range(bins + 1)]
    jitter = [round(6 * math.sin(5 * i)) for i in range(bins)]
    before = [max(0, a + b) for a, b in zip(counts(width), jitter, strict=True)]
    labels = [f"{edges[i]:g} to {edges[i + 1]:g}" for i in range(bins)]
    after = counts(width * shrink)
    return tuple(
        Bar(labels[i], edges[i], edges[i + 1], before[i] if told else None, after[i])
        for i in range(bins)
    )


def _told(told, **figures):
    """The figures about the original, where they are told."""
    return figures if told else {}


def attributes(told=True):
    quasi, confidential = "quasi-identifier", "confidential"
    admitted = [f"{year}-{month:02}" for year in (2023, 2024) for month in range(1, 13)]
    diagnoses = ("circulatory", "injury", "respiratory", "digestive", "infection", "neoplasm")
    counts = (764, 611, 540, 475, 358, 252)
    numeric = (
        ("age", quasi, "integer", (18, 98, 20, 52, 17), 52.3731, 52.3733, 18.914, 18.511, 2.14),
        ("height_cm", quasi, "continuous", (140, 205, 20, 171, 9), 171.28, 171.28, 9.41, 8.9, 5.63),
        ("weight_kg", quasi, "continuous", (40, 150, 22, 77, 13), 77.12, 77.12, 15.2, 14.5, 6.02),
        ("income", quasi, "continuous", (0, 120000, 24, 26000, 9000, 1.6), 31244.718,
         31244.718, 17580.6, 16902.3, 4.9),
        ("distance_km", quasi, "continuous", (0, 80, 16, 4, 9, 1), 12.081, 12.081, 11.4, 10.7,
         7.71),
    )  # fmt: skip
    made = [
        Attribute(
            name=name, role=role, kind=kind,
            bars=bell(*shape[:5], told, *shape[5:]),
            mean_after=mean_after, deviation_after=deviation_after, missing_after=0,
            **_told(told, mean_before=mean, deviation_before=deviation, missing_before=0, loss=loss,
                    changed=98.43),
        )
        for name, role, kind, shape, mean, mean_after, deviation, deviation_after, loss in numeric
    ]  # fmt: skip
    made += [
        Attribute(
            name="admitted", role=quasi, kind="date",
            bars=tuple(
                Bar(label, i, i + 1, 120 + 5 * (i % 7) if told else None, 118 + 5 * (i % 6))
                for i, label in enumerate(admitted)
            ),
            mean_after="2024-01-09", deviation_after=203.1,
            **_told(told, mean_before="2024-01-08", deviation_before=210.9, loss=7.3,
                    changed=99.98),
        ),
        Attribute(
            name="diagnosis", role=confidential, kind="nominal",
            bars=tuple(
                Bar(label, None, None, count if told else None, count)
                for label, count in zip(diagnoses, counts, strict=True)
            ),
            missing_after=14, **_told(told, changed=0.0, missing_before=14),
        ),
        Attribute(
            name="stay_days", role=confidential, kind="integer",
            bars=bell(0, 30, 30, 3, 4, told, 1, 1.0), mean_after=5.21, deviation_after=4.4,
            **_told(told, mean_before=5.21, deviation_before=4.4, changed=0.0),
        ),
        Attribute(
            name="cost", role=confidential, kind="continuous",
            bars=bell(0, 40000, 20, 4000, 5000, told, 1.5, 1.0), mean_after=8211.25,
            deviation_after=5401.9,
            **_told(told, mean_before=8211.25, deviation_before=5401.9, changed=0.0),
        ),
        Attribute(
            name="triage", role=quasi, kind="ordinal",
            bars=tuple(
                Bar(label, None, None, before if told else None, after)
                for label, before, after in (
                    ("immediate", 91, 60), ("very urgent", 402, 388), ("urgent", 1207, 1300),
                    ("standard", 1021, 1040), ("non-urgent", 279, 212),
                )
            ),
            **_told(told, loss=11.2, changed=9.4),
        ),
    ]  # fmt: skip
    return tuple(made)


def correlations(told=True):
    names = ("age", "height_cm", "weight_kg", "income", "distance_km")
    before = (
        (1.0, -0.11, 0.08, 0.21, 0.02),
        (-0.11, 1.0, 0.52, 0.1, 0.0),
        (0.08, 0.52, 1.0, 0.05, -0.01),
        (0.21, 0.1, 0.05, 1.0, -0.14),
        (0.02, 0.0, -0.01, -0.14, 1.0),
    )
    after = tuple(
        tuple(r if r == 1 else r + 0.09 * math.sin(7 * (i + j) + i * j) for j, r in enumerate(row))
        for i, row in enumerate(before)
    )
    return Correlations(names, before if told else None, after)


def many_correlations(n):
    """The same for any number of columns."""
    table = tuple(
        tuple(1.0 if i == j else math.sin(i * j + i + j) for j in range(n)) for i in range(n)
    )
    moved = tuple(tuple(0.9 * r for r in row) for row in table)
    return Correlations(tuple(f"column_{i}" for i in range(n)), table, moved)


def figure(title, value, description, better, group):
    """A figure and its value; how it is computed is not told."""
    return Figure(title, title, "", description, len, group, better), value


FIGURES = (
    figure("Records linked to their original", "1.9 %", "An intruder who knows all "
           "quasi-identifiers exactly and guesses the nearest record would be right this often.",
           "lower", "risk"),
    figure("Expected by chance", "20 %", "The bound that groups of five promise.", "lower", "risk"),
    figure("Rank intervals holding the original", "0.7312", "Share of values whose "
           "original lies within 10 ranks.", "lower", "risk"),
    figure("Information loss", "4.77 %", "Part of the variation of the quasi-identifiers that is "
           "gone, in percent.", "lower", "utility"),
    figure("Probabilistic loss", "8.1 %", "How surely a user would notice, averaged over all.",
           "lower", "utility"),
    figure("Requests met", "12 of 12", "Conditions the recipe set.", "higher", "satisfaction"),
)  # fmt: skip

RECIPE = """\
k = 5
method = "mdav"
seed = 0

[columns]
identifiers = ["name", "patient_id"]
quasi_identifiers = ["age", "height_cm", "weight_kg", "income", "distance_km"]
confidential = ["diagnosis", "stay_days", "cost"]
"""


def patients(told=True, verdict=True, **changes):
    """The story of a release of invented patients; `told` for the board, else for everybody."""
    facts = (
        ("patients", RECORDS),
        ("fewest who look alike (k = 5 was asked)", 5),
        ("groups", 587),
        ("highest chance to single out a patient", "1 in 5"),
    )
    certificate = (
        ("Release, SHA-256", "9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08"),
        ("Fewest records alike", "5 (k = 5 was asked)"),
        ("Columns checked", "age, height_cm, weight_kg, income, distance_km"),
    )
    if told:
        facts += (("information loss", "4.8 %"), ("direct identifiers removed", 2))
        certificate += (
            ("Input, SHA-256", "2c26b46b68ffc68ff99b453c1d30413413422d706483bfa0f98a5e886266e7ae"),
        )
    story = {
        "title": "Hospital stays 2024: protected release",
        "public": not told,
        "verdict": verdict,
        "verdict_sentence": (
            "Counted on the finished file: every combination of the five quasi-identifiers is "
            "shared by at least 5 of the 3 000 patients, as was asked."
        ),
        "guarantee": (
            "Whoever knows a patient's age, height, weight, income and distance, however exactly, "
            "finds at least five patients in this release who fit equally well, and cannot tell "
            "which of them it is.",
            "The promise was checked on the file itself, after it was written, and does not depend "
            "on what method made the groups.",
        ),
        "limits": (
            "Patients who look alike may also share a diagnosis; then it is known without knowing "
            "who is who.",
            "Columns named confidential are published as they are. Someone who knows a patient's "
            "exact cost can find the record by it.",
            "Several releases of the same patients may protect less together than each does alone.",
        ),
        "facts": facts,
        "done": (
            "The columns name and patient_id, which identify a person, were removed.",
            "The 3 000 patients were put into 587 groups of 5 to 9 who are alike in age, height, "
            "weight, income and distance.",
            "In each group these five values were replaced by the group's mean; ages were rounded.",
            "The finished file was read again and every combination of values counted.",
        ),
        "roles": (
            ("name", "identifier", "removed"),
            ("patient_id", "identifier", "removed"),
            ("age", "quasi-identifier", "mean of the group, rounded"),
            ("height_cm", "quasi-identifier", "mean of the group"),
            ("weight_kg", "quasi-identifier", "mean of the group"),
            ("income", "quasi-identifier", "mean of the group"),
            ("distance_km", "quasi-identifier", "mean of the group"),
            ("diagnosis", "confidential", "as it was"),
            ("stay_days", "confidential", "as it was"),
            ("cost", "confidential", "as it was"),
        ),
        "group_sizes": ((5, 541), (6, 31), (7, 9), (8, 4), (9, 2)),
        "figures": FIGURES if told else (),
        "attributes": attributes(told),
        "correlations": correlations(told),
        "notes": ("14 patients have no diagnosis; they were grouped like all others.",),
        "certificate": certificate,
        "recipe": RECIPE,
        "reproduce": "microagg protect patients.csv release.csv --recipe release.toml",
        "software": "microagg 0.1.0",
        "made": "15 November 2026, 22:10 UTC",
    }  # fmt: skip
    return Story(**(story | changes))


def comparison():
    """Three methods at five k."""
    choices = tuple(
        Choice(method, method, k, RECORDS // k, loss * k**0.7, risk / k + 1.1, None, 0.8123456)
        for method, risk, loss in (("mdav", 40, 1.6), ("tour", 41, 1.5), ("cells", 38, 2.9))
        for k in (3, 5, 10, 20, 50)
    )
    return Comparison(
        source="Hospital stays 2024: fifteen ways to protect them",
        columns=("age", "income"),
        choices=choices,
        recommended=next(each for each in choices if each.label == "tour, k = 5"),
        recommendation=(
            "tour with k = 5: of the choices that link at most 10 % of the records it loses least.",
        ),
    )
