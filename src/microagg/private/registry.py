"""Every private method by name: each file in `mechanisms` holds one."""

import pkgutil
from functools import cache
from importlib import import_module

from microagg.base.errors import OptionError
from microagg.grouping.method import near_names
from microagg.private import mechanisms
from microagg.private.method import PrivateMethod

WORD = "partition-conditional"


@cache
def all_methods() -> tuple[PrivateMethod, ...]:
    """Every private method, in the order of their files' names."""
    files = pkgutil.iter_modules(mechanisms.__path__, f"{mechanisms.__name__}.")
    return tuple(import_module(file.name).METHOD for file in files)


def methods() -> dict[str, str]:
    """Every private release by name, with a one-line description of it and its guarantee."""
    return {
        method.name: f"{method.description} [{method.paper}; {method.definition.short}]"
        for method in all_methods()
    }


def find(name: str, accept: str | None) -> PrivateMethod:
    """The method of this name, if its guarantee is standard or was accepted in words."""
    by_name = {method.name: method for method in all_methods()}
    if name not in by_name:
        raise OptionError(f"there is no private method {name!r}; {near_names(name, by_name)}")
    if accept not in (None, WORD):
        raise OptionError(f"accept must be {WORD!r} or left out, but it is {accept!r}")
    method = by_name[name]
    if not method.standard and accept is None:
        free = ", ".join(repr(other.name) for other in all_methods() if other.standard)
        raise OptionError(
            f"method {name!r} protects a record only given the partition: who is grouped with whom "
            "is worked out from the data and shows in the release, so this is not differential "
            f"privacy in the standard sense. Say accept={WORD!r} if that is enough, or use one of "
            f"{free}, which need no such word."
        )
    return method
