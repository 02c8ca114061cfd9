import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import microagg
from microagg.measure.linkage import Records, link
from microagg.measure.linkage_parts import Links
from microagg.measure.statistics import paired


def placed(originals, own):
    links = Links(originals)
    links.place(np.arange(len(own)), own)
    return links


def by_definition(originals, own, centres, sizes):
    """Every distance in sight: by records, by classes."""
    found, classes = 0.0, 0.0
    for original, mine in zip(originals, own, strict=True):
        squares = [
            sum((c - o) * (c - o) for c, o in zip(p, original, strict=True)) for p in centres
        ]
        square = sum((c - o) * (c - o) for c, o in zip(mine, original, strict=True))
        if square == min(squares):
            found += 1.0 / sum(size for s, size in zip(squares, sizes, strict=True) if s == square)
            nearest = {tuple(p) for s, p in zip(squares, centres, strict=True) if s == square}
            classes += 1.0 / len(nearest)
    return 100.0 * found / len(originals), 100.0 * classes / len(originals)


@st.composite
def releases(draw):
    rng = np.random.default_rng(draw(st.integers(0, 2**32)))
    n, d, k = draw(st.integers(1, 60)), draw(st.integers(1, 4)), draw(st.integers(1, 4))
    records = rng.normal(size=(n, d)) if draw(st.booleans()) else rng.integers(0, 4, (n, d)) * 0.1
    labels = np.minimum(np.arange(n) // k, max(0, n // k - 1))
    if draw(st.booleans()):
        labels = labels[np.lexsort(np.argsort(records, axis=0).T)]
    centres = np.stack([records[labels == g].mean(axis=0) for g in range(labels.max() + 1)])
    if draw(st.booleans()):
        centres = np.round(centres, 1) + 0.0  # some groups publish the same
    chosen = rng.choice(n, rng.integers(1, n + 1), replace=False)
    cuts = np.sort(rng.integers(0, len(centres) + 1, draw(st.integers(0, 4))))
    return records[chosen], labels[chosen], centres, np.bincount(labels), cuts


@given(releases(), st.sampled_from(["before", "amid", "after"]), st.randoms())
@settings(max_examples=150, deadline=None)
def test_by_definition(release, when, random):
    originals, labels, centres, sizes, cuts = release
    links = placed(originals, centres[labels]) if when == "before" else Links(originals)
    parts = list(zip(np.split(centres, cuts), np.split(sizes, cuts), strict=True))
    random.shuffle(parts)
    half = np.arange(len(originals))[::2]
    for number, part in enumerate(parts):
        if when == "amid" and number == len(parts) // 2:
            links.place(half, centres[labels[half]])
        links.add(*part)
    if when != "before":
        links.place(np.arange(len(originals)), centres[labels])
    expected = by_definition(originals, centres[labels], centres, sizes)
    assert (links.expected, links.by_class) == pytest.approx(expected, rel=1e-12)


def test_as_for_a_whole_table(threads):
    X = np.random.default_rng(4).normal(size=(4000, 3))
    X = (X - X.mean(axis=0)) / X.std(axis=0)
    groups = microagg.partition(X, 5, "mdav")
    R = np.asarray(microagg.aggregate(X, groups))
    centres = R[np.unique(groups.labels, return_index=True)[1]]
    for count in (1, 2, 3, 8):
        threads(count)
        links = placed(X, R)
        for start in range(0, len(centres), 100):
            links.add(centres[start : start + 100], groups.sizes[start : start + 100])
        whole = link(Records.of_numbers(paired(X, R)))
        assert links.expected == pytest.approx(whole.expected)
        assert links.by_class == pytest.approx(whole.by_class)


def test_what_is_sure():
    X = np.arange(10.0)[:, np.newaxis]
    links = placed(X, X)
    assert links.expected == 0.0  # nothing was published yet
    links.add(X, np.full(10, 4))
    links.add(X[:0], np.empty(0, np.int64))
    assert links.expected == 25.0
    links.add(X, np.full(10, 4))  # other groups at the very same points
    assert links.expected == 12.5
    assert links.by_class == 100.0


def test_classes_are_counted_once_wherever_they_are():
    X = np.zeros((1, 2))
    around = np.array([[1.0, 0.0], [0.0, 1.0], [-1.0, -0.0]])
    one, other = placed(X, around[:1]), placed(X, around[:1])
    one.add(around, np.full(3, 2))
    other.add(around[1:], np.full(2, 5))
    other.add(2.0 * around, np.full(3, 5))
    one.merge(other)
    assert one.expected == pytest.approx(100.0 / 16)
    assert one.by_class == pytest.approx(100.0 / 3)


def test_who_is_not_published_does_not_count():
    X = np.arange(10.0)[:, np.newaxis]
    links = Links(X)
    links.add(X[:5], np.full(5, 2))
    assert links.expected == 0.0
    links.place(np.arange(5), X[:5])
    assert links.expected == 50.0
