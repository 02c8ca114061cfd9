"""Tables and charts of the runs in `pca`."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from benchmarks.measuring import RESULTS, save, show


@dataclass(frozen=True)
class Result:
    """Of one algorithm: seconds with brute force and with the index, distortion in percent."""

    brute: float
    index: float
    loss: float


Curves = dict[str, list[Result]]


class Book:
    """Shows tables, and writes them and the charts to benchmarks/results where told to."""

    def __init__(self, write: bool) -> None:
        self.write = write

    def table(self, stem: str, title: str, header: Sequence, rows: Sequence[Sequence]) -> None:
        show(title, header, rows)
        if self.write:
            save(stem, header, rows)

    def results(self, stem: str, title: str, what: str, xs: Sequence[int], curves: Curves) -> None:
        """One row a setting and algorithm, with gains over the first, plain MDAV."""
        header = [what, "algorithm", "seconds, brute", "seconds, index", "distortion"]
        header += ["gain, brute", "gain, index", "distortion over MDAV"]
        rows = []
        for at, x in enumerate(xs):
            plain = next(iter(curves.values()))[at]
            for name, results in curves.items():
                own = results[at]
                rows.append(
                    [
                        x,
                        name,
                        f"{own.brute:.3f}",
                        f"{own.index:.3f}",
                        f"{own.loss:.3f}",
                        f"{plain.brute / own.brute:.2f}",
                        f"{plain.index / own.index:.2f}",
                        f"{100 * (own.loss / plain.loss - 1):+.1f} %",
                    ]
                )
        self.table(stem, title, header, rows)

    def times(self, figure: int, title: str, xs, curves: Curves, shown, what: str) -> None:
        lines = {
            f"{name}, {way}": [getattr(result, way) for result in curves[name]]
            for name in shown
            for way in ("brute", "index")
        }
        self.chart(f"pca_figure{figure}", title, xs, lines, what)

    def losses(self, figure: int, title: str, xs, curves: Curves, shown, what: str) -> None:
        lines = {name: [result.loss for result in curves[name]] for name in shown}
        self.chart(f"pca_figure{figure}", title, xs, lines, what)

    def chart(
        self, stem: str, title: str, xs: Sequence[int], lines: Mapping[str, list[float]], what: str
    ) -> None:
        """Lines over a height from zero, or from the least if that is below."""
        if not self.write:
            return
        ys = [y for line in lines.values() for y in line]
        low, high = min(0.0, *ys), max(ys)
        step = 10.0 ** math.floor(math.log10((high - low) / 2))
        step *= 5 if (high - low) / step > 10 else 2 if (high - low) / step > 5 else 1

        def across(x: float) -> float:
            return 60 + 520 * (x - xs[0]) / (xs[-1] - xs[0])

        def down(y: float) -> float:
            return 360 - 320 * (y - low) / (high - low)

        parts = [text(60, 20, title)]
        for number in range(math.ceil(low / step), math.floor(high / step) + 1):
            y = down(number * step)
            parts.append(f'<path d="M60 {y:.1f}H580" stroke="#ddd"/>')
            parts.append(text(8, y + 4, f"{number * step:g}"))
        labelled = -math.inf
        for x in xs:
            if across(x) > labelled + 40:
                labelled = across(x)
                parts.append(text(labelled - 10, 380, f"{x:,}"))
        parts.append(text(300, 400, what))
        for number, (name, line) in enumerate(lines.items()):
            colour = f"hsl({number * 360 / len(lines):.0f} 70% 40%)"
            points = " ".join(
                f"{across(x):.1f},{down(y):.1f}" for x, y in zip(xs, line, strict=True)
            )
            parts.append(f'<polyline points="{points}" fill="none" stroke="{colour}"/>')
            parts.append(text(594, 50 + 18 * number, name, colour))
        body = "\n".join(parts)
        (RESULTS / f"{stem}.svg").write_text(
            '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 780 412" '
            f'font-family="sans-serif" font-size="12">\n{body}\n</svg>\n',
            encoding="utf-8",
        )


def text(x: float, y: float, words: str, colour: str = "#333") -> str:
    words = words.replace("&", "&amp;")
    return f'<text x="{x:.1f}" y="{y:.1f}" fill="{colour}">{words}</text>'
