"""The cost of a program in the bulk-synchronous model, fitted to what was measured, and what it is on more devices."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from semirings.exceptions import InvalidValue
from spgraph._cli.text import counted, sized, timed
from spgraph._convert import to_size
from spgraph._trace._records import Record, by_superstep
from spgraph.algorithms._inputs import as_number

__all__ = ["Fit", "Prediction", "fit", "predict"]

UNKNOWN = float("nan")
ENOUGH = 3  # supersteps for a line, which has two unknowns
ALIKE = 1 / 100  # of the largest, by which the counts of all supersteps differ at most if they are alike


@dataclass(frozen=True)
class Fit:
    """What `Trace.fit` found; ``print`` shows it as a row of the multi-GPU Gunrock paper's Table I.

    Attributes
    ----------
    name : str
    parts : int
    W, C, H, H_bytes : int
        Of the part that has most, over all supersteps: entries of the matrix looked at, values that came, values that
        came or went, whichever is more, and their bytes.
    S : int
        Supersteps.
    vertices, stored : int
        |V_i| and |E_i|: rows and entries of the largest part's matrix.
    w, g, l : float
        Seconds per edge, per byte, per superstep; NaN if unknown.
    measured : float
        Seconds of all supersteps.
    error : float
        Root of the mean squared relative error of a superstep's time.
    note : str
        What is missing, if something is.
    """

    name: str
    parts: int
    W: int
    C: int
    H: int
    H_bytes: int
    S: int
    vertices: int
    stored: int
    w: float
    g: float
    l: float  # noqa: E741
    measured: float
    error: float
    note: str

    def __str__(self) -> str:
        edges, vertices = max(self.stored, 1), max(self.vertices, 1)
        cells = [
            ("", self.name or "this program"),
            ("Computation W", f"{self.W:,} = {self.W / edges:.2f} |E_i|"),
            ("Communication computation C", f"{self.C:,} = {self.C / vertices:.2f} |V_i|"),
            ("Communication volume H", f"{self.H:,} = {self.H / vertices:.2f} |V_i|, {sized(self.H_bytes)}"),
            ("Iterations S", f"{self.S:,}"),
        ]
        widths = [max(map(len, cell)) for cell in cells]
        lines = ["  ".join(text.ljust(width) for text, width in zip(row, widths)).rstrip() for row in zip(*cells)]
        known = [(self.w, "W", "edge"), (self.g, "H", "byte"), (self.l, "S", "superstep")]
        terms = [f"{name} * {_rate(value)}/{unit}" for value, name, unit in known if not np.isnan(value)]
        if terms:
            lines.append(f"time = {' + '.join(terms)}; measured {timed(self.measured)}, "
                         f"a superstep is {self.error:.0%} off")  # fmt: skip
        return "\n".join([*lines, *([self.note] if self.note else [])])

    __repr__ = __str__


def _rate(seconds: float) -> str:
    if not seconds:
        return "0"
    return f"{seconds * 1e9:.3g} ns" if seconds < 1e-6 else timed(seconds)


@dataclass(frozen=True)
class Prediction:
    """What `Trace.predict` says.

    Attributes
    ----------
    devices : int
    seconds : float
        Of all supersteps: the sum of the following three.
    compute, exchange, latency : float
    measured : float
        What was traced, on `parts` devices.
    parts : int
    """

    devices: int
    seconds: float
    compute: float
    exchange: float
    latency: float
    measured: float
    parts: int

    @property
    def speedup(self) -> float:
        """Over what was traced."""
        return self.measured / self.seconds if self.seconds else float("inf")

    def __str__(self) -> str:
        terms = {"compute": self.compute, "exchange": self.exchange, "latency": self.latency}
        text = " + ".join(f"{name} {timed(seconds)}" for name, seconds in terms.items() if seconds) or "0"
        return f"{counted(self.devices, 'device')}: {timed(self.seconds)} = {text} ({self.parts} traced: " \
               f"{timed(self.measured)})"  # fmt: skip

    __repr__ = __str__


class _Counts:
    """Of each superstep that took time: W, H and times of the part that has most."""

    def __init__(self, records: list[Record]):
        steps = by_superstep([one for one in records if one.operation and one.seconds > 0])
        self.S = len(steps)
        self.W = np.array([max(one.edges for one in step) for step in steps], float)
        self.H = np.array([max(max(one.sent_bytes, one.received_bytes) for one in step) for step in steps], float)
        self.seconds = np.array([max(one.seconds for one in step) for step in steps], float)
        self.compute = np.array([max(one.compute for one in step) for step in steps], float)
        self.exchange = np.array([max(one.exchange for one in step) for step in steps], float)
        self.wait = np.maximum(self.seconds - self.compute - self.exchange, 0)


def fit(records: list[Record], name: str, parts: int) -> Fit:
    """See `Trace.fit`."""
    counts = _Counts(records)
    (w, g, l), error, note = _costs(counts)  # noqa: E741
    own = [[one for one in records if one.operation and one.part == part] for part in range(parts)]

    def most(value) -> int:
        return max((sum(map(value, some)) for some in own), default=0)

    largest = max(records, key=lambda one: one.stored, default=Record(0, 0, ""))
    return Fit(
        name,
        parts,
        most(lambda one: one.edges),
        most(lambda one: one.received),
        most(lambda one: max(one.sent, one.received)),
        most(lambda one: max(one.sent_bytes, one.received_bytes)),
        counts.S,
        largest.vertices,
        largest.stored,
        w,
        g,
        l,
        float(counts.seconds.sum()),
        error,
        note,
    )


def _costs(counts: _Counts) -> tuple[list[float], float, str]:
    """Seconds per edge, byte and superstep, none negative, their error, and what is to be said of them.

    What computing takes grows with W, what exchanging takes with H; what both take besides, and waiting, is the
    superstep's.
    """
    if not counts.S:
        return [UNKNOWN] * 3, UNKNOWN, "too little data: no superstep took any time"
    weight = counts.seconds**-2
    costs, rest, notes = [], float((counts.wait * weight).sum() / weight.sum()), []
    for name, x, y in (("W", counts.W, counts.compute), ("H", counts.H, counts.exchange)):
        slope, besides, enough = _line(x, y, counts.seconds)
        costs.append(slope)
        rest += besides
        if not enough and x.any():
            what = f"{counts.S:,} supersteps" + (", all alike" if counts.S >= ENOUGH else "")
            notes.append(f"too little data to tell {name} from S ({what})")
    if not counts.H.any():
        notes.append("nothing was sent: g is unknown")
    model = np.nan_to_num(costs[0]) * counts.W + np.nan_to_num(costs[1]) * counts.H + rest
    error = float(np.sqrt(np.mean((model / counts.seconds - 1) ** 2)))
    return [*costs, rest], error, "; ".join(notes)


def _line(x: np.ndarray, y: np.ndarray, scale: np.ndarray) -> tuple[float, float, bool]:
    """Slope and height, not negative, of y over x by least squares of errors relative to `scale`; whether that is fair.

    Without enough different x, all is slope.
    """
    if not x.any():
        return UNKNOWN, float(y.mean()), True
    if len(x) < ENOUGH or x.max() - x.min() <= ALIKE * x.max():
        return float(y.sum() / x.sum()), 0.0, False
    from scipy.optimize import nnls

    columns = np.stack([x / scale, 1 / scale], axis=1)
    largest = columns.max(axis=0)
    slope, height = nnls(columns / largest, y / scale)[0] / largest
    return float(slope), float(height), True


def predict(records: list[Record], name: str, parts: int, devices: int, bandwidth: float | None,
            latency: float | None, rate: float | None) -> Prediction:  # fmt: skip
    """See `Trace.predict`."""
    devices = to_size(devices, "predict", "devices", least=1)
    for argument, value in (("bandwidth", bandwidth), ("rate", rate)):
        if value is not None and not as_number("predict", argument, value, 0, wanted="more than 0"):
            raise InvalidValue(f"predict: {argument} is {value!r}, wanted more than 0")
    if latency is not None:
        as_number("predict", "latency", latency, 0, wanted="seconds, 0 or more")
    fitted = fit(records, name, parts)
    if not fitted.S:
        raise InvalidValue("predict: no superstep was traced")
    if parts == 1 < devices:
        raise InvalidValue("predict: one device was traced, which sends nothing; trace the program on several, such as "
                           'the four parts of Context("cpu:4")')  # fmt: skip
    w = fitted.w if rate is None else 1 / rate
    g = fitted.g if bandwidth is None else 1 / bandwidth
    l = fitted.l if latency is None else latency  # noqa: E741
    if not fitted.H_bytes:
        g = 0.0
    lacking = [name for name, value in (("rate", w), ("bandwidth", g), ("latency", l)) if np.isnan(value)]
    if lacking:
        raise InvalidValue(f"predict: {fitted.note}; give {', '.join(lacking)}")
    counts = _Counts(records)
    degree = fitted.stored / max(fitted.vertices, 1)
    moved = _wanted(devices, degree) / _wanted(parts, degree) if parts > 1 else 0.0
    compute = w * float(counts.W.sum()) * parts / devices
    exchange = g * float(counts.H.sum()) * moved
    waiting = l * fitted.S
    return Prediction(devices, compute + exchange + waiting, compute, exchange, waiting, fitted.measured, parts)


def _wanted(parts: int, degree: float) -> float:
    """How many values of n a part sends, if everything is sent: its share, to each part with a neighbour."""
    return (parts - 1) / parts * -np.expm1(degree * np.log1p(-1 / parts)) if parts > 1 else 0.0
