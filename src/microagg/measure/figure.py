"""What a figure is."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal

Value = float | list[float] | dict[str, float]


@dataclass(frozen=True)
class Figure:
    """What a figure is called, what it means, and how it is computed.

    compute: of the evidence (of its exposure, for a table by itself) one number;
    or a list, an entry a numeric column; or one by each confidential column or target.
    range: the least and the largest value. Of a change that has a sign, the lower is the one
    nearer to 0.
    needs: the fields of the evidence without which it cannot be computed.
    of_pairs: it is about two columns of numbers at a time, and 0 where there is one.
    of_sample: whether a sample of the records tells what it is of all. Not so where it depends on
    the number of records, as linkage: in a sample everybody is easier to find. Nor for losses and
    for changes of a column, which are sums over all records and not to be guessed.
    """

    name: str
    title: str
    formula: str
    description: str
    compute: Callable[[Any], Value]
    group: Literal["risk", "utility", "models", "satisfaction", "exposure"]
    better: Literal["lower", "higher"] = "lower"
    unit: Literal["percent", "records", "values", ""] = "percent"
    range: tuple[float, float] = (0.0, 100.0)
    needs: tuple[str, ...] = ("numbers",)
    of_sample: bool = False
    of_pairs: bool = False
