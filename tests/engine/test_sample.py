"""A sample depends on the rows alone: not on their order or parts."""

import numpy as np
import pyarrow as pa
import pytest

from microagg.engine.sample import Sample, row_hashes


def test_a_sample_is_the_same_in_any_order_and_parts():
    rng = np.random.default_rng(0)
    table = pa.table({"x": np.arange(5000)})
    whole = Sample(100)
    whole.add(table, np.arange(5000))
    expected = whole.result()
    merged = Sample(100)
    for part in np.array_split(rng.permutation(5000), 13):
        other = Sample(100)
        other.add(table.take(pa.array(part)), part)
        merged.merge(other)
        assert merged.held <= 200
    assert merged.result()[0].equals(expected[0])
    assert merged.result()[1].tolist() == expected[1].tolist() == expected[0]["x"].to_pylist()


@pytest.mark.parametrize("rows", [1, 99, 100, 101])
def test_up_to_so_many_rows_all_are_taken(rows):
    sample = Sample(100)
    sample.add(pa.table({"x": np.arange(rows)}), np.arange(rows))
    assert sample.result()[1].size == min(rows, 100)
    assert np.all(np.diff(sample.result()[1]) > 0)


def test_every_row_has_the_same_chance():
    table = pa.table({"x": np.arange(100_000)})
    sample = Sample(10_000)
    sample.add(table, np.arange(100_000))
    tenths = np.histogram(sample.result()[1], 10, (0, 100_000))[0]
    # Five deviations of a binomial.
    assert np.all(np.abs(tenths - 1000) < 5 * np.sqrt(900))
    assert np.unique(row_hashes(np.arange(100_000))).size == 100_000


def test_a_limit_that_leaves_enough_changes_nothing():
    table, rows = pa.table({"x": np.arange(5000)}), np.arange(5000)
    limit = int(np.sort(row_hashes(rows))[150])
    for sample in (limited := Sample(100, limit), whole := Sample(100)):
        sample.add(table, rows)
    assert limited.held >= 100
    assert limited.result()[1].tolist() == whole.result()[1].tolist()
