"""What the app answers: pages for whoever looks, changes for whoever posts a form."""

import zipfile
from collections.abc import AsyncIterator, Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any
from urllib.parse import unquote

from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.datastructures import FormData
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import (
    FileResponse,
    HTMLResponse,
    JSONResponse,
    PlainTextResponse,
    RedirectResponse,
    Response,
    StreamingResponse,
)
from starlette.routing import Route

from microagg.actions.pages import stylesheet
from microagg.app import choosing, making, screens
from microagg.app.desk import Desk
from microagg.app.state import Run
from microagg.app.uploads import Form, receive
from microagg.base.errors import InputError, MicroaggError, sentence_of
from microagg.base.files import suffix_of

_STATIC = Path(__file__).parent / "static"
_TYPES = {"app.js": "text/javascript", "icon.svg": "image/svg+xml"}
_MOST_FIELDS = 100_000
# What may be published, and what stays with the owner, by what it is called.
_FILES = {
    "release": "publish",
    "certificate": "publish",
    "public report": "publish",
    "record": "keep",
    "report": "keep",
    "recipe": "keep",
}
Change = Callable[[Desk, FormData], str]


class Routes:
    """The app as a browser sees it."""

    def __init__(self, desk: Desk) -> None:
        self.desk = desk

    def app(self) -> Starlette:
        """All of it."""
        get, post = ["GET"], ["POST"]
        return Starlette(
            routes=[
                Route("/", self.table, methods=get),
                Route("/table", self.table, methods=get),
                Route("/roles", self.roles, methods=get),
                Route("/risk", self.risk, methods=get),
                Route("/promise", self.promise, methods=get),
                Route("/compare", self.compare, methods=get),
                Route("/result", self.result, methods=get),
                Route("/result/{run:int}", self.result, methods=get),
                Route("/takeaway", self.takeaway, methods=get),
                Route("/takeaway/{run:int}", self.takeaway, methods=get),
                Route("/private", self.private, methods=get),
                Route("/assess", self.assess, methods=get),
                Route("/jobs", self.jobs, methods=get),
                Route("/file/{run:int}/{name}", self.file, methods=get),
                Route("/zip/{run:int}/{name}", self.zip, methods=get),
                Route("/private/{name}", self.private_file, methods=get),
                Route("/static/{name}", self.static, methods=get),
                Route("/open", self.posted(Desk.open), methods=post),
                Route("/upload", self.upload, methods=post),
                Route("/reading", self.posted(Desk.read_again), methods=post),
                Route("/roles", self.save_roles, methods=post),
                Route("/risk", self.posted(making.measure_risk), methods=post),
                Route("/promise", self.save_promise, methods=post),
                Route("/protect", self.posted(making.protect), methods=post),
                Route("/compare", self.posted(making.compare), methods=post),
                Route("/use", self.posted(making.use), methods=post),
                Route("/cancel", self.posted(making.cancel), methods=post),
                Route("/name", self.posted(making.rename), methods=post),
                Route("/format", self.posted(making.write_as), methods=post),
                Route("/private", self.posted(making.private), methods=post),
                Route("/assess", self.judge, methods=post),
                Route("/forget", self.posted(Desk.forget), methods=post),
            ],
            exception_handlers={404: self.nothing_there, Exception: self.surprised},
        )

    # Pages.

    def table(self, request: Request) -> Response:
        folder = request.query_params.get("in", "")
        try:
            entries = self.desk.chooser.entries(folder)
        except InputError as problem:
            self._tell(problem, "/")
            folder, entries = "", self.desk.chooser.entries("")
        return HTMLResponse(screens.table(self.desk.state, self.desk.around(), entries, folder))

    def roles(self, _request: Request) -> Response:
        return self._with_table("roles", screens.roles)

    def risk(self, _request: Request) -> Response:
        return self._with_table("risk", screens.risk)

    def promise(self, _request: Request) -> Response:
        return self._with_table("promise", screens.promise)

    def compare(self, request: Request) -> Response:
        chosen = request.query_params.get("choice", "")
        place = int(chosen) if chosen.isdecimal() and len(chosen) < 9 else None
        return self._with_table("compare", partial(screens.compare, chosen=place))

    def result(self, request: Request) -> Response:
        asked = request.query_params.getlist("of")
        pair = [run for run in self.desk.state.runs if str(run.number) in asked][:2]
        run = self._run(request)
        page = screens.result(self.desk.state, self.desk.around(), run, pair)
        return HTMLResponse(page)

    def takeaway(self, request: Request) -> Response:
        run = self._run(request)
        return HTMLResponse(screens.takeaway(self.desk.state, self.desk.around(), run))

    def private(self, _request: Request) -> Response:
        given = self.desk.private_given
        return HTMLResponse(screens.private(self.desk.state, self.desk.around(), given))

    def assess(self, _request: Request) -> Response:
        return HTMLResponse(screens.assess(self.desk.state, self.desk.around()))

    def jobs(self, _request: Request) -> Response:
        return JSONResponse([job.to_dict() for job in self.desk.jobs.all])

    def nothing_there(self, _request: Request, _failure: Exception) -> Response:
        return PlainTextResponse("there is no such page\n", 404)

    def surprised(self, _request: Request, failure: Exception) -> Response:
        return PlainTextResponse(sentence_of(failure) + "\n", 500)

    def _with_table(self, page: str, screen: Callable[..., str]) -> Response:
        if self.desk.state.table is None:
            return RedirectResponse("/", 303)
        if self.desk.state.ready is None:
            return HTMLResponse(screens.waiting(self.desk.state, self.desk.around(), page))
        return HTMLResponse(screen(self.desk.state, self.desk.around()))

    def _run(self, request: Request) -> Run | None:
        runs = self.desk.state.runs
        asked = request.path_params.get("run")
        if asked is None:
            return runs[-1] if runs else None
        return next((run for run in runs if run.number == asked), None)

    # Files.

    def static(self, request: Request) -> Response:
        name = request.path_params["name"]
        if name == "style.css":
            own = (_STATIC / "app.css").read_text(encoding="utf-8")
            return Response(stylesheet() + own, media_type="text/css")
        if name not in _TYPES:
            return PlainTextResponse("there is no such file\n", 404)
        return Response((_STATIC / name).read_bytes(), media_type=_TYPES[name])

    def file(self, request: Request) -> Response:
        run, name = self._run(request), request.path_params["name"]
        files = {} if run is None else {**run.made["files"], **run.formats}
        if run is not None and name == "script":
            return _attached(screens.takeaway_script(run).encode(), "protect.py")
        if name not in files:
            return PlainTextResponse("there is no such file\n", 404)
        return _download(Path(files[name]))

    def private_file(self, request: Request) -> Response:
        found = self.desk.state.private
        files = {} if found is None else found.found["files"]
        name = request.path_params["name"]
        if name not in files:
            return PlainTextResponse("there is no such file\n", 404)
        return _download(Path(files[name]))

    def zip(self, request: Request) -> Response:
        run, name = self._run(request), request.path_params["name"]
        if run is None or name not in ("publish", "everything"):
            return PlainTextResponse("there is no such file\n", 404)
        told = {"content-disposition": f'attachment; filename="{name}.zip"'}
        return StreamingResponse(_zipped(run, name), media_type="application/zip", headers=told)

    # Changes.

    def posted(self, change: Change) -> Callable[[Request], Any]:
        """A form that changes something and leads to a page; a problem leads back to its own."""

        async def answer(request: Request) -> Response:
            form = await request.form(max_fields=_MOST_FIELDS)
            self._check_form(str(form.get("csrf", "")))
            return await run_in_threadpool(self._changed, change, form)

        return answer

    async def save_roles(self, request: Request) -> Response:
        """Also as somebody chooses, then with what there is to say about it."""
        return await self._saved(request, making.leave_roles, choosing.told_of_roles)

    async def save_promise(self, request: Request) -> Response:
        """Also as somebody types, then with what there is to say about it."""
        return await self._saved(request, choosing.save_promise, choosing.told_of_promise)

    async def _saved(
        self, request: Request, change: Change, tell: Callable[[Desk], dict[str, Any]]
    ) -> Response:
        form = await request.form(max_fields=_MOST_FIELDS)
        self._check_form(str(form.get("csrf", "")))
        if request.headers.get("accept") != "application/json":
            return await run_in_threadpool(self._changed, change, form)
        try:
            await run_in_threadpool(change, self.desk, form)
            return JSONResponse(await run_in_threadpool(tell, self.desk))
        except MicroaggError as problem:
            return JSONResponse({"problem": str(problem)})

    async def upload(self, request: Request) -> Response:
        """A file by itself, with its name in a header; or in a form, where there are no scripts."""
        if "x-file-name" not in request.headers:
            form = await self._received(request)
            if isinstance(form, Response):
                return form
            return self._changed(lambda desk, _: desk.open_upload(*form.files["file"]), FormData())
        self._check_form(request.headers.get("x-csrf", ""))
        name, chunks = unquote(request.headers["x-file-name"]), request.stream()
        try:
            path = self._placed("file", name)
            await receive(chunks, path, self.desk.doors.max_upload)
        except MicroaggError as problem:
            return await self._refused(request, chunks, problem)
        return self._changed(lambda desk, _: desk.open_upload(path, name), FormData())

    async def judge(self, request: Request) -> Response:
        form = await self._received(request)
        if isinstance(form, Response):
            return form
        paths = {name: path for name, (path, _) in form.files.items()}
        return self._changed(lambda desk, _: making.assess(desk, form.texts, paths), FormData())

    async def _received(self, request: Request) -> Form | Response:
        """A form with files, on the disk; or where the browser is sent instead."""
        chunks = request.stream()
        try:
            form = Form(
                request.headers.get("content-type", ""),
                self._placed_of_form,
                self.desk.doors.max_upload,
            )
            await form.read(chunks)
            if not form.files:
                raise InputError("no file was chosen")
        except MicroaggError as problem:
            return await self._refused(request, chunks, problem)
        return form

    async def _refused(
        self, request: Request, chunks: AsyncIterator[bytes], problem: MicroaggError
    ) -> Response:
        self._tell(problem, _back(request))
        # A browser that is still sending does not hear an answer.
        async for _ in chunks:
            pass
        return RedirectResponse(_back(request), 303)

    def _placed_of_form(self, form: Form, field: str, name: str) -> Path:
        self._check_form(form.texts.get("csrf", ""))
        return self._placed(field, name)

    def _placed(self, field: str, name: str) -> Path:
        suffix = suffix_of(Path(name).name).lower()
        allowed = (".json",) if field == "record" else self.desk.chooser.suffixes
        if suffix not in allowed:
            raise InputError(
                f"files that end with {suffix!r:.20} are not known; there are {', '.join(allowed)}"
            )
        return self.desk.home.new_upload(suffix)

    def _check_form(self, token: str) -> None:
        if not self.desk.keys.is_form(token):
            raise HTTPException(403, "this form is of another run of the app; load the page again")

    def _changed(self, change: Change, form: FormData) -> Response:
        self.desk.state.problem = ""
        try:
            page = change(self.desk, form)
        except MicroaggError as problem:
            page = str(form.get("page", "")) or "/"
            self._tell(problem, page)
        return RedirectResponse(
            page if page.startswith("/") and page[1:2] not in "/\\" else "/", 303
        )

    def _tell(self, problem: MicroaggError, page: str) -> None:
        """On the page that comes next; other pages have nothing to do with it."""
        self.desk.state.problem = str(problem)
        self.desk.state.problem_page = page.removeprefix("/").partition("/")[0] or "table"


def _back(request: Request) -> str:
    return "/assess" if request.url.path == "/assess" else "/"


def _download(path: Path) -> Response:
    if not path.is_file():
        return PlainTextResponse("this file is gone\n", 404)
    return FileResponse(path, filename=path.name, media_type="application/octet-stream")


def _attached(content: bytes, name: str) -> Response:
    told = {"content-disposition": f'attachment; filename="{name}"'}
    return Response(content, media_type="application/octet-stream", headers=told)


class _Sink:
    """Takes what a zip file is made of, a piece after another."""

    def __init__(self) -> None:
        self.pieces: list[bytes] = []

    def write(self, piece: bytes) -> int:
        self.pieces.append(bytes(piece))
        return len(piece)

    def flush(self) -> None:
        """Nothing is held back."""

    def taken(self) -> bytes:
        pieces, self.pieces = b"".join(self.pieces), []
        return pieces


def _zipped(run: Run, name: str) -> Iterator[bytes]:
    """A zip file as it is made: what may be published and what stays are in folders apart."""
    sink: Any = _Sink()
    members = [(_FILES.get(what, "publish"), path) for what, path in run.made["files"].items()]
    members += [("publish", path) for path in run.formats.values()]
    with zipfile.ZipFile(sink, "w", zipfile.ZIP_DEFLATED, compresslevel=1) as archive:
        for folder, path in members:
            if folder == "keep" and name == "publish":
                continue
            inside = Path(path).name if name == "publish" else f"{folder}/{Path(path).name}"
            with archive.open(inside, "w", force_zip64=True) as member, Path(path).open("rb") as of:
                while piece := of.read(1 << 20):
                    member.write(piece)
                    yield sink.taken()
        if name == "everything":
            archive.writestr("keep/protect.py", screens.takeaway_script(run))
    yield sink.taken()
