"""How results are said, in terminals that are narrow."""

from microagg.cli.saying import listed_files, say, say_table


def test_no_word_of_a_table_is_cut(capsys, monkeypatch):
    monkeypatch.setenv("COLUMNS", "80")
    words = "How far the distribution of a column of numbers moved where it moved most. " * 3
    rows = [
        ("Kolmogorov-Smirnov distance", "1.03 %", words),
        ("Correlation change", "not measured", words),
    ]
    say_table(("figure", "value", "what it says"), rows, right=("value",), whole=("value",))
    said = capsys.readouterr().out
    assert all(len(line) <= 80 for line in said.splitlines())
    assert "Kolmogorov-Smirnov" in said
    assert {*words.split()} <= {*said.split()}


def test_files_that_are_not_for_publication_are_named():
    lines = listed_files({"release": "r.csv", "record": "r.json"}, ["record"])
    assert lines == ["  release     r.csv", "  record      r.json (not for publication)"]


def test_no_word_of_a_sentence_is_cut_on_a_terminal(capsys, monkeypatch):
    monkeypatch.setenv("COLUMNS", "40")
    sentence = "Note: how many records nobody shares their values with, " * 3
    command = "microagg protect survey.csv -k 5 -q age,income,postcode -o release.csv"
    for terminal in (True, False):
        monkeypatch.setattr("sys.stdout.isatty", lambda terminal=terminal: terminal)
        say(sentence)
        say(command)
        lines = capsys.readouterr().out.splitlines()
        # A command is copied as it is.
        assert lines[-1] == command
        assert " ".join(lines[:-1]).split() == sentence.split()
        assert (max(map(len, lines[:-1])) <= 40) == terminal
