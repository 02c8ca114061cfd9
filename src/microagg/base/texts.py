"""How a person writes a setting as text, what is made of it, and how names are shown.

Every function that reads takes the texts given to one option, which may be repeated, and the
option's name for the sentence that refuses them. A name with commas stands in double quotes, as in
a CSV file: '"name, first",age'.
"""

import re
import shlex
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

from microagg.base.demands import written_diversity
from microagg.base.errors import OptionError

Parse = Callable[[Sequence[str], str], Any]
_NUMBER = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)(e[+-]?\d+)?", re.ASCII | re.IGNORECASE)
_QUOTED = r'\s*"((?:[^"]|"")*)"\s*'
_NAME = re.compile(rf"(?:{_QUOTED}|([^,]*))(?:,|$)")
_ITEM = re.compile(rf"((?:{_QUOTED}=)?[^,]*)(?:,|$)")
_PAIR = re.compile(rf"(?:{_QUOTED}|([^=]*))=(.*)", re.DOTALL)


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
    found = (_named(match[1], match[2]) for text in texts for match in _NAME.finditer(text))
    return [name for name in found if name]


def listed(names: Sequence[str]) -> str:
    """Names as `names` reads them."""
    return ",".join(
        '"{}"'.format(name.replace('"', '""')) if set(name) & set('",=') or name.strip() != name
        else name
        for name in names
    )  # fmt: skip


def written_pairs(values: Mapping[str, str]) -> str:
    """Names and values as `pairs` reads them."""
    return ",".join(f"{listed([name])}={value}" for name, value in values.items())


def pairs(texts: Sequence[str], option: str) -> dict[str, str]:
    """name=value, of which one text may list several, with commas."""
    return dict(_pair(text, option, "value") for text in _items(texts))


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


def bounds(texts: Sequence[str], option: str) -> Any:
    """name=low:high, or name=a|b|c for categories; "from-data" is for experiments."""
    if list(texts) == ["from-data"]:
        return "from-data"
    found: dict[str, Any] = {}
    for name, value in pairs(texts, option).items():
        if "|" in value:
            found[name] = [text.strip() for text in value.split("|")]
            continue
        low, _, high = value.partition(":")
        sentence = (
            f"{option} takes name=low:high or name=category|category, but that of {name!r} is "
            "neither"
        )
        found[name] = (_number(low, float, sentence), _number(high, float, sentence))
    return found


def diversity(texts: Sequence[str], option: str) -> dict[str, Any]:
    """name=3 or name=kind:limits, of which one text may list several, with commas."""
    return written_diversity((_pair(text, option, "demand") for text in _items(texts)), option)


def options(texts: Sequence[str], option: str) -> dict[str, Any]:
    """name=value, one a text, where a value is a number, true, false, a list of these or text."""
    return {name: _value(value) for name, value in (_pair(t, option, "value") for t in texts)}


def size(text: str, name: str) -> int:
    """Bytes, of a text such as 4GB or 500 MB."""
    short = text.strip().upper().removesuffix("B")
    unit = {"K": 10**3, "M": 10**6, "G": 10**9, "T": 10**12}.get(short[-1:], 1)
    try:
        return int(float(short.rstrip("KMGT").strip()) * unit)
    except (ValueError, OverflowError):
        raise OptionError(
            f"{name} must be a size such as 4GB or 500MB, but {text!r:.30} arrived"
        ) from None


def _one_or_each(texts: Sequence[str], option: str, read: Callable[[str], Any]) -> Any:
    items = _items(texts)
    if len(items) == 1 and "=" not in items[0]:
        return read(items[0])
    return {name: read(value) for name, value in pairs(items, option).items()}


def _items(texts: Sequence[str]) -> list[str]:
    return [
        match[1].strip() for text in texts for match in _ITEM.finditer(text) if match[1].strip()
    ]


def _pair(text: str, option: str, form: str) -> tuple[str, str]:
    match = _PAIR.fullmatch(text)
    name, value = ("", "") if match is None else (_named(match[1], match[2]), match[3].strip())
    if not name or not value:
        raise OptionError(f"{option} takes name={form}, but {text!r} arrived")
    return name, value


def _named(quoted: str | None, bare: str | None) -> str:
    return (bare or "").strip() if quoted is None else quoted.replace('""', '"')


def _value(text: str) -> Any:
    text = text.strip()
    if text.lower() in ("true", "false"):
        return text.lower() == "true"
    if len(text) > 1 and text[0] == text[-1] and text[0] in "'\"":
        return text[1:-1]
    if text.startswith("[") and text.endswith("]"):
        return [_value(each) for each in text[1:-1].split(",") if each.strip()]
    if _NUMBER.fullmatch(text):
        # Python makes no integer of thousands of digits.
        return int(text) if text.lstrip("+-").isdigit() and len(text) < 400 else float(text)
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


def printable(text: str) -> str:
    """The text with everything spelt out that moves or colours what stands on a terminal."""
    return "".join(each if each.isprintable() else _escaped(each) for each in text)


def command(*words: str) -> str:
    """A command as a shell takes it, whatever its words hold."""
    return " ".join(
        shlex.quote(word) if word.isprintable() else _ansi_quoted(word) for word in words
    )


def _escaped(letter: str) -> str:
    return f"\\u{ord(letter):04x}" if ord(letter) < 1 << 16 else f"\\U{ord(letter):08x}"


def _ansi_quoted(word: str) -> str:
    """$'...', which bash, zsh and ksh know: letters that do not print are spelt out in it."""
    return "$'" + printable(word.replace("\\", "\\\\").replace("'", "\\'")) + "'"
