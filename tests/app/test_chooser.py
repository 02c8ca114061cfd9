"""The chooser never leaves its root."""

import pytest

from microagg.app.chooser import Chooser
from microagg.base.errors import InputError


@pytest.fixture
def chooser(tmp_path):
    root = tmp_path / "root"
    (root / "deep").mkdir(parents=True)
    (root / "a.csv").write_text("a\n1\n")
    (root / "deep" / "b.csv").write_text("a\n1\n")
    (root / ".hidden.csv").write_text("a\n1\n")
    (root / "notes.txt").write_text("no table")
    (tmp_path / "secret.csv").write_text("a\n1\n")
    (tmp_path / "outside").mkdir()
    (root / "link.csv").symlink_to(tmp_path / "secret.csv")
    (root / "out").symlink_to(tmp_path / "outside")
    (root / "inside.csv").symlink_to(root / "a.csv")
    (root / "loop").symlink_to(root / "loop")
    return Chooser(root, (".csv",))


def test_what_can_be_opened_is_listed_folders_first(chooser):
    assert [entry.path for entry in chooser.entries("")] == ["deep", "a.csv", "inside.csv"]
    assert [entry.path for entry in chooser.entries("deep")] == ["deep/b.csv"]


@pytest.mark.parametrize(
    "path",
    ["..", "../secret.csv", "deep/../../secret.csv", "link.csv", "out", "/etc/passwd", "/", "loop",
     "a\0b", "nothing.csv", "x" * 5000],
)  # fmt: skip
def test_no_way_leads_out(chooser, path):
    with pytest.raises(InputError):
        chooser.find(path)
    with pytest.raises(InputError):
        chooser.entries(path)


def test_a_link_within_the_root_is_a_way(chooser):
    assert chooser.find("inside.csv").name == "a.csv"


def test_pages_and_forms_do_not_leave_it_either(guest, tmp_path):
    (guest.desk.doors.folder / "away").symlink_to(tmp_path)
    (tmp_path / "secret.csv").write_text("a\n1\n")
    tables = guest.desk.state.tables
    for path in ("../", "away/secret.csv", "/etc/passwd", str(tmp_path / "secret.csv")):
        assert guest.post("/open", {"path": path}).status == 303
        assert guest.desk.state.problem
        assert "secret.csv</" not in guest.page(f"/?in={path}")
    for address in (f"sqlite:///{tmp_path}/secret.db#t", "sqlite:////etc/passwd#t"):
        guest.post("/open", {"address": address})
        assert guest.desk.state.problem
    assert guest.desk.state.tables == tables
