"""The app in a real Chromium."""

import io
import os
import zipfile
from pathlib import Path

import pytest

from microagg.actions.example import patients
from tests.app.serving import Guest, browser
from tests.app.test_steps import HOSTILE, csv_of

# What a person who reads pages by ear, or in dim light, would stumble over.
_CHECKS = (Path(__file__).parent / "checks.js").read_text(encoding="utf-8")
# Pages under test wait so long, in milliseconds: the first work compiles.
_PATIENCE = 240_000


SCREENS = ("table", "roles", "risk", "promise", "compare?choice=1", "result?of=1&of=2", "takeaway",
           "private", "assess")  # fmt: skip


def why_not():
    """Why there can be no browser here, None if there can."""
    try:
        import axe_playwright_python  # noqa: F401
        import playwright.sync_api  # noqa: F401
    except ImportError as missing:
        return f"{missing.name} is not installed"
    return None if browser() else "there is no Chromium"


def axe():
    """The text of axe-core."""
    import axe_playwright_python

    return (Path(axe_playwright_python.__file__).parent / "axe.min.js").read_text(encoding="utf-8")


@pytest.fixture(scope="module")
def chromium():
    reason = why_not()
    if reason is not None and os.environ.get("MICROAGG_REQUIRE_BROWSER"):
        pytest.fail(f"the app must be tested in a browser here, but {reason}")
    if reason is not None:
        pytest.skip(reason)
    from playwright.sync_api import sync_playwright

    with sync_playwright() as play:
        # Chromium refuses to be root's otherwise.
        made = play.chromium.launch(executable_path=browser(), args=["--no-sandbox"])
        yield made
        made.close()


@pytest.fixture
def open_page(chromium, server):
    """A page of the app; nothing may go wrong in it, and nothing may be asked of anybody else."""
    trouble, contexts = [], []

    def open_page(width=1280, scheme="light"):
        viewport = {"width": width, "height": 900}
        context = chromium.new_context(viewport=viewport, color_scheme=scheme)
        contexts.append(context)
        page = context.new_page()
        page.set_default_timeout(_PATIENCE)
        own = f"http://127.0.0.1:{server.port}/"
        page.on("console", lambda told: trouble.append(told.text))
        page.on("pageerror", lambda told: trouble.append(str(told)))
        page.on("dialog", lambda told: trouble.append(told.message))
        page.on("request", lambda asked: asked.url.startswith(own) or trouble.append(asked.url))
        page.goto(server.address)
        return page

    server.desk.state.problem = ""
    yield open_page
    for context in contexts:
        context.close()
    assert trouble == []


def drop(page, name, content):
    page.set_input_files("#file", {"name": name, "mimeType": "text/csv", "buffer": content})


def made(page):
    """Until the release is there that was asked for last."""
    page.wait_for_url("**/result")
    page.wait_for_function(
        "() => !document.querySelector('[data-status=waiting], [data-status=running]')"
    )
    page.locator(".verdict.kept").wait_for()


def test_from_drop_to_zip(open_page, server):
    page = open_page()
    drop(page, "patients.csv", csv_of(patients(300)))
    page.get_by_role("heading", name="patients.csv").wait_for()
    page.get_by_role("link", name="Next: roles of the columns").click()
    page.wait_for_function(
        "() => /are alone with/.test(document.querySelector('#live').textContent)"
    )
    page.get_by_role("group", name="Role of income").get_by_label("keep").check()
    page.wait_for_function("() => !/income/.test(document.querySelector('#live').textContent)")
    page.reload()
    assert page.get_by_role("group", name="Role of income").get_by_label("keep").is_checked()
    page.get_by_role("button", name="Next: the risk now").click()
    page.wait_for_url("**/risk")
    page.get_by_text("re-identifications are to be expected").wait_for()
    page.get_by_role("link", name="Next: the promise").click()
    page.get_by_role("button", name="10", exact=True).click()
    page.wait_for_function(
        "() => /-k 10 /.test(document.querySelector('#said-command').textContent)"
    )
    assert "finds 10" in page.locator("#k-sentence").inner_text()
    page.get_by_text("More settings").click()
    page.get_by_label("Grouping method").select_option("mdav")
    page.get_by_role("button", name="Protect the table").click()
    made(page)
    page.get_by_role("link", name="Take it away").click()
    with page.expect_download() as waiting:
        page.get_by_role("link", name="Everything as one zip").click()
    archive = zipfile.ZipFile(io.BytesIO(Path(waiting.value.path()).read_bytes()))
    run = server.desk.state.runs[-1]
    assert (
        archive.read("publish/release.csv")
        == Guest(server).ask("GET", f"/file/{run.number}/release").body
    )
    assert run.recipe.k == 10


def test_the_keyboard_is_enough(open_page, server):
    """From the demo table to the release by Tab, arrows, space and Enter."""
    page = open_page()

    def reach(name, most=120):
        for _ in range(most):
            page.keyboard.press("Tab")
            found = page.evaluate(
                "() => { const at = document.activeElement; const said = at.ariaLabel ||"
                " at.textContent || ''; return said.trim() + '|' + (at.id || at.value || ''); }"
            )
            if name in found:
                return
        raise AssertionError(f"{name} cannot be reached")

    if page.get_by_text("Open another table").count():
        reach("Open another table")
        page.keyboard.press("Enter")
    reach("Open the demo table")
    page.keyboard.press("Enter")
    page.get_by_text("invented; nobody in it exists").last.wait_for()
    reach("Next: roles of the columns")
    page.keyboard.press("Enter")
    page.wait_for_url("**/roles")
    reach("|identifier")
    page.keyboard.press("ArrowRight")
    assert page.evaluate("() => document.activeElement.value") == "quasi-identifier"
    page.keyboard.press("ArrowLeft")
    page.wait_for_function(
        "() => /are alone with/.test(document.querySelector('#live').textContent)"
    )
    reach("Skip to the promise")
    page.keyboard.press("Enter")
    page.wait_for_url("**/promise")
    reach("|k")
    page.keyboard.press("Control+A")
    page.keyboard.type("7")
    reach("More settings")
    page.keyboard.press("Enter")
    reach("|field-method")
    page.keyboard.type("mdav")
    reach("Protect the table")
    page.keyboard.press("Enter")
    made(page)
    assert server.desk.state.runs[-1].recipe.k == 7


def test_hostile_cells_and_names_do_nothing(open_page):
    page = open_page()
    rows = "".join(f'"{HOSTILE.replace(chr(34), chr(34) * 2)}",{n},{n % 7}\n' for n in range(30))
    name = HOSTILE.replace('"', '""')
    # Browsers send names of files without quotes; folders are not shown.
    called = HOSTILE.replace("/", "").replace('"', "")
    drop(page, f"{called}.csv", f'"{name}",age,"cost {name}"\n{rows}'.encode())
    page.get_by_role("heading", name=called).wait_for()
    page.get_by_text(HOSTILE).first.wait_for()
    for path in ("roles", "promise", "private", "assess"):
        page.goto(page.url.rsplit("/", 1)[0] + f"/{path}")


def test_labels_of_spss_are_read(open_page, tmp_path):
    pyreadstat = pytest.importorskip("pyreadstat")
    pandas = pytest.importorskip("pandas")
    path = tmp_path / "survey.sav"
    frame = pandas.DataFrame({"sex": [1.0, 2.0] * 20, "age": [float(20 + n) for n in range(40)]})
    pyreadstat.write_sav(frame, path, variable_value_labels={"sex": {1.0: "woman", 2.0: "man"}})
    page = open_page()
    page.set_input_files("#file", path)
    page.get_by_role("heading", name="survey.sav").wait_for()
    page.get_by_text("SPSS").first.wait_for()
    page.get_by_text("columns with labelled values").first.wait_for()
    rows = page.locator("table.rows tbody tr")
    assert [row.split() for row in rows.all_inner_texts()[:2]] == [["woman", "20"], ["man", "21"]]


def test_cancel_reload_and_two_tabs(open_page, server):
    """A job that takes long: reloading shows it again, another tab too, and either cancels it."""
    rows = "\n".join(f"{n % 997},{n * 7919 % 10007},{n % 3}" for n in range(20_000))
    page = open_page()
    drop(page, "long.csv", f"age,income,diagnosis\n{rows}\n".encode())
    page.get_by_role("heading", name="long.csv").wait_for()
    page.goto(page.url + "compare")
    page.fill("#ks", ", ".join(map(str, range(2, 30))))
    page.get_by_role("button", name="Compare").click()
    job = page.locator("[data-status=running], [data-status=waiting]")
    job.wait_for()
    page.reload()
    job.wait_for()
    other = open_page()
    other.goto(page.url.replace("/compare", "/promise"))
    tab = other.locator("[data-status=running], [data-status=waiting]")
    tab.wait_for()
    tab.get_by_role("button", name="Cancel").click()
    other.get_by_text("was cancelled").wait_for()
    page.get_by_text("was cancelled").wait_for()
    assert not server.desk.jobs.under_way
    assert page.locator("#ks").is_visible()
    page.go_back()
    # The app works on: another job after the one that was killed.
    other.fill("#k", "3")
    other.get_by_text("More settings").click()
    other.get_by_label("Grouping method").select_option("zscore")
    other.get_by_role("button", name="Protect the table").click()
    made(other)


@pytest.fixture(scope="module")
def full(server):
    """The app once everything was done in it."""
    guest = Guest(server)
    guest.open("patients.csv", csv_of(patients(60)))
    place = list(server.desk.state.draft.roles).index("diagnosis")
    guest.post("/roles", {"next": "risk"})
    asked = {"ks": "3, 5", "methods": ["mdav"], f"diversity:{place}": "none, 2"}
    guest.post("/compare", asked)
    for k in (3, 4):
        guest.post("/protect", {"k": k, "method": "mdav"})
    guest.post("/private", {"epsilon": "1", "bounds:1": "0:120", "method": "marginals"})
    guest.wait()
    run = server.desk.state.runs[-1]
    content = guest.ask("GET", f"/file/{run.number}/release").body
    guest.upload("/assess", {"release": ("r.csv", content)}, table=server.desk.state.table.number)
    guest.wait()
    assert {job.status for job in server.desk.jobs.all[-6:]} == {"done"}
    return server


@pytest.mark.parametrize("screen", SCREENS)
def test_every_screen_is_for_everybody(open_page, full, screen):
    """Narrow and wide, light and dark: nothing sticks out, and axe finds nothing to object to."""
    page = open_page()
    page.goto(f"http://127.0.0.1:{full.port}/{screen}")
    page.evaluate(axe() + _CHECKS)
    assert page.evaluate("() => unnamed()") == []
    for width, scheme in ((1280, "light"), (1280, "dark"), (400, "dark"), (400, "light")):
        page.set_viewport_size({"width": width, "height": 900})
        page.emulate_media(color_scheme=scheme)
        assert page.evaluate("() => document.documentElement.scrollWidth") <= width
        assert page.evaluate("() => faint()") == [], scheme
        if (width, scheme) in ((1280, "light"), (400, "dark")):
            found = page.evaluate("async () => (await axe.run()).violations")
            assert [(each["id"], each["nodes"][0]["html"]) for each in found] == [], scheme


def test_a_point_of_the_comparison_is_taken(open_page, full):
    page = open_page()
    page.goto(f"http://127.0.0.1:{full.port}/compare")
    # Ways that come to the same lie upon each other; by the keyboard each is reached.
    point = page.locator("figure a[href$='choice=3']")
    point.focus()
    point.press("Enter")
    page.get_by_role("button", name="Take this one").click()
    page.wait_for_url("**/promise")
    command = page.locator("#said-command").inner_text()
    assert "-k 5 " in command
    assert "--diversity diagnosis=2" in command


def test_a_large_file_is_stopped_before_it_is_sent(open_page, server, tmp_path):
    page = open_page()
    large = tmp_path / "large.csv"
    large.write_bytes(b"1\n" * (server.desk.doors.max_upload // 2 + 1))
    page.set_input_files("#file", large)
    page.get_by_text("larger than may be uploaded").wait_for()


def test_without_scripts_everything_still_works(chromium, server):
    context = chromium.new_context(java_script_enabled=False)
    page = context.new_page()
    page.set_default_timeout(_PATIENCE)
    page.goto(server.address)
    drop(page, "plain.csv", csv_of(patients(60)))
    if page.get_by_text("Open another table").count():
        page.get_by_text("Open another table").click()
    page.get_by_role("button", name="Open the file").click()
    page.wait_for_url("**/")
    guest = Guest(server)
    guest.wait()
    assert server.desk.state.ready.name == "plain.csv"
    page.goto(f"http://127.0.0.1:{server.port}/roles")
    page.get_by_role("button", name="Skip to the promise").click()
    page.fill("#k", "4")
    page.get_by_text("More settings").click()
    page.get_by_label("Grouping method").select_option("mdav")
    page.get_by_role("button", name="Protect the table").click()
    guest.wait()
    page.goto(f"http://127.0.0.1:{server.port}/result")
    page.locator(".verdict.kept").wait_for()
    assert server.desk.state.runs[-1].recipe.k == 4
    context.close()
