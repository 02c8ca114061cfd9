import inspect
from typing import get_type_hints

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import microagg
from microagg.base.errors import OptionError
from microagg.base.reading import Reading
from microagg.base.recipe import Recipe, Settings, describe_settings

NAMES = st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=6)
NUMBERS = st.floats(0, 1e300, allow_nan=False)


@st.composite
def recipes(draw):
    names = draw(st.lists(NAMES, min_size=1, max_size=9, unique=True))
    cuts = sorted(draw(st.lists(st.integers(1, len(names)), min_size=2, max_size=2)))
    quasi, others, spare = names[: cuts[0]], names[cuts[0] : cuts[1]], names[cuts[1] :]
    some = st.sampled_from(quasi)
    orders = draw(st.dictionaries(some, st.lists(NAMES, max_size=4, unique=True), max_size=2))
    kinds = draw(st.dictionaries(some, st.sampled_from(["ordinal", "nominal"]), max_size=2))
    every = {
        "k": draw(st.integers(2, 10**6)),
        "confidential": others,
        "method": draw(st.text(max_size=4)),
        "options": draw(
            st.dictionaries(
                NAMES,
                st.booleans() | st.integers(-9, 9) | NUMBERS | NAMES | st.lists(NUMBERS),
                max_size=2,
            )
        ),
        "seed": draw(st.integers(0, 2**63)),
        "kinds": {name: kind for name, kind in kinds.items() if name not in orders},
        "orders": orders,
        "missing": draw(st.sampled_from(["group", "error"])),
        "within": spare,
        "small_strata": draw(st.sampled_from(["error", "merge", "drop"])),
        "weights": draw(st.none() | st.sampled_from(spare)) if spare else None,
        "entity": draw(st.none() | st.sampled_from(spare)) if spare else None,
        "attribute_weights": draw(st.dictionaries(some, NUMBERS, max_size=2)),
        "decimals": draw(
            st.none() | st.integers(-15, 15) | st.dictionaries(some, st.integers(0, 3), max_size=2)
        ),
        "cell_rows": draw(st.none() | st.integers(1, 10**9)),
        "refine": draw(st.booleans() | st.floats(0, 1e9)),
        "alpha": draw(st.floats(0, 1)),
        "relative": draw(st.booleans()),
        "distance": draw(NUMBERS | NAMES | st.dictionaries(some, NUMBERS | NAMES, max_size=2)),
        "reading": {
            "delimiter": draw(st.sampled_from([None, ";", "\t"])),
            "decimal": draw(st.sampled_from([None, ",", "."])),
            "missing_values": draw(st.lists(NAMES, max_size=2)),
            "query": draw(st.none() | NAMES),
        },
    }
    chosen = draw(st.sets(st.sampled_from(sorted(every))))
    return Recipe(quasi_identifiers=quasi, **{name: every[name] for name in chosen})


@given(recipe=recipes())
@settings(max_examples=150)
def test_toml_and_back(recipe):
    text = recipe.to_toml()
    again = Recipe.from_toml(text)
    assert again == recipe
    assert again.to_toml() == text
    assert again.sha256 == recipe.sha256
    assert Recipe(**recipe.model_dump(exclude_unset=True)) == recipe


def test_files(tmp_path):
    recipe = Recipe(k=7, quasi_identifiers="größe", within="región")
    recipe.write(tmp_path / "recipe.toml")
    assert Recipe.read(tmp_path / "recipe.toml") == recipe
    (tmp_path / "latin.toml").write_bytes("größe".encode("latin-1"))
    with pytest.raises(OptionError, match="not UTF-8"):
        Recipe.read(tmp_path / "latin.toml")
    with pytest.raises(OptionError, match="not valid TOML"):
        Recipe.from_toml("k = ")


def test_what_a_recipe_always_says():
    said = Recipe(quasi_identifiers=["age"]).to_dict()
    assert said == {"k": 5, "method": "auto", "seed": 0, "quasi_identifiers": ["age"]}


def test_names_may_come_in_many_ways():
    for names in (["b", "a"], ("b", "a"), iter(["b", "a"]), np.array(["b", "a"]), {"b": 0, "a": 1}):
        if isinstance(names, dict):
            names = names.keys()
        assert Recipe(quasi_identifiers=names).quasi_identifiers == ("b", "a")
    assert Recipe(quasi_identifiers="ab").quasi_identifiers == ("ab",)
    # The order of a set differs between runs.
    assert Recipe(quasi_identifiers={"c", "a", "b"}).quasi_identifiers == ("a", "b", "c")
    assert Recipe(quasi_identifiers="a", k=np.int64(4)).k == 4
    options = Recipe(quasi_identifiers="a", options={"clusters": np.int64(3)}).options
    assert type(options["clusters"]) is int


def test_columns_are_named_once_each():
    recipe = Recipe(
        quasi_identifiers=["a"], confidential=["b"], within=["b", "c"], entity="d", weights="c"
    )
    assert recipe.columns() == ["a", "b", "c", "d"]


@pytest.mark.parametrize(
    ("wrong", "words"),
    [
        ({"quasi_identifiers": []}, "quasi_identifiers must be given"),
        ({"quasi_identifiers": ["a", "a"]}, "'a' stands twice in quasi_identifiers"),
        ({"quasi_identifiers": [1]}, "quasi_identifiers: input should be a valid string"),
        ({"confidential": "a"}, "'a' stands in quasi_identifiers and in confidential"),
        ({"confidential": "b", "identifiers": "b"}, "in confidential and in identifiers"),
        ({"within": "a"}, "in quasi_identifiers and in within"),
        ({"within": ["b", "b"]}, "within names a column twice"),
        ({"within": "b", "identifiers": "b"}, "in identifiers and in within"),
        ({"weights": "a"}, "in quasi_identifiers and in weights"),
        ({"entity": "a"}, "is the entity"),
        ({"k": 0}, "k: input should be greater than or equal to 1, but 0 arrived"),
        ({"k": 2.5}, "k: input should be a valid integer"),
        ({"k": True}, "k must be a whole number"),
        ({"k": None}, "k: input should be a valid integer"),
        ({"seed": -1}, "seed: input should be greater"),
        ({"kinds": {"age": "integer"}}, "kinds names 'age', which is not among"),
        ({"kinds": {"a": 1}}, "kinds.a: input should be a valid string"),
        ({"refine": -1}, "refine: input should be greater than or equal to 0, but -1 arrived"),
        ({"refine": "long"}, "refine: input should be a valid number"),
        ({"cell_rows": 0}, "cell_rows: input should be greater than or equal to 1"),
        ({"orders": {"a": ["x", "x"]}}, "lists a category of 'a' twice"),
        ({"orders": {"a": ["x"]}, "kinds": {"a": "nominal"}}, "only ordinal columns"),
        ({"missing": "drop"}, "missing: input should be 'group' or 'error'"),
        ({"small_strata": "keep"}, "small_strata: input should be"),
        ({"attribute_weights": {"a": -1}}, "attribute_weights.a: input should be greater"),
        ({"attribute_weights": {"a": float("inf")}}, "finite"),
        ({"decimals": 99}, "decimals: input should be less than or equal to 15"),
        ({"decimals": {"a": 99}}, "decimals.a: input should be less than or equal to 15"),
        ({"options": {"gamma": None}}, "options may be finite numbers, texts and lists"),
        ({"options": {"gamma": float("nan")}}, "options may be finite numbers"),
        ({"quasi_identifier": "a"}, "no setting 'quasi_identifier'; did you mean 'quasi_identif"),
        ({"reading": {"delimeter": ";"}}, "no setting 'reading.delimeter'; did you mean 'delimit"),
        ({"reading": {"delimiter": ";;"}}, "reading.delimiter: "),
        ({"reading": {"delimiter": ""}}, "reading.delimiter: "),
        ({"reading": {"decimal": ";"}}, "reading.decimal: "),
    ],
)
def test_refused_in_one_sentence(wrong, words):
    with pytest.raises(OptionError) as caught:
        Recipe(**{"quasi_identifiers": ["a"], **wrong})
    assert words in str(caught.value)
    assert "\n" not in str(caught.value)
    assert caught.value.__cause__ is None


def test_the_near_name_is_suggested():
    with pytest.raises(OptionError, match="did you mean 'income'"):
        Recipe(quasi_identifiers=["income"], attribute_weights={"incme": 2.0})
    with pytest.raises(OptionError, match="quasi_identifiers must be given"):
        Recipe(k=3)


def test_a_recipe_cannot_be_changed():
    recipe = Recipe(quasi_identifiers="a")
    with pytest.raises(ValueError, match="frozen"):
        recipe.k = 3


def test_settings_go_before_those_of_a_recipe():
    recipe = Recipe(k=7, quasi_identifiers="a", seed=3)
    assert Recipe.from_settings({}, recipe) is recipe
    both = Recipe.from_settings({"k": 2}, recipe)
    assert both == Recipe(k=2, quasi_identifiers="a", seed=3)
    assert Recipe.from_settings({"quasi_identifiers": "b"}).quasi_identifiers == ("b",)
    with pytest.raises(OptionError, match="an object of type dict arrived"):
        Recipe.from_settings({}, {"k": 2})


def test_settings_for_editors_are_those_of_the_recipe():
    assert list(get_type_hints(Settings)) == list(Recipe.model_fields)


def test_every_setting_is_described():
    for field in (*Recipe.model_fields.values(), *Reading.model_fields.values()):
        assert field.description.endswith(".")
        assert "\n" not in field.description


def test_functions_name_every_setting():
    @describe_settings(without=("k",))
    def work(table, *, recipe=None, **settings):
        """Work."""
        return settings

    parameters = inspect.signature(work).parameters
    assert list(parameters) == ["table", "recipe", *list(Recipe.model_fields)[1:]]
    assert parameters["seed"].default == 0
    assert parameters["seed"].kind is inspect.Parameter.KEYWORD_ONLY
    assert parameters["quasi_identifiers"].default is inspect.Parameter.empty
    for name, field in Recipe.model_fields.items():
        assert (f"\n{name}: {field.description}" in work.__doc__) == (name != "k")
        assert f"\n{name}: {field.description}" in Recipe.__doc__
    assert work(None, seed=2) == {"seed": 2}


def test_the_actions_name_every_setting():
    assert set(Recipe.model_fields) < set(inspect.signature(microagg.protect).parameters)
    named = set(inspect.signature(microagg.compare).parameters)
    assert set(Recipe.model_fields) - named == {"k", "method"}


@pytest.mark.parametrize(
    ("said", "kept"),
    [
        (3, 3),
        ({"l": 3}, 3),
        (np.int64(3), 3),
        ({"l": 2.5, "kind": "entropy"}, {"l": 2.5, "kind": "entropy"}),
        ({"kind": "recursive", "c": 2.0, "l": 3}, {"l": 3, "c": 2, "kind": "recursive"}),
        ({"range": 5000}, {"range": 5000}),
        ({"similar": 0.5, "share": 0.5}, {"similar": 0.5, "share": 0.5}),
        ([3, {"range": 5}], [3, {"range": 5}]),
        ([3], 3),
    ],
)
def test_diversity_is_kept_in_the_shortest_form(said, kept):
    recipe = Recipe(quasi_identifiers="a", diversity={"b": said}, closeness={"c": 0.2})
    assert recipe.diversity == {"b": kept}
    assert recipe.confidential == ("b", "c")
    assert recipe.demanded == ("b", "c")
    assert Recipe.from_toml(recipe.to_toml()) == recipe
    assert Recipe(**recipe.to_dict()) == recipe


@pytest.mark.parametrize(
    ("wrong", "words"),
    [
        ({"diversity": {"b": 1}}, "l of diversity must be a whole number from 2 on, but 1 arrived"),
        ({"diversity": {"b": 2.5}}, "whole number from 2 on"),
        ({"diversity": {"b": True}}, "but True arrived"),
        ({"diversity": {"b": "three"}}, "but 'three' arrived"),
        ({"diversity": {"b": {"l": 1, "kind": "entropy"}}}, "l of diversity must be a number abov"),
        ({"diversity": {"b": {"l": 3, "kind": "recursive"}}}, "diversity takes for each column"),
        ({"diversity": {"b": {"l": 3, "kind": "other"}}}, "diversity takes for each column"),
        ({"diversity": {"b": {"l": 3, "kind": "recursive", "c": 0}}}, "c of diversity must be"),
        ({"diversity": {"b": {"range": 0}}}, "range of diversity must be a number above 0"),
        ({"diversity": {"b": {"range": float("inf")}}}, "range of diversity"),
        ({"diversity": {"b": {"similar": 5, "share": 1.5}}}, "share of diversity must be a share"),
        ({"diversity": {"b": {"range": 5, "l": 3}}}, "diversity takes for each column"),
        ({"diversity": {"b": []}}, "diversity takes for each column"),
        ({"diversity": {"a": 2}}, "diversity names 'a', which stands in quasi_identifiers"),
        ({"diversity": {"b": 2}, "identifiers": "b"}, "stands in identifiers and is dropped"),
        ({"closeness": {"b": 0.1}, "within": "b"}, "closeness names 'b', which stands in within"),
        ({"closeness": {"b": 1.5}}, "closeness.b: input should be less than or equal to 1"),
        ({"closeness": {"b": -0.1}}, "closeness.b: input should be greater than or equal to 0"),
        ({"closeness": {"b": float("nan")}}, "closeness.b"),
        ({"closeness": {"b": True}}, "closeness.b: input should be a valid number"),
    ],
)
def test_demands_that_nobody_can_mean(wrong, words):
    with pytest.raises(OptionError, match=words):
        Recipe(**{"quasi_identifiers": "a", **wrong})


def test_kinds_may_say_how_confidential_columns_are_ordered():
    recipe = Recipe(
        quasi_identifiers="a", closeness={"b": 0.2, "c": 0.2}, orders={"b": ["x", "y"]},
        kinds={"c": "nominal"},
    )  # fmt: skip
    assert recipe.public()["kinds"] == {"b": "ordinal", "c": "nominal"}
    with pytest.raises(OptionError, match="orders names 'd'"):
        Recipe(quasi_identifiers="a", closeness={"b": 0.2}, orders={"d": ["x", "y"]})
