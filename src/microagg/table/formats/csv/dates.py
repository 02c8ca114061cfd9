"""Dates as they are written in different countries: 25.11.1966, 11/25/1966, 25/11/1966; or 1966-11,
which is read as the first day of the month."""

import re
from collections.abc import Callable

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

_PARTS = {"%d": pc.day, "%m": pc.month, "%Y": pc.year}
_DIGITS = {"%d": r"(?P<d>\d{1,2})", "%m": r"(?P<m>\d{1,2})", "%Y": r"(?P<Y>\d{4})"}
_SHAPE = re.compile(r"(\d{1,4})([-./])\d{1,2}\2(\d{1,4})", re.ASCII)
# With other signs it may be a number, or a school year: these are read if somebody says so.
_MONTHS = {"%Y-%m": re.compile(r"\d{4}-\d\d", re.A), "%m/%Y": re.compile(r"\d{1,2}/\d{4}", re.A)}


def find_dates(
    example: str, text: pa.Array, asked: str | None
) -> tuple[Callable[[pa.Array], pa.Array], str, bool]:
    """How these fields are read as dates, their form, and whether zeros lead to two digits.

    asked: the only form to try. ArrowInvalid if they are no dates, or can be read in two ways.
    """
    found = []
    for form in (asked,) if asked else _forms(example):
        for padded in (True, False):
            try:
                _read(text, form, padded)
            except pa.ArrowInvalid:
                continue
            found.append((form, padded))
            break
    if len(found) != 1:
        raise pa.ArrowInvalid
    form, padded = found[0]
    return lambda fields: _read(fields, form, padded), form, padded


def as_written(dates: pa.Array, form: str, padded: bool) -> pa.Array:
    """Dates as text in a form."""
    texts = []
    for part in re.findall("%[dmY]", form):
        number = pc.cast(_PARTS[part](dates), pa.large_string())
        width = 4 if part == "%Y" else 2 if padded else 1
        texts.append(pc.utf8_lpad(number, width, "0"))
    return pc.binary_join_element_wise(*texts, pa.scalar(form[2], pa.large_string()))


def _forms(example: str) -> list[str]:
    """The forms that a date like this one may have; that of ISO 8601 is none of them."""
    months = [form for form, shape in _MONTHS.items() if shape.fullmatch(example)]
    if months:
        return months
    shape = _SHAPE.fullmatch(example)
    if shape is None or (len(shape[1]) == 4) == (len(shape[3]) == 4):
        return []
    sign = shape[2]
    if len(shape[1]) == 4:
        return [f"%Y{sign}%m{sign}%d"]
    # With points nobody puts the month first.
    orders = ("dmY",) if sign == "." else ("dmY", "mdY")
    return [sign.join(f"%{part}" for part in order) for order in orders]


def _read(text: pa.Array, form: str, padded: bool) -> pa.Array:
    shape = re.escape(form)
    for part, digits in _DIGITS.items():
        shape = shape.replace(part, digits)
    parts = pc.extract_regex(text, f"^{shape}$")
    if parts.null_count > text.null_count:
        raise pa.ArrowInvalid
    year, month, day = (
        pc.cast(pc.struct_field(parts, name), pa.int64()).fill_null(1).to_numpy()
        if f"%{name}" in form
        else np.ones(len(text), np.int64)
        for name in "Ymd"
    )
    months = ((year - 1970) * 12 + month - 1).astype("datetime64[M]")
    days = months.astype("datetime64[D]").astype(np.int64) + day - 1
    gaps = text.is_null().to_numpy(zero_copy_only=False)
    dates = pa.array(days.astype(np.int32), mask=gaps).cast(pa.date32())
    # What is no day, such as the 31st of June, or has other zeros, is written otherwise.
    if not as_written(dates, form, padded).equals(pc.cast(text, pa.large_string())):
        raise pa.ArrowInvalid
    return dates
