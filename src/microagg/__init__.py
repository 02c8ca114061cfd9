"""Publish microdata without exposing anyone: at least k similar records share one value."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from microagg import private, spark
    from microagg.aggregation.proximity import proximity_centroids
    from microagg.aggregation.values import aggregate
    from microagg.assessment import Assessment, assess
    from microagg.comparison import compare
    from microagg.errors import MicroaggError
    from microagg.grouping.bound.lower_bound import Bound, lower_bound
    from microagg.grouping.methods import methods
    from microagg.grouping.partition import partition, partition_columns, partition_many
    from microagg.grouping.sequence.univariate import optimal_univariate
    from microagg.groups import Partition
    from microagg.inspection import inspect
    from microagg.large import LargeRelease, protect_large
    from microagg.measure.loss import information_loss
    from microagg.pipeline import protect
    from microagg.recipe import Recipe
    from microagg.release import Release
    from microagg.tuning import tune_proximity

__all__ = [
    "Assessment",
    "Bound",
    "LargeRelease",
    "MicroaggError",
    "Partition",
    "Recipe",
    "Release",
    "aggregate",
    "assess",
    "compare",
    "information_loss",
    "inspect",
    "lower_bound",
    "methods",
    "optimal_univariate",
    "partition",
    "partition_columns",
    "partition_many",
    "private",
    "protect",
    "protect_large",
    "proximity_centroids",
    "spark",
    "tune_proximity",
]

# Each name is imported on first use: NumPy and Numba take longer to load than most scripts run.
_HOMES = {
    "Assessment": "microagg.assessment",
    "Bound": "microagg.grouping.bound.lower_bound",
    "LargeRelease": "microagg.large",
    "MicroaggError": "microagg.errors",
    "Partition": "microagg.groups",
    "Recipe": "microagg.recipe",
    "Release": "microagg.release",
    "aggregate": "microagg.aggregation.values",
    "assess": "microagg.assessment",
    "compare": "microagg.comparison",
    "information_loss": "microagg.measure.loss",
    "inspect": "microagg.inspection",
    "lower_bound": "microagg.grouping.bound.lower_bound",
    "methods": "microagg.grouping.methods",
    "optimal_univariate": "microagg.grouping.sequence.univariate",
    "partition": "microagg.grouping.partition",
    "partition_columns": "microagg.grouping.partition",
    "partition_many": "microagg.grouping.partition",
    "protect": "microagg.pipeline",
    "protect_large": "microagg.large",
    "proximity_centroids": "microagg.aggregation.proximity",
    "tune_proximity": "microagg.tuning",
}


def __getattr__(name: str) -> Any:
    if name == "__version__":
        return import_module("importlib.metadata").version("microagg")
    if name in ("private", "spark"):
        return import_module(f"microagg.{name}")
    if name not in _HOMES:
        raise AttributeError(f"module 'microagg' has no attribute {name!r}")
    found = getattr(import_module(_HOMES[name]), name)
    globals()[name] = found
    return found


def __dir__() -> list[str]:
    return sorted([*globals(), *__all__])
