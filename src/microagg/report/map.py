"""The map of risk and loss: which ways to protect a table are worth considering."""

from collections.abc import Callable, Iterable, Sequence
from itertools import groupby

from microagg.report.comparison import Choice
from microagg.report.numbers import number, round_ticks
from microagg.report.svg import Svg, drawing, element, shorten, text

_WIDTH, _HEIGHT = 680.0, 440.0
_LEFT, _RIGHT, _TOP, _BASE = 52.0, 660.0, 34.0, 388.0
_LETTER, _LINE = 6.4, 13.0
_LOSS, _RISK = "information loss, %", "expected linkage, %"
_LARGER = "linkage or disclosure, the larger, %"
# A percentage below this is none: an axis needs some length.
_NOTHING = 1e-12
# Where a label may stand about its point: (sideways, down, anchor).
_AROUND = (
    (13, 4, "start"),
    (0, -13, "middle"),
    (-13, 4, "end"),
    (0, 22, "middle"),
    (8, -8, "start"),
    (8, 16, "start"),
    (-8, -8, "end"),
    (-8, 16, "end"),
)

Box = tuple[float, float, float, float]


def risk_utility_map(
    points: Sequence[Choice],
    recommended: Choice | None = None,
    link: Callable[[Choice], str] | None = None,
) -> Svg:
    """Each choice at its loss (across) and risk (up): the nearer the lower left corner the better.

    Points that no other beats are filled; one method's points are joined in the order of k. Labels
    that find no free place are left out: the table has them all. link: where a point leads to.
    """
    risk_title = _RISK if all(point.disclosed is None for point in points) else _LARGER
    most_loss = _room(point.place[0] for point in points)
    most_risk = _room(point.place[1] for point in points)

    def place(point: Choice) -> tuple[float, float]:
        loss, risk = point.place
        across = _LEFT + (_RIGHT - _LEFT) * loss / most_loss
        return across, _BASE - (_BASE - _TOP) * risk / most_risk

    best = [point for point in points if not any(other.beats(point) for other in points)]
    marks = _axes(most_loss, most_risk, risk_title)
    by_method = sorted(points, key=lambda point: (point.asked, point.demands, point.k))
    for _, family in groupby(by_method, key=lambda point: (point.asked, point.demands)):
        path = " ".join(f"{x:.2f},{y:.2f}" for x, y in map(place, family))
        marks.append(element("polyline", points=path, class_="family"))
    taken: list[Box] = [(x - 5, y - 5, x + 5, y + 5) for x, y in map(place, points)]
    order = sorted(points, key=lambda point: (point != recommended, point not in best))
    labels = []
    for point in order:
        x, y = place(point)
        if point == recommended:
            marks.append(element("circle", cx=x, cy=y, r=9, class_="ring"))
        loss, risk = map(number, point.place)
        told = element("title", f"{point.label}: {risk_title} {risk}, {_LOSS} {loss}")
        kind = "point best" if point in best else "point"
        mark = element("circle", told, cx=x, cy=y, r=4.5, class_=kind)
        if link is not None:
            # The point is small; what can be hit need not be.
            hit = element("circle", cx=x, cy=y, r=13, class_="hit")
            mark = element("a", mark, hit, href=link(point), aria_label=point.label)
        marks.append(mark)
        strong = "tick map-label strong" if point in best else "tick map-label"
        labels += _label(x, y, shorten(point.label, 28), strong, taken)
    names = ", ".join(point.label for point in sorted(best, key=lambda point: point.place))
    words = f"{len(points)} choices. No other choice is better in both figures than: {names}."
    role = "img" if link is None else "group"
    return drawing(_WIDTH, _HEIGHT, "Risk and loss", words, *marks, *labels, most=1.3, role=role)


def _room(values: Iterable[float]) -> float:
    return max((value for value in values if value > _NOTHING), default=1.0) * 1.08


def _axes(most_loss: float, most_risk: float, risk_title: str) -> list[Svg]:
    marks = []
    values, decimals = round_ticks(0.0, most_loss, 7)
    for value in values:
        x = _LEFT + (_RIGHT - _LEFT) * value / most_loss
        marks.append(element("line", x1=x, x2=x, y1=_BASE, y2=_BASE + 4, class_="axis"))
        marks.append(text(x, _BASE + 19, number(value, decimals), "middle"))
    values, decimals = round_ticks(0.0, most_risk, 6)
    for value in values:
        y = _BASE - (_BASE - _TOP) * value / most_risk
        marks.append(element("line", x1=_LEFT, x2=_RIGHT, y1=y, y2=y, class_="grid"))
        marks.append(text(_LEFT - 8, y + 4, number(value, decimals), "end"))
    marks.append(element("line", x1=_LEFT, x2=_RIGHT, y1=_BASE, y2=_BASE, class_="axis"))
    marks.append(text(0, 14, f"↑ {risk_title}", class_="tick strong"))
    marks.append(text(_RIGHT, _BASE + 42, f"{_LOSS} →", "end", "tick strong"))
    marks.append(text(_LEFT + 8, _BASE - 9, "better", class_="tick faint"))
    return marks


def _label(x: float, y: float, words: str, class_: str, taken: list[Box]) -> list[Svg]:
    """The label at the first free place about its point, or nowhere."""
    long = _LETTER * len(words)
    for sideways, down, anchor in _AROUND:
        start = x + sideways - {"start": 0.0, "middle": long / 2, "end": long}[anchor]
        box = (start, y + down - _LINE + 3, start + long, y + down + 3)
        inside = box[0] >= _LEFT and box[2] <= _WIDTH and box[1] >= 0 and box[3] <= _BASE
        if inside and not any(_overlap(box, other) for other in taken):
            taken.append(box)
            return [text(x + sideways, y + down, words, anchor, class_)]
    return []


def _overlap(one: Box, other: Box) -> bool:
    return one[0] < other[2] and other[0] < one[2] and one[1] < other[3] and other[1] < one[3]
