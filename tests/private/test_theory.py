"""Errors to expect of releases, and the sizes that suit."""

import numpy as np
import pytest

from microagg.base.errors import OptionError
from microagg.private import expected_error, release, suggest_k

ONE = {"x": (0.0, 1.0)}


def test_noise_of_several_columns_is_exact():
    bounds = {"a": (0, 10), "b": (5, 6)}
    for budget, noise in (
        ("even", 4 * 101),
        ("sensitivity", 2 * 121),
        ("optimal", (10 ** (2 / 3) + 1) ** 3),
    ):
        found = expected_error("marginals", 100, 1.0, bounds, k=5, budget=budget)
        assert found.noise == pytest.approx(2 * 100 / 25 * noise)
        wide = expected_error("insensitive", 100, 1.0, bounds, k=5, budget=budget)
        assert wide.noise == pytest.approx(found.noise * 20**2)


def test_known_sse_needs_no_assumption():
    found = expected_error("mdav", 100, 1.0, ONE, k=5, sse=12.5)
    assert found == (12.5, 8.0)
    with pytest.raises(OptionError, match="'optimal' has no SSE of its own: leave sse out"):
        expected_error("optimal", 100, 1.0, ONE, sse=1.0)


def test_suggested_sizes():
    assert suggest_k(1080, 0.25) == round((24 * 1080**2 / 0.0625) ** 0.25)
    assert suggest_k(1080, 1.0, columns=4) == suggest_k(1080, 0.25)
    assert suggest_k(1000, 1.0, assume="worst-case") == round(16_000 ** (1 / 3))
    assert suggest_k(1080, 0.25, bounds={"x": (-6e307, 6e307)}) == suggest_k(1080, 0.25)
    assert suggest_k(1080, 0.25, bounds={"x": (0.0, 1e-300)}) == suggest_k(1080, 0.25)
    assert suggest_k(10, 1e-6) == 10
    assert suggest_k(10, 1e6) == 1
    assert suggest_k(500, 1.0, "records") == suggest_k(500, 1.0, "optimal") == 1


@pytest.mark.parametrize("method", ["mdav", "mdav-columns", "marginals", "insensitive"])
@pytest.mark.parametrize("columns", [1, 3])
@pytest.mark.parametrize("assume", ["uniform", "worst-case"])
def test_no_other_size_is_expected_to_do_better(method, columns, assume):
    bounds = {str(number): (0.0, 10.0**number) for number in range(columns)}
    settings = {"bounds": bounds, "budget": "sensitivity", "assume": assume}
    if assume == "worst-case" and columns > 1 and method in ("mdav", "insensitive"):
        with pytest.raises(OptionError, match="whatever k is"):
            suggest_k(300, 1.0, method, **settings)
        return
    best = suggest_k(300, 1.0, method, **settings)
    errors = [expected_error(method, 300, 1.0, k=k, **settings).total for k in range(1, 301)]
    assert errors[best - 1] == min(errors)


def test_release_without_k_takes_the_suggested_one():
    bounds = {"0": (0, 1), "1": (0, 5)}
    found = release(
        np.random.default_rng(0).random((500, 2)),
        epsilon=1.0,
        bounds=bounds,
        method="marginals",
        budget="optimal",
        simulate=True,
    )
    assert found.guarantee.public["k"] == suggest_k(500, 1.0, bounds=bounds, budget="optimal")


def test_unusable_settings():
    with pytest.raises(OptionError, match="assume must be one of"):
        expected_error("mdav", 100, 1.0, ONE, assume="the best")
    with pytest.raises(OptionError, match="assume must be one of"):
        suggest_k(100, 1.0, assume="the best")
    with pytest.raises(OptionError, match="bounds of column 'x' must be a pair"):
        expected_error("mdav", 100, 1.0, {"x": ["a", "b"]})
    for n, columns in ((0, 1), (10, 0)):
        with pytest.raises(OptionError, match="at least one record and one column"):
            suggest_k(n, 1.0, columns=columns)
    with pytest.raises(OptionError, match="k must be 1"):
        expected_error("records", 100, 1.0, ONE, k=2)
    with pytest.raises(OptionError, match="no private method"):
        expected_error("magic", 100, 1.0, ONE)
