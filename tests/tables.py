"""Tables as they are, written by the table room's own writers: inputs for tests."""

from pathlib import Path

from microagg.base.reading import Reading
from microagg.table.opening import Origin
from microagg.table.writing import draft_in_database, write_file


def write_table(table, place):
    """Write an Arrow table to a path or a database URL, nothing of it changed."""
    origin = Origin("table", "frame", Reading())
    if "://" in str(place):
        with draft_in_database(table, str(place), origin, False):
            pass
    else:
        write_file(table, Path(place), origin)
