"""What a trace consists of: a record for each superstep and part, messages, and intervals of time."""

from __future__ import annotations

from typing import NamedTuple

__all__ = ["Message", "Record", "Span", "by_superstep"]


class Record(NamedTuple):
    """What one part did in one superstep; times are in seconds.

    Attributes
    ----------
    superstep : int
        From 1. What comes after the last product has the next number, and no `operation`.
    part : int
        0 on one device.
    device : str
    operation : str
        The product that ends the superstep: "mxv" (also of vxm) or "mxm".
    others : str
        The operations before it, since the product before.
    direction : str
        "push", "pull", or "" for a product of matrices and for one that found nothing to do.
    frontier : int
        Entries of the vector (of the left matrix) that the part owns.
    edges : int
        W: entries of the matrix that are looked at. A push looks at all of its frontier's; a pull at those of the rows
        that may be written, at most: a row ends early at a terminal value. In a product of matrices, multiplications,
        at most: a mask makes them fewer.
    vertices, stored : int
        Rows and entries of the part's matrix.
    sent, sent_bytes : int
        H: values that went to other parts.
    received, received_bytes : int
        C: values that came from other parts, and were placed among its own or combined with them.
    compute, exchange, wait : float
        In its operations; packing, moving and unpacking values; all else of the superstep: waiting for other parts, for
        the host, for the program between the operations.
    seconds : float
        The three together: what the superstep took. Where parts take turns on one processor, what it would have taken
        if each had its own.
    start : float
        Since the trace began.
    """

    superstep: int
    part: int
    device: str
    operation: str = ""
    others: str = ""
    direction: str = ""
    frontier: int = 0
    edges: int = 0
    vertices: int = 0
    stored: int = 0
    sent: int = 0
    sent_bytes: int = 0
    received: int = 0
    received_bytes: int = 0
    compute: float = 0.0
    exchange: float = 0.0
    wait: float = 0.0
    seconds: float = 0.0
    start: float = 0.0


class Message(NamedTuple):
    """Values that went from one part to another.

    Attributes
    ----------
    superstep : int
    verb : str
        "share", "reduce", "route", "take" or "gather"; see `spgraph.exchange`.
    source, target : int
    values, nbytes : int
    form : str
        "list", "bits" or "dense".
    """

    superstep: int
    verb: str
    source: int
    target: int
    values: int
    nbytes: int
    form: str


class Span(NamedTuple):
    """An interval in which a part computed or exchanged."""

    superstep: int
    part: int
    kind: str  # "compute" or "exchange"
    operation: str
    start: float  # seconds since the trace began
    seconds: float


def by_superstep(records: list[Record]) -> list[list[Record]]:
    """The records of each superstep, in order."""
    found: dict[int, list[Record]] = {}
    for record in records:
        found.setdefault(record.superstep, []).append(record)
    return [found[number] for number in sorted(found)]
