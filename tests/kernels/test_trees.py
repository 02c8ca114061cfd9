"""The tree over records; what it answers is compared where it is asked."""

import gc

import numpy as np

from microagg.kernels.trees.nearest import find_nearest
from microagg.kernels.trees.planting import Tree, plant


def test_a_tree_goes_when_nobody_needs_it():
    """Not only once Python looks for circles: it is as large as the records."""
    records = np.random.default_rng(0).normal(size=(40_000, 3))
    gc.collect()
    gc.disable()
    try:
        tree = plant(records)
        within, weights = np.full(500, np.inf), np.ones(len(records), np.int64)
        found = find_nearest(tree, records[:500].copy(), within, weights, lambda _share: None)
        assert np.array_equal(found.numbers, np.arange(500))
        del tree
        assert not [each for each in gc.get_objects() if type(each) is Tree]
    finally:
        gc.enable()
