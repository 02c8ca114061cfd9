"""What attacks disclose, and what chance does, by the definition: of ties, constant columns, one
record, and values that are missing before or after."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import microagg
from microagg.measure.attacks.attack import Earlier
from microagg.measure.attacks.registry import ATTACKS, try_attacks
from tests.measure.attacks.scenes import column, scene
from tests.naive import attacks as naive
from tests.naive import measures

DISTANCE, IMPORTANCE, ALPHA = 0.3, 0.1, 0.9


@st.composite
def few(draw):
    """A few records of small whole numbers, in classes; of one record, too."""
    rng = np.random.default_rng(draw(st.integers(0, 2**32)))
    n, d = draw(st.integers(1, 7)), draw(st.integers(1, 3))
    X = rng.integers(0, draw(st.sampled_from([2, 9])), (n, d)).astype(float)
    if draw(st.booleans()):
        X[:, 0] = 4.0
    k = min(n, draw(st.integers(1, 3)))
    R = np.asarray(microagg.aggregate(X, np.minimum(np.arange(n) // k, n // k - 1)))
    how = draw(st.sampled_from(["means", "itself", "shuffled", "one point"]))
    if how != "means":
        R = {"itself": X, "shuffled": X[rng.permutation(n)], "one point": X[[0] * n]}[how].copy()

    def gaps(values):
        return np.where(rng.random(n) < draw(st.sampled_from([0.0, 0.3])), np.nan, values)

    ill, cost = rng.integers(0, 2, n).astype(float), rng.integers(0, 6, n).astype(float)
    secret = [
        column("ill", ill, ill, categories=2, numeric=False),
        column("cost", gaps(cost), gaps(cost)),
    ]
    old = rng.permutation(n)[: max(1, n - 1)]
    rows = np.full(n, -1)
    rows[old] = np.arange(old.size)
    labels = np.unique(rng.integers(0, max(1, n // 2), old.size), return_inverse=True)[1]
    marks = rng.integers(0, 2, n)
    # Who shows something else by now is looked for in vain.
    then = np.where(rng.random(n) < draw(st.sampled_from([0.0, 0.3])), 1 - marks, marks)
    return scene(
        X,
        R,
        known=draw(st.integers(1, d)),
        confidential=secret,
        earlier=Earlier(labels, rows, marks, then[old]),
        distance=DISTANCE,
        importance=IMPORTANCE,
        alpha=ALPHA,
        sd=draw(st.sampled_from([5.0, 61.7])),
    )


class Twin:
    """The columns of a scene as lists, NaN where there is no value."""

    def __init__(self, scene):
        self.scene, self.n = scene, scene.n
        self.labels, self.looks = scene.labels.tolist(), scene.looks.tolist()
        self.everybody = [0] * scene.n

    def of(self, each):
        x, y = each.original.copy(), each.released.copy()
        x[~each.there], y[~each.shown] = np.nan, np.nan
        return x.tolist(), y.tolist(), each.reach(self.scene.sd)

    def values(self, columns, told):
        """The share of the values told, of all that are there, in percent."""
        cells = right = 0.0
        for each in columns:
            there = [not math.isnan(value) for value in self.of(each)[0]]
            cells += sum(there)
            right += sum(t for t, held in zip(told(each), there, strict=True) if held)
        return 100 * right / cells if cells else 0.0

    def best(self, each, labels=None):
        return naive.inferred(*self.of(each)[:2], labels or self.everybody, self.of(each)[2])

    def share(self, flags):
        return 100 * sum(flags) / self.n


def shares(found):
    return [
        None if each is None else (each.percent, each.chance)
        for each in (found.records, found.values)
    ]


@given(few())
@settings(max_examples=150)
def test_by_their_definitions(scene):
    twin, names = Twin(scene), set()
    for finding in try_attacks(scene):
        names.add(finding.attack.name)
        records, values = shares(finding.found)
        wanted = EXPECTED[finding.attack.name](twin, finding.found)
        for found, expected in zip((records, values), wanted, strict=True):
            assert (found is None) == (expected is None), finding.attack.name
            if expected is not None:
                assert found == pytest.approx(expected, abs=1e-6), finding.attack.name
    assert names <= EXPECTED.keys()


def test_every_attack_has_a_twin():
    assert EXPECTED.keys() == {attack.name for attack in ATTACKS}


def _guessed(twin, asked):
    """What a row drawn from the class asked for tells, and one drawn from all."""
    columns = twin.scene.unknown
    if not columns:
        return None

    def told(who, labels):
        return twin.values(
            columns,
            lambda each: naive.told_by_member(*twin.of(each)[:2], who, labels, twin.of(each)[2]),
        )

    return told(asked, twin.looks), told(twin.everybody, twin.everybody)


def _points(twin):
    """Originals and released records in deviations, by the columns that vary."""
    scene = twin.scene
    known = [each for each in scene.columns if each.name in scene.known and each.deviation > 0.0]
    X, R = (
        [[value / each.deviation for value in getattr(each, side)] for each in known]
        for side in ("original", "released")
    )
    return list(zip(*X, strict=True)) or [()] * twin.n, list(zip(*R, strict=True)) or [()] * twin.n


def _nearest_rows(twin):
    """For each person the rows that are nearest, all of them."""
    X, R = _points(twin)
    found = []
    for x in X:
        far = [sum((a - b) ** 2 for a, b in zip(x, r, strict=True)) for r in R]
        found.append([j for j in range(twin.n) if far[j] <= min(far) + 1e-9])
    return found


def _nearest(twin, _):
    near = _nearest_rows(twin)
    right = [(i in near[i]) / len(near[i]) for i in range(twin.n)]
    asked = [twin.looks[rows[0]] for rows in near]
    return (twin.share(right), 100 / twin.n), _guessed(twin, asked)


def _class(twin, _):
    near, looks = _nearest_rows(twin), twin.looks
    found = []
    for i in range(twin.n):
        kinds = {looks[j] for j in near[i]}
        found.append((looks[i] in kinds) / len(kinds))
    chance = sum(looks.count(each) for each in looks) / twin.n**2
    columns = twin.scene.unknown
    if not columns:
        return (twin.share(found), 100 * chance), None
    first = [looks[rows[0]] for rows in near]

    def told(each, labels, asked):
        own = naive.told_by_member(*twin.of(each)[:2], labels, labels, twin.of(each)[2])
        return [own[i] == 1.0 and asked[i] == labels[i] for i in range(twin.n)]

    values = (
        twin.values(columns, lambda each: told(each, looks, first)),
        twin.values(columns, lambda each: told(each, twin.everybody, twin.everybody)),
    )
    return (twin.share(found), 100 * chance), values


def _assignment(twin, found):
    X, R = _points(twin)
    shares = naive.shares_of_best_assignments(X, R, twin.looks)
    best = [100 * each for each in shares]
    nearest = min(best, key=lambda each: abs(each - found.records.percent))
    values = found.values and (found.values.percent, _guessed(twin, twin.looks)[1])
    return (nearest, 100 / twin.n), values


def _intersection(twin, _):
    old = twin.scene.earlier
    args = (twin.labels, old.labels.tolist(), old.rows.tolist())
    args += (old.marks.tolist(), old.earlier_marks.tolist())
    left = [naive.candidates_of(i, *args) for i in range(twin.n)]
    right = [left[i] == [i] for i in range(twin.n)]
    alone = [twin.labels.count(each) == 1 for each in twin.labels]

    def told(each, members):
        x, y, reach = twin.of(each)
        return [
            bool(members(i)) and all(naive.within(x[i], y[j], reach) for j in members(i))
            for i in range(twin.n)
        ]

    columns = twin.scene.unknown
    values = (
        twin.values(columns, lambda each: told(each, lambda i: left[i])),
        twin.values(
            columns,
            lambda each: told(
                each, lambda i: [j for j in range(twin.n) if twin.labels[j] == twin.labels[i]]
            ),
        ),
    )
    return (twin.share(right), twin.share(alone)), values


def _inference(twin, found):
    [each] = [each for each in twin.scene.confidential if each.name == found.column]
    (told, certain), (plain, sure) = twin.best(each, twin.labels), twin.best(each)
    values = tuple(twin.values([each], lambda _, flags=flags: flags) for flags in (told, plain))
    return (twin.share(certain), twin.share(sure)), values


def _order(twin, _):
    columns = twin.scene.numbers
    by_curve, as_released, by_one = {}, {}, {}
    for each in columns:
        x, y, reach = twin.of(each)
        pairs = zip(x, naive.curve(y), strict=True)
        by_curve[each.name] = [naive.within(a, b, reach) for a, b in pairs]
        as_released[each.name] = [naive.within(a, b, reach) for a, b in zip(x, y, strict=True)]
        by_one[each.name] = twin.best(each)[0]

    def new(told):
        return twin.share(
            any(told[each.name][i] and not as_released[each.name][i] for each in columns)
            for i in range(twin.n)
        )

    values = tuple(twin.values(columns, lambda each, told=told: told[each.name])
                   for told in (by_curve, by_one))  # fmt: skip
    return (new(by_curve), new(by_one)), values


def _all_of(twin, columns, told):
    """The share of the records all of whose values are told."""
    return twin.share(
        all(told[each.name][i] or math.isnan(twin.of(each)[0][i]) for each in columns)
        for i in range(twin.n)
    )


def _reconstruction(twin, _):
    columns = twin.scene.numbers
    last, by_one = {}, {}
    for each in columns:
        x, y, reach = twin.of(each)
        guesses = [naive.last_member(x, y, twin.labels, i) for i in range(twin.n)]
        # Sums of means are rounded.
        last[each.name] = [
            naive.within(a, b, reach + 1e-9) for a, b in zip(x, guesses, strict=True)
        ]
        by_one[each.name] = twin.best(each)[0]
    both = (last, by_one)
    values = tuple(twin.values(columns, lambda each, told=told: told[each.name]) for told in both)
    return tuple(_all_of(twin, columns, told) for told in both), values


def _transparent(twin, found):
    columns = twin.scene.numbers
    X, R = (np.column_stack([getattr(each, side) for each in columns])
            for side in ("original", "released"))  # fmt: skip
    told = measures.transparent(X, R, twin.scene.sd, DISTANCE, IMPORTANCE, ALPHA)
    by_one = {each.name: twin.best(each)[0] for each in columns}
    values = (float(np.mean(told)), twin.values(columns, lambda each: by_one[each.name]))
    # Who all is known of is among those of whom each is.
    assert found.records.percent <= min(told) + 1e-9
    return (found.records.percent, _all_of(twin, columns, by_one)), values


EXPECTED = {
    "nearest": _nearest,
    "assignment": _assignment,
    "class": _class,
    "intersection": _intersection,
    "inference": _inference,
    "order": _order,
    "reconstruction": _reconstruction,
    "transparent": _transparent,
}
