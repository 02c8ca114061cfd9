"""Tables of keys that tests look at."""

import numpy as np
from hypothesis import strategies as st

from microagg.measure.risk.keys import Keys


def keys_of(records):
    """Records, tuples in which None is no value, as keys."""
    columns = []
    for values in zip(*records, strict=True):
        numbers = {None: 0}
        for value in values:
            numbers.setdefault(value, len(numbers))
        columns.append(np.array([numbers[value] for value in values]))
    return Keys.of([f"c{place}" for place in range(len(columns))], columns)


@st.composite
def records(draw, most=24, missing=True, columns=4):
    """Few values, so that some records are alike and others are not."""
    width = draw(st.integers(1, columns))
    value = st.integers(0, draw(st.integers(0, 5)))
    value = st.one_of(st.none(), value) if missing else value
    return draw(st.lists(st.tuples(*[value] * width), min_size=1, max_size=most))
