"""Publish microdata without exposing anyone: at least k similar records share one value."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from microagg import private
    from microagg.actions.assess import assess
    from microagg.actions.compare import compare
    from microagg.actions.example import patients
    from microagg.actions.inspect import inspect
    from microagg.actions.protect import protect
    from microagg.actions.tune import tune_proximity
    from microagg.aggregation.proximity import proximity_centroids
    from microagg.aggregation.values import aggregate
    from microagg.base.errors import MicroaggError
    from microagg.base.groups import Partition
    from microagg.base.recipe import Recipe
    from microagg.grouping.bound.lower_bound import Bound, lower_bound
    from microagg.grouping.doors import partition, partition_columns, partition_many
    from microagg.grouping.method import Method
    from microagg.grouping.methods import methods, register_method
    from microagg.grouping.sequence.univariate import optimal_univariate
    from microagg.measure.loss import information_loss
    from microagg.release.assessment import Assessment
    from microagg.release.release import Release

__all__ = [
    "Assessment",
    "Bound",
    "Method",
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
    "patients",
    "private",
    "protect",
    "proximity_centroids",
    "register_method",
    "tune_proximity",
]

# Each name is imported on first use: NumPy and Numba take longer to load than most scripts run.
_HOMES = {
    "Assessment": "microagg.release.assessment",
    "Bound": "microagg.grouping.bound.lower_bound",
    "Method": "microagg.grouping.method",
    "MicroaggError": "microagg.base.errors",
    "Partition": "microagg.base.groups",
    "Recipe": "microagg.base.recipe",
    "Release": "microagg.release.release",
    "aggregate": "microagg.aggregation.values",
    "assess": "microagg.actions.assess",
    "compare": "microagg.actions.compare",
    "information_loss": "microagg.measure.loss",
    "inspect": "microagg.actions.inspect",
    "lower_bound": "microagg.grouping.bound.lower_bound",
    "methods": "microagg.grouping.methods",
    "optimal_univariate": "microagg.grouping.sequence.univariate",
    "partition": "microagg.grouping.doors",
    "partition_columns": "microagg.grouping.doors",
    "partition_many": "microagg.grouping.doors",
    "patients": "microagg.actions.example",
    "protect": "microagg.actions.protect",
    "proximity_centroids": "microagg.aggregation.proximity",
    "register_method": "microagg.grouping.methods",
    "tune_proximity": "microagg.actions.tune",
}


def __getattr__(name: str) -> Any:
    if name == "__version__":
        return import_module("importlib.metadata").version("microagg")
    if name == "private":
        return import_module("microagg.private")
    if name not in _HOMES:
        raise AttributeError(f"module 'microagg' has no attribute {name!r}")
    found = getattr(import_module(_HOMES[name]), name)
    globals()[name] = found
    return found


def __dir__() -> list[str]:
    return sorted([*globals(), *__all__])
