import numpy as np
import pytest

sklearn = pytest.importorskip("sklearn")

from sklearn.pipeline import make_pipeline  # noqa: E402
from sklearn.preprocessing import StandardScaler  # noqa: E402
from sklearn.utils.estimator_checks import parametrize_with_checks  # noqa: E402

import microagg  # noqa: E402
from microagg.sklearn import Microaggregator  # noqa: E402

NOT_CLUSTERING = "it wants three blobs back; groups of k are far smaller than blobs"
EXPECTED = dict.fromkeys(["check_clustering"], NOT_CLUSTERING)


@parametrize_with_checks([Microaggregator(k=2)], expected_failed_checks=lambda _: EXPECTED)
def test_the_checks_of_scikit_learn(estimator, check):
    check(estimator)


def test_it_agrees_with_the_functions():
    X = np.random.default_rng(0).normal(size=(60, 3))
    estimator = Microaggregator(k=4, method="vmdav", options={"gamma": 0.2})
    expected = microagg.partition(X, 4, "vmdav", gamma=0.2)
    assert np.array_equal(estimator.fit_predict(X), expected.labels)
    assert np.array_equal(estimator.fit_transform(X), microagg.aggregate(X, expected))


def test_last_in_a_pipeline():
    X = np.random.default_rng(1).normal(size=(40, 2))
    published = make_pipeline(StandardScaler(), Microaggregator(k=5)).fit_transform(X)
    assert np.unique(published, axis=0, return_counts=True)[1].min() >= 5
