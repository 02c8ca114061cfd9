"""Identifiers found by their values: whatever a column is called, a check digit does not lie.

Numbers of many kinds are told by their check digits, which one in ten numbers made at random has
right, and hardly ten of them in a row.
"""

import re
from collections.abc import Callable
from ipaddress import ip_address
from typing import NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from microagg.columns.text import is_text

# So many different values are looked at, so many are needed, and this share must be of the kind.
_LOOKED_AT = 500
_LEAST = 10
_SHARE = 0.9


class Identifier(NamedTuple):
    """What values are called, and whether a text is one; written together, in capitals."""

    name: str
    holds: Callable[[str], bool]
    as_written: bool = False


def identifier_in(column: pa.Array) -> str | None:
    """What identifies people in a column, if nearly all of its values are such; None otherwise.

    Some hundred different values are looked at, from the first to the last.
    """
    if not (is_text(column.type) or pa.types.is_integer(column.type)):
        return None
    values = pc.unique(column.drop_null())
    if len(values) < _LEAST:
        return None
    places = np.linspace(0, len(values) - 1, min(_LOOKED_AT, len(values))).astype(np.int64)
    texts = [text.strip() for text in values.take(pa.array(places)).cast(pa.string()).to_pylist()]
    together = [re.sub(r"[\s.\-/]", "", text).upper() for text in texts]
    for kind in _KINDS:
        if pa.types.is_integer(column.type) and kind.as_written:
            continue
        looked_at = texts if kind.as_written else together
        if _nearly_all(kind.holds, looked_at):
            return kind.name
    return None


def _nearly_all(holds: Callable[[str], bool], texts: list[str]) -> bool:
    """Whether enough texts are of a kind; those that are not show it soon."""
    others = 0
    for text in texts:
        if not holds(text):
            others += 1
            if len(texts) - others < _SHARE * len(texts):
                return False
    return True


def _matches(pattern: str) -> Callable[[str], bool]:
    whole = re.compile(pattern, re.ASCII | re.IGNORECASE)
    return lambda text: whole.fullmatch(text) is not None


# As written in North America and Spain, where the first digit is no 0.
_GROUPED = re.compile(r"[2-9]\d{2}[-. ]\d{3}[-. ]\d{4}|[679]\d{2} \d{3} \d{3}", re.ASCII)
_HARDWARE = re.compile(r"([0-9a-f]{2}[:-]){5}[0-9a-f]{2}", re.ASCII | re.IGNORECASE)


def _is_network_address(text: str) -> bool:
    try:
        return bool(_HARDWARE.fullmatch(text) or ip_address(text))
    except ValueError:
        return False


def _is_telephone(text: str) -> bool:
    if _GROUPED.fullmatch(text):
        return True
    if not re.fullmatch(r"[+(\d][\d ()./\-]{5,24}", text, re.ASCII):
        return False
    digits = len(re.sub(r"\D", "", text))
    return 7 <= digits <= 15 and (text.startswith(("+", "00")) or (text[0] in "0(" and digits >= 9))


def _is_iban(text: str) -> bool:
    if not re.fullmatch(r"[A-Z]{2}\d{2}[A-Z\d]{11,30}", text, re.ASCII):
        return False
    return int("".join(str(int(each, 36)) for each in text[4:] + text[:4])) % 97 == 1


def _digits(text: str, pattern: str) -> list[int]:
    """The digits of a text, none if it does not look as it should."""
    return [int(each) for each in text] if re.fullmatch(pattern, text, re.ASCII) else []


def _weighted(digits: list[int], weights: tuple[int, ...]) -> int:
    return sum(digit * weight for digit, weight in zip(digits, weights, strict=False))


def _is_spanish(text: str) -> bool:
    """DNI and NIE: a letter by the remainder of 23."""
    if not re.fullmatch(r"[XYZ\d]\d{7}[A-Z]", text, re.ASCII):
        return False
    number = int(text[:-1].translate(str.maketrans("XYZ", "012")))
    return "TRWAGMYFPDXBNJZSQVHLCKE"[number % 23] == text[-1]


def _is_french(text: str) -> bool:
    """NIR: 97 less the remainder of 97, Corsica's letters being numbers."""
    if not re.fullmatch(r"[1-478]\d{4}(\d{2}|2[AB])\d{8}", text, re.ASCII):
        return False
    number = int(text[:13].replace("2A", "19").replace("2B", "18"))
    return 97 - number % 97 == int(text[13:])


def _is_italian(text: str) -> bool:
    """Codice fiscale: a letter by values that differ in odd and even places."""
    number = r"[\dLMNPQRSTUV]"
    form = rf"[A-Z]{{6}}{number}{{2}}[A-EHLMPRST]{number}{{2}}[A-Z]{number}{{3}}[A-Z]"
    if not re.fullmatch(form, text, re.ASCII):
        return False
    odd = [1, 0, 5, 7, 9, 13, 15, 17, 19, 21, 2, 4, 18, 20, 11, 3, 6, 8, 12, 14, 16, 10, 22, 25]
    odd += [24, 23]
    total = 0
    for place, each in enumerate(text[:15]):
        value = int(each) if each.isdigit() else ord(each) - ord("A")
        total += value if place % 2 else odd[value]
    return chr(ord("A") + total % 26) == text[15]


def _is_german(text: str) -> bool:
    """Tax number: ISO 7064, modulus 11, 10; one digit comes twice or three times."""
    digits = _digits(text, r"[1-9]\d{10}")
    if not digits or len(set(digits[:10])) not in (8, 9):
        return False
    product = 10
    for digit in digits[:10]:
        product = ((digit + product) % 10 or 10) * 2 % 11
    return (11 - product) % 10 == digits[10]


def _is_dutch(text: str) -> bool:
    """BSN: the weighted sum is a multiple of 11."""
    digits = _digits(text.zfill(9), r"\d{9}")
    return any(digits) and _weighted(digits, (9, 8, 7, 6, 5, 4, 3, 2, -1)) % 11 == 0


def _is_portuguese(text: str) -> bool:
    """NIF: 11 less the remainder of 11, 0 if that is more than a digit."""
    digits = _digits(text, r"[1235689]\d{8}")
    if not digits:
        return False
    remainder = _weighted(digits[:8], (9, 8, 7, 6, 5, 4, 3, 2)) % 11
    return digits[8] == (0 if remainder < 2 else 11 - remainder)


def _is_belgian(text: str) -> bool:
    """National number: 97 less the remainder of 97, with a 2 before it since 2000."""
    digits = _digits(text.zfill(11), r"\d{2}[0-5]\d[0-3]\d{6}")
    if not digits:
        return False
    first, check = int(text.zfill(11)[:9]), int(text.zfill(11)[9:])
    return check in (97 - first % 97, 97 - (2_000_000_000 + first) % 97)


def _is_swiss(text: str) -> bool:
    """AHV number: as of EAN-13."""
    digits = _digits(text, r"756\d{10}")
    return bool(digits) and _weighted(digits, (1, 3) * 6 + (1,)) % 10 == 0


def _is_austrian(text: str) -> bool:
    """Social insurance number: the fourth digit is the remainder of 11."""
    digits = _digits(text, r"[1-9]\d{3}[0-3]\d[0-1]\d{3}")
    return bool(digits) and _weighted(digits, (3, 7, 9, 0, 5, 8, 4, 2, 1, 6)) % 11 == digits[3]


def _is_polish(text: str) -> bool:
    """PESEL: the weighted sum ends in 0."""
    digits = _digits(text.zfill(11), r"\d{4}[0-3]\d{6}")
    return any(digits) and _weighted(digits, (1, 3, 7, 9, 1, 3, 7, 9, 1, 3, 1)) % 10 == 0


def _is_british(text: str) -> bool:
    """NHS number: 11 less the remainder of 11."""
    digits = _digits(text, r"[1-9]\d{9}")
    return bool(digits) and _weighted(digits, (10, 9, 8, 7, 6, 5, 4, 3, 2, 1)) % 11 == 0


def _luhn(digits: list[int]) -> bool:
    doubled = [2 * each - 9 * (each > 4) for each in digits[-2::-2]]
    return (sum(doubled) + sum(digits[-1::-2])) % 10 == 0


def _is_swedish(text: str) -> bool:
    """Personal number: a day of birth, and Luhn's check."""
    digits = _digits(text, r"(19|20)?\d{2}[01]\d[0-3]\d{5}")
    return bool(digits) and _luhn(digits[-10:])


def _is_card(text: str) -> bool:
    digits = _digits(text, r"[3-6]\d{14,15}")
    return bool(digits) and _luhn(digits)


_DEGREES = r"[+-]?\d{1,3}\.\d{3,}°?( ?[NSEW])?"
_MINUTES = r"""\d{1,3}° ?\d{1,2}(\.\d+)?['\u2032] ?(\d{1,2}(\.\d+)?["\u2033] ?)?"""
_KINDS = (
    Identifier("e-mail addresses", _matches(r"[^@\s]+@[^@\s]+\.[a-z]{2,}"), True),
    Identifier("UUIDs", _matches(r"\{?[0-9a-f]{8}(-?[0-9a-f]{4}){3}-?[0-9a-f]{12}\}?"), True),
    Identifier("web addresses", _matches(r"(https?://|www\.)\S+"), True),
    Identifier("network addresses", _is_network_address, True),
    Identifier(
        "coordinates of places",
        _matches(
            rf"(POINT ?)?\(?{_DEGREES}[,;\s]\s*{_DEGREES}\)?|{_MINUTES}[NS][,;\s]*{_MINUTES}[EW]"
        ),
        True,
    ),
    Identifier(
        "social security numbers of the US",
        _matches(r"(?!000|666|9)\d{3}-(?!00)\d{2}-(?!0000)\d{4}"),
        True,
    ),
    Identifier("IBANs", _is_iban),
    Identifier("Spanish DNI or NIE numbers", _is_spanish),
    Identifier("French social security numbers", _is_french),
    Identifier("Italian fiscal codes", _is_italian),
    Identifier("Swiss AHV numbers", _is_swiss),
    Identifier("payment card numbers", _is_card),
    Identifier("German tax numbers", _is_german),
    Identifier("Belgian national numbers", _is_belgian),
    Identifier("Polish PESEL numbers", _is_polish),
    Identifier("Austrian social insurance numbers", _is_austrian),
    Identifier("Swedish personal numbers", _is_swedish),
    Identifier("Dutch BSN numbers", _is_dutch),
    Identifier("Portuguese tax numbers", _is_portuguese),
    Identifier("British NHS numbers", _is_british),
    Identifier("telephone numbers", _is_telephone, True),
)
