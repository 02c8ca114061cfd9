"""What a kind of column knows."""

from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import TYPE_CHECKING, ClassVar

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from microagg.aggregation.centres import Weights
from microagg.columns.points import Corners, Scores
from microagg.columns.told import Bar
from microagg.measure.change import Missing

if TYPE_CHECKING:
    from microagg.columns.coded import Coded


class Kind(ABC):
    """How columns of one kind are read, placed, published and described.

    treatment: what becomes of a column, for a person who reads the report.
    numeric: values have distances. categorical: values are codes of categories; where they are
        not, columns have a mean and a deviation.
    amounts: values have a zero of their own, so that shares of their sums mean something.
    centre: what groups publish, see `aggregation.centres`.
    read_as: what text that was declared of this kind is read as, the coarsest first.
    turn: when text that nobody declared is tried as this kind, the lowest first; never if 0.
    deviation: what a page calls the deviation. labelled: histograms show the labels of their bars,
        for numbers would say nothing.
    """

    name: ClassVar[str]
    treatment: ClassVar[str]
    numeric: ClassVar[bool]
    categorical: ClassVar[bool]
    amounts: ClassVar[bool] = False
    centre: Callable[[NDArray, NDArray[np.int64], int, Weights], NDArray]
    read_as: ClassVar[tuple[pa.DataType, ...]] = ()
    turn: ClassVar[int] = 0
    deviation: ClassVar[str] = "Deviation"
    labelled: ClassVar[bool] = False

    @abstractmethod
    def is_default_for(self, column_type: pa.DataType) -> bool:
        """Whether columns of this type are of this kind if nobody says otherwise."""

    @property
    def placed(self) -> type[Scores] | type[Corners]:
        """What makes points of the numbers."""
        return Scores if self.numeric else Corners

    @abstractmethod
    def encode(self, name: str, array: pa.Array, order: tuple[str, ...] | None) -> "Coded":
        """A column as numbers; text arrives as what it is read as."""

    @abstractmethod
    def decode(self, coded: "Coded", values: NDArray, missing: NDArray[np.bool_]) -> pa.Array:
        """Numbers as entries of the type that was encoded."""

    @abstractmethod
    def bars(
        self,
        column: "Coded",
        edges: NDArray[np.float64] | None,
        counts: NDArray[np.int64],
        olds: NDArray[np.int64] | None,
    ) -> tuple[Bar, ...]:
        """Counts after and, if known, before: of bins with these edges, or of categories."""

    def moments(
        self, column: "Coded", origin: float | int | np.number, mean: float, deviation: float
    ) -> tuple[float | str | None, float | None]:
        """Mean and deviation in the column's own terms, if any; `mean` is counted from `origin`."""
        return None, None

    def texts(self, column: "Coded", values: NDArray) -> list[str]:
        """How a page writes values of a column."""
        decoded = self.decode(column, values, np.zeros(values.size, bool))
        try:
            return [str(value) for value in decoded.to_pylist()]
        except (OverflowError, ValueError):
            # Python's calendar knows no nanoseconds and ends with the year 9999.
            return [str(value) for value in values.tolist()]


def where_missing(array: pa.Array) -> Missing:
    """Where there is no value; None if there is one everywhere."""
    return array.is_null().to_numpy(zero_copy_only=False) if array.null_count else None
