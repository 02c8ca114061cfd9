"""The formats of files and databases. To add one, write its module and register it here."""

import os
from pathlib import Path

from microagg.base.addresses import without_password
from microagg.base.errors import InputError, OptionError
from microagg.base.files import suffix_of
from microagg.table.formats.arrow import Arrow
from microagg.table.formats.csv import Csv
from microagg.table.formats.database import Database
from microagg.table.formats.excel import Excel
from microagg.table.formats.format import STANDARD_STREAM, Format
from microagg.table.formats.jsonl import JsonLines
from microagg.table.formats.stats import Stats

# Their modules are light: what a format needs from other packages is imported when it is used.
FORMATS: dict[str, Format] = {
    each.name: each for each in (Csv(), Arrow(), Excel(), Stats(), JsonLines(), Database())
}


def format_of(address: str) -> Format:
    """The format of what is, or shall be, at an address: a path, a folder, a URL or "-"."""
    # Not by pathlib, which fails at names that no file can have.
    folder = address != STANDARD_STREAM and os.path.isdir(address)  # noqa: PTH112
    there = not folder and os.path.exists(address)  # noqa: PTH110
    if there and not os.path.isfile(address):  # noqa: PTH113
        raise InputError(
            f"{Path(address).name!r} is a pipe or a device, not a file; pipe a table into - instead"
        )
    for each in FORMATS.values():
        if each.in_folders if folder else each.holds(address):
            return each
    path = Path(without_password(address))
    suffix = suffix_of(path).lower()
    suffixes = [suffix for each in FORMATS.values() for suffix in each.suffixes]
    raise OptionError(
        f"{path.name!r} has the suffix {suffix or 'none'!r}, which tells no format; "
        f"there are {', '.join(suffixes)} and URLs of databases"
    )


def format_in_parts(address: str, doing: str) -> Format:
    """The format of an address, refused unless its tables come in parts. doing: read or written."""
    known = format_of(address)
    if not known.in_parts or address == STANDARD_STREAM:
        able = [suffix for each in FORMATS.values() if each.in_parts for suffix in each.suffixes]
        raise OptionError(
            f"{known.shown(address)} cannot be {doing} in parts; files that can have one of the "
            f"suffixes {', '.join(able)}"
        )
    return known


def check_writable(address: str) -> None:
    """Refuse a file whose format can be read but not written."""
    suffix = suffix_of(address).lower()
    instead = format_of(address).only_read.get(suffix)
    if instead is not None:
        raise OptionError(f"{suffix} files can be read but not written; write {instead} instead")
