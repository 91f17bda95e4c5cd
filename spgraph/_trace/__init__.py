"""What a program does, superstep by superstep and part by part: the engine tells a recorder while a trace is on.

`_recorder` listens, `_records` is what it notes, `_together` joins the processes of ``mpiexec``; tables, pictures,
Chrome's format and the bulk-synchronous model are made of the records.
"""

from __future__ import annotations

import json
import os
from typing import Any

import numpy as np

from semirings.exceptions import InvalidObject
from spgraph import _record, context
from spgraph._cli.text import sized, timed
from spgraph._trace import _chrome, _model, _plot, _together
from spgraph._trace._model import Fit, Prediction
from spgraph._trace._recorder import Recorder
from spgraph._trace._records import Message, Record, Span
from spgraph._trace._table import Table, table_of

__all__ = ["Trace", "trace"]


def trace(name: str = "", *, nvtx: bool = False) -> Trace:
    """Record what the operations inside ``with`` do.

    A product of a matrix with a vector, or of two matrices, is a superstep; the other operations since the previous
    product count to it. The thread that enters is recorded, others are not. One trace can be on at a time.

    It counts while it is on, which takes time that is not that of the supersteps, and waits for GPUs at the end of each
    superstep. Without a trace, the engine asks once per operation whether there is one.

    Parameters
    ----------
    name : str, optional
        Of the program, for tables and pictures.
    nvtx : bool, default False
        Whether operations on GPUs are NVTX ranges, too, for Nsight Systems.

    Returns
    -------
    Trace

    Raises
    ------
    InvalidObject
        On entering, if a trace is on.

    Notes
    -----
    Values are counted, and the lists of places that come with them; the lists of who lends what to whom, which are made
    once for a matrix, are not.

    Parts of one CPU read each other's entries in place unless a trace is on or ``Context(exchange=...)`` is given: what
    is recorded of them are the messages of as many devices, and takes longer than the same program without a trace.

    Under ``mpiexec`` every process records its own part. Leaving the ``with`` block gathers the records, so that
    afterwards each process has those of all parts, and tables and pictures are made by any of them alone. Therefore all
    processes enter and leave the same traces. After an exception nothing is gathered.

    Examples
    --------
    >>> import spgraph as sg
    >>> with sg.Context("cpu:2"):
    ...     A = sg.generators.path(6)
    ...     with sg.trace("bfs") as t:
    ...         level = sg.algorithms.bfs(A, 0)
    >>> [(one.superstep, one.part) for one in t.records if one.frontier]
    [(1, 0), (2, 0), (3, 0), (4, 1), (5, 1), (6, 1)]
    >>> [(one.source, one.target, one.values) for one in t.messages]
    [(0, 1, 1), (1, 0, 1)]
    """
    return Trace(name, nvtx=nvtx)


class Trace:
    """What `trace` has recorded.

    Attributes
    ----------
    name : str
    records : list of Record
        One for each superstep and part.
    messages : list of Message
    spans : list of Span
        The intervals in which parts computed and exchanged.
    """

    def __init__(self, name: str = "", *, nvtx: bool = False):
        if not isinstance(name, str):
            raise TypeError(f"trace: name is {name!r}, but a text was wanted")
        self.name = name
        self._recorder = Recorder(nvtx)
        self._used = False

    # ---- recording --------------------------------------------------------------------
    def __enter__(self) -> Trace:
        if _record.listener is not None:
            raise InvalidObject("trace: another trace is on; one can be on at a time")
        if self._used:
            raise InvalidObject("trace: it has recorded already; make another with sg.trace()")
        self._used = True
        self._recorder = Recorder(self._recorder.nvtx)
        self._recorder.group = context.device().group
        _record.listener = self._recorder
        return self

    def __exit__(self, kind: Any, *_error: Any) -> None:
        if _record.listener is not self._recorder:
            raise InvalidObject("trace: it is not on, so it cannot be left; `with` enters it")
        _record.listener = None
        self._recorder.finish()
        group = self._recorder.group
        if kind is None and group is not None and len(group.mine) < group.parts:
            _together.gather(self._recorder)

    @property
    def records(self) -> list[Record]:
        """One for each superstep and part."""
        return self._recorder.records

    @property
    def messages(self) -> list[Message]:
        """Values that went from part to part."""
        return self._recorder.messages

    @property
    def spans(self) -> list[Span]:
        """The intervals in which parts computed and exchanged."""
        return self._recorder.spans

    # ---- sums ---------------------------------------------------------------------------
    @property
    def parts(self) -> int:
        """Parts that did something."""
        return 1 + max((one.part for one in self.records), default=0)

    @property
    def supersteps(self) -> int:
        """S: products."""
        return len({one.superstep for one in self.records if one.operation})

    @property
    def bytes(self) -> np.ndarray:
        """Bytes that went from part p to part q, at [p, q]."""
        found = np.zeros((self.parts, self.parts), np.int64)
        for one in self.messages:
            found[one.source, one.target] += one.nbytes
        return found

    @property
    def seconds(self) -> float:
        """Of all supersteps."""
        return sum({one.superstep: one.seconds for one in self.records if one.operation}.values())

    def __repr__(self) -> str:
        devices = ", ".join(dict.fromkeys(one.device for one in self.records))
        where = f"{self.parts} parts ({devices})" if self.parts > 1 else devices or "nothing"
        edges, sent = sum(one.edges for one in self.records), sum(one.sent_bytes for one in self.records)
        name = f" of {self.name}" if self.name else ""
        return (f"<trace{name}: {self.supersteps} supersteps on {where}, {edges:,} edges, {sized(sent)} sent, "
                f"{timed(self.seconds)}>")  # fmt: skip

    def _repr_html_(self) -> str:
        return self.table()._repr_html_()

    # ---- views --------------------------------------------------------------------------
    def table(self, *, parts: bool = False, rows: int | None = 40) -> Table:
        """A row for each superstep: what all parts did together, times as the mean of the parts.

        Parameters
        ----------
        parts : bool, default False
            A row for each part of each superstep instead.
        rows : int, optional
            How many are shown, 1 or more; of more, those in the middle are left out. None for all.

        Returns
        -------
        Table
            ``print`` shows it, and so does a notebook.

        Examples
        --------
        >>> import spgraph as sg
        >>> with sg.Context("cpu", direction="push"):
        ...     A = sg.generators.path(4)
        ...     with sg.trace() as t:
        ...         level = sg.algorithms.bfs(A, 0)
        >>> for line in str(t.table()).splitlines():
        ...     print(line[:46].rstrip())
        step  operation  direction  frontier  edges W
           1  mxv +1     push              1        1
           2  mxv        push              1        2
           3  mxv        push              1        2
           4  mxv                          1        0
         sum                               4        5
        """
        notes = []
        devices = {one.device for one in self.records}
        if 0 < len(devices) < self.parts and "mpi" not in self._where():
            notes.append("Parts take turns on one device: times are as if each had its own.")
        return table_of(self.records, parts, rows, notes)

    def _where(self) -> str:
        group = self._recorder.group
        return "" if group is None else group.name

    def plot(self, axes: Any = None) -> Any:
        """Draw the frontier with its directions, the bytes between parts, and how time was spent, by superstep.

        Parameters
        ----------
        axes : three of matplotlib's axes, optional
            Where to draw; without, a new figure.

        Returns
        -------
        matplotlib.figure.Figure

        Raises
        ------
        ImportError
            Without matplotlib.

        Examples
        --------
        >>> import spgraph as sg
        >>> with sg.Context("cpu:2"), sg.trace("bfs") as t:
        ...     level = sg.algorithms.bfs(sg.generators.grid(5), 0)
        >>> [place.get_xlabel() for place in t.plot().axes]
        ['superstep', 'to part', 'superstep']
        """
        return _plot.plot(self.records, self.bytes, self.name or "frontier", axes)

    def to_pandas(self) -> Any:
        """A data frame with a row for each superstep and part; columns are the fields of `Record`.

        Raises
        ------
        ImportError
            Without pandas.

        Examples
        --------
        >>> import spgraph as sg
        >>> with sg.Context("cpu"), sg.trace() as t:
        ...     level = sg.algorithms.bfs(sg.generators.path(4), 0)
        >>> frame = t.to_pandas()
        >>> frame["frontier"].tolist(), int(frame["edges"].sum())
        ([1, 1, 1, 1], 5)
        """
        try:
            import pandas as pd
        except ImportError as error:
            raise ImportError("to_pandas needs pandas: pip install pandas", name="pandas") from error
        return pd.DataFrame(self.records, columns=Record._fields)

    def save_chrome(self, path: str | os.PathLike) -> None:
        """Write Chrome's trace format, which https://ui.perfetto.dev and chrome://tracing show: a line for each part.

        Under ``mpiexec`` one process is enough.

        Parameters
        ----------
        path : path
            Of a ``.json`` file.
        """
        with open(path, "w", encoding="utf-8") as file:
            json.dump(_chrome.chrome(self.records, self.spans, self.name), file)

    # ---- the model ------------------------------------------------------------------------
    def fit(self) -> Fit:
        """The bulk-synchronous cost W w + H g + S l of this program, with the costs that fit what was measured best.

        Of each superstep, W are the edges and H the bytes (sent or received, whichever is more) of the part that has
        most. What computing takes is fitted to W, what exchanging takes to H, by least squares of the supersteps'
        relative errors; no cost is negative. What is left of both, and waiting, is l. A pull is counted with all edges
        of the rows that may be written, so w is less than an edge costs where rows end early.

        Returns
        -------
        Fit
            ``print`` shows it as the row for this program of Table I in Y. Pan, Y. Wang, Y. Wu, C. Yang,
            J. D. Owens, Multi-GPU Graph Analytics, IPDPS 2017, measured: W, C, H of the part that has most, also in
            |E_i| and |V_i|, the entries and rows of the largest part's matrix; and S. Where there is too little data
            for a fit, or all supersteps are alike, it says so: all computing is then W's, all exchanging H's.
        """
        return _model.fit(self.records, self.name, self.parts)

    def predict(self, devices: int, *, bandwidth: float | None = None, latency: float | None = None,
                rate: float | None = None) -> Prediction:  # fmt: skip
        """What the same program would take on another number of devices, by the fitted model.

        The sum over all supersteps of W p/P w + H b(P)/b(p) g + l, where p parts were traced and P is `devices`:

        - the same supersteps, in the same directions, over the same graph;
        - work is divided as evenly as it was, and an edge costs the same however few a device has;
        - b(P) = (P - 1)/P (1 - (1 - 1/P)^d) is the share of all values that a part sends if vertices are dealt out at
          random and have d neighbours, the mean of the graph. Partitions that know a graph's geometry, and degrees that
          vary much, need less: it is an upper estimate;
        - each device sends and receives at its full bandwidth, whoever else does, and nothing overlaps.

        It knows nothing of caches, of links that are shared, or of what fills a device: a W p/P that is too small to do
        so takes longer.

        Parameters
        ----------
        devices : int
            1 or more.
        bandwidth : float, optional
            Bytes per second that a device sends, and receives. Default: as fitted, 1 / g.
        latency : float, optional
            Seconds that a superstep costs besides. Default: as fitted, l.
        rate : float, optional
            Edges per second of a device. Default: as fitted, 1 / w. With all three given, counts that were traced on
            parts of a CPU speak of other devices.

        Returns
        -------
        Prediction

        Raises
        ------
        InvalidValue
            If one part was traced and several are asked for, or what is not given could not be fitted.
        """
        return _model.predict(self.records, self.name, self.parts, devices, bandwidth, latency, rate)
