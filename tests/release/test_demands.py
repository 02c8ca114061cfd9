"""Demands beyond k from a recipe to a page: groups keep them, certificates count them."""

from html import unescape

import numpy as np
import pandas
import pyarrow as pa
import pytest
from pyarrow import parquet

import microagg
from microagg.base.errors import InputError, MicroaggError, PromiseError
from microagg.base.groups import Partition
from microagg.release.telling import story_of
from tests.commands import microagg as command
from tests.naive import measures

ROWS = 240


def people(seed=0):
    rng = np.random.default_rng(seed)
    age = rng.integers(18, 80, ROWS)
    return pa.table(
        {
            "age": age,
            "height": rng.normal(170, 9, ROWS).round(1),
            "ill": np.array(["flu", "gout", "cold"])[rng.choice(3, ROWS, p=[0.6, 0.3, 0.1])],
            "income": pa.array(
                (age * 500 + rng.integers(0, 9000, ROWS)), mask=rng.random(ROWS) < 0.1
            ),
            "region": np.array(["n", "s"])[rng.integers(0, 2, ROWS)],
            "who": np.arange(ROWS) // 2,
            "weight": rng.uniform(0.5, 3, ROWS),
        }
    )


def protected(table=None, **settings):
    known = {"k": 4, "quasi_identifiers": ["age", "height"], "method": "mdav", "progress": False}
    return microagg.protect(people() if table is None else table, **{**known, **settings})


def classes_of(release, *more):
    """The values of a column and the class of each record, seen on the data alone."""
    data = release.data
    keys = list(zip(*(data[name].to_pylist() for name in ("age", "height", *more)), strict=True))
    places = {key: place for place, key in enumerate(dict.fromkeys(keys))}
    return [places[key] for key in keys]


DIVERSITY = {
    "distinct": (
        3,
        lambda values, labels: min(d for d, _ in measures.diversity(values, labels)) >= 3,
    ),
    "entropy": (
        {"l": 1.8, "kind": "entropy"},
        lambda values, labels: min(e for _, e in measures.diversity(values, labels)) >= 1.8 - 1e-9,
    ),
    "recursive": (
        {"l": 2, "kind": "recursive", "c": 1.5},
        lambda values, labels: max(measures.recursive(values, labels, 2)) < 1.5,
    ),
}


@pytest.mark.parametrize("kind", DIVERSITY)
def test_every_class_keeps_what_was_asked_and_secrets_stay(kind):
    asked, holds = DIVERSITY[kind]
    table = people()
    values = table["ill"].to_pylist()
    plain = protected(table)
    assert not holds(values, classes_of(plain)), "k alone does not keep it"
    release = protected(table, diversity={"ill": asked})
    assert release.certificate.passed
    assert holds(values, classes_of(release))
    for name in table.column_names[2:]:
        assert release.data[name].equals(table[name])


@pytest.mark.parametrize(
    "settings", [{}, {"within": "region"}, {"entity": "who", "k": 3}, {"weights": "weight"}]
)
def test_numbers_span_are_not_too_similar_and_close_to_all(settings):
    asked = {"income": [{"range": 4000}, {"similar": 800, "share": 0.6}]}
    if settings.get("entity"):
        settings = {**settings, "identifiers": "who"}
    release = protected(diversity=asked, closeness={"income": 0.3}, **settings)
    assert release.certificate.passed
    values = release.data["income"].to_pylist()
    labels = classes_of(release, *([settings["within"]] if "within" in settings else []))
    assert min(measures.span(values, labels)) >= 4000
    assert max(measures.similar(values, labels, 800)) <= 0.6 + 1e-9
    ranks = [-1 if value is None else value for value in values]
    assert max(measures.closeness(ranks, labels, True)) <= 0.3 + 1e-9
    told = [found for check in release.certificate.checks for found in check.found]
    assert [each.found for each in told] == pytest.approx(
        [
            max(measures.closeness(ranks, labels, True)),
            min(measures.span(values, labels)),
            max(measures.similar(values, labels, 800)),
        ]
    )


@pytest.mark.parametrize("within", [(), ("region",)])
def test_households_are_kept_with_the_demands(within):
    table = people()
    release = protected(table, k=3, household="who", diversity={"ill": 2}, within=within)
    assert release.certificate.passed
    labels = classes_of(release, *within)
    for column, least in (("who", 3), ("ill", 2)):
        found = measures.diversity(table[column].to_pylist(), labels)
        assert min(distinct for distinct, _ in found) >= least


def test_means_that_somebody_would_dominate_are_avoided():
    table = people()
    heavy = np.asarray(table["age"]).astype(float)
    heavy[5] = 4000.0
    table = table.set_column(0, "age", pa.array(heavy))
    plain = protected(table)
    assert plain.record.dominance["age"] > 0.9
    release = protected(table, dominance={"age": 0.7})
    assert release.record.dominance["age"] <= 0.7
    assert release.certificate.passed
    assert all("4000" not in str(check.to_dict()) for check in release.certificate.checks)


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({"diversity": {"ill": 4}}, r"l = 4 values of 'ill', but there are only 3"),
        ({"diversity": {"ill": {"l": 2.9, "kind": "entropy"}}}, "the largest l that can be kept"),
        ({"diversity": {"income": {"range": 10**6}}}, "all together span less"),
        ({"diversity": {"ill": {"range": 3}}}, "'ill', which does not hold numbers"),
        ({"closeness": {"illl": 0.2}}, "illl"),
        ({"closeness": {"ill": 0.05}, "within": "ill2"}, "smallest t that can be kept"),
        ({"orders": {"ill": ["flu", "gout"]}, "closeness": {"ill": 0.3}}, "the column has others"),
    ],
)
def test_what_cannot_be_kept_is_said_in_one_sentence(settings, words):
    table = people()
    skewed = np.where(np.asarray(table["ill"]) == "flu", "a", "b")
    with pytest.raises(MicroaggError, match=words) as failure:
        protected(table.append_column("ill2", pa.array(skewed)), **settings)
    assert "\n" not in str(failure.value)


@pytest.mark.parametrize("engine", ["memory", "disk"])
def test_it_is_said_that_no_value_counts_as_one(tmp_path, engine):
    path = tmp_path / "people.parquet"
    parquet.write_table(people(), path)
    with protected(path, diversity={"ill": 2}, closeness={"income": 0.4}, engine=engine) as release:
        (note,) = [each for each in release.record.notes if "one value more" in each]
    assert note.startswith("Some records have no value of income:")


def test_a_list_cannot_be_demanded():
    table = people().append_column("notes", pa.array([[1]] * ROWS))
    with pytest.raises(InputError, match="'notes', whose values cannot be compared"):
        protected(table, diversity={"notes": 2})


def test_groups_of_ones_own_are_held_against_the_promise(tmp_path):
    table = people().sort_by([("ill", "ascending")])
    groups = Partition(np.arange(ROWS) // 8, 4, "")
    release = protected(table, method=groups, diversity={"ill": 2})
    assert not release.certificate.passed
    with pytest.raises(PromiseError, match="at least 2 different values of ill"):
        release.write(tmp_path / "out.csv")


def test_an_order_makes_closeness_count_steps():
    table = people().to_pandas()
    plain = protected(table, closeness={"ill": 0.4})
    order = ["cold", "gout", "flu"]
    told = {}
    for name, given in {
        "declared": {"orders": {"ill": order}},
        "brought along": {},
        "denied": {"kinds": {"ill": "nominal"}},
    }.items():
        frame = table.copy()
        if name != "declared":
            frame["ill"] = pandas.Categorical(frame["ill"], order, ordered=True)
        release = protected(frame, closeness={"ill": 0.4}, **given)
        assert release.certificate.passed
        labels = Partition(release.partition.labels, 4, "").labels
        ranks = [order.index(each) for each in frame["ill"]]
        told[name] = measures.closeness(ranks, labels.tolist(), name != "denied")
        assert max(told[name]) <= 0.4 + 1e-9
    assert told["declared"] == told["brought along"]
    assert plain.certificate.passed


def test_without_demands_nothing_is_told_of_them(tmp_path):
    release = protected(confidential=["ill"])
    release.report(tmp_path / "page.html")
    assert "Beyond k" not in (tmp_path / "page.html").read_text()
    assert release.shown.exposures == {}
    assert all("found" not in check.to_dict() for check in release.certificate.checks)


@pytest.mark.parametrize("public", [False, True])
def test_the_page_says_what_is_kept_beside_k_alone(tmp_path, public):
    release = protected(diversity={"ill": 3}, closeness={"income": 0.3})
    release.report(tmp_path / "page.html", public=public)
    page = unescape((tmp_path / "page.html").read_text())
    assert "each class has at least 3 different values of ill" in page
    assert "values of income distributed within 0.3 of those of all records" in page
    assert ("groups of k alone" in page) == (not public)
    assert page.count("different values in a class") == 2
    exposed = release.shown.exposures["ill"].distinct
    plain = [distinct for distinct, _ in measures.diversity(
        people()["ill"].to_pylist(), protected().partition.labels.tolist()
    )]  # fmt: skip
    assert exposed[:4].tolist() == np.bincount(plain, minlength=4).tolist()


def test_a_page_promises_no_more_than_what_was_demanded():
    # Nine in ten have one value: a class where all have it is near to all records.
    ill = np.where(np.arange(ROWS) % 10 == 0, "gout", "flu")
    table = people().set_column(2, "ill", pa.array(ill))
    release = protected(table, closeness={"ill": 0.2})
    labels, values = np.array(classes_of(release)), np.array(release.data["ill"].to_pylist())
    assert any(np.unique(values[labels == label]).size == 1 for label in np.unique(labels))
    story = story_of(release, public=True)
    assert "no single" not in story.beyond_sentence
    promised = "each class has values of ill distributed within 0.2 of those of all records"
    assert promised in story.beyond_sentence
    assert any(promised in paragraph for paragraph in story.guarantee)


def test_compare_says_what_each_demand_costs():
    found = microagg.compare(
        people(), [4], ["mdav"], quasi_identifiers=["age", "height"], diversity={"ill": 3},
        closeness={"income": 0.3}, progress=False,
    )  # fmt: skip
    (choice,) = found.choices
    assert choice.plain_loss == pytest.approx(protected().record.information_loss)
    alone = protected(diversity={"ill": 3}).record.information_loss
    assert choice.costs["diversity of ill"] == pytest.approx(alone - choice.plain_loss)
    assert list(choice.costs) == ["diversity of ill", "closeness of income"]
    assert choice.information_loss > choice.plain_loss
    assert any("each demand alone adds" in sentence for sentence in found.recommendation)


def test_the_command_line_takes_every_form(tmp_path):
    people().to_pandas().to_csv(tmp_path / "in.csv", index=False)
    words = ["protect", "in.csv", "-k", "4", "-q", "age,height", "-m", "mdav", "-o", "out.csv"]
    words += ["--diversity", "ill=2,ill=entropy:1.5", "--diversity", "income=range:4000"]
    done = command(*words, "--closeness", "income=0.4", "--quiet", folder=tmp_path)
    assert done.code == 0, done.err
    for wrong in ("ill=three", "ill=1", "age=2"):
        done = command(*words, "--diversity", wrong, "--force", folder=tmp_path)
        assert done.code == 2
        assert len(done.err.strip().splitlines()) == 1, done.err
