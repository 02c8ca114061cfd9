"""Private releases: noisy group means, and in words what they promise."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from microagg.private.guarantee import Guarantee
    from microagg.private.ledger import Ledger
    from microagg.private.outcome import Marginal, PrivateRelease
    from microagg.private.registry import methods
    from microagg.private.releasing import release
    from microagg.private.theory import expected_error, suggest_k

__all__ = [
    "Guarantee",
    "Ledger",
    "Marginal",
    "PrivateRelease",
    "expected_error",
    "methods",
    "release",
    "suggest_k",
]

# Each name is imported on first use, as in the package itself.
_HOMES = {
    "Guarantee": "microagg.private.guarantee",
    "Ledger": "microagg.private.ledger",
    "Marginal": "microagg.private.outcome",
    "PrivateRelease": "microagg.private.outcome",
    "expected_error": "microagg.private.theory",
    "methods": "microagg.private.registry",
    "release": "microagg.private.releasing",
    "suggest_k": "microagg.private.theory",
}


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module 'microagg.private' has no attribute {name!r}")
    found = getattr(import_module(_HOMES[name]), name)
    globals()[name] = found
    return found


def __dir__() -> list[str]:
    return sorted([*globals(), *__all__])
