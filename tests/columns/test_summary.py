import numpy as np
import pyarrow as pa
import pytest

from microagg.base.reading import Reading
from microagg.columns.coded import encode
from microagg.columns.summary import attribute, understood
from microagg.table.opening import Origin

FRAME = Origin("table", "frame", Reading())


@pytest.mark.parametrize("text", [pa.string(), pa.large_string(), pa.string_view()])
@pytest.mark.parametrize(
    ("entries", "kind"),
    [
        (["1", " 2", None], "integer"),
        (["1", "2.5"], "continuous"),
        (["2024-01-01", "2024-01-02 10:00"], "date"),
        (["1", "x"], "nominal"),
        ([None, None], "nominal"),
    ],
)
def test_text_that_is_only_looked_at(entries, kind, text):
    coded = understood("x", pa.array(entries, pa.string()).cast(text), FRAME)
    assert coded.kind == kind
    assert coded.values.size == len(entries)


def test_what_cannot_be_shown_is_left_out():
    assert understood("x", pa.array([[1], [2]]), FRAME) is None
    assert understood("x", pa.array(["1.5", "inf"]), FRAME) is None
    assert understood("x", pa.array([True, None]), FRAME).kind == "boolean"


def test_means_of_dates_and_decimals_are_in_their_own_terms():
    days = encode("x", pa.array(["2024-01-01", "2024-01-04"]), "date")
    shown = attribute("quasi-identifier", days)
    assert (shown.mean_after, shown.deviation_after) == ("2024-01-03", 1.5)
    assert shown.bars[0].label == "2024-01-01 to 2024-01-02"
    hours = encode("x", pa.array([0, 7200], pa.timestamp("s")))
    shown = attribute("quasi-identifier", hours)
    assert (shown.mean_after, shown.deviation_after) == ("1970-01-01 01:00:00", 1 / 24)
    money = encode("x", pa.array([100, 300]).cast(pa.decimal128(19, 0)).cast(pa.decimal128(21, 2)))
    shown = attribute("quasi-identifier", money)
    assert (shown.mean_after, shown.deviation_after) == (200.0, 100.0)


def test_many_categories_share_the_last_bar():
    names = np.repeat([f"c{place:02}" for place in range(30)], np.arange(1, 31))
    nominal = attribute("quasi-identifier", encode("x", pa.array(names)))
    assert [bar.label for bar in nominal.bars[:2]] == ["c29", "c28"]
    assert nominal.bars[-1].label == "19 others"
    assert sum(bar.after for bar in nominal.bars) == names.size
    ranks = encode("x", pa.array(names), None, tuple(np.unique(names).tolist()))
    ordinal = attribute("quasi-identifier", ranks)
    assert [bar.label for bar in ordinal.bars[:2]] == ["c00", "c01"]
    assert nominal.mean_after is ordinal.mean_after is None
