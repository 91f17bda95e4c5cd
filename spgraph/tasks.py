"""Independent pieces of work on one graph, spread over devices that each hold all of it.

Where a graph fits on every device, many searches from many sources need no exchange: each device does some of them on
a copy of its own. One Python thread drives all devices: work that is a generator gives way to the other devices
wherever it yields, best before it asks for a value that a GPU still computes.

>>> import spgraph as sg
>>> def degrees(A, rows):  # of some rows, in as many steps
...     total = sg.Vector(int, A.nrows)
...     for row in rows:
...         total[row] << A[row, :].new().nvals
...         yield
...     return total
>>> with sg.Context("cpu:2"):
...     A = sg.generators.star(4)
...     found = sg.tasks.spread(A, range(4), degrees)
>>> [vector.to_coo()[0].tolist() for vector in found]
[[0, 2], [1, 3]]
"""

from __future__ import annotations

import inspect
import pickle
from collections.abc import Callable, Iterable
from typing import Any

from spgraph import context
from spgraph.exceptions import InvalidValue
from spgraph.exchange.copies import dealt, whole_copies, whole_nbytes
from spgraph.exchange.near import is_near
from spgraph.exchange.ranks import ranks_of
from spgraph.matrix import Matrix
from spgraph.vector import Vector

__all__ = ["agreed", "finish", "fit", "spread"]


def agreed(A: Matrix, value: Any) -> Any:
    """What the first of the processes that share a Matrix has, in all of them: so chance is the same everywhere.

    Parameters
    ----------
    A : Matrix
    value : object
        Whatever can be pickled, such as sources that were drawn at random.

    Returns
    -------
    object
        `value` itself where there is one process.

    Examples
    --------
    >>> import random
    >>> import spgraph as sg
    >>> A = sg.generators.path(9)
    >>> len(sg.tasks.agreed(A, random.sample(range(A.nrows), 3)))
    3
    """
    ranks = ranks_of(A._device)
    if ranks.count == 1:
        return value
    with ranks.together():
        sent = pickle.dumps(value) if ranks.first else b""
    return pickle.loads(ranks.gather(sent)[0])


def fit(A: Matrix, jobs: int, room: int = 0) -> bool:
    """Whether it suits a Matrix to `spread` so many jobs: each device has one, and memory for a copy of the Matrix.

    Parameters
    ----------
    A : Matrix
    jobs : int
    room : int, default 0
        Bytes that the work needs on each device besides the copy.

    Returns
    -------
    bool
        False if copies and room would take more than half of a device's memory, whoever uses the rest: the answer for
        a Matrix is always the same one. On one device True. False for parts of one CPU that read each other's entries
        in place: they would take turns on the same cores.

    Examples
    --------
    >>> import spgraph as sg
    >>> A = sg.generators.grid(9).to("cpu:2")
    >>> with sg.Context(exchange="selective"):  # as between other devices
    ...     sg.tasks.fit(A, 2), sg.tasks.fit(A, 1), sg.tasks.fit(A, 2, room=1 << 60)
    (True, False, False)
    """
    group = A._device.group
    if group is None:
        return True
    if jobs < group.parts or is_near(group):
        return False
    own = [group.devices[part] for part in group.mine]
    copy, enough = whole_nbytes(A._block), []
    for device in own:
        memory = device.memory()
        processes = group.parts // len(own) if device.on_host else 1  # they may share a machine
        most = min(size for size in (memory.total, memory.limit, 1 << 62) if size is not None)
        enough.append(2 * processes * (copy + room * own.count(device)) <= most)
    return all(group.transport.gather(enough))


def spread(A: Matrix, jobs: Iterable, work: Callable[[Matrix, list], Any]) -> list[Vector]:
    """Let each device do some of the jobs, on a copy of the whole Matrix.

    Parameters
    ----------
    A : Matrix
        On several devices, or on one. The copies are kept with it, as a transpose is, until it changes or goes.
    jobs : iterable
        Device d of p does jobs d, d + p, d + 2 p, ...
    work : callable
        ``work(copy, some)`` computes a Vector of size `A.nrows` from a Matrix on one device, where the objects that it
        makes lie too, and a list of jobs, which may be empty. A generator function has the other devices go on
        wherever it yields. All Vectors have one dtype; one that lies elsewhere is moved to the device.

    Returns
    -------
    list of Vector
        What each device has computed, in their order; they lie as A does.

    Raises
    ------
    InvalidValue
        If the work gives something else.
    OutOfMemory
        If there is no room for a copy; see `fit`.

    Examples
    --------
    >>> import spgraph as sg
    >>> A = sg.generators.path(4).to("cpu:2")
    >>> levels = sg.tasks.spread(A, [0, 3], lambda A, some: sg.algorithms.bfs(A, some[0]))
    >>> [level.to_dense().tolist() for level in levels]
    [[0, 1, 2, 3], [3, 2, 1, 0]]
    """
    jobs = list(jobs)
    group = A._device.group
    if group is None:
        with context.on(A):
            return [_checked(A, finish(work(A, jobs)))]
    runs = [
        _Run(Matrix._wrap(block), jobs[part :: group.parts], work)
        for part, block in zip(group.mine, whole_copies(A._block))
    ]
    ranks = ranks_of(A._device)
    with ranks.together():  # each process has jobs of its own, and errors
        going = runs
        while going:
            going = [run for run in going if run.step()]
    found = [name for some in ranks.gather([run.result.dtype.name for run in runs]) for name in some]
    if len(set(found)) > 1:
        raise InvalidValue(f"spread: the work gave Vectors of {', '.join(found)}, but one dtype was wanted")
    return [Vector._wrap(vector) for vector in dealt(A._block.rows, [run.result._block for run in runs])]


def finish(work: Any) -> Any:
    """Run a generator to its end, whose value comes back; anything else comes back as it is.

    Examples
    --------
    >>> def work():
    ...     yield
    ...     return 5
    >>> finish(work()), finish(5)
    (5, 5)
    """
    if not inspect.isgenerator(work):
        return work
    while True:
        try:
            next(work)
        except StopIteration as end:
            return end.value


class _Run:
    """The work of one device."""

    def __init__(self, copy: Matrix, jobs: list, work: Callable):
        self.copy, self.jobs, self.work = copy, jobs, work
        self.context = context.on(copy)
        self.steps: Any = None
        self.result: Any = None

    def step(self) -> bool:
        """Go on to the next place where it yields; whether there is more to do."""
        with self.copy._device, self.context:
            if self.steps is None:
                result = self.work(self.copy, self.jobs)
                if not inspect.isgenerator(result):
                    self.result = _checked(self.copy, result)
                    return False
                self.steps = result
            try:
                next(self.steps)
            except StopIteration as end:
                self.result = _checked(self.copy, end.value)
                return False
        return True


def _checked(A: Matrix, found: Any) -> Vector:
    """What the work gave, on the device where it worked."""
    if not isinstance(found, Vector) or found.size != A.nrows:
        what = f"a Vector of size {found.size}" if isinstance(found, Vector) else type(found).__name__
        raise InvalidValue(f"spread: the work gave {what}, but a Vector of size {A.nrows} was wanted")
    return found if found._device is A._device else found._moved(A._device)
