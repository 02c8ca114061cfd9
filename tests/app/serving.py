"""The app as a guest meets it: a real server on this machine, and a browser of few words."""

import http.client
import json
import re
import shutil
import threading
import time
from contextlib import contextmanager
from urllib.parse import quote, urlencode

from microagg.app.desk import Doors
from microagg.app.server import Server

_PATIENCE = 300


def browser():
    """Debian's Chromium, or another that calls itself so."""
    return next(filter(None, map(shutil.which, ("chromium", "chromium-browser"))), None)


class Guest:
    """Asks the app as a browser does that was opened at the printed address."""

    def __init__(self, server):
        self.server, self.desk, self.port = server, server.desk, server.port
        self.origin = f"http://127.0.0.1:{self.port}"
        answer = self.ask("GET", f"/open/{self.desk.keys.token}")
        self.cookie = answer.headers["set-cookie"].split(";")[0]

    def ask(self, method, path, body=None, **headers):
        """One request; headers are as given, `None` leaves one out."""
        given = {"cookie": getattr(self, "cookie", None), **headers}
        given = {name.replace("_", "-"): value for name, value in given.items() if value}
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=_PATIENCE)
        try:
            skip = "host" in given
            connection.putrequest(method, path, skip_host=skip, skip_accept_encoding=True)
            if body is not None:
                given.setdefault("content-length", str(len(body)))
            for name, value in given.items():
                connection.putheader(name, value)
            connection.endheaders(body)
            answer = connection.getresponse()
            answer.body = answer.read()
            answer.text = answer.body.decode("utf-8", "replace")
            return answer
        finally:
            connection.close()

    def page(self, path):
        answer = self.ask("GET", path)
        assert answer.status == 200, (path, answer.status, answer.text[:300])
        return answer.text

    def post(self, path, fields=(), **headers):
        table = self.desk.state.table
        known = {"csrf": self.desk.keys.form, "table": table.number if table else ""}
        body = urlencode({**known, **dict(fields)}, doseq=True).encode()
        given = {
            "origin": self.origin,
            "content_type": "application/x-www-form-urlencoded",
            **headers,
        }
        return self.ask("POST", path, body, **given)

    def live(self, path, fields=()):
        """A form that is saved while somebody chooses: what comes back."""
        return json.loads(self.post(path, fields, accept="application/json").text)

    def upload(self, path, files, **fields):
        """files: by field, a name and the content."""
        edge = "edge-of-a-part"
        parts = []
        for name, text in {"csrf": self.desk.keys.form, **fields}.items():
            parts.append(f'content-disposition: form-data; name="{name}"\r\n\r\n{text}'.encode())
        for field, (name, content) in files.items():
            head = f'content-disposition: form-data; name="{field}"; filename="{name}"\r\n\r\n'
            parts.append(head.encode() + content)
        body = b"".join(b"--" + edge.encode() + b"\r\n" + part + b"\r\n" for part in parts)
        body += f"--{edge}--\r\n".encode()
        kind = f"multipart/form-data; boundary={edge}"
        return self.ask("POST", path, body, origin=self.origin, content_type=kind)

    def headers_of(self, name):
        """What goes with a file that is sent by itself."""
        token = self.desk.keys.form
        return {"origin": self.origin, "x-csrf": token, "x-file-name": quote(name, safe="")}

    def send(self, name, content, **headers):
        """A file by itself, as the page sends it."""
        return self.ask("POST", "/upload", content, **{**self.headers_of(name), **headers})

    def wait(self):
        """Until all jobs are done; the last one."""
        end = time.monotonic() + _PATIENCE
        while self.desk.jobs.under_way:
            assert time.monotonic() < end, [job.to_dict() for job in self.desk.jobs.all]
            time.sleep(0.02)
        return self.desk.jobs.all[-1]

    def open(self, path, content):
        """A table by upload in a form, looked at."""
        assert self.upload("/upload", {"file": (path, content)}).status == 303
        return self._opened()

    def open_sent(self, name, content):
        """A table by upload of the file itself, looked at."""
        assert self.send(name, content).status == 303
        return self._opened()

    def _opened(self):
        job = self.wait()
        assert job.status == "done", job.problem
        return self.desk.state.table

    def columns(self, role):
        return self.desk.state.draft.named(role)


def code_blocks(page):
    """The texts to be copied."""
    import html

    return [html.unescape(text) for text in re.findall(r"<pre[^>]*><code>(.*?)</code>", page, re.S)]


@contextmanager
def running(folder, parent, **doors):
    """A server on a free port, until the block ends."""
    server = Server(Doors(folder=folder, parent=parent, **doors))
    ready = threading.Event()
    thread = threading.Thread(target=server.run, args=(ready.set,), daemon=True)
    thread.start()
    ready.wait(_PATIENCE)
    try:
        yield server
    finally:
        server.stop()
        thread.join(_PATIENCE)
        assert not thread.is_alive()
