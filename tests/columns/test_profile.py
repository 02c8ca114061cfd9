import datetime as dt
import decimal
import math
import pickle
from dataclasses import replace

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from microagg.columns.coded import encode
from microagg.columns.profile import Tally
from microagg.columns.summary import attribute, correlations, counted, edges_between
from microagg.measure.change import category_loss, numeric_loss, share_changed
from tests.naive import correlations as naive

DAY = dt.date(1970, 1, 1)
KINDS = {
    "plain": lambda rng, n: pa.array(rng.normal(size=n)),
    "grid": lambda rng, n: pa.array(rng.integers(0, 4, n) * 0.1),
    "offset": lambda rng, n: pa.array(1e12 + rng.integers(0, 50, n)),
    "huge": lambda rng, n: pa.array(rng.uniform(-1.0, 1.0, n) * 1.7e308),
    "tiny": lambda rng, n: pa.array(rng.integers(0, 9, n) * 1e-290),
    "tail": lambda rng, n: pa.array(np.exp(4.0 * rng.normal(size=n))),
    "constant": lambda _, n: pa.array(np.full(n, 0.1)),
    "integer": lambda rng, n: pa.array(rng.integers(-3, 1000, n)),
    "few integers": lambda rng, n: pa.array(rng.integers(0, 5, n)),
    "long integers": lambda rng, n: pa.array(2**62 + rng.integers(-1000, 1000, n)),
    "all integers": lambda rng, n: pa.array(rng.integers(-(2**63), 2**63 - 1, n)),
    "unsigned": lambda rng, n: pa.array(rng.integers(0, 2**64 - 1, n, np.uint64)),
    "decimal": lambda rng, n: pa.array(
        [decimal.Decimal(int(x)).scaleb(-2) for x in rng.integers(-500, 500, n)],
        pa.decimal128(9, 2),
    ),
    "date": lambda rng, n: pa.array(
        [DAY + dt.timedelta(days=int(x)) for x in rng.integers(0, 20000, n)]
    ),
    "moment": lambda rng, n: pa.array(rng.integers(1, 10**9, n), pa.timestamp("us")),
    "nominal": lambda rng, n: pa.array([f"c{x}" for x in rng.integers(0, 20, n)]),
    "ordinal": lambda rng, n: pa.array(rng.integers(0, 5, n).astype(str)),
    "boolean": lambda rng, n: pa.array(rng.integers(0, 2, n).astype(bool)),
    "nothing": lambda _, n: pa.nulls(n, pa.float64()),
}


def columns(rng, kind, name, n, holes):
    """A column before and after, as publishing groups would do it or in any other way."""
    array = KINDS[kind](rng, n)
    if holes:
        array = pa.array(array.to_pylist(), array.type, mask=rng.random(n) < 0.3)
    order = tuple("01234") if kind == "ordinal" else None
    before = encode(name, array, None, order)
    chosen = rng.permutation(n) if rng.random() < 0.5 else np.arange(n) // 3 * 3
    after = before.rows(chosen)
    if rng.random() < 0.3:
        after = replace(after, missing=_mask(after) | (rng.random(n) < 0.3))
    return before, after


@st.composite
def releases(draw):
    rng = np.random.default_rng(draw(st.integers(0, 2**32)))
    n = draw(st.integers(1, 60))
    kinds = draw(st.lists(st.sampled_from(list(KINDS)), min_size=1, max_size=5))
    holes = draw(st.booleans())
    pairs = [columns(rng, kind, f"{place}", n, holes) for place, kind in enumerate(kinds)]
    cuts = sorted(draw(st.lists(st.integers(0, n), max_size=4)))
    before, after = ([pair[side] for pair in pairs] for side in range(2))
    return before, after, [slice(*ends) for ends in zip([0, *cuts], [*cuts, n], strict=True)]


def middle(column):
    values = column.values if column.missing is None else column.values[~column.missing]
    return np.sort(values)[values.size // 2].item() if values.size else 0


def tallied(before, after, parts, **limits):
    """Histograms of small samples are shown if not said otherwise, so that they are compared."""
    made = Tally(before, [middle(column) for column in before], **{"shown_from": 0, **limits})
    for part in parts:
        made.add([each.rows(part) for each in before], [each.rows(part) for each in after])
    return made


def close(one, other, rel=1e-9, abs_=0.0):
    if isinstance(one, float) and isinstance(other, float):
        return math.isclose(one, other, rel_tol=rel, abs_tol=abs_)
    return one == other


def check(made, before, after):
    losses = []
    for then, now in zip(before, after, strict=True):
        measure = numeric_loss if then.numeric else category_loss
        loss = measure(then.values, now.values, then.missing, now.missing)
        assert close(made.losses[then.name], loss), then.kind
        changed = share_changed(then.values, now.values, then.missing, now.missing)
        assert close(made.changes[then.name], changed)
        losses += [loss] if then.varies else []
    assert close(made.total_loss, float(np.mean(losses)) if losses else 0.0)
    told = zip(
        made.attributes(public=False), made.attributes(public=True), before, after, strict=True
    )
    for found, public, then, now in told:
        known = attribute("quasi-identifier", now, then)
        # Means lie near zero by chance; what counts is how large the numbers are.
        slack = 1e-9 * float(np.abs(then.values.astype(float)).max())
        for side in ("before", "after"):
            assert getattr(found, f"missing_{side}") == getattr(known, f"missing_{side}")
            one, other = (getattr(each, f"mean_{side}") for each in (found, known))
            # In memory, nothing is told of numbers whose squares overflow, zero where they vanish.
            assert other is None or close(one, other, abs_=slack), (then.kind, one, other)
            one, other = (getattr(each, f"deviation_{side}") for each in (found, known))
            assert other is None or close(one, other, abs_=1e-280), (then.kind, one, other)
            if then.categories is None and found.bars:
                there = then if side == "before" else now
                assert sum(getattr(bar, side) for bar in found.bars) == (~_mask(there)).sum()
        if then.categories is not None:
            assert found.bars == known.bars
            assert public.bars == attribute("quasi-identifier", now).bars
        assert not public.tells_the_original
        assert public.mean_after == found.mean_after
        assert [bar.after for bar in public.bars if then.categories is None] == [
            bar.after for bar in found.bars if then.categories is None
        ]
    for public in (False, True):
        found, alone = made.correlations(public), correlations(after)
        numbers = [place for place, each in enumerate(before) if each.numeric]
        if len(numbers) < 2:
            assert found is alone is None
            continue
        assert found.names == alone.names == tuple(before[place].name for place in numbers)
        assert (found.before is None) == public
        assert alone.before is None
        for table, columns in ((found.before, before), (found.after, after), (alone.after, after)):
            for i, one in enumerate(numbers if table else ()):
                for j, other in enumerate(numbers):
                    known = naive.correlation(columns[one], columns[other])
                    assert close(table[i][j], known, abs_=1e-9), (table[i][j], known)


def _mask(column):
    return np.zeros(column.values.size, bool) if column.missing is None else column.missing


@given(releases())
@settings(max_examples=200, deadline=None)
def test_as_in_memory_however_it_is_cut(release):
    before, after, parts = release
    check(tallied(before, after, parts), before, after)


@given(releases())
@settings(max_examples=50, deadline=None)
def test_two_tallies_are_one(release):
    before, after, parts = release
    first, second = tallied(before, after, parts[::2]), tallied(before, after, parts[1::2])
    first.merge(second)
    check(first, before, after)


def test_blocks_of_rows_do_not_matter():
    rng = np.random.default_rng(7)
    pairs = [columns(rng, kind, kind, 500, holes=True) for kind in KINDS if kind != "nothing"]
    before, after = ([pair[side] for pair in pairs] for side in range(2))
    made = tallied(before, after, [slice(0, 250), slice(250, 500)], rows_at_once=7)
    check(made, before, after)


def test_offsets_cost_no_digits():
    rng = np.random.default_rng(3)
    small = rng.integers(0, 1000, (2, 3000))
    noise = rng.integers(0, 9, (2, 3000))
    found = []
    for offset in (0, 2**62):
        before, after = (
            [
                encode("a", pa.array(offset + small[side])),
                encode("b", pa.array(offset - small[side] * 2 + noise[side])),
            ]
            for side in range(2)
        )
        made = tallied(before, after, [slice(0, 1000), slice(1000, 3000)])
        told = made.attributes(public=False)
        found.append(
            (made.losses, [each.deviation_after for each in told], made.correlations(public=False))
        )
    assert found[0] == found[1]


def test_bars_have_round_edges_and_exact_counts():
    rng = np.random.default_rng(5)
    before = encode("x", pa.array(rng.normal(50.0, 10.0, 20000)))
    after = before.rows(np.arange(20000) // 5 * 5)
    made = Tally([before.rows(np.arange(20000) % 2 == 0)], [50.0])
    for start in range(0, 20000, 999):
        rows = slice(start, start + 999)
        made.add([before.rows(rows)], [after.rows(rows)])
    bars = made.attributes(public=False)[0].bars
    low, high = bars[0].low, bars[-1].high
    assert (low * 10) % 1 == pytest.approx(0.0, abs=1e-9)  # the range is some 50: tenths remain
    assert (high * 10) % 1 == pytest.approx(0.0, abs=1e-9)
    assert low <= np.quantile(before.values[::2], 0.005)
    assert high >= np.quantile(before.values[::2], 0.995)
    edges = np.linspace(low, high, 25)
    for side, values in (("before", before.values), ("after", after.values)):
        counts = np.histogram(np.clip(values, low, high), edges)[0]
        assert [getattr(bar, side) for bar in bars] == counts.tolist()


@pytest.mark.parametrize(
    ("low", "high"), [(0.0, 1.0), (1e16, 1e16 + 4), (1e17, 1e17), (0.0, 5e-324), (-1e307, 1e307)]
)
def test_bins_count_as_numpy_does(low, high):
    rng = np.random.default_rng(11)
    edges = edges_between(encode("x", pa.array([0.5])), low, high)
    inside = rng.integers(-2, 27, 2000) / 24 * (high - low) + low
    values = np.concatenate([inside, edges, rng.uniform(low, high, 500)])
    clipped = np.clip(values, edges[0], edges[-1])
    counts = counted(encode("x", pa.array(values)), edges)
    assert counts.tolist() == np.histogram(clipped, edges)[0].tolist()


def test_whole_numbers_have_a_bar_each():
    before = encode("x", pa.array([3, 4, 4, 7] * 100))
    made = tallied([before], [before], [slice(None)])
    bars = made.attributes(public=False)[0].bars
    assert [(bar.low, bar.before, bar.after) for bar in bars] == [
        (2.5, 100, 100),
        (3.5, 200, 200),
        (4.5, 0, 0),
        (5.5, 0, 0),
        (6.5, 100, 100),
    ]


def test_range_tells_nothing_of_the_outermost():
    values = np.zeros(1000)
    values[17] = 123456.789
    before = encode("x", pa.array(values))
    made = tallied([before], [before], [slice(None)])
    bars = made.attributes(public=True)[0].bars
    assert [(bar.low, bar.high, bar.after) for bar in bars] == [(-0.5, 0.5, 1000)]


def test_values_outside_the_sample_count_in_the_outermost_bars():
    rng = np.random.default_rng(9)
    before = encode("x", pa.array(np.concatenate([rng.normal(size=100), [-1e9, 1e9, 1e9]])))
    made = Tally([before.rows(slice(0, 100))], [0.0])
    made.add([before], [before])
    bars = made.attributes(public=False)[0].bars
    assert bars[0].after >= 2
    assert bars[-1].after >= 3
    assert sum(bar.after for bar in bars) == 103
    assert made.losses == {"x": 0.0}


def test_what_overflows_is_not_told():
    before = encode("x", pa.array([*np.linspace(0.0, 1.0, 50), 1.7e308, -1.7e308]))
    other = encode("y", pa.array(np.arange(52.0)))
    made = Tally([before.rows(slice(0, 50)), other], [0.5, 25.0])
    made.add([before, other], [before.rows(np.arange(52) // 2 * 2), other])
    assert math.isnan(made.losses["x"])
    assert made.losses["y"] == 0.0
    assert made.attributes(public=False)[0].deviation_before is None
    assert made.correlations(public=False).before[0] == (None, None)
    assert made.correlations(public=False).before[1][1] == pytest.approx(1.0)


def test_nothing_counted_yet():
    column = encode("x", pa.array([1.0, 2.0]))
    made = Tally([column, column], [1.0, 1.0])
    assert made.total_loss == 0.0
    assert made.losses == made.changes == {"x": 0.0}
    assert made.attributes(public=False)[0].mean_before is None
    assert made.correlations(public=True).after == ((None, None), (None, None))


def test_merged_with_a_copy_that_travelled():
    column = encode("x", pa.array([1.0, 2.0, 4.0]))
    made = tallied([column], [column.rows(np.array([0, 0, 2]))], [slice(None)])
    twice = pickle.loads(pickle.dumps(made))  # workers send theirs
    twice.merge(made)
    assert twice.losses == pytest.approx(made.losses)
    assert [bar.after for bar in twice.attributes(public=False)[0].bars] == [
        2 * bar.after for bar in made.attributes(public=False)[0].bars
    ]


def test_a_small_sample_shows_no_range_to_the_public():
    rng = np.random.default_rng(0)
    columns = [
        encode("x", pa.array(rng.normal(size=999))),
        encode("c", pa.array(["a", "b", "c"] * 333)),
    ]
    made = tallied(columns, columns, [slice(None)], shown_from=1000)
    number, category = made.attributes(public=True)
    assert number.bars == ()
    assert number.mean_after is not None
    assert len(category.bars) == 3
    assert made.attributes(public=False)[0].bars


@given(releases())
@settings(max_examples=30, deadline=None)
def test_merged_in_the_same_order_to_the_last_bit(release):
    before, after, parts = release
    found = []
    for _ in range(2):
        made = tallied(before, after, [])
        for part in parts:
            made.merge(pickle.loads(pickle.dumps(tallied(before, after, [part]))))
        found.append((made.losses, made.attributes(public=False), made.correlations(public=False)))
    assert repr(found[0]) == repr(found[1])
