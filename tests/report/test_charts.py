import math
import re
import xml.etree.ElementTree as ET

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from microagg.columns.told import Bar
from microagg.report import charts
from microagg.report.comparison import Choice
from microagg.report.map import risk_utility_map
from tests.report import stories

BARS = (Bar("0 to 1", 0, 1, 10, 20), Bar("1 to 2", 1, 2, 40, 30), Bar("2 to 3", 2, 3, 0, 0))


def boxes(chart, class_):
    """(x, y, width, height) of the rectangles of a class."""
    found = [each for each in ET.fromstring(chart).iter("rect") if each.get("class") == class_]
    return [tuple(float(each.get(k)) for k in ("x", "y", "width", "height")) for each in found]


def assert_everything_is_inside(chart):
    root = ET.fromstring(chart)
    _, _, width, height = map(float, root.get("viewBox").split())
    for each in root.iter("rect"):
        x, y, across, tall = (float(each.get(k)) for k in ("x", "y", "width", "height"))
        assert across >= 0
        assert tall >= 0
        assert -0.01 <= x <= x + across <= width + 0.01
        assert -0.01 <= y <= y + tall <= height + 0.01
    for each in root.iter("circle"):
        assert 0 <= float(each.get("cx")) <= width
        assert 0 <= float(each.get("cy")) <= height
    for each in root.iter("text"):
        assert 0 <= float(each.get("x")) <= width
        assert 0 <= float(each.get("y")) <= height
    assert "nan" not in chart
    assert "inf" not in re.sub(">[^<]*<", "><", chart)


def test_bins_are_as_high_as_their_counts():
    chart = charts.histogram("age", BARS)
    heights = [box[3] for box in boxes(chart, "after")]
    assert heights[0] / heights[1] == pytest.approx(20 / 30, abs=1e-3)
    assert heights[2] == 0
    assert_everything_is_inside(chart)


def test_the_outline_follows_the_original():
    path = ET.fromstring(charts.histogram("age", BARS)).find("path").get("d")
    base = float(re.match(r"M[\d.]+ ([\d.]+)", path)[1])
    first, second, third = (base - float(y) for y in re.findall(r"V([\d.]+)H", path))
    assert first / second == pytest.approx(10 / 40, abs=1e-3)
    assert third == 0


def test_wide_bins_are_low():
    chart = charts.histogram("age", (Bar("a", 0, 1, None, 10), Bar("b", 1, 3, None, 10)))
    one, other = boxes(chart, "after")
    assert one[3] == pytest.approx(2 * other[3], abs=0.02)
    assert other[0] > one[0]


def test_bins_with_a_gap_leave_it_empty():
    bars = (Bar("a", 0, 1, 5, 5), Bar("b", 3, 4, 5, 5))
    chart = charts.histogram("age", bars)
    one, other = boxes(chart, "after")
    assert other[0] - (one[0] + one[2]) > one[2]
    assert ET.fromstring(chart).find("text").text == "5"


def test_counts_too_long_for_their_place():
    bars = (Bar("a" * 60, None, None, 10**12, 10**12 - 1), Bar("b", None, None, 1, 1))
    assert_everything_is_inside(charts.category_bars("x", bars))


count = st.integers(0, 10**9)
end = st.one_of(st.none(), st.floats(), st.integers(-3, 3))
bins = st.lists(
    st.builds(Bar, st.text(max_size=40), end, end, st.none() | count, count), min_size=1
)


@given(bins, st.booleans())
def test_any_bins_can_be_drawn(bars, dates):
    assert_everything_is_inside(_without_controls(charts.histogram("x", bars, dates)))
    assert_everything_is_inside(_without_controls(charts.category_bars("x", bars)))


def _without_controls(chart):
    """The page drops what XML cannot hold; a chart by itself still has it."""
    return "".join(letter for letter in chart if letter.isprintable())


def test_categories_are_as_long_as_their_counts():
    chart = charts.category_bars("diagnosis", BARS)
    after = [box[2] for box in boxes(chart, "after")]
    before = [box[2] for box in boxes(chart, "before")]
    assert after[0] / before[1] == pytest.approx(20 / 40, abs=1e-3)
    assert "was" in chart
    assert_everything_is_inside(chart)


def test_many_categories_become_others():
    bars = [Bar(f"c{i}", None, None, i, i) for i in range(40)]
    chart = charts.category_bars("code", bars)
    assert len(boxes(chart, "after")) == 12
    assert "29 others" in chart
    assert str(sum(range(29))) in chart.replace("\N{NARROW NO-BREAK SPACE}", "")
    assert ">c39<" in chart
    assert ">c3<" not in chart


def test_group_sizes():
    chart = charts.group_sizes(((6, 25), (5, 100)))
    heights = [box[3] for box in boxes(chart, "after")]
    assert heights[0] == pytest.approx(4 * heights[1], abs=0.02)
    assert_everything_is_inside(chart)


@given(st.dictionaries(st.integers(1, 10**6), st.integers(1, 10**6), min_size=1, max_size=60))
def test_any_group_sizes_are_all_counted(sizes):
    columns = charts._ranges(sorted(sizes.items()))
    assert len(columns) <= 12
    assert sum(count for _, count in columns) == sum(sizes.values())
    assert_everything_is_inside(charts.group_sizes(tuple(sizes.items())))


def test_cells_are_darker_where_correlations_moved():
    chart = charts.heat_cells(stories.many_correlations(60))
    assert len(boxes(chart, "cell")) == 60 * 59 / 2
    assert_everything_is_inside(chart)
    pairs = stories.correlations().most_changed()
    tints = [charts.tint(pair) for pair in pairs]
    assert tints == sorted(tints, reverse=True)
    assert 0 < tints[0] <= 0.45


def choice(method, k, risk, loss):
    return Choice(method, method, k, 9, loss, risk, None, 0.1)


def test_the_map_fills_the_points_that_none_beats():
    points = (choice("a", 3, 1.0, 1.0), choice("a", 5, 2.0, 1.0), choice("b", 3, 0.5, 9.0))
    chart = risk_utility_map(points, recommended=points[0])
    circles = {each.find("title").text: each for each in ET.fromstring(chart).iter("circle")
               if each.find("title") is not None}  # fmt: skip
    kinds = {told.split(":")[0]: each.get("class") for told, each in circles.items()}
    assert kinds == {"a, k = 3": "point best", "a, k = 5": "point", "b, k = 3": "point best"}
    assert chart.count('class="ring"') == 1
    assert_everything_is_inside(chart)


figure = st.floats(0, 1e6)


@given(st.lists(st.builds(choice, st.just("a"), st.just(3), figure, figure)))
@example([choice("a", 3, 5e-324, 1.0)])
def test_any_points_can_be_mapped(points):
    assert_everything_is_inside(risk_utility_map(points))


def test_a_constant_column():
    chart = charts.histogram("one", (Bar("5", 5, 5, 3000, 3000),))
    assert boxes(chart, "after")[0][3] > 0
    assert math.isclose(boxes(chart, "after")[0][2], charts.WIDTH, rel_tol=0.05)
