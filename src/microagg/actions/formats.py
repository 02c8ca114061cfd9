"""Which files there are formats for."""

import os

from microagg.table.formats import FORMATS, format_of


def suffixes(*, written: bool = False) -> list[str]:
    """The suffixes of files that can be read; written: that can be written."""
    return [
        suffix
        for each in FORMATS.values()
        for suffix in each.suffixes
        if not written or suffix not in each.only_read
    ]


def file_of(address: str) -> str | None:
    """The file that an address means, None for a database that is a server."""
    path = format_of(address).file_of(address)
    return None if path is None else os.fspath(path)
