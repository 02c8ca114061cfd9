"""The plan: the same whatever the order of parts, and enough to work by."""

import numpy as np
import pyarrow as pa
import pytest

from microagg.base.errors import InputError, OptionError
from microagg.base.recipe import Recipe
from microagg.engine.block import group_cell
from microagg.engine.plan import DROPPED, Plan, make_plan
from microagg.engine.survey import Survey
from tests.engine.tables import KINDS, SETTINGS, nasty
from tests.naive.large import walk


def surveyed(table, recipe, parts=1, seed=None):
    """A survey of a table in so many parts, in any order."""
    survey = Survey(recipe, table.schema)
    borders = np.linspace(0, table.num_rows, parts + 1).astype(int)
    order = np.arange(parts) if seed is None else np.random.default_rng(seed).permutation(parts)
    for part in order.tolist():
        start, end = borders[part], borders[part + 1]
        piece = table.slice(start, end - start).combine_chunks()
        for batch in piece.to_batches():
            survey.add(batch, np.arange(start, start + batch.num_rows))
            start += batch.num_rows
    return survey


def planned(table, parts=1, seed=None, cell_rows=None, **settings):
    recipe = Recipe(**{**SETTINGS, **settings})
    return make_plan(surveyed(table, recipe, parts, seed), {"name": "table"}, cell_rows)


def test_weights_scale_differences():
    table = nasty(500)
    plain = planned(table)
    weighted = planned(table, attribute_weights={"number": 2.5})
    expected = plain.place(plain.code(table))
    assert KINDS[0] == "number"
    expected[:, : plain.codings[0].width] *= 2.5
    np.testing.assert_array_equal(weighted.place(weighted.code(table)), expected)


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
    for one, other in zip(parts[0].columns, whole.columns, strict=True):
        assert one.coding().to_dict() == other.coding().to_dict()
    assert parts[0].strata.table().equals(whole.strata.table())


def test_a_saved_plan_is_the_same_plan():
    table = nasty(1500)
    plan = planned(table, within=["region"], cell_rows=100)
    points = plan.place(plan.code(table))
    leaves = plan.leaf_of(points, plan.strata_of(table))
    plan = plan.with_counts(np.bincount(leaves, minlength=plan.leaves))
    again = Plan.from_json(plan.to_json())
    assert again.to_json() == plan.to_json()
    np.testing.assert_array_equal(again.place(again.code(table)), points)
    np.testing.assert_array_equal(again.leaf_of(points, again.strata_of(table)), leaves)


@pytest.mark.parametrize("text", ["", "{}", "[]", '{"types": 3}'])
def test_a_damaged_plan_is_refused(text):
    with pytest.raises(InputError, match="the saved plan is damaged"):
        Plan.from_json(text)


def test_rows_fall_into_the_leaves_that_the_tree_says():
    table = nasty(400)
    plan = planned(table, cell_rows=50)
    assert plan.leaves > 4
    points = plan.place(plan.code(table))
    expected = [walk(plan.trees[0], point) for point in points]
    np.testing.assert_array_equal(plan.leaf_of(points, None), expected)


def test_large_strata_are_divided_and_small_ones_share_a_leaf():
    table = nasty(2000)
    plan = planned(table, within=["region"], cell_rows=500)
    strata = plan.strata_of(table)
    leaves = plan.leaf_of(plan.place(plan.code(table)), strata)
    regions = np.array(table["region"].to_pylist())
    kinds = {region: set(leaves[regions == region].tolist()) for region in "nsw"}
    assert len(kinds["n"]) > 1
    assert not kinds["n"] & (kinds["s"] | kinds["w"])
    assert sum(np.bincount(leaves)) == 2000


def few(table, region, count):
    """The table with so many records of one region left."""
    there = np.array(table["region"].to_pylist()) == region
    there &= np.cumsum(there) > count
    return table.filter(pa.array(~there))


def test_small_strata_are_refused_dropped_or_merged():
    table = few(nasty(800), "w", 3)
    with pytest.raises(InputError, match="1 of 3 strata of 'region' have fewer than k = 4"):
        planned(table, within=["region"])
    dropped = planned(table, within=["region"], small_strata="drop")
    leaves = dropped.leaf_of(dropped.place(dropped.code(table)), dropped.strata_of(table))
    assert (leaves == DROPPED).sum() == dropped.moved == 3
    merged = planned(table, within=["region"], small_strata="merge")
    assert merged.crossed
    strata = merged.strata_of(table)
    assert np.unique(strata).size == 2
    assert np.bincount(strata).max() > 400 + 3


def test_what_works_only_in_memory_is_refused():
    table = nasty(100)
    with pytest.raises(OptionError, match="entity keeps the rows"):
        planned(table, entity="note")
    with pytest.raises(OptionError, match='aggregate="proximity"'):
        planned(table, aggregate="proximity")


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


def test_a_cell_of_equal_records_is_worked_on_in_pieces():
    table = pa.table({"number": np.ones(1000), "whole": np.arange(1000) // 999})
    recipe = Recipe(k=3, quasi_identifiers=["number", "whole"], method="mdav")
    plan = make_plan(surveyed(table, recipe), {}, cell_rows=20)
    leaves = plan.leaf_of(plan.place(plan.code(table)), None)
    plan = plan.with_counts(np.bincount(leaves, minlength=plan.leaves))
    assert plan.cell_of.max() == 0
    assert len(plan.pieces(1000)) == 12
    block = group_cell(plan, 0, plan.code(table))
    assert block.groups.sizes.min() >= 3
    assert block.groups.sizes.sum() == 1000
    assert [centres.size for centres in block.centres] == [block.groups.n_groups] * 2


def test_auto_chooses_by_the_table_as_a_whole():
    table = pa.table({"number": np.arange(100.0), "whole": np.arange(100) % 7})
    one = make_plan(surveyed(table, Recipe(k=3, quasi_identifiers="number")), {})
    two = make_plan(
        surveyed(table, Recipe(k=3, quasi_identifiers=["number", "whole"], effort="quick")), {}
    )
    assert (one.method, one.options) == ("univariate", {})
    assert (two.method, two.options["effort"]) == ("search", "quick")
    with pytest.raises(OptionError, match="has no option"):
        planned(nasty(50), options={"nonsense": 1})
