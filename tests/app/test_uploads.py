"""Files that are dropped."""

import socket
import stat
import time


def uploads(guest):
    return [path for path in (guest.desk.home.path / "uploads").rglob("*") if path.is_file()]


def test_a_name_never_becomes_a_path(guest):
    before = set(uploads(guest))
    for name in ("../../../evil.csv", "/etc/passwd.csv", "..\\..\\evil.csv", "a/b.csv", "\x01.csv"):
        for send in (guest.open, guest.open_sent):
            table = send(name, b"age,town\n1,a\n2,b\n")
            new = set(uploads(guest)) - before
            assert [path.name for path in new] == ["table.csv"]
            assert [stat.S_IMODE(path.stat().st_mode) for path in new] == [0o600]
            assert [path.read_bytes() for path in new] == [b"age,town\n1,a\n2,b\n"]
            assert "/" not in table.name
            before = set(uploads(guest))


def test_more_than_is_allowed_is_refused_and_nothing_is_left(guest):
    before = uploads(guest)
    large = b"x" * (guest.desk.doors.max_upload + 1)
    for answer in (guest.upload("/upload", {"file": ("a.csv", large)}), guest.send("a.csv", large)):
        assert answer.status == 303
        assert "2 MB" in guest.desk.state.problem
        assert "That did not work" in guest.page("/")
        assert uploads(guest) == before


def test_what_is_no_table_is_refused(guest):
    before = uploads(guest)
    for name in ("a.exe", "a", "csv", ""):
        assert guest.upload("/upload", {"file": (name, b"a\n1\n")}).status == 303
        assert guest.desk.state.problem
        guest.desk.state.problem = ""
        assert guest.send(name, b"a\n1\n").status == 303
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


def test_a_file_by_itself_that_is_cut_off_leaves_nothing(guest):
    before, tables = uploads(guest), guest.desk.state.tables
    with socket.create_connection(("127.0.0.1", guest.port)) as line:
        head = {
            **guest.headers_of("a.csv"),
            "host": f"127.0.0.1:{guest.port}",
            "cookie": guest.cookie,
        }
        told = "".join(f"{name}: {text}\r\n" for name, text in head.items())
        line.sendall(f"POST /upload HTTP/1.1\r\n{told}content-length: 999\r\n\r\na\n1\n".encode())
        end = time.monotonic() + 60
        while uploads(guest) == before:
            assert time.monotonic() < end
            time.sleep(0.01)
    while uploads(guest) != before:
        assert time.monotonic() < end
        time.sleep(0.01)
    assert guest.desk.state.tables == tables
