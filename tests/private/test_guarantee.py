"""The promise says no more than holds."""

import json

import pytest

from microagg.private import release
from microagg.private.registry import METHODS

X = [[1.0, 2.0], [3.0, 4.0], [2.0, 9.0], [0.0, 5.0]]
BOUNDS = {"0": (0, 4), "1": (0, 10)}


def guarantee(method, bounds=BOUNDS, **options):
    return release(
        X, epsilon=1.0, bounds=bounds, method=method, accept="partition-conditional", **options
    ).guarantee


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("simulate", [True, False])
def test_fields_and_words(method, simulate):
    found = guarantee(method, simulate=simulate)
    fields = json.loads(json.dumps(found.to_dict()))
    assert fields["method"] == method
    assert fields["epsilon"] == 1.0
    assert sum(fields["epsilon_by_column"].values()) <= 1.0
    assert fields["public"]["n"] == 4
    assert fields["public"]["bounds"] == {"0": [0, 4], "1": [0, 10]}
    assert fields["private"] is not simulate
    assert fields["rows_linked"] is METHODS[method].linked
    text = str(found)
    assert text == fields["text"]
    assert text.startswith("SIMULATION, NOT PRIVATE") is simulate
    assert ("OpenDP" in text) is not simulate
    for part in ("differ in one record", "Taken as public", "Not protected", "add up"):
        assert part in text


@pytest.mark.parametrize("method", [m.name for m in METHODS.values() if not m.standard])
def test_weaker_guarantees_are_never_called_by_the_stronger_name(method):
    found = guarantee(method)
    assert not found.standard
    assert found.definition == "epsilon-differential privacy given the partition"
    for text in (found.text, json.dumps(found.to_dict())):
        mentions = text.count("differential privacy")
        qualified = text.count("differential privacy given the partition")
        qualified += text.count("not differential privacy in the standard sense")
        assert mentions == qualified > 0
    assert any("who is grouped with whom" in point for point in found.not_protected)


@pytest.mark.parametrize("method", [m.name for m in METHODS.values() if m.standard])
def test_standard_guarantees(method):
    found = guarantee(method)
    assert found.standard
    assert found.definition == "epsilon-differential privacy"
    assert "given the partition" not in found.text


def test_bounds_from_the_data_leak():
    found = guarantee("marginals", bounds="from-data")
    assert found.bounds_leaked
    assert not found.private
    assert not found.standard
    assert found.definition.startswith("none")
    assert found.text.startswith("BOUNDS FROM THE DATA, NOT PRIVATE")
    assert "bounds" not in found.public
    assert "least and the greatest value" in found.not_protected[0]
    assert not guarantee("marginals").bounds_leaked


def test_nothing_in_it_depends_on_the_data():
    one = guarantee("marginals").to_dict()
    other = release(
        [[0.0, 0.0]] * 4, epsilon=1.0, bounds=BOUNDS, method="marginals"
    ).guarantee.to_dict()
    assert one == other
