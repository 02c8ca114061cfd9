"""Groups, and what a substitution changes in them."""

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from microagg.base.errors import OptionError
from microagg.private.domains import Range
from microagg.private.registry import METHODS, Task, find, methods, public_sizes
from tests.naive.private import error_of, largest_change, least_error


def groups(name, values, k, ranges, shares=None):
    shares = shares or [1.0] * values.shape[1]
    return METHODS[name].group(Task(values, ranges, shares, k))


def sums_by(name, k, ranges):
    def group_sums(values):
        found = groups(name, values, k, ranges)
        columns = zip(found, values.T, strict=True)
        return np.column_stack([np.bincount(p.labels, weights=x) for p, x in columns])

    return group_sums


@pytest.mark.parametrize(("n", "k"), [(4, 2), (5, 2), (4, 1), (3, 3), (6, 2)])
def test_marginal_sums_change_by_the_width_in_all(n, k):
    domain = [(x,) for x in range(3)] if n == 6 else [(x,) for x in range(4)]
    width = len(domain) - 1
    found = largest_change(sums_by("marginals", k, [Range(0, width)]), domain, n)
    assert found[0] == width  # never more, and no smaller bound would do


@pytest.mark.parametrize(("n", "k"), [(4, 2), (5, 2), (4, 1)])
def test_insensitive_sums_change_by_the_width_in_each_group(n, k):
    ranges = [Range(0, 1), Range(0, 2)]
    domain = [(0, 0), (0, 1), (0, 2), (1, 0)]
    found = largest_change(sums_by("insensitive", k, ranges), domain, n)
    width = np.array([1, 2])
    assert (found <= (n // k) * width).all()
    # The bound is not idle: records that move from group to group do add up.
    assert (found > width).any()


def test_insensitive_groups_differ_in_one_member():
    rng = np.random.default_rng(1)
    ranges = [Range(0, 1)] * 3
    for _ in range(50):
        values = rng.integers(0, 4, (23, 3)) / 3
        row = rng.integers(23)
        other = values.copy()
        other[row] = rng.integers(0, 4, 3) / 3
        one = groups("insensitive", values, 4, ranges)[0]
        two = groups("insensitive", other, 4, ranges)[0]
        assert (one.sizes == two.sizes).all()
        for label in range(one.n_groups):
            members = set(np.flatnonzero(one.labels == label))
            others = set(np.flatnonzero(two.labels == label))
            assert len(members - others) <= 1


def test_the_partition_itself_depends_on_the_data():
    """The counter-example that every method which shows its partition fails."""
    before, after = np.array([[0.0], [1], [9], [10]]), np.array([[0.0], [11], [9], [10]])
    for name in ("mdav", "mdav-columns", "optimal", "insensitive", "marginals"):
        shares = [4.0]
        one = groups(name, before, 2, [Range(0, 11)], shares)[0].labels
        two = groups(name, after, 2, [Range(0, 11)], shares)[0].labels
        assert one[0] == one[1]
        assert two[0] != two[1]
        # so these may show it only if they promise no more than holds given the partition
        assert not (METHODS[name].linked and METHODS[name].standard)


@given(
    st.lists(st.integers(0, 16), min_size=1, max_size=40),
    st.sampled_from([Fraction(1, 4), Fraction(1), Fraction(2), Fraction(8), Fraction(40)]),
)
def test_optimal_is_the_quadratic_programme(numbers, epsilon):
    values = np.array(numbers, float)[:, np.newaxis]
    found = groups("optimal", values, 1, [Range(0.0, 16.0)], [float(epsilon)])[0]
    exact = [Fraction(x, 16) for x in numbers]
    c = 2 / epsilon**2
    assert error_of(exact, found.labels.tolist(), c) == least_error(exact, c)


@pytest.mark.parametrize("low", [-1e6, 0.0, 1e9])
def test_optimal_on_skewed_values_with_an_offset(low):
    rng = np.random.default_rng(2)
    values = np.round(np.minimum(rng.lognormal(2, 1, 150), 400), 1) + low
    shares = (values - low) / 400
    found = groups("optimal", values[:, np.newaxis], 1, [Range(low, low + 400)], [0.7])[0]
    exact, c = [Fraction(x) for x in shares.tolist()], 2 / Fraction(0.7) ** 2
    least = least_error(exact, c)
    assert float(error_of(exact, found.labels.tolist(), c) / least) < 1 + 1e-12


def test_optimal_respects_a_least_size():
    values = np.repeat([0.0, 1.0], 7)[:, np.newaxis]
    assert groups("optimal", values, 1, [Range(0, 1)], [100.0])[0].n_groups == 2
    assert groups("optimal", values, 8, [Range(0, 1)], [100.0])[0].n_groups == 1


def test_optimal_survives_extreme_widths():
    for width in (1e-150, 1e150, 1e300):
        values = np.linspace(0, 1, 20)[:, np.newaxis] * width
        found = groups("optimal", values, 1, [Range(0, width)], [5.0])[0]
        same = groups("optimal", values / width, 1, [Range(0, 1)], [5.0])[0]
        assert found.labels.tolist() == same.labels.tolist()


@given(st.integers(1, 200), st.data())
def test_public_sizes(n, data):
    k = data.draw(st.integers(1, n))
    sizes = public_sizes(n, k)
    assert sizes.sum() == n
    assert sizes.min() >= k
    assert sizes.max() - sizes.min() <= 1
    assert sizes.size == n // k


def test_weaker_guarantees_must_be_asked_for_in_words():
    for method in METHODS.values():
        if method.standard:
            assert find(method.name, None) is method
            continue
        with pytest.raises(OptionError, match="given the partition") as refusal:
            find(method.name, None)
        message = str(refusal.value)
        assert "not differential privacy in the standard sense" in message
        assert all(word in message for word in ("insensitive", "marginals", "records"))
        assert message.count(". ") == 1  # two sentences
        assert find(method.name, "partition-conditional") is method
    with pytest.raises(OptionError, match="accept must be 'partition-conditional'"):
        find("records", "yes")


def test_names():
    assert list(methods()) == list(METHODS)
    for name, text in methods().items():
        assert ("given the partition" in text) != METHODS[name].standard
    with pytest.raises(OptionError, match="did you mean marginals"):
        find("marginal", None)
