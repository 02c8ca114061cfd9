"""Private releases: noisy group means, and in words what they promise."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from microagg.private.guarantee import Guarantee as Guarantee
    from microagg.private.ledger import Ledger as Ledger
    from microagg.private.outcome import Marginal as Marginal
    from microagg.private.outcome import PrivateRelease as PrivateRelease
    from microagg.private.registry import methods as methods
    from microagg.private.releasing import release as release
    from microagg.private.theory import expected_error as expected_error
    from microagg.private.theory import suggest_k as suggest_k

# Each name is imported on first use: NumPy and Numba take longer to load than most scripts run.
_HOMES = {
    name: f"microagg.{module}"
    for module, names in {
        "private.guarantee": "Guarantee",
        "private.ledger": "Ledger",
        "private.outcome": "Marginal PrivateRelease",
        "private.registry": "methods",
        "private.releasing": "release",
        "private.theory": "expected_error suggest_k",
    }.items()
    for name in names.split()
}
__all__ = [*_HOMES]


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module 'microagg.private' has no attribute {name!r}")
    found = getattr(import_module(_HOMES[name]), name)
    globals()[name] = found
    return found


def __dir__() -> list[str]:
    return sorted([*globals(), *__all__])
