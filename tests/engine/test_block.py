"""One cell: its records in, what they publish out."""

import numpy as np
import pyarrow as pa
from hypothesis import given, settings
from hypothesis import strategies as st

from microagg.base.recipe import Recipe
from microagg.engine.block import group_cell, joined
from microagg.engine.planning import make_plan
from microagg.engine.survey import Survey


@given(strata=st.lists(st.integers(0, 3), min_size=4, max_size=40), k=st.integers(2, 4))
@settings(max_examples=100)
def test_groups_of_merged_strata_publish_the_stratum_of_most(strata, k):
    """By the definition: no other stratum has more of the group."""
    table = pa.table({"x": np.arange(float(len(strata))), "s": strata})
    recipe = Recipe(quasi_identifiers="x", within="s", k=k, small_strata="merge", method="mdav")
    survey = Survey(recipe, table.schema)
    survey.add(table.to_batches()[0], np.arange(len(strata)))
    plan = make_plan(survey, {})
    numbers = plan.strata_of(table)
    block = group_cell(plan, 0, plan.code(table), numbers)
    if not plan.crossed:
        assert block.strata is None
        return
    twice = joined([block, block])
    for found, codes in ((block, numbers), (twice, np.tile(numbers, 2))):
        for label, told in enumerate(found.strata.tolist()):
            group = codes[found.groups.labels == label].tolist()
            assert group.count(told) == max(map(group.count, group))
            assert found.groups.labels[found.speakers[label]] == label
            assert codes[found.speakers[label]] == told
