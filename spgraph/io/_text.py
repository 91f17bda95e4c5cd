"""A text file in memory: decompress, look at lines, point at lines."""

from __future__ import annotations

import bz2
import gzip
import lzma
import os
import sys
import zlib
from collections.abc import Callable
from contextlib import AbstractContextManager

from spgraph.io._report import FormatError

__all__ = ["Text", "load", "progress_bar", "write_bytes"]

PIECE = 1 << 20  # bytes read at a time
MAGIC: dict[bytes, Callable] = {b"\x1f\x8b": gzip.open, b"\xfd7zXZ\x00": lzma.open, b"BZh": bz2.open}
SHOWN = 60  # characters of a line that a message quotes


class _Silent(AbstractContextManager):
    """A progress bar that no one sees."""

    n = 0

    def __exit__(self, *_exc):
        return None

    def update(self, amount: int) -> None:
        """Count nothing."""


def progress_bar(total: int, what: str, progress: bool | None, unit: str = "B"):
    """A tqdm bar that appears after a second, on a terminal only unless `progress` is True."""
    if progress is False or (progress is None and not sys.stderr.isatty()):
        return _Silent()
    from tqdm import tqdm

    return tqdm(total=total, desc=what, unit=unit, unit_scale=True, leave=False, delay=0 if progress else 1)


def load(path, progress: bool | None = None) -> Text:
    """Read a file; gzip, xz and bzip2 are known by their first bytes. A Text is returned as it is."""
    if isinstance(path, Text):
        return path
    path = os.fspath(path)
    name = os.path.basename(path)
    room = _memory()
    with open(path, "rb") as raw:
        start = raw.read(6)
        raw.seek(0)
        opener = next((opener for magic, opener in MAGIC.items() if start.startswith(magic)), None)
        pieces, size = [], 0
        with progress_bar(os.fstat(raw.fileno()).st_size, f"reading {name}", progress) as bar:
            try:
                file = raw if opener is None else opener(raw)
                while piece := file.read(PIECE):
                    pieces.append(piece)
                    size += len(piece)
                    bar.update(raw.tell() - bar.n)
                    if size > room:
                        raise FormatError(
                            path, None, f"more than {size:,} bytes of text, memory is {2 * room:,}"
                        )
            except (EOFError, gzip.BadGzipFile, lzma.LZMAError, zlib.error) as error:
                raise FormatError(
                    path, None, f"the compressed file is damaged or cut short ({error})"
                ) from error
            except OSError as error:
                if opener is not bz2.open:
                    raise
                raise FormatError(
                    path, None, f"the compressed file is damaged or cut short ({error})"
                ) from error
    data = b"".join(pieces)
    return Text(path, data.removeprefix(b"\xef\xbb\xbf"), progress)


def write_bytes(path, content: bytes) -> None:
    """Write a file; a name that ends with ``.gz`` is compressed."""
    opener = gzip.open if os.fspath(path).endswith(".gz") else open
    with opener(path, "wb") as file:
        file.write(content)


def _memory() -> int:
    """Half of the machine's memory in bytes."""
    try:
        return os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE") // 2
    except (AttributeError, ValueError, OSError):
        return 1 << 62


class Text:
    """The bytes of a file and how its lines look.

    Parameters
    ----------
    path : str
    data : bytes
    progress : bool or None
    """

    def __init__(self, path: str, data: bytes, progress: bool | None = None):
        self.path = path
        self.data = data
        self.progress = progress

    @property
    def name(self) -> str:
        """The file's name without its folder."""
        return os.path.basename(self.path)

    def line_number(self, offset: int) -> int:
        """1-based number of the line at an offset."""
        return self.data.count(b"\n", 0, offset) + 1

    def line_at(self, offset: int) -> str:
        """The line that begins at (or holds) an offset, shortened for a message."""
        end = self.data.find(b"\n", offset)
        line = (
            self.data[offset : end if end >= 0 else len(self.data)][: SHOWN * 4]
            .decode("utf-8", "replace")
            .strip()
        )
        return line if len(line) <= SHOWN else line[:SHOWN] + "..."

    def error(self, offset: int | None, message: str) -> FormatError:
        """The error that points at the line of an offset (None: at the whole file)."""
        return FormatError(self.path, None if offset is None else self.line_number(offset), message)

    @staticmethod
    def fits(size: int) -> bool:
        """Whether so many bytes are less than half of the machine's memory."""
        return size <= _memory()

    def check_room(self, offset: int | None, nrows: int) -> None:
        """Raise where the row offsets of so many vertices alone would not fit in memory."""
        if 16 * (nrows + 1) > _memory():
            raise self.error(
                offset,
                f"{nrows:,} vertices need {8 * (nrows + 1):,} bytes for row offsets alone, more than half of "
                "this machine's memory",
            )

    def lines(self, marks: bytes, start: int = 0):
        """(offset, line) of every line from `start` that is not blank and begins with none of `marks`."""
        data = self.data
        while start < len(data):
            end = data.find(b"\n", start)
            end = len(data) if end < 0 else end
            line = data[start:end].strip()
            if line and line[0] not in marks:
                yield start, line
            start = end + 1
