"""Tables and charts of the runs in `pca`."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from benchmarks.charts import draw
from benchmarks.measuring import save, show


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
        if self.write:
            draw(stem, title, xs, lines, what=what)
