"""All of a release but its noise: drawn many times over, or made up to be tried."""

import numpy as np
import pyarrow as pa
import pytest

from microagg.private.prepared import apportioned
from microagg.private.releasing import prepare

SECRET = 61.73205080756888
TABLE = {"age": [SECRET] * 6 + [20.0], "sex": ["secret"] * 3 + ["f"] * 4}
BOUNDS = {"age": (0, 110), "sex": ["f", "m"]}


def prepared(table=TABLE, **settings):
    return prepare(table, epsilon=1.0, bounds=BOUNDS, method="marginals", **settings)


def test_drawn_many_times_is_drawn_each_time():
    asked = prepared(k=2).questions()
    once, often = (asked["age"].drawn(np.random.default_rng(3), times) for times in (1, 4))
    assert once.shape == (1, 3)
    assert often.shape == (4, 3)
    assert often[0] == pytest.approx(once[0])
    real = asked["sex"].drawn(None, 500)
    assert real.shape == (500, 3)
    # Counts of 4, none and 3 with noise of scale 4, within 0 and 7: each of these turns up often.
    assert all(len(np.unique(column)) == 8 for column in real.T)


@pytest.mark.parametrize("kind", [dict, pa.table])
def test_what_is_made_up_has_the_shape_of_a_release_and_nothing_of_the_data(kind):
    found = prepared(kind(TABLE))
    made, real = found.made_up().table(), found.draw(None).table()
    assert made.schema == real.schema
    assert made.num_rows == real.num_rows == 7
    assert made.to_pydict() == {
        "age": [0.0, 110.0] * 3 + [0.0],
        "sex": ["f", "m", "other"] * 2 + ["f"],
    }


def test_apportioned():
    assert apportioned(np.array([0, 0]), 5).tolist() == [3, 2]
    assert apportioned(np.array([1, 1, 2]), 8).tolist() == [2, 2, 4]
    assert apportioned(np.array([10, 1]), 3).tolist() == [3, 0]
