"""Several ends at once, compiled, against the same in plain Python."""

import numpy as np
import pytest

from microagg.grouping.sequence.abreast import ABREAST, choose_abreast
from microagg.kernels.compiling import kernel


@kernel
def _compiled(path, at, group_costs, column, k, tie, sizes, end):
    choose_abreast(path, at, group_costs, column, k, tie, sizes, end)


@pytest.mark.parametrize("k", [4, 5, 8, 13])
@pytest.mark.parametrize("tie", [1.0, 1.0 - 2.0**-50])
def test_what_is_compiled_chooses_as_python_does(k, tie):
    rng = np.random.default_rng(k)
    for most in (2, 9, 10**6):
        path = rng.integers(0, most, 2 * k + 9).astype(float)
        path[:3] = np.inf
        group_costs = rng.integers(0, most, (k, 11)) * (1.0 + 2.0**-51)
        found = []
        for choose in (choose_abreast, _compiled):
            costs, sizes = path.copy(), np.zeros(12, np.int32)
            choose(costs, 2 * k + 2, group_costs, 6, k, tie, sizes, 7)
            found.append((costs, sizes))
        assert np.array_equal(found[0][0], found[1][0])
        assert np.array_equal(found[0][1], found[1][1])
        assert (found[1][1][7 : 7 + ABREAST] >= k).all()
        assert not found[1][1][:7].any()
