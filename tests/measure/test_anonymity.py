import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from microagg.measure.anonymity import ConfidentialCounts
from tests.naive import measures


def counts_of(values, labels, ordered=True):
    return ConfidentialCounts(np.array(values), np.array(labels), ordered=ordered)


@given(st.lists(st.tuples(st.integers(0, 5), st.integers(0, 4)), min_size=1, max_size=40))
def test_diversity_and_closeness_against_the_definition(rows):
    values = [value for value, _ in rows]
    labels = np.unique([label for _, label in rows], return_inverse=True)[1].tolist()
    expected = measures.diversity(values, labels)
    found = counts_of(values, labels).diversity()
    for summary, each in zip(
        (found.distinct, found.entropy), zip(*expected, strict=True), strict=True
    ):
        assert summary.least == pytest.approx(min(each))
        assert summary.largest == pytest.approx(max(each))
        assert summary.mean == pytest.approx(np.mean(each))
        assert each[summary.worst] == pytest.approx(min(each))
    for ordered in (True, False):
        each = measures.closeness(values, labels, ordered)
        summary = counts_of(values, labels, ordered).closeness()
        assert summary.largest == pytest.approx(max(each), abs=1e-12)
        assert summary.mean == pytest.approx(np.mean(each), abs=1e-12)
        assert summary.least == pytest.approx(min(each), abs=1e-12)
        assert each[summary.worst] == pytest.approx(max(each), abs=1e-12)


def test_closeness_by_hand():
    # Salaries of Li, Li and Venkatasubramanian (2007), section 4.3: 3k to 11k, three groups.
    salaries = np.array([3, 4, 5, 6, 11, 8, 7, 9, 10])
    summary = counts_of(salaries, [0, 0, 0, 1, 1, 1, 2, 2, 2]).closeness()
    assert summary.largest == pytest.approx(0.375)
    text = counts_of(["flu", "flu", "gout", "cold"], [0, 0, 1, 1], ordered=False)
    assert text.closeness().largest == 0.5
    assert text.diversity().distinct.worst == 0
    assert counts_of([1.0, np.nan, np.nan], [0, 0, 0]).diversity().distinct.least == 2.0


ENTRIES = st.sampled_from([-1.5, 0.0, 2.0, 3.0, float("nan"), None])


@given(st.lists(st.tuples(ENTRIES, st.integers(0, 7)), min_size=1, max_size=40), st.booleans())
def test_no_value_is_one_below_all_others_and_nan_one_above(rows, ordered):
    labels = np.unique([group for _, group in rows], return_inverse=True)[1]
    missing = np.array([value is None for value, _ in rows])
    numbers = np.array([0.0 if value is None else value for value, _ in rows])
    found = ConfidentialCounts(numbers, labels, missing if missing.any() else None, ordered=ordered)
    ranks = {None: -9.0, "nan": 9.0}
    values = [ranks.get(value if value == value else "nan", value) for value, _ in rows]
    distinct, entropy = zip(*measures.diversity(values, labels.tolist()), strict=True)
    assert found.diversity().distinct.least == min(distinct)
    assert found.diversity().entropy.mean == pytest.approx(np.mean(entropy))
    apart = measures.closeness(values, labels.tolist(), ordered)
    assert found.closeness().largest == pytest.approx(max(apart), abs=1e-12)
    assert found.closeness().mean == pytest.approx(np.mean(apart), abs=1e-12)
