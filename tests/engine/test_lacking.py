"""Counts of bins never promise more than the records keep, and large cells are dealt."""

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import microagg
from microagg.actions.protect import release_by
from microagg.base.reading import Reading
from microagg.base.recipe import Recipe
from microagg.columns.secrets import Secret
from microagg.engine import lacking
from microagg.engine.choosing import Where
from microagg.engine.demanded import values_at_once
from microagg.engine.disk.work import Work
from microagg.engine.lacking import Lacking
from microagg.table.opening import Origin
from tests.engine.disk.running import opened, protected, put
from tests.engine.disk.test_work import abandon
from tests.naive import measures

PLAIN = Origin("table", "frame", Reading())
DEMANDS = {
    "distinct": 3,
    "entropy": {"l": 2, "kind": "entropy"},
    "recursive": {"l": 2, "kind": "recursive", "c": 2},
    "range": {"range": 3},
    "similar": {"similar": 1, "share": 0.5},
}


def truth(kind, values, labels, ordered):
    """What the figure of a yardstick is never below, for the records of leaf 0."""
    counts = sorted((values.count(v) for v in set(values)), reverse=True)
    n, missing = len(values), values.count(None)
    numbers = [v for v in values if v is not None]
    if kind == "distinct":
        return sum(counts[:2]) / n
    if kind == "entropy":
        return 1.0 / measures.diversity([str(v) for v in values], [0] * n)[0][1]
    if kind == "recursive":
        return measures.recursive([str(v) for v in values], [0] * n, 2)[0] / 2
    if kind == "range":
        windows = [sum(v <= other < v + 3 for other in numbers) for v in numbers]
        return (max([*windows, 0]) + missing) / n
    windows = [sum(v <= other <= v + 2 for other in numbers) for v in numbers]
    return max([*windows, missing]) / n


@pytest.mark.parametrize("kind", [*DEMANDS, "ordered", "nominal"])
@given(
    rows=st.lists(
        st.tuples(st.sampled_from([None, *range(12)]), st.booleans()), min_size=2, max_size=60
    )
)
@settings(max_examples=40)
def test_a_figure_is_never_below_the_truth(kind, rows):
    values, leaves = [row[0] for row in rows], np.array([int(row[1]) for row in rows])
    if set(leaves.tolist()) != {0, 1} or len(set(values)) < 3:
        return
    asked = (
        {"closeness": {"x": 0.2}} if kind not in DEMANDS else {"diversity": {"x": DEMANDS[kind]}}
    )
    recipe = Recipe(quasi_identifiers="a", **asked)
    secret = Secret("x", pa.int64(), PLAIN, nominal=kind == "nominal")
    part = pa.RecordBatch.from_arrays([pa.array(values, pa.int64())], ["x"])
    found = []
    for most in (4, 1024):
        with pytest.MonkeyPatch.context() as patched:
            patched.setattr(lacking, "_MOST_BINS", most)
            known, ranks = values_at_once(recipe, [secret], part, np.ones(len(rows), bool))
            own = Lacking(known, ())
        (table,) = own.counted(leaves, 2, ranks, (), None)
        assert table.sum() == len(rows)
        found.append(own._yardsticks[0].measure(table[0]))
    inside = [value for value, leaf in zip(values, leaves, strict=True) if leaf == 0]
    if kind in DEMANDS:
        exact = truth(kind, inside, leaves, True)
    else:
        ordered = [-1 if value is None else value for value in values]
        exact = measures.closeness(ordered, leaves.tolist(), kind == "ordered")[0]
    assert found[1] == pytest.approx(exact, abs=1e-9) or kind in ("ordered",)
    assert found[0] >= exact - 1e-9
    assert found[1] >= exact - 1e-9


def test_who_dominates_is_never_taken_for_less():
    rng = np.random.default_rng(0)
    for size in (1, 2, 5, 100):
        for scale in (1e-300, 1.0, 1e300):
            amounts = scale * rng.lognormal(0, 3, size)
            amounts = np.minimum(amounts, 1e307)
            bins = np.frexp(amounts)[1] - lacking._LEAST_EXPONENT
            counts = np.bincount(bins, minlength=lacking._EXPONENTS)
            share = (amounts.max() * 2.0**-20) / (amounts * 2.0**-20).sum()
            assert lacking._largest_part(counts) >= share - 1e-12
    assert lacking._largest_part(np.zeros(lacking._EXPONENTS, np.int64)) == 0.0


def told(engine, source, target, **settings):
    recipe = {"k": 4, "quasi_identifiers": ["x", "y"], "method": "mdav", "cell_rows": 200}
    with microagg.protect(
        source, engine=engine, progress=False, row_order="kept", **{**recipe, **settings}
    ) as release:
        certificate = release.write(target, force=True)
        return pq.read_table(target), release.record.cells, certificate


def test_cells_that_cannot_keep_a_demand_are_merged_and_dealt(tmp_path):
    rng = np.random.default_rng(1)
    n = 2000
    x = rng.normal(size=n)
    away = np.abs(x)
    table = pa.table(
        {"x": x, "y": rng.normal(size=n), "same": x, "away": away, "other": rng.permutation(x)}
    )
    pq.write_table(table, tmp_path / "in.parquet")
    outcomes = {}
    for name in ("same", "away", "other"):
        for engine in ("memory", "disk"):
            outcomes[name, engine] = told(
                engine, tmp_path / "in.parquet", tmp_path / "out.parquet", closeness={name: 0.3}
            )
        assert outcomes[name, "memory"][0].equals(outcomes[name, "disk"][0])
        assert outcomes[name, "memory"][1:2] == outcomes[name, "disk"][1:2]
        assert outcomes[name, "memory"][2].passed
    # Cells along x are nothing like all, so none are cut there if means tell of it; those of a
    # column that goes its own way are.
    assert outcomes["same", "memory"][1] == 16
    assert 1 < outcomes["away", "memory"][1] <= 10
    assert outcomes["other", "memory"][1] == 16
    assert outcomes["same", "memory"][2].information_loss > (
        10 * outcomes["other", "memory"][2].information_loss
    )


def test_rows_in_turn_do_not_make_pieces_of_one_value(tmp_path):
    n = 3200
    rng = np.random.default_rng(2)
    table = pa.table({"x": np.zeros(n), "y": np.zeros(n), "secret": np.arange(n) % 2})
    table = table.set_column(0, "x", pa.array(np.where(rng.random(n) < 0.5, 0.0, 1.0)))
    pq.write_table(table, tmp_path / "in.parquet")
    for engine in ("memory", "disk"):
        _, cells, certificate = told(
            engine, tmp_path / "in.parquet", tmp_path / "out.parquet", diversity={"secret": 2}
        )
        assert certificate.passed
        assert cells > 2


def test_a_run_that_dealt_its_cells_is_resumed(tmp_path, monkeypatch):
    rng = np.random.default_rng(1)
    x = rng.normal(size=3000)
    table = pa.table({"x": x, "y": rng.normal(size=x.size), "same": np.abs(x)})
    source = put(table, tmp_path / "in.parquet")
    recipe = {
        "k": 4, "quasi_identifiers": ["x", "y"], "method": "zscore", "cell_rows": 300,
        "closeness": {"same": 0.2}, "row_order": "kept",
    }  # fmt: skip
    with protected(source, tmp_path / "work", **recipe) as release:
        release.write(tmp_path / "meant.parquet")
        meant = release.shown.exposures["same"].to_dict()
        assert release.record.cells > 3
    for stop, calls in (("keep", 2), ("deal", 0), ("_append", 25)):
        whole, done = getattr(Work, stop), []

        def cut_off(self, *more, whole=whole, done=done, calls=calls):
            if len(done) == calls:
                raise KeyboardInterrupt
            done.append(1)
            return whole(self, *more)

        monkeypatch.setattr(Work, stop, cut_off)
        engine = opened(source, tmp_path / "work", **recipe)
        with pytest.raises(KeyboardInterrupt):
            release_by(_Kept(engine), Where(engine="disk"), progress=False)
        abandon(engine._work)
        monkeypatch.undo()
        with protected(source, tmp_path / "work", resume=True, **recipe) as release:
            release.write(tmp_path / "again.parquet", force=True)
            assert release.shown.exposures["same"].to_dict() == meant
        assert pq.read_table(tmp_path / "again.parquet").equals(
            pq.read_table(tmp_path / "meant.parquet")
        ), stop


class _Kept:
    """An engine whose work stays when it fails, as that of a program that is killed."""

    def __init__(self, engine):
        self._engine = engine

    def __getattr__(self, name):
        return (lambda: None) if name == "close" else getattr(self._engine, name)
