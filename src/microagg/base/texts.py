"""How a person writes a setting as text, and what is made of it.

Every function takes the texts given to one option, which may be repeated, and the option's name for
the sentence that refuses them.
"""

import re
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from microagg.base.errors import OptionError

Parse = Callable[[Sequence[str], str], Any]
_NUMBER = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)(e[+-]?\d+)?", re.ASCII | re.IGNORECASE)


class Spelled(NamedTuple):
    """How a setting is written where settings are text, as on a command line.

    parse: makes its value of texts; None where it is one plain number, word or yes.
    flag: a short name. name: the long one, if not that of the setting.
    """

    parse: Parse | None = None
    flag: str | None = None
    name: str | None = None


def one(texts: Sequence[str], _option: str) -> Any:
    """A number, true, false or a list of these; else text. Given twice, the last counts."""
    return _value(texts[-1])


def as_written(texts: Sequence[str], _option: str) -> list[str]:
    """Texts that may hold anything, commas too."""
    return list(texts)


def names(texts: Sequence[str], _option: str) -> list[str]:
    """Names, of which one text may list several, with commas."""
    return [name.strip() for text in texts for name in text.split(",") if name.strip()]


def pairs(texts: Sequence[str], option: str) -> dict[str, str]:
    """name=value, of which one text may list several, with commas."""
    return dict(_pair(text, option, "value") for text in names(texts, option))


def numbers(texts: Sequence[str], option: str) -> dict[str, float]:
    """name=number, of which one text may list several, with commas."""
    sentence = f"{option} takes name=number"
    return {name: _number(value, float, sentence) for name, value in pairs(texts, option).items()}


def one_or_each(texts: Sequence[str], option: str) -> Any:
    """One number or text for all columns, or name=value for each, with commas."""
    return _one_or_each(texts, option, _number_or_text)


def places(texts: Sequence[str], option: str) -> int | dict[str, int]:
    """One number of places for all columns, or name=places for each, with commas."""
    sentence = f"{option} takes a number of places, or name=places"
    return _one_or_each(texts, option, lambda text: _number(text, int, sentence))


def orders(texts: Sequence[str], option: str) -> dict[str, list[str]]:
    """name=low<middle<high, one column a text; categories may hold commas."""
    found = {}
    for text in texts:
        name, categories = _pair(text, option, "low<middle<high")
        if "<" not in categories:
            raise OptionError(f"{option} takes name=low<middle<high, but {text!r} arrived")
        found[name] = [category.strip() for category in categories.split("<")]
    return found


def options(texts: Sequence[str], option: str) -> dict[str, Any]:
    """name=value, one a text, where a value is a number, true, false, a list of these or text."""
    return {name: _value(value) for name, value in (_pair(t, option, "value") for t in texts)}


def _one_or_each(texts: Sequence[str], option: str, read: Callable[[str], Any]) -> Any:
    listed = names(texts, option)
    if len(listed) == 1 and "=" not in listed[0]:
        return read(listed[0])
    return {name: read(value) for name, value in pairs(listed, option).items()}


def _pair(text: str, option: str, form: str) -> tuple[str, str]:
    name, _, value = text.partition("=")
    if not name.strip() or not value.strip():
        raise OptionError(f"{option} takes name={form}, but {text!r} arrived")
    return name.strip(), value.strip()


def _value(text: str) -> Any:
    text = text.strip()
    if text.lower() in ("true", "false"):
        return text.lower() == "true"
    if len(text) > 1 and text[0] == text[-1] and text[0] in "'\"":
        return text[1:-1]
    if text.startswith("[") and text.endswith("]"):
        return [_value(each) for each in text[1:-1].split(",") if each.strip()]
    if _NUMBER.fullmatch(text):
        return int(text) if text.lstrip("+-").isdigit() else float(text)
    return text


def _number_or_text(text: str) -> float | str:
    try:
        return float(text)
    except ValueError:
        return text


def _number(text: str, kind: type, sentence: str) -> Any:
    try:
        return kind(text)
    except ValueError:
        raise OptionError(sentence) from None
