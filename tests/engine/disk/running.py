"""Tables as files, protected on disk few rows at a time, so that small ones have many ranges."""

import pyarrow.csv as arrow_csv
import pyarrow.feather as feather
import pyarrow.parquet as pq

from microagg.actions.protect import release_by
from microagg.base.progress import silent
from microagg.base.recipe import Recipe
from microagg.engine.choosing import Where
from microagg.engine.disk.engine import Disk
from microagg.engine.planning import make_plan
from microagg.table.streams import open_stream

RANGE_ROWS = 300


def put(table, path):
    """Write a table in many small pieces."""
    if path.suffix == ".csv":
        arrow_csv.write_csv(table, path)
    elif path.suffix == ".feather":
        feather.write_feather(table, path, chunksize=100)
    else:
        pq.write_table(table, path, row_group_size=170)
    return path


def take(path):
    """Read it again, by somebody else's reader."""
    return {
        ".csv": arrow_csv.read_csv,
        ".feather": feather.read_table,
        ".parquet": pq.read_table,
    }[path.suffix](path)


def opened(source, work=None, *, resume=False, range_rows=RANGE_ROWS, **settings):
    """The engine for a file."""
    recipe = Recipe(**settings)
    stream = open_stream(source, recipe.reading, typed=recipe.quasi_identifiers)
    return Disk(stream, recipe, work, resume=resume, range_rows=range_rows)


def protected(source, work=None, *, memory=None, measures=True, record=None, **settings):
    """The release of a file."""
    where = Where(engine="disk", memory=memory)
    engine = opened(source, work, **settings)
    return release_by(engine, where, earlier=record, measures=measures, progress=False)


def plan_of(source, **settings):
    """The plan that a file is protected by."""
    engine = opened(source, **settings)
    survey = engine.survey(silent)
    plan = make_plan(survey, {"name": engine.origin.name, "sha256": engine.sha256})
    plan = plan.with_counts(*engine.count(plan, silent))
    engine.close()
    return plan


def left(folder):
    """What is there that nobody asked for."""
    return [path.name for path in folder.iterdir() if path.name.startswith(".")]
