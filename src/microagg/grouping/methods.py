"""The registry: every grouping method by name, those of others too.

The command line, the docs and the shared tests are driven by it: a method that is registered is
offered, described and tested.
"""

from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import cache
from importlib import import_module
from importlib.metadata import EntryPoint, entry_points
from typing import Any, NamedTuple

import numpy as np

from microagg.base.errors import OptionError, PromiseError
from microagg.grouping.method import MOST_SECONDS, Groups, Method, Option, Task, near_names

# Each lists its METHODS, in the order in which they are shown.
_MODULES = (
    "automatic",
    "cluster.mdav",
    "cluster.vmdav",
    "cluster.cbfs",
    "sequence.orderings",
    "sequence.tour",
    "sequence.walk",
    "sequence.reorder",
    "refine.decompose",
    "refine.exchange",
    "refine.iterated",
    "refine.searching",
    "divide.composed",
    "sequence.univariate",
    "demands.t_closeness",
)
ENTRY_POINTS = "microagg.methods"
_registered: dict[str, Method] = {}


class Resolved(NamedTuple):
    """A method with every option, as records are to be grouped; `called` is what it is called."""

    method: Method
    options: dict[str, Any]
    called: str


def methods() -> dict[str, str]:
    """Every grouping method by name, with a one-line description."""
    return {
        method.name: f"{method.description} [{method.time}; {method.paper}]"
        for method in all_methods()
    }


def all_methods() -> tuple[Method, ...]:
    """Every method; their kernels are loaded only when this is first asked."""
    for entry in entry_points(group=ENTRY_POINTS):
        _load(entry)
    return (*_own_methods().values(), *_registered.values())


def find(name: str) -> Method:
    """The method of this name, or a sentence with the nearest names."""
    if name == GIVEN:
        return _GIVEN
    if name in _own_methods():
        return _own_methods()[name]
    if name not in _registered:
        entries = entry_points(group=ENTRY_POINTS)
        # Only the one that is asked for: another that is broken is no reason to stop.
        for entry in entries:
            if entry.name == name:
                _load(entry)
        if name not in _registered:
            known = dict.fromkeys([*_own_methods(), *_registered, *entries.names])
            raise OptionError(f"there is no method {name!r}; {near_names(name, known)}")
    return _registered[name]


def _refuse_given(_task: Task) -> Groups:
    raise OptionError(
        f"{GIVEN!r} are not found again by name; give them: protect(table, method=partition, ...)"
    )


# What recipes call groups that somebody brings along.
GIVEN = "given groups"
_GIVEN = Method(GIVEN, "groups that somebody brings along", "", "O(n)", _refuse_given)


def register_method(method: Method) -> None:
    """Offer a method of your own wherever one is named, in this process.

    Its groups are checked: every record in one group, at least k in each.
    """
    if not isinstance(method, Method):
        raise OptionError(
            "register_method takes a microagg.Method, but an object of type "
            f"{type(method).__name__} arrived"
        )
    if method.name in _own_methods() or method.name in _registered:
        raise OptionError(
            f"there is already a method {method.name!r}; give yours a name of its own"
        )
    _registered[method.name] = replace(method, group=lambda task: _checked_groups(method, task))


def resolve(
    name: str,
    options: Mapping[str, Any],
    n: int,
    d: int,
    k: int,
    *,
    integer: bool = False,
    refine: bool | float = False,
) -> Resolved:
    """The method for n records of d attributes, with every option checked, before any work.

    integer: groups are to be centred on integers. refine: a search is to go on from its groups.
    """
    method, given = find(name), options
    if method.choose is not None:
        own = {option.name for option in method.options}
        method.complete({each: options[each] for each in own & set(options)})
        chosen, given = method.choose(n, d, k, integer, options)
        method = find(chosen)
    settled = method.complete(given)
    if method.agree is not None:
        method.agree(settled, d)
    if integer and not method.integer:
        raise OptionError(f"method {method.name!r} does not centre groups on integers")
    if method.one_column and d > 1:
        raise OptionError(
            f"method {method.name!r} groups one column at a time, but X has several; "
            "use partition_columns, or another method"
        )
    if not isinstance(refine, bool | int | float) or not 0 <= refine <= MOST_SECONDS:
        raise OptionError("refine must be True, False or a number of seconds, 0 to a billion")
    if refine is False or method.one_column or method.name == "search":
        return Resolved(method, settled, method.name)
    if integer:
        raise OptionError("refine does not centre groups on integers; leave out one of the two")
    return Resolved(method, settled, f"{method.name}+search")


def naming(name: str, meaning: str) -> Option:
    """An option that names another method."""
    meaning = f"{meaning}, mdav by default"
    return Option(name, meaning, "mdav", lambda given: find(given).name, "the name of a method")


START = naming("start", "the method to start from")


def check_start(name: str, options: Mapping[str, Any], d: int) -> None:
    """Refuse a start that the method of this name cannot go on from."""
    start = find(options["start"])
    if start.choose is not None or start.name == name or (start.one_column and d > 1):
        raise OptionError(f"{name} cannot start from {start.name!r} here; start='mdav' is usual")


def plainly(name: str) -> Callable[[Task], Groups]:
    """How the method of this name groups, as it is without options of its own."""
    method = find(name)
    options = method.complete({})
    return lambda task: method.group(replace(task, options=options))


@cache
def _own_methods() -> dict[str, Method]:
    modules = [import_module(f"microagg.grouping.{name}") for name in _MODULES]
    return {method.name: method for module in modules for method in module.METHODS}


@cache
def _load(entry: EntryPoint) -> None:
    package = "" if entry.dist is None else f" of the package {entry.dist.name}"
    try:
        method = entry.load()
    except Exception as failure:
        raise OptionError(
            f"the method {entry.name!r}{package} cannot be loaded ({type(failure).__name__}); "
            "mend or remove it"
        ) from failure
    if not isinstance(method, Method) or method.name != entry.name:
        raise OptionError(
            f"the entry point {entry.name!r}{package} is no microagg.Method of this name"
        )
    register_method(method)


def _checked_groups(method: Method, task: Task) -> Groups:
    order, sizes = (np.asarray(each) for each in method.group(task))
    n = len(task.records)
    whole = order.dtype.kind in "iu" and sizes.dtype.kind in "iu" and sizes.sum() == n
    if not (whole and np.array_equal(np.sort(order), np.arange(n)) and sizes.min() >= task.k):
        raise PromiseError(
            f"the groups of method {method.name!r} are not what it promised: every record once, "
            f"at least {task.k} in each"
        )
    return order, sizes
