"""What can be done: every change of the state, and the work that it starts."""

import threading
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from starlette.datastructures import FormData

from microagg.actions.formats import file_of, suffixes
from microagg.app import screens
from microagg.app.chooser import Chooser
from microagg.app.guard import Keys
from microagg.app.home import Home
from microagg.app.jobs import Jobs, Worker
from microagg.app.state import (
    SETTINGS,
    Draft,
    Look,
    Run,
    State,
    Table,
    typed,
)
from microagg.base.addresses import without_password
from microagg.base.errors import InputError, MicroaggError, OptionError
from microagg.base.reading import Reading


@dataclass(frozen=True, kw_only=True)
class Doors:
    """How the app is opened.

    folder: files below it can be opened by their path; max_upload: bytes; idle: seconds without a
    guest after which the app stops; parent: where its private folder is made.
    """

    folder: Path
    max_upload: int = 2 * 10**9
    idle: float = 3600.0
    parent: Path | None = None


class Desk:
    """The state and everything that changes it.

    Two child processes do the work: one answers quick questions about the table that it holds, the
    other does one job after another.
    """

    def __init__(self, doors: Doors) -> None:
        self.doors, self.keys, self.home = doors, Keys(), Home(doors.parent)
        self.chooser = Chooser(doors.folder, suffixes())
        self.written = suffixes(written=True)
        self.holder, self.maker = Worker(self.home.scratch), Worker(self.home.scratch)
        self.jobs = Jobs()
        self.state = State()
        self.methods: list[dict[str, Any]] = [{"name": "auto", "description": ""}]
        self.private_given: dict[str, str] = {}
        self.changing = threading.RLock()

    def warm_up(self) -> None:
        """Have both processes ready before anybody asks, in the background."""
        self.maker.start()

        def ask() -> None:
            try:
                self.methods = self.holder.call("methods", {})
            except MicroaggError:
                return

        threading.Thread(target=ask, daemon=True).start()

    def close(self) -> None:
        """End all work and remove all that was made."""
        self._stop()
        self.home.remove()

    def _stop(self) -> None:
        self.jobs.cancel_all()
        self.holder.kill()
        self.maker.kill()

    def around(self) -> screens.Around:
        """What pages need besides the state."""
        return screens.Around(
            self.keys.form,
            self.jobs.all,
            self.methods,
            self.written,
            self.doors.max_upload,
            self.doors.folder.resolve().name or "/",
        )

    # The table.

    def open(self, form: FormData) -> str:
        """A file below the folder, the demo table, or a database."""
        if form.get("demo"):
            return self.open_demo()
        address = str(form.get("address", "")).strip()
        if address:
            if "://" not in address:
                raise InputError(
                    "this is no address of a database: sqlite:///survey.db#people and "
                    "postgresql://user@host/database#table are"
                )
            file = file_of(address)
            if file is not None:
                self.chooser.find(file)
            return self.open_address(address, without_password(address), "database")
        path = self.chooser.find(str(form.get("path", "")))
        return self.open_address(str(path), path.name, "path")

    def open_demo(self) -> str:
        """The table of invented patients."""
        path = self.home.new_upload(".csv").with_name("patients.csv")
        return self.open_address(str(path), path.name, "demo")

    def open_file(self, address: str) -> str:
        """A table that whoever started the app named: it may be anywhere."""
        if "://" in address:
            return self.open_address(address, without_password(address), "database")
        path = Path(address)
        if not path.exists():
            raise InputError(f"there is no file {address!r}")
        return self.open_address(str(path.resolve()), path.name, "path")

    def open_upload(self, path: Path, name: str) -> str:
        """A file that was dropped; what the user calls it is only shown."""
        return self.open_address(str(path), name.replace("\\", "/").split("/")[-1], "upload")

    def open_address(self, address: str, name: str, how: str) -> str:
        """Any table."""
        with self.changing:
            self.state.tables += 1
            self.state.table = Table(self.state.tables, address, name, how)
            self.state.draft = Draft()
            self._look(self.state.table)
        return "/"

    def read_again(self, form: FormData) -> str:
        """The same table, read in another way."""
        table = self.table(form)
        given = {name: str(form.get(name, "")) for name in Reading.model_fields}
        settings = [each for each in SETTINGS.values() if each.setting == "reading"]
        reading = typed(settings, given)
        Reading(**reading)
        with self.changing:
            self.state.tables += 1
            table = Table(self.state.tables, table.address, table.name, table.how, None, reading)
            self.state.table, self.state.draft = table, Draft()
            self._look(table)
        return "/"

    def _look(self, table: Table) -> None:
        def keep(look: Look) -> None:
            with self.changing:
                table.look = look
                if self.state.table is table:
                    self.state.draft = Draft.suggested(look)

        asked = {"address": table.address, "reading": table.reading, "demo": table.how == "demo"}
        self.jobs.add(self.holder, f"Reading {table.name}", "/", "look", asked, keep)

    def table(self, form: FormData) -> Table:
        """The table that a form is about: another tab may have opened another one meanwhile."""
        table = self.state.ready
        if table is None or str(form.get("table", "")) != str(table.number):
            raise OptionError(
                "this page was about a table that is not open any more; here is the one that is"
            )
        return table

    def forget(self, _form: FormData) -> str:
        """Delete everything: the table, the releases, all that was found out."""
        self._stop()
        with self.changing:
            self.state = State(tables=self.state.tables)
            self.private_given = {}
            self.jobs.all.clear()
            self.home.clear()
        self.warm_up()
        return "/"

    def run(self, form: FormData) -> Run:
        for run in self.state.runs:
            if str(run.number) == str(form.get("run", "")):
                return run
        raise OptionError("this release is not there any more")
