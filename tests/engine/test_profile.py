"""What became of a table, added up cell by cell: the same in whatever order cells are done."""

import numpy as np
import pyarrow as pa
import pytest

from microagg.base.recipe import Recipe
from microagg.engine.block import group_cell
from microagg.engine.planning import make_plan
from microagg.engine.profile import Profile
from microagg.engine.survey import Survey
from tests.engine.tables import SETTINGS, few, nasty


class Cells:
    """A table, its plan, and what the cells of it publish."""

    def __init__(self, table, sampled=1 << 17, rows=None, **settings):
        self.table, recipe = table, Recipe(**{**SETTINGS, "cell_rows": 100, **settings})
        self.rows = np.arange(table.num_rows) if rows is None else rows
        survey = Survey(recipe, table.schema, sampled)
        survey.add(table.combine_chunks().to_batches()[0], self.rows)
        plan = make_plan(survey, {})
        leaves = plan.leaf_of(plan.place(plan.code(table)), plan.strata_of(table))
        stays = leaves >= 0
        self.plan = plan.with_counts(np.bincount(leaves[stays], minlength=plan.leaves))
        self.cell_of = np.where(stays, self.plan.cell_of[leaves], -1)
        self.sample, self.sampled = survey.sample.result()

    def profile(self, linked=50):
        return Profile(self.plan, self.sample, self.sampled, linked)

    def parts(self):
        """Of each cell: its rows, before and after."""
        for cell in range(self.plan.n_cells):
            there = np.flatnonzero(self.cell_of == cell)
            there = there[np.argsort(self.rows[there], kind="stable")]
            before = self.plan.code(self.table.take(pa.array(there)))
            strata = self.plan.strata_of(self.table.take(pa.array(there)))
            yield there, before, group_cell(self.plan, cell, before, strata)

    def added(self, order=None, by_records=False):
        """The profile of the whole table, cells done in some order."""
        profile, parts = self.profile(), list(self.parts())
        profiles = [profile.begin() for _ in parts]
        for cell in range(len(parts)) if order is None else order.permutation(len(parts)):
            there, before, block = parts[cell]
            if by_records:
                after = block.records(self.plan)
                alone = profile.begin().dominance
                alone.add(block.shares, block.groups.n_groups)
                profiles[cell].add_records(self.plan, self.rows[there], before, after, alone, {})
            else:
                profiles[cell].add(self.plan, self.rows[there], before, block)
        for each in profiles:
            profile.merge(each)
        return profile


def told(profile):
    """Everything that a profile tells, to the last bit."""
    sampled, tally = profile.sampled(), profile.tally
    return repr(
        (
            tally.losses,
            tally.changes,
            tally.total_loss,
            tally.attributes(public=False),
            tally.correlations(public=False),
            profile.links._nearest.tolist(),
            profile.links._ties.tolist(),
            sampled.places.tolist(),
            [(column.values.tolist(), column.missing) for column in sampled.after],
        )
    )


@pytest.fixture(scope="module")
def cells():
    return Cells(nasty(1000), sampled=300)


def test_the_order_in_which_cells_are_done_makes_no_difference(cells):
    once = told(cells.added())
    assert cells.plan.n_cells > 5
    for seed in range(3):
        assert told(cells.added(np.random.default_rng(seed))) == once


def test_records_without_their_groups_tell_the_same(cells):
    assert told(cells.added(by_records=True)) == told(cells.added())


def test_a_profile_that_is_begun_is_empty_and_its_own(cells):
    profile = cells.profile()
    empty = profile.begin()
    there, before, block = next(cells.parts())
    empty.add(cells.plan, there, before, block)
    again = profile.begin()
    again.add(cells.plan, there, before, block)
    assert told(again) == told(empty)
    assert profile._places == []
    assert np.isinf(profile.links._nearest).all()


def test_losses_are_those_of_the_whole_table():
    cells = Cells(nasty(600, gaps=False), quasi_identifiers=["number", "offset"], orders={})
    profile = cells.added()
    published = np.empty(600)
    for there, _, block in cells.parts():
        published[there] = block.published(0)[0]
    values = cells.table["number"].to_numpy()
    loss = 100.0 * ((values - published) ** 2).sum() / ((values - values.mean()) ** 2).sum()
    assert profile.tally.losses["number"] == pytest.approx(loss, rel=1e-9)
    assert profile.tally.changes["number"] == pytest.approx(100.0 * (values != published).mean())


def test_sampled_rows_are_found_with_what_they_publish(cells):
    sampled = cells.added().sampled()
    assert cells.sampled.size == 300
    assert sampled.places.tolist() == list(range(300))
    expected = np.empty(1000)
    gone = np.zeros(1000, bool)
    for there, _, block in cells.parts():
        expected[there], empty = block.published(0)
        gone[there] = False if empty is None else empty
    np.testing.assert_array_equal(sampled.after[0].values, expected[cells.sampled])
    missing = sampled.after[0].missing
    assert np.array_equal(np.zeros(300, bool) if missing is None else missing, gone[cells.sampled])


def test_sampled_rows_that_are_dropped_are_not_there():
    table = few(nasty(600), "w", 3)
    regions = np.array(table["region"].to_pylist())
    cells = Cells(table, within=["region"], small_strata="drop")
    places = cells.added().sampled().places
    assert places.tolist() == np.flatnonzero(regions != "w").tolist()


@pytest.mark.parametrize("sampled", [10, 40, 70, 1000])
def test_rows_that_share_a_number_are_taken_as_often_as_the_sample_has_them(sampled):
    rng = np.random.default_rng(0)
    # Equal rows have one number, as those have that were never put in an order.
    kinds = np.sort(rng.integers(0, 25, 200))
    values = rng.standard_normal(25)[kinds]
    table = pa.table({"x": values, "y": values**2})
    settings = {"quasi_identifiers": ["x", "y"], "confidential": [], "identifiers": []}
    numbers = np.sort(rng.integers(0, 2**62, 25))[kinds]
    cells = Cells(table, sampled, rows=numbers, orders={}, k=2, cell_rows=30, **settings)
    profile = cells.added()
    taken = profile.sampled()
    assert cells.sampled.size == min(sampled, 200)
    assert taken.places.tolist() == list(range(cells.sampled.size))
    # Each publishes what one of its equals does.
    published = {}
    for there, _, block in cells.parts():
        for row, value in zip(there, block.published(0)[0], strict=True):
            published.setdefault(int(numbers[row]), set()).add(value)
    for number, value in zip(cells.sampled.tolist(), taken.after[0].values, strict=True):
        assert value in published[number]


def test_links_are_looked_for_among_all_records():
    rng = np.random.default_rng(3)
    table = pa.table({"x": rng.standard_normal(500), "y": rng.standard_normal(500)})
    settings = {"quasi_identifiers": ["x", "y"], "confidential": [], "identifiers": []}
    cells = Cells(table, sampled=200, orders={}, k=3, **settings)
    profile = cells.added()
    plan = cells.plan
    before, after = plan.place(plan.code(table)), np.empty((500, plan.width))
    for there, _, block in cells.parts():
        after[there] = plan.place(block.records(plan))
    linked = cells.sampled[profile.linked]
    assert linked.size == 50
    profile.links.place(np.arange(50), after[linked])
    expected = classes = 0.0
    for row in linked:
        squares = (after[:, 0] - before[row, 0]) ** 2 + (after[:, 1] - before[row, 1]) ** 2
        nearest = squares == squares.min()
        expected += nearest[row] / nearest.sum()
        classes += nearest[row] / len(np.unique(after[nearest], axis=0))
    assert profile.links.expected == pytest.approx(100.0 * expected / 50)
    assert profile.links.by_class == pytest.approx(100.0 * classes / 50)
    assert cells.profile(linked=0).links is None
