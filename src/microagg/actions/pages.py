"""What the pages of a front door are built of, so that they look like the report."""

from importlib.resources import files
from typing import TYPE_CHECKING

from microagg.report.numbers import number as number
from microagg.report.numbers import percent as percent
from microagg.report.svg import Svg

if TYPE_CHECKING:
    from microagg.report.comparison import Comparison


def stylesheet() -> str:
    """The report's."""
    return (files("microagg.report") / "templates" / "page.css").read_text(encoding="utf-8")


def comparison_map(found: "Comparison", link: str) -> Svg:
    """The map of risk and loss; a point leads to the link with its place among the choices."""
    from microagg.report.map import risk_utility_map

    places = {id(choice): place for place, choice in enumerate(found.choices)}
    return risk_utility_map(
        found.choices, found.recommended, lambda choice: f"{link}{places[id(choice)]}"
    )
