"""Small charts of aggregates, as SVG inside the page.

They get counts and correlations, never records: plotting libraries embed every value they plot, and
a report must not leak the data it protects. The release is filled, the original an outline over it.
"""

import math
from collections.abc import Sequence

from microagg.columns.told import Bar, Correlations, Pair
from microagg.report.numbers import difference, number, percent, round_ticks
from microagg.report.svg import Svg, drawing, element, shorten, text

WIDTH = 290.0
_LETTER = 6.2  # about the width of a character of the charts' text
_MOST_CATEGORIES = 12
_MOST_SIZES = 12
_TO = "\N{EN DASH}"


def histogram(
    name: str,
    bars: Sequence[Bar],
    dates: bool = False,
    limit: tuple[float, str] | None = None,
    what: str = "records",
) -> Svg:
    """Bins as areas; `dates` are labelled by their bars' labels instead of round numbers.

    limit: where a line stands, on the axis of bins that have ends, and its words.
    """
    left, right, top, base = 2.0, WIDTH - 2.0, 18.0, 112.0
    edges = _edges(bars)
    # Areas stand for counts; bins equally wide, the usual case, are as high as their counts.
    usual = sum(high - low for low, high in edges) / len(bars)
    dense = [usual / (high - low) for low, high in edges]
    equal = max(dense) - min(dense) < 1e-6
    most = max(
        1.0, *(max(bar.after, bar.before or 0) * d for bar, d in zip(bars, dense, strict=True))
    )
    places = [(left + (right - left) * low, left + (right - left) * high) for low, high in edges]

    def tops(counts: Sequence[int]) -> list[float]:
        return [base - (base - top) * n * d / most for n, d in zip(counts, dense, strict=True)]

    marks = []
    if equal:
        marks.append(text(left, top - 6, number(round(most)), class_="tick faint"))
        marks.append(element("line", x1=left, x2=right, y1=top, y2=top, class_="grid"))
    for (start, end), y in zip(places, tops([bar.after for bar in bars]), strict=True):
        gap = min(1.0, (end - start) / 8)
        marks.append(_bar(start + gap / 2, y, end - start - gap, base - y, "after"))
    before = [bar.before for bar in bars if bar.before is not None]
    if len(before) == len(bars):
        marks.append(element("path", d=_outline(places, tops(before), base), class_="before"))
    marks.append(_rule(left, right, base))
    marks += _limit_line(bars, limit, left, right, top, base)
    for share, words in _ticks(bars, dates):
        anchor = "start" if share < 0.04 else "end" if share > 0.96 else "middle"
        marks.append(text(left + (right - left) * share, base + 15, words, anchor))
    return drawing(WIDTH, base + 20, name, _histogram_in_words(bars, what), *marks)


def _limit_line(
    bars: Sequence[Bar],
    limit: tuple[float, str] | None,
    left: float,
    right: float,
    top: float,
    base: float,
) -> list[Svg]:
    """A line that must not be crossed, with its words on the side where there is room."""
    ends = _ends(bars)
    if limit is None or not ends:
        return []
    share = (limit[0] - ends[0][0]) / (ends[-1][1] - ends[0][0])
    if not 0.0 <= share <= 1.0:
        return []
    x = left + (right - left) * share
    late = share > 0.6
    words = text(x + (-4 if late else 4), top - 6, limit[1], "end" if late else "start")
    return [element("line", x1=x, x2=x, y1=top - 14, y2=base, class_="limit"), words]


def category_bars(name: str, bars: Sequence[Bar]) -> Svg:
    """One line a category, the rarest gathered as others where there are more than 12."""
    bars = _gather(bars)
    counts = [
        (number(bar.after), "" if bar.before in (None, bar.after) else f" was {number(bar.before)}")
        for bar in bars
    ]
    first = min(112.0, 10 + _LETTER * max(len(bar.label) for bar in bars))
    room = _LETTER * max(len(after) + len(before) for after, before in counts)
    longest = max(20.0, WIDTH - first - room - 8)
    most = max(1, *(max(bar.after, bar.before or 0) for bar in bars))
    step, thick = 19.0, 11.0
    marks = []
    for line, (bar, (after, before)) in enumerate(zip(bars, counts, strict=True)):
        y = 4 + step * line
        words = shorten(bar.label, int((first - 8) / _LETTER))
        marks.append(text(0, y + thick - 1.5, words, class_="tick strong"))
        marks.append(_bar(first, y, longest * bar.after / most, thick, "after"))
        if bar.before is not None:
            marks.append(_bar(first, y, longest * bar.before / most, thick, "before"))
        shown = [after] + ([element("tspan", before, class_="faint")] if before else [])
        marks.append(
            element(
                "text", *shown, x=WIDTH, y=y + thick - 1.5, text_anchor="end", class_="tick strong"
            )
        )
    marks.append(element("line", x1=first, x2=first, y1=1, y2=step * len(bars), class_="axis"))
    return drawing(WIDTH, step * len(bars) + 3, name, _categories_in_words(bars), *marks)


def group_sizes(sizes: Sequence[tuple[int, int]]) -> Svg:
    """How many groups have how many records."""
    columns = _ranges(sorted(sizes))
    top, base, left = 20.0, 122.0, 2.0
    lengths = [len(words) for label, count in columns for words in (label, number(count))]
    step = max(39.0, 10 + _LETTER * max(lengths))
    thick = step - 9
    width = left + step * max(len(columns), 6)
    most = max(count for _, count in columns)
    marks = []
    for column, (label, count) in enumerate(columns):
        x = left + step * column
        tall = (base - top) * count / most
        marks.append(_bar(x, base - tall, thick, tall, "after"))
        middle = x + thick / 2
        marks.append(text(middle, base - tall - 5, number(count), "middle", "tick strong"))
        marks.append(text(middle, base + 15, label, "middle"))
    marks.append(_rule(left, left + step * len(columns) - 9, base))
    marks.append(text(left, base + 33, "records in the group", class_="tick faint"))
    words = "; ".join(f"{number(count)} groups of {label}" for label, count in columns)
    return drawing(width, base + 38, "Sizes of the groups", words, *marks, most=1.1)


def risk_bars(bars: Sequence[tuple[str, float | None, float]]) -> Svg:
    """How many share their values with how many, before beside after, in percent of the records."""
    top, base, left = 20.0, 122.0, 2.0
    told = any(before is not None for _, before, _ in bars)
    # As narrow as the figures above the bars allow: small screens shrink whatever is wider.
    thick, step = 38.0, 94.0 if told else 56.0
    apart = step - (2 if told else 1) * thick
    most = max(1.0, *(max(before or 0.0, after) for _, before, after in bars))
    marks, words = [], []
    for place, (label, before, after) in enumerate(bars):
        x = left + step * place
        middle = x + (step - apart) / 2
        shown = [(after, "after")] if before is None else [(before, "before"), (after, "after")]
        for share, class_ in shown:
            tall = (base - top) * share / most
            if share:
                marks.append(_bar(x + 2, base - tall, thick - 4, tall, class_))
            strong = "tick strong" if share else "tick faint"
            marks.append(text(x + thick / 2, base - tall - 5, percent(share), "middle", strong))
            x += thick
        marks.append(text(middle, base + 15, label, "middle"))
        was = "" if before is None else f", before {percent(before)}"
        words.append(f"{label}: {percent(after)}{was}")
    width = left + step * len(bars) - apart
    marks.append(_rule(left, width, base))
    marks.append(text(left, base + 33, "records that share their values", class_="tick faint"))
    return drawing(width + 2, base + 38, "Risk", "; ".join(words), *marks, most=1.3)


def heat_cells(correlations: Correlations) -> Svg:
    """A triangle of cells, darker where a correlation moved (or, untold, where it is strong).

    Columns are numbered along the diagonal.
    """
    names = correlations.names
    cell = max(9.0, min(18.0, 460 / len(names)))
    size = min(11.0, 0.8 * cell)
    first = 10 + 0.6 * size * max(len(shorten(name, 24)) for name in names)
    marks = []
    for row, name in enumerate(names):
        for column in range(row):
            pair = correlations.pair(row, column)
            if pair is not None:
                marks.append(_cell(pair, first + cell * column, cell * row, cell - 1))
        y = cell * (row + 0.5) + 0.35 * size
        style: dict[str, str | float] = {"class_": "strong", "font_size": size}
        marks.append(
            element("text", shorten(name, 24), x=first - 6, y=y, text_anchor="end", **style)
        )
        middle = first + cell * (row + 0.5)
        marks.append(element("text", number(row + 1), x=middle, y=y, text_anchor="middle", **style))
    side = cell * len(names)
    told = "how far each correlation moved" if correlations.before else "how strong each is"
    words = f"{len(names)} columns; darker cells show {told}."
    return drawing(first + side, side, "Correlations of all columns", words, *marks, most=1.1)


def tint(pair: Pair) -> float:
    """How dark a pair's cell is, 0 to 0.45, so that text on it stays readable.

    A correlation moved by 0.2 is as dark as can be; where the original is untold, one of 1 is.
    """
    darkness = abs(pair.after) if pair.change is None else abs(pair.change) / 0.2
    return round(0.45 * min(1.0, darkness), 3)


def _cell(pair: Pair, x: float, y: float, side: float) -> Svg:
    moved = "" if pair.change is None else f", change {difference(pair.change)}"
    told = element("title", f"{pair.one} and {pair.other}: {number(pair.after, 2)}{moved}")
    opacity = max(0.04, 2 * tint(pair))
    place = {"x": x, "y": y, "width": side, "height": side}
    return element("rect", told, class_="cell", fill_opacity=opacity, **place)


def _outline(places: Sequence[tuple[float, float]], tops: Sequence[float], base: float) -> str:
    """One line over all bins, down to the base wherever bins leave a gap."""
    path = f"M{places[0][0]:.2f} {base:.2f}"
    last = places[0][0]
    for (start, end), y in zip(places, tops, strict=True):
        if start - last > 1e-6:
            path += f"V{base:.2f}H{start:.2f}"
        path += f"V{y:.2f}H{end:.2f}"
        last = end
    return f"{path}V{base:.2f}"


def _edges(bars: Sequence[Bar]) -> list[tuple[float, float]]:
    """Each bin's place as shares of the axis: to scale where bins have ends, else side by side."""
    ends = _ends(bars)
    if not ends:
        return [(place / len(bars), (place + 1) / len(bars)) for place in range(len(bars))]
    first, last = ends[0][0], ends[-1][1]
    return [((low - first) / (last - first), (high - first) / (last - first)) for low, high in ends]


def _ends(bars: Sequence[Bar]) -> list[tuple[float, float]]:
    """The bins' ends on the axis, or [] where they do not make a scale."""
    ends = [(bar.low, bar.high) for bar in bars if bar.low is not None and bar.high is not None]
    flat = [end for pair in ends for end in pair]
    if len(ends) < len(bars) or not all(map(math.isfinite, flat)) or flat != sorted(flat):
        return []
    span = flat[-1] - flat[0]
    # Bins too thin to be seen, or hardly apart as floats, would make a scale of rounding errors.
    visible = all(high - low > 1e-4 * span for low, high in ends)
    return ends if visible and 1e-9 * max(map(abs, flat)) < span < math.inf else []


def _ticks(bars: Sequence[Bar], dates: bool) -> list[tuple[float, str]]:
    ends = _ends(bars)
    if ends and not dates:
        low, high = ends[0][0], ends[-1][1]
        for most in (6, 4, 2):
            values, decimals = round_ticks(low, high, most)
            words = [number(value, decimals) for value in values]
            if _LETTER * sum(len(word) + 2 for word in words) < WIDTH:
                break
        shares = [(value - low) / (high - low) for value in values]
        return list(zip(shares, words, strict=True))
    middles = [(low + high) / 2 for low, high in _edges(bars)]
    if _LETTER * sum(len(bar.label) + 2 for bar in bars) < WIDTH:
        return [(middle, bar.label) for middle, bar in zip(middles, bars, strict=True)]
    room = int(WIDTH / 3 / _LETTER) - 1
    middle = len(bars) // 2
    shown = [(0.0, bars[0].label), (middles[middle], bars[middle].label), (1.0, bars[-1].label)]
    return [(share, shorten(label, room)) for share, label in shown]


def _rule(left: float, right: float, y: float) -> Svg:
    return element("line", x1=left, x2=right, y1=y, y2=y, class_="axis")


def _bar(x: float, y: float, width: float, height: float, class_: str) -> Svg:
    return element("rect", x=x, y=y, width=width, height=height, class_=class_)


def _gather(bars: Sequence[Bar]) -> list[Bar]:
    if len(bars) <= _MOST_CATEGORIES:
        return list(bars)
    by_count = sorted(range(len(bars)), key=lambda i: -max(bars[i].after, bars[i].before or 0))
    kept = sorted(by_count[: _MOST_CATEGORIES - 1])
    rest = [bars[i] for i in by_count[_MOST_CATEGORIES - 1 :]]
    before = [bar.before for bar in rest if bar.before is not None]
    label = f"{number(len(rest))} others"
    after = sum(bar.after for bar in rest)
    return [bars[i] for i in kept] + [
        Bar(label, None, None, sum(before) if before else None, after)
    ]


def _ranges(sizes: Sequence[tuple[int, int]]) -> list[tuple[str, int]]:
    """Sizes one by one, or where there are many, in equal ranges that leave none out."""
    if len(sizes) <= _MOST_SIZES:
        return [(number(size), count) for size, count in sizes]
    least, most = sizes[0][0], sizes[-1][0]
    width = -(-(most - least + 1) // _MOST_SIZES)
    ranges = {}
    for start in range(least, most + 1, width):
        last = start + width - 1
        ranges[f"{start}{_TO}{last}"] = sum(count for size, count in sizes if start <= size <= last)
    return list(ranges.items())


def _histogram_in_words(bars: Sequence[Bar], what: str) -> str:
    tallest = max(bars, key=lambda bar: bar.after)
    words = f"Histogram of {len(bars)} bins: first {bars[0].label}, last {bars[-1].label}. "
    words += f"In the release the fullest is {tallest.label} with {number(tallest.after)} {what}"
    if tallest.before is not None:
        other = "the original has" if what == "records" else "k alone has"
        words += f", where {other} {number(tallest.before)}"
    return words + "."


def _categories_in_words(bars: Sequence[Bar]) -> str:
    lines = (
        f"{bar.label}: {number(bar.after)}"
        + ("" if bar.before is None else f", in the original {number(bar.before)}")
        for bar in bars
    )
    return "; ".join(lines) + "."
