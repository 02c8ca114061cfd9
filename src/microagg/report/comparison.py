"""Several ways to protect one table, judged side by side: what the page about them says."""

from dataclasses import asdict, dataclass
from os import PathLike
from pathlib import Path
from typing import Any


@dataclass(frozen=True)
class Choice:
    """One method with one k, judged.

    risk: percent of records that an intruder who knows the originals is expected to link to
    themselves. method is the one used where "auto" was asked. scoring_index: None where no column
    has distances.
    """

    asked: str
    method: str
    k: int
    groups: int
    information_loss: float
    risk: float
    scoring_index: float | None
    seconds: float

    @property
    def label(self) -> str:
        """What tells it from the others."""
        return f"{self.asked}, k = {self.k}"

    @property
    def place(self) -> tuple[float, float]:
        """Loss and risk: the lower both, the better."""
        return self.information_loss, self.risk

    def beats(self, other: "Choice") -> bool:
        """Whether it is nowhere worse and somewhere better."""
        (loss, risk), (their_loss, their_risk) = self.place, other.place
        return loss <= their_loss and risk <= their_risk and self.place != other.place


@dataclass(frozen=True)
class Comparison:
    """Choices, and which one to take, in words."""

    source: str
    columns: tuple[str, ...]
    choices: tuple[Choice, ...]
    recommended: Choice
    recommendation: tuple[str, ...]

    def to_dict(self) -> dict[str, Any]:
        """Plain data."""
        return asdict(self)

    def report(self, path: str | PathLike[str]) -> None:
        """Write a page with the table and a map of risk and loss, one HTML file."""
        from microagg.report.page import write

        write(self, Path(path))
