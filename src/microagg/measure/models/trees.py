"""Scikit-learn's boosted trees, beside the plain models, where the extra `sklearn` is installed."""

from importlib.util import find_spec

import numpy as np

from microagg.measure.compared import Compared
from microagg.measure.models.design import Design, categories_of, is_number, scores
from microagg.measure.models.regression import area_under_curve, r_squared

_ROUNDS = 50


def boosted_trees(target: Compared, lines: Design) -> dict[str, tuple[float, float]] | None:
    """Scores on originals, trained on the originals and on the release; None without the extra.

    Trees learn single records by heart: so half of the records train, before or after, and the
    originals of the other half are told. Halves and trees are drawn with a fixed seed.
    """
    if find_spec("sklearn") is None or lines.original.shape[1] == 0 or len(lines.original) < 4:
        return None
    # Only what is loaded already can be told how many threads it may use.
    import sklearn.ensemble  # noqa: F401
    from threadpoolctl import threadpool_limits

    # Small pieces of work: threads that wait for each other would take longer than one.
    with threadpool_limits(1):
        return _scores(target, lines)


def _scores(target: Compared, lines: Design) -> dict[str, tuple[float, float]] | None:
    from sklearn.ensemble import HistGradientBoostingClassifier, HistGradientBoostingRegressor

    order = np.random.default_rng(0).permutation(len(lines.original))
    train, test = order[: order.size // 2], order[order.size // 2 :]
    settings = {"max_iter": _ROUNDS, "random_state": 0}
    found: dict[str, list[float]] = {}
    if is_number(target):
        numbers = scores(target)
        for X, y in zip((lines.original, lines.released), numbers, strict=True):
            model = HistGradientBoostingRegressor(**settings).fit(X[train], y[train])
            score = r_squared(numbers[0][test], model.predict(lines.original[test]))
            found.setdefault("r_squared", []).append(score)
    else:
        codes = categories_of(target)
        tested = codes[0][test]
        for X, known in zip((lines.original, lines.released), codes, strict=True):
            if np.unique(known[train]).size < 2:
                return None
            model = HistGradientBoostingClassifier(**settings).fit(X[train], known[train])
            chances = model.predict_proba(lines.original[test])
            right = model.classes_[chances.argmax(axis=1)] == tested
            found.setdefault("accuracy", []).append(100.0 * float(right.mean()))
            areas = [
                area_under_curve(tested == each, column)
                for each, column in zip(model.classes_, chances.T, strict=True)
            ]
            found.setdefault("auc", []).append(float(np.mean(areas)))
    return {name: (pair[0], pair[1]) for name, pair in found.items()}
