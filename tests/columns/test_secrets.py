"""Values of confidential columns as they come, in as much memory as there is room for."""

import numpy as np
import pyarrow as pa
from hypothesis import given, settings
from hypothesis import strategies as st

from microagg.base.reading import Reading
from microagg.columns import secrets
from microagg.columns.secrets import ObservedSecret, Room, SeenValues
from microagg.table.opening import Origin

ORIGIN = Origin("table", "frame", Reading())


def secret_of(array):
    observed = ObservedSecret("secret", array.type, ORIGIN)
    observed.add(array)
    return observed.secret(ORIGIN)


@given(
    parts=st.lists(st.lists(st.integers(0, 40), min_size=1, max_size=9), min_size=1, max_size=30),
    most=st.integers(1, 20),
)
@settings(max_examples=60)
def test_values_in_files_are_those_in_memory(parts, most, tmp_path_factory):
    arrays = [pa.array(part) for part in parts]
    secret = secret_of(arrays[0])
    folder = tmp_path_factory.mktemp("room")
    seen, known = SeenValues(secret, Room(folder, most)), SeenValues(secret, Room())
    for array in arrays:
        seen.add(secret.entries(array))
        known.add(secret.entries(array))
    assert seen.among_all().counts.tolist() == known.among_all().counts.tolist()
    everything = np.concatenate(parts)
    nothing = np.zeros(everything.size, bool)
    ranks = np.unique(everything, return_inverse=True)[1]
    assert seen.ranks(everything, nothing).tolist() == ranks.tolist()


def test_no_more_are_sorted_at_a_time_than_there_is_room_for(tmp_path, monkeypatch):
    sizes = []
    summed_by = secrets.summed_by

    def watched(keys, weights):
        sizes.append(keys.size)
        return summed_by(keys, weights)

    monkeypatch.setattr(secrets, "summed_by", watched)
    numbers = np.random.default_rng(0).permutation(10_000)
    secret = secret_of(pa.array(numbers))
    seen = SeenValues(secret, Room(tmp_path, most=1000))
    for part in np.split(numbers, 100):
        seen.add(secret.entries(pa.array(part)))
    assert seen.among_all().counts.tolist() == [1] * 10_000
    assert max(sizes) <= 1000 + 100
    assert isinstance(seen.among_all().counts, np.memmap)
