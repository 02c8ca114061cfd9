"""Published figures, as quick cuts of the benchmarks that reproduce whole tables."""

import pytest

from benchmarks.papers import imhmi


@pytest.mark.parametrize("k", [2, 3, 4, 5, 10])
def test_table_1_of_the_integer_paper(k):
    rounded_mean, rounded_sd, whole_mean, whole_sd = imhmi.PUBLISHED[k, 0.5]
    rounded, whole = imhmi.measure(500_000, k, seed=k)
    assert abs(rounded - rounded_mean) < 4 * rounded_sd
    assert abs(whole - whole_mean) < 4 * whole_sd
    assert whole < rounded
