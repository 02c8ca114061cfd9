"""The rooms and the arrows between them."""

import ast
import subprocess
import sys
from pathlib import Path

import pytest

import microagg

SOURCE = Path(microagg.__file__).parent
# A module knows its own room and those before it; rooms in one set do not know each other.
RANKS = [
    {"kernels"},
    {"base"},
    {"grouping", "aggregation", "measure", "table"},
    {"columns"},
    {"engine", "report"},
    {"release"},
    {"private"},
    {"actions"},
    {"cli", "app"},
]
# Front doors name actions only.
FRONT_DOORS = RANKS[-1]
RANK = {room: rank for rank, rooms in enumerate(RANKS) for room in rooms}
ROOT = {"__init__", "__main__", "sklearn"}
ONLY_IN = {
    "pandas": {"table"},
    "polars": {"table"},
    "narwhals": {"table"},
    "pyarrow": {"table", "columns", "engine", "release", "private", "actions"},
    "pyspark": {"engine"},
    "opendp": {"private"},
    "starlette": {"app"},
    "uvicorn": {"app"},
    "python_multipart": {"app"},
}


def imports(path):
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path.name}: relative import"
            yield from (f"{node.module}.{alias.name}" for alias in node.names)


def modules():
    for path in SOURCE.rglob("*.py"):
        room = path.relative_to(SOURCE).parts[0].removesuffix(".py")
        yield path, room


def test_imports_point_one_way():
    for path, room in modules():
        for name in imports(path):
            other = name.split(".")[1] if name.startswith("microagg.") else room
            if room not in ROOT and other != room and other != "__version__":
                assert RANK[other] < RANK[room], f"{path}: {name}"
                assert room not in FRONT_DOORS or other in {"actions", "base"}, f"{path}: {name}"


def test_guests_stay_in_their_rooms():
    for path, room in modules():
        for name in imports(path):
            guest = name.split(".")[0]
            assert room in ONLY_IN.get(guest, {room}), f"{path}: {name}"


def test_kernels_know_numpy_and_numba_only():
    for path, room in modules():
        if room == "kernels":
            outside = {name.split(".")[0] for name in imports(path)}
            outside -= set(sys.stdlib_module_names) | {"numpy", "numba", "llvmlite", "microagg"}
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


def test_benchmarks_and_tests_do_not_import_each_other():
    for room, other in (("benchmarks", "tests"), ("tests", "benchmarks")):
        for path in (Path(__file__).parents[1] / room).rglob("*.py"):
            assert other not in {name.split(".")[0] for name in imports(path)}, path
