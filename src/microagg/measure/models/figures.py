"""Figures of what models and tables of a release are worth."""

from collections.abc import Callable
from functools import partial
from math import inf

from microagg.measure.evidence import Evidence
from microagg.measure.figure import Figure, Value

_utility = partial(Figure, group="utility")
_model = partial(Figure, group="models", better="higher")


def _scores(score: str, side: int) -> Callable[[Evidence], Value]:
    """Of the plain models: by target, trained on the originals (0) or on the release (1)."""
    return lambda evidence: {
        name: each.own.scores[score][side]
        for told in (evidence.numbers_told, evidence.categories_told)
        for name, each in (told or {}).items()
        if score in each.own.scores
    }


LIKENESS: tuple[Figure, ...] = (
    _utility(
        "table_distance",
        "Two-way tables",
        "mean over pairs of columns of 50 sum over cells of |p' - p|",
        "How many records would have to move to turn two-way tables of categories into the "
        "originals'.",
        lambda evidence: float(evidence.two_way.mean()),
        needs=("tables",),
    ),
    _utility(
        "largest_table_distance",
        "Most changed two-way table",
        "max over pairs of columns of 50 sum over cells of |p' - p|",
        "The same of the table that changed most.",
        lambda evidence: float(evidence.two_way.max()),
        needs=("tables",),
    ),
    _utility(
        "propensity",
        "Propensity score",
        "pMSE = mean over originals and released records of (chance of being released - 1/2)^2",
        "How well a logistic model with squares and products tells released records from "
        "originals: 0 not at all, 0.25 every time.",
        lambda evidence: evidence.judged_by_models.propensity[0],
        unit="",
        range=(0.0, 0.25),
        needs=("useful",),
    ),
    _utility(
        "propensity_ratio",
        "Propensity ratio",
        "8 N pMSE / p, with p coefficients and N records before and after",
        "The same as a multiple of what is expected of another sample of the same people: above 1 "
        "the model sees what was done.",
        lambda evidence: evidence.judged_by_models.propensity[1],
        unit="",
        range=(0.0, inf),
        needs=("useful",),
    ),
)
MODELS: tuple[Figure, ...] = (
    _model(
        "r_squared",
        "R² from the release",
        "1 - sum (y - guess)^2 / sum (y - mean)^2 over the originals y of a target",
        "How much of a target's variation least squares tell of the originals, trained on the "
        "release.",
        _scores("r_squared", 1),
        unit="",
        range=(-inf, 1.0),
        needs=("numbers_told",),
    ),
    _model(
        "r_squared_original",
        "R² from the originals",
        "the same, trained on the originals",
        "What the release's R² is to be held against.",
        _scores("r_squared", 0),
        unit="",
        range=(-inf, 1.0),
        needs=("numbers_told",),
    ),
    _model(
        "accuracy",
        "Accuracy from the release",
        "100 #{i : the likeliest category of i is its own} / n over the originals",
        "Records of the originals whose category logistic regression tells, trained on the "
        "release.",
        _scores("accuracy", 1),
        needs=("categories_told",),
    ),
    _model(
        "accuracy_original",
        "Accuracy from the originals",
        "the same, trained on the originals",
        "What the release's accuracy is to be held against.",
        _scores("accuracy", 0),
        needs=("categories_told",),
    ),
    _model(
        "auc",
        "AUC from the release",
        "mean over categories of the chance that one of it scores above one of another",
        "How well logistic regression, trained on the release, puts the originals of a category "
        "before all others: 0.5 is chance, 1 perfect.",
        _scores("auc", 1),
        unit="",
        range=(0.0, 1.0),
        needs=("categories_told",),
    ),
    _model(
        "auc_original",
        "AUC from the originals",
        "the same, trained on the originals",
        "What the release's AUC is to be held against.",
        _scores("auc", 0),
        unit="",
        range=(0.0, 1.0),
        needs=("categories_told",),
    ),
    _model(
        "coefficient_overlap",
        "Overlap of coefficients",
        "mean over coefficients of 100 / 2 (common / length + common / length')",
        "How much of the 95 percent intervals of a model's coefficients, from the originals and "
        "from the release, is common to both.",
        lambda evidence: {
            name: each.overlap for name, each in evidence.judged_by_models.learnt.items()
        },
        needs=("useful",),
    ),
)
