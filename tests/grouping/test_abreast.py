"""Several ends at once, compiled, against the same in plain Python."""

import numpy as np
import pytest

from microagg.grouping.sequence.abreast import ABREAST, group_abreast
from microagg.kernels.compiling import kernel


@kernel
def _compiled(records, first, ends, k, integer, tie, weights, sums, path, at, sizes, longest):
    group_abreast(records, first, ends, k, integer, tie, weights, sums, path, at, sizes, longest)


@pytest.mark.parametrize("k", [4, 5, 13])
@pytest.mark.parametrize("integer", [False, True])
@pytest.mark.parametrize("attributes", [1, 3])
def test_what_is_compiled_does_as_python_does(k, integer, attributes):
    rng = np.random.default_rng(k)
    tie = 1.0 if integer else 1.0 - 2.0**-50
    weights = np.zeros((2, 2 * k))
    weights[0, 1:] = 1.0 / np.arange(1.0, 2 * k)
    weights[1, 1:] = np.arange(2 * k - 1) / np.arange(1.0, 2 * k)
    for most in (2, 9, 10**6):
        lines = [np.sort(rng.integers(0, most, (attributes, 4 * k + 9)), axis=1)]
        lines.append(lines[0][:, ::-1])
        for line in lines[:1] if most == 9 else lines:
            records = np.ascontiguousarray(line).astype(np.uint64 if most == 9 else np.float64)
            path = np.full(4 * k, np.inf)
            path[3 : 2 * k] = rng.integers(0, most, 2 * k - 3)
            found = []
            for group in (group_abreast, _compiled):
                costs, sizes, longest = path.copy(), np.zeros(5 * k, np.int32), np.zeros(9)
                sums = np.empty(attributes * ABREAST)
                end, at = 2 * k + 3, 2 * k
                ends = 2 * ABREAST
                group(
                    records, end, ends, k, integer, tie, weights, sums, costs, at, sizes, longest
                )  # fmt: skip
                found.append((costs, sizes, longest))
            for plain, compiled in zip(*found, strict=True):
                assert np.array_equal(plain, compiled)
            assert (found[1][1][end : end + ends] >= k).all()
