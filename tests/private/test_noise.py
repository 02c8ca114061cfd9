"""The noise: its scale, who shares it, who does not. Wrong by 5 % must fail."""

import numpy as np
import pytest

from microagg.base.errors import OptionError
from microagg.private import noise, release
from microagg.private.noise import add_noise, steps_for

GROUPS = 20_000
# The mean of |noise| over so many draws strays by 1 / sqrt(GROUPS) = 0.7 %.
TOLERANCE = 0.03


def stairs(sizes):
    """Groups of these sizes that no method would cut differently: equal values, far apart."""
    return np.repeat(np.linspace(0.4, 0.6, len(sizes)), sizes)


def noise_of(method, x, epsilon, k, **options):
    found = release(
        x,
        epsilon=epsilon,
        bounds={"0": (0.0, 1.0)},
        method=method,
        k=k,
        accept="partition-conditional",
        simulate=True,
        seed=7,
        **options,
    )
    return found.data - x


@pytest.mark.parametrize("method", ["mdav-columns", "mdav"])
@pytest.mark.parametrize("k", [2, 5])
def test_scale_by_group_size(method, k):
    x = stairs([k] * GROUPS)
    found = noise_of(method, x, 50.0, k).reshape(GROUPS, k)
    assert (np.ptp(found, axis=1) < 1e-12).all()  # one draw a group
    assert np.abs(found[:, 0]).mean() * k * 50.0 == pytest.approx(1, rel=TOLERANCE)


def test_scale_by_unequal_sizes_in_one_release():
    sizes = np.array([3, 4, 5, 6] * 2500)
    x = stairs(sizes)
    starts = np.cumsum(sizes) - sizes
    found = noise_of("optimal", x, 1e7, None)
    assert all(np.ptp(group) == 0 for group in np.split(found + x, starts[1:]))
    own = found[starts] * 1e7
    for size in (3, 4, 5, 6):
        scale = np.abs(own[sizes == size]).mean() * size
        assert scale == pytest.approx(1, rel=0.06)
    assert np.abs(own * sizes).mean() == pytest.approx(1, rel=TOLERANCE)


def test_scale_of_marginals():
    x = stairs([4] * GROUPS)
    found = release(
        x, epsilon=40.0, bounds={"0": (0, 1)}, method="marginals", k=4, simulate=True, seed=3
    )
    own = found.marginals["0"].values - x[::4]
    assert np.abs(own).mean() * 4 * 40.0 == pytest.approx(1, rel=TOLERANCE)


def test_scale_of_insensitive_is_for_all_groups():
    groups, k = 100, 10
    x = stairs([k] * groups)
    runs = [
        release(
            x, epsilon=1e4, bounds={"0": (0, 1)}, method="insensitive", k=k, simulate=True, seed=s
        ).data
        - x
        for s in range(GROUPS // groups)
    ]
    own = np.concatenate([run[::k] for run in runs])
    # (n / k) * (width / k) / epsilon
    assert np.abs(own).mean() * 1e4 / (groups / k) == pytest.approx(1, rel=TOLERANCE)


def test_scale_of_records():
    x = np.full(GROUPS, 0.5)
    own = noise_of("records", x, 50.0, None)
    assert np.abs(own).mean() * 50.0 == pytest.approx(1, rel=TOLERANCE)
    assert np.unique(own).size > GROUPS * 0.999


@pytest.mark.parametrize(
    ("budget", "scales"), [("even", (200, 2)), ("sensitivity", (101, 101)), ("optimal", None)]
)
def test_scale_by_column_and_budget(budget, scales):
    x = np.column_stack([np.full(GROUPS, 50.0), np.full(GROUPS, 0.5)])
    found = release(
        x,
        epsilon=100.0,
        bounds={"0": (0, 100), "1": (0, 1)},
        method="records",
        budget=budget,
        simulate=True,
        seed=5,
    )
    own = np.abs(found.data - x)
    unclamped = own[:, 1] < 0.5  # the noise of a narrow column may reach its bounds
    if scales is None:
        cubes = np.cbrt([100.0**2, 1.0])
        scales = tuple(np.array([100, 1]) * cubes.sum() / cubes)
    assert own[:, 0].mean() == pytest.approx(scales[0] / 100, rel=TOLERANCE)
    # The share of clamped draws is that of a Laplace tail.
    tail = np.exp(-0.5 * 100 / scales[1])
    assert (~unclamped).mean() == pytest.approx(tail, rel=0.05, abs=1e-9)


def test_groups_and_columns_are_independent():
    x = np.column_stack([np.full(GROUPS, 0.5)] * 2)
    found = release(
        x,
        epsilon=100.0,
        bounds={"0": (0, 1), "1": (0, 1)},
        method="records",
        simulate=True,
        seed=6,
    )
    own = found.data - x
    assert abs(np.corrcoef(own.T)[0, 1]) < 0.03
    assert abs(np.corrcoef(own[1:, 0], own[:-1, 0])[0, 1]) < 0.03
    assert abs(np.corrcoef(np.abs(own[1:, 0]), np.abs(own[:-1, 0]))[0, 1]) < 0.03


def test_the_shape_is_that_of_laplace():
    own = np.sort(add_noise(np.zeros(GROUPS, np.int64), 1000, 0.01, np.random.default_rng(1)))
    expected = np.where(own < 0, np.exp(own / 1e5) / 2, 1 - np.exp(-own / 1e5) / 2)
    distance = np.abs(expected - (np.arange(GROUPS) + 0.5) / GROUPS).max()
    assert distance < 1.63 / np.sqrt(GROUPS)


def test_real_noise():
    """OpenDP's, so not repeatable: seven standard deviations, which fails less than once in 1e9."""
    draws = 40_000
    own = add_noise(np.full(draws, 12_345, np.int64), 3 << 40, 0.75) - 12_345
    strays = 7 / np.sqrt(draws)  # 3.5 %
    assert np.abs(own).mean() / (4.0 * 2**40) == pytest.approx(1, abs=strays)
    assert (own > 0).mean() == pytest.approx(0.5, abs=strays / 2)
    assert abs(np.corrcoef(own[1:], own[:-1])[0, 1]) < strays
    # An exponential's median, to tell Laplace from others of the same mean: within 7 deviations.
    assert (np.abs(own) < 4.0 * 2**40 * np.log(2)).mean() == pytest.approx(0.5, abs=strays / 2)


def test_real_noise_is_charged_at_most_what_was_asked_for():
    dp = noise.open_dp()
    made = []

    class Spy:
        @staticmethod
        def make_laplace(*space, scale):
            made.append(dp.m.make_laplace(*space, scale=scale))
            return made[-1]

    class Double:
        vector_domain, atom_domain, l1_distance = dp.vector_domain, dp.atom_domain, dp.l1_distance
        m = Spy

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(noise, "open_dp", lambda: Double)
        for epsilon in (0.1, 0.3, 1 / 3, 0.7, 1.0, 1.1, 1e-9, 123.456):
            for sensitivity in (2, 3, 1 << 40, (1 << 40) * 7):
                add_noise(np.zeros(2, np.int64), sensitivity, epsilon)
                assert made[-1].map(sensitivity) <= epsilon
                assert made[-1].map(sensitivity) >= epsilon * (1 - 1e-12)


def test_the_ruler_never_overflows():
    for n in (1, 2, 1000, 10**6, 2**31 - 1):
        assert n * steps_for(n) < 2**62
    assert steps_for(10**6) == 2**40
    assert steps_for(2**31 - 1) == 2**31


def test_huge_scales_saturate_and_are_clamped():
    x = np.full(40, 0.5)
    for simulate in (True, False):
        found = release(x, epsilon=1e-12, bounds={"0": (0, 1)}, method="records", simulate=simulate)
        assert set(np.unique(found.data)) <= {0.0, 1.0}


def test_without_opendp(monkeypatch):
    import sys

    monkeypatch.setitem(sys.modules, "opendp", None)
    monkeypatch.setitem(sys.modules, "opendp.prelude", None)
    with pytest.raises(OptionError, match=r'pip install "microagg\[private\]"'):
        release([0.5], epsilon=1.0, bounds={"0": (0, 1)}, method="records")
    release([0.5], epsilon=1.0, bounds={"0": (0, 1)}, method="records", simulate=True)
