import uuid

import numpy as np
import pyarrow as pa
import pytest

from microagg.columns import identifying
from microagg.columns.identifying import identifier_in

# One of each that is known to be right, in the words of those who give them out.
RIGHT = {
    "_is_iban": ["DE89370400440532013000", "GB82WEST12345698765432", "ES9121000418450200051332"],
    "_is_spanish": ["12345678Z", "X1234567L"],
    "_is_french": ["255081416802538"],
    "_is_italian": ["RSSMRA85T10A562S"],
    "_is_german": ["86095742719", "47036892816"],
    "_is_dutch": ["111222333", "123456782"],
    "_is_portuguese": ["123456789"],
    "_is_belgian": ["85073003328"],
    "_is_swiss": ["7569217076985"],
    "_is_austrian": ["1237010180"],
    "_is_polish": ["44051401359"],
    "_is_british": ["9434765919"],
    "_is_swedish": ["8112189876"],
    "_is_card": ["4111111111111111", "378282246310005"],
}
EXAMPLES = [(name, text) for name, texts in RIGHT.items() for text in texts]


@pytest.mark.parametrize(("name", "text"), EXAMPLES)
def test_a_number_is_right_until_a_digit_changes(name, text):
    holds = getattr(identifying, name)
    assert holds(text)
    assert not holds(text[:-1])
    assert not holds("")
    place = max(place for place, each in enumerate(text) if each.isdigit())
    others = [text[:place] + str(digit) + text[place + 1 :] for digit in range(10)]
    assert [other for other in others if holds(other)] == [text]


def made(holds, form, count=40):
    """Numbers of a form of which the check is right, found by trying."""
    rng, found = np.random.default_rng(0), []
    while len(found) < count:
        text = "".join(str(rng.integers(10)) if each == "0" else each for each in form)
        if holds(text):
            found.append(text)
    return found


def test_columns_are_told_by_their_values():
    n = 40
    columns = {
        "e-mail addresses": [f"somebody.{i}@example.org" for i in range(n)],
        "UUIDs": [str(uuid.UUID(int=i * 7919)) for i in range(n)],
        "telephone numbers": [f"+49 89 1234-{i:04}" for i in range(n)],
        "coordinates of places": [f"48.1{i:03}, 11.5{i:03}" for i in range(n)],
        "network addresses": [f"10.0.{i}.7" for i in range(n)],
        "web addresses": [f"https://example.org/{i}" for i in range(n)],
        "Swiss AHV numbers": [
            f"{t[:3]}.{t[3:7]}.{t[7:11]}.{t[11:]}"
            for t in made(identifying._is_swiss, "7560000000000")
        ],
        "Dutch BSN numbers": made(identifying._is_dutch, "200000000"),
        "German tax numbers": made(identifying._is_german, "10000000000"),
    }
    for name, texts in columns.items():
        assert identifier_in(pa.array(texts)) == name
        assert identifier_in(pa.array([*texts, None, *texts[:3]])) == name
        assert identifier_in(pa.array([*texts[:9], *texts[:9]])) is None
    whole = pa.array([int(text) for text in columns["Dutch BSN numbers"]])
    assert identifier_in(whole) == "Dutch BSN numbers"


@pytest.mark.parametrize(
    ("name", "form"),
    [
        ("telephone numbers", "537-062-{:04}"),
        ("telephone numbers", "(537) 062-{:04}"),
        ("telephone numbers", "680 {:03} 042"),
        ("telephone numbers", "06 36 92 79 {:02}"),
        ("social security numbers of the US", "447-70-{:04}"),
        ("network addresses", "2001:db8::f6{:02}"),
        ("network addresses", "50:59:fa:9e:9e:{:02}"),
        ("coordinates of places", "46°13'{:02}\"N 2°33'36\"E"),
        ("coordinates of places", "POINT(11.5{:03} 48.123)"),
    ],
)
def test_in_other_ways_of_writing(name, form):
    assert identifier_in(pa.array([form.format(i) for i in range(1, 41)])) == name


def test_other_columns_are_not():
    rng = np.random.default_rng(0)
    n = 300
    others = [
        pa.array(rng.integers(0, 10**9, n)),
        pa.array(rng.integers(10**10, 10**11, n)),
        pa.array([f"{year}-03-{day:02}" for year in range(1990, 2000) for day in range(1, 29)]),
        pa.array([f"{day:02}-03-{year}" for year in range(1990, 2000) for day in range(1, 29)]),
        pa.array([f"{code:05}" for code in rng.integers(0, 99999, n)]),
        pa.array([f"{x:.4f}" for x in rng.normal(size=n)]),
        pa.array(rng.normal(size=n)),
        pa.array([f"word {i}" for i in range(n)]),
        pa.array([f"{i // 60:02}:{i % 60:02}:17" for i in range(n)]),
        pa.array([f"900-70-{i:04}" for i in range(n)]),
        pa.array([f"{i:03}.456.789.123" for i in range(300, 300 + n)]),
        pa.array([f"{i * 1000}-{i * 1000 + 999}" for i in range(n)]),
        pa.array([f"{code:09}"[:5] + f"-{code:09}"[-4:] for code in rng.integers(0, 10**9, n)]),
        pa.nulls(20),
        pa.array([True, False] * 20),
    ]
    assert [identifier_in(column) for column in others] == [None] * len(others)
