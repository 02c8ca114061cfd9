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
    BY_COLUMN,
    OF_COLUMNS,
    ROLES,
    SETTINGS,
    Draft,
    Look,
    Outcome,
    Run,
    State,
    Table,
    typed,
)
from microagg.base import texts
from microagg.base.addresses import without_password
from microagg.base.errors import InputError, MicroaggError, OptionError
from microagg.base.reading import Reading
from microagg.base.texts import listed


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
        self._changing = threading.RLock()

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
        with self._changing:
            self.state.tables += 1
            self.state.table = Table(self.state.tables, address, name, how)
            self.state.draft = Draft()
            self._look(self.state.table)
        return "/"

    def read_again(self, form: FormData) -> str:
        """The same table, read in another way."""
        table = self._table(form)
        given = {name: str(form.get(name, "")) for name in Reading.model_fields}
        settings = [each for each in SETTINGS.values() if each.setting == "reading"]
        reading = typed(settings, given)
        Reading(**reading)
        with self._changing:
            self.state.tables += 1
            table = Table(self.state.tables, table.address, table.name, table.how, None, reading)
            self.state.table, self.state.draft = table, Draft()
            self._look(table)
        return "/"

    def _look(self, table: Table) -> None:
        def keep(look: Look) -> None:
            with self._changing:
                table.look = look
                if self.state.table is table:
                    self.state.draft = Draft.suggested(look)

        asked = {"address": table.address, "reading": table.reading, "demo": table.how == "demo"}
        self.jobs.add(self.holder, f"Reading {table.name}", "/", "look", asked, keep)

    def _table(self, form: FormData) -> Table:
        """The table that a form is about: another tab may have opened another one meanwhile."""
        table = self.state.ready
        if table is None or str(form.get("table", "")) != str(table.number):
            raise OptionError(
                "this page was about a table that is not open any more; here is the one that is"
            )
        return table

    # Roles and promise.

    def save_roles(self, form: FormData) -> str:
        """What each column is."""
        with self._changing:
            self._table(form)
            draft = self.state.draft
            names = list(draft.roles)
            for place, name in enumerate(names):
                role = str(form.get(f"role:{place}", draft.roles[name]))
                if role not in ROLES:
                    raise OptionError(
                        f"there is no role {role!r:.40}; there are {', '.join(ROLES)}"
                    )
                draft.roles[name] = role
                for kept, key in ((draft.kinds, "kind"), (draft.orders, "order")):
                    kept[name] = str(form.get(f"{key}:{place}", kept.get(name, ""))).strip()
            draft.weights = _named(names, form.get("weights", ""))
            draft.entity = _named(names, form.get("entity", ""))
            draft.household = _named(names, form.get("household", ""))
            draft.within = [_named(names, each) for each in form.getlist("within")]
        if form.get("next") == "risk":
            return self.measure_risk(form)
        return "/roles" if not form.get("next") else "/promise"

    def told_of_roles(self) -> dict[str, Any]:
        """How many are alone, and whether the roles fit together."""
        sentence = self.count_alone()
        problem = ""
        try:
            self.state.recipe()
        except MicroaggError as failure:
            problem = str(failure)
        return {"alone": sentence, "problem": problem}

    def count_alone(self) -> str:
        """The sentence about records that stand out, counted if need be."""
        table, names = self.state.ready, tuple(self.state.draft.named("quasi-identifier"))
        if table is not None and names and self.state.alone_now() is None:
            asked = {"address": table.address, "reading": table.reading, "names": list(names)}
            self.state.alone[table.number, names] = self.holder.call("alone", asked)
        return screens.alone_sentence(self.state)

    def save_promise(self, form: FormData) -> str:
        """What the release shall keep."""
        with self._changing:
            self._table(form)
            draft = self.state.draft
            names = list(draft.roles)
            for key, text in form.items():
                name, _, place = key.partition(":")
                plain = name in SETTINGS and name not in OF_COLUMNS and not place
                if (plain and SETTINGS[name].setting != "reading") or key == "format":
                    draft.entries[key] = str(text)
                elif name in BY_COLUMN and place.isdecimal() and int(place) < len(names):
                    draft.entries[f"{name}:{names[int(place)]}"] = str(text)
            for name, setting in SETTINGS.items():
                # A box that is not ticked is not sent.
                is_box = setting.plain_type is bool and not setting.spelled.parse
                if is_box and name not in form and form.get("all"):
                    draft.entries[name] = ""
        return "/promise"

    def told_of_promise(self) -> dict[str, Any]:
        """The command, the recipe, or why there is none."""
        return screens.said(self.state, self.written)

    # Work.

    def measure_risk(self, form: FormData) -> str:
        """How risky the table is as it stands."""
        self._table(form)
        asked = screens.risk_arguments(self.state)
        if not asked["keys"]:
            raise OptionError("say first which columns others may know: no quasi-identifier yet")

        def keep(found: dict[str, Any]) -> None:
            self.state.risk = Outcome(asked, found)

        self.jobs.add(self.maker, "Measuring the risk of the table", "/risk", "risk", asked, keep)
        return "/risk"

    def protect(self, form: FormData) -> str:
        """Make the release."""
        self.save_promise(form)
        table, recipe = self._table(form), self.state.recipe()
        folder = self.home.new_run()
        output = folder / f"release{screens.release_suffix(self.state, self.written)}"
        name = table.name
        arguments = {
            "address": table.address,
            "recipe": recipe,
            "output": str(output),
            "name": name,
        }

        def keep(made: dict[str, Any]) -> None:
            runs = self.state.runs
            number = runs[-1].number + 1 if runs else 1
            title = f"{name}, k = {recipe.k}"
            runs.append(Run(number, title, table, recipe, made, str(folder)))

        self.jobs.add(self.maker, f"Protecting {name}", "/result", "protect", arguments, keep)
        return "/result"

    def compare(self, form: FormData) -> str:
        """Several k and methods."""
        table, recipe = self._table(form), self.state.recipe()
        try:
            ks = [int(text) for text in str(form.get("ks", "")).replace(",", " ").split()]
        except ValueError:
            raise OptionError("k are whole numbers with commas, for example 3, 5, 10") from None
        methods = [str(each) for each in form.getlist("methods")]
        arguments = {
            "address": table.address,
            "recipe": recipe,
            "ks": ks,
            "methods": methods,
            "link": "/compare?choice=",
        }
        asked = {"ks": ks, "methods": methods, "table": table.number}

        def keep(found: dict[str, Any]) -> None:
            self.state.comparison = Outcome(asked, found)

        self.jobs.add(
            self.maker, "Comparing ways to protect it", "/compare", "compare", arguments, keep
        )
        return "/compare"

    def use(self, form: FormData) -> str:
        """Take one of the ways that were compared."""
        self._table(form)
        for name in ("k", "method"):
            self.state.draft.entries[name] = str(form.get(name, ""))
        return "/promise"

    def cancel(self, form: FormData) -> str:
        """End a job."""
        number = str(form.get("job", ""))
        job = self.jobs.find(int(number)) if number.isdecimal() else None
        if job is not None:
            self.jobs.cancel(job)
        return str(form.get("page", "/"))

    def rename(self, form: FormData) -> str:
        """Call a release by another name."""
        run = self._run(form)
        run.name = str(form.get("name", "")).strip()[:100] or run.name
        return f"/result/{run.number}"

    def write_as(self, form: FormData) -> str:
        """A release that was made, in another format too."""
        run, suffix = self._run(form), str(form.get("format", ""))
        if suffix not in self.written:
            raise OptionError(f"files that end with {suffix!r:.20} cannot be written")
        output = Path(run.folder) / f"release{suffix}"
        if str(output) in (run.made["files"]["release"], *run.formats.values()):
            return f"/takeaway/{run.number}"
        arguments = {
            "address": run.table.address,
            "recipe": run.recipe,
            "output": str(output),
            "record": run.made["files"]["record"],
        }

        def keep(path: str) -> None:
            run.formats[f"release{suffix}"] = path

        page = f"/takeaway/{run.number}"
        self.jobs.add(
            self.maker, f"Writing {run.name} as {suffix}", page, "write_as", arguments, keep
        )
        return page

    def private(self, form: FormData) -> str:
        """A release with differential privacy."""
        table = self._table(form)
        given = self.private_given = {key: str(value) for key, value in form.items()}
        names = list(self.state.draft.roles)
        bounds = [
            f"{listed([name])}={given[f'bounds:{place}']}"
            for place, name in enumerate(names)
            if given.get(f"bounds:{place}", "").strip()
        ]
        if not bounds:
            raise OptionError(
                "give at least one column its bounds: what it may hold, known without the data"
            )
        try:
            epsilon = float(given.get("epsilon", ""))
        except ValueError:
            raise OptionError("epsilon is a number above 0, for example 1") from None
        folder = self.home.new_run()
        arguments: dict[str, Any] = {
            "address": table.address,
            "output": str(folder / f"release{screens.release_suffix(self.state, self.written)}"),
            "report": str(folder / "report.html"),
            "epsilon": epsilon,
            "bounds": texts.bounds(bounds, "bounds"),
            "method": given.get("method", "marginals"),
            "reading": table.reading,
        }

        def keep(found: dict[str, Any]) -> None:
            self.state.private = Outcome(given, found)

        self.jobs.add(self.maker, "Releasing with noise", "/private", "private", arguments, keep)
        return "/private"

    def assess(self, given: dict[str, str], files: dict[str, Path]) -> str:
        """Somebody else's release of the table."""
        table = self.state.ready
        if table is None or given.get("table") != str(table.number):
            raise OptionError("open the original first: the release is judged against it")
        if "release" not in files:
            raise OptionError("choose the file of the release")
        arguments: dict[str, Any] = {"original": table.address, "released": str(files["release"])}
        arguments["reading"] = table.reading or None
        if given.get("key"):
            arguments["key"] = given["key"]
        if "record" in files:
            arguments["record"] = str(files["record"])
        else:
            arguments["quasi_identifiers"] = self.state.draft.named("quasi-identifier") or None
            arguments["confidential"] = self.state.draft.named("confidential")

        def keep(found: dict[str, Any]) -> None:
            self.state.assessment = Outcome(given, found)

        self.jobs.add(self.maker, "Judging the release", "/assess", "assess", arguments, keep)
        return "/assess"

    def forget(self, _form: FormData) -> str:
        """Delete everything: the table, the releases, all that was found out."""
        self._stop()
        with self._changing:
            self.state = State(tables=self.state.tables)
            self.private_given = {}
            self.jobs.all.clear()
            self.home.clear()
        self.warm_up()
        return "/"

    def _run(self, form: FormData) -> Run:
        for run in self.state.runs:
            if str(run.number) == str(form.get("run", "")):
                return run
        raise OptionError("this release is not there any more")


def _named(names: list[str], place: Any) -> str:
    """The column that a form means by its place."""
    text = str(place)
    return names[int(text)] if text.isdecimal() and int(text) < len(names) else ""
