"""Addresses as they may be shown."""

import re

_URL = re.compile(r"(?is)(?!sqlite:|file:)([a-z][\w+.-]*://)(?:.*@)?([^?#]*)(?:\?[^#]*)?(#.*)?")


def without_password(address: str) -> str:
    """An address to be shown: that of a server without user, password and what else it is told."""
    found = _URL.fullmatch(address)
    return "".join(part or "" for part in found.groups()) if found else address
