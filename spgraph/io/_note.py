"""What a text format has no place for, in comments that other readers skip.

``# spgraph: nrows=3 ncols=3 dtype=int64 ids=text`` says how many vertices there are, which type the values had and
what labels are; ``# spgraph vertex: Rome`` names a vertex, in the order of their numbers. The comment's mark is the
format's own.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace

import numpy as np

from semirings.exceptions import InvalidValue
from spgraph.io._coo import Edges
from spgraph.io._fold import checked_cast
from spgraph.io._labels import checked_labels
from spgraph.io._text import Text

__all__ = ["Note", "apply", "apply_dtype", "find", "lines", "names_of"]

FACTS = re.compile(rb"^[#%c][ \t]*spgraph:((?:[ \t]+[a-z]+=[A-Za-z0-9]+)+)[ \t\r]*$", re.MULTILINE)
VERTEX = re.compile(rb"^[#%c][ \t]*spgraph vertex: ([^\r\n]+?)[ \t\r]*$", re.MULTILINE)
TYPES = ("bool", "float32", "float64", *(f"{sign}int{bits}" for sign in ("", "u") for bits in (8, 16, 32, 64)))
KNOWN = {
    "nrows": re.compile("[0-9]{1,18}"),
    "ncols": re.compile("[0-9]{1,18}"),
    "dtype": re.compile("|".join(TYPES)),
    "ids": re.compile("int|text"),
}
LABEL = re.compile(r"[^\s\0](?:[^\r\n\0]*[^\s\0])?")


@dataclass(frozen=True)
class Note:
    """What the comments say; None where they say nothing.

    Parameters
    ----------
    at : int
        Offset of the first.
    nrows, ncols : int or None
    dtype : str or None
    ids : {"int", "text"} or None
    labels : ndarray or None
        Names of the vertices, in the order of their numbers.
    """

    at: int
    nrows: int | None
    ncols: int | None
    dtype: str | None
    ids: str | None
    labels: np.ndarray | None


# ---- reading --------------------------------------------------------------------
def find(text: Text, mark: bytes, end: int) -> Note | None:
    """The comments above the data, which begin at `end`, if there are any.

    Raises
    ------
    FormatError
        If they say what cannot be.
    """
    match = next((match for match in FACTS.finditer(text.data, 0, end) if match[0][:1] in mark), None)
    if match is None:
        return None
    facts = dict(word.decode().split("=") for word in match[1].split())
    for name, value in facts.items():
        if name not in KNOWN or not KNOWN[name].fullmatch(value):
            raise text.error(match.start(), f"got {name}={value[:40]}, expected a comment as spgraph writes it")
    sizes = {name: int(facts[name]) for name in ("nrows", "ncols") if name in facts}
    text.check_room(match.start(), max(sizes.values(), default=0))
    named = [found for found in VERTEX.finditer(text.data, match.end(), end) if found[0][:1] in mark]
    labels = _labels(text, named, facts.get("ids")) if named else None
    return Note(match.start(), sizes.get("nrows"), sizes.get("ncols"), facts.get("dtype"), facts.get("ids"), labels)


def _labels(text: Text, named: list, ids: str | None) -> np.ndarray:
    names: list = []
    for found in named:
        try:
            names.append(found[1].decode())
            if ids == "int":
                names[-1] = int(names[-1]) if len(names[-1]) < 20 else 2**64
                if not -(2**63) <= names[-1] < 2**63:
                    raise ValueError
        except ValueError:
            raise text.error(found.start(), f"got {text.line_at(found.start())!r}, expected a vertex's id") from None
    if len(set(names)) != len(names):
        raise text.error(named[0].start(), "two vertices have the same id")
    if ids == "int":
        return np.array(names, np.int64)
    labels = np.empty(len(names), object)
    labels[:] = names
    return labels


def apply_dtype(edges: Edges, note: Note | None) -> Edges:
    """The edges with values of the type that the comment names."""
    if note is None or note.dtype is None:
        return edges
    if note.dtype == "bool" and not edges.iso:
        wrong = (edges.values != 0) & (edges.values != 1)
        if wrong.any():
            at = int(wrong.argmax())
            raise edges.fail(at, f"got {edges.values[at]}, expected 0 or 1 (the comment says dtype=bool)")
    return replace(edges, values=checked_cast(edges.values, np.dtype(note.dtype), edges.fail))


def apply(edges: Edges, note: Note | None, text: Text) -> Edges:
    """The edges with the type of values and the names of vertices that the comments give."""
    if note is not None and note.labels is not None:
        if note.labels.size != max(edges.nrows, edges.ncols):
            raise text.error(note.at, f"{note.labels.size:,} vertices are named, there are {edges.nrows:,}")
        edges = replace(edges, labels=note.labels)
    return apply_dtype(edges, note)


# ---- writing --------------------------------------------------------------------
def names_of(labels, shape) -> np.ndarray | None:
    """Labels as an array, if they can stand in a line."""
    names = checked_labels(labels, shape)
    if names is not None and names.dtype == object:
        for label in names:
            if not LABEL.fullmatch(label):
                why = "it is empty, has several lines, or blanks around it"
                raise InvalidValue(f"write: label {label!r} would not be read back: {why}")
    return names


def lines(mark: str, labels=None, **facts) -> list[str]:
    """The comments that say these facts; none where there is nothing to say."""
    if labels is not None:
        facts["ids"] = "text" if labels.dtype == object else "int"
    named = [] if labels is None else [f"{mark} spgraph vertex: {label}" for label in labels.tolist()]
    said = " ".join(f"{name}={value}" for name, value in facts.items())
    return [f"{mark} spgraph: {said}", *named] if said else []
