"""Tables in memory: the same cells and groups as anywhere, and nothing kept of the original."""

import gc

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import microagg
from microagg.base.errors import InputError
from microagg.base.progress import silent
from microagg.base.reading import Reading
from microagg.base.recipe import Recipe
from microagg.engine.counting import Wanted
from microagg.engine.memory import Memory, _Original
from microagg.engine.planning import make_plan
from microagg.engine.profile import Profile
from microagg.table.opening import open_table
from tests.engine.tables import KINDS, SETTINGS, few, nasty
from tests.naive import units as naive
from tests.naive.cells import are_means, groups_of

CELLS = {**SETTINGS, "cell_rows": 100}


def opened(table, *, shares=False, **settings):
    recipe = Recipe(**{**CELLS, **settings})
    source = open_table(table, Reading(), typed=recipe.quasi_identifiers, advance=silent)
    return Memory(source, recipe, shares=shares)


def published(engine, plan, survey):
    """The plan with its cells, once these were published."""
    plan = plan.with_counts(*engine.count(plan, silent))
    engine.publish(plan, Profile(plan, *survey.sample.result()), silent)
    return plan


def done(table, **settings):
    engine = opened(table, **settings)
    survey = engine.survey(silent)
    return engine, published(engine, make_plan(survey, {}), survey)


def same_groups(labels, others):
    pairs = set(zip(labels.tolist(), others.tolist(), strict=True))
    return len(pairs) == len(set(labels.tolist())) == len(set(others.tolist()))


def test_it_is_what_plain_work_cell_by_cell_gives():
    table = nasty(1000)
    engine, plan = done(table)
    labels = groups_of(table, plan)
    assert plan.n_cells > 5
    assert same_groups(engine.partition.labels, labels)
    assert engine.partition.k == 4
    for name in ("number", "offset"):
        values = engine.data[name].to_numpy(zero_copy_only=False)
        assert are_means(values, table[name], labels)
    for name in ("region", "illness", "weight", "note"):
        assert engine.data[name].equals(table[name])
    assert engine.data.column_names == list(engine.columns)


def test_threads_make_no_difference(threads):
    table = nasty(1500)
    threads(2)
    once = done(table)[0].data
    threads(1)
    assert done(table)[0].data.equals(once)


def test_frames_come_out_as_they_went_in():
    table = nasty(300).drop_columns(["money"])
    settings = {"quasi_identifiers": [name for name in KINDS if name != "money"]}
    frames = {
        pa.Table: table,
        pd.DataFrame: table.to_pandas(),
        pl.DataFrame: pl.from_arrow(table),
    }
    labels = {}
    for kind, frame in frames.items():
        engine, _ = done(frame, **settings)
        assert type(engine.data) is kind
        assert list(engine.data.columns if kind is not pa.Table else engine.data.column_names) == [
            name for name in table.column_names if name != "name"
        ]
        labels[kind] = engine.partition.labels
    assert same_groups(labels[pa.Table], labels[pl.DataFrame])


def test_entities_stay_together_in_cells():
    table = nasty(1000, gaps=False)
    rng = np.random.default_rng(0)
    who = rng.integers(0, 400, 1000)
    table = table.append_column("who", pa.array(who))
    engine, plan = done(table, entity="who", quasi_identifiers=["number", "offset"], orders={})
    labels = engine.partition.labels
    assert plan.n_cells > 2
    assert all(len(each) == 1 for each in naive.groups_of_each(labels, who).values())
    assert min(naive.units_in_groups(labels, who)) >= 4
    assert engine.recount(None, Wanted(), silent).classes.k >= 4
    assert engine.count(plan, silent)[0].sum() == np.unique(who).size


def test_strata_count_entities():
    who = np.repeat(np.arange(20), 3)
    table = pa.table({"x": np.arange(60.0), "who": who, "s": ["a"] * 51 + ["b"] * 9})
    settings = {"quasi_identifiers": "x", "confidential": [], "identifiers": [], "orders": {}}
    wanted = {**settings, "entity": "who", "within": "s"}
    with pytest.raises(InputError, match="1 of 2 strata of 's' have fewer than k = 4 entities"):
        done(table, **wanted)
    engine, plan = done(table, small_strata="drop", **wanted)
    assert engine.data.num_rows == engine.partition.labels.size == 51
    assert (plan.small, plan.dropped) == (1, 9)
    assert engine.recount(None, Wanted(), silent).classes.k >= 4


def test_entities_that_make_no_sense_are_refused():
    table = nasty(100)
    with pytest.raises(InputError, match="'note' says to whom a row belongs, but 15 rows have no"):
        opened(table, entity="note")
    with pytest.raises(InputError, match=r"\d+ entities have rows in several strata of 'region'"):
        opened(table, entity="illness", confidential=[], within="region")


def test_dropped_strata_leave_the_others_in_order():
    table = few(nasty(1000), "w", 3)
    engine, plan = done(table, within=["region"], small_strata="drop")
    regions = np.array(table["region"].to_pylist())
    assert plan.n_cells > 5
    assert engine.data["note"].equals(table["note"].filter(pa.array(regions != "w")))
    labels = engine.partition.labels
    assert labels.min() == 0
    assert naive.crossing(labels, regions[regions != "w"]) == 0
    assert min(naive.units_in_groups(labels)) >= 4


@pytest.mark.parametrize("cell_rows", [None, 100])
def test_one_survey_serves_several_plans(cell_rows):
    table = nasty(700)
    engine = opened(table, shares=True, method="zscore", cell_rows=cell_rows)
    survey = engine.survey(silent)
    for k in (3, 5, 9):
        for method in ("mdav", "zscore"):
            settings = {**CELLS, "k": k, "method": method, "cell_rows": cell_rows}
            published(engine, make_plan(survey, {}, Recipe(**settings)), survey)
            alone, _ = done(table, **settings)
            assert engine.data.equals(alone.data)


def test_nothing_of_the_original_is_kept():
    release = microagg.protect(nasty(300), progress=False, **CELLS)
    seen, waiting = set(), [release]
    while waiting:
        thing = waiting.pop()
        # Not into modules, classes and functions, through which everything can be reached.
        if id(thing) in seen or isinstance(thing, type) or callable(thing):
            continue
        seen.add(id(thing))
        assert not isinstance(thing, _Original)
        waiting += [each for each in gc.get_referents(thing) if type(each).__name__ != "module"]
    assert "name" not in release.data.column_names
    assert len(seen) > 100


def test_it_is_counted_as_it_will_be_written():
    table = nasty(600)
    engine, plan = done(table)
    sizes = engine.data.group_by(list(KINDS)).aggregate([([], "count_all")])["count_all"]
    recount = engine.recount(None, Wanted(), silent)
    assert recount.classes.k == min(sizes.to_pylist()) >= plan.recipe.k
    assert recount.classes.count == len(sizes)
    assert recount.complete is None
