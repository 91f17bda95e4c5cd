"""How much memory each of several devices needs for its part of a graph.

Of a Matrix everything but the vectors is exact. Of a generator or of mere numbers, parts are taken to be even, and
the proxies of vertices that others own to be as many as there can be: less than a skewed graph's largest part has, and
more ghosts than most graphs have.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from semirings.exceptions import InvalidValue
from spgraph import context
from spgraph._estimate_sizes import LONG_LISTS, PROXY, VECTORS, csr_bytes, width_of
from spgraph._room import size_text
from spgraph.engine.tiles_cuda import most_bytes
from spgraph.exchange.matrix_parts import MatrixParts
from spgraph.kernels.device import HOST
from spgraph.partition import report
from spgraph.partition.layout import even

__all__ = ["Facts", "PartsEstimate", "chosen_duplicate", "even_facts", "matrix_facts"]

ID = 8  # bytes of a global id, or of a local number in a border list
VALUE = 8  # of a distance, at most


class Facts(NamedTuple):
    """What is known of each part: arrays with a number for each, but for `turned`.

    Attributes
    ----------
    rows, cols : array of int
        Rows that it owns, and vertices of the columns.
    entries : array of int
        Of its rows.
    ghosts, lent : array of int
        Vertices that it needs of others, and that it lends to others, once for each.
    turned : Facts or None
        The same of the transpose.
    """

    rows: np.ndarray
    cols: np.ndarray
    entries: np.ndarray
    ghosts: np.ndarray
    lent: np.ndarray
    turned: Any = None


class PartsEstimate:
    """What `estimate` found for several devices, in bytes, one number for each; it prints as a table.

    Attributes
    ----------
    shape : tuple of int
    nvals : int
    dtype : DataType or None
        None: an unweighted graph, which stores no values.
    devices : tuple of str
    duplicate : {"1-hop", "all"}
    graph : array of int
        The rows that a device owns.
    transpose : array of int
        Its rows of the transpose; 0 if it was not asked for.
    ghosts : array of int
        How many vertices of others it has proxies of.
    proxies : array of int
        The same rows with proxies as columns, which products use (those of the transpose, if asked for); 0 with
        duplicate "all", where columns need no other numbers.
    pushed : array of int
        These rows by columns, which the first push makes.
    border : array of int
        Lists of vertices that are lent and wanted, and the proxies' ids.
    lists : array of int
        Between GPUs: what each own vertex is called at every other one and how many rows look at it there, which the
        first push notes.
    loops : array of int
        Between GPUs: room for what parts write for each other in loops that need no host, searches and relaxations,
        which the first ones make.
    vectors : dict of str to array of int
        What algorithms add to the graph at most, by their names.
    tiles : array of int
        At most, what copies by tiles take on a GPU, as for one device. `total` and `fits` leave them out.
    free : int or None
        What a device has free now; None if that cannot be told here.
    """

    __slots__ = ("border", "devices", "dtype", "duplicate", "free", "ghosts", "graph", "lists", "loops", "nvals",
                 "on_host", "proxies", "pushed", "shape", "tiles", "transpose", "vectors")

    def __init__(self, shape: tuple[int, int], nvals: int, dtype: Any, devices: tuple[str, ...], on_host: bool,
                 facts: Facts, duplicate: str, transpose: bool, free: int | None, tiled: tuple[bool, bool]):
        self.shape, self.nvals, self.dtype, self.devices, self.free = shape, nvals, dtype, devices, free
        self.duplicate, self.on_host = duplicate, on_host
        itemsize = 0 if dtype is None else dtype.np_type.itemsize
        one_hop = duplicate == "1-hop"
        self.graph = _rows(facts, shape[1], itemsize)
        used, width = (facts.turned, shape[0]) if transpose else (facts, shape[1])
        self.transpose = _rows(used, width, itemsize) if transpose else np.zeros_like(self.graph)
        self.ghosts = used.ghosts if one_hop else width - used.cols
        columns = used.cols + self.ghosts
        self.proxies = np.array([csr_bytes(*each, itemsize) if one_hop else 0
                                 for each in zip(used.rows.tolist(), columns.tolist(), used.entries.tolist())])
        self.pushed = np.array([csr_bytes(*each, itemsize)
                                for each in zip(columns.tolist(), used.rows.tolist(), used.entries.tolist())])
        self.tiles = np.zeros_like(self.graph)
        for by, each, count in ((tiled[0], facts, shape[1]), (tiled[1] and transpose, used, shape[0])):
            if by and not on_host:
                wide = each.cols + each.ghosts if one_hop else np.full_like(each.cols, count)
                self.tiles += [most_bytes(*part) for part in zip(each.rows.tolist(), wide.tolist(),
                                                                 each.entries.tolist())]  # fmt: skip
        self.border = ID * (used.ghosts + used.lent + columns) if one_hop else np.zeros_like(self.graph)
        most = max(columns.max(initial=0), used.rows.max(initial=0))
        noted = (2 if one_hop else 1) * width_of(int(most)) * (len(devices) - 1)
        self.lists = np.zeros_like(self.graph) if on_host else noted * used.cols
        self.loops = np.zeros_like(self.graph)
        more: dict[str, int] = {}
        if not on_host and shape[0] == shape[1]:
            entry = width_of(int(most)) + width_of(int(used.entries.max(initial=0)))  # a column and a running sum
            self.loops += (4 * entry + 2 * VALUE + 1) * columns + self.ghosts // 8
            self.loops += ID * used.rows if transpose else 0
            more = LONG_LISTS
        own = np.maximum(facts.rows, facts.cols)
        self.vectors = {name: (size + more.get(name, 0)) * own + PROXY[name] * self.ghosts
                        for name, size in VECTORS.items()}  # fmt: skip

    @property
    def total(self) -> np.ndarray:
        """All of it, with the largest vectors."""
        graph = self.graph + self.transpose + self.proxies + self.pushed + self.border + self.lists + self.loops
        return graph + np.max(list(self.vectors.values()), axis=0)

    @property
    def fits(self) -> bool | None:
        """Whether the largest part is free now on each device (parts of the CPU share one memory); None: not known."""
        if self.free is None:
            return None
        return int(self.total.sum() if self.on_host else self.total.max()) <= self.free

    def __repr__(self) -> str:
        nrows, ncols = self.shape
        kind = "unweighted" if self.dtype is None else self.dtype.name
        rows = {"graph": self.graph, "transpose": self.transpose, "proxies": self.proxies, "pushed": self.pushed,
                "border": self.border, "lists": self.lists, "loops": self.loops, **self.vectors,
                "total": self.total, "tiles": self.tiles}  # fmt: skip
        lines = [f"Estimate  {nrows:,} x {ncols:,}, {self.nvals:,} entries, {kind}, in {len(self.devices)} parts "
                 f"on {', '.join(dict.fromkeys(self.devices))}, duplicate {self.duplicate}",
                 f"{'':<12}{'largest':>10}{'mean':>10}"]  # fmt: skip
        lines += [f"{name:<12}{size_text(int(sizes.max())):>10}{size_text(int(sizes.mean())):>10}"
                  for name, sizes in rows.items() if sizes.any()]  # fmt: skip
        free = "not known here" if self.free is None else f"{size_text(self.free)} are free"
        if self.on_host:
            free = f"{size_text(int(self.total.sum()))} in all parts; {free}"
        return "\n".join([*lines, f"{'fits':<12}{ {True: 'yes', False: 'no', None: '?'}[self.fits]:>10}  ({free})"])


def _rows(facts: Facts, ncols: int, itemsize: int) -> np.ndarray:
    return np.array([csr_bytes(rows, ncols, entries, itemsize)
                     for rows, entries in zip(facts.rows.tolist(), facts.entries.tolist())])  # fmt: skip


def chosen_duplicate(duplicate: str | None) -> str:
    """As asked for, or as the context says."""
    if duplicate not in (None, "1-hop", "all"):
        raise InvalidValue(f"estimate: duplicate is {duplicate!r}, wanted '1-hop' or 'all'")
    return context.in_force("duplicate") if duplicate is None else duplicate


def even_facts(shape: tuple[int, int], nvals: int, parts: int) -> Facts:
    """Of even parts, and as many ghosts as there can be."""
    nrows, ncols = shape
    rows, cols = np.diff(even(nrows, parts)), np.diff(even(ncols, parts))
    entries = np.diff(even(nvals, parts))

    def ghosts(count: int, own: np.ndarray) -> np.ndarray:
        return np.minimum(count - own, entries)

    return Facts(rows, cols, entries, ghosts(ncols, cols), ghosts(ncols, cols),
                 Facts(cols, rows, entries, ghosts(nrows, rows), ghosts(nrows, rows)))  # fmt: skip


def matrix_facts(A: Any, device: Any, parts: int, partition: Any, transpose: bool) -> Facts:
    """Of a Matrix: as it lies, or as it would."""
    block = A._block
    if isinstance(block, MatrixParts) and block.device.parts == parts and partition is None:
        turned = block.oriented(True) if transpose and block.has_transpose else None
        if turned is not None or not transpose:
            facts = _facts_of(block)
            return facts if turned is None else facts._replace(turned=_facts_of(turned))
    if A.nrows != A.ncols:
        return even_facts(A.shape, A.nvals, parts)
    wanted = context.in_force("partition") if partition is None else partition
    indptr, indices, _ = A.to_csr()
    found = report(wanted, indptr, indices, parts)
    facts = _facts(found)
    if transpose:
        turned = HOST.sort.transpose_csr(A.nrows, A.ncols, indptr, indices, None)
        facts = facts._replace(turned=_facts(report(found.owner, turned[0], turned[1], parts)))
    return facts


def _facts(found: Any) -> Facts:
    return Facts(found.vertices, found.vertices, found.edges, found.pairs.sum(axis=0), found.pairs.sum(axis=1))


def _facts_of(block: MatrixParts) -> Facts:
    gather = block.device.transport.gather
    entries = np.array(gather([piece.nvals for piece in block.pieces]))
    starts, needs = block.cols.starts, []
    for part, (device, piece) in zip(block.device.mine, block.on_each()):
        used = device.xp.zeros(block.ncols, np.uint8)
        used[piece.indices] = 1
        used[int(starts[part]) : int(starts[part + 1])] = 0
        bounds = device.xp.searchsorted(device.xp.flatnonzero(used), device.to_device(starts))
        needs.append(np.diff(device.to_host(bounds)))
    pairs = np.array(gather(needs))
    return Facts(np.diff(block.rows.starts), np.diff(block.cols.starts), entries, pairs.sum(axis=1), pairs.sum(axis=0))
