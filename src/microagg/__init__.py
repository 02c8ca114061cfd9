"""Publish microdata in which at least k similar records share one value, with little loss."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from microagg import private as private
    from microagg.actions.assess import assess as assess
    from microagg.actions.compare import compare as compare
    from microagg.actions.example import patients as patients
    from microagg.actions.inspect import inspect as inspect
    from microagg.actions.protect import protect as protect
    from microagg.actions.risk import risk as risk
    from microagg.actions.tune import tune_proximity as tune_proximity
    from microagg.aggregation.proximity import proximity_centroids as proximity_centroids
    from microagg.aggregation.values import aggregate as aggregate
    from microagg.app.server import open_app as open_app
    from microagg.base.errors import MicroaggError as MicroaggError
    from microagg.base.groups import Partition as Partition
    from microagg.base.recipe import Recipe as Recipe
    from microagg.base.record import Record as Record
    from microagg.grouping.bound.lower_bound import Bound as Bound
    from microagg.grouping.bound.lower_bound import lower_bound as lower_bound
    from microagg.grouping.doors import (
        partition as partition,
    )
    from microagg.grouping.doors import (
        partition_columns as partition_columns,
    )
    from microagg.grouping.doors import (
        partition_many as partition_many,
    )
    from microagg.grouping.method import Method as Method
    from microagg.grouping.methods import methods as methods
    from microagg.grouping.methods import register_method as register_method
    from microagg.grouping.sequence.univariate import optimal_univariate as optimal_univariate
    from microagg.measure.loss import information_loss as information_loss
    from microagg.measure.risk.outcome import Risk as Risk
    from microagg.release.assessment import Assessment as Assessment
    from microagg.release.release import Release as Release

# Each name is imported on first use: NumPy and Numba take longer to load than most scripts run.
_HOMES = {
    name: f"microagg.{module}"
    for module, names in {
        "actions.assess": "assess",
        "actions.compare": "compare",
        "actions.example": "patients",
        "actions.inspect": "inspect",
        "actions.protect": "protect",
        "actions.risk": "risk",
        "actions.tune": "tune_proximity",
        "aggregation.proximity": "proximity_centroids",
        "aggregation.values": "aggregate",
        "app.server": "open_app",
        "base.errors": "MicroaggError",
        "base.groups": "Partition",
        "base.recipe": "Recipe",
        "base.record": "Record",
        "grouping.bound.lower_bound": "Bound lower_bound",
        "grouping.doors": "partition partition_columns partition_many",
        "grouping.method": "Method",
        "grouping.methods": "methods register_method",
        "grouping.sequence.univariate": "optimal_univariate",
        "measure.loss": "information_loss",
        "measure.risk.outcome": "Risk",
        "release.assessment": "Assessment",
        "release.release": "Release",
    }.items()
    for name in names.split()
}
__all__ = [*_HOMES, "private"]


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
