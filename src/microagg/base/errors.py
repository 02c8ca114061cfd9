"""What can go wrong, in one sentence a person can act on.

MicroaggError (a ValueError)
├── InputError      the data cannot be used as they are
├── OptionError     a setting is unknown or out of range
└── PromiseError    a release does not keep what was promised; it was not published
"""

import errno
import traceback
from pathlib import Path

_NO_MEMORY = (
    "there is not enough memory for this table; say --engine disk to work on it in parts, "
    "or let it have more (--memory, or the limit that was set)"
)


class MicroaggError(ValueError):
    """Base of every error this library raises on purpose.

    The message says what arrived, what is allowed and what to do; it never quotes a record's value.
    """


class InputError(MicroaggError):
    """The data cannot be used as they are."""


class OptionError(MicroaggError):
    """A setting is unknown or out of range."""


class PromiseError(MicroaggError):
    """A release does not keep what was promised; it was not published."""


def sentence_of(failure: BaseException) -> str:
    """Anything that can go wrong as one sentence, which never quotes a record's value."""
    if isinstance(failure, MicroaggError):
        return str(failure)
    if _is_out_of_memory(failure):
        return _NO_MEMORY
    if isinstance(failure, OSError):
        name = "" if failure.filename is None else f": {failure.filename}"
        return f"{failure.strerror or 'the file could not be used'}{name}"
    # Where it happened, and not a word of the error's own, which may quote a record.
    place = traceback.extract_tb(failure.__traceback__)[-1]
    return (
        f"something happened that should not: {type(failure).__name__} in "
        f"{Path(place.filename).name}, line {place.lineno}; please report it"
    )


def _is_out_of_memory(failure: BaseException | None) -> bool:
    """Also where libraries have words of their own for it."""
    while failure is not None:
        said = str(failure)
        if isinstance(failure, MemoryError) or getattr(failure, "errno", None) == errno.ENOMEM:
            return True
        if isinstance(failure, RuntimeError) and "can't start new thread" in said:
            return True
        if isinstance(failure, ImportError) and ("map segment" in said or "allocate" in said):
            return True
        failure = failure.__cause__ or failure.__context__
    return False
