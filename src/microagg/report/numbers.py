"""How numbers are written, everywhere on a page."""

import math

_NARROW = "\N{NARROW NO-BREAK SPACE}"
_MINUS = "\N{MINUS SIGN}"
_TIMES = "\N{MULTIPLICATION SIGN}"
_NOTHING = "\N{EN DASH}"
_RAISED = str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹")
_MOST_DECIMALS = 6
_HUGE = 1e15


def number(value: float | str | None, decimals: int | None = None) -> str:
    """As many decimals as told, else up to four significant digits. Text stays as it is."""
    if isinstance(value, str):
        return value
    if value is None or value != value:
        return _NOTHING
    if math.isinf(value):
        return "∞" if value > 0 else f"{_MINUS}∞"
    if isinstance(value, int):
        return _signed(f"{value:,}")
    told = decimals is not None
    if decimals is None:
        decimals = decimals_for(value, 4) or 0
    if value and (abs(value) >= _HUGE or decimals > _MOST_DECIMALS):
        digits, _, exponent = f"{value:.2e}".partition("e")
        power = str(int(exponent)).translate(_RAISED)
        return f"{_signed(digits.rstrip('0').rstrip('.'))} {_TIMES} 10{power}"
    digits = f"{value:,.{min(decimals, _MOST_DECIMALS)}f}"
    return _signed(digits if told or not decimals else digits.rstrip("0").rstrip("."))


def decimals_for(scale: float | None, significant: int = 3) -> int | None:
    """Decimals that show this many digits of a number of this size; None if it has no size."""
    if not scale or not math.isfinite(scale):
        return None
    return max(0, significant - 1 - math.floor(math.log10(abs(scale))))


def percent(value: float | None) -> str:
    """One decimal; what is not quite nothing or not quite all is never rounded to it."""
    if value is None or value != value:
        return _NOTHING
    if 0 < value < 0.05:
        return f"< 0.1{_NARROW}%"
    if 99.95 <= value < 100:
        return f"> 99.9{_NARROW}%"
    shown = number(int(value) if float(value).is_integer() else value, 1)
    return f"{shown}{_NARROW}%"


def difference(value: float | None, decimals: int = 2) -> str:
    """A change, with its sign; a change too small to show is 0."""
    if value is None or value != value:
        return _NOTHING
    if abs(value) < 0.5 * 10.0**-decimals:
        return "0"
    return ("+" if value > 0 else "") + number(float(value), decimals)


def round_ticks(low: float, high: float, most: int = 5) -> tuple[list[float], int]:
    """Multiples of 1, 2 or 5 times a power of ten within [low, high], and their decimals."""
    span = high - low
    step = 10.0 ** math.floor(math.log10(span / most))
    step *= next(factor for factor in (1, 2, 5, 10, 20) if span / (step * factor) < most)
    first, last = math.ceil(low / step - 1e-9), math.floor(high / step + 1e-9)
    decimals = max(0, -math.floor(math.log10(step) + 1e-9))
    return [tick * step for tick in range(first, last + 1)], decimals


def _signed(digits: str) -> str:
    negative = digits.startswith("-") and digits.strip("-0.,")
    return (_MINUS if negative else "") + digits.lstrip("-").replace(",", _NARROW)
