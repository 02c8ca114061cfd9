from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from microagg.measure.anonymity import ConfidentialCounts
from tests.naive import measures


def counts_of(values, labels, ordered=True):
    counts = ConfidentialCounts(ordered=ordered)
    counts.add(np.array(values), np.array(labels))
    return counts


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


@st.composite
def parts(draw):
    """Records of some groups, cut into parts so that no group is in two: (value, group, part)."""
    groups = draw(st.integers(1, 8))
    part_of = np.sort(draw(st.lists(st.integers(0, 3), min_size=groups, max_size=groups)))
    values = st.sampled_from([-1.5, 0.0, 2.0, 3.0, float("nan"), None])
    rows = [(draw(values), group) for group in range(groups)]
    rows += draw(st.lists(st.tuples(values, st.integers(0, groups - 1)), max_size=30))
    return [(value, group, part_of[group]) for value, group in draw(st.permutations(rows))]


def counted(rows, ordered):
    """The counts of some records whose groups are numbered anew."""
    counts = ConfidentialCounts(ordered=ordered)
    values = np.array([0.0 if value is None else value for value, *_ in rows])
    missing = np.array([value is None for value, *_ in rows])
    labels = np.unique([group for _, group, _ in rows], return_inverse=True)[1]
    counts.add(values, labels, missing if missing.any() else None)
    return counts


@given(parts(), st.booleans(), st.booleans())
def test_parts_add_up(rows, ordered, backwards):
    whole = counted(rows, ordered)
    cut = [[row for row in rows if row[2] == part] for part in sorted({part for *_, part in rows})]
    total = ConfidentialCounts(ordered=ordered)
    for part in reversed(cut) if backwards else cut:
        total.merge(counted(part, ordered))
    for found, expected in (
        (total.diversity().distinct, whole.diversity().distinct),
        (total.diversity().entropy, whole.diversity().entropy),
        (total.closeness(), whole.closeness()),
    ):
        # Groups are numbered in the order of the parts, so another may be the first of the worst.
        assert replace(found, worst=0) == replace(expected, worst=0)
        assert backwards or found == expected
    # No value is one below all others; NaN is one above them.
    ranks = {None: -9.0, "nan": 9.0}
    values = [ranks.get(value if value == value else "nan", value) for value, *_ in rows]
    labels = [group for _, group, _ in rows]
    distinct, entropy = zip(*measures.diversity(values, labels), strict=True)
    assert total.diversity().distinct.least == min(distinct)
    assert total.diversity().entropy.mean == pytest.approx(np.mean(entropy))
    apart = measures.closeness(values, labels, ordered)
    assert total.closeness().largest == pytest.approx(max(apart), abs=1e-12)
    assert total.closeness().mean == pytest.approx(np.mean(apart), abs=1e-12)


def test_parts_are_added_one_by_one_or_merged():
    rng = np.random.default_rng(0)
    values, labels = rng.normal(size=90), np.arange(90) // 3
    total, others = ConfidentialCounts(), ConfidentialCounts()
    total.add(values[:30], labels[:30])
    total.add(values[30:60], labels[30:60] - 10)
    others.add(values[60:], labels[60:] - 20)
    total.merge(others)
    assert total.diversity() == counts_of(values, labels).diversity()
    assert total.closeness() == counts_of(values, labels).closeness()
