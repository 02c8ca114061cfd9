import math

import pytest

from microagg.report.numbers import decimals_for, difference, number, percent


def plain(text):
    return text.replace("\N{NARROW NO-BREAK SPACE}", " ").replace("\N{MINUS SIGN}", "-")


@pytest.mark.parametrize(
    ("value", "written"),
    [
        (0, "0"),
        (0.0, "0"),
        (-0.0, "0"),
        (3000, "3 000"),
        (-1234567, "-1 234 567"),
        (3000.0, "3 000"),
        (0.1 + 0.2, "0.3"),
        (8.1, "8.1"),
        (0.7312345678901234, "0.7312"),
        (31244.718, "31 245"),
        (1999.99999, "2 000"),
        (0.00012345, "1.23 \N{MULTIPLICATION SIGN} 10⁻⁴"),
        (-2.5e20, "-2.5 \N{MULTIPLICATION SIGN} 10²⁰"),
        (math.inf, "∞"),
        (math.nan, "\N{EN DASH}"),
        (None, "\N{EN DASH}"),
        ("1 in 5", "1 in 5"),
    ],
)
def test_numbers_are_short_and_readable(value, written):
    assert plain(number(value)) == written


def test_told_decimals_are_kept_so_that_numbers_stand_in_line():
    assert (number(8.9, 2), number(171.0, 1)) == ("8.90", "171.0")
    assert number(-0.001, 1) == "0.0"


def test_decimals_suit_the_scale():
    assert [decimals_for(scale) for scale in (18.9, 9.41, 17580.6, 0.02)] == [1, 2, 0, 4]
    assert [decimals_for(scale) for scale in (0.0, None, math.nan, math.inf)] == [None] * 4


def test_percentages_never_round_to_nothing_or_all():
    values = (0, 0.0001, 4.77, 50.0, 99.99, 100.0, None)
    assert [plain(percent(value)) for value in values] == [
        "0 %", "< 0.1 %", "4.8 %", "50 %", "> 99.9 %", "100 %", "\N{EN DASH}",
    ]  # fmt: skip


def test_differences_carry_their_sign():
    assert [plain(difference(value)) for value in (0.094, -0.08, 0.001, None)] == [
        "+0.09", "-0.08", "0", "\N{EN DASH}",
    ]  # fmt: skip
