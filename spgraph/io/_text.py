"""A text file in memory: decompress, look at lines, point at lines.

Where ``mpiexec`` has started several processes, each has the head of the file and a share of the lines below. A text of
one process is the same with one share, so that readers know one kind.
"""

from __future__ import annotations

import bz2
import gzip
import lzma
import os
import re
import sys
import zlib
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from typing import Any

from spgraph.io._ranks import ALONE, Alone, loading_ranks
from spgraph.io._report import FormatError

__all__ = ["Packed", "Share", "Text", "Words", "load", "load_packed", "load_share", "progress_bar", "write_bytes"]

PIECE = 1 << 20  # bytes read at a time
HEAD = 1 << 16  # bytes that all processes have, at least
HEAD_LINES = 128  # and lines of data
MARK = b"\xef\xbb\xbf"  # of UTF-8, which some editors put in front
MAGIC: dict[bytes, Callable] = {b"\x1f\x8b": gzip.open, b"\xfd7zXZ\x00": lzma.open}  # which no UTF-8 text has
BZIP2 = re.compile(rb"BZh[1-9]")  # which a text may have; what follows, none has
BZIP2_BLOCKS = (b"1AY&SY", b"\x17\x72\x45\x38\x50\x90")
LONGEST = 10  # bytes that tell a packed file
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
    room = _memory()
    pieces, size = [], 0
    what = f"reading {os.path.basename(path)}"
    with _opened(path) as (file, raw), progress_bar(os.fstat(raw.fileno()).st_size, what, progress) as bar:
        while piece := file.read(PIECE):
            pieces.append(piece)
            size += len(piece)
            bar.update(raw.tell() - bar.n)
            if size > room:
                raise FormatError(path, None, f"more than {size:,} bytes of text, memory is {2 * room:,}")
    data = b"".join(pieces)
    return Text(path, data.removeprefix(MARK), progress)


def _opener(start: bytes) -> Callable | None:
    """What unpacks a file that begins so, which may be cut short; None: it is not packed."""
    if BZIP2.match(start) and any(block.startswith(start[4:]) for block in BZIP2_BLOCKS):
        return bz2.open
    return next((opener for magic, opener in MAGIC.items() if start.startswith(magic)), None)


@contextmanager
def _opened(path: str) -> Iterator[tuple[Any, Any]]:
    """What reads the file unpacked, and the file itself."""
    with open(path, "rb") as raw:
        if not raw.seekable():
            raise FormatError(path, None, "it is a pipe, wanted a file, which can be read from its start again")
        opener = _opener(raw.read(LONGEST))
        raw.seek(0)
        try:
            yield (raw if opener is None else opener(raw)), raw
        except (EOFError, gzip.BadGzipFile, lzma.LZMAError, zlib.error) as error:
            raise FormatError(path, None, f"the compressed file is damaged or cut short ({error})") from error
        except OSError as error:
            if opener is not bz2.open:
                raise
            raise FormatError(path, None, f"the compressed file is damaged or cut short ({error})") from error


def load_share(path, marks: bytes, progress: bool | None = None, ranks: Alone | None = None) -> Text:
    """A process's share of a file: all of it where there is one process. A Text is returned as it is.

    A packed file is unpacked by every process, which keeps its share.

    Parameters
    ----------
    path : str or path-like
    marks : bytes
        Characters that begin a comment: all processes need those above the data.
    progress : bool or None
    ranks : Alone, optional
        Default: the processes of the device in force.
    """
    if isinstance(path, Text):
        return path
    ranks = loading_ranks() if ranks is None else ranks
    if ranks.count == 1:
        return load(path, progress)
    path = os.fspath(path)
    with ranks.together(), _opened(path) as (file, raw):
        head = _head(file, marks)
        size = len(head)
        if file is raw:
            size = os.fstat(raw.fileno()).st_size
        elif ranks.first:
            while piece := file.read(PIECE):
                size += len(piece)
        size = ranks.gather(size)[0]
        first, last = (len(head) + at for at in ranks.share(size - len(head)))
        if not Text.fits(last - first):
            raise FormatError(path, None, f"a share of {last - first:,} bytes of text, memory is {2 * _memory():,}")
        first, own = _lines(file, first, last, len(head), size)
        return Share(path, head, own, first, ranks, progress)


def load_packed(path, progress: bool | None = None) -> Text:
    """A file as `load` has it, or `Packed` where several processes read an archive that is not packed once more."""
    if isinstance(path, Text):
        return path
    ranks = loading_ranks()
    if ranks.count == 1:
        return load(path, progress)
    path = os.fspath(path)
    with ranks.together():
        with open(path, "rb") as raw:
            again = _opener(raw.read(LONGEST)) is not None
        if again:
            raise FormatError(path, None, "an archive that is packed once more cannot be read under mpiexec: unpack it")
    return Packed(path, ranks)


def _head(file: Any, marks: bytes) -> bytes:
    """The lines at the beginning, to some below the comments."""
    lines: list[bytes] = []
    size = seen = 0
    file.seek(0)
    while (size < HEAD or seen < HEAD_LINES) and (line := file.readline()):
        lines.append(line)
        size += len(line)
        said = line.strip()
        seen += bool(said) and said[0] not in marks
    return b"".join(lines)


def _lines(file: Any, first: int, last: int, head: int, size: int) -> tuple[int, bytes]:
    """Where the first line begins of those that begin in a range of a file, and their bytes."""
    if first > head:
        file.seek(first - 1)
        first += len(file.readline()) - 1
    file.seek(first)
    if first >= last:
        return min(first, size), b""
    own = file.read(last - first)
    return first, own + (b"" if own.endswith(b"\n") else file.readline())


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

    ranks = ALONE  # who has the other shares

    def __init__(self, path: str, data: bytes, progress: bool | None = None):
        self.path = path
        self.data = data
        self.progress = progress

    def begin(self, start: int) -> int:
        """Where this share of the lines from `start` begins."""
        return start

    def to_first(self) -> Text:
        """The same where the process with the first share has all lines."""
        return self

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


class Packed(Text):
    """A file that lines do not cut into shares: every process reads its share of what is in it by itself.

    Parameters
    ----------
    path : str
    ranks : Ranks
    """

    def __init__(self, path: str, ranks: Alone):
        super().__init__(path, b"", False)
        self.ranks = ranks


class Words(Text):
    """Numbers out of a text, each on a line of its own.

    Parameters
    ----------
    data : bytes
    ranks : Alone
        Who reads the others.
    """

    def __init__(self, data: bytes, ranks: Alone):
        super().__init__("", data, None if ranks.first else False)
        self.ranks = ranks


class Share(Text):
    """The head of a file and some of the lines below it; the first share has those of the head as well.

    Parameters
    ----------
    path : str
    head, own : bytes
    at : int
        Offset of the own lines in the file.
    ranks : Ranks
    progress : bool or None
    """

    def __init__(self, path: str, head: bytes, own: bytes, at: int, ranks: Alone, progress: bool | None = None):
        head = head.removeprefix(MARK)
        super().__init__(path, head + own, progress if ranks.first else False)
        self.ranks = ranks
        self.head = len(head)
        self.at = at

    def begin(self, start: int) -> int:
        """Where this share of the lines from `start` begins."""
        return start if self.ranks.first else self.head

    def line_number(self, offset: int) -> int:
        """1-based number of the line at an offset; the file is read again up to the own lines."""
        if self.ranks.first or offset < self.head:
            return super().line_number(offset)
        number, left = self.data.count(b"\n", self.head, offset) + 1, self.at
        with _opened(self.path) as (file, _):
            while left and (piece := file.read(min(PIECE, left))):
                number += piece.count(b"\n")
                left -= len(piece)
        return number

    def to_first(self) -> Text:
        """The same where the process with the first share has all lines."""
        own = b""
        if self.ranks.first:
            with _opened(self.path) as (file, _):
                file.seek(self.at)
                own = file.read()
        return Share(self.path, self.data[: self.head], own, self.at, self.ranks, self.progress)
