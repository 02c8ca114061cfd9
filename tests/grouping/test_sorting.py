import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from microagg.grouping.sequence import sorting

rng = np.random.default_rng(0)
N = 3000
LINES = {
    "normal": rng.normal(size=N),
    "heavy tail": np.exp(50 * rng.normal(size=N)) * rng.choice([-1, 1], N),
    "few values": rng.integers(0, 5, N).astype(float),
    "offset": 1e15 + rng.normal(size=N),
    "crowd and outlier": np.r_[-1e15, 1e15 + rng.normal(size=N - 1)],
    "sorted": np.sort(rng.normal(size=N)),
    "reversed": np.sort(rng.normal(size=N))[::-1].copy(),
    "both zeros": np.where(rng.random(N) < 0.5, -0.0, 0.0),
    "constant": np.full(N, -3.5),
    "denormal": rng.integers(-9, 9, N) * 5e-324,
    "small integers": rng.integers(0, 99, N).astype(np.uint64),
    "all of uint64": rng.integers(0, 2**64, N, dtype=np.uint64),
}


def check(x, **limits):
    order, values = sorting.sort_stably(x, **limits)
    assert np.array_equal(order, np.argsort(x, kind="stable"))
    assert np.array_equal(values, x[order])
    assert not np.shares_memory(values, x)


@pytest.mark.parametrize("parallel", [False, True])
@pytest.mark.parametrize("name", LINES)
def test_the_stable_order(name, parallel):
    check(LINES[name], **({"block": 200, "bucket": 16} if parallel else {}))


@given(
    st.lists(st.floats(allow_nan=False, allow_infinity=False), min_size=1, max_size=50),
    st.integers(1, 20),
)
def test_any_floats(values, bucket):
    check(np.array(values), block=7, bucket=bucket)


def test_crowds_beside_an_outlier_are_dealt_out_again():
    """A hundred thousand values that the first leading bits do not tell apart."""
    crowd = 1.0 + 1e-9 * rng.normal(size=100_000)
    check(np.r_[-1e300, crowd, crowd[::7]])
    check(np.r_[0, rng.integers(2**63, 2**63 + 3000, 100_000, dtype=np.uint64)])
    check(np.where(rng.random(200_000) < 0.5, -0.0, 1.0))


def test_dropped_bits_are_settled(monkeypatch):
    """Keys too short for the values: neighbours must be put right by insertion."""
    x = 1.0 + rng.permutation(2000) * 2.0**-52
    x[0] = -1e300
    settled = []
    settle = sorting._settle
    monkeypatch.setattr(sorting, "_settle", lambda *a: settled.append(settle(*a)) or settled[-1])
    check(x)
    assert settled == [False]  # one crowd: insertion gives up, and NumPy sorts
    settled.clear()
    y = np.repeat(np.exp(rng.normal(size=700)), 3) * (1 + rng.integers(0, 3, 2100) * 2.0**-52)
    check(np.r_[-1e300, y])
    assert settled == [True]
