"""Tables for Spark, and how its releases are compared with others."""

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import microagg
from microagg.table.checks import fingerprint

# Spark's own, about libraries and sockets that are not ours.
WARNINGS = [
    pytest.mark.filterwarnings("ignore:PySpark does not yet fully support"),
    pytest.mark.filterwarnings("ignore::ResourceWarning"),
    pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning"),
]
SIMPLE = {"k": 3, "quasi_identifiers": ["x", "y"], "method": "mdav", "cell_rows": 100}


def protect(source, session, **settings):
    """A release made on Spark, by a session that runs already."""
    settings = {"progress": False, **settings}
    return microagg.protect(source, engine="spark", session=session, **settings)


def as_spark_has_it(rows):
    """Moments to the microsecond; and NaN where there is no value, beside columns with nulls."""
    offset, moment = rows["offset"].to_numpy().copy(), rows["moment"]
    offset[::11] = np.nan
    moment = moment.cast(pa.timestamp("us", "UTC"))
    for name, column in (("offset", pa.array(offset)), ("moment", moment)):
        rows = rows.set_column(rows.schema.get_field_index(name), name, column)
    return rows


def rows_of(frame):
    """The rows of a DataFrame, moments in the zone of the files."""
    found = frame.toArrow()
    for place, each in enumerate(found.schema):
        if pa.types.is_timestamp(each.type) and each.type.tz is not None:
            utc = found.column(place).cast(pa.timestamp("us", "UTC"))
            found = found.set_column(place, each.name, utc)
    return found


def same(one, other):
    assert one.column_names == other.column_names
    for name in one.column_names:
        assert one[name].type == other[name].type, name
        assert fingerprint(one.select([name])) == fingerprint(other.select([name])), name


def sizes_of(rows, names):
    return rows.group_by(list(names)).aggregate([([], "count_all")])["count_all"].to_numpy()


def plane(rows, seed=0):
    rng = np.random.default_rng(seed)
    return pa.table(
        {
            "x": rng.standard_normal(rows),
            "y": rng.standard_normal(rows),
            "id": np.arange(rows),
        }
    )


def put(rows, path):
    pq.write_table(rows, path)
    return path
