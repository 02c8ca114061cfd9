from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from microagg.base.errors import OptionError
from microagg.private.budget import BUDGETS, split
from microagg.private.domains import Range


def shares(widths, budget, epsilon=1.0, groups_adapt=False):
    domains = {str(number): Range(0.0, width) for number, width in enumerate(widths)}
    found = split(epsilon, domains, budget, groups_adapt=groups_adapt)
    return np.array(list(found.values()))


@given(
    st.lists(st.floats(1e-3, 1e6), min_size=1, max_size=30),
    st.floats(1e-2, 1e3),
    st.sampled_from(BUDGETS),
)
def test_shares_never_exceed_epsilon(widths, epsilon, budget):
    found = shares(widths, budget, epsilon)
    total = sum(Fraction(share) for share in found.tolist())
    assert total <= Fraction(epsilon)
    assert float(total) == pytest.approx(epsilon, rel=1e-12)
    assert (found > 0).all()


def test_by_hand():
    assert shares([1, 3], "even").tolist() == [0.5, 0.5]
    assert shares([1, 3], "sensitivity") == pytest.approx([0.25, 0.75])
    assert shares([1, 8], "optimal") == pytest.approx([0.2, 0.8])
    assert shares([1, 3], "optimal", groups_adapt=True) == pytest.approx([0.25, 0.75])


def noise(widths, found):
    return ((np.array(widths) / found) ** 2).sum()


@given(st.lists(st.floats(0.1, 100), min_size=2, max_size=6), st.integers(0, 2**32 - 1))
def test_no_other_split_has_less_noise(widths, seed):
    best = shares(widths, "optimal")
    least = noise(widths, best)
    assert least == pytest.approx(np.power(widths, 2 / 3).sum() ** 3, rel=1e-9)
    rng = np.random.default_rng(seed)
    for other in rng.dirichlet(np.ones(len(widths)), 50):
        assert noise(widths, other) >= least * (1 - 1e-9)
    nearby = best * rng.uniform(0.99, 1.01, best.size)
    assert noise(widths, nearby / nearby.sum()) >= least * (1 - 1e-9)


@given(st.lists(st.floats(0.1, 100), min_size=2, max_size=6), st.integers(0, 2**32 - 1))
def test_even_is_best_relative_to_the_widths(widths, seed):
    ones = np.ones(len(widths))
    least = noise(ones, shares(widths, "even"))
    for other in np.random.default_rng(seed).dirichlet(ones, 50):
        assert noise(ones, other) >= least * (1 - 1e-9)


def test_nothing_left_for_a_narrow_column():
    with pytest.raises(OptionError, match="next to nothing for column '1'"):
        shares([1e300, 1e-300], "sensitivity")
    assert shares([1e300, 1e-300], "even").tolist() == [0.5, 0.5]
