"""Files that a browser sends, written to where they stay while they arrive."""

from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import IO, Any

from python_multipart.multipart import MultipartParser, parse_options_header

from microagg.base.errors import InputError

# A form besides its files.
_MOST_TEXT = 1 << 20


async def receive(chunks: AsyncIterator[bytes], path: Path, most: int) -> None:
    """A file that is sent by itself, of at most so many bytes; on a failure nothing is left.

    It takes a fraction of the time that a form takes, in which its end must be searched for.
    """
    size = 0
    try:
        with _opened(path) as stream:
            async for chunk in chunks:
                size += len(chunk)
                _check_size(size, most)
                stream.write(chunk)
    except BaseException:
        path.unlink(missing_ok=True)
        raise


class Form:
    """A form that is read as it arrives: texts by name, files to where `place` says.

    place: called with the name of the field and the name the user gave the file, once the texts
    before it are known; gives the path it is written to.
    """

    def __init__(self, content_type: str, place: Callable[["Form", str, str], Path], most: int):
        """most: bytes that all files may have."""
        kind, options = parse_options_header(content_type)
        if kind != b"multipart/form-data" or b"boundary" not in options:
            raise InputError("this is no form with a file")
        self.texts: dict[str, str] = {}
        self.files: dict[str, tuple[Path, str]] = {}
        self._place, self._most, self._size, self._text_size = place, most, 0, 0
        self._stream: IO[bytes] | None = None
        self._complete = False
        self._headers: dict[bytes, bytes] = {}
        self._header = self._value = b""
        self._name, self._text = "", b""
        named: Any = {
            "on_part_begin": self._begin,
            "on_header_field": self._header_field,
            "on_header_value": self._header_value,
            "on_header_end": self._header_end,
            "on_headers_finished": self._headers_finished,
            "on_part_data": self._data,
            "on_part_end": self._end,
            "on_end": self._all_there,
        }
        self._parser = MultipartParser(options[b"boundary"], named)

    async def read(self, chunks: AsyncIterator[bytes]) -> None:
        """All of it; on a failure nothing is left of its files."""
        try:
            async for chunk in chunks:
                self._parser.write(chunk)
            self._parser.finalize()
            if not self._complete:
                raise InputError("the upload was cut off; try again")
        except BaseException:
            self._close()
            for path, _ in self.files.values():
                path.unlink(missing_ok=True)
            raise

    def _begin(self) -> None:
        self._headers, self._text = {}, b""

    def _header_field(self, data: bytes, start: int, end: int) -> None:
        self._header += data[start:end]

    def _header_value(self, data: bytes, start: int, end: int) -> None:
        self._value += data[start:end]

    def _header_end(self) -> None:
        self._headers[self._header.lower()] = self._value
        self._header = self._value = b""

    def _headers_finished(self) -> None:
        _, options = parse_options_header(self._headers.get(b"content-disposition", b""))
        self._name = options.get(b"name", b"").decode("utf-8", "replace")
        # A field for a file that nobody chose is sent without a name.
        if options.get(b"filename"):
            given = options[b"filename"].decode("utf-8", "replace")
            path = self._place(self, self._name, given)
            self._stream = _opened(path)
            self.files[self._name] = (path, given)

    def _data(self, data: bytes, start: int, end: int) -> None:
        if self._stream is None:
            self._text_size += end - start
            if self._text_size > _MOST_TEXT:
                raise InputError("the form is too long")
            self._text += data[start:end]
            return
        self._size += end - start
        _check_size(self._size, self._most)
        self._stream.write(memoryview(data)[start:end])

    def _end(self) -> None:
        if self._stream is None:
            self.texts[self._name] = self._text.decode("utf-8", "replace")
        self._close()

    def _all_there(self) -> None:
        self._complete = True

    def _close(self) -> None:
        if self._stream is not None:
            self._stream.close()
            self._stream = None


def _opened(path: Path) -> IO[bytes]:
    stream = path.open("xb")
    path.chmod(0o600)
    return stream


def _check_size(size: int, most: int) -> None:
    if size > most:
        raise InputError(
            f"the file has more than {most / 1e6:,.0f} MB, which may be uploaded; open it by its "
            "path, which copies nothing, or start the app with --max-upload"
        )
