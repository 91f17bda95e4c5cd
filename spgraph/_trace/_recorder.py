"""The listener of `spgraph._record`: turns what the engine tells into records.

Times are taken by ``device.stamp()``: the host's clock on a CPU, an event on a GPU, which is read when the superstep is
over and has been waited for. What counting edges costs is left out: the window of time is closed before, and another
opened after.
"""

from __future__ import annotations

import threading
import time
from collections import Counter
from collections.abc import Callable
from typing import Any

from spgraph._trace._records import Message, Record, Span

__all__ = ["PRODUCTS", "Recorder", "shared_time", "totals"]

PRODUCTS = {"mxv": 6, "mxm": 4}  # what ends a superstep, and which argument is its frontier
ALONE = 0  # the part of an object on one device


class Recorder:
    """Records what one process does, in one thread.

    Parameters
    ----------
    nvtx : bool
        Whether operations on GPUs are NVTX ranges, too.

    Attributes
    ----------
    records, messages, spans : list
    group : Group or None
        The last one that an operation was on; before, the one in force.
    began : float
        The host's time.
    """

    def __init__(self, nvtx: bool = False):
        self.records: list[Record] = []
        self.messages: list[Message] = []
        self.spans: list[Span] = []
        self.group: Any = None
        self.nvtx = nvtx
        self._ranges: Any = None  # CuPy's module, while a range is open
        self._thread = threading.get_ident()
        self.began = time.perf_counter()
        self._origins: dict[Any, tuple[Any, float]] = {}  # of devices: a stamp and the host's time of it
        self._name = ""  # of the operation under way
        self._depth = self._exchanging = 0
        self._begin_superstep(None)

    def _begin_superstep(self, start: float | None) -> None:
        self._number = self.records[-1].superstep + 1 if self.records else 1
        self._start = start  # None: with the first operation
        self._counting = 0.0
        self._others: Counter = Counter()
        self._looked: dict[int, list] = {}  # of parts: direction, edges, vertices, stored
        self._frontier: dict[int, int] = {}
        self._devices: dict[int, Any] = {}
        self._windows: list[tuple] = []  # (part, device, kind, operation, from, to, how many parts share it)
        self._window: tuple | None = None  # (part, device, from)
        self._combining = False
        self._sent: list[Message] = []

    # ---- what the engine says -----------------------------------------------------
    def begins(self, name: str, device: Any, args: tuple) -> bool:
        """An operation begins; False if it is part of another, or another thread's."""
        if self._depth or threading.get_ident() != self._thread:
            return False
        group, begin = device.group, time.perf_counter()
        self._depth, self._name, self._combining = 1, name, False
        if self._start is None:
            self._start = begin
        parts = [(self._alone(device), device)]
        if group is not None:
            self.group, parts = group, [(part, group.devices[part]) for part in group.mine]
        self._devices.update(parts)
        if name in PRODUCTS:
            frontier = args[PRODUCTS[name]]
            pieces = [frontier] if group is None else frontier.pieces
            self._frontier = {part: piece.nvals for (part, _), piece in zip(parts, pieces)}
        else:
            self._others[name] += 1
            self._counting += time.perf_counter() - begin
        if self.nvtx and not parts[0][1].on_host:
            self._ranges = parts[0][1].xp.cuda.nvtx
            self._ranges.RangePush(name)
        if group is None:
            self._open(*parts[0])
        return True

    def _alone(self, device: Any) -> int:
        """The part of an operation on one device: of a group, if there was one, the first that is on the device."""
        devices = [] if self.group is None else self.group.devices
        return devices.index(device) if device in devices else ALONE

    def ends(self) -> None:
        """The operation is over, or has failed."""
        self._close()
        name, self._name, self._depth = self._name, "", 0
        if self._ranges is not None:
            self._ranges.RangePop()
            self._ranges = None
        if name in PRODUCTS:
            self._end_superstep(name)

    def turn(self, part: int | None, device: Any) -> None:
        """What follows is done by this part (None: by none)."""
        if threading.get_ident() != self._thread:
            return
        self._close()
        if part is not None:
            self._devices[part] = device
            if not self._exchanging:
                self._open(part, device)

    def product(self, direction: str, A: Any, a_t: bool, u: Any, view: Any = None, edges: int | None = None) -> None:
        """A product looks from u along the rows of A (of its transpose if `a_t`), or at the rows that `view` allows."""
        if threading.get_ident() != self._thread or self._combining:
            return
        rows = A.oriented(a_t)
        self._count(direction, rows, lambda: _pushed(rows, u) if view is None else _pulled(rows, view), edges)

    def multiplies(self, A: Any, B: Any, b_t: bool) -> None:
        """A product of matrices, of the right one's transpose if `b_t`."""
        if threading.get_ident() == self._thread:
            self._count("", A, lambda: _multiplied(A, B, b_t), None)

    def _count(self, direction: str, rows: Any, edges: Any, known: int | None) -> None:
        window = self._close()
        begin = time.perf_counter()
        part = ALONE if window is None else window[0]
        self._looked[part] = [direction, edges() if known is None else known, rows.nrows, rows.nvals]
        self._counting += time.perf_counter() - begin
        if window is not None:
            self._open(*window[:2])

    def moved(self, verb: str, source: int, target: int, values: int, nbytes: int, form: str) -> None:
        """A message from one part to another."""
        if threading.get_ident() == self._thread and (values or nbytes):
            self._sent.append(Message(self._number, verb, source, target, int(values), int(nbytes), form))

    def exchange_begins(self) -> None:
        """From now on values are moved."""
        if threading.get_ident() != self._thread:
            return
        self._exchanging += 1
        if self._exchanging == 1:
            self._interrupted = self._close()
            self._combining = bool(self._looked)
            self._exchange = self._stamps()

    def exchange_ends(self) -> None:
        """Until now."""
        if threading.get_ident() != self._thread:
            return
        self._exchanging -= 1
        if self._exchanging:
            return
        self._cut_exchange()
        if self._interrupted is not None:
            self._open(*self._interrupted[:2])

    def _cut_exchange(self) -> None:
        for device, (parts, begin) in self._exchange.items():
            end = self._stamp(device)
            self._windows += [(part, device, "exchange", self._name, begin, end, len(parts)) for part in parts]

    def aside(self, count: Callable[[], None]) -> None:
        """Run what counts in the middle of an exchange."""
        if threading.get_ident() != self._thread:
            return
        if self._exchanging:
            self._cut_exchange()
            for device in self._exchange:
                with device:
                    device.synchronize()
        begin = time.perf_counter()
        count()
        self._counting += time.perf_counter() - begin
        if self._exchanging:
            self._exchange = self._stamps()

    # ---- time ----------------------------------------------------------------------
    def _stamps(self) -> dict:
        """A stamp of each device of the group, and its parts."""
        found: dict[Any, tuple] = {}
        for part, device in self._devices.items():
            if device not in found:
                found[device] = ([], self._stamp(device))
            found[device][0].append(part)
        return found

    def _stamp(self, device: Any) -> Any:
        if device.on_host:
            return device.stamp()
        with device:
            if device not in self._origins:
                device.synchronize()
                self._origins[device] = device.stamp(), time.perf_counter()
            return device.stamp()

    def _open(self, part: int, device: Any) -> None:
        self._window = part, device, self._stamp(device)

    def _close(self) -> tuple | None:
        """End the window of time that is open, if there is one; returns it."""
        window, self._window = self._window, None
        if window is not None:
            part, device, begin = window
            self._windows.append((part, device, "compute", self._name, begin, self._stamp(device), 1))
        return window

    def _since_began(self, device: Any, stamp: Any) -> float:
        if device.on_host:
            return stamp - self.began
        origin, at = self._origins[device]
        return at - self.began + device.between(origin, stamp)

    # ---- the end of a superstep -------------------------------------------------------
    def finish(self) -> None:
        """What came after the last product."""
        self._close()
        if self._windows or self._sent:
            self._end_superstep("")

    def _end_superstep(self, operation: str) -> None:
        for device in dict.fromkeys(self._devices.values()):
            with device:
                device.synchronize()
        end = time.perf_counter()
        start = end if self._start is None else self._start
        busy: dict[int, dict[str, float]] = {part: {"compute": 0.0, "exchange": 0.0} for part in self._devices}
        for part, device, kind, name, begin, to, sharing in self._windows:
            seconds = device.between(begin, to)
            busy[part][kind] += seconds / sharing
            self.spans.append(Span(self._number, part, kind, name, self._since_began(device, begin), seconds))
        self.messages += self._sent
        elapsed = max(end - start - self._counting, 0.0)
        seconds = shared_time(elapsed, {part: sum(times.values()) for part, times in busy.items()}, self._devices)
        others = ", ".join(name if n == 1 else f"{name} x{n}" for name, n in self._others.items())
        direction = next((looked[0] for looked in self._looked.values()), "")
        for part, device in sorted(self._devices.items(), key=lambda item: item[0]):
            _, edges, vertices, stored = self._looked.get(part, ("", 0, 0, 0))
            with device:
                edges = int(edges)
            compute, exchange = busy[part].values()
            self.records.append(Record(
                self._number, part, device.name, operation, others, direction, self._frontier.get(part, 0), edges,
                vertices, stored, **totals(self._sent, part), compute=compute, exchange=exchange,
                wait=max(seconds - compute - exchange, 0.0), seconds=seconds, start=start - self.began))  # fmt: skip
        self._begin_superstep(time.perf_counter())


def totals(messages: list[Message], part: int) -> dict[str, int]:
    """Values and bytes that a part sends, and that it receives."""
    found = {"sent": 0, "sent_bytes": 0, "received": 0, "received_bytes": 0}
    for message in messages:
        for way, there in (("sent", message.source), ("received", message.target)):
            if there == part:
                found[way] += message.values
                found[f"{way}_bytes"] += message.nbytes
    return found


def shared_time(elapsed: float, busy: dict[int, float], devices: dict[int, Any]) -> float:
    """What a superstep takes if parts that took turns on a device work at the same time."""
    turns: dict[Any, float] = {}
    for part, device in devices.items():
        turns[device] = turns.get(device, 0.0) + busy[part]
    slowest = max(busy.values(), default=0.0)
    return max(elapsed - max(turns.values(), default=0.0), 0.0) + slowest


# ---- edges ------------------------------------------------------------------------------
def _pushed(rows: Any, u: Any) -> Any:
    """Entries of the rows that u has."""
    if u.nvals == u.size:
        return rows.nvals
    if u.nvals == 0:
        return 0
    indices = u.indices if u.format == "sparse" else u.device.xp.flatnonzero(u.present)
    if rows.width > 1:
        indices = rows.places(indices)[1]
    return (rows.indptr[indices + 1] - rows.indptr[indices]).sum()


def _pulled(rows: Any, view: Any) -> Any:
    """Entries of the rows that a mask allows."""
    if not view.code:
        return rows.nvals
    kind = view.code[0]
    allowed = view.values != 0 if kind == "f" else view.present != 0
    if kind == "v":
        allowed &= view.values != 0
    lengths = rows.indptr[1:] - rows.indptr[:-1]
    inside = (rows.of_each(lengths) if rows.width > 1 else lengths)[allowed].sum()
    return rows.nvals - inside if view.code[1:] else inside


def _multiplied(A: Any, B: Any, b_t: bool) -> Any:
    """Pairs of an entry (i, k) of A and one (k, j) of B."""
    xp = A.device.xp
    named = xp.bincount(A.indices, minlength=A.ncols)
    there = xp.bincount(B.indices, minlength=B.ncols) if b_t else B.indptr[1:] - B.indptr[:-1]
    return (named * there).sum()
