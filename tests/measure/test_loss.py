import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

import microagg


def naive_loss(X, labels):
    X = np.asarray(X, np.float64).reshape(len(X), -1)
    X = X[:, np.ptp(X, axis=0) > 0]
    if X.shape[1] == 0:
        return 0.0
    Z = (X - X.mean(axis=0)) / X.std(axis=0)
    sse = sum(((Z[labels == g] - Z[labels == g].mean(axis=0)) ** 2).sum() for g in set(labels))
    return 100 * sse / (Z**2).sum()


@given(
    hnp.arrays(
        np.float64, st.tuples(st.integers(1, 20), st.integers(1, 5)), elements=st.integers(-50, 50)
    ),
    st.integers(1, 4),
)
def test_against_the_definition(X, groups):
    labels = np.arange(len(X)) % min(groups, len(X))
    assert microagg.information_loss(X, labels) == pytest.approx(naive_loss(X, labels), abs=1e-9)


def test_nothing_everything_and_constants():
    x = np.array([1.0, 2.0, 5.0, 9.0])
    assert microagg.information_loss(x, [0, 1, 2, 3]) == 0.0
    assert microagg.information_loss(x, [0, 0, 0, 0]) == pytest.approx(100.0)
    assert microagg.information_loss(np.ones(4), [0, 0, 0, 0]) == 0.0
    both = np.column_stack([x, np.ones(4)])
    assert microagg.information_loss(both, [0, 0, 1, 1]) == microagg.information_loss(
        x, [0, 0, 1, 1]
    )


@pytest.mark.parametrize(
    "x",
    [
        [1e300, -1.7e308, 1.7e308, 3.0],
        [5e-324, 1e-323, 0.0, 2e-323],
        [1e15, 1e15 + 1, 1e15 + 7, 1e15 + 9],
        np.array([-(2**63), -(2**63) + 9, 2**63 - 1, 2**63 - 5], np.int64),
    ],
)
def test_extreme_values(x):
    loss = microagg.information_loss(x, [0, 0, 1, 1])
    from fractions import Fraction

    from tests.naive.split import cost_of_labels, sse

    exact = [Fraction(v) for v in np.asarray(x).tolist()]
    expected = 100 * cost_of_labels(exact, [0, 0, 1, 1], sse) / sse(exact)
    assert loss == pytest.approx(float(expected), rel=1e-9, abs=1e-30)
