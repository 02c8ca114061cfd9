import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from microagg.kernels.compiling import read_only
from microagg.kernels.labelling import Words, label

WORDS = st.sampled_from([0.0, -0.0, np.nan, -np.nan, 1.0, 1e-300, 5e-324, np.inf, -np.inf])


def words(numbers, floating=True):
    return Words(read_only(np.ascontiguousarray(numbers).view(np.uint64)), floating)


def by_definition(rows):
    """Numbers in order of appearance, of what is equal; what is no number is equal to its like."""
    seen = {}
    keys = [tuple(None if entry != entry else entry for entry in row) for row in rows]
    return [seen.setdefault(key, len(seen)) for key in keys]


@given(st.lists(st.tuples(WORDS, WORDS, WORDS), min_size=1, max_size=40), st.booleans())
def test_against_the_definition(rows, sorts):
    numbers = np.array(rows)
    parts = [words(numbers[:, :2]), words(numbers[:, 2:])]
    found = label(parts, len(rows), few=10**6 if sorts else 0)
    assert found.tolist() == by_definition(rows)


@pytest.mark.parametrize("few", [0, 10**9])
def test_whole_numbers_are_told_apart_by_every_bit(few):
    # Seen as floating, the first two were equal, and so were the next.
    numbers = np.array([[0], [-(2**63)], [2**63 - 1], [2**63 - 2], [0]])
    assert label([words(numbers, False)], 5, few).tolist() == [0, 1, 2, 3, 0]
    assert label([], 3, few).tolist() == [0, 0, 0]
    assert label([words(numbers[:0], False)], 0, few).size == 0


def stirred(key):
    """One step of the hash that records are told apart by first."""
    mixed = key * 0x9E3779B97F4A7C15 % 2**64
    return mixed ^ mixed >> 29


def test_records_of_one_hash_are_told_apart():
    # After the first word the hash is known, so a second one can be chosen that makes it alike.
    second = stirred(4711) ^ stirred(815)
    entries = np.array([[4711, 0], [815, second], [4711, 0], [815, second]], np.uint64)
    assert label([words(entries, False)], 4, few=0).tolist() == [0, 1, 0, 1]


@pytest.mark.parametrize("kinds", [7, 1000, 10**9])
def test_the_same_whatever_the_threads(kinds, threads):
    # Small whole numbers as floating ones differ in few bits.
    numbers = np.random.default_rng(0).integers(0, kinds, (200_000, 1)).astype(float)
    _, firsts, groups = np.unique(numbers, return_index=True, return_inverse=True)
    expected = np.argsort(np.argsort(firsts))[groups.ravel()]
    for count in (1, 2, 3, 8):
        threads(count)
        np.testing.assert_array_equal(label([words(numbers)], len(numbers)), expected)
