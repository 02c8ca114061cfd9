"""Numbers that shuffle rows: those of the definition, the same in parts, and evenly spread."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from microagg.kernels.shuffling import shuffled_order, shuffled_places
from tests.naive import shuffling as naive

KEY = bytes(range(16))
whole = st.integers(-(2**63), 2**63 - 1)


def test_the_twin_gives_the_numbers_of_the_paper():
    assert naive.siphash(KEY, bytes(range(15))) == 0xA129CA6149BE45E5
    assert naive.siphash(KEY, b"") == 0x726FDB47DD0E0E31


@settings(deadline=None)
@given(st.binary(min_size=16, max_size=16), st.lists(st.tuples(whole, whole), max_size=8))
def test_numbers_are_those_of_the_definition(key, pairs):
    rows, ties = np.array(pairs, np.int64).reshape(-1, 2).T.copy()
    found = shuffled_places(key, rows, ties)
    assert found.tolist() == [naive.place(key, row, tie) for row, tie in pairs]
    alone = shuffled_places(key, rows)
    assert alone.tolist() == [naive.place(key, row) for row, _ in pairs]


def test_a_row_has_its_number_wherever_it_comes():
    rows = np.arange(1000)
    whole = shuffled_places(KEY, rows)
    parts = [shuffled_places(KEY, part.copy()) for part in np.array_split(rows[::-1], 7)]
    np.testing.assert_array_equal(np.concatenate(parts)[::-1], whole)
    assert np.unique(whole).size == 1000
    assert whole.min() >= 0


@pytest.mark.parametrize("rows", [0, 1, 2, 999])
def test_an_order_has_every_row_once(rows):
    order = shuffled_order(KEY, np.arange(rows))
    assert sorted(order.tolist()) == list(range(rows))


def test_every_place_is_as_likely_as_any_other():
    """Chi-square of rows against places, many keys; and neighbours are not kept together."""
    rows, keys = 8, 4000
    counts, steps = np.zeros((rows, rows)), 0
    for number in range(keys):
        order = shuffled_order(number.to_bytes(16, "little"), np.arange(rows))
        counts[np.arange(rows), order] += 1
        steps += int((np.diff(order) == 1).sum())
    expected = keys / rows
    chi_square = ((counts - expected) ** 2 / expected).sum()
    # 49 degrees of freedom: mean 49, deviation 9.9.
    assert 20 < chi_square < 95
    # Of each pair of neighbours 1/rows would follow each other by chance.
    assert abs(steps / (keys * (rows - 1) / rows) - 1) < 0.1


def test_another_key_is_another_order():
    rows = np.arange(10_000)
    one, other = (shuffled_places(key, rows) for key in (KEY, bytes(16)))
    assert abs(np.corrcoef(np.argsort(one), np.argsort(other))[0, 1]) < 0.05
    assert abs(np.corrcoef(rows, one)[0, 1]) < 0.05
