"""The app as a program: a socket of this machine, the address with its token, an end in time."""

import asyncio
import ipaddress
import logging
import socket
import sys
import time
from collections.abc import Callable
from os import PathLike, fspath
from pathlib import Path

import uvicorn

from microagg.app.desk import Desk, Doors
from microagg.app.guard import Guard
from microagg.app.routes import Routes
from microagg.base.errors import OptionError
from microagg.base.texts import size

# How often it is looked whether somebody is still there, in seconds.
_LOOK = 0.2
_LOCAL = ("127.0.0.1", "localhost", "[::1]")


class Server:
    """The app, served until it is stopped or nobody has come for long."""

    def __init__(
        self, doors: Doors, *, host: str = "127.0.0.1", port: int = 0, allow_remote: bool = False
    ) -> None:
        local = _check_host(host, allow_remote)
        self._socket = _bound(host, port)
        self.port: int = self._socket.getsockname()[1]
        try:
            self.desk = Desk(doors)
        except BaseException:
            self._socket.close()
            raise
        names = _LOCAL if local else (*_LOCAL, f"[{host}]" if ":" in host else host)
        self._guest = time.monotonic()
        self._wanted = True
        self.app = Guard(Routes(self.desk).app(), self.desk.keys, names, self.port, self._noticed)
        shown = f"[{host}]" if ":" in host else host
        self.address = f"http://{shown}:{self.port}/open/{self.desk.keys.token}"

    def _noticed(self) -> None:
        self._guest = time.monotonic()

    def stop(self) -> None:
        """Want it no more, from any thread."""
        self._wanted = False

    def run(self, ready: Callable[[], None] = lambda: None) -> None:
        """Serve; ready: called once guests may come."""
        # Whoever asks and what was answered may tell of records.
        for name in ("uvicorn", "uvicorn.error", "uvicorn.access", "asyncio"):
            logging.getLogger(name).addHandler(logging.NullHandler())
            logging.getLogger(name).propagate = False
        config = uvicorn.Config(
            self.app,
            log_config=None,
            access_log=False,
            server_header=False,
            lifespan="off",
            timeout_graceful_shutdown=1,
        )
        server = uvicorn.Server(config)
        try:
            self.desk.warm_up()
            asyncio.run(self._serve(server, ready))
        finally:
            self.close()

    async def _serve(self, server: uvicorn.Server, ready: Callable[[], None]) -> None:
        ready()
        watching = asyncio.create_task(self._watch(server))
        try:
            await server.serve(sockets=[self._socket])
        finally:
            watching.cancel()

    async def _watch(self, server: uvicorn.Server) -> None:
        """Stop the server once nobody has come for long and nothing is being made."""
        while not server.should_exit:
            await asyncio.sleep(_LOOK)
            if self.desk.jobs.under_way:
                self._noticed()
            if not self._wanted or time.monotonic() - self._guest > self.desk.doors.idle:
                server.should_exit = True

    def close(self) -> None:
        """End all work, and remove all that was made."""
        self._socket.close()
        self.desk.close()


def open_app(
    file: str | PathLike[str] | None = None,
    *,
    port: int = 0,
    browser: bool = True,
    max_upload: str = "2GB",
    folder: str | PathLike[str] = ".",
    host: str = "127.0.0.1",
    allow_remote: bool = False,
    demo: bool = False,
    say: Callable[[str], None] = print,
) -> None:
    """Protect a table in the browser; returns once the app is stopped, or idle for an hour.

    file: the table to begin with; demo: invented patients instead. folder: files below it can be
    opened by their path. say: gets the address with its token.
    """
    if not Path(folder).is_dir():
        raise OptionError(f"there is no folder {str(folder)!r}; --folder names one that is there")
    doors = Doors(folder=Path(folder), max_upload=size(max_upload, "--max-upload"))
    server = Server(doors, host=host, port=port, allow_remote=allow_remote)
    try:
        if file is not None:
            server.desk.open_file(fspath(file))
        elif demo:
            server.desk.open_demo()
    except BaseException:
        server.close()
        raise

    def ready() -> None:
        say(server.address)
        who = "whoever has this address" if allow_remote else "this machine only"
        say(f"The app answers {who}, as long as this window is open; Ctrl-C ends it.")
        # Whoever reads it from a pipe waits for it.
        sys.stdout.flush()
        if browser:
            import webbrowser

            webbrowser.open(server.address)

    server.run(ready)


def _check_host(host: str, allow_remote: bool) -> bool:
    """Whether the app is for this machine only; another one is refused unless it was allowed."""
    try:
        address = ipaddress.ip_address(host)
    except ValueError:
        address = None
    if host == "localhost" or (address is not None and address.is_loopback):
        return True
    if not allow_remote:
        raise OptionError(
            f"{host!r} can be reached by other machines, and whoever has the address could see the "
            "table; say --allow-remote if that is meant"
        )
    if address is not None and address.is_unspecified:
        raise OptionError(
            f"{host!r} means every address of this machine; name the one to be reached under"
        )
    return False


def _bound(host: str, port: int) -> socket.socket:
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    made = socket.socket(family, socket.SOCK_STREAM)
    try:
        made.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        made.bind((host, port))
        made.listen(128)
    except (OSError, OverflowError) as failure:
        made.close()
        words = getattr(failure, "strerror", None) or "it is no port"
        raise OptionError(
            f"port {port} of {host} cannot be had: {words}; --port 0 takes a free one"
        ) from None
    return made
