"""Groups keep what is demanded of them: against the definitions, and against all partitions."""

import itertools
import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import microagg
from microagg.base.errors import InputError
from microagg.grouping.constraints import How, partition_units
from microagg.grouping.demands.book import Book
from microagg.grouping.demands.demand import (
    Close,
    Confidential,
    Distinct,
    Dominance,
    Entropy,
    Recursive,
    Similar,
    Span,
)
from microagg.measure.anonymity import AmongAll, WithinClasses
from microagg.measure.dominance import largest_shares
from tests.naive import demands as naive
from tests.naive import units
from tests.naive.dominance import largest_shares as naive_shares

SEARCH = How("search", 0, {"steps": 20_000})
MDAV = How("mdav", 0, {})


def column_of(values, name="secret"):
    """A confidential column of a whole table; NaN is no value, the lowest."""
    values = np.asarray(values, float)
    there = np.unique(values[~np.isnan(values)])
    missing = np.isnan(values)
    ranks = np.searchsorted(there, np.where(missing, 0.0, values)) + missing.any()
    ranks = np.where(missing, 0, ranks).astype(np.int64)
    numbers = np.concatenate([[np.nan], there]) if missing.any() else there
    return Confidential(name, ranks, np.bincount(ranks, minlength=numbers.size), numbers)


def keeps(demand, rows, entities=None):
    """Whether some records keep a demand by its definition; None where rounding decides."""
    if isinstance(demand, Dominance):
        n = len(rows)
        whose = list(range(n)) if entities is None else [entities[i] for i in rows]
        amounts = np.zeros(n) if demand.amounts is None else demand.amounts[rows]
        weights = np.ones(n) if demand.weights is None else demand.weights[rows]
        missing = np.zeros(n, bool) if demand.missing is None else demand.missing[rows]
        return below(naive_shares(amounts, [0] * n, 1, weights, whose, missing)[0], demand.share)
    ranks = [int(demand.column.ranks[i]) for i in rows]
    numbers = [float(demand.column.values[rank]) for rank in ranks]
    counts = demand.column.counts.tolist()
    match demand:
        case Distinct():
            return naive.distinct(ranks) >= demand.l
        case Entropy():
            return below(demand.l, naive.entropy(ranks))
        case Recursive():
            return naive.recursive(ranks, demand.l) < demand.c
        case Span():
            return bool(naive.span(numbers) >= demand.least)
        case Similar():
            return below(naive.similar(numbers, demand.within), demand.share)
        case Close(ordered=True):
            return below(naive.moved(ranks, counts), demand.t)
    return below(naive.apart(ranks, counts), demand.t)


def below(one, other):
    return None if abs(one - other) < 1e-8 else bool(one < other)


def all_kept(demands, labels, entities=None):
    return all(
        keeps(demand, np.flatnonzero(labels == group), entities) is not False
        for demand in demands
        for group in np.unique(labels)
    )


@st.composite
def demands_on(draw, column, n):
    """One to three demands, mild or hopeless."""
    rng = np.random.default_rng(draw(st.integers(0, 99)))
    weights = rng.integers(0, 3, n).astype(float) if draw(st.booleans()) else None
    missing = rng.random(n) < 0.2 if draw(st.booleans()) else None
    amounts = rng.normal(size=n) * 10.0 ** draw(st.integers(-300, 300))
    kinds = [
        Distinct(column, draw(st.integers(1, 4))),
        Entropy(column, draw(st.floats(1.0, 3.0))),
        Recursive(column, draw(st.integers(1, 3)), draw(st.floats(0.5, 3.0))),
        Span(column, draw(st.floats(0.0, 4.0))),
        Similar(column, draw(st.floats(0.0, 2.0)), draw(st.floats(0.2, 1.0))),
        Close(column, draw(st.floats(0.0, 0.6))),
        Close(column, draw(st.floats(0.0, 0.9)), ordered=False),
        Dominance("amount", draw(st.floats(0.1, 1.0)), amounts, weights, missing),
        Dominance("date", draw(st.floats(0.1, 1.0)), None, weights),
    ]
    return draw(st.lists(st.sampled_from(kinds), min_size=1, max_size=3, unique_by=id))


@st.composite
def tables(draw):
    """Points with ties, a constant column, a huge offset; secrets with ties and gaps."""
    k = draw(st.integers(1, 4))
    n = draw(st.sampled_from(sorted({k, k + 1, max(1, 2 * k - 1), 2 * k, 3 * k + 1, 30, 47})))
    rng = np.random.default_rng(draw(st.integers(0, 999)))
    kinds = {
        "plain": rng.normal(size=(n, 2)),
        "ties": rng.integers(0, 3, (n, 2)).astype(float),
        "equal": np.ones((n, 3)),
        "offset": 1e9 + np.column_stack([rng.normal(size=n), np.zeros(n)]),
        "one column": rng.normal(size=(n, 1)),
    }
    points = kinds[draw(st.sampled_from(sorted(kinds)))]
    secret = np.round(points[:, 0] - points[0, 0] + rng.normal(size=n), draw(st.integers(0, 2)))
    if draw(st.booleans()):
        secret = np.where(rng.random(n) < 0.15, np.nan, secret)
    column = column_of(secret)
    return points, k, draw(demands_on(column, n))


@given(table=tables(), seed=st.integers(0, 9))
@settings(max_examples=60)
def test_what_is_judged_is_the_definition(table, seed):
    points, _, demands = table
    labels = np.unique(
        np.random.default_rng(seed).integers(0, 4, len(points)), return_inverse=True
    )[1]
    for demand in demands:
        short = Book.of([demand], len(points)).shortfalls(labels)
        for group in range(labels.max() + 1):
            kept = keeps(demand, np.flatnonzero(labels == group))
            assert kept is None or kept == (short[group] == 0.0)


@given(table=tables(), seed=st.integers(0, 9))
@settings(max_examples=40)
def test_a_union_keeps_what_both_keep(table, seed):
    points, _, demands = table
    half = np.random.default_rng(seed).integers(0, 2, len(points))
    labels = np.unique(half, return_inverse=True)[1]
    for demand in demands:
        book = Book.of([demand], len(points))
        if not book.shortfalls(labels).any():
            # By less than the hair that rounding is given.
            assert book.shortfalls(np.zeros_like(labels))[0] <= 1e-9


@pytest.mark.parametrize("how", [MDAV, SEARCH], ids=["mdav", "search"])
@given(table=tables())
@settings(max_examples=50)
def test_groups_keep_their_demands_or_none_can(how, table):
    points, k, demands = table
    together = [keeps(demand, np.arange(len(points))) for demand in demands]
    if False in together:
        with pytest.raises(InputError, match=r"groups are to keep .* together; ask for less"):
            partition_units(points, k, how, demands=demands)
        return
    try:
        found = partition_units(points, k, how, demands=demands)
    except InputError:
        # Refused where rounding decides, and nowhere else.
        assert None in together
        return
    assert found.sizes.min() >= k
    assert sorted(set(found.labels)) == list(range(found.n_groups))
    assert all_kept(demands, found.labels)


@given(seed=st.integers(0, 999), by_stratum=st.booleans(), how=st.sampled_from([MDAV, SEARCH]))
@settings(max_examples=40)
def test_strata_are_not_crossed_and_entities_stay_whole(seed, by_stratum, how):
    rng = np.random.default_rng(seed)
    strata_of = np.repeat([0, 1], 12)
    entities = rng.permutation(np.r_[np.arange(24), rng.integers(0, 24, 20)])
    strata = strata_of[entities] if by_stratum else None
    points = rng.normal(size=(44, 2))
    column = column_of(rng.integers(0, 6, 44))
    demands = [
        Distinct(column, 3),
        Close(column, 0.3),
        Dominance("amount", 0.6, rng.random(44), rng.random(44)),
    ]
    stratum = np.zeros(44, int) if strata is None else strata
    whole = [
        keeps(demand, np.flatnonzero(stratum == each), entities)
        for demand in demands
        for each in np.unique(stratum)
    ]
    if not all(whole):
        return
    found = partition_units(
        points, 2, how, strata=strata, entities=entities, demands=demands
    ).labels
    assert min(units.units_in_groups(found, entities)) >= 2
    assert all(len(each) == 1 for each in units.groups_of_each(found, entities).values())
    assert strata is None or units.crossing(found, strata) == 0
    assert all_kept(demands, found, entities)


def beside_the_optimum(demand, points):
    """The loss of the search and the least of all partitions; nothing where there is none."""
    optimum = naive.least_loss(points, 2, lambda rows: keeps(demand, list(rows)) is not False)
    try:
        found = partition_units(points, 2, SEARCH, demands=[demand])
    except InputError:
        assert optimum == math.inf
        return 0.0, 0.0
    inside = [points[found.labels == group] for group in range(found.n_groups)]
    loss = sum(((rows - rows.mean(axis=0)) ** 2).sum() for rows in inside)
    assert loss >= optimum * (1 - 1e-9)
    return loss, optimum


@pytest.mark.parametrize(
    ("seeds", "sizes", "demands", "share"),
    [
        (range(5), (8, 9), ("close", "distinct", "similar"), 1.02),
        (range(2), (10,), ("close", "distinct", "similar", "span", "dominance"), 1.1),
    ],
)
def test_no_partition_is_much_better(seeds, sizes, demands, share):
    """The search against all partitions of eight to ten records, under several demands."""
    pairs = []
    for seed, n in itertools.product(seeds, sizes):
        rng = np.random.default_rng(seed)
        points = rng.normal(size=(n, 2))
        column = column_of(np.round(points[:, 0] + rng.normal(size=n), 1))
        kinds = {
            "close": Close(column, 0.2),
            "distinct": Distinct(column, 3),
            # Between the differences that there are, so that rounding decides nothing.
            "similar": Similar(column, 0.23, 0.5),
            "span": Span(column, 1.47),
            "dominance": Dominance("amount", 0.5, rng.exponential(size=n)),
        }
        pairs += [beside_the_optimum(kinds[name], points) for name in demands]
    reached, least = map(sum, zip(*pairs, strict=True))
    assert reached <= share * least


@pytest.mark.parametrize("method", ["mdav", "search", "auto", "zscore", "t-first"])
def test_the_same_seed_and_any_threads_give_the_same(method, threads):
    rng = np.random.default_rng(2)
    points = rng.normal(size=(400, 3))
    column = column_of(np.round(points[:, 0] + rng.normal(size=400), 1))
    demands = [Close(column, 0.15), Distinct(column, 3)]
    options = {"steps": 30_000} if method in ("search", "auto") else {}
    found = []
    for count in (1, 2, 3):
        threads(count)
        how = How(method, 7, options)
        found.append(partition_units(points, 3, how, demands=demands).labels.tobytes())
    assert found[0] == found[1] == found[2]


def test_several_regions_are_the_same_with_any_threads(threads, monkeypatch):
    monkeypatch.setattr("microagg.grouping.demands.searching._REGION", 64)
    test_the_same_seed_and_any_threads_give_the_same("search", threads)


def test_the_certificate_will_count_no_more():
    """What is judged close is so by the measure, too, to the last bit."""
    rng = np.random.default_rng(3)
    points = rng.normal(size=(500, 2))
    column = column_of(np.round(points[:, 1] + rng.normal(size=500), 1))
    for ordered, t in ((True, 0.1), (True, 0.2), (False, 0.75)):
        found = partition_units(points, 5, SEARCH, demands=[Close(column, t, ordered)])
        within = WithinClasses(AmongAll(column.counts, ordered), found.labels, column.ranks)
        assert within.distance().max() <= t
    amounts, weights = rng.exponential(size=500) ** 3, rng.random(500)
    asked = Dominance("amount", 0.4, amounts, weights)
    found = partition_units(points, 5, SEARCH, demands=[asked])
    assert largest_shares(amounts, found.labels, found.n_groups, weights).max() <= 0.4


def test_a_search_loses_less_than_a_repair():
    rng = np.random.default_rng(4)
    points = rng.normal(size=(300, 2))
    column = column_of(np.round(points[:, 0] + 0.3 * rng.normal(size=300), 1))
    demands = [Close(column, 0.15)]
    losses = [
        microagg.information_loss(points, partition_units(points, 3, how, demands=demands))
        for how in (How("search", 0, {"steps": 200_000}), How("t-first", 0, {}), MDAV)
    ]
    assert losses[0] < 0.8 * min(losses[1:])


@pytest.mark.parametrize(
    ("demand", "sentence"),
    [
        (lambda c: Distinct(c, 5), "there are only 4"),
        (lambda c: Entropy(c, 5.0), "the largest l that can be kept is 4"),
        (lambda c: Recursive(c, 2, 0.1), "c must be greater than 0.333333"),
        (lambda c: Recursive(c, 5, 2.0), "fewer than 5 different values"),
        (lambda c: Span(c, 9.0), "all together span less"),
        (lambda c: Similar(c, 1.0, 0.2), "the smallest share that can be kept is 0.75"),
    ],
)
def test_what_cannot_be_kept_is_said_with_what_could(demand, sentence):
    column = column_of(np.repeat([1.0, 2.0, 3.0, 4.0], 5))
    points = np.random.default_rng(0).normal(size=(20, 2))
    with pytest.raises(InputError) as caught:
        partition_units(points, 2, MDAV, demands=[demand(column)])
    assert sentence in str(caught.value)
    assert "\n" not in str(caught.value)


def test_a_stratum_far_from_the_whole_is_refused():
    values = np.repeat([0.0, 1.0], 10)
    column = column_of(values)
    points = np.random.default_rng(0).normal(size=(20, 2))
    with pytest.raises(InputError, match=r"the smallest t that can be kept is 0\.5 .*stratum"):
        partition_units(
            points, 2, MDAV, strata=values.astype(np.int64), demands=[Close(column, 0.2)]
        )


def test_nobody_dominates_a_mean_where_that_can_be():
    amounts = np.r_[1000.0, np.ones(19)]
    points = np.random.default_rng(0).normal(size=(20, 2))
    with pytest.raises(InputError, match=r"the smallest share that can be kept is 0\.982"):
        partition_units(points, 2, MDAV, demands=[Dominance("x", 0.8, amounts)])
    amounts[1:3] = 400.0, 300.0
    found = partition_units(points, 2, SEARCH, demands=[Dominance("x", 0.7, amounts)])
    assert largest_shares(amounts, found.labels, found.n_groups).max() <= 0.7
    assert found.n_groups > 3
