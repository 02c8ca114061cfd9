"""Several ways to protect one table, judged side by side: what the page about them says."""

import csv
import io
import re
from dataclasses import asdict, dataclass, field
from os import PathLike
from pathlib import Path
from typing import Any

from microagg.base.showing import Rows, Showing
from microagg.table.frames import pandas_of

_SHOWN = (
    "asked", "method", "k", "groups", "information_loss", "risk", "risk_and_loss", "seconds"
)  # fmt: skip
# Where demands are compared too.
_DEMANDED = ("demands", "disclosed")


@dataclass(frozen=True)
class Choice:
    """One method with one k, judged.

    risk: percent of records that an intruder who knows the originals is expected to link to
    themselves. groups: the equivalence classes of what is published. method is the one used where
    "auto" was asked. scoring_index: None where no column has distances. plain_loss: the information
    loss with k alone, where more is demanded; costs: what each demand alone adds to it, in points.
    demands: beyond k, as on the command line. disclosed: where demands are compared, percent of
    records in a class that shares one single value of a confidential column, the worst of them.
    """

    asked: str
    method: str
    k: int
    groups: int
    information_loss: float
    risk: float
    scoring_index: float | None
    seconds: float
    plain_loss: float | None = None
    costs: dict[str, float] = field(default_factory=dict)
    demands: str = ""
    disclosed: float | None = None

    @property
    def label(self) -> str:
        """What tells it from the others."""
        demands = f", {self.demands}" if self.demands and self.disclosed is not None else ""
        return f"{self.asked}, k = {self.k}{demands}"

    @property
    def place(self) -> tuple[float, float]:
        """Loss and risk: the lower both, the better.

        Whose secret is disclosed is found out as much as who is linked: the larger figure counts.
        """
        return self.information_loss, max(self.risk, self.disclosed or 0.0)

    @property
    def risk_and_loss(self) -> float:
        """The figure by which one is recommended: the sum of both."""
        return sum(self.place)

    def to_dict(self) -> dict[str, Any]:
        """Plain data."""
        return {**asdict(self), "risk_and_loss": self.risk_and_loss}

    def beats(self, other: "Choice") -> bool:
        """Whether it is nowhere worse and somewhere better."""
        (loss, risk), (their_loss, their_risk) = self.place, other.place
        return loss <= their_loss and risk <= their_risk and self.place != other.place


@dataclass(frozen=True, repr=False)
class Comparison(Showing):
    """Choices, and which one to take, in words."""

    source: str
    columns: tuple[str, ...]
    choices: tuple[Choice, ...]
    recommended: Choice
    recommendation: tuple[str, ...]

    def to_dict(self) -> dict[str, Any]:
        """Plain data."""
        return {
            **asdict(self),
            "choices": [choice.to_dict() for choice in self.choices],
            "recommended": self.recommended.to_dict(),
        }

    def _told(self) -> dict[str, object]:
        return {
            "recommended": self.recommended.label,
            "risk_and_loss": f"{self.recommended.risk_and_loss:.2f}",
            "choices": len(self.choices),
        }

    @property
    def demanded(self) -> bool:
        """Whether demands are compared too."""
        return any(choice.disclosed is not None for choice in self.choices)

    @property
    def _shown(self) -> tuple[str, ...]:
        return (*_SHOWN, *_DEMANDED) if self.demanded else _SHOWN

    def _rows(self) -> Rows:
        figures = [[getattr(choice, name) for name in self._shown] for choice in self.choices]
        return self._shown, [
            tuple(f"{each:.2f}" if isinstance(each, float) else str(each) for each in row)
            for row in figures
        ]

    def to_frame(self) -> Any:
        """The figures as a pandas table, a row for each choice."""
        rows = [choice.to_dict() for choice in self.choices]
        return pandas_of({name: [row[name] for row in rows] for name in self._shown})

    def to_csv(self) -> str:
        """The same as the text of a CSV file."""
        text = io.StringIO()
        writer = csv.DictWriter(text, self._shown, extrasaction="ignore", lineterminator="\n")
        writer.writeheader()
        writer.writerows(choice.to_dict() for choice in self.choices)
        return text.getvalue()

    def to_latex(self) -> str:
        """The same as a table of LaTeX."""
        headings, rows = self._rows()
        lines = [" & ".join(map(_told_in_latex, row)) + r" \\" for row in (headings, *rows)]
        return "\n".join(
            [
                rf"\begin{{tabular}}{{ll{'r' * (len(headings) - 2)}}}",
                r"\hline",
                lines[0],
                r"\hline",
                *lines[1:],
                r"\hline",
                r"\end{tabular}",
            ]
        )

    def report(self, path: str | PathLike[str]) -> None:
        """Write a page with the table and a map of risk and loss, one HTML file."""
        from microagg.report.page import write

        write(self, Path(path))


def _told_in_latex(text: str) -> str:
    """Text in which no letter is a command."""
    return re.sub(r"([&%$#_{}])", r"\\\1", text.replace("\\", "/")).replace("~", "-")
