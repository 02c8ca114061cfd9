from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from microagg.base.errors import InputError
from microagg.measure.anonymity import ConfidentialCounts, classes, closeness, diversity
from tests.naive import measures

entries = st.sampled_from([0.0, -0.0, 1.0, float("nan"), 1e300, -1.0, float("inf")])


@given(
    st.integers(1, 30).flatmap(
        lambda n: st.lists(st.lists(entries, min_size=n, max_size=n), min_size=1, max_size=3)
    )
)
def test_classes_against_the_definition(lists):
    columns = [np.array(values) for values in lists]
    labels = classes(columns)
    found = {frozenset(np.flatnonzero(labels == g).tolist()) for g in set(labels.tolist())}
    assert found == measures.class_sets(columns)
    first_seen = np.sort(np.unique(labels, return_index=True)[1])
    np.testing.assert_array_equal(labels[first_seen], np.arange(first_seen.size))
    np.testing.assert_array_equal(classes(np.column_stack(columns)), labels)


def test_classes_of_many_kinds_and_many_records():
    rng = np.random.default_rng(0)
    columns = [
        rng.integers(-5, 5, 20000),
        rng.integers(0, 3, 20000).astype(np.uint8),
        rng.random(20000) < 0.5,
        rng.integers(0, 4, 20000).astype(np.float32),
    ]
    labels = classes(columns)
    stacked = np.column_stack([column.astype(float) for column in columns])
    assert labels.max() + 1 == len(np.unique(stacked, axis=0))
    big = np.array([2**63, 2**63 + 1, 2**64 - 1, 2**63], np.uint64)
    assert classes([big]).tolist() == [0, 1, 2, 0]


def test_refused_columns():
    with pytest.raises(InputError, match="no columns"):
        classes([])
    with pytest.raises(InputError, match="column 1"):
        classes([np.arange(3), np.arange(4)])
    with pytest.raises(InputError, match="give each category a code"):
        classes([np.array(["a", "b"])])
    with pytest.raises(InputError, match="one value a record"):
        diversity(np.arange(3), [0, 0])
    with pytest.raises(InputError, match="give each category a code"):
        closeness(np.array([None, 1]), [0, 0])
    with pytest.raises(InputError, match="0 to g - 1"):
        diversity(np.arange(2), [0, 2])


@given(st.lists(st.tuples(st.integers(0, 5), st.integers(0, 4)), min_size=1, max_size=40))
def test_diversity_and_closeness_against_the_definition(rows):
    values = [value for value, _ in rows]
    labels = np.unique([label for _, label in rows], return_inverse=True)[1].tolist()
    expected = measures.diversity(values, labels)
    found = diversity(np.array(values), labels)
    for summary, each in zip(
        (found.distinct, found.entropy), zip(*expected, strict=True), strict=True
    ):
        assert summary.least == pytest.approx(min(each))
        assert summary.largest == pytest.approx(max(each))
        assert summary.mean == pytest.approx(np.mean(each))
        assert each[summary.worst] == pytest.approx(min(each))
    for ordered in (True, False):
        each = measures.closeness(values, labels, ordered)
        summary = closeness(np.array(values), labels, ordered=ordered)
        assert summary.largest == pytest.approx(max(each), abs=1e-12)
        assert summary.mean == pytest.approx(np.mean(each), abs=1e-12)
        assert summary.least == pytest.approx(min(each), abs=1e-12)
        assert each[summary.worst] == pytest.approx(max(each), abs=1e-12)


def test_closeness_by_hand():
    # Salaries of Li, Li and Venkatasubramanian (2007), section 4.3: 3k to 11k, three groups.
    salaries = np.array([3, 4, 5, 6, 11, 8, 7, 9, 10])
    summary = closeness(salaries, [0, 0, 0, 1, 1, 1, 2, 2, 2])
    assert summary.largest == pytest.approx(0.375)
    text = closeness(np.array(["flu", "flu", "gout", "cold"]), [0, 0, 1, 1], ordered=False)
    assert text.largest == 0.5
    assert diversity(np.array(["flu", "flu", "gout", "cold"]), [0, 0, 1, 1]).distinct.worst == 0
    assert diversity(np.array([1.0, np.nan, np.nan]), [0, 0, 0]).distinct.least == 2.0


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
    assert total.diversity() == diversity(values, labels)
    assert total.closeness() == closeness(values, labels)
