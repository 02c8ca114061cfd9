import numpy as np
import pytest

import microagg
from microagg.measure import evidence as module
from microagg.measure.dominance import Dominance
from microagg.measure.evidence import Evidence
from microagg.measure.figures import FIGURES, judge, shown
from microagg.measure.interval import interval_disclosure, satisfaction
from microagg.measure.linkage import Records, link
from microagg.measure.probabilistic_loss import probabilistic_loss
from microagg.measure.statistics import paired
from tests.measure.test_anonymity import counts_of
from tests.promises.test_figures import usefulness


@pytest.fixture
def tables():
    X = np.random.default_rng(0).normal(size=(60, 3))
    groups = microagg.partition(X, 4, "mdav")
    return X, np.asarray(microagg.aggregate(X, groups)), groups


def test_every_figure_whose_needs_are_met(tables):
    X, R, groups = tables
    pair = paired(X, R)
    counts = counts_of(np.arange(60) % 7, groups.labels)
    everything = Evidence(
        numbers=pair,
        k=4,
        unique=0,
        dominance=Dominance([0.8]),
        confidential={"illness": counts},
        useful=usefulness(X, R, np.arange(60) % 4),
        distance=0.1,
        alpha=0.5,
    )
    assert list(judge(everything)) == [figure.name for figure in FIGURES]
    assert judge(Evidence()) == {}
    assert "satisfaction" not in judge(Evidence(numbers=pair))
    assert judge(Evidence(k=4, unique=0)) == {"k": 4, "unique_records": 0}
    assert judge(Evidence(confidential={"illness": counts})).keys() == {
        "diversity",
        "closeness",
        "attribute_disclosure",
    }


def test_work_is_shared_without_changing_it(tables, monkeypatch):
    X, R, _ = tables
    calls = []
    monkeypatch.setattr(module, "link", lambda *a, **b: calls.append(1) or link(*a, **b))
    shares = []
    figures = judge(
        Evidence(
            numbers=paired(X, R),
            sd=10.0,
            distance=[0.1, 0.2, 0.3],
            importance=np.ones(3),
            advance=shares.append,
        )
    )
    assert calls == [1]
    assert shares[-1] == 1.0
    assert figures["linkage"] == link(Records.of_numbers(paired(X, R))).percent
    assert figures["interval"] == interval_disclosure(paired(X, R), 10.0).total
    assert figures["probabilistic_loss"] == probabilistic_loss(paired(X, R)).total
    assert figures["satisfaction"] == satisfaction(paired(X, R), [0.1, 0.2, 0.3])


def test_what_a_person_reads():
    values = {
        "closeness": {"illness": 0.12345, "cost": 1.0},
        "k": 12345,
        "linkage": 12.345678,
        "loss_attributes": [1.0, 2.0],
        "il1s": 0.00123456,
    }
    rows = [(figure.name, figure.title, text) for figure, text in shown(values)]
    assert rows == [
        ("k", "Smallest class", "12345"),
        ("linkage", "Record linkage", "12.35 %"),
        ("closeness", "Closeness (t-closeness) of illness", "0.123"),
        ("closeness", "Closeness (t-closeness) of cost", "1"),
        ("il1s", "IL1s", "0.00123"),
    ]


def test_what_wants_two_columns_is_not_measured_of_one(tables):
    X, R, _ = tables
    figures = judge(Evidence(numbers=paired(X[:, :1], R[:, :1])))
    told = {figure.name: text for figure, text in shown(figures)}
    for name in ("correlation_change", "largest_correlation_change", "pil_correlations"):
        assert told[name] == "not measured: one numeric column"
    told = {figure.name: text for figure, text in shown(judge(Evidence(numbers=paired(X, R))))}
    assert not any("not measured" in text for text in told.values())


def test_a_share_that_is_not_nothing_is_not_shown_as_nothing():
    names = ("linkage", "class_linkage", "interval")
    told = shown(dict(zip(names, (0.0, 0.004, 0.006), strict=True)))
    assert {figure.name: text for figure, text in told} == {
        "linkage": "0.00 %",
        "class_linkage": "below 0.01 %",
        "interval": "0.01 %",
    }
