import numpy as np
import pytest

import microagg
from microagg.grouping.sequence import tour

ORDINARY = np.random.default_rng(11).normal(size=(150, 4))


def test_unknown_methods_get_the_near_names():
    with pytest.raises(microagg.MicroaggError, match="did you mean mdav"):
        microagg.partition(np.ones((4, 2)), 2, "mdaw")
    with pytest.raises(microagg.MicroaggError, match="did you mean gamma"):
        microagg.partition(np.ones((4, 2)), 2, "vmdav", gama=1)
    with pytest.raises(microagg.MicroaggError, match="it has none"):
        microagg.partition(np.ones((4, 2)), 2, "mdav", gamma=1)


@pytest.mark.parametrize(
    ("method", "options", "sentence"),
    [
        ("vmdav", {"gamma": -1}, "gamma must be a number, 0 or more"),
        ("vmdav", {"gamma": "wide"}, "gamma must be a number, 0 or more"),
        ("reporder", {"clusters": 0}, "clusters must be a whole number, 1 or more"),
        ("reporder", {"clusters": []}, "clusters must be a whole number, 1 or more"),
        ("reporder", {"clusters": [2, 1.5]}, "clusters must be a whole number, 1 or more"),
        ("reporder", {"clusters": "many"}, "clusters must be a whole number, 1 or more"),
        ("igd", {"start": "igd"}, "igd cannot start from 'igd' here"),
        ("igd", {"start": "auto"}, "igd cannot start from 'auto' here"),
        ("igd", {"start": "univariate"}, "igd cannot start from 'univariate' here"),
        ("igd", {"start": "mdva"}, "did you mean mdav"),
    ],
)
def test_bad_options_get_one_clear_sentence(method, options, sentence):
    with pytest.raises(microagg.MicroaggError) as caught:
        microagg.partition(ORDINARY, 3, method, **options)
    assert sentence in str(caught.value)


@pytest.mark.parametrize("start", ["cbfs", "vmdav", "tsp", "reporder", "zscore"])
def test_decomposition_never_loses_more_than_its_start(start):
    X = ORDINARY
    before = microagg.information_loss(X, microagg.partition(X, 3, start))
    after = microagg.information_loss(X, microagg.partition(X, 3, "igd", start=start))
    assert after <= before * (1 + 1e-12)


def test_several_numbers_of_clusters_are_never_worse_than_one_of_them():
    X = ORDINARY
    one = microagg.information_loss(X, microagg.partition(X, 3, "reporder", clusters=4))
    many = microagg.information_loss(X, microagg.partition(X, 3, "reporder", clusters=range(1, 6)))
    assert many <= one


def test_several_k_share_one_ordering(monkeypatch):
    calls = []
    original = tour.order_by_tour
    monkeypatch.setattr(tour, "order_by_tour", lambda *given: calls.append(1) or original(*given))
    microagg.partition_many(np.random.default_rng(0).normal(size=(50, 2)), [2, 3, 4], "tsp")
    assert len(calls) == 1
    with pytest.raises(microagg.MicroaggError, match="at least one k"):
        microagg.partition_many(np.ones((4, 1)), [])


def test_columns_one_by_one():
    X = np.random.default_rng(10).integers(0, 99, (50, 3))
    found = microagg.partition_columns(X, 4)
    assert len(found) == 3
    for column, own in enumerate(found):
        expected = microagg.optimal_univariate(X[:, column], 4)
        assert np.array_equal(own.labels, expected.labels)
        single = microagg.partition(X[:, column], 4, "univariate")
        assert microagg.information_loss(X[:, column], single) == pytest.approx(
            microagg.information_loss(X[:, column], own)
        )
    assert microagg.partition(X[:, 0], 4).method == "univariate"
    with pytest.raises(microagg.MicroaggError, match="use partition_columns"):
        microagg.partition(X, 4, "univariate")


def test_progress_is_shown_to_those_who_ask(capsys):
    X = np.random.default_rng(12).normal(size=(60, 2))
    microagg.partition(X, 3, "npn", progress=True)
    assert "grouping by npn" in capsys.readouterr().err
    microagg.partition(X, 3, "npn", progress=False)
    microagg.partition(X, 3, "npn")
    assert capsys.readouterr().err == ""
