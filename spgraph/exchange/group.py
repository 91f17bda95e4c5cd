"""The devices of a program, as one device to the face."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, MutableMapping
from typing import Any
from weakref import WeakValueDictionary

import numpy as np

from spgraph.exchange.ranks import ranks_of
from spgraph.exchange.transport import InProcess
from spgraph.kernels.device import HOST, Device
from spgraph.partition import assign, lay_out
from spgraph.partition._choice import looks_at_edges
from spgraph.partition.layout import Layout, even

__all__ = ["Group", "group_of"]

KEPT = 8  # layouts of graphs that processes remember


class Group(Device):
    """Several devices, each with a part of every Vector and Matrix.

    To the face it is a device: objects are made on it and stay on it. Arrays that come from a caller or go to one are
    the host's (``xp`` is NumPy).

    Parameters
    ----------
    devices : list of Device
        One per part; a device may have several parts. None for a part of another process.
    transport : InProcess, optional
        How bytes move between them.

    Attributes
    ----------
    devices : list of Device
    mine : sequence of int
        The parts of this process.
    own : list of Device
        The devices of these parts.
    parts : int
    near : bool
        Whether all parts lie on the CPU, in this process.
    threads : int or None
        That each process has, if they are several: what all choose by; None: those of the caller.
    """

    # what is in force; `context` sets them
    choice: Callable[[], Any] = staticmethod(lambda: "contiguous_edges")
    exchange: Callable[[], str] = staticmethod(lambda: "auto")
    duplicate: Callable[[], str] = staticmethod(lambda: "1-hop")
    may_send_all: Callable[[], bool] = staticmethod(lambda: True)  # nobody has said whom values go to

    def __init__(self, devices: list, transport: Any = None, threads: int | None = None):
        super().__init__()
        self.threads = threads
        self.devices = devices
        self.transport = transport or InProcess(devices)
        self.mine = self.transport.mine
        self.own = [devices[part] for part in self.mine]
        self.parts = len(devices)
        self.near = devices.count(HOST) == self.parts
        self.name = _name(devices)
        self.begins = all(device is not None and device.begins for device in devices)
        self.group = self
        self._even: WeakValueDictionary = WeakValueDictionary()
        self._layouts: WeakValueDictionary = WeakValueDictionary()
        # of graphs, by size; those that only Python's collector still knows are not the same in all processes
        self._recent: MutableMapping = {} if None in devices else WeakValueDictionary()

    def __reduce__(self) -> tuple:
        if None in self.devices:
            from spgraph.exchange.mpi import mpi_group

            return mpi_group, ()
        return group_of, (tuple(self.devices),)

    def usual_layout(self, size: int) -> Layout:
        """Where a new vector lies: as the last graph of so many vertices, which it will likely meet, or evenly."""
        return self._recent.get(size) or self.even_layout(size)

    def even_layout(self, size: int) -> Layout:
        """Equal parts in natural order."""
        found = self._even.get(size)
        if found is None:
            found = self._even[size] = Layout(self, even(size, self.parts), name="even")
        return found

    def layouts(self, indptr: Any, indices: Any, nrows: int, ncols: int) -> tuple[Layout, Layout]:
        """Who owns the rows, and in which order columns lie, of a matrix given as a CSR of the host.

        A square matrix is a graph, and its vertices are dealt out as the context's ``partition`` says.
        """
        if nrows != ncols:
            return self.even_layout(nrows), self.even_layout(ncols)
        wanted = Group.choice()
        layout = self.laid_out(self.owners(wanted, indptr, indices), wanted)
        return layout, layout

    def owners(self, wanted: Any, indptr: Any, indices: Any) -> Any:
        """The part of each vertex; of processes the first says so where others may find something else, or nothing."""
        ranks = ranks_of(self)
        if ranks.count == 1 or (isinstance(wanted, str) and not looks_at_edges(wanted)):
            return assign(wanted, indptr, indices, self.parts)
        with ranks.together():
            found = assign(wanted, indptr, indices, self.parts) if ranks.first else None
        return ranks.gather(found)[0]

    def laid_out(self, owner: Any, partition: Any) -> Layout:
        """The layout in which each vertex lies at its owner, under the name of the partition that chose him."""
        name = partition if isinstance(partition, str) else getattr(partition, "__name__", "own")
        return self.layout(*lay_out(owner, self.parts), name)

    def layout(self, starts: Any, order: Any, name: str, partition: str | None = None) -> Layout:
        """The layout with these contents: the same object as long as somebody holds it."""
        key = name, partition, starts.tobytes(), None if order is None else hashlib.blake2b(order.tobytes()).digest()
        found = self._layouts.get(key)
        if found is None:
            found = self._layouts[key] = Layout(self, starts, order, name, partition)
        self._remember(found)
        return found

    def _remember(self, layout: Layout) -> None:
        """New vectors of its size lie so. Processes keep few, and of those that list vertices one."""
        if None in self.devices:
            self._recent.pop(layout.size, None)  # it comes last
            for size in list(self._recent):
                if layout.order is not None and self._recent[size].order is not None:
                    del self._recent[size]
            while len(self._recent) >= KEPT:
                del self._recent[next(iter(self._recent))]
        self._recent[layout.size] = layout

    def reordered(self, A: Any, order: Any) -> Layout:
        """The layout of a graph, the vertices of each part in "natural" order, by falling "degree" or as listed."""
        old, name = A.rows, order if isinstance(order, str) else "listed"
        everything = old.ids(np.arange(old.size))
        if name == "natural":
            ids = [np.sort(everything[a:b]) for a, b in zip(old.starts, old.starts[1:])]
        elif name == "listed":
            owner = old.owners(old.positions(order))
            ids = [order[np.argsort(owner, kind="stable")]]
        else:
            degree = np.concatenate(
                self.transport.gather([device.to_host(device.xp.diff(piece.indptr)) for device, piece in A.on_each()])
            )
            if A.symmetric is not True:
                degree = degree + sum(
                    self.transport.gather(
                        [
                            device.to_host(device.xp.bincount(piece.indices, minlength=A.ncols))
                            for device, piece in A.on_each()
                        ]
                    )
                )
            ids = [
                everything[a:b][np.lexsort((everything[a:b], -degree[a:b]))] for a, b in zip(old.starts, old.starts[1:])
            ]
        chosen = np.concatenate(ids)
        named = name == "natural"
        name = old.partition if named else name
        if old.name == name and np.array_equal(chosen, everything):
            return old
        natural = np.array_equal(chosen, np.arange(old.size))
        return self.layout(old.starts, None if natural else chosen, name, None if named else old.partition)

    def dealt(self, arrays: list) -> list:
        """An array of the host for each part of this process, on its device."""
        found = []
        for part, array in zip(self.mine, arrays):
            with self.devices[part] as device:
                found.append(device.to_device(array))
        return found

    def dealt_vector(self, block: Any) -> Any:
        """A vector of one device in parts on these."""
        from spgraph.exchange.vector_parts import dealt_vector

        return dealt_vector(block, self)

    def dealt_matrix(self, block: Any) -> Any:
        """A matrix of one device in parts on these."""
        from spgraph.exchange.matrix_parts import dealt_matrix

        return dealt_matrix(block, self)

    def can_hold(self, sizes: list[int]) -> bool:
        """Whether every device has so many bytes free, for each part of this process; none is asked of for 0."""
        fits = []
        for part, size in zip(self.mine, sizes):
            free = self.devices[part].memory().free if size else None
            fits.append(free is None or free > size)
        return all(self.transport.gather(fits))

    def memory(self) -> Any:
        """What the first device has: all are alike."""
        return self.devices[self.mine[0]].memory()

    def limit_memory(self, limit: int | float | None) -> int | None:
        """Let every device use at most so many bytes (a float: such a share); returns the limit of the first before."""
        limits = [device.limit_memory(limit) for device in dict.fromkeys(self.devices[part] for part in self.mine)]
        return limits[0]

    def release_memory(self) -> None:
        """Give back what the devices hold in reserve."""
        for part in self.mine:
            self.devices[part].release_memory()

    def synchronize(self) -> None:
        """Wait for all that was started on any of them."""
        for part in self.mine:
            with self.devices[part]:
                self.devices[part].synchronize()


def _name(devices: list) -> str:
    """ "cpu:4" for four parts of the CPU, "cuda:0,1" for two GPUs, "mpi:4" for four processes."""
    if None in devices:
        return f"mpi:{len(devices)}"
    kinds = {device.name.partition(":")[0] for device in devices}
    if len(kinds) > 1:
        return "+".join(device.name for device in devices)
    kind = kinds.pop()
    if kind == "cpu":
        return f"cpu:{len(devices)}"
    return f"{kind}:{','.join(device.name.partition(':')[2] for device in devices)}"


_groups: dict = {}


def group_of(devices: tuple) -> Group:
    """The group of these devices, the same object each time.

    Examples
    --------
    >>> from spgraph.kernels.device import HOST
    >>> group_of((HOST, HOST))
    <device cpu:2>
    """
    found = _groups.get(devices)
    if found is None:
        found = _groups[devices] = Group(list(devices))
    return found
