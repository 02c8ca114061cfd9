"""Every figure of a table's risk before anything is done: what it means, how it is computed."""

from functools import partial

import numpy as np

from microagg.measure.figures import Figure
from microagg.measure.risk.exposure import THRESHOLD, Exposure

_exposure = partial(Figure, group="exposure", needs=("keys",))


def _percent(exposure: Exposure, total: float) -> float:
    return 100.0 * total / max(1, exposure.tally.rows)


def _journalist_average(exposure: Exposure) -> float:
    tally = exposure.tally
    classes = tally.combinations / max(1.0, tally.population)
    return 100.0 * max(classes, tally.matched / max(1, tally.rows))


EXPOSURE: tuple[Figure, ...] = (
    _exposure(
        "sample_uniques",
        "Unique by the keys",
        "100 #{i : f_i = 1} / n, f_i the records that share the keys of i",
        "Records whose combination of keys nobody shares.",
        lambda exposure: _percent(exposure, exposure.violating(2)),
    ),
    *(
        _exposure(
            f"violating_{k}",
            f"Fewer than {k} alike",
            f"#{{i : f_i < {k}}}",
            f"Records that violate {k}-anonymity as the table is.",
            partial(Exposure.violating, k=k),
            unit="records",
            range=(0.0, np.inf),
        )
        for k in (2, 3, 5)
    ),
    _exposure(
        "expected_reidentifications",
        "Expected re-identifications",
        "sum r_i; with p = f / F, F the weights of those alike: f = 1: r = p/(1-p) log(1/p); "
        "f = 2: p/(1-p) - (p/(1-p))^2 log(1/p); above: p/(f-(1-p)); p >= 1: 1/f",
        "Records that somebody finds who knows everybody's keys, and guesses among those alike in "
        "the population (Benedetti and Franconi).",
        lambda exposure: exposure.tally.expected,
        unit="records",
        range=(0.0, np.inf),
    ),
    _exposure(
        "individual_risk",
        "Individual risk",
        "100 sum r_i / n",
        "The same as a share of all records.",
        lambda exposure: _percent(exposure, exposure.tally.expected),
    ),
    _exposure(
        "risk_above_threshold",
        "Risk above the threshold",
        f"100 #{{i : r_i > t}} / n, t = {THRESHOLD:g} if nothing else is said",
        "Records whose individual risk is too high.",
        lambda exposure: _percent(exposure, exposure.tally.risky),
    ),
    _exposure(
        "household_reidentifications",
        "Expected in a found household",
        "sum h_i, h_i = 1 - prod over the household of i of (1 - r)",
        "Records of households of which somebody is found, who gives all others away.",
        lambda exposure: exposure.household_expected,
        unit="records",
        range=(0.0, np.inf),
        needs=("keys", "households"),
    ),
    _exposure(
        "household_risk",
        "Household risk",
        "100 sum h_i / n",
        "The same as a share of all records.",
        lambda exposure: _percent(exposure, exposure.household_expected),
        needs=("keys", "households"),
    ),
    _exposure(
        "prosecutor_highest",
        "Prosecutor risk, highest",
        "100 / min f_i",
        "The chance to find the record most at risk, for somebody who knows that it is there.",
        lambda exposure: 100.0 / exposure.tally.smallest,
    ),
    _exposure(
        "prosecutor_average",
        "Prosecutor risk, average",
        "100 / n sum 1 / f_i",
        "The chance to find a record, for somebody who knows that it is there.",
        lambda exposure: _percent(exposure, exposure.tally.prosecuted),
    ),
    _exposure(
        "journalist_highest",
        "Journalist risk, highest",
        "100 / min F_i, F_i the records of the population that share the keys of i",
        "The chance to find the record most at risk, for somebody who does not know who is there.",
        lambda exposure: 100.0 / exposure.tally.least,
    ),
    _exposure(
        "journalist_average",
        "Journalist risk, average",
        "100 max(combinations / N, 1 / n sum 1 / F_i)",
        "The chance to find a record, for somebody who does not know who is there.",
        _journalist_average,
    ),
    _exposure(
        "marketer",
        "Marketer risk",
        "100 / n sum 1 / F_i",
        "Records that are found when all are matched with the population.",
        lambda exposure: _percent(exposure, exposure.tally.matched),
    ),
    _exposure(
        "population_uniques",
        "Unique in the population",
        "100 E #{i : F_i = 1} / n, by Pitman's model where n <= N / 10, else as Zayatz (Dankar and "
        "others 2012)",
        "Records that are likely to be the only ones of their kind anywhere.",
        lambda exposure: exposure.population_uniques.percent,
        needs=("keys", "population_uniques"),
    ),
    _exposure(
        "highest_dis",
        "DIS score, highest",
        "100 max d_i, d_i = 1 / (1 + U (1 / DIS - 1) / (s_i^Q sum s^-Q)); "
        "s_i = sum over minimal uniques of (m - size)! of m keys",
        "The chance that a match with the record most at risk is right, by how few of its keys "
        "single it out (SUDA2).",
        lambda exposure: 100.0 * float(exposure.dis.max(initial=0.0)),
        needs=("keys", "special"),
    ),
    _exposure(
        "distinction",
        "Distinction",
        "100 combinations / n",
        "How many different combinations of keys there are, for a hundred records.",
        lambda exposure: exposure.tally.distinction,
    ),
    _exposure(
        "separation",
        "Separation",
        "100 #{i < j : keys of i and j differ} / #{i < j}",
        "Pairs of records that the keys tell apart.",
        lambda exposure: exposure.tally.separation,
    ),
)
