"""Microaggregation as a scikit-learn estimator (extra `sklearn`)."""

from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, ClusterMixin
from sklearn.utils.validation import validate_data

from microagg.aggregation.values import aggregate
from microagg.grouping.doors import partition


class Microaggregator(ClusterMixin, BaseEstimator):
    """Group at least k similar records and publish each group's mean.

    k, method, seed, standardize: as in `microagg.partition`.
    options: further options of the method, as a dictionary.

    Fitted: `labels_`, the group of each record; `partition_`; `n_features_in_`.

    `fit_predict` returns the labels, `fit_transform` the published means. There is no `transform`:
    a release protects the records it was made of and has nothing to say of others. So in a pipeline
    it is the last step.
    """

    def __init__(
        self,
        k: int = 5,
        method: str = "auto",
        *,
        seed: int = 0,
        standardize: bool = True,
        options: dict[str, Any] | None = None,
    ) -> None:
        self.k = k
        self.method = method
        self.seed = seed
        self.standardize = standardize
        self.options = options

    def fit(self, X: ArrayLike, y: Any = None) -> Self:  # noqa: ARG002
        """Group the records of X."""
        self._group(X)
        return self

    def fit_transform(self, X: ArrayLike, y: Any = None) -> NDArray[np.float64]:  # noqa: ARG002
        """Group the records of X and return what each publishes."""
        return aggregate(self._group(X), self.labels_)

    def _group(self, X: ArrayLike) -> NDArray:
        enough = self.k if isinstance(self.k, int) and self.k > 0 else 1
        records = validate_data(self, X, ensure_min_samples=enough)
        self.partition_ = partition(
            records,
            self.k,
            self.method,
            seed=self.seed,
            standardize=self.standardize,
            progress=False,
            **(self.options or {}),
        )
        self.labels_ = np.array(self.partition_.labels)
        return records
