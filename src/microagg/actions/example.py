"""Invented patients: a table to try things on. Nobody in it exists."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

QUASI_IDENTIFIERS = ("age", "height_cm", "weight_kg", "income", "distance_km")
CONFIDENTIAL = ("diagnosis", "stay_days", "cost")
IDENTIFIERS = ("patient",)

_DIAGNOSES = ("asthma", "diabetes", "fracture", "heart failure", "hypertension", "pneumonia")


def patients(n: int = 3000, seed: int = 2026) -> dict[str, NDArray[Any]]:
    """Columns of n invented hospital patients, the same for the same seed.

    Attributes depend on each other as they do in life (weight on height, cost on the stay), tails
    are heavy and ages are whole, so that methods meet what real data would show them.
    """
    rng = np.random.default_rng(seed)
    woman = rng.random(n) < 0.52
    age = np.clip(rng.normal(58, 19, n), 18, 101).astype(np.int64)
    height = np.round(np.where(woman, 163.0, 176.5) + rng.normal(0, 7.0, n) - 0.03 * age, 1)
    body_mass = np.clip(rng.gamma(36, 0.72, n) + 0.02 * age, 15, 60)
    weight = np.round(body_mass * (height / 100) ** 2, 1)
    income = np.round(np.exp(rng.normal(10.2, 0.55, n) + 0.004 * np.minimum(age, 60)), -2)
    distance = np.round(np.exp(rng.normal(1.6, 1.0, n)), 1)
    odds = np.exp(
        np.column_stack(
            [
                0.9 - age / 60,
                (body_mass - 25) / 6,
                1.0 - age / 70,
                age / 40 - 1.4,
                (body_mass + age / 3) / 14 - 2.6,
                0.2 + age / 90 - 0.4,
            ]
        )
    )
    chance = np.cumsum(odds / odds.sum(axis=1, keepdims=True), axis=1)
    illness = np.minimum((rng.random((n, 1)) > chance).sum(axis=1), len(_DIAGNOSES) - 1)
    stay = 1 + rng.poisson(np.array([2.0, 3.0, 4.0, 7.0, 1.5, 6.0])[illness] * (0.6 + age / 120))
    cost = np.round(stay * rng.gamma(9, 90, n) + rng.gamma(2, 700, n), 2)
    return {
        "patient": np.array([f"P{number:05d}" for number in rng.permutation(n)]),
        "age": age,
        "height_cm": height,
        "weight_kg": weight,
        "income": income.astype(np.int64),
        "distance_km": distance,
        "diagnosis": np.array(_DIAGNOSES)[illness],
        "stay_days": stay,
        "cost": cost,
    }
