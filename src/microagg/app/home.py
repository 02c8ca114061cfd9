"""The private folder of the app: uploads and releases, gone when the app is."""

import os
import secrets
import tempfile
from contextlib import suppress
from pathlib import Path

from microagg.base.errors import InputError
from microagg.base.folders import OwnFolder, remove

_PREFIX = "microagg-app-"
_MADE = "uploads|runs|scratch"
_BUSY = "another microagg app uses this folder"


class Home:
    """A folder for one user and one run of the app; others cannot look into it."""

    def __init__(self, parent: Path | None = None) -> None:
        """parent: where it is made, the folder for temporary files if not given.

        What an app that was killed left there is removed first.
        """
        parent = Path(tempfile.gettempdir()) if parent is None else parent
        user = str(os.getuid()) if hasattr(os, "getuid") else "user"
        for left in parent.glob(f"{_PREFIX}{user}-*"):
            with suppress(InputError, OSError):
                OwnFolder(left, _MADE, _BUSY).remove()
        self._own = OwnFolder(parent / f"{_PREFIX}{user}-{secrets.token_hex(8)}", _MADE, _BUSY)
        self.path = self._own.path
        self._numbers = 0
        self._make()

    def _make(self) -> None:
        for name in _MADE.split("|"):
            (self.path / name).mkdir(mode=0o700)

    @property
    def scratch(self) -> Path:
        """For temporary files of the work on tables."""
        return self.path / "scratch"

    def new_upload(self, suffix: str) -> Path:
        """Where the next upload goes: a name that nobody else chose."""
        return self._numbered("uploads") / f"table{suffix}"

    def new_run(self) -> Path:
        """The folder of the next release."""
        return self._numbered("runs")

    def _numbered(self, kind: str) -> Path:
        self._numbers += 1
        folder = self.path / kind / str(self._numbers)
        folder.mkdir(mode=0o700)
        return folder

    def clear(self) -> None:
        """Remove everything that is in it."""
        for name in _MADE.split("|"):
            remove(self.path / name)
        self._make()

    def remove(self) -> None:
        """Remove it with everything in it."""
        self._own.remove()
