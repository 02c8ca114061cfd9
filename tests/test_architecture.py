"""The rooms and the arrows between them."""

import ast
import subprocess
import sys
from pathlib import Path

import pytest

import microagg

SOURCE = Path(microagg.__file__).parent
BASE = {"errors", "arrays", "files", "groups", "progress", "kernels"}
# Who may know whom. A room knows itself; what is not listed knows nobody.
ALLOWED = {
    "errors": set(),
    "example": set(),
    "files": set(),
    "progress": set(),
    "kernels": set(),
    "groups": {"kernels"},
    "arrays": {"errors", "groups"},
    "grouping": BASE,
    "aggregation": BASE,
    "measure": BASE,
    "table": BASE,
    "report": {"errors", "files"},
    "recipe": {"errors", "files", "table"},
    "certificate": {"errors", "files"},
    "engine": BASE
    | {"certificate", "describe", "grouping", "publish", "recipe", "report", "table"},
    "private": BASE
    | {"grouping", "aggregation", "measure", "table", "describe", "release", "report"},
}
# The journey itself goes through every room.
JOURNEY = (
    "assessment",
    "comparison",
    "describe",
    "inspection",
    "large",
    "pipeline",
    "planning",
    "publish",
    "release",
    "sampled",
    "telling",
    "tuning",
)
FRONT_DOORS = ("__init__", "__main__", "cli", "demo", "sklearn", "spark")
ONLY_IN = {
    "pandas": {"table"},
    "polars": {"table"},
    "narwhals": {"table"},
    "pyarrow": {"table", "private", "engine", *JOURNEY},
    "pyspark": {"engine"},
    "opendp": {"private"},
}


def imports(path):
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path.name}: relative import"
            yield node.module


def modules():
    for path in SOURCE.rglob("*.py"):
        room = path.relative_to(SOURCE).parts[0].removesuffix(".py")
        yield path, room


def test_imports_point_one_way():
    for path, room in modules():
        if room in (*FRONT_DOORS, *JOURNEY):
            continue  # these may know everybody
        for name in imports(path):
            if name.startswith("microagg.") and name.split(".")[1] != room:
                assert name.split(".")[1] in ALLOWED[room], f"{path}: {name}"


def test_guests_stay_in_their_rooms():
    for path, room in modules():
        for name in imports(path):
            guest = name.split(".")[0]
            assert room in ONLY_IN.get(guest, {room}), f"{path}: {name}"


def test_kernels_know_numpy_and_numba_only():
    for path, room in modules():
        if room == "kernels":
            outside = {name.split(".")[0] for name in imports(path)}
            outside -= set(sys.stdlib_module_names) | {"numpy", "numba", "microagg"}
            assert not outside, f"{path}: {outside}"


def test_importing_the_package_loads_nothing_heavy():
    script = (
        "import sys, microagg\n"
        "heavy = ('numpy', 'numba', 'pyarrow', 'pydantic', 'rich', 'typer')\n"
        "print([m for m in heavy if m in sys.modules])"
    )
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=True
    )
    assert done.stdout.strip() == "[]"


def test_public_names():
    for name in microagg.__all__:
        assert getattr(microagg, name) is not None
        assert name in dir(microagg)
    assert microagg.__version__
    with pytest.raises(AttributeError, match="no_such_name"):
        microagg.no_such_name  # noqa: B018
