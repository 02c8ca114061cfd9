import pytest

from microagg.base import texts
from microagg.base.errors import OptionError


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("ward", "ward"),
        ("Ward", "Ward"),
        ("'Ward'", "Ward"),
        ('"Ward"', "Ward"),
        ("'7'", "7"),
        ("it's", "it's"),
        ("'", "'"),
        (r"'C:\new'", r"C:\new"),
        ("none", "none"),
        ("None", "None"),
        ("nan", "nan"),
        ("1j", "1j"),
        ("b'x'", "b'x'"),
        ("1+2", "1+2"),
        ("a=b", "a=b"),
        ("TRUE", True),
        ("false", False),
        ("7", 7),
        ("-7", -7),
        ("0.3", 0.3),
        (".5", 0.5),
        ("1e3", 1000.0),
        ("[1, 2.5, true, Ward, 'x']", [1, 2.5, True, "Ward", "x"]),
        ("[]", []),
    ],
)
def test_values_of_options(text, value):
    (read,) = texts.options([f"name={text}"], "--option").values()
    assert read == value
    assert type(read) is type(value)
    assert texts.one([text], "--refine") == value


def test_names_pairs_and_orders():
    assert texts.names(["a, b", "c", ""], "-q") == ["a", "b", "c"]
    assert texts.as_written(["a, b", "?"], "--missing-values") == ["a, b", "?"]
    assert texts.pairs(["a=x, b=y=z"], "--kinds") == {"a": "x", "b": "y=z"}
    assert texts.numbers(["a=1,b=2.5"], "--attribute-weights") == {"a": 1.0, "b": 2.5}
    assert texts.places(["2"], "--decimals") == 2
    assert texts.places(["a=0", "b=1"], "--decimals") == {"a": 0, "b": 1}
    assert texts.one_or_each(["0.5"], "--distance") == 0.5
    assert texts.one_or_each(["WISH"], "--distance") == "WISH"
    assert texts.one_or_each(["a=1,b=WISH"], "--distance") == {"a": 1.0, "b": "WISH"}
    assert texts.orders(["a=low, low<high"], "--orders") == {"a": ["low, low", "high"]}


@pytest.mark.parametrize(
    ("parse", "text", "sentence"),
    [
        (texts.pairs, "age", "--x takes name=value, but 'age' arrived"),
        (texts.pairs, "age=", "--x takes name=value, but 'age=' arrived"),
        (texts.numbers, "age=much", "--x takes name=number"),
        (texts.numbers, "age", "--x takes name=value, but 'age' arrived"),
        (texts.places, "many", "--x takes a number of places, or name=places"),
        (texts.places, "a=1,b", "--x takes name=value, but 'b' arrived"),
        (texts.orders, "age=1", "--x takes name=low<middle<high, but 'age=1' arrived"),
        (texts.options, "gamma", "--x takes name=value, but 'gamma' arrived"),
    ],
)
def test_refused_in_one_sentence(parse, text, sentence):
    with pytest.raises(OptionError) as caught:
        parse([text], "--x")
    assert str(caught.value) == sentence
