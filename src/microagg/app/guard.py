"""Who may come in: the right host, then the right cookie, then the right form.

Loopback alone is no boundary: any page in any browser on the machine can send requests there, and
a name of somebody else's that is made to mean 127.0.0.1 can read the answers.
"""

import hmac
import secrets
from collections.abc import Awaitable, Callable, Iterable, MutableMapping
from dataclasses import dataclass, field
from http.cookies import CookieError, SimpleCookie
from typing import Any

from microagg.base.errors import sentence_of

Scope = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[MutableMapping[str, Any]]]
Send = Callable[[MutableMapping[str, Any]], Awaitable[None]]
App = Callable[[Scope, Receive, Send], Awaitable[None]]

HEADERS = {
    "content-security-policy": "default-src 'none'; script-src 'self'; style-src 'self'; "
    "img-src 'self'; connect-src 'self'; form-action 'self'; base-uri 'none'; "
    "frame-ancestors 'none'",
    "referrer-policy": "no-referrer",
    "cache-control": "no-store",
    "x-content-type-options": "nosniff",
    "x-frame-options": "DENY",
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
    "permissions-policy": "camera=(), microphone=(), geolocation=()",
}
_OPEN = "/open/"


@dataclass(frozen=True)
class Keys:
    """What is secret about one run of the app.

    token: in the address that is printed; session: in the cookie it is exchanged for; form: in
    every form.
    """

    token: str = field(default_factory=lambda: secrets.token_urlsafe(32), repr=False)
    session: str = field(default_factory=lambda: secrets.token_urlsafe(32), repr=False)
    form: str = field(default_factory=lambda: secrets.token_urlsafe(32), repr=False)

    def is_form(self, given: str) -> bool:
        """Whether a form came from one of our pages."""
        return hmac.compare_digest(given.encode(), self.form.encode())


class Guard:
    """Stands before the app, and lets nothing else through."""

    def __init__(
        self,
        app: App,
        keys: Keys,
        hosts: Iterable[str],
        port: int,
        noticed: Callable[[], None] = lambda: None,
    ) -> None:
        """hosts: names under which the app may be asked for; noticed: called for every guest."""
        self._app, self._keys, self._noticed = app, keys, noticed
        self._hosts = {f"{host}:{port}".encode() for host in hosts}
        self._origins = {b"http://" + host for host in self._hosts}
        # Cookies are shared by all ports of a host.
        self._cookie = f"microagg_{port}"

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            if scope["type"] == "lifespan":
                await self._app(scope, receive, send)
            return
        started = False

        async def send_guarded(message: MutableMapping[str, Any]) -> None:
            nonlocal started
            if message["type"] == "http.response.start":
                started = True
                given = {name.lower() for name, _ in message["headers"]}
                message["headers"] = [
                    *message["headers"],
                    *(
                        (name.encode(), value.encode())
                        for name, value in HEADERS.items()
                        if name.encode() not in given
                    ),
                ]
            await send(message)

        try:
            await self._admit(scope, receive, send_guarded)
        except Exception as failure:
            # Neither a page nor a log gets the words of an error, which may quote a record.
            if not started:
                await _say(send_guarded, 500, sentence_of(failure))

    async def _admit(self, scope: Scope, receive: Receive, send: Send) -> None:
        headers: dict[bytes, list[bytes]] = {}
        for name, value in scope["headers"]:
            headers.setdefault(name.lower(), []).append(value)
        if len(hosts := headers.get(b"host", [])) != 1 or hosts[0].lower() not in self._hosts:
            await _say(send, 421, "this app answers under another address only")
            return
        path, method = scope["path"], scope["method"]
        if method not in ("GET", "HEAD", "POST"):
            await _say(send, 405, "there is nothing to be done that way")
            return
        if method == "GET" and path.startswith(_OPEN):
            await self._exchange(path.removeprefix(_OPEN), send)
            return
        if not self._knows(headers.get(b"cookie", [])):
            await _say(send, 403, "open the address that microagg app printed when it was started")
            return
        self._noticed()
        if method == "POST" and not self._is_own_page(headers):
            await _say(send, 403, "this was not asked for by a page of this app")
            return
        await self._app(scope, receive, send)

    async def _exchange(self, token: str, send: Send) -> None:
        if not hmac.compare_digest(token.encode(), self._keys.token.encode()):
            await _say(send, 403, "this address is of another run of the app; open the new one")
            return
        self._noticed()
        cookie = f"{self._cookie}={self._keys.session}; HttpOnly; SameSite=Strict; Path=/"
        await _say(send, 303, "", {"location": "/", "set-cookie": cookie})

    def _knows(self, cookies: list[bytes]) -> bool:
        jar = SimpleCookie()
        for each in cookies:
            try:
                jar.load(each.decode("latin-1"))
            except CookieError:
                return False
        found = jar[self._cookie].value if self._cookie in jar else ""
        return hmac.compare_digest(found.encode(), self._keys.session.encode())

    def _is_own_page(self, headers: dict[bytes, list[bytes]]) -> bool:
        """Browsers that send no referrer say null for the origin of a form, and its site beside."""
        origins, sites = headers.get(b"origin", []), headers.get(b"sec-fetch-site", [])
        if len(origins) != 1 or sites not in ([], [b"same-origin"]):
            return False
        return origins[0] in self._origins or (origins[0] == b"null" and bool(sites))


async def _say(
    send: Send, status: int, sentence: str, headers: dict[str, str] | None = None
) -> None:
    told = {"content-type": "text/plain; charset=utf-8", **(headers or {})}
    await send(
        {
            "type": "http.response.start",
            "status": status,
            "headers": [(name.encode(), value.encode()) for name, value in told.items()],
        }
    )
    await send(
        {"type": "http.response.body", "body": (sentence + "\n" if sentence else "").encode()}
    )
