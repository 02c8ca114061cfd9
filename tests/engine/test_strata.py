"""Strata seen in parts, beside a dictionary that has seen all rows."""

from itertools import pairwise

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from microagg.base.errors import InputError
from microagg.engine.strata import ObservedStrata, Strata


def observed(table, cuts=(), units=None, order=1):
    """The strata of a table cut into parts."""
    strata = ObservedStrata(table.column_names)
    borders = [0, *sorted(cuts), table.num_rows]
    for start, end in list(pairwise(borders))[::order]:
        here = None if units is None else units[(units >= start) & (units < end)] - start
        strata.add(table.slice(start, end - start), here)
    return strata


@st.composite
def tables(draw):
    rows = draw(st.integers(1, 30))
    kinds = draw(st.lists(st.sampled_from(["words", "numbers", "truth"]), min_size=1, max_size=3))
    values = {
        "words": st.sampled_from(["a", "", "ü", None]),
        "numbers": st.sampled_from([1, -7, 2**53, None]),
        "truth": st.sampled_from([True, False, None]),
    }
    types = {"words": pa.string(), "numbers": pa.int64(), "truth": pa.bool_()}
    columns = [
        pa.array(draw(st.lists(values[kind], min_size=rows, max_size=rows)), types[kind])
        for kind in kinds
    ]
    # Names may be anything, also those of what is counted.
    return pa.table(columns, ["records", "units", "c0"][: len(kinds)])


@given(table=tables(), data=st.data())
@settings(max_examples=100)
def test_rows_belong_where_a_dictionary_says(table, data):
    rows = table.num_rows
    cuts = data.draw(st.lists(st.integers(0, rows), max_size=3))
    units = np.array(sorted(data.draw(st.sets(st.integers(0, rows - 1)))), int)
    strata = observed(table, cuts, units).numbered(1)
    places = strata.code(table)
    keys = list(zip(*(column.to_pylist() for column in table.columns), strict=True))
    number = dict(zip(keys, places.tolist(), strict=True))
    assert [number[key] for key in keys] == places.tolist()
    assert sorted(number.values()) == list(range(len(strata)))
    for key, place in number.items():
        assert strata.rows[place] == keys.count(key)
        assert strata.counts[place] == sum(keys[unit] == key for unit in units)
    # The same in any order, and again from what was kept of it.
    again = observed(table, cuts, units, order=-1).numbered(1)
    assert again.table.equals(strata.table)
    assert Strata(strata.table).code(table).tolist() == places.tolist()


def test_they_are_sorted_by_their_values():
    table = pa.table({"s": ["b", "a", "c", "a"], "t": [1, 2, 1, 1]})
    strata = observed(table, cuts=[2]).numbered(1)
    assert strata.table.select(["s", "t"]).to_pylist() == [
        {"s": "a", "t": 1}, {"s": "a", "t": 2}, {"s": "b", "t": 1}, {"s": "c", "t": 1}
    ]  # fmt: skip
    assert strata.code(table).tolist() == [2, 1, 3, 0]
    assert strata.names == ("s", "t")


def test_what_others_saw_is_added():
    table = pa.table({"s": ["a", "b", "a", "c"]})
    whole, first, other = observed(table), observed(table.slice(0, 3)), observed(table.slice(3))
    other.merge(first)
    other.merge(ObservedStrata(["s"]))
    assert other.numbered(1).table.equals(whole.numbered(1).table)


def test_dictionaries_and_what_is_no_number_are_values():
    words = pa.array(["b", "a", "b"]).dictionary_encode()
    table = pa.table({"s": words, "x": [np.nan, 1.0, np.nan]})
    strata = observed(table, cuts=[1]).numbered(1)
    assert len(strata) == 2
    assert strata.code(table).tolist() == [1, 0, 1]
    plain = pa.table({"s": ["a", "b"], "x": [1.0, np.nan]})
    assert strata.code(plain).tolist() == [0, 1]


def test_very_many_columns_are_told_apart():
    # Numbered without looking, so many combinations would not fit into a word.
    columns, values = 40, 7
    rng = np.random.default_rng(0)
    table = pa.table({f"s{place}": rng.integers(0, values, 300) for place in range(columns)})
    for place in (0, columns - 1):
        other = pa.array((table.column(place).to_numpy() + 1) % values)
        both = pa.concat_tables([table, table.set_column(place, f"s{place}", other)])
        assert len(set(observed(both).numbered(1).code(both).tolist())) == 600


def test_a_stratum_that_was_not_there_is_refused():
    strata = observed(pa.table({"s": ["a", "a", "b"], "t": [1, 2, 1]})).numbered(1)
    for new in ({"s": ["b"], "t": [2]}, {"s": ["c"], "t": [1]}, {"s": [None], "t": [1]}):
        part = pa.table({"s": pa.array(new["s"], pa.string()), "t": new["t"]})
        with pytest.raises(InputError, match="'s' and 't' hold values now that they did not hold"):
            strata.code(part)


def test_too_many_are_refused():
    strata = ObservedStrata(["s"], most=10)
    strata.add(pa.table({"s": np.arange(10)}))
    with pytest.raises(InputError, match="'s' make more than 10 strata; take coarser ones"):
        strata.add(pa.table({"s": [10]}))
