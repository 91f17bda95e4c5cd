"""What a reader or a generator did, and the error that a reader raises."""

from __future__ import annotations

from dataclasses import dataclass

from semirings.exceptions import GraphblasException

__all__ = ["FormatError", "Report"]


class FormatError(GraphblasException, ValueError):
    """A file is not what its format says.

    The message names the file, the line and what was expected there.

    Attributes
    ----------
    path : str
    line : int or None
        1-based; None when the whole file is meant.
    """

    def __init__(self, path: str, line: int | None, message: str):
        super().__init__(f"{path}, line {line}: {message}" if line else f"{path}: {message}")
        self.path = path
        self.line = line
        self._message = message

    def __reduce__(self):
        return FormatError, (self.path, self.line, self._message)


@dataclass(frozen=True)
class Report:
    """Counts of what came in and what became of it.

    ``edges - self_loops_dropped - duplicates_merged + reversed_added == stored``
    always holds.

    Parameters
    ----------
    source : str
        Name of the file or call of the generator.
    vertices : tuple of (int, int)
        Rows and columns.
    edges : int
        Edges in the file, or generated.
    self_loops_dropped : int
    duplicates_merged : int
        Entries that were combined into another one.
    reversed_added : int
        Entries added because the format or the caller says undirected.
    stored : int
        Entries of the matrix.
    verb : str
        "read" or "generated".
    notes : tuple of str
        What else a reader should be told.
    numbered_from : int
        What the format calls vertex 0: 1 for Matrix Market and DIMACS files.

    Examples
    --------
    >>> print(Report("roads.gr", (4, 4), 7, duplicates_merged=1, stored=6))
    roads.gr: 4 vertices; 7 edges read, 1 duplicate merged, 6 stored
    """

    source: str
    vertices: tuple[int, int]
    edges: int
    self_loops_dropped: int = 0
    duplicates_merged: int = 0
    reversed_added: int = 0
    stored: int = 0
    verb: str = "read"
    notes: tuple[str, ...] = ()
    numbered_from: int = 0

    def __str__(self):
        nrows, ncols = self.vertices
        shape = _count(nrows, "vertex", "vertices") if nrows == ncols else f"{nrows:,} x {ncols:,}"
        parts = [f"{_count(self.edges, 'edge')} {self.verb}"]
        for count, name, verb in (
            (self.self_loops_dropped, "self-loop", "dropped"),
            (self.duplicates_merged, "duplicate", "merged"),
            (self.reversed_added, "reversed edge", "added"),
        ):
            if count:
                parts.append(f"{_count(count, name)} {verb}")
        parts.append(f"{self.stored:,} stored")
        return "; ".join([f"{self.source}: {shape}", ", ".join(parts), *self.notes])


def _count(count: int, one: str, many: str | None = None) -> str:
    return f"{count:,} {one if count == 1 else many or one + 's'}"
