"""What every private method keeps: a new file in `private/mechanisms` is tested by being there."""

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from microagg.base.errors import MicroaggError, OptionError
from microagg.private import audit, expected_error, prepared, release, suggest_k
from microagg.private.costs import Setting
from microagg.private.domains import Categories, Range
from microagg.private.method import Task
from microagg.private.noise import add_noise, steps_for
from microagg.private.registry import WORD, all_methods, find
from tests.naive.private import simulated_error

METHODS = {method.name: method for method in all_methods()}
STANDARD = [name for name, method in METHODS.items() if method.standard]
CONDITIONAL = [name for name, method in METHODS.items() if not method.standard]
LINKED = [name for name, method in METHODS.items() if method.rows.linked]
UNLINKED = [name for name, method in METHODS.items() if not method.rows.linked]
every_method = pytest.mark.parametrize("name", METHODS)

RANGES = [
    (0.0, 1.0),
    (-1e9, 1e9),
    (1e9, 1e9 + 3e-3),
    (-1e-300, 1e-300),
    (-6e307, 6e307),
    (0.1, 0.3),
]
GUIDE = Path(__file__).parents[2] / "docs" / "guarantees.md"
BOUNDS = {"income": (0, 1000), "age": (0, 120)}


def table(n=60):
    rng = np.random.default_rng(4)
    return {"income": rng.uniform(0, 1000, n), "age": rng.integers(18, 90, n)}


def make(name, data, bounds, k=None, **options):
    settings = {"epsilon": 2.0, "accept": WORD, "simulate": True, "seed": 0, **options}
    return release(data, bounds=bounds, method=name, k=METHODS[name].only_k or k, **settings)


def task(name, values, k, epsilon=4.0):
    """Columns from 0 to 11."""
    d = values.shape[1]
    return Task(values, [Range(0.0, 11.0)] * d, [epsilon] * d, METHODS[name].only_k or k)


def nasty_neighbours(rng, n):
    """Two tables that differ in one record, and their bounds: extremes, beyond, and between."""
    ranges = [RANGES[i] for i in rng.integers(len(RANGES), size=2)]
    places = rng.choice([-0.5, 0.0, 0.5, 1.0, 1.25, *rng.random(6)], (n + 1, 2))
    low, high = np.array(ranges).T
    values = low + places * (high - low)
    one, other = values[:n], values[:n].copy()
    other[rng.integers(n)] = values[n]
    return one, other, ranges


def what_gets_noise(run):
    """The sums of each column and the sensitivity that their noise is drawn for."""
    seen = []

    def spy(sums, sensitivity, _epsilon, _rng):
        seen.append((sums.astype(object), sensitivity))
        return sums

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(prepared, "add_noise", spy)
        run()
    return seen


def check_changes(before, after):
    assert len(before) == len(after) > 0
    for (sums, sensitivity), (others, same) in zip(before, after, strict=True):
        assert sensitivity == same
        assert np.abs(sums - others).sum() <= sensitivity


@pytest.mark.parametrize("name", STANDARD)
@given(st.integers(0, 2**32 - 1), st.integers(1, 12), st.integers(1, 4))
def test_neighbours_differ_by_no_more_than_the_noise_was_made_for(name, seed, n, k):
    one, other, ranges = nasty_neighbours(np.random.default_rng(seed), n)
    bounds = {str(j): pair for j, pair in enumerate(ranges)}
    size = min(k, n)
    before = what_gets_noise(lambda: make(name, one, bounds, size))
    check_changes(before, what_gets_noise(lambda: make(name, other, bounds, size)))


@pytest.mark.parametrize("name", CONDITIONAL)
@given(st.integers(0, 2**32 - 1), st.integers(1, 12), st.integers(1, 4))
def test_given_the_partition_neighbours_differ_by_no_more(name, seed, n, k):
    one, other, ranges = nasty_neighbours(np.random.default_rng(seed), n)
    known = [Range(*pair) for pair in ranges]
    clamped = np.column_stack([own.clamp(x) for own, x in zip(known, one.T, strict=True)])
    size = METHODS[name].only_k or min(k, n)
    partitions = METHODS[name].group(Task(clamped, known, [1.0, 1.0], size))

    def sums(values):
        for own, x, groups in zip(known, values.T, partitions, strict=True):
            prepared.means_of(own, x, groups, METHODS[name], 1.0).drawn(None)

    check_changes(what_gets_noise(lambda: sums(one)), what_gets_noise(lambda: sums(other)))


@pytest.mark.parametrize("name", [name for name in METHODS if METHODS[name].categories])
@given(st.integers(0, 2**32 - 1), st.integers(1, 12))
def test_counts_of_neighbours_differ_by_no_more(name, seed, n):
    rng = np.random.default_rng(seed)
    texts = rng.choice(["a", "b", "c", "unforeseen"], n + 1).astype(object)
    other = texts[:n].copy()
    other[rng.integers(n)] = texts[n]
    bounds = {"x": ["a", "b", "c"]}
    before = what_gets_noise(lambda: make(name, {"x": texts[:n]}, bounds))
    check_changes(before, what_gets_noise(lambda: make(name, {"x": other}, bounds)))
    assert before[0][1] == 2


@every_method
def test_the_sensitivity_is_not_idle(name):
    """Noise for less would be too little: a record from low to high moves a sum by the width."""
    method, low, high = METHODS[name], np.zeros((4, 1)), np.array([[0.0], [0], [0], [11]])
    groups = method.group(task(name, low, 2))[0]
    sums = [np.bincount(groups.labels, weights=x[:, 0]) for x in (low, high)]
    assert np.abs(sums[1] - sums[0]).sum() == 11
    ((_, drawn_for),) = what_gets_noise(lambda: make(name, low, {"0": (0, 11)}, 2))
    assert drawn_for == method.sensitivity(steps_for(4), groups.n_groups) >= steps_for(4)


@pytest.mark.parametrize("name", STANDARD)
def test_group_sizes_of_standard_methods_are_public(name):
    rng = np.random.default_rng(2)
    sizes = {
        tuple(tuple(found.sizes) for found in METHODS[name].group(task(name, values, 4)))
        for values in (rng.integers(0, 12, (23, 2)) * 1.0 for _ in range(20))
    }
    assert len(sizes) == 1


@every_method
def test_groups_are_large_enough_in_every_column(name):
    values = np.random.default_rng(3).integers(0, 12, (41, 3)) * 1.0
    asked = task(name, values, 5)
    partitions = METHODS[name].group(asked)
    assert len(partitions) == 3
    for found in partitions:
        assert found.labels.shape == (41,)
        assert found.sizes.min() >= asked.k


def partition_depends_on_the_data(name):
    """The counter-example: whether rows 1 and 2 share a group changes with row 2."""
    before, after = np.array([[0.0], [1], [9], [10]]), np.array([[0.0], [11], [9], [10]])
    one, two = (METHODS[name].group(task(name, x, 2))[0].labels for x in (before, after))
    return one[0] == one[1] and two[0] != two[1]


@pytest.mark.parametrize("name", [name for name in LINKED if name in STANDARD])
def test_standard_methods_link_no_rows_by_groups_of_the_data(name):
    assert not partition_depends_on_the_data(name)


@pytest.mark.parametrize("name", [*CONDITIONAL, "insensitive", "marginals"])
def test_the_counter_example_is_one(name):
    assert partition_depends_on_the_data(name)


@pytest.mark.parametrize("name", UNLINKED)
def test_rows_that_are_not_linked_do_not_tell_their_rows(name):
    data = table()
    order = np.random.default_rng(1).permutation(60)
    shuffled = {column: values[order] for column, values in data.items()}
    one, two = make(name, data, BOUNDS, 6), make(name, shuffled, BOUNDS, 6)
    assert not one.guarantee.rows_linked
    for column in data:
        assert one.data[column] == pytest.approx(two.data[column], abs=1e-9)


@pytest.mark.parametrize("name", LINKED)
def test_linked_rows_are_those_of_the_table(name):
    data = table()
    made = make(name, data, BOUNDS, 1, epsilon=1e9)
    assert made.guarantee.rows_linked
    for column, values in data.items():
        assert made.data[column] == pytest.approx(np.asarray(values, float), abs=1e-4)


@every_method
@pytest.mark.parametrize("simulate", [True, False])
def test_releases(name, simulate):
    data = table()
    before = {column: values.copy() for column, values in data.items()}
    made = make(name, data, BOUNDS, 6, simulate=simulate, seed=None)
    assert list(made.data) == ["income", "age"]
    for column, (low, high) in BOUNDS.items():
        assert made.data[column].shape == (60,)
        assert made.data[column].dtype == np.float64
        assert low <= made.data[column].min()
        assert made.data[column].max() <= high
        assert (data[column] == before[column]).all()
    assert made.guarantee.private is not simulate
    assert (made.marginals is None) == METHODS[name].rows.together


@every_method
def test_values_outside_are_clamped_first(name):
    x = np.array([-50.0, 5, 5, 5, 5, 200])
    one, two = (make(name, data, {"0": (0, 10)}, 2) for data in (x, np.clip(x, 0, 10)))
    assert one.data.tolist() == two.data.tolist()
    assert x.tolist() == [-50.0, 5, 5, 5, 5, 200]


@every_method
@pytest.mark.parametrize("simulate", [True, False])
def test_the_guarantee_in_fields_and_words(name, simulate):
    made = make(name, table(), BOUNDS, simulate=simulate, seed=None, epsilon=1.0).guarantee
    fields = json.loads(json.dumps(made.to_dict()))
    assert fields["method"] == name
    assert fields["epsilon"] == 1.0
    assert sum(fields["epsilon_by_column"].values()) <= 1.0
    assert fields["public"]["n"] == 60
    assert fields["public"]["bounds"] == {"income": [0, 1000], "age": [0, 120]}
    assert fields["private"] is not simulate
    assert fields["rows_linked"] is METHODS[name].rows.linked
    text = str(made)
    assert text == fields["text"]
    assert ("stands for row i of the table" in text) is METHODS[name].rows.linked
    assert text.startswith("SIMULATION, NOT PRIVATE") is simulate
    assert ("OpenDP" in text) is not simulate
    for part in ("differ in one record", "Taken as public", "Not protected", "add up"):
        assert part in text
    assert "{" not in text


@pytest.mark.parametrize("name", CONDITIONAL)
def test_weaker_guarantees_are_never_called_by_the_stronger_name(name):
    made = make(name, table(), BOUNDS).guarantee
    assert not made.standard
    assert made.definition == "epsilon-differential privacy given the partition"
    for text in (made.text, json.dumps(made.to_dict())):
        mentions = text.count("differential privacy")
        qualified = text.count("differential privacy given the partition")
        qualified += text.count("not differential privacy in the standard sense")
        assert mentions == qualified > 0
    assert any("who is grouped with whom" in point for point in made.not_protected)


@pytest.mark.parametrize("name", STANDARD)
def test_standard_guarantees(name):
    made = make(name, table(), BOUNDS).guarantee
    assert made.standard
    assert made.definition == "epsilon-differential privacy"
    assert "given the partition" not in made.text


@every_method
def test_weaker_guarantees_must_be_asked_for_in_words(name):
    method = METHODS[name]
    assert find(name, WORD) is method
    if method.standard:
        assert find(name, None) is method
        return
    with pytest.raises(OptionError, match="given the partition") as refusal:
        release(table(), epsilon=1.0, bounds=BOUNDS, method=name)
    message = str(refusal.value)
    assert "not differential privacy in the standard sense" in message
    assert all(repr(other) in message for other in STANDARD)
    assert message.count(". ") == 1  # two sentences


@every_method
def test_what_cannot_be_done_is_refused_in_one_sentence(name):
    texts = {"c": ["a", "b"]}
    cases = [({"x": [1.0, np.nan]}, {"x": (0, 5)}, None, "missing")]
    if not METHODS[name].categories:
        able = "column 'c' holds categories.*'marginals'"
        cases.append((texts, {"c": ["a", "b"]}, None, able))
    if METHODS[name].only_k is None:
        cases.append(({"x": [1.0, 2.0]}, {"x": (0, 5)}, 3, "only 2 records"))
    else:
        cases.append(({"x": [1.0, 2.0]}, {"x": (0, 5)}, METHODS[name].only_k + 1, "k must be"))
    for data, bounds, k, message in cases:
        with pytest.raises(MicroaggError, match=message) as refusal:
            release(data, epsilon=1.0, bounds=bounds, method=name, k=k, accept=WORD, simulate=True)
        assert ". " not in str(refusal.value)


@every_method
def test_the_expected_error_is_that_of_simulated_releases(name):
    n, epsilon, k = 1200, 50.0, METHODS[name].only_k or 20
    x = (np.arange(n) + 0.5) / n
    expected = expected_error(name, n, epsilon, {"x": (0.0, 1.0)}, k=k)
    # The bounds stay out of reach: eleven times the width, and as many times the epsilon.
    errors = simulated_error(x + 5, name, 11 * epsilon, k, bounds=(0.0, 11.0), runs=400)
    strays = 3 * errors.std() / np.sqrt(errors.size)
    assert strays < 0.06 * expected.total
    assert errors.mean() == pytest.approx(expected.total, abs=strays, rel=0.005)


@every_method
def test_the_expected_noise_is_that_of_the_sensitivity(name):
    setting, k = Setting(240, [1.0, 5.0], [1000.0, 500.0]), METHODS[name].only_k or 12
    columns = zip(setting.widths, setting.shares, strict=True)
    scales = [METHODS[name].sensitivity(w, 240 // k) / (k * share) for w, share in columns]
    noise = METHODS[name].error(k, setting).noise
    assert noise == pytest.approx(2 * 240 * sum(scale**2 for scale in scales))


@every_method
def test_a_release_without_k_takes_the_suggested_one(name):
    made = make(name, table(), BOUNDS, budget="optimal")
    suggested = suggest_k(60, 2.0, name, bounds=BOUNDS, budget="optimal")
    assert made.guarantee.public["k"] == suggested


def find_epsilon(method, pair, runs=60_000):
    """The share of the epsilon asked for that an audit finds, given all that is promised."""
    rng = np.random.default_rng(1)
    settings = {"given_partition": not method.standard, "rng": rng}
    return audit.exceeded(method, pair, 4.0, runs, **settings) / 4.0


@every_method
def test_the_audit_finds_the_epsilon_asked_for_and_no_more(name):
    for pair in audit.pairs_for(METHODS[name]):
        assert audit.FLOOR <= find_epsilon(METHODS[name], pair) <= 1.0, pair.name


@every_method
def test_noise_that_is_too_small_by_a_third_is_caught(name, monkeypatch):
    def too_small(sums, sensitivity, epsilon, rng):
        return add_noise(sums, sensitivity, 1.5 * epsilon, rng)

    monkeypatch.setattr(prepared, "add_noise", too_small)
    for pair in audit.pairs_for(METHODS[name]):
        assert find_epsilon(METHODS[name], pair) > 1.0, pair.name


@every_method
def test_a_wrong_sensitivity_is_caught(name):
    method = METHODS[name]
    _, columns, *_ = audit.PAIRS
    less = replace(method, sensitivity=lambda *known: 2 * method.sensitivity(*known) // 3)
    assert find_epsilon(less, columns) > 1.0
    more = replace(method, sensitivity=lambda *known: 2 * method.sensitivity(*known))
    assert find_epsilon(more, columns) < audit.FLOOR


def test_noise_for_one_group_of_insensitive_and_for_one_count_is_caught(monkeypatch):
    pairs = {pair.name: pair for pair in audit.PAIRS}
    for_one = replace(METHODS["insensitive"], sensitivity=lambda width, _groups: width)
    assert find_epsilon(for_one, pairs["uneven groups"]) > 1.0
    monkeypatch.setattr(Categories, "sensitivity", 1)
    assert find_epsilon(METHODS["marginals"], pairs["categories"]) > 1.0


@every_method
def test_a_budget_that_is_spent_twice_is_caught(name, monkeypatch):
    def whole(epsilon, domains, *_budget, **_groups):
        return dict.fromkeys(domains, epsilon)

    monkeypatch.setattr("microagg.private.budget.split", whole)
    assert find_epsilon(METHODS[name], audit.PAIRS[1]) > 1.0


@every_method
def test_groups_that_change_show_in_linked_rows_only(name):
    """What a method does not promise is not kept, and what is not linked would not be."""
    settings = {"runs": 20_000, "rng": np.random.default_rng(1)}
    shown = audit.exceeded(METHODS[name], audit.COUNTER_EXAMPLE, 4.0, **settings)
    assert (shown <= 4.0) is METHODS[name].standard
    if name in UNLINKED:
        linked = replace(METHODS[name], rows=METHODS["records"].rows)
        assert audit.exceeded(linked, audit.COUNTER_EXAMPLE, 4.0, **settings) > 4.0


@pytest.mark.parametrize("name", [n for n in METHODS if not METHODS[n].rows.together])
@pytest.mark.parametrize("simulate", [True, False])
def test_columns_that_stand_for_themselves_are_shuffled(name, simulate):
    values = np.arange(200.0)
    texts = np.repeat(["x", "y"], 100)
    bounds = {"a": (0, 199), "b": (0, 199), "c": ["x", "y"]}
    data = {"a": values, "b": values, "c": texts}
    made = make(name, data, bounds, 1, epsilon=1e9, simulate=simulate, seed=None).data
    orders = [made["a"], made["b"], (made["c"] == "y") * 1.0]
    for column in ("a", "b"):
        assert np.sort(made[column]) == pytest.approx(values, abs=1e-4)
    # One in a million pairs of shuffled columns agrees as much.
    agree = np.corrcoef([values, *orders])[np.triu_indices(4, 1)]
    assert np.abs(agree).max() < 0.35


@every_method
def test_names_are_documented_and_descriptions_short(name):
    method = METHODS[name]
    assert f"| `{name}` |" in GUIDE.read_text(encoding="utf-8")
    assert name == name.lower().strip()
    assert method.paper
    assert 0 < len(method.description) <= 100
    assert not method.description.endswith(".")
