"""Where a search for less loss starts: the groups of another method."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from microagg.base.errors import OptionError
from microagg.grouping.method import Groups, Option, Task
from microagg.grouping.methods import find

START = Option(
    "start",
    "the method to start from, mdav by default",
    "mdav",
    lambda name: find(name).name,
    "the name of a method",
)


def check_start(name: str, options: Mapping[str, Any], d: int) -> None:
    """Refuse a start that the method of this name cannot go on from."""
    start = find(options["start"])
    if start.choose is not None or start.name == name or (start.one_column and d > 1):
        raise OptionError(f"{name} cannot start from {start.name!r} here; start='mdav' is usual")


def start_groups(task: Task) -> Groups:
    """The groups of the start, as it is without options of its own."""
    start = find(task.options["start"])
    return start.group(replace(task, options=start.complete({})))
