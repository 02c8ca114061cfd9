"""Settings one by one: as words of a command, and back."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as some

from microagg.base.errors import MicroaggError
from microagg.base.progress import heard_by, tell, watch
from microagg.base.recipe import Recipe
from microagg.base.settings import setting_options, words_of

RECIPES = [
    {},
    {"k": 7, "confidential": ["d"], "identifiers": ["i, j"], "seed": 3, "method": "mdav"},
    {"kinds": {"age": "integer"}, "orders": {"a,b": ["low", "mid, dle", "high"]}},
    {"decimals": 2},
    {"decimals": {"age": 1, "a,b": -2}, "dominance": {"age": 0.8}},
    {"refine": True, "effort": "best"},
    {"refine": 2.5, "missing": "error", "within": ["s"], "small_strata": "merge"},
    {"relative": True, "distance": {"age": 0.2}, "importance": "WISH", "aggregate": "proximity"},
    {"options": {"a": [1, 2], "b": "text", "c": True}, "weights": "w", "weight_digits": 3},
    {"reading": {"delimiter": ";", "missing_values": ["NA", "-9"], "query_timeout": 3.0}},
    {"quasi_identifiers": ["-age"]},
    {"diversity": {"d": 3, "e,f": {"l": 2, "kind": "entropy"}}, "closeness": {"g": 0.15}},
    {"diversity": {"d": [{"l": 3, "kind": "recursive", "c": 2.5}, {"range": 5000.0}]}},
    {"diversity": {"d": {"similar": 500.5, "share": 0.5}}},
]


def parsed(words):
    """What the command line makes of words."""
    import typer

    from microagg.cli.options import with_settings

    found = {}

    @with_settings()
    def command(*, settings: dict):
        found.update(settings)

    app = typer.Typer()
    app.command()(command)
    typer.main.get_command(app).main(words, standalone_mode=False)
    return Recipe(**found)


@pytest.mark.parametrize("told", RECIPES)
def test_the_words_of_a_recipe_make_it_again(told):
    recipe = Recipe(**{"quasi_identifiers": ["age", "a,b"], **told})
    words = words_of(recipe)
    assert words is not None
    assert parsed(words) == recipe


def test_what_words_cannot_say_takes_a_file():
    recipe = Recipe(quasi_identifiers=["age"], orders={"age": ["a<b", "c"]})
    assert words_of(recipe) is None
    assert words_of(Recipe(quasi_identifiers=["age"], options={"x": "5"})) is None


@given(some.lists(some.text(min_size=1), min_size=1, max_size=3, unique=True))
@settings(max_examples=60)
def test_names_of_any_letters_come_back_or_take_a_file(names):
    try:
        recipe = Recipe(quasi_identifiers=names)
    except MicroaggError:
        return
    words = words_of(recipe)
    assert words is None or parsed(words) == recipe


def test_every_setting_is_written_and_read():
    for each in setting_options():
        default = each.field.default
        if each.field.is_required() or default in (None, (), {}):
            continue
        told = {"quasi_identifiers": ["age"]}
        each.put(each.parse(each.texts(default)), told)
        assert Recipe(**told) == Recipe(quasi_identifiers=["age"]), each.name


def test_work_is_heard_with_its_words_and_shares():
    heard = []
    with heard_by(lambda words, share: heard.append((words, share))):
        with watch("reading", False) as advance:
            advance(0.5)
            tell("row 7")
        with watch("writing") as advance:
            advance(1.0)
    assert heard == [
        ("reading", 0.0), ("reading", 0.5), ("reading, row 7", 0.5), ("writing", 0.0),
        ("writing", 1.0),
    ]  # fmt: skip
    with watch("after", False) as advance:
        advance(1.0)
    assert len(heard) == 5
