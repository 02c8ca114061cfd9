import numpy as np
import pyarrow as pa
import pytest

import microagg
from microagg.base.errors import OptionError
from microagg.release.risks import risks_of
from microagg.report.story import Risks, Story
from microagg.table.classes import Classes


def classes(*sizes):
    return Classes.of(np.array(sizes))


def test_shares_of_records_before_and_after():
    found = risks_of(classes(1, 1, 2, 4, 2), classes(5, 5), 5, 10)
    assert found.bars == (
        ("1", 20.0, 0.0),
        ("2\N{EN DASH}4", 80.0, 0.0),
        ("5\N{EN DASH}9", 0.0, 100.0),
        ("10\N{EN DASH}49", 0.0, 0.0),
        ("50+", 0.0, 0.0),
    )
    assert [row[1:] for row in found.figures] == [
        ("20.00 %", "0.00 %"),
        ("100.00 %", "0.00 %"),
        ("100.00 %", "20.00 %"),
        ("50.00 %", "20.00 %"),
    ]
    assert found.note == ""


@pytest.mark.parametrize("k", [2, 3, 5, 100])
def test_every_record_is_in_one_bar(k):
    found = risks_of(classes(*range(1, 300)), classes(*range(k, 40 * k)), k, 10**6)
    for side in (1, 2):
        assert sum(bar[side] for bar in found.bars) == pytest.approx(100.0)
    assert len({bar[0] for bar in found.bars}) == len(found.bars)


def test_a_sample_says_its_size():
    found = risks_of(classes(1, 2), classes(5), 5, 1000)
    assert "a sample of 3 of its 1,000 records" in found.note


def test_a_public_page_shows_the_release_alone(tmp_path):
    rng = np.random.default_rng(0)
    table = pa.table({"age": rng.integers(20, 60, 200), "income": rng.normal(size=200)})
    release = microagg.protect(table, k=4, quasi_identifiers=["age", "income"], progress=False)
    assert release.before.unique == 200
    release.report(tmp_path / "owner.html")
    release.report(tmp_path / "public.html", public=True)
    owner, public = ((tmp_path / f"{name}.html").read_text() for name in ("owner", "public"))
    assert owner.index('id="risk"') < owner.index('id="guarantee"')
    assert "Original</th>" in owner
    assert "100.00 %" in owner
    risk = public[public.index('id="risk"') : public.index('id="guarantee"')]
    assert "Original" not in risk
    assert "100.00 %" not in risk
    assert "25.00 %" in risk


def test_a_public_story_refuses_what_tells_the_original():
    told = Risks((("1", 50.0, 0.0),), ())
    page = {"title": "t", "verdict": True, "verdict_sentence": "s", "guarantee": ("g",)}
    with pytest.raises(OptionError, match="the risk came with figures"):
        Story(public=True, risk=told, **page)
    assert not Risks((("1", None, 0.0),), (("x", None, "1 %"),)).tells_the_original


def test_nothing_is_measured_where_nothing_is_asked():
    table = pa.table({"age": np.arange(20)})
    release = microagg.protect(table, k=2, quasi_identifiers=["age"], measures=False)
    assert release.before is None
