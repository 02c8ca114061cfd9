import re
from dataclasses import replace
from html.parser import HTMLParser

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from microagg.base.errors import OptionError
from microagg.report import page
from microagg.report.story import Story
from tests.report import stories

VOID = {"meta", "br", "hr", "img", "input", "link"}


class Reader(HTMLParser):
    """Reads a page, insisting that every tag is closed where it should be."""

    def __init__(self, text):
        super().__init__()
        self.open, self.tags, self.words, self.ids, self.links = [], [], "", [], []
        self.feed(text)
        self.close()
        assert self.open == []

    def handle_starttag(self, tag, attributes):
        told = dict(attributes)
        self.tags.append(tag)
        self.ids += [told["id"]] if "id" in told else []
        self.links += [told[name] for name in ("href", "src") if name in told]
        assert not any(name.startswith("on") for name in told)
        if tag not in VOID:
            self.open.append(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        if self.open[-1:] != ["style"]:
            self.words += data + "\n"


def read(story):
    return Reader(page.render(story))


def empty(**told):
    return Story(title="t", public=True, verdict=True, verdict_sentence="v", guarantee=(), **told)


@pytest.mark.parametrize("told", [True, False])
def test_the_page_stands_alone(told):
    text = page.render(stories.patients(told))
    reader = Reader(text)
    assert "http://" not in text
    assert "https://" not in text
    assert "url(" not in text
    assert "@import" not in text
    assert {"script", "link", "img", "iframe"}.isdisjoint(reader.tags)
    assert len(reader.ids) == len(set(reader.ids))
    assert reader.links
    assert all(link[0] == "#" and link[1:] in reader.ids for link in reader.links)


def test_everything_told_is_on_the_page():
    story = stories.patients()
    words = read(story).words
    told = [story.title, story.verdict_sentence, *story.guarantee, *story.limits, *story.done]
    told += [*story.notes, story.recipe, story.reproduce, story.software, story.made]
    told += [text for row in (*story.roles, *story.certificate) for text in row]
    told += [figure.description for figure, _ in story.figures]
    told += [label for label, _ in story.facts] + [each.name for each in story.attributes]
    for text in told:
        assert text in words
    assert "The promise is kept" in words
    assert "not for publication" in words


def test_a_broken_promise_is_said_first():
    words = read(stories.patients(verdict=False)).words
    assert "The promise is not kept" in words
    assert "The promise is kept" not in words


def test_a_public_page_shows_nothing_of_the_original():
    text = page.render(stories.patients(told=False))
    words = Reader(text).words
    assert "It shows only what the release and its certificate show." in words
    figures = text[text.index('<section id="groups"') : text.index('<section id="notes"')]
    assert 'class="column"' in figures
    assert 'class="correlations"' in figures
    for word in ("before", "riginal", "Loss", "hanged", " was "):
        assert word not in figures


def test_a_public_page_refuses_what_tells_the_original():
    story = stories.patients()
    with pytest.raises(OptionError, match=r"'age', .*the correlations came"):
        replace(story, public=True)
    with pytest.raises(OptionError, match="the correlations"):
        replace(story, public=True, attributes=())
    for told in ({"loss": 1.0}, {"changed": 0.0}, {"missing_before": 0}, {"mean_before": "x"}):
        column = replace(stories.attributes(told=False)[0], **told)
        with pytest.raises(OptionError, match="'age'"):
            replace(story, public=True, attributes=(column,), correlations=None)


def test_a_page_without_anything_has_no_holes():
    reader = read(empty())
    assert {"section", "table", "dl", "footer"}.isdisjoint(reader.tags)


@pytest.mark.parametrize("name", [stories.NASTY, stories.LONG, stories.RIGHT_TO_LEFT])
def test_names_are_shown_as_they_are_and_nothing_else(name):
    columns = tuple(replace(each, name=name) for each in stories.attributes())
    table = replace(stories.correlations(), names=(name,) * 5)
    bars = tuple(replace(bar, label=name) for bar in columns[-1].bars)
    story = stories.patients(
        title=name,
        attributes=(*columns, replace(columns[-1], bars=bars)),
        correlations=table,
        roles=((name, name, name),),
        certificate=((name, name),),
        notes=(name,),
        recipe=name,
    )
    reader = read(story)
    assert "script" not in reader.tags
    assert reader.words.count(name) > 20


@settings(max_examples=25)
@given(st.text(st.characters(), min_size=1))
def test_any_text_can_be_written(tmp_path, text):
    figure = replace(stories.FIGURES[0][0], title=text), text
    story = empty(notes=(text,), figures=(figure,), reproduce=text, made=text)
    page.write(story, tmp_path / "page.html")
    Reader((tmp_path / "page.html").read_text(encoding="utf-8"))


def test_sixty_columns():
    columns = stories.attributes()
    many = tuple(replace(columns[i % len(columns)], name=f"column_{i}") for i in range(60))
    text = page.render(
        stories.patients(attributes=many, correlations=stories.many_correlations(60))
    )
    reader = Reader(text)
    assert reader.tags.count("article") == 60
    assert "The correlations that moved most" in reader.words
    assert len(text) < 1_000_000


def test_unknown_figures_leave_no_trace():
    bare = replace(stories.attributes(told=False)[0], bars=(), mean_after=None)
    bare = replace(bare, deviation_after=None, missing_after=None)
    reader = read(empty(attributes=(bare,)))
    assert reader.tags.count("article") == 1
    assert {"table", "svg"}.isdisjoint(set(reader.tags[reader.tags.index("article") :]))
    holes = ((1.0, None), (float("nan"), 1.0))
    table = replace(stories.correlations(), names=("a", "b"), before=None, after=holes)
    assert "nan" not in read(empty(correlations=table)).words


def test_no_number_is_longer_than_a_person_reads():
    words = read(stories.patients()).words
    assert re.search(r"\d\.\d{5}", words) is None
    assert "3\N{NARROW NO-BREAK SPACE}000" in words


def test_every_chart_tells_its_content():
    text = page.render(stories.patients())
    assert text.count("<desc>") == text.count('role="img"') == len(stories.attributes()) + 1


def test_the_comparison():
    comparison = stories.comparison()
    text = page.render_comparison(comparison)
    reader = Reader(text)
    assert "http" not in text.replace("http-equiv", "")
    for words in (comparison.source, *comparison.recommendation, "age, income."):
        assert words in reader.words
    assert reader.tags.count("tr") == len(comparison.choices) + 1
    assert text.count('class="chosen"') == 1
    nasty = replace(comparison, source=stories.NASTY, choices=(), recommendation=())
    assert "script" not in Reader(page.render_comparison(nasty)).tags


def test_the_written_file_is_the_page(tmp_path):
    for told, render in (
        (stories.patients(), page.render),
        (stories.comparison(), page.render_comparison),
    ):
        page.write(told, tmp_path / "deep" / "page.html")
        assert (tmp_path / "deep" / "page.html").read_text(encoding="utf-8") == render(told)
