"""What can go wrong, in one sentence a person can act on.

MicroaggError (a ValueError)
├── InputError      the data cannot be used as they are
├── OptionError     a setting is unknown or out of range
└── PromiseError    a release does not keep what was promised; it was not published
"""


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
