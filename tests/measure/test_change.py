import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from microagg.aggregation.values import aggregate
from microagg.measure.change import category_loss, numeric_loss, share_changed
from microagg.measure.loss import information_loss
from tests.naive import protect as naive

PAIRS = st.lists(
    st.tuples(st.none() | st.integers(0, 5), st.none() | st.integers(0, 5)), min_size=1, max_size=20
)


def arrays(entries):
    missing = np.array([entry is None for entry in entries])
    values = np.array([0 if entry is None else entry for entry in entries])
    return values, missing if missing.any() else None


@given(pairs=PAIRS, offset=st.sampled_from([0, 10**6, 2**62]))
@settings(max_examples=150)
def test_as_defined(pairs, offset):
    before, after = zip(*pairs, strict=True)
    (values, gone), (new, blank) = arrays(before), arrays(after)
    losses = naive.category_loss(before, after)
    assert category_loss(values, new, gone, blank) == pytest.approx(losses)
    assert share_changed(values, new, gone, blank) == pytest.approx(
        naive.share_changed(before, after)
    )
    # A common offset changes nothing, and what stands under a missing value does not count.
    moved, shown = (
        np.where(False if none is None else none, 0, each + offset)
        for each, none in ((values, gone), (new, blank))
    )
    assert numeric_loss(moved, shown, gone, blank) == pytest.approx(
        naive.numeric_loss(before, after)
    )


def test_offsets_of_floats_cost_no_digits_where_values_got_lost():
    before = 1e15 + np.arange(8.0)
    after = np.where(np.arange(8) < 4, 0.0, before)
    blank = np.arange(8) < 4
    assert numeric_loss(before, after, None, blank) == pytest.approx(50.0, rel=1e-12)


@pytest.mark.parametrize("offset", [0.0, 1e6])
def test_the_loss_of_means_is_the_information_loss(offset):
    rng = np.random.default_rng(2)
    values, labels = offset + rng.normal(size=60), rng.permutation(np.arange(60) // 5)
    after = aggregate(values, labels)
    assert numeric_loss(values, after) == pytest.approx(information_loss(values, labels), rel=1e-9)


def test_nothing_to_lose():
    same, gone = np.full(4, 7.0), np.ones(4, bool)
    assert numeric_loss(same, same) == 0.0
    assert numeric_loss(same, same, gone, gone) == 0.0
    assert category_loss(np.zeros(4, int), np.zeros(4, int)) == 0.0
    assert category_loss(np.zeros(4, int), np.zeros(4, int), gone, gone) == 0.0
    assert numeric_loss(np.array([-1.7e308, 1.7e308]), np.zeros(2)) == pytest.approx(100.0)
