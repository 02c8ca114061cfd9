"""What every registered figure keeps."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from microagg.base.arrays import centred
from microagg.measure.dominance import DOMINATES, Dominance, largest_shares
from microagg.measure.evidence import Evidence
from microagg.measure.figures import FIGURES, judge, shown
from microagg.measure.linkage import classes
from microagg.measure.models.usefulness import Usefulness
from microagg.measure.statistics import paired
from tests.measure.attacks.scenes import column
from tests.measure.test_anonymity import counts_of
from tests.measure.test_linkage import releases
from tests.naive import dominance, measures, models

BY_NAME = {figure.name: figure for figure in FIGURES}
# A target may be neither: secrets drawn at random may have one or two values.
MODELS = {figure.name for figure in FIGURES if figure.group == "models"}
# Ties go to the first record, so these depend on who is first.
TIED = {"linkage", "linked_interval", "disclosure_risk", "scoring_index"}


def dominance_of(X, labels):
    found, groups = Dominance([DOMINATES] * X.shape[1]), int(labels.max()) + 1
    found.add([largest_shares(column, labels, groups) for column in X.T], groups)
    return found


def evidence(X, R, confidential, distance=0.1):
    labels = classes(R)
    sizes = np.bincount(labels)
    counts = {
        name: counts_of(confidential, labels, ordered=name == "ordered")
        for name in ("ordered", "nominal")
    }
    return Evidence(
        numbers=paired(X, R),
        k=int(sizes.min()),
        unique=int((sizes == 1).sum()),
        dominance=dominance_of(X, labels),
        confidential=counts,
        useful=usefulness(X, R, confidential),
        distance=distance,
        importance=0.1,
        alpha=0.9,
    )


def usefulness(X, R, confidential):
    """The numbers, and two secrets of which one is a number and one a category."""
    secret = (confidential, confidential)
    columns = [
        *(
            column(f"c{a}", *centred(np.concatenate(pair)).reshape(2, -1))
            for a, pair in enumerate(zip(X.T, R.T, strict=True))
        ),
        column("number", *secret),
        column("word", *secret, categories=4, numeric=False),
    ]
    return Usefulness(columns=columns, targets=["number", "word"], trees=False)


def secrets(X, seed=0):
    return np.random.default_rng(seed).integers(0, 4, len(X))


def numbers(value):
    return np.array(list(value.values()) if isinstance(value, dict) else value, float)


@pytest.mark.parametrize("figure", FIGURES, ids=lambda figure: figure.name)
def test_it_says_what_it_is(figure):
    assert figure.name.isidentifier()
    assert figure.title[0].isupper()
    assert figure.formula
    assert figure.description.endswith(".")
    assert figure.range[0] < figure.range[1]
    known = {"numbers", "records", "dominance", "k", "unique", "confidential", "distance", "alpha"}
    known |= {"useful", "tables", "numbers_told", "categories_told"}
    assert figure.needs
    assert set(figure.needs) <= known
    assert not figure.of_sample or "numbers" in figure.needs


def test_names_and_titles_are_their_own():
    assert len(BY_NAME) == len({figure.title for figure in FIGURES}) == len(FIGURES)


def extremes():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(12, 2))
    tiny = rng.integers(0, 9, (12, 1)) * 5e-324
    return [
        (X * 1e300, X * 1e300 + 1e299),
        (X * 1e-300, X),
        (tiny, tiny[::-1]),
        (X, np.full_like(X, 1.7e308)),
        (X + 1e15, X + 1e15 + rng.integers(-1, 2, X.shape)),
        (np.ones((1, 3)), np.zeros((1, 3))),
        (X[:, 0], X[:, 1]),
    ]


@given(releases(25))
def test_it_stays_within_its_range(pair):
    within_range(*pair)


@pytest.mark.parametrize("pair", extremes())
def test_it_stays_within_its_range_at_the_extremes(pair):
    within_range(*(np.reshape(table, (len(table), -1)) for table in pair))


def within_range(X, R):
    values = judge(evidence(X, R, secrets(X)))
    assert {*values} >= BY_NAME.keys() - MODELS
    for name, value in values.items():
        found, (low, high) = numbers(value), BY_NAME[name].range
        assert np.isfinite(found).all(), name
        assert found.size in (1, 2, X.shape[1]), name
        rounding = 1e-9
        assert (found >= low - rounding).all(), name
        assert (found <= high + rounding).all(), name
    for _, text in shown(values):
        assert "nan" not in text


@given(releases(25))
def test_the_originals_are_the_most_useful_release(pair):
    X, _ = pair
    values = judge(evidence(X, X, secrets(X)))
    for figure in FIGURES:
        # The scoring index counts risk as well.
        if figure.group == "utility" and figure.name != "scoring_index":
            assert figure.better == "lower"
            assert numbers(values[figure.name]) == pytest.approx(0.0, abs=1e-6), figure.name
    for name in ("r_squared", "accuracy", "auc"):
        for target, score in values.get(name, {}).items():
            assert score == pytest.approx(values[f"{name}_original"][target])
    assert numbers(values["coefficient_overlap"]) == pytest.approx(100.0)


@given(releases(25), st.integers(0, 99))
def test_the_order_of_rows_does_not_matter(pair, seed):
    X, R = pair
    rng = np.random.default_rng(seed)
    order, confidential = rng.permutation(len(X)), secrets(X)
    values = judge(evidence(X, R, confidential))
    again = judge(evidence(X[order], R[order], confidential[order]))
    for name in values.keys() - TIED:
        same(name, again[name], values[name])


def test_the_order_of_rows_matters_to_none_without_ties():
    rng = np.random.default_rng(1)
    X = rng.normal(size=(200, 3))
    R, confidential, order = X + rng.normal(size=X.shape), secrets(X), rng.permutation(200)
    values = judge(evidence(X, R, confidential))
    again = judge(evidence(X[order], R[order], confidential[order]))
    for name in values:
        same(name, again[name], values[name])


def same(name, found, expected):
    assert numbers(found) == pytest.approx(numbers(expected), rel=1e-6, abs=1e-4), name


def mean(figures):
    present = [figure for figure in figures if figure is not None]
    return float(np.mean(present)) if present else 0.0


def dominated(X, labels):
    """The share of groups with a record that has more than four fifths of a column's sum."""
    n, groups = len(X), len(set(labels))
    alone = (np.ones(n), np.arange(n), np.zeros(n, bool))
    shares = [dominance.largest_shares(column, labels, groups, *alone) for column in X.T]
    above = [any(share[group] > 0.8 for share in shares) for group in range(groups)]
    return 100.0 * sum(above) / groups


def naive(X, R, confidential, distance):
    """Figures by their definitions."""
    varying = measures.varying(X)

    def by_column(figures):
        every = np.zeros(X.shape[1])
        every[varying] = figures
        return every

    distances = [models.kolmogorov_smirnov(*(Z[:, a].tolist() for Z in (X, R))) for a in varying]
    labels = classes(R).tolist()
    sizes = [labels.count(label) for label in set(labels)]
    percent, expected, by_class, rows = measures.linkage(X, R)
    interval = measures.interval(X, R, 5.0, "deviation")
    losses = measures.loss(X, R)
    means, variances, quantiles, totals, apart = measures.changes(X, R)
    parts = measures.probabilistic_loss(X, R)
    risk = (percent + mean(interval)) / 2
    values = confidential.tolist()
    distinct = min(count for count, _ in measures.diversity(values, labels))
    return {
        "k": min(sizes),
        "unique_records": sizes.count(1),
        "linkage": percent,
        "expected_linkage": expected,
        "class_linkage": by_class,
        "interval": mean(interval),
        "interval_attributes": [share or 0.0 for share in interval],
        "transparent_interval": mean(measures.transparent(X, R, 5.0, distance, 0.1, 0.9)),
        "linked_interval": mean(measures.interval(X, R, 5.0, "deviation", rows)),
        "range_interval": mean(measures.interval(X, R, 5.0, "range")),
        "rank_interval": mean(measures.interval(X, R, 5.0, "rank")),
        "dominance": dominated(X, labels),
        "disclosure_risk": risk,
        "diversity": [distinct, distinct],
        "closeness": [max(measures.closeness(values, labels, each)) for each in (True, False)],
        "attribute_disclosure": [100 * measures.alone(values, labels) / len(values)] * 2,
        "loss": mean(losses),
        "loss_attributes": by_column(losses),
        "il1s": measures.il1s(X, R),
        "mean_changes": by_column(means),
        "variance_changes": by_column(variances),
        "quantile_changes": by_column(quantiles),
        "total_changes": by_column(totals),
        "correlation_change": mean(apart),
        "largest_correlation_change": max(apart, default=0.0),
        "eigenvalue_distance": measures.eigenvalue_distance(X, R),
        "kolmogorov_smirnov": mean(distances),
        "kolmogorov_smirnov_attributes": by_column(distances),
        "probabilistic_loss": mean(parts),
        **{
            name: part or 0.0
            for name, part in zip((each for each in BY_NAME if "pil_" in each), parts, strict=True)
        },
        "scoring_index": (risk + mean(parts)) / 2,
        "satisfaction": measures.satisfaction(X, R, distance, 0.1, False),
    }


@given(releases(20), st.integers(0, 99))
def test_against_the_definition(pair, seed):
    X, R = pair
    if not measures.varying(X):
        return
    confidential = secrets(X, seed)
    values = judge(evidence(X, R, confidential, distance=0.3))
    expected = naive(X, R, confidential, 0.3)
    assert expected.keys() <= values.keys()
    for name, value in expected.items():
        same(name, values[name], value)
