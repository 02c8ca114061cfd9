"""What a prompt and a notebook show of a result: its figures in short, never an original."""

from collections.abc import Iterable, Mapping, Sequence
from html import escape

# Headings and rows of a small table.
Rows = tuple[Sequence[str], Iterable[Sequence[str]]]


class Showing:
    """Something that shows itself by the figures and the rows that it tells."""

    def _told(self) -> Mapping[str, object]:
        """Figures in short, by name."""
        raise NotImplementedError

    def _rows(self) -> Rows | None:
        """A small table, for a notebook."""
        return None

    def __repr__(self) -> str:
        told = ", ".join(f"{name}={value}" for name, value in self._told().items())
        return f"{type(self).__name__}({told})"

    def _repr_html_(self) -> str:
        figures = _table(None, ((name, str(value)) for name, value in self._told().items()))
        rows = self._rows()
        more = "" if rows is None else _table(*rows)
        return f"<div><strong>{type(self).__name__}</strong>{figures}{more}</div>"


def _table(headings: Sequence[str] | None, rows: Iterable[Sequence[str]]) -> str:
    head = "" if headings is None else f"<thead>{_line('th', headings)}</thead>"
    body = "".join(_line("td", row) for row in rows)
    return f"<table>{head}<tbody>{body}</tbody></table>"


def _line(cell: str, texts: Iterable[str]) -> str:
    return f"<tr>{''.join(f'<{cell}>{escape(text)}</{cell}>' for text in texts)}</tr>"
