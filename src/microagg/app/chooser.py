"""The files below one folder, and no way out of it: neither by .. nor by links."""

from collections.abc import Collection
from dataclasses import dataclass
from pathlib import Path

from microagg.base.errors import InputError
from microagg.base.files import suffix_of

_MOST = 500


@dataclass(frozen=True)
class Entry:
    """A file or a folder, by its path below the root."""

    name: str
    path: str
    size: int | None

    @property
    def is_folder(self) -> bool:
        """Whether there may be more in it."""
        return self.size is None


@dataclass(frozen=True)
class Chooser:
    """What may be opened: files with these suffixes, and folders, below a root."""

    root: Path
    suffixes: Collection[str]

    def find(self, path: str) -> Path:
        """Where a path below the root really is."""
        root = self.root.resolve()
        try:
            found = (root / path).resolve(strict=True)
        except (OSError, ValueError, RuntimeError):
            raise InputError(f"there is no {path!r:.80} here") from None
        if not found.is_relative_to(root):
            raise InputError(
                f"{path!r:.80} lies outside of the folder in which the app was started; start it "
                "there, or drop the file onto this page"
            )
        return found

    def entries(self, path: str) -> list[Entry]:
        """What is in a folder: folders first, then files that can be opened."""
        folder, root = self.find(path), self.root.resolve()
        found = []
        try:
            there = sorted(folder.iterdir(), key=lambda each: each.name.casefold())
        except OSError:
            raise InputError("this folder cannot be looked into") from None
        for each in there:
            entry = self._entry(each, root)
            if entry is not None:
                found.append(entry)
        found.sort(key=lambda entry: not entry.is_folder)
        return found[:_MOST]

    def _entry(self, path: Path, root: Path) -> Entry | None:
        if path.name.startswith("."):
            return None
        try:
            real = path.resolve(strict=True)
            if not real.is_relative_to(root):
                return None
            below = str(path.relative_to(root))
            if real.is_dir():
                return Entry(path.name, below, None)
            fits = real.is_file() and suffix_of(path.name).lower() in self.suffixes
            return Entry(path.name, below, real.stat().st_size) if fits else None
        except (OSError, RuntimeError, ValueError):
            return None
