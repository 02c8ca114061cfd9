import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from microagg.measure.risk.individual import household_risk, individual_risk
from tests.naive import risk as naive


@given(st.lists(st.tuples(st.integers(1, 9), st.floats(0.1, 1e6)), min_size=1, max_size=20))
def test_as_the_formulas_say(pairs):
    f = np.array([pair[0] for pair in pairs])
    F = np.array([pair[1] for pair in pairs])
    expected = [naive.individual(*pair) for pair in pairs]
    near_one = np.abs(1 - f / F) < 1e-3
    assert individual_risk(f, F)[~near_one] == pytest.approx(
        np.array(expected)[~near_one], rel=1e-9
    )


@pytest.mark.parametrize("f", [1, 2])
def test_it_is_the_expectation_of_one_in_the_population(f):
    for p in (0.1, 0.5, 0.95, 0.9999, 1 - 1e-9):
        found = individual_risk(np.array([f]), np.array([f / p]))[0]
        assert found == pytest.approx(naive.expected(f, p), rel=1e-9)


def test_it_grows_up_to_one_in_the_sample():
    for f in (1, 2, 3, 50):
        F = f / np.linspace(1e-6, 1.0, 10_001)
        risk = individual_risk(np.full(F.size, f), F)
        assert (np.diff(risk) >= -1e-15).all()
        assert risk[-1] == pytest.approx(1 / f)
        assert individual_risk(np.array([f]), np.array([0.5])) == pytest.approx(1 / f)


@given(st.lists(st.tuples(st.floats(0, 1), st.integers(0, 4)), min_size=1, max_size=20))
def test_a_household_is_as_risky_as_all_of_its_members(members):
    risks, homes = zip(*members, strict=True)
    found = household_risk(np.array(risks), np.array(homes))
    assert found == pytest.approx(naive.household(risks, homes), abs=1e-12)


def test_tiny_risks_of_a_household_add_up():
    found = household_risk(np.full(3, 1e-18), np.zeros(3, int))
    assert found == pytest.approx(3e-18, rel=1e-9)
