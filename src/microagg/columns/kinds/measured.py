"""What numbers and dates share: distances, histograms, a mean."""

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from microagg.aggregation.centres import integers
from microagg.columns.coded import Coded
from microagg.columns.kinds.kind import Kind
from microagg.columns.told import Bar


class Measured(Kind):
    """Columns whose values have distances and no categories."""

    numeric = True
    categorical = False
    centre = staticmethod(integers)

    def moments(
        self, column: Coded, origin: float | int | np.number, mean: float, deviation: float
    ) -> tuple[float | str | None, float | None]:
        """As numbers; None where squares overflowed."""
        if not np.isfinite(deviation):
            return None, None
        unit = _unit(column)
        return float(origin) * unit + mean * unit, deviation * unit

    def bars(
        self,
        column: Coded,
        edges: NDArray[np.float64] | None,
        counts: NDArray[np.int64],
        olds: NDArray[np.int64] | None,
    ) -> tuple[Bar, ...]:
        """A bar a bin; none where there are no bins."""
        if edges is None:
            return ()
        names = self.edge_texts(column, edges)
        ends = (edges * _unit(column)).tolist()
        return tuple(
            Bar(
                f"{names[place]} to {names[place + 1]}",
                ends[place],
                ends[place + 1],
                None if olds is None else int(olds[place]),
                int(count),
            )
            for place, count in enumerate(counts)
        )

    def edge_texts(self, column: Coded, edges: NDArray[np.float64]) -> list[str]:
        """How a page writes the edges of bins."""
        unit = _unit(column)
        return [f"{edge * unit:.6g}" for edge in edges]


def _unit(column: Coded) -> float:
    """What one unit of the numbers is worth in the column's own terms."""
    return 10.0**-column.type.scale if pa.types.is_decimal(column.type) else 1.0
