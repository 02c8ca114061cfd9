"""Who may come in."""

import pytest

from microagg.app import screens
from microagg.app.guard import HEADERS


def test_another_host_is_refused_before_anything_else(guest):
    for host in ("evil.example", f"evil.example:{guest.port}", "127.0.0.1", "127.0.0.1:1", ""):
        answer = guest.ask("GET", "/", host=host or "x")
        assert answer.status == 421
        assert "set-cookie" not in answer.headers
    # Not even the right token counts there.
    token = guest.ask("GET", f"/open/{guest.desk.keys.token}", host=f"evil.example:{guest.port}")
    assert token.status == 421
    assert guest.ask("GET", "/", host=f"LOCALHOST:{guest.port}").status == 200


def test_the_token_is_exchanged_for_a_cookie_named_with_the_port(guest):
    answer = guest.ask("GET", f"/open/{guest.desk.keys.token}", cookie=None)
    assert (answer.status, answer.headers["location"]) == (303, "/")
    cookie = answer.headers["set-cookie"]
    assert cookie.startswith(f"microagg_{guest.port}=")
    assert "HttpOnly" in cookie
    assert "SameSite=Strict" in cookie
    assert guest.desk.keys.token not in cookie


@pytest.mark.parametrize("cookie", [None, "microagg=x", "microagg_{port}=x", "microagg_1={right}"])
def test_nobody_comes_in_without_the_cookie(guest, cookie):
    given = cookie and cookie.format(port=guest.port, right=guest.desk.keys.session)
    for method, path in (
        ("GET", "/"),
        ("GET", "/jobs"),
        ("POST", "/forget"),
        ("GET", "/static/app.js"),
    ):
        assert guest.ask(method, path, b"", cookie=given, origin=guest.origin).status == 403
    assert guest.ask("GET", "/open/wrong", cookie=given).status == 403


@pytest.mark.parametrize(
    "headers",
    [
        {"origin": None},
        {"origin": "http://evil.example"},
        {"origin": "null"},
        {"origin": "null", "sec_fetch_site": "cross-site"},
        {"origin": "null", "sec_fetch_site": "same-site"},
        {"origin": "http://127.0.0.1:1"},
        {"sec_fetch_site": "cross-site"},
    ],
)
def test_a_form_of_somebody_else_changes_nothing(guest, headers):
    tables = guest.desk.state.tables
    answer = guest.post("/open", {"demo": 1}, **headers)
    assert answer.status == 403
    assert guest.desk.state.tables == tables


def test_a_form_without_its_token_changes_nothing(guest):
    tables = guest.desk.state.tables
    for token in ("", "x", guest.desk.keys.session):
        assert guest.post("/open", {"demo": 1, "csrf": token}).status == 403
        assert guest.upload("/upload", {"file": ("a.csv", b"a\n1\n")}, csrf=token).status == 403
        assert guest.send("a.csv", b"a\n1\n", **{"x-csrf": token}).status == 403
    assert guest.desk.state.tables == tables


def test_a_form_of_a_browser_that_sends_no_referrer_is_ours(guest):
    answer = guest.post("/cancel", origin="null", sec_fetch_site="same-origin")
    assert answer.status == 303


def test_every_answer_is_closed_to_others(guest):
    asked = [("GET", "/", None), ("GET", "/nothing", None), ("GET", "/", "x"), ("PUT", "/", None)]
    asked += [("GET", "/static/style.css", None), ("GET", "/jobs", None), ("OPTIONS", "/", None)]
    for method, path, cookie in asked:
        answer = guest.ask(method, path, **({} if cookie is None else {"cookie": cookie}))
        for name, value in HEADERS.items():
            assert answer.headers[name] == value, (path, name)
        assert not [name for name in answer.headers if name.startswith("access-control")]
        assert "server" not in answer.headers


def test_the_policy_lets_nothing_in_from_elsewhere():
    policy = HEADERS["content-security-policy"]
    assert policy.startswith("default-src 'none'")
    assert "unsafe" not in policy
    assert "frame-ancestors 'none'" in policy
    assert not [word for word in policy.split() if "//" in word or word == "*"]


def test_what_goes_wrong_is_told_without_its_words(guest, monkeypatch):
    def fail(*_):
        raise ValueError("income of Ada Lovelace is 4711")

    monkeypatch.setattr(screens, "assess", fail)
    answer = guest.ask("GET", "/assess")
    assert answer.status == 500
    assert "ValueError" in answer.text
    assert "4711" not in answer.text
    assert "Ada" not in answer.text
