"""How risky a table is: what `microagg.risk` gives."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from microagg.base.showing import Rows, Showing
from microagg.measure.figures import Figure, judge, shown
from microagg.measure.risk.diversity import Diversity, diversity
from microagg.measure.risk.exposing import KeyColumn, TellingCombination
from microagg.measure.risk.exposure import Exposure
from microagg.measure.risk.figures import EXPOSURE

VIOLATED = (2, 3, 5)


@dataclass(frozen=True, eq=False, repr=False)
class Risk(Showing):
    """How risky a table is, by the keys that others may know.

    By record, in the order of the rows: frequency: how many records share its keys, itself among
    them; population: how many of the population are thought to; individual: the risk that it is
    re-identified; household: that anybody of its household is, None without households; suda: its
    score as a special unique; suda_dis: the chance that a match is right by that, None for both
    where special uniques were not looked for.
    expected: the re-identifications to be expected, expected_share: of all records;
    household_expected: the records of households of which somebody is to be found.
    violations: by k, how many records share their keys with fewer than k.
    suggested_k: the least k such that no record has a risk above `threshold` once k share all keys.
    columns: what each key tells; combinations: the columns that single most out together.
    figures: by the names of `microagg.measure.risk.figures`. class_sizes: how many combinations of
    keys so many records have. diversity: by record, of each confidential column. sampled: the
    records looked at, where these are not all of `rows`.
    """

    keys: tuple[str, ...]
    rows: int
    frequency: NDArray[np.int64]
    population: NDArray[np.float64]
    individual: NDArray[np.float64]
    household: NDArray[np.float64] | None
    suda: NDArray[np.float64] | None
    suda_dis: NDArray[np.float64] | None
    expected: float
    expected_share: float
    household_expected: float | None
    violations: dict[int, int]
    threshold: float
    suggested_k: int
    columns: tuple[KeyColumn, ...]
    combinations: tuple[TellingCombination, ...]
    figures: dict[str, Any]
    class_sizes: tuple[tuple[int, int], ...]
    weighted: bool = False
    missing: str = "value"
    sampled: int | None = None
    notes: tuple[str, ...] = ()
    diversity: dict[str, Diversity] = field(default_factory=dict)

    @classmethod
    def of(
        cls,
        exposure: Exposure,
        confidential: Mapping[str, NDArray] | None = None,
        rows: int | None = None,
        notes: tuple[str, ...] = (),
    ) -> Self:
        """From what the keys tell.

        confidential: columns as codes, whose diversity is told. rows: of the table, where the
        records are a sample of it.
        """
        labels = exposure.combinations.labels
        special = exposure.special
        household = None if exposure.households is None else exposure.household_risks
        tally = exposure.tally
        return cls(
            keys=exposure.keys.names,
            rows=exposure.rows if rows is None else rows,
            frequency=exposure.by_record.sample,
            population=exposure.by_record.population,
            individual=exposure.risks_by_record,
            household=household,
            suda=None if special is None else special.scores[labels],
            suda_dis=None if special is None else exposure.dis[labels],
            expected=tally.expected,
            expected_share=tally.expected / max(1, tally.rows),
            household_expected=None if household is None else exposure.household_expected,
            violations={k: exposure.violating(k) for k in VIOLATED},
            threshold=exposure.threshold,
            suggested_k=exposure.suggested_k,
            columns=exposure.columns,
            combinations=exposure.telling,
            figures=judge(exposure, EXPOSURE),
            class_sizes=tuple(zip(tally.sizes.tolist(), tally.times.tolist(), strict=True)),
            weighted=exposure.weights is not None,
            missing="wildcard" if exposure.wildcards else "value",
            sampled=None if rows is None or rows == exposure.rows else exposure.rows,
            notes=notes,
            diversity={
                name: diversity(labels, codes) for name, codes in (confidential or {}).items()
            },
        )

    def _told(self) -> dict[str, object]:
        return {
            "records": self.rows,
            "keys": len(self.keys),
            "unique": self.violations[2],
            "expected": f"{self.expected:.4g}",
            "expected_share": f"{100.0 * self.expected_share:.3g} %",
            "suggested_k": self.suggested_k,
        }

    def _rows(self) -> Rows:
        return ("figure", "value"), [(figure.title, value) for figure, value in self.shown()]

    def violating(self, k: int) -> int:
        """How many records share their keys with fewer than k, themselves among them."""
        return int((self.frequency < k).sum())

    def shown(self) -> list[tuple[Figure, str]]:
        """What a person reads of the figures."""
        return shown(self.figures, EXPOSURE)

    def to_dict(self) -> dict[str, Any]:
        """Plain data of the table as a whole; what is known by record stays in the arrays."""
        return {
            "keys": list(self.keys),
            "records": self.rows,
            "sampled": self.sampled,
            "weighted": self.weighted,
            "missing": self.missing,
            "expected": self.expected,
            "expected_share": self.expected_share,
            "household_expected": self.household_expected,
            "violations": {str(k): count for k, count in self.violations.items()},
            "threshold": self.threshold,
            "suggested_k": self.suggested_k,
            "figures": self.figures,
            "columns": [asdict(column) for column in self.columns],
            "combinations": [
                {**asdict(each), "columns": list(each.columns)} for each in self.combinations
            ],
            "class_sizes": [list(each) for each in self.class_sizes],
            "diversity": {name: each.to_dict() for name, each in self.diversity.items()},
            "notes": list(self.notes),
        }
