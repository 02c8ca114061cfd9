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


def test_demands_of_diversity():
    written = ["a=3,b=entropy:2.5", "a=recursive:3:2", "c=similar:500:0.5", '"d, e"=range:5000']
    assert texts.diversity(written, "--diversity") == {
        "a": [{"l": 3.0, "kind": "distinct"}, {"l": 3.0, "c": 2.0, "kind": "recursive"}],
        "b": {"l": 2.5, "kind": "entropy"},
        "c": {"similar": 500.0, "share": 0.5},
        "d, e": {"range": 5000.0},
    }


@pytest.mark.parametrize(
    "wrong", ["a=three", "a=entropy", "a=entropy:2:3", "a=other:3", "a=range:x", "a=nan"]
)
def test_demands_that_nobody_can_read(wrong):
    with pytest.raises(OptionError, match="--diversity takes name=3, name=entropy:3"):
        texts.diversity([wrong], "--diversity")
