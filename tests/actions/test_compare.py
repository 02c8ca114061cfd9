import numpy as np
import pandas as pd
import pytest

import microagg
from microagg.base.errors import OptionError


@pytest.fixture
def table():
    rng = np.random.default_rng(0)
    return pd.DataFrame(
        {
            "x": rng.normal(size=40),
            "y": rng.integers(0, 90, 40),
            "w": rng.exponential(size=40),
            "city": np.array(["a", "b"])[np.arange(40) % 2],
        }
    )


def test_each_choice_is_what_protect_would_do(table, tmp_path):
    wanted = {"quasi_identifiers": ["x", "y"], "weights": "w", "within": "city"}
    found = microagg.compare(table, [2, 5], ["mdav", "zscore"], **wanted)
    assert [(each.asked, each.k) for each in found.choices] == [
        ("mdav", 2),
        ("mdav", 5),
        ("zscore", 2),
        ("zscore", 5),
    ]
    for each in found.choices:
        release = microagg.protect(table, k=each.k, method=each.method, **wanted)
        assert each.information_loss == pytest.approx(release.record.information_loss)
        assert each.groups == release.partition.n_groups
        assert each.risk == pytest.approx(release.assessment.figures["expected_linkage"])
        assert each.seconds >= 0
    best = min(found.choices, key=lambda each: each.risk + each.information_loss)
    assert found.recommended == best
    assert len(found.recommendation) == 3
    assert "k = 2" in found.recommendation[0]
    assert found.to_dict()["columns"] == ("x", "y")
    found.report(tmp_path / "comparison.html")
    assert "zscore" in (tmp_path / "comparison.html").read_text()


def test_categories_are_linked_too(table):
    found = microagg.compare(table, [3], ["mdav"], quasi_identifiers="city")
    assert 0.0 < found.choices[0].risk < 100.0 / 3
    assert found.choices[0].scoring_index is None


def test_refused(table):
    for ks, methods, words in (([], ["mdav"], "at least one k"), ([3], ["mdaw"], "mdav")):
        with pytest.raises(OptionError, match=words):
            microagg.compare(table, ks, methods, quasi_identifiers="x")
    with pytest.raises(OptionError, match="quasi_identifiers must be given"):
        microagg.compare(table, [3], ["mdav"])


def test_an_ordering_is_made_once_for_all_k(monkeypatch):
    from microagg.grouping.sequence import tour

    made, order = [], tour.order_by_tour
    monkeypatch.setattr(tour, "order_by_tour", lambda *task: made.append(task) or order(*task))
    table = pd.DataFrame(np.random.default_rng(0).normal(size=(300, 3)), columns=list("xyz"))
    found = microagg.compare(
        table, (3, 5, 10), ("tsp",), quasi_identifiers=list("xyz"), progress=False
    )
    assert len(made) == 1
    for choice in found.choices:
        alone = microagg.protect(
            table, k=choice.k, method="tsp", quasi_identifiers=list("xyz"), progress=False
        )
        assert choice.information_loss == alone.record.information_loss
        assert choice.groups == alone.partition.n_groups
