"""Progress where a notebook watches."""

import sys
import types

from microagg.base.progress import tell, watch


def test_a_notebook_shows_progress_and_no_escapes(monkeypatch, capsys):
    class Shell:
        kernel = object()

    notebook = types.ModuleType("IPython")
    notebook.get_ipython = Shell
    monkeypatch.setitem(sys.modules, "IPython", notebook)
    with watch("grouping") as advance:
        advance(0.5)
        tell("30 of 60 groups")
    said = capsys.readouterr().err
    assert "grouping: 50 %" in said
    assert said.endswith("\r")
    assert "\x1b" not in said
    notebook.get_ipython = lambda: None
    with watch("grouping") as advance:
        advance(0.5)
    assert capsys.readouterr().err == ""
