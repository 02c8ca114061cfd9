"""The plan: the same whatever the order of parts, and enough to work by."""

from dataclasses import replace

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from microagg.base.errors import InputError, OptionError
from microagg.base.recipe import Recipe
from microagg.engine.block import group_cell
from microagg.engine.plan import CELL_ROWS, DROPPED, Plan
from microagg.engine.planning import make_plan
from microagg.engine.survey import Survey
from microagg.release.judging import MEASURED, is_judged_whole
from tests.engine.tables import KINDS, SETTINGS, few, nasty
from tests.naive.cells import walk

SOURCE = {"name": "table", "sha256": "0"}


def surveyed(table, recipe, parts=1, seed=None, **limits):
    """A survey of a table in so many parts, in any order."""
    survey = Survey(recipe, table.schema, **limits)
    borders = np.linspace(0, table.num_rows, parts + 1).astype(int)
    order = np.arange(parts) if seed is None else np.random.default_rng(seed).permutation(parts)
    for part in order.tolist():
        start, end = borders[part], borders[part + 1]
        piece = table.slice(start, end - start).combine_chunks()
        for batch in piece.to_batches():
            survey.add(batch, np.arange(start, start + batch.num_rows))
            start += batch.num_rows
    return survey


def planned(table, parts=1, seed=None, **settings):
    recipe = Recipe(**{**SETTINGS, **settings})
    return make_plan(surveyed(table, recipe, parts, seed), SOURCE)


def leaves_of(plan, table):
    return plan.leaf_of(plan.place(plan.code(table)), plan.strata_of(table))


def counted(plan, table):
    """The plan once leaves were counted."""
    leaves = leaves_of(plan, table)
    return plan.with_counts(np.bincount(leaves[leaves != DROPPED], minlength=plan.leaves))


# --- What it is made from -------------------------------------------------------------------------


def test_weights_scale_differences():
    table = nasty(500)
    plain = planned(table)
    weighted = planned(table, attribute_weights={"number": 2.5})
    expected = plain.place(plain.code(table))
    assert KINDS[0] == "number"
    expected[:, : plain.codings[0].width] *= 2.5
    columns = weighted.code(table)
    np.testing.assert_array_equal(weighted.place(columns), expected)
    np.testing.assert_array_equal(weighted.place(columns, weighted=False), plain.place(columns))


@pytest.mark.parametrize("within", [(), ("region",)])
def test_parts_and_their_order_make_no_difference(within):
    table = nasty(2000)
    once = planned(table, within=within, cell_rows=100).to_json()
    assert planned(table, parts=13, seed=1, within=within, cell_rows=100).to_json() == once
    assert planned(table, parts=40, seed=2, within=within, cell_rows=100).to_json() == once


def test_surveys_are_put_together():
    table = nasty(900)
    recipe = Recipe(**SETTINGS, within=["region"], weights="weight")
    whole = surveyed(table, recipe)
    parts = [surveyed(table.slice(start, 300), recipe) for start in (600, 0, 300)]
    for other in parts[1:]:
        parts[0].merge(other)
    assert parts[0].rows == whole.rows
    assert parts[0].units == whole.units == 900
    assert parts[0].weight == pytest.approx(whole.weight)
    for one, other in zip(parts[0].columns, whole.columns, strict=True):
        assert one.coding().to_dict() == other.coding().to_dict()
    assert parts[0].strata.numbered(1).table.equals(whole.strata.numbered(1).table)


def test_auto_chooses_by_the_table_as_a_whole():
    table = pa.table({"number": np.arange(100.0), "whole": np.arange(100) % 7})
    one = make_plan(surveyed(table, Recipe(k=3, quasi_identifiers="number")), {})
    recipe = Recipe(k=3, quasi_identifiers=["number", "whole"], effort="quick")
    two = make_plan(surveyed(table, recipe), {})
    assert (one.method, one.options, one.called) == ("univariate", {}, "univariate")
    assert (two.method, two.options["effort"], two.called) == ("search", "quick", "search")


def test_options_are_complete_and_checked():
    table = nasty(50)
    given = {"cells": 7}
    assert planned(table, method="lloyd-mdav").options.keys() == {"cells", "then"}
    told = planned(table, method="lloyd-mdav", options=given).options
    assert told.keys() == {"cells", "then"}
    assert told["cells"] == 7
    with pytest.raises(OptionError, match="has no option"):
        planned(table, options={"nonsense": 1})
    with pytest.raises(OptionError, match="there is no method 'nonsense'"):
        planned(table, method="nonsense")
    with pytest.raises(OptionError, match="groups one column at a time"):
        planned(table, method="univariate")


def test_a_search_that_follows_is_told():
    assert planned(nasty(50)).called == "mdav"
    refined = planned(nasty(50), refine=True)
    assert (refined.method, refined.called) == ("mdav", "mdav+search")


def test_another_k_or_method_needs_no_other_survey():
    table = nasty(500)
    survey = surveyed(table, Recipe(**SETTINGS))
    other = Recipe(**{**SETTINGS, "k": 7, "method": "zscore"})
    plan = make_plan(survey, SOURCE, other)
    assert plan.recipe == other
    assert plan.to_json() == planned(table, k=7, method="zscore").to_json()


# --- Cells ----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("settings", "cell_rows"),
    [
        ({"method": "auto"}, CELL_ROWS),
        ({"method": "auto", "cell_rows": 1000}, 1000),
        ({"method": "mdav"}, None),
        ({"method": "mdav", "cell_rows": 1000}, 1000),
        ({"method": "search"}, None),
        ({"method": "mdav", "refine": True}, None),
        # A cell has room for some groups.
        ({"method": "mdav", "cell_rows": 1}, 16),
    ],
)
def test_auto_divides_a_large_table_and_a_named_method_does_not(settings, cell_rows):
    assert CELL_ROWS == 200_000
    assert planned(nasty(60), **settings).cell_rows == cell_rows


@pytest.mark.parametrize("within", [(), ("region",)])
def test_up_to_so_many_rows_it_is_one_cell(within):
    table = nasty(1000)
    whole = planned(table, within=within)
    assert (whole.leaves, whole.divides) == (1, False)
    assert counted(whole, table).n_cells == 1
    just = planned(table, within=within, cell_rows=1000)
    assert (just.leaves, just.divides) == (1, False)
    more = planned(table, within=within, cell_rows=500)
    assert more.leaves > 1
    assert more.divides
    assert whole.n_cells == 0


@pytest.mark.parametrize(
    ("columns", "kinds", "at_once"), [(5, 65, 10_000), (2, 65, 25_000), (5, 64, CELL_ROWS)]
)
def test_neighbours_among_many_categories_are_looked_for_among_fewer(columns, kinds, at_once):
    """Everybody is about as far as everybody else: no index leaves anything out."""
    draw = np.random.default_rng(0)
    table = pa.table(
        {
            "age": draw.integers(0, 90, 500),
            **{f"code {i}": draw.permutation(np.arange(500) % kinds) for i in range(columns)},
        }
    )
    nominal = dict.fromkeys(table.column_names[1:], "nominal")
    table = table.cast(pa.schema([("age", pa.int64()), *((name, pa.string()) for name in nominal)]))
    wanted = {"quasi_identifiers": table.column_names, "kinds": nominal, "k": 3}
    survey = surveyed(table, Recipe(**wanted))
    plan = make_plan(survey, {})
    assert (plan.cell_rows, plan.rows_at_once) == (at_once, at_once)
    assert make_plan(survey, {}, Recipe(**wanted, method="mdav")).cell_rows is None
    assert make_plan(survey, {}, Recipe(**wanted, cell_rows=300_000)).cell_rows == 300_000
    # So many are linked to all; of more, some are.
    most = min(MEASURED, 2 * at_once)
    assert is_judged_whole(replace(plan, rows=most))
    assert not is_judged_whole(replace(plan, rows=most + 1))


def test_rows_fall_into_the_leaves_that_the_tree_says():
    table = nasty(400)
    plan = planned(table, cell_rows=50)
    assert plan.leaves > 4
    points = plan.place(plan.code(table))
    expected = [walk(plan.trees[0], point) for point in points]
    np.testing.assert_array_equal(plan.leaf_of(points, None), expected)


def test_a_tree_that_was_planned_on_a_sample_divides_all_rows():
    table = nasty(4000)
    recipe = Recipe(**SETTINGS, cell_rows=500)
    plan = make_plan(surveyed(table, recipe, sampled=400), SOURCE)
    sizes = np.bincount(leaves_of(plan, table), minlength=plan.leaves)
    assert plan.leaves >= 8
    assert sizes.max() < 2 * 500


def test_leaves_with_too_few_records_are_merged():
    plan = planned(nasty(400), cell_rows=50)
    counts = np.full(plan.leaves, 50)
    assert plan.with_counts(counts).n_cells == plan.leaves
    counts[[0, 3]] = 0, 3
    merged = plan.with_counts(counts)
    sizes = np.bincount(merged.cell_of, weights=counts)
    assert sizes.min() >= 4
    assert sizes.sum() == counts.sum()
    assert merged.n_cells < plan.leaves


def test_large_strata_are_divided_and_small_ones_share_a_leaf():
    table = nasty(2000)
    plan = planned(table, within=["region"], cell_rows=500)
    leaves = leaves_of(plan, table)
    regions = np.array(table["region"].to_pylist())
    homes = {region: set(leaves[regions == region].tolist()) for region in "nsw"}
    assert len(homes["n"]) > 1
    assert not homes["n"] & (homes["s"] | homes["w"])
    # Up to so many rows a stratum is whole.
    assert len(homes["w"]) == 1
    assert sum(np.bincount(leaves)) == 2000


def test_a_cell_of_equal_records_is_worked_on_in_pieces():
    table = pa.table({"number": np.ones(1000), "whole": np.arange(1000) // 999})
    recipe = Recipe(k=3, quasi_identifiers=["number", "whole"], method="mdav", cell_rows=20)
    plan = counted(make_plan(surveyed(table, recipe), {}), table)
    assert plan.n_cells == 1
    assert len(plan.pieces(1000)) == 12
    assert len(replace(plan, cell_rows=None).pieces(1000)) == 1
    block = group_cell(plan, 0, plan.code(table))
    assert block.groups.sizes.min() >= 3
    assert block.groups.sizes.sum() == 1000
    assert [centres.size for centres in block.centres] == [block.groups.n_groups] * 2


# --- Small strata ---------------------------------------------------------------------------------


def test_small_strata_are_refused_dropped_or_merged():
    table = few(nasty(800), "w", 3)
    with pytest.raises(InputError, match="1 of 3 strata of 'region' have fewer than k = 4 records"):
        planned(table, within=["region"])
    dropped = planned(table, within=["region"], small_strata="drop")
    leaves = leaves_of(dropped, table)
    assert (leaves == DROPPED).sum() == dropped.moved == dropped.dropped == 3
    assert not dropped.crossed
    assert dropped.counted == (*KINDS, "region")
    merged = planned(table, within=["region"], small_strata="merge")
    assert merged.crossed
    assert (merged.small, merged.moved, merged.dropped) == (1, 3, 0)
    assert merged.counted == (*KINDS, "region")
    assert np.unique(merged.merged(merged.strata_of(table))).size == 2


@given(
    strata=st.lists(st.integers(0, 4), min_size=1, max_size=30),
    k=st.integers(2, 6),
    small=st.sampled_from(["error", "merge", "drop"]),
    by_entity=st.booleans(),
    data=st.data(),
)
@settings(max_examples=150)
def test_strata_that_are_left_have_k_units(strata, k, small, by_entity, data):
    """Units are rows, or entities of which each lies in one stratum."""
    rows = len(strata)
    names = st.integers(0, 9).map(str)
    who = data.draw(st.lists(names, min_size=rows, max_size=rows)) if by_entity else range(rows)
    units = list(zip(strata, who, strict=True))
    sizes = {each: len({unit for unit in units if unit[0] == each}) for each in strata}
    few_there = {each for each, size in sizes.items() if size < k}
    entity = "who" if by_entity else None
    recipe = Recipe(quasi_identifiers="x", k=k, within="s", small_strata=small, entity=entity)
    table = pa.table({"x": np.arange(float(rows)), "s": strata})
    survey = Survey(recipe, table.schema)
    first = np.array(sorted(units.index(unit) for unit in set(units)))
    survey.add(table.to_batches()[0], np.arange(rows), first if by_entity else None)
    too_few = sum(sizes.values()) < k
    if too_few or (few_there and small == "error") or (few_there == set(sizes) and small == "drop"):
        with pytest.raises(InputError, match=f"k (is|=) {k}"):
            make_plan(survey, SOURCE)
        return
    plan = make_plan(survey, SOURCE)
    merged = plan.merged(plan.strata_of(table))
    moved = np.isin(strata, list(few_there))
    assert (plan.small, plan.moved) == (len(few_there), moved.sum())
    assert plan.crossed == (small == "merge" and bool(few_there))
    assert (merged == DROPPED).tolist() == (moved & (small == "drop")).tolist()
    for home in set(merged.tolist()) - {DROPPED}:
        assert len({unit for unit, now in zip(units, merged, strict=True) if now == home}) >= k
    # Those that are large enough stay what they are.
    for each in set(sizes) - few_there:
        assert len(set(merged[np.array(strata) == each].tolist())) == 1
    stay = [each for each, away in zip(strata, moved, strict=True) if not away]
    assert len(set(merged[~moved].tolist())) == len(set(stay))


def line(strata, places, **settings):
    """A plan for records on a line."""
    table = pa.table({"x": np.asarray(places, float), "s": strata})
    recipe = Recipe(quasi_identifiers="x", within="s", method="mdav", **settings)
    return make_plan(surveyed(table, recipe), SOURCE), table


def test_small_strata_that_are_large_enough_together_stay_by_themselves():
    strata = [0] * 4 + [1, 2, 3] + [4] * 4
    plan, table = line(strata, np.arange(11), k=3, small_strata="merge")
    merged = plan.merged(plan.strata_of(table))
    assert len(set(merged[4:7])) == 1
    assert not set(merged[4:7]) & set(merged[[0, 1, 2, 3, 7, 8, 9, 10]])
    assert (plan.small, plan.moved) == (3, 3)


@pytest.mark.parametrize(("place", "home"), [(9, 2), (4, 0), (100, 2), (-5, 0)])
def test_small_strata_join_the_nearest(place, home):
    plan, table = line(
        [0] * 4 + [1] + [2] * 6, [0, 1, 2, 3, place, *range(10, 16)], k=4, small_strata="merge"
    )
    merged = plan.merged(plan.strata_of(table))
    assert merged[4] == home
    assert merged.tolist() == [0] * 4 + [home] + [2] * 6


def test_small_strata_that_nobody_sampled_join_the_largest():
    table = pa.table({"x": np.arange(2000.0), "s": [0] * 700 + [1] * 2 + [2] * 1298})
    recipe = Recipe(quasi_identifiers="x", within="s", k=3, small_strata="merge")
    survey = surveyed(table, recipe, sampled=50)
    assert 1 not in survey.sample.result()[0]["s"].to_pylist()
    plan = make_plan(survey, SOURCE)
    merged = plan.merged(plan.strata_of(table))
    assert set(merged[700:702]) == {2}


def test_all_strata_may_be_small():
    strata = np.arange(9) % 4
    plan, table = line(strata, np.arange(9), k=4, small_strata="merge")
    assert set(plan.merged(plan.strata_of(table))) == {0}
    with pytest.raises(InputError, match=r"all strata of 's' are smaller than k = 4, so nothing"):
        line(strata, np.arange(9), k=4, small_strata="drop")
    with pytest.raises(InputError, match="4 of 4 strata of 's' have fewer than k = 4 records"):
        line(strata, np.arange(9), k=4)


# --- As text --------------------------------------------------------------------------------------


@pytest.mark.parametrize("small_strata", ["merge", "drop"])
def test_a_saved_plan_is_the_same_plan(small_strata):
    table = few(nasty(1500), "w", 2)
    plan = planned(table, within=["region"], cell_rows=100, small_strata=small_strata)
    points = plan.place(plan.code(table))
    leaves = plan.leaf_of(points, plan.strata_of(table))
    plan = counted(plan, table)
    again = Plan.from_json(plan.to_json())
    assert again.to_json() == plan.to_json()
    assert again.sha256 == plan.sha256
    assert (again.options, again.called, again.cell_rows) == (plan.options, plan.called, 100)
    assert (again.counted, again.dropped, again.n_cells) == (
        plan.counted, plan.dropped, plan.n_cells
    )  # fmt: skip
    np.testing.assert_array_equal(again.place(again.code(table)), points)
    np.testing.assert_array_equal(again.leaf_of(points, again.strata_of(table)), leaves)


@pytest.mark.parametrize("text", ["", "{}", "[]", '{"types": 3}'])
def test_a_damaged_plan_is_refused(text):
    with pytest.raises(InputError, match="the saved plan is damaged"):
        Plan.from_json(text)


# --- What is refused ------------------------------------------------------------------------------


def test_bad_tables_are_refused():
    table = nasty(100)
    with pytest.raises(InputError, match="k is 101, but there are only 100 records"):
        planned(table, k=101)
    with pytest.raises(InputError, match='missing is "error"'):
        planned(table, missing="error")
    heavy = table.set_column(13, "weight", pa.array(np.zeros(100)))
    with pytest.raises(InputError, match="sampling weights"):
        planned(heavy, weights="weight")
    texts = table.set_column(9, "word", pa.array([str(place) for place in range(100)]))
    with pytest.raises(InputError, match="'word' holds numbers as text"):
        planned(texts)


def test_values_that_were_not_there_before_are_refused():
    table = nasty(100, gaps=False)
    plan = planned(table)
    other = table.set_column(9, "word", pa.array(["strange"] * 100))
    with pytest.raises(InputError, match="'word' holds values now that it did not hold"):
        plan.code(other)
    gap = table.set_column(1, "number", pa.array([None] * 100, pa.float64()))
    with pytest.raises(InputError, match="'number' holds values now"):
        plan.code(gap)
