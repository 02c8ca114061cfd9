import io

import numpy as np
import pandas as pd
import pytest

import microagg
from microagg.actions.compare import recommend
from microagg.base.errors import OptionError
from microagg.report.comparison import Choice


@pytest.fixture
def table():
    rng = np.random.default_rng(0)
    return pd.DataFrame(
        {
            "x": rng.normal(size=40),
            "y": rng.integers(0, 90, 40),
            "w": rng.exponential(size=40),
            "city": np.array(["a", "b"])[np.arange(40) % 2],
        }
    )


def test_each_choice_is_what_protect_would_do(table, tmp_path):
    wanted = {"quasi_identifiers": ["x", "y"], "weights": "w", "within": "city"}
    found = microagg.compare(table, [2, 5], ["mdav", "zscore"], **wanted)
    assert [(each.asked, each.k) for each in found.choices] == [
        ("mdav", 2),
        ("mdav", 5),
        ("zscore", 2),
        ("zscore", 5),
    ]
    for each in found.choices:
        release = microagg.protect(table, k=each.k, method=each.method, **wanted)
        assert each.information_loss == pytest.approx(release.record.information_loss)
        assert each.groups == release.partition.n_groups
        assert each.risk == pytest.approx(release.assessment.figures["expected_linkage"])
        assert each.seconds >= 0
    best = min(found.choices, key=lambda each: each.risk + each.information_loss)
    assert found.recommended == best
    assert len(found.recommendation) == 3
    assert "k = 2" in found.recommendation[0]
    assert found.to_dict()["columns"] == ("x", "y")
    found.report(tmp_path / "comparison.html")
    assert "zscore" in (tmp_path / "comparison.html").read_text()


def test_categories_are_linked_too(table):
    found = microagg.compare(table, [3], ["mdav"], quasi_identifiers="city")
    assert 0.0 < found.choices[0].risk < 100.0 / 3
    assert found.choices[0].scoring_index is None


def test_refused(table):
    for ks, methods, words in (([], ["mdav"], "at least one k"), ([3], ["mdaw"], "mdav")):
        with pytest.raises(OptionError, match=words):
            microagg.compare(table, ks, methods, quasi_identifiers="x")
    with pytest.raises(OptionError, match="quasi_identifiers must be given"):
        microagg.compare(table, [3], ["mdav"])


def test_an_ordering_is_made_once_for_all_k(monkeypatch):
    from microagg.grouping.sequence import tour

    made, order = [], tour.order_by_tour
    monkeypatch.setattr(tour, "order_by_tour", lambda *task: made.append(task) or order(*task))
    table = pd.DataFrame(np.random.default_rng(0).normal(size=(300, 3)), columns=list("xyz"))
    found = microagg.compare(
        table, (3, 5, 10), ("tsp",), quasi_identifiers=list("xyz"), progress=False
    )
    assert len(made) == 1
    for choice in found.choices:
        alone = microagg.protect(
            table, k=choice.k, method="tsp", quasi_identifiers=list("xyz"), progress=False
        )
        assert choice.information_loss == alone.record.information_loss
        assert choice.groups == alone.partition.n_groups


def test_groups_are_counted_on_the_release():
    # Whole means of neighbouring groups fall together.
    table = pd.DataFrame({"x": np.arange(60) % 4})
    found = microagg.compare(table, [3], ["mdav"], quasi_identifiers="x", kinds={"x": "integer"})
    release = microagg.protect(
        table, k=3, method="mdav", quasi_identifiers="x", kinds={"x": "integer"}
    )
    assert found.choices[0].groups == release.certificate.groups < release.partition.n_groups


def test_the_figure_that_decides_is_shown(table, tmp_path):
    found = microagg.compare(table, [2, 5], ["mdav", "zscore"], quasi_identifiers=["x", "y"])
    best = found.recommended
    assert best.risk_and_loss == best.risk + best.information_loss
    assert best.risk_and_loss == min(each.risk_and_loss for each in found.choices)
    assert f"{best.risk_and_loss:.2f}" in found.recommendation[-1]
    found.report(tmp_path / "page.html")
    assert "risk and loss" in (tmp_path / "page.html").read_text()
    assert found.to_dict()["choices"][0]["risk_and_loss"] == found.choices[0].risk_and_loss


def test_a_comparison_as_a_table(table):
    found = microagg.compare(table, [2, 5], ["mdav", "zscore"], quasi_identifiers=["x", "y"])
    frame = found.to_frame()
    assert frame["risk_and_loss"].tolist() == [each.risk_and_loss for each in found.choices]
    again = pd.read_csv(io.StringIO(found.to_csv()))
    pd.testing.assert_frame_equal(again, frame, check_dtype=False)
    lines = found.to_latex().splitlines()
    assert lines[0] == r"\begin{tabular}{llrrrrrr}"
    assert r"risk\_and\_loss" in lines[2]
    assert sum(line.startswith(("mdav & ", "zscore & ")) for line in lines) == 4


def test_time_counts_where_it_is_much_and_gains_little():
    def choice(method, loss, seconds):
        return Choice(method, method, 5, 9, loss, 1.0, None, seconds)

    slow, quick, poor = choice("best", 4.0, 60.0), choice("mdav", 4.05, 1.0), choice("z", 6.0, 0.1)
    found, words = recommend([slow, quick, poor])
    assert found == quick
    assert "60" in words[-1]
    # A second is nothing to wait for, nor is what gains much too slow.
    assert recommend([choice("best", 4.0, 0.9), choice("mdav", 4.05, 0.01)])[0].asked == "best"
    assert recommend([slow, poor])[0] == slow


def test_demands_are_compared_with_what_they_hide(table, tmp_path):
    wanted = {"quasi_identifiers": ["x", "y"], "confidential": ["city"]}
    sets = [{}, {"diversity": {"city": 2}}, {"closeness": {"city": 0.1}}]
    found = microagg.compare(table, [3, 4], ["mdav"], demands=sets, **wanted)
    assert [(each.k, each.demands) for each in found.choices] == [
        (k, demands) for demands in ("", "diversity city=2", "closeness city=0.1") for k in (3, 4)
    ]
    for place, each in enumerate(found.choices):
        settings = sets[place // 2]
        release = microagg.protect(table, k=each.k, method="mdav", **wanted, **settings)
        assert each.information_loss == pytest.approx(release.record.information_loss)
        release.write(tmp_path / f"{place}.csv")
        disclosed = release.assessment.figures["attribute_disclosure"]["city"]
        assert each.disclosed == pytest.approx(disclosed)
        assert each.place == (each.information_loss, max(each.risk, disclosed))
    plain, diverse = found.choices[0], found.choices[2]
    assert plain.disclosed > diverse.disclosed == 0.0
    assert found.recommended == min(found.choices, key=lambda each: each.risk_and_loss)
    assert found.recommendation[0].startswith("With k alone the best is mdav")
    assert "With diversity city=2 the best is mdav" in found.recommendation[1]
    assert found.to_frame()["demands"].tolist() == [each.demands for each in found.choices]
    found.report(tmp_path / "page.html")
    assert "disclosed" in (tmp_path / "page.html").read_text()


def test_demands_that_are_none_are_refused(table):
    with pytest.raises(OptionError, match="diversity, closeness, dominance"):
        microagg.compare(table, [3], demands=[{"k": 3}], quasi_identifiers="x", confidential="city")


def test_columns_of_demands_are_confidential_without_being_named(table):
    sets = [{}, {"diversity": {"city": 2}}]
    plain, diverse = microagg.compare(
        table, [3], ["mdav"], demands=sets, quasi_identifiers="x"
    ).choices
    assert plain.disclosed > diverse.disclosed == 0.0
