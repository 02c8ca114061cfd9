import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import microagg
from microagg.base.errors import InputError
from microagg.measure.linkage import Records, classes
from microagg.measure.linkage import link as link_records
from microagg.measure.statistics import paired
from tests.naive import measures
from tests.reference import load


def link(pair, known=None, **more):
    pair = pair if known is None else pair.only(known)
    return link_records(Records.of_numbers(pair), **more)


@st.composite
def releases(draw, most=40):
    """Originals and a release: grids, duplicates, constant columns, offsets, group means."""
    rng = np.random.default_rng(draw(st.integers(0, 2**32)))
    n, d = draw(st.integers(2, most)), draw(st.integers(1, 5))
    X = rng.normal(size=(n, d))
    kind = draw(st.sampled_from(["plain", "grid", "few", "equal", "offset", "constant"]))
    if kind == "grid":
        X = rng.integers(-3, 4, (n, d)).astype(float)
    elif kind == "few":
        X = X[rng.integers(0, min(n, 3), n)]
    elif kind == "equal":
        X[:] = X[0]
    elif kind == "offset":
        X = 1e12 + rng.integers(0, 50, (n, d))
    elif kind == "constant":
        X[:, 0] = 7.0
    how = draw(st.sampled_from(["means", "itself", "shuffled", "noise", "one point"]))
    if how == "means":
        R = np.asarray(microagg.aggregate(X, np.arange(n) // 3))
    elif how == "shuffled":
        R = X[rng.permutation(n)]
    elif how == "noise":
        R = X + rng.integers(-1, 2, (n, d))
    else:
        R = X.copy() if how == "itself" else np.repeat(X[:1], n, axis=0)
    return X, R


@given(releases(), st.booleans())
@settings(max_examples=200)
def test_against_the_definition(pair, first_only):
    X, R = pair
    known = [0] if first_only else None
    percent, expected, by_class, rows = measures.linkage(X, R, known)
    found = link(paired(X, R), known=known)
    assert found.percent == pytest.approx(percent)
    assert found.expected == pytest.approx(expected)
    assert found.by_class == pytest.approx(by_class)
    np.testing.assert_array_equal(found.rows, rows)


@pytest.mark.parametrize(("n", "d"), [(3000, 2), (2000, 1), (1500, 30)])
@pytest.mark.parametrize("share", [1, 5])
def test_deep_trees(n, d, share, threads):
    rng = np.random.default_rng(n)
    X = rng.integers(0, 60, (n, d)).astype(float)
    R = np.asarray(microagg.aggregate(X, np.arange(n) // share, "integer"), float)
    *shares, rows = measures.linkage(X, R)
    for count in (1, 2):
        threads(count)
        found = link(paired(X, R))
        assert [found.percent, found.expected, found.by_class] == pytest.approx(shares)
        np.testing.assert_array_equal(found.rows, rows)


def test_what_is_sure():
    X = np.random.default_rng(1).normal(size=(50, 3))
    assert link(paired(X, X)).percent == link(paired(X, X)).expected == 100.0
    one = np.zeros((50, 3))
    assert link(paired(X, one)).percent == pytest.approx(2.0)
    assert link(paired(X, one)).expected == pytest.approx(2.0)
    assert link(paired(one, X)).expected == pytest.approx(2.0)  # nobody differs: all are as near
    labels = microagg.partition(X, 5, "mdav")
    found = link(paired(X, microagg.aggregate(X, labels)))
    assert 0.0 < found.expected <= 20.0 < found.by_class < 100.0
    assert link(paired(X, one)).by_class == 100.0  # there is only one class


def test_symmetric_ties_are_ties_in_any_units():
    X = np.array([[0.0, 0.0], [0.3, 0.0], [-0.3, 0.0], [9.1, 7.7], [-9.1, -7.3]])
    R = X.copy()
    R[0] = [50.0, 50.0]
    found = link(paired(X * 0.1, R * 0.1))
    assert found.rows[0] == 1  # rows 1 and 2 are just as near
    assert found.expected == pytest.approx(80.0)


def test_extreme_values():
    X = np.array([[1e300, 1.0], [-1.7e308, 1.0], [1.7e308, 2.0], [3.0, 5.0]])
    assert link(paired(X, X)).percent == 100.0
    assert link(paired(X * 1e-305, X)).percent >= 0.0
    tiny = np.array([5e-324, 1e-323, 0.0, 2e-323])
    assert link(paired(tiny, tiny)).percent == 100.0
    far = link(paired(tiny, np.array([1.7e308, -1.7e308, 1.0, 0.0])))
    assert far.rows.tolist() == [3, 3, 3, 3]


entries = st.sampled_from([0.0, -0.0, 1.0, 1e300, -1.0, 1e-300])


@given(
    st.integers(1, 30).flatmap(
        lambda n: st.lists(st.lists(entries, min_size=n, max_size=n), min_size=1, max_size=3)
    )
)
def test_classes_against_the_definition(lists):
    columns = [np.array(values) for values in lists]
    labels = classes(np.column_stack(columns))
    found = {frozenset(np.flatnonzero(labels == g).tolist()) for g in set(labels.tolist())}
    assert found == measures.class_sets(columns)
    first_seen = np.sort(np.unique(labels, return_index=True)[1])
    np.testing.assert_array_equal(labels[first_seen], np.arange(first_seen.size))


def test_classes_of_many_records():
    records = np.random.default_rng(0).integers(-5, 5, (4, 20000)).astype(float).T
    assert classes(records).max() + 1 == len(np.unique(records, axis=0))


def test_refusals_and_figures():
    X = np.random.default_rng(2).normal(size=(20, 3))
    with pytest.raises(InputError, match="same records"):
        link(paired(X, X[:-1]))
    with pytest.raises(InputError, match="finite"):
        link(paired(X, np.where(X > 0, X, np.nan)))
    seen = []
    found = link(paired(X, X), advance=seen.append)
    assert seen[-1] == 1.0
    assert (found.percent, found.expected) == (100.0, 100.0)


def test_census():
    X = load("census")
    R = microagg.aggregate(X, microagg.partition(X, 5, "mdav"))
    *shares, _ = measures.linkage(X, np.asarray(R))
    found = link(paired(X, R))
    assert [found.percent, found.expected, found.by_class] == pytest.approx(shares)
