import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import microagg
from microagg.private.guarantee import state
from microagg.private.registry import find

SECRET = 4711.0625


def table(n=60):
    rng = np.random.default_rng(0)
    pay = rng.normal(3000, 400, n)
    pay[7] = SECRET
    return pd.DataFrame({"pay": pay, "<b>town": ["x & y" if row % 2 else "z" for row in range(n)]})


def shown():
    release = microagg.protect(table(), k=5, quasi_identifiers=["pay", "<b>town"], method="mdav")
    numbers = table()[["pay"]]
    return {
        "Release": release,
        "Certificate": release.certificate,
        "Assessment": release.assessment,
        "Partition": release.partition,
        "Comparison": microagg.compare(table(), [3], ["mdav"], quasi_identifiers=["pay"]),
        "Inspection": microagg.inspect(table()),
        "Bound": microagg.lower_bound(numbers, 5, time_limit=0.1),
    }


def test_every_result_shows_itself_in_short():
    for name, each in shown().items():
        text, page = repr(each), each._repr_html_()
        assert text.startswith(f"{name}("), text
        assert len(text) < 300
        assert "\n" not in text
        assert page.startswith(f"<div><strong>{name}</strong><table>")
        assert "<b>" not in page
        assert "4711" not in text + page


def test_a_notebook_shows_what_was_released():
    found = shown()
    page = found["Release"]._repr_html_()
    assert "&lt;b&gt;town" in page
    assert str(found["Release"].data["pay"].iloc[0]) in page
    assert "verdict=passed" in repr(found["Certificate"])
    assert "k_found=5" in repr(found["Release"])
    assert "Expected record linkage" in found["Assessment"]._repr_html_()
    assert "mdav, k = 3" in repr(found["Comparison"])
    assert "quasi-identifier" in found["Inspection"]._repr_html_()


@pytest.mark.parametrize("kind", [pa.Table.from_pandas, pl.from_pandas])
def test_whatever_kind_of_table_it_is(kind):
    release = microagg.protect(kind(table()), k=5, quasi_identifiers=["pay"], method="mdav")
    assert "&lt;b&gt;town" in release._repr_html_()


def test_on_disk(tmp_path):
    table().to_parquet(tmp_path / "t.parquet")
    settings = {"k": 5, "quasi_identifiers": ["pay"], "method": "mdav", "engine": "disk"}
    with microagg.protect(tmp_path / "t.parquet", **settings) as release:
        assert "&lt;b&gt;town" not in release._repr_html_()
        release.write(tmp_path / "r.parquet")
        assert "&lt;b&gt;town" in release._repr_html_()
        assert "engine=disk" in repr(release)


def test_a_guarantee():
    made = state(
        find("records", None), 1.0, {"pay": 1.0}, {}, n=9, k=3, layout_kept=False,
        bounds_leaked=False, simulated=True,
    )  # fmt: skip
    assert repr(made).startswith("Guarantee(warning=SIMULATION")
    assert "epsilon" in made._repr_html_()
