"""A dry run: the plan of the run itself, and the same refusals."""

import pyarrow.parquet as pq
import pytest

import microagg
from microagg.actions.estimate import estimate
from microagg.base.errors import MicroaggError
from microagg.base.recipe import Recipe
from microagg.engine.choosing import Where
from tests.engine.tables import SETTINGS, nasty


@pytest.fixture
def path(tmp_path):
    pq.write_table(nasty(500), tmp_path / "table.parquet")
    return tmp_path / "table.parquet"


@pytest.mark.parametrize("engine", ["memory", "disk"])
def test_it_says_what_the_run_does(path, engine):
    recipe = Recipe(**{**SETTINGS, "method": "auto", "cell_rows": 100, "within": ["region"]})
    found = estimate(path, recipe, Where(engine=engine), progress=False)
    with microagg.protect(path, recipe=recipe, engine=engine, progress=False) as release:
        assert found.method == release.certificate.method
        assert found.cell_rows == release.record.cell_rows
    assert found.records == 500
    assert found.engine == engine
    assert found.seconds > 0
    assert found.megabytes > 0
    assert found.kinds["grade"] == "ordinal"
    assert found.roles["other"] == ["region", "weight", "note"]
    assert any("missing values" in note for note in found.notes)
    assert any(line.startswith("engine") for line in found.sentences())
    assert [each.name for each in path.parent.iterdir()] == ["table.parquet"]


@pytest.mark.parametrize("engine", ["memory", "disk"])
@pytest.mark.parametrize(
    "wrong",
    [
        {"method": "auto", "options": {"gamma": 1}},
        {"method": "vmdav", "options": {"gamma": "much"}},
        {"method": "search", "options": {"effort": "huge"}},
        {"method": "search", "options": {"steps": 5, "time_limit": 1}},
        {"method": "univariate"},
        {"k": 501},
        {"within": ["region"], "k": 200},
        {"missing": "error"},
        {"weights": "note"},
    ],
)
def test_it_refuses_what_the_run_refuses(path, engine, wrong):
    recipe = Recipe(**{**SETTINGS, **wrong})
    with pytest.raises(MicroaggError) as one:
        microagg.protect(path, recipe=recipe, engine=engine, progress=False)
    with pytest.raises(MicroaggError) as other:
        estimate(path, recipe, Where(engine=engine), progress=False)
    assert str(one.value) == str(other.value)
