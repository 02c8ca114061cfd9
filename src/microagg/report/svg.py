"""The few words of SVG the charts are written in; all text is escaped here."""

import html


class Svg(str):
    """Finished markup, which templates take as it is."""

    __slots__ = ()

    def __html__(self) -> str:
        return self


def element(tag: str, *children: str, **attributes: str | float) -> Svg:
    """`<tag attributes>children</tag>`; children that are not yet Svg are text.

    An underscore in an attribute's name is a hyphen, at its end it is nothing (class_).
    """
    written = "".join(
        f' {name.rstrip("_").replace("_", "-")}="{html.escape(_text(value))}"'
        for name, value in attributes.items()
    )
    inside = "".join(
        child if isinstance(child, Svg) else html.escape(child, quote=False) for child in children
    )
    return Svg(f"<{tag}{written}>{inside}</{tag}>")


def drawing(
    width: float,
    height: float,
    title: str,
    description: str,
    *children: str,
    most: float = 2.0,
    role: str = "img",
) -> Svg:
    """A chart that fills its place, and tells its content to those who cannot see it.

    It grows to at most so many times its own size. role: "group" if parts of it lead somewhere.
    """
    return element(
        "svg",
        element("title", title),
        element("desc", description),
        *children,
        class_="chart",
        width=width * most,
        viewBox=f"0 0 {_text(width)} {_text(height)}",
        role=role,
    )


def text(x: float, y: float, words: str, anchor: str = "start", class_: str = "tick") -> Svg:
    """A line of text; `anchor` is the end of it that stands at x."""
    return element("text", words, x=x, y=y, text_anchor=anchor, class_=class_)


def shorten(words: str, length: int) -> str:
    """At most this many characters, the rest an ellipsis."""
    return words if len(words) <= length else words[: length - 1].rstrip() + "…"


def _text(value: str | float) -> str:
    if isinstance(value, str):
        return value
    return f"{value:.2f}".rstrip("0").rstrip(".")
