"""From table to noise: neighbours never differ by more than the noise was made for."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from microagg.private import release, releasing
from microagg.private.registry import METHODS

RANGES = [
    (0.0, 1.0),
    (-1e9, 1e9),
    (1e9, 1e9 + 3e-3),
    (-1e-300, 1e-300),
    (-6e307, 6e307),
    (0.1, 0.3),
]
STANDARD = [method.name for method in METHODS.values() if method.standard]


def what_gets_noise(table, method, bounds, k):
    """The sums of each column and the sensitivity that their noise is drawn for."""
    seen = []

    def spy(sums, sensitivity, _epsilon, _rng):
        seen.append((sums.astype(object), sensitivity))
        return sums

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(releasing, "add_noise", spy)
        release(table, epsilon=1.0, bounds=bounds, method=method, k=k, simulate=True)
    return seen


@pytest.mark.parametrize("method", STANDARD)
@given(st.integers(0, 2**32 - 1), st.integers(1, 12), st.integers(1, 4))
def test_numbers(method, seed, n, k):
    rng = np.random.default_rng(seed)
    k = 1 if method == "records" else min(k, n)
    ranges = [RANGES[i] for i in rng.integers(len(RANGES), size=2)]
    bounds = {str(j): pair for j, pair in enumerate(ranges)}
    # Extremes, values beyond them, and whatever lies between.
    places = rng.choice([-0.5, 0.0, 0.5, 1.0, 1.25, *rng.random(6)], (n + 1, 2))
    low, high = np.array(ranges).T
    values = low + places * (high - low)
    one, other = values[:n], values[:n].copy()
    other[rng.integers(n)] = values[n]
    before, after = (what_gets_noise(table, method, bounds, k) for table in (one, other))
    for (sums, sensitivity), (others, same) in zip(before, after, strict=True):
        assert sensitivity == same
        assert np.abs(sums - others).sum() <= sensitivity


@given(st.integers(0, 2**32 - 1), st.integers(1, 12))
def test_categories(seed, n):
    rng = np.random.default_rng(seed)
    texts = rng.choice(["a", "b", "c", "unforeseen"], n + 1).astype(object)
    other = texts[:n].copy()
    other[rng.integers(n)] = texts[n]
    bounds = {"x": ["a", "b", "c"]}
    ((sums, sensitivity),) = what_gets_noise({"x": texts[:n]}, "marginals", bounds, None)
    ((others, _),) = what_gets_noise({"x": other}, "marginals", bounds, None)
    assert np.abs(sums - others).sum() <= sensitivity == 2


def test_the_bounds_are_reached():
    """Noise for less would be too little."""
    bounds = {"0": (0.0, 1.0)}
    for method in STANDARD:
        k = 1 if method == "records" else 2
        one = what_gets_noise([0.0, 0, 0, 0], method, bounds, k)
        other = what_gets_noise([0.0, 0, 0, 1], method, bounds, k)
        change = np.abs(one[0][0] - other[0][0]).sum()
        groups = 2 if method == "insensitive" else 1  # there all groups may change, not in line
        assert change * groups == one[0][1]
