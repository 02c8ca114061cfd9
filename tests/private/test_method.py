"""Sizes of groups, which are public."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from microagg.base.errors import MicroaggError, OptionError
from microagg.private.costs import Setting
from microagg.private.method import public_sizes
from microagg.private.registry import find


@given(st.integers(1, 200), st.data())
def test_public_sizes(n, data):
    k = data.draw(st.integers(1, n))
    sizes = public_sizes(n, k)
    assert sizes.sum() == n
    assert sizes.min() >= k
    assert sizes.max() - sizes.min() <= 1
    assert sizes.size == n // k


def test_the_size_asked_for_or_the_one_that_suits():
    setting = Setting(100, [1.0], [1.0])
    marginals, records = find("marginals", None), find("records", None)
    assert marginals.group_size(7, setting) == 7
    assert marginals.group_size(None, setting) == round((24 * 100**2) ** 0.25)
    assert records.group_size(None, setting) == records.group_size(1, setting) == 1
    with pytest.raises(OptionError, match="'records' has groups of 1 only: k must be 1"):
        records.group_size(2, setting)
    with pytest.raises(MicroaggError, match="only 100 records"):
        marginals.group_size(101, setting)


def test_without_columns_of_numbers_nothing_is_grouped():
    assert find("marginals", None).group_size(None, Setting(100, [], [])) == 1
