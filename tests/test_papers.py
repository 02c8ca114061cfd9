"""Published figures, as quick cuts of whole tables."""

import numpy as np
import pytest

from microagg.grouping.sequence.split import split_sorted
from tests.published import sse_about_integers

# By k, of half a million integers: mean and deviation of the SSE, rounded means and integer groups.
TABLE_1 = {
    2: (162_179.73, 238.56, 162_047.27, 236.22),
    3: (358_295.97, 575.57, 357_851.10, 568.23),
    4: (653_519.13, 969.39, 652_297.20, 967.96),
    5: (1_026_032.43, 1320.03, 1_025_130.97, 1308.71),
    10: (4_176_390.33, 4697.34, 4_175_597.67, 4692.73),
}


@pytest.mark.parametrize("k", TABLE_1)
def test_table_1_of_the_integer_paper(k):
    n = 500_000
    line = np.sort(np.random.default_rng(k).integers(-n // 2, n // 2, n, endpoint=True))
    offsets = (line - line[0]).astype(np.float64)
    rounded = sse_about_integers(line, split_sorted(offsets.copy(), k))
    whole = sse_about_integers(line, split_sorted(offsets, k, integer=True))
    rounded_mean, rounded_sd, whole_mean, whole_sd = TABLE_1[k]
    assert abs(rounded - rounded_mean) < 4 * rounded_sd
    assert abs(whole - whole_mean) < 4 * whole_sd
    assert whole < rounded
