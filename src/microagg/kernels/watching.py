"""Whether a person sees what is said on standard error, and who shows words beside a bar."""

import sys
from collections.abc import Callable

# Is called with a few words about what is under way, and with none when that pauses.
told: Callable[[str], object] = lambda _words: None  # noqa: E731


def is_watched() -> bool:
    """Whether a terminal or a notebook shows it."""
    return sys.stderr is not None and (sys.stderr.isatty() or in_notebook())


def in_notebook() -> bool:
    """Whether the program runs in a notebook, which shows lines but is no terminal."""
    shell = getattr(sys.modules.get("IPython"), "get_ipython", lambda: None)()
    return getattr(shell, "kernel", None) is not None
