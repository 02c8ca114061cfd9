"""Where a search for less loss starts: the groups of another method."""

from collections.abc import Mapping
from typing import Any

from microagg.base.errors import OptionError
from microagg.grouping.methods import find, naming

START = naming("start", "the method to start from")


def check_start(name: str, options: Mapping[str, Any], d: int) -> None:
    """Refuse a start that the method of this name cannot go on from."""
    start = find(options["start"])
    if start.choose is not None or start.name == name or (start.one_column and d > 1):
        raise OptionError(f"{name} cannot start from {start.name!r} here; start='mdav' is usual")
