"""Line charts of results, as small SVG files."""

import math
import sys
from collections.abc import Callable, Mapping, Sequence
from html import escape

from benchmarks.measuring import RESULTS

Marks = list[tuple[float, str]]


def draw(
    stem: str,
    title: str,
    xs: Sequence[float],
    curves: Mapping[str, Sequence[float]],
    *,
    what: str = "k",
    logarithmic: bool = False,
) -> None:
    """Write benchmarks/results/<stem>.svg: a curve for each name, over `what`.

    The height starts at zero, or at the least if that is below; or it is logarithmic. A quick run
    is to see, and writes nothing.
    """
    if "--quick" in sys.argv:
        return
    height, marks = (_powers if logarithmic else _steps)([y for c in curves.values() for y in c])

    def across(x: float) -> float:
        return 60 + 520 * (x - xs[0]) / (xs[-1] - xs[0])

    def down(y: float) -> float:
        return 360 - 320 * height(y)

    parts = [_text(60, 20, title)]
    for y, words in marks:
        parts.append(f'<path d="M60 {down(y):.1f}H580" stroke="#ddd"/>')
        parts.append(_text(8, down(y) + 4, words))
    labelled = -math.inf
    for x in xs:
        if across(x) > labelled + 40:
            labelled = across(x)
            parts.append(_text(labelled - 10, 380, f"{x:,}"))
    parts.append(_text(300, 400, what))
    for number, (name, curve) in enumerate(curves.items()):
        colour = f"hsl({number * 360 / len(curves):.0f} 70% 40%)"
        points = " ".join(f"{across(x):.1f},{down(y):.1f}" for x, y in zip(xs, curve, strict=True))
        parts.append(f'<polyline points="{points}" fill="none" stroke="{colour}"/>')
        parts.append(_text(594, 50 + 18 * number, name, colour))
    body = "\n".join(parts)
    (RESULTS / f"{stem}.svg").write_text(
        '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 780 412" '
        f'font-family="sans-serif" font-size="12">\n{body}\n</svg>\n',
        encoding="utf-8",
    )


def _steps(ys: Sequence[float]) -> tuple[Callable[[float], float], Marks]:
    """How high a number stands, 0 to 1, and the numbers at the side."""
    low, high = min(0.0, *ys), max(ys)
    step = 10.0 ** math.floor(math.log10((high - low) / 2))
    step *= 5 if (high - low) / step > 10 else 2 if (high - low) / step > 5 else 1
    numbers = range(math.ceil(low / step), math.floor(high / step) + 1)
    marks = [(number * step, f"{number * step:g}") for number in numbers]
    return lambda y: (y - low) / (high - low), marks


def _powers(ys: Sequence[float]) -> tuple[Callable[[float], float], Marks]:
    positive = [y for y in ys if y > 0]
    low, high = math.floor(math.log10(min(positive))), math.ceil(math.log10(max(positive)))
    marks = [(10.0**power, f"1e{power}") for power in range(low, high + 1)]
    return lambda y: (math.log10(max(y, 10.0**low)) - low) / (high - low), marks


def _text(x: float, y: float, words: str, colour: str = "#333") -> str:
    return f'<text x="{x:.1f}" y="{y:.1f}" fill="{colour}">{escape(words, quote=False)}</text>'
