"""Scenes to attack: columns before and after, with gaps, ties, categories and classes."""

import numpy as np
from hypothesis import strategies as st

from microagg.measure.attacks.attack import Earlier, Scene
from microagg.measure.compared import Compared
from microagg.measure.evidence import Evidence
from microagg.measure.linkage import Records, classes
from microagg.measure.statistics import paired
from tests.measure.test_linkage import releases


def column(name, x, y, *, categories=0, numeric=True):
    """A column of which NaN is no value."""
    x, y = np.asarray(x, float), np.asarray(y, float)
    gone, blank = (np.isnan(each) if np.isnan(each).any() else None for each in (x, y))
    return Compared(name, np.nan_to_num(x), np.nan_to_num(y), numeric, categories, gone, blank)


def scene(X, R, *, known=None, confidential=(), earlier=None, **more):
    """Numbers before and after; known: how many of the first columns the intruder knows."""
    pair = paired(X, R)
    names = [f"c{a}" for a in range(X.shape[1])]
    known = names if known is None else names[:known]
    only = pair.only([names.index(name) for name in known])
    evidence = Evidence(numbers=pair, points=Records.of_numbers(only), **more)
    return Scene(
        evidence=evidence,
        columns=[column(name, *pair) for name, *pair in zip(names, X.T, R.T, strict=True)],
        known=known,
        labels=classes(R),
        confidential=confidential,
        earlier=earlier,
    )


@st.composite
def scenes(draw, most=25):
    """A release, what is secret, and an earlier release."""
    X, R = draw(releases(most))
    n = len(X)
    rng = np.random.default_rng(draw(st.integers(0, 2**32)))
    ill = rng.integers(0, 3, n).astype(float)
    cost = rng.normal(size=n).round(1)
    shown = np.where(rng.random(n) < 0.1, np.nan, cost)
    cost = np.where(rng.random(n) < 0.1, np.nan, cost)
    secret = [
        column("ill", ill, ill, categories=3, numeric=False),
        column("cost", cost, shown),
    ]
    old = rng.permutation(n)[: max(1, n - 3)]
    rows = np.full(n, -1)
    rows[old] = np.arange(old.size)
    labels = np.unique(rng.integers(0, max(1, n // 3), old.size), return_inverse=True)[1]
    earlier = Earlier(labels, rows, ill.astype(int), ill[old].astype(int))
    return scene(
        X,
        R,
        known=draw(st.integers(1, X.shape[1])),
        confidential=secret,
        earlier=earlier,
        distance=0.3,
        importance=0.1,
        alpha=0.9,
    )
