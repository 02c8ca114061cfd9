"""What every figure of a table's risk keeps."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from microagg.measure.figures import FIGURES, judge, shown
from microagg.measure.risk.exposure import Exposure
from microagg.measure.risk.figures import EXPOSURE
from tests.measure.risk.tables import keys_of, records
from tests.naive import risk as naive


@pytest.mark.parametrize("figure", EXPOSURE, ids=lambda figure: figure.name)
def test_it_says_what_it_is(figure):
    assert figure.name.isidentifier()
    assert figure.title[0].isupper()
    assert figure.formula
    assert figure.description.endswith(".")
    assert figure.range[0] < figure.range[1]
    assert figure.group == "exposure"
    assert set(figure.needs) <= {"keys", "households", "special", "population_uniques"}


def test_names_and_titles_are_their_own():
    everything = (*FIGURES, *EXPOSURE)
    assert len({figure.name for figure in everything}) == len(everything)
    assert len({figure.title for figure in everything}) == len(everything)


@given(records(), st.booleans(), st.integers(0, 99))
def test_by_their_definitions(table, wildcards, seed):
    rng, n = np.random.default_rng(seed), len(table)
    weights, homes = rng.integers(1, 9, n).astype(float), rng.integers(0, 3, n)
    keys = keys_of(table)
    exposure = Exposure(
        keys=keys,
        weights=weights,
        households=homes,
        wildcards=wildcards,
        largest=len(keys.names),
    )
    found = judge(exposure, EXPOSURE)
    assert list(found) == [figure.name for figure in EXPOSURE]
    f, F = naive.frequencies(table, weights, wildcards)
    risks = list(map(naive.individual, f, F))
    homely = naive.household(risks, homes)
    marketer = 100 / n * sum(1 / each for each in F)
    expected = {
        "sample_uniques": 100 * f.count(1) / n,
        "violating_2": sum(each < 2 for each in f),
        "violating_3": sum(each < 3 for each in f),
        "violating_5": sum(each < 5 for each in f),
        "expected_reidentifications": sum(risks),
        "individual_risk": 100 * sum(risks) / n,
        "risk_above_threshold": 100 * sum(each > 0.09 for each in risks) / n,
        "household_reidentifications": sum(homely),
        "household_risk": 100 * sum(homely) / n,
        "prosecutor_highest": 100 / min(f),
        "prosecutor_average": 100 / n * sum(1 / each for each in f),
        "journalist_highest": 100 / min(F),
        "journalist_average": max(marketer, 100 * len(set(table)) / weights.sum()),
        "marketer": marketer,
        "distinction": 100 * len(set(table)) / n,
        "separation": naive.separation(table),
    }
    if not wildcards:
        times = [table.count(each) for each in set(table)]
        expected["population_uniques"] = 100 * naive.population_uniques(times, int(weights.sum()))
        scores = naive.suda(table, len(keys.names))
        dis = naive.dis(scores, table, len(keys.names)) if any(scores) else [0.0]
        # Two factors of DIS are rounded as in sdcMicro.
        assert found["highest_dis"] == pytest.approx(100 * max(dis), rel=1e-5)
    for name, value in expected.items():
        assert found[name] == pytest.approx(value, abs=1e-9), name
    for figure in EXPOSURE:
        low, high = figure.range
        assert low <= found[figure.name] <= high + 1e-9
        assert np.isfinite(found[figure.name])
    assert len(shown(found, EXPOSURE)) == len(EXPOSURE)


def test_what_is_not_known_is_left_out():
    found = judge(Exposure(keys=keys_of([(1, 2), (1, 3)])), EXPOSURE)
    assert "household_risk" not in found
    assert "population_uniques" not in found
    assert "highest_dis" not in found
