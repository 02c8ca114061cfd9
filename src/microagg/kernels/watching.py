"""Whether a person sees what is said on standard error."""

import sys


def is_watched() -> bool:
    """Whether a terminal or a notebook shows it."""
    return sys.stderr is not None and (sys.stderr.isatty() or in_notebook())


def in_notebook() -> bool:
    """Whether the program runs in a notebook, which shows lines but is no terminal."""
    shell = getattr(sys.modules.get("IPython"), "get_ipython", lambda: None)()
    return getattr(shell, "kernel", None) is not None
