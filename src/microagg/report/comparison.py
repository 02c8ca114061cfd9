"""What a page that compares several ways to protect one table says, as plain data."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Choice:
    """One way to protect the table, judged: the lower both figures, the better."""

    label: str
    method: str
    k: int
    risk: float
    loss: float

    def beats(self, other: "Choice") -> bool:
        """Whether it is nowhere worse and somewhere better."""
        no_worse = self.risk <= other.risk and self.loss <= other.loss
        return no_worse and (self.risk, self.loss) != (other.risk, other.loss)


@dataclass(frozen=True, kw_only=True)
class Comparison:
    """Everything the page of one comparison says.

    columns, rows: a table whose first column names its rows. recommended: the label of a point.
    """

    title: str
    points: tuple[Choice, ...]
    risk_name: str
    recommended: str | None = None
    recommendation: tuple[str, ...] = ()
    columns: tuple[str, ...] = ()
    rows: tuple[tuple[str | float | None, ...], ...] = ()
    notes: tuple[str, ...] = ()
    software: str = ""
    made: str = ""
