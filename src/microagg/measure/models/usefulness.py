"""Is a release still good for models: what is learnt from it, held against the originals."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import combinations
from typing import Any

import numpy as np
from numpy.typing import NDArray

from microagg.base.progress import Advance, silent
from microagg.measure.compared import Compared
from microagg.measure.models.design import Design, categories_of, design, is_number, scores
from microagg.measure.models.regression import (
    NORMAL,
    Fit,
    area_under_curve,
    least_squares,
    logistic,
    overlap,
    r_squared,
)
from microagg.measure.models.trees import boosted_trees

# Up to so many numbers, the propensity model also has their products.
_MOST_MULTIPLIED = 10
_FARTHEST = 10.0


@dataclass(frozen=True)
class Trained:
    """How well a model does on the originals, by what it was trained on.

    scores: by the name of the score, trained on the originals and trained on the release.
    """

    model: str
    scores: Mapping[str, tuple[float, float]]

    def to_dict(self) -> dict[str, Any]:
        """Plain data."""
        named = {
            name: {"trained_on_originals": one, "trained_on_release": other}
            for name, (one, other) in self.scores.items()
        }
        return {"model": self.model, "scores": named}


@dataclass(frozen=True)
class Coefficients:
    """What a model says of one predictor, before and after.

    overlap: of the 95 percent intervals, in percent, the mean over its coefficients. The interval
    is low, estimate, high, in deviations; only of a predictor that has one coefficient.
    """

    column: str
    overlap: float
    before: tuple[float, float, float] | None = None
    after: tuple[float, float, float] | None = None

    def to_dict(self) -> dict[str, Any]:
        """Plain data."""
        told: dict[str, Any] = {"column": self.column, "overlap": self.overlap}
        for name in ("before", "after"):
            interval = getattr(self, name)
            told[name] = interval and dict(zip(("low", "estimate", "high"), interval, strict=True))
        return told


@dataclass(frozen=True)
class Learnt:
    """What models learn of one target.

    number: whether the target is a number; else it is one of some categories. own: the plain model
    of this project; others: those of scikit-learn, if it is installed.
    """

    target: str
    number: bool
    records: int
    own: Trained
    coefficients: tuple[Coefficients, ...]
    overlap: float
    others: tuple[Trained, ...] = ()

    def to_dict(self) -> dict[str, Any]:
        """Plain data."""
        return {
            "target": self.target,
            "kind": "number" if self.number else "category",
            "records": self.records,
            "models": [each.to_dict() for each in (self.own, *self.others)],
            "coefficients": [each.to_dict() for each in self.coefficients],
            "overlap": self.overlap,
        }


@dataclass(frozen=True, eq=False, kw_only=True)
class Usefulness:
    """Columns before and after, and the targets among them that models are to tell.

    trees: whether scikit-learn's trees are trained too, where it is installed.
    """

    columns: Sequence[Compared]
    targets: Sequence[str]
    trees: bool = True
    advance: Advance = silent

    @property
    def n(self) -> int:
        """How many records there are."""
        return self.columns[0].original.size

    @cached_property
    def learnt(self) -> dict[str, Learnt]:
        """What models learn of each target from all other columns."""
        found = {}
        for done, name in enumerate(self.targets):
            found[name] = self._learn(name)
            self.advance((done + 1) / len(self.targets))
        return found

    def _learn(self, name: str) -> Learnt:
        target = next(column for column in self.columns if column.name == name)
        rows = np.flatnonzero(target.there & target.shown)
        target = target.rows(rows)
        predictors = [column.rows(rows) for column in self.columns if column.name != name]
        lines = design(predictors, rows.size)
        if is_number(target):
            own, fits = _of_number(target, lines)
        else:
            own, fits = _of_categories(target, lines)
        shares = np.mean([overlap(*pair) for pair in fits], axis=0)[1:] if fits else np.empty(0)
        others = boosted_trees(target, lines) if self.trees else None
        return Learnt(
            name,
            is_number(target),
            rows.size,
            own,
            _by_column(lines, shares, fits),
            100.0 * float(shares.mean()) if shares.size else 100.0,
            () if others is None else (Trained("boosted trees", others),),
        )

    @cached_property
    def propensity(self) -> tuple[float, float]:
        """pMSE, and its ratio to what is expected of another sample of the same people.

        Woo and others (2009); Snoke and others (2018): a logistic model is to tell released records
        from originals, and the mean squared distance of its chances from a half is pMSE: 0 where
        they cannot be told apart, 1/4 where each is. A model with p coefficients besides the
        constant is expected to find p / (8 N) in two samples of N records in all. Group means keep
        the mean of each column, so the model is given squares and products of numbers too.
        """
        from scipy.special import expit

        one, other = _quadratic(self.columns, self.n)
        lines = np.vstack([one, other])
        spread = (lines != lines[0]).any(axis=0)
        lines = lines[:, spread]
        released = np.repeat([False, True], self.n)
        chances = expit(logistic(lines, released).predict(lines))
        found = float(np.square(chances - 0.5).mean())
        expected = lines.shape[1] / (8.0 * len(lines))
        return found, found / expected if expected else 0.0

    @cached_property
    def tables(self) -> NDArray[np.float64] | None:
        """How far apart two-way tables of categories are before and after; None without any.

        Total variation, in percent: the share of the records that would have to move. Over all
        pairs of columns; a single one has a table of its own.
        """
        categorical = [column for column in self.columns if column.categories]
        if not categorical:
            return None
        sides = [_codes(column) for column in categorical]
        pairs = list(combinations(sides, 2)) or [(sides[0], sides[0])]
        return np.array([_variation(*pair) for pair in pairs])


def _of_number(target: Compared, lines: Design) -> tuple[Trained, list[tuple[Fit, Fit]]]:
    before, after = scores(target)
    fits = (least_squares(lines.original, before), least_squares(lines.released, after))
    one, other = (r_squared(before, fit.predict(lines.original)) for fit in fits)
    return Trained("least squares", {"r_squared": (one, other)}), [fits]


def _of_categories(target: Compared, lines: Design) -> tuple[Trained, list[tuple[Fit, Fit]]]:
    """A model for each category against all others, or one for two categories."""
    before, after = categories_of(target)
    many = int(before.max()) + 1 if before.size else 0
    fits, chances = [], np.full((2, max(many, 1), before.size), -np.inf)
    areas: tuple[list[float], list[float]] = ([], [])
    for category in range(many):
        if many == 2 and category == 0:
            continue
        pair = (
            logistic(lines.original, before == category),
            logistic(lines.released, after == category),
        )
        fits.append(pair)
        for side, fit in enumerate(pair):
            chances[side, category] = fit.predict(lines.original)
            areas[side].append(area_under_curve(before == category, chances[side, category]))
    if many == 2:
        chances[:, 0] = 0.0
    right = [100.0 * float((each.argmax(axis=0) == before).mean()) for each in chances]
    auc = [float(np.mean(each)) if each else 0.5 for each in areas]
    return Trained("logistic", {"accuracy": (right[0], right[1]), "auc": (auc[0], auc[1])}), fits


def _by_column(
    lines: Design, shares: NDArray[np.float64], fits: list[tuple[Fit, Fit]]
) -> tuple[Coefficients, ...]:
    found = []
    for name in dict.fromkeys(lines.names):
        places = [place for place, each in enumerate(lines.names) if each == name]
        share = 100.0 * float(shares[places].mean())
        if len(places) > 1 or len(fits) > 1:
            found.append(Coefficients(name, share))
        else:
            one, other = (_interval(fit, places[0] + 1) for fit in fits[0])
            found.append(Coefficients(name, share, one, other))
    return tuple(found)


def _interval(fit: Fit, place: int) -> tuple[float, float, float]:
    middle, half = float(fit.coefficients[place]), NORMAL * float(fit.errors[place])
    return middle - half, middle, middle + half


def _quadratic(columns: Sequence[Compared], n: int) -> tuple[NDArray, NDArray]:
    """Lines of a design with squares and, of a few numbers, products; before and after."""
    lines = design(columns, n)
    numbers = np.flatnonzero(lines.numbers)
    places = [(place, place) for place in numbers]
    if numbers.size <= _MOST_MULTIPLIED:
        places += list(combinations(numbers, 2))
    sides = []
    for side in (lines.original, lines.released):
        # A few far away would have all the say about squares.
        near = np.clip(side, -_FARTHEST, _FARTHEST)
        products = [near[:, a] * near[:, b] for a, b in places]
        sides.append(np.column_stack([near, *products]))
    return sides[0], sides[1]


def _codes(column: Compared) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Categories before and after, no value being one."""
    return tuple(  # type: ignore[return-value]
        np.where(held, values, column.categories).astype(np.int64)
        for values, held in ((column.original, column.there), (column.released, column.shown))
    )


def _variation(
    one: tuple[NDArray[np.int64], NDArray[np.int64]],
    other: tuple[NDArray[np.int64], NDArray[np.int64]],
) -> float:
    n, wide = one[0].size, 1 + int(max(other[0].max(), other[1].max()))
    cells = [one[side] * wide + other[side] for side in (0, 1)]
    _, places = np.unique(np.concatenate(cells), return_inverse=True)
    counts = np.bincount(places[:n], minlength=places.max() + 1)
    counts -= np.bincount(places[n:], minlength=places.max() + 1)
    return 50.0 * float(np.abs(counts).sum()) / n
