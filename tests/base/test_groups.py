import numpy as np
import pytest

from microagg import Partition


def test_from_sequence_undoes_the_order():
    partition = Partition.from_sequence(np.array([4, 0, 3, 1, 2]), np.array([2, 3]), 2, "made up")
    assert partition.labels.tolist() == [0, 1, 1, 1, 0]
    assert partition.sizes.tolist() == [2, 3]
    assert (partition.k, partition.n_groups, len(partition)) == (2, 2, 5)
    assert repr(partition) == "Partition(n=5, k=2, n_groups=2, method='made up')"


def test_a_partition_cannot_be_changed():
    partition = Partition.from_sequence(np.arange(4), np.array([4]), 2, "made up")
    with pytest.raises(ValueError, match="read-only"):
        partition.labels[0] = 1
    with pytest.raises(AttributeError):
        partition.k = 1
