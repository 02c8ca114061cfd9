"""Which rows are in which cell."""

import numpy as np

from microagg.engine.cells import rows_by_cell


def test_rows_are_in_order_by_cell():
    cells = np.random.default_rng(0).integers(-1, 6, 200)
    cells[cells == 3] = 4
    found = rows_by_cell(cells, 6)
    assert len(found) == 6
    for cell, rows in enumerate(found):
        assert rows.tolist() == [row for row in range(200) if cells[row] == cell]
