"""The registry: how a method and its options are resolved, and methods of others."""

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import microagg
from microagg.base.errors import MicroaggError, OptionError, PromiseError
from microagg.grouping.method import Option, number, whole
from microagg.grouping.methods import all_methods, find, resolve

ROOT = Path(__file__).parents[2]


@pytest.mark.parametrize("method", all_methods(), ids=lambda method: method.name)
def test_what_was_resolved_resolves_to_itself(method):
    d = 1 if method.one_column else 3
    one = resolve(method.name, {}, 500, d, 3)
    two = resolve(one.method.name, one.options, 500, d, 3)
    assert one == two
    assert one.called == one.method.name


def test_auto_picks_by_size():
    def auto(n, d=5, integer=False, **options):
        chosen = resolve("auto", options, n, d, 3, integer=integer)
        given = {name: each for name, each in chosen.options.items() if each is not None}
        return chosen.called, given

    for n in (100, 10_000, 200_000):
        assert auto(n) == ("search", {})
        assert auto(n, effort="best") == ("search", {"effort": "best"})
        assert auto(n, steps=9) == ("search", {"steps": 9})
    assert auto(200_001) == ("search", {"effort": "brief"})
    assert auto(100_000, d=128) == ("search", {})
    assert auto(100_001, d=128) == ("search", {"effort": "brief"})
    assert auto(10**6, effort="balanced") == ("search", {"effort": "balanced"})
    assert auto(10**6, steps=9) == ("search", {"steps": 9})
    assert auto(10**6, time_limit=2) == ("search", {"time_limit": 2.0})
    assert auto(10**6, start="tsp") == ("search", {"effort": "brief", "start": "tsp"})
    assert auto(10**6, 1) == ("univariate", {})
    assert [auto(n, integer=True)[0] for n in (100, 10**6)] == ["tsp", "npn"]


def test_options_of_auto_are_those_of_the_method_it_picks():
    with pytest.raises(OptionError, match="method 'search' has no option 'gamma'"):
        resolve("auto", {"gamma": 1}, 100, 3, 3)
    with pytest.raises(OptionError, match="method 'univariate' has no option 'steps'"):
        resolve("auto", {"steps": 1}, 100, 1, 3)
    # Where nothing is searched, an effort means nothing; a wrong one is wrong all the same.
    assert resolve("auto", {"effort": "best"}, 100, 1, 3).options == {}
    with pytest.raises(OptionError, match="effort must be brief, quick, balanced or best; 'great'"):
        resolve("auto", {"effort": "great"}, 100, 1, 3)


def test_names_of_refined_groups():
    def called(name, d=3, **more):
        return resolve(name, {}, 100, d, 3, **more).called

    assert called("mdav", refine=True) == "mdav+search"
    assert called("mdav", refine=0.5) == "mdav+search"
    assert called("mdav", refine=False) == "mdav"
    assert called("search", refine=True) == called("auto", refine=True) == "search"
    assert called("auto", 1, refine=True) == "univariate"


def test_options_are_refused_before_any_work():
    asked = []
    option = Option("depth", "how deep", 2, whole(1), "a whole number, 1 or more")
    method = microagg.Method("never", "it", "it", "it", asked.append, options=(option,))
    assert method.complete({}) == {"depth": 2}
    assert method.complete({"depth": np.int8(4)}) == {"depth": 4}
    for wrong in (0, 1.5, "2", True, None, [1]):
        with pytest.raises(
            OptionError, match=r"depth must be a whole number, 1 or more; .+ arrived"
        ):
            method.complete({"depth": wrong})
    with pytest.raises(OptionError, match="did you mean depth"):
        method.complete({"dept": 3})
    share = number(lambda given: 0 < given <= 1)
    assert share(np.float32(0.5)) == 0.5
    for wrong in (0, 2, "1", True, float("nan"), 1j):
        with pytest.raises((TypeError, ValueError)):
            share(wrong)
    assert asked == []


def test_what_cannot_be_registered():
    with pytest.raises(OptionError, match="there is already a method 'mdav'"):
        microagg.register_method(find("mdav"))
    with pytest.raises(OptionError, match=r"takes a microagg\.Method, but an object of type str"):
        microagg.register_method("mdav")


def python(script, folder, path=()):
    """A process of its own: what is registered stays there."""
    places = os.pathsep.join([*map(str, path), str(ROOT / "src"), str(ROOT)])
    environment = {**os.environ, "PYTHONPATH": places}
    return subprocess.run(
        [sys.executable, *script],
        cwd=folder,
        capture_output=True,
        text=True,
        check=False,
        env=environment,
    )


BROKEN_GROUPS = """
import numpy as np, microagg
def register(name, *groups):
    microagg.register_method(microagg.Method(name, name, name, name, lambda task: groups))
register("twice", np.array([0, 1, 2, 2, 4, 5]), np.array([3, 3]))
register("small", np.arange(6), np.array([4, 2]))
register("short", np.arange(6), np.array([3]))
register("floats", np.arange(6.0), np.array([3, 3]))
for name in ("twice", "small", "short", "floats"):
    try:
        microagg.partition(np.arange(12.0).reshape(6, 2) ** 2, 3, name)
    except microagg.MicroaggError as failure:
        print(type(failure).__name__, failure)
"""


def test_groups_of_others_are_checked(tmp_path):
    done = python(["-c", BROKEN_GROUPS], tmp_path)
    assert done.returncode == 0, done.stderr
    said = done.stdout.splitlines()
    assert [line.split("'")[1] for line in said] == ["twice", "small", "short", "floats"]
    assert all(line.startswith(PromiseError.__name__) for line in said)


def documented():
    """The example of the page about extending."""
    page = (ROOT / "docs" / "extending.md").read_text(encoding="utf-8")
    return page.split("```python\n")[1].split("```")[0]


def test_the_documented_method_keeps_the_promises():
    tests = ROOT / "tests" / "promises" / "test_methods.py"
    run = f"import pytest, sys; sys.exit(pytest.main([{str(tests)!r}, '-k', 'stripes']))"
    done = python(["-c", f"{documented()}\n{run}"], ROOT)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "passed" in done.stdout


@pytest.fixture
def package(tmp_path):
    """A package whose entry points name methods."""

    def make(**entries):
        folder = tmp_path / "site"
        details = folder / "stripes-1.0.dist-info"
        details.mkdir(parents=True)
        (folder / "stripes.py").write_text(documented().replace("microagg.register_method(", "("))
        (details / "METADATA").write_text("Metadata-Version: 2.1\nName: stripes\nVersion: 1.0\n")
        lines = [f"{name} = {value}" for name, value in entries.items()]
        (details / "entry_points.txt").write_text("\n".join(["[microagg.methods]", *lines]))
        return folder

    return make


def test_methods_of_other_packages_are_offered(tmp_path, package):
    site = package(stripes="stripes:STRIPES")
    rows = "".join(f"{i % 17},{i * i % 23}\n" for i in range(60))
    (tmp_path / "table.csv").write_text("a,b\n" + rows)
    listed = python(["-m", "microagg", "methods", "--json"], tmp_path, [site])
    assert '"name": "stripes"' in listed.stdout, listed.stderr
    done = python(
        ["-m", "microagg", "compare", "table.csv", "-q", "a,b", "--methods", "stripes", "--json"],
        tmp_path,
        [site],
    )
    assert '"asked": "stripes"' in done.stdout, done.stderr
    command = [
        "-m",
        "microagg",
        "protect",
        "table.csv",
        "-q",
        "a,b",
        "-m",
        "stripes",
        "-o",
        "r.csv",
    ]
    refused = python([*command, "--option", "first=-1"], tmp_path, [site])
    assert refused.returncode == 2
    assert "first must be a number, 0 or more; -1 arrived" in refused.stderr
    done = python([*command, "--option", "first=2"], tmp_path, [site])
    assert done.returncode == 0, done.stderr
    assert "by stripes" in done.stdout


@pytest.mark.parametrize(
    ("entries", "sentence"),
    [
        ({"lost": "nowhere:METHOD"}, "'lost' of the package stripes cannot be loaded (Module"),
        ({"other": "stripes:STRIPES"}, "'other' of the package stripes is no microagg.Method"),
        ({"stripes": "stripes:stripes"}, "'stripes' of the package stripes is no microagg.Meth"),
        ({"mdav": "stripes:np"}, "'mdav' of the package stripes is no microagg.Method"),
    ],
)
def test_a_broken_package_is_one_sentence(tmp_path, package, entries, sentence):
    site = package(**entries)
    done = python(["-m", "microagg", "methods"], tmp_path, [site])
    assert done.returncode == 2
    assert sentence in done.stderr
    assert done.stderr.count("\n") == 1
    # Whoever does not ask for it does not notice.
    fine = python(
        ["-c", "from microagg.grouping.methods import find; find('mdav')"], tmp_path, [site]
    )
    assert fine.returncode == 0, fine.stderr


def test_the_name_of_another_method_is_refused(tmp_path, package):
    site = package(mdav="stripes:MDAV")
    (site / "stripes.py").write_text(
        "from dataclasses import replace\n"
        "from microagg.grouping.methods import find\n"
        "MDAV = replace(find('mdav'))\n"
    )
    done = python(["-m", "microagg", "methods"], tmp_path, [site])
    assert done.returncode == 2
    assert "there is already a method 'mdav'" in done.stderr


def test_a_name_that_is_none():
    for name in ("nonsense", 3, None):
        with pytest.raises(MicroaggError, match="there is no method"):
            find(name)
