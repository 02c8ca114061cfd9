"""One HTML file that a person can read, print, file and send: nothing in it is fetched."""

import math
import re
from collections.abc import Callable, Sequence
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

import microagg
from microagg.base.files import whole_file
from microagg.columns.kinds import find
from microagg.columns.told import Attribute
from microagg.report import charts, numbers
from microagg.report.comparison import Comparison
from microagg.report.map import risk_utility_map
from microagg.report.story import Story
from microagg.report.svg import Svg

if TYPE_CHECKING:
    from jinja2 import Environment

# What HTML forbids, which column names may well contain.
_FORBIDDEN = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f]")
# The sections of a release's page in their order; one without content is left out. Each has a
# template of its own, named like its anchor.
_SECTIONS: tuple[tuple[str, str, Callable[[Story], Any]], ...] = (
    ("risk", "Risk", lambda story: story.risk),
    ("guarantee", "What is guaranteed", lambda story: story.guarantee or story.limits),
    ("done", "What was done", lambda story: story.done or story.roles),
    ("groups", "The groups", lambda story: story.group_sizes),
    ("beyond", "Beyond k: confidential columns", lambda story: story.beyond),
    ("measures", "Risk and usefulness, measured", lambda story: story.figures),
    ("columns", "Column by column", lambda story: story.attributes),
    ("correlations", "Relations between columns", lambda story: story.correlations),
    ("notes", "Notes", lambda story: story.notes),
    ("certificate", "Certificate", lambda story: story.certificate),
    ("recipe", "How to repeat it", lambda story: story.recipe or story.reproduce),
)


def render(story: Story) -> str:
    """The page of a release."""
    return _fill("release.html", page=story, sections=_sections(story))


def render_parts(story: Story) -> tuple[Svg, Svg]:
    """The verdict and all else of the page of a release, as parts of a page of somebody else."""
    told = {"page": story, "sections": _sections(story)}
    return Svg(_fill("verdict.html", **told)), Svg(_fill("sections.html", **told))


def render_comparison(comparison: Comparison) -> str:
    """The page that compares several ways to protect a table."""
    decimals = {
        figure: _decimals([getattr(choice, figure) for choice in comparison.choices])
        for figure in ("information_loss", "risk", "risk_and_loss", "seconds")
    }
    return _fill("comparison.html", page=comparison, decimals=decimals)


def write(page: Story | Comparison, path: Path | str) -> None:
    """Write the page; the file appears whole or not at all."""
    text = render(page) if isinstance(page, Story) else render_comparison(page)
    with whole_file(Path(path)) as stream:
        stream.write(text)


def _sections(story: Story) -> list[tuple[str, str]]:
    return [(anchor, heading) for anchor, heading, told in _SECTIONS if told(story)]


def _column_chart(attribute: Attribute) -> Svg | None:
    """The chart that suits the kind of column."""
    if not attribute.bars:
        return None
    kind = find(attribute.kind)
    if kind.categorical:
        return charts.category_bars(attribute.name, attribute.bars)
    return charts.histogram(attribute.name, attribute.bars, dates=kind.labelled)


def _decimals(column: Sequence[float | None]) -> int | None:
    """Decimals that suit all numbers of a column, so that they stand in line."""
    sizes = [abs(cell) for cell in column if cell is not None and math.isfinite(cell)]
    return numbers.decimals_for(max(sizes, default=None))


def _fill(template: str, **told: Any) -> str:
    text = _environment().get_template(template).render(**told)
    return _FORBIDDEN.sub("\N{REPLACEMENT CHARACTER}", text.encode("utf-8", "replace").decode())


@cache
def _environment() -> "Environment":
    from jinja2 import Environment, PackageLoader, StrictUndefined

    environment = Environment(
        loader=PackageLoader("microagg.report"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters.update(
        number=numbers.number,
        percent=numbers.percent,
        difference=numbers.difference,
        decimals_for=numbers.decimals_for,
        tint=charts.tint,
    )
    environment.globals.update(
        column_chart=_column_chart,
        kind_named=find,
        group_sizes=charts.group_sizes,
        risk_bars=charts.risk_bars,
        histogram=charts.histogram,
        heat_cells=charts.heat_cells,
        risk_utility_map=risk_utility_map,
        software=f"microagg {microagg.__version__}",
    )
    return environment
