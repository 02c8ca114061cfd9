from collections import Counter

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from microagg.measure.risk.tally import Tally, added
from tests.naive import risk as naive

# Close to 1 the formulas as written lose their digits.
ratios = st.floats(0.5, 1.0) | st.floats(1.01, 50.0)
classes = st.tuples(st.integers(1, 4) | st.integers(1, 10**9), ratios)


@given(st.lists(classes, min_size=1, max_size=20), st.integers(0, 20), st.sampled_from([0.1, 0.4]))
def test_in_parts_as_record_by_record(pairs, border, threshold):
    sizes = [size for size, _ in pairs]
    weights = [size * times for size, times in pairs]
    parts = [each for each in (pairs[:border], pairs[border:]) if each]
    found = added(
        [
            Tally.of(
                np.array([size for size, _ in part]),
                np.array([size * times for size, times in part]),
                threshold,
            )
            for part in parts
        ]
    )
    counted = sorted(Counter(sizes).items())
    assert list(zip(found.sizes.tolist(), found.times.tolist(), strict=True)) == counted
    assert found.rows == sum(sizes)
    assert found.combinations == len(sizes)
    risks = list(map(naive.individual, sizes, weights))
    assert found.expected == pytest.approx(sum(map(float.__mul__, risks, map(float, sizes))))
    assert found.smallest == min(sizes)
    for k in (2, 3, 10**6):
        assert found.violating(k) == sum(size for size in sizes if size < k)
    near = any(risk == pytest.approx(threshold, rel=1e-9) for risk in risks)
    risky = [size for size, risk in zip(sizes, risks, strict=True) if risk > threshold]
    assert near or found.risky == sum(risky)
    at_least = [max(size, weight) for size, weight in zip(sizes, weights, strict=True)]
    assert found.least == pytest.approx(min(at_least))
    ratios = (people / size for people, size in zip(at_least, sizes, strict=True))
    assert found.lightest == pytest.approx(min(ratios))
    assert found.population == pytest.approx(sum(weights))
