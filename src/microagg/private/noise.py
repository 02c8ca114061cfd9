"""Laplace noise on group sums: exact whole numbers from OpenDP, or a seeded study.

Sums are whole numbers of public steps (see `domains`), so both the sums and their sensitivity are
exact, and the noise is the discrete Laplace distribution, which OpenDP samples without rounding:
the attacks on floating-point noise find nothing to hold on to. OpenDP's Laplace on floats would
first round its input to a grid of its own and charge for it: 1.00000002 in place of 1 with
granularity 2^-40. On whole numbers it charges what was asked for.
"""

import math
from fractions import Fraction
from importlib import import_module
from typing import Any

import numpy as np
from numpy.typing import NDArray

from microagg.base.errors import OptionError

SOURCE = (
    "discrete Laplace noise on whole numbers, sampled exactly by OpenDP from the operating "
    "system's randomness"
)
SIMULATED_SOURCE = "a NumPy generator, which can be predicted: for studies only"


def steps_for(n: int) -> int:
    """Steps from low to high: 2^40, or fewer where the sum over n records might leave 64 bits.

    A power of two that depends on n alone, which is public.
    """
    return 1 << min(40, 62 - int(n).bit_length())


def open_dp() -> Any:
    """The package OpenDP, or how to get it."""
    try:
        found = import_module("opendp.prelude")
    except ImportError:
        raise OptionError(
            'private releases need the package opendp: pip install "microagg[private]"'
        ) from None
    found.enable_features("contrib")
    return found


def add_noise(
    sums: NDArray[np.int64],
    sensitivity: int,
    epsilon: float,
    rng: np.random.Generator | None = None,
) -> NDArray[np.int64]:
    """Each sum plus its own Laplace noise of scale sensitivity / epsilon.

    sensitivity: the most that substituting one record changes all sums together.
    rng: for simulations; without it the noise is OpenDP's. That takes about 11 seconds a million.
    """
    scale = sensitivity / epsilon
    if Fraction(scale) * Fraction(epsilon) < sensitivity:
        scale = math.nextafter(scale, math.inf)  # the quotient was rounded down
    if rng is not None:
        noise = np.rint(rng.laplace(0.0, scale, sums.size))
        return sums + np.clip(noise, -(2.0**62), 2.0**62).astype(np.int64)
    dp = open_dp()
    measure = dp.m.make_laplace(
        dp.vector_domain(dp.atom_domain(T="i64"), size=sums.size),
        dp.l1_distance(T="i64"),
        scale=scale,
    )
    if measure.map(sensitivity) > epsilon:
        raise RuntimeError("OpenDP charges more than epsilon for this noise; nothing was released")
    return np.array(measure(sums.tolist()), np.int64)
