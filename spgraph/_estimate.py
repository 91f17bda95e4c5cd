"""How much memory a graph takes: finished, while it is built, and with the vectors of an algorithm.

The finished graph is exact. Peaks are what the sorts hold at most (`kernels/cpu/sort.py`, `kernels/cuda/sorting.py`),
vectors are upper bounds per vertex (and per proxy of one), measured on random graphs of mean degree 8 to 32 with 64-bit
weights; tests compare both with what is really used. What several devices need, `_estimate_parts` tells.
"""

from __future__ import annotations

from typing import Any

from semirings.dtypes import lookup_dtype
from semirings.exceptions import InvalidValue, NoDevice
from spgraph import _graphspec, context
from spgraph._convert import to_size
from spgraph._estimate_parts import PartsEstimate, chosen_duplicate, even_facts, matrix_facts
from spgraph._estimate_sizes import LONG_LISTS, VECTORS, csr_bytes, width_of
from spgraph._room import size_text
from spgraph.engine.tiles_cuda import most_bytes
from spgraph.kernels.cuda.sorting import build_peak, reorder_peak
from spgraph.kernels.memory import Memory
from spgraph.matrix import Matrix

__all__ = ["Estimate", "PartsEstimate", "estimate"]

UNKNOWN = Memory(None, None, None, None)


class Estimate:
    """What `estimate` found, in bytes; it prints as a table.

    Attributes
    ----------
    shape : tuple of int
    nvals : int
    dtype : DataType or None
        None: an unweighted graph, which stores no values.
    device : str
    graph : int
        The finished graph.
    transpose : int
        The transpose beside it; 0 if it was not asked for.
    peak : int
        At most, while the graph (and the transpose) is built from coordinates.
    vectors : dict of str to int
        What algorithms add to the graph, by their names; BFS on a GPU 20 bytes a vertex more where the context's
        direction is not "auto".
    tiles : int
        At most, what copies by tiles take on a GPU, see `Context`: one of the graph and, if it was asked for, one of
        the transpose. 0 if none would be made: on the CPU, or if the graph is small or not by degree, or if the
        context says so. `fits` leaves them out, since they are made only where more than sixteen times as much is free.
    free : int or None
        What the device has free now; None if that cannot be told here.
    """

    __slots__ = ("_there", "device", "dtype", "free", "graph", "nvals", "peak", "shape", "tiles", "transpose",
                 "vectors")

    def __init__(self, shape: tuple[int, int], nvals: int, dtype: Any, device: str, on_host: bool, transpose: bool,
                 free: int | None, there: bool, by_degree: bool, tiled: tuple[bool, bool]):
        nrows, ncols = shape
        itemsize = 0 if dtype is None else dtype.np_type.itemsize
        self.shape, self.nvals, self.dtype, self.device, self.free = shape, nvals, dtype, device, free
        self.graph = csr_bytes(nrows, ncols, nvals, itemsize)
        self.transpose = csr_bytes(ncols, nrows, nvals, itemsize) if transpose else 0
        sorting = _host_peak if on_host else build_peak
        self.peak = max(self.graph, sorting(nrows, ncols, nvals, itemsize))
        if by_degree and not on_host and nrows == ncols:
            self.peak = max(self.peak, reorder_peak(nrows, nvals, itemsize))
        if transpose:
            self.peak = max(self.peak, self.graph + self.transpose + _turning(ncols, nvals, itemsize, on_host))
        self.tiles = 0 if on_host else (most_bytes(nrows, ncols, nvals) * tiled[0]
                                        + most_bytes(ncols, nrows, nvals) * (tiled[1] and transpose))
        more = {} if on_host or context.current().direction == "auto" else LONG_LISTS
        self.vectors = {name: (size + more.get(name, 0)) * max(shape) for name, size in VECTORS.items()}
        self._there = there

    @property
    def fits(self) -> bool | None:
        """Whether all of it is free now: the peak, and the graph with the largest vectors; None if not known here.

        Of a Matrix that is on the device: its transpose, if asked for, and the vectors.
        """
        if self.free is None:
            return None
        added = self.transpose + max(self.vectors.values())
        return (added if self._there else max(self.peak, self.graph + added)) <= self.free

    def __repr__(self) -> str:
        nrows, ncols = self.shape
        kind = "unweighted" if self.dtype is None else self.dtype.name
        rows = [("graph", self.graph), *([("transpose", self.transpose)] if self.transpose else [])]
        rows += [("peak", self.peak), *self.vectors.items(), *([("tiles", self.tiles)] if self.tiles else [])]
        lines = [f"Estimate  {nrows:,} x {ncols:,}, {self.nvals:,} entries, {kind}, on {self.device}"]
        lines += [f"{name:<12}{size_text(size):>9}" for name, size in rows]
        free = "not known here" if self.free is None else f"{size_text(self.free)} are free"
        return "\n".join([*lines, f"{'fits':<12}{ {True: 'yes', False: 'no', None: '?'}[self.fits]:>9}  ({free})"])


def estimate(
    graph: Any = None,
    *,
    nvals: int | None = None,
    nrows: int | None = None,
    ncols: int | None = None,
    dtype: Any = None,
    device: Any = None,
    devices: Any = None,
    partition: Any = None,
    duplicate: str | None = None,
    transpose: bool = False,
) -> Estimate | PartsEstimate:
    """How much memory a graph takes, and whether it fits; nothing is built.

    Parameters
    ----------
    graph : Matrix or str, optional
        A Matrix, or a generator with its numbers such as ``"rmat:22"``, as the command line takes them (then `nvals`
        is what it has at most). Instead of it: `nvals` and `nrows`.
    nvals, nrows : int, optional
        Entries and rows. An undirected edge is two entries.
    ncols : int, optional
        Default: `nrows`.
    dtype : optional
        Type of the values; by default the graph is unweighted and stores none. A Matrix has its own.
    device : str, optional
        As for `Context`; default: where the Matrix lies, else the device in force. A GPU need not be there: then `free`
        is None.
    devices : optional
        The same under the name that `Context` has for it. Of several devices, each is told.
    partition : str, callable or array of int, optional
        Of a Matrix for several devices; default: as it lies there, else the partition in force. Where there is no
        Matrix, parts are taken to be even.
    duplicate : {"1-hop", "all"}, optional
        Which vertices of others each of several devices has proxies of; default: as the context says.
    transpose : bool, default False
        With the transpose beside it, which products in the other direction need unless the graph is symmetric.

    Returns
    -------
    Estimate, or PartsEstimate for several devices
        In bytes: ``graph``, ``transpose``, ``peak`` while both are built, ``vectors`` of algorithms, ``tiles`` (copies
        that a GPU may make of a graph in order "degree", see `Context`; a graph that is not there yet has the context's
        order), what is ``free``, and whether it ``fits``, without tiles. For each of several devices ``proxies``,
        ``pushed``, ``border``, ``lists`` and ``loops`` besides, but no peak. ``help(type(e))`` tells what they are.

    Examples
    --------
    >>> import spgraph as sg
    >>> e = sg.estimate(nvals=1_000_000_000, nrows=50_000_000, dtype="FP32", device="cpu")
    >>> e.graph, e.peak
    (8200000004, 28400000000)
    >>> sg.estimate("rmat:22", device="cuda").nvals
    134217728
    >>> e = sg.estimate("uniform:20", devices="cpu:4", duplicate="all")
    >>> e.graph.tolist()
    [17825796, 17825796, 17825796, 17825796]
    """
    context.check_partition("estimate", partition)
    duplicate = chosen_duplicate(duplicate)
    shape, there, tiled = (0, 0), False, (context.current().order == "degree",) * 2
    if device is not None and devices is not None:
        raise TypeError("estimate: device and devices were given, but one of them was wanted")
    device = devices if device is None else device
    if device is None and isinstance(graph, Matrix):
        device = graph._device
    where, on_host, memory, names = _place(device)
    if graph is not None:
        if nvals is not None or nrows is not None or ncols is not None:
            raise TypeError("estimate: a graph and nvals, nrows or ncols were given, but one of them was wanted")
        if isinstance(graph, Matrix):
            if dtype is not None:
                raise TypeError(f"estimate: a Matrix of {graph.dtype.name} and dtype were given, but a Matrix has its "
                                "own; A.dup(dtype) makes one of another")  # fmt: skip
            shape, nvals, dtype = graph.shape, graph.nvals, None if graph._block.iso else graph.dtype
            there, tiled = graph.device == where, tuple(lines.name == "degree" for lines in (
                graph._block.cols, graph._block.rows))
        else:
            n, nvals, weighted = _generated(graph)
            shape, dtype = (n, n), weighted if dtype is None else dtype
    elif nvals is None or nrows is None:
        raise TypeError("estimate: wanted a graph, or nvals and nrows")
    else:
        nvals, nrows = to_size(nvals, "estimate", "nvals"), to_size(nrows, "estimate", "nrows")
        shape = nrows, nrows if ncols is None else to_size(ncols, "estimate", "ncols")
    found = None if dtype is None else lookup_dtype(dtype)
    by_degree = tiled[0]
    if context.in_force("tiles") == "never" or (shape[0] != shape[1] and not isinstance(graph, Matrix)):
        tiled = False, False  # what is made and is no graph has no order
    if len(names) > 1:
        facts = matrix_facts(graph, device, len(names), partition, transpose) if isinstance(graph, Matrix) else (
            even_facts(shape, nvals, len(names)))
        return PartsEstimate(shape, nvals, found, names, on_host, facts, duplicate, transpose,
                             memory.free, tiled)  # fmt: skip
    return Estimate(shape, nvals, found, where, on_host, transpose, memory.free, there, by_degree, tiled)


def _place(device: Any) -> tuple[str, bool, Memory, tuple[str, ...]]:
    """Name of a device, whether it is the CPU, its memory, and the names of those that it consists of.

    GPUs that are named may be another machine's.
    """
    try:
        found = context.device() if device is None else context.find_device(device, "estimate: device")
    except NoDevice:
        names = tuple(device) if isinstance(device, (list, tuple)) else _gpus(device)
        return "+".join(names), False, UNKNOWN, names
    names = (found.name,)
    if found.group is not None:
        names = tuple("another process's" if one is None else one.name for one in found.group.devices)
    return found.name, (found.group is None and found.on_host) or names[0] == "cpu", found.memory(), names


def _gpus(device: Any) -> tuple[str, ...]:
    """ "cuda:0,2" is two GPUs."""
    kind, colon, numbers = str(device).partition(":")
    return tuple(f"{kind}{colon}{number}" for number in numbers.split(","))


def _generated(spec: Any) -> tuple[int, int, Any]:
    """Vertices, entries (at most) and dtype of a generator's graph."""
    if not isinstance(spec, str) or not _graphspec.is_generator(spec):
        forms = ", ".join(_graphspec.FORMS.values())
        raise InvalidValue(f"estimate: graph is {spec!r}, but a Matrix or a generator was wanted: {forms}")
    call, numbers = _graphspec.parse(spec)
    first, second = numbers[0], numbers[1] if len(numbers) > 1 else None
    if call.__name__ == "rmat":
        return 1 << first, 2 * (16 if second is None else second) << first, None
    if call.__name__ == "uniform":
        return first, first * (16 if second is None else second), None
    if call.__name__ == "grid":
        rows, cols = first, first if second is None else second
        return rows * cols, 2 * (rows * max(cols - 1, 0) + max(rows - 1, 0) * cols), "INT64"
    return first, first * (first - 1) if call.__name__ == "complete" else 2 * first, None


def _host_peak(nrows: int, ncols: int, nvals: int, itemsize: int) -> int:
    """Rows and columns are dealt and sorted by turns: two of each, and three times the values."""
    return 2 * width_of(nvals) * nrows + (2 * width_of(nrows) + 2 * width_of(ncols) + 3 * itemsize) * nvals


def _turning(nrows: int, nvals: int, itemsize: int, on_host: bool) -> int:
    """What transposing holds beside both matrices."""
    offset = width_of(nvals)
    if on_host:
        return (2 * offset + itemsize) * nvals
    return offset * (nrows + nvals) if itemsize else offset * nrows
