"""Files that are dropped."""

import stat


def uploads(guest):
    return [path for path in (guest.desk.home.path / "uploads").rglob("*") if path.is_file()]


def test_a_name_never_becomes_a_path(guest):
    before = set(uploads(guest))
    for name in ("../../../evil.csv", "/etc/passwd.csv", "..\\..\\evil.csv", "a/b.csv", "\x01.csv"):
        table = guest.open(name, b"age,town\n1,a\n2,b\n")
        new = set(uploads(guest)) - before
        assert [path.name for path in new] == ["table.csv"]
        assert [stat.S_IMODE(path.stat().st_mode) for path in new] == [0o600]
        assert "/" not in table.name
        before = set(uploads(guest))


def test_more_than_is_allowed_is_refused_and_nothing_is_left(guest):
    before = uploads(guest)
    answer = guest.upload("/upload", {"file": ("a.csv", b"x" * (10**7 + 1))})
    assert answer.status == 303
    assert "10 MB" in guest.desk.state.problem
    assert "That did not work" in guest.page("/")
    assert uploads(guest) == before


def test_what_is_no_table_is_refused(guest):
    before = uploads(guest)
    for name in ("a.exe", "a", "csv", ""):
        assert guest.upload("/upload", {"file": (name, b"a\n1\n")}).status == 303
        assert guest.desk.state.problem
    answer = guest.post("/upload")
    assert answer.status == 303
    assert uploads(guest) == before


def test_a_form_that_is_cut_off_leaves_nothing(guest):
    before = uploads(guest)
    body = (
        b'--x\r\ncontent-disposition: form-data; name="csrf"\r\n\r\n'
        + guest.desk.keys.form.encode()
        + b'\r\n--x\r\ncontent-disposition: form-data; name="file"; filename="a.csv"\r\n\r\na\n1\n'
    )
    kind = "multipart/form-data; boundary=x"
    answer = guest.ask("POST", "/upload", body, origin=guest.origin, content_type=kind)
    assert answer.status == 303
    assert "cut off" in guest.desk.state.problem
    assert uploads(guest) == before
