"""What every registered attack keeps."""

import json

import numpy as np
import pytest
from hypothesis import given, settings

from microagg.measure.attacks.registry import ATTACKS, try_attacks
from tests.measure.attacks.scenes import column, scene, scenes

CRITERIA = {"singling out", "linkability", "inference"}


@pytest.mark.parametrize("attack", ATTACKS, ids=lambda attack: attack.name)
def test_it_says_what_it_is(attack):
    assert attack.name.isidentifier()
    assert attack.title[0].isupper()
    assert set(attack.criteria) <= CRITERIA
    assert attack.criteria
    for text in (attack.knows, attack.description):
        assert text.endswith(".")
    assert attack.records
    assert attack.values
    assert attack.chance


def test_the_three_criteria_are_spoken_to():
    assert {each for attack in ATTACKS for each in attack.criteria} == CRITERIA
    assert len({attack.name for attack in ATTACKS}) == len(ATTACKS)


@given(scenes())
@settings(max_examples=60)
def test_shares_are_shares(scene):
    findings = try_attacks(scene)
    if scene.numbers:
        assert {each.attack.name for each in findings} == {attack.name for attack in ATTACKS}
    for each in findings:
        for share in (each.found.records, each.found.values):
            if share is not None:
                for percent in (share.percent, share.chance):
                    assert -1e-9 <= percent <= 100.0 + 1e-9, each.title
        assert each.found.words.endswith(".")
        assert "nan" not in each.found.words
        json.dumps(each.to_dict(), allow_nan=False)


@pytest.mark.parametrize("n", [1, 2, 5, 9])
def test_a_release_of_the_originals_gives_everything_away(n):
    rng = np.random.default_rng(n)
    X = rng.normal(size=(n, 2))
    secret = [column("cost", X[:, 0], X[:, 0])]
    told = {each.attack.name: each.found for each in try_attacks(scene(X, X, confidential=secret))}
    for name in ("nearest", "assignment", "class"):
        assert told[name].records.percent == 100.0
        assert told[name].values.percent == 100.0
    assert told["inference"].values.percent == 100.0


def test_one_class_for_everybody_gives_nobody_away():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(50, 2))
    R = np.tile(X.mean(axis=0), (50, 1))
    secret = [column("cost", X[:, 0], X[:, 0])]
    for each in try_attacks(scene(X, R, confidential=secret)):
        if each.attack.name != "reconstruction":
            for share in (each.found.records, each.found.values):
                assert share.percent == pytest.approx(share.chance, abs=1e-9), each.title


@given(scenes())
@settings(max_examples=30)
def test_words_name_columns_and_shares_never_values(scene):
    """Values are moved by what no sentence can show: the words stay the same."""
    for each in try_attacks(scene):
        for value in scene.columns[0].original[:5]:
            digits = f"{value:.6f}"
            assert digits not in each.found.words
