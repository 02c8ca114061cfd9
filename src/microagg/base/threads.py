"""How many threads work."""

from microagg.base.errors import OptionError
from microagg.kernels.threads import thread_count


def check_threads() -> None:
    """Refuse a number of threads that is none."""
    try:
        thread_count()
    except ValueError as failure:
        raise OptionError(str(failure)) from None
