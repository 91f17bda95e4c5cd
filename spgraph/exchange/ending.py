"""How the processes of ``mpiexec`` end together.

One that fails, by an exception or by `sys.exit` with a code, says why, cleans up and ends all; of several that fail at
the same place the first speaks. One whose program ends waits for the others; if another is in the middle of an
exchange, which can never complete without this one, it says so and ends all.
"""

from __future__ import annotations

import os
import sys
import time
from typing import Any

import numpy as np

from spgraph.exchange.launch import APART, HEARD, at_the_end
from spgraph.exchange.ranks import is_of_all

__all__ = ["Progress", "end_together"]

LOOK = 0.05  # seconds between looks at the others
KNOWN = 20.0  # seconds that all but the first wait with an error that all have, for the first to end them


class Progress:
    """How many exchanges each process has begun: numbers that the others can read at any time.

    Parameters
    ----------
    MPI : module
        ``mpi4py.MPI``.
    comm : mpi4py.MPI.Comm
    """

    def __init__(self, MPI: Any, comm: Any):
        self.MPI = MPI
        self.comm = comm
        self.own = np.zeros(1, np.int64)
        self.window = MPI.Win.Create(self.own, comm=comm)
        self.code = 0  # with which this process leaves, once it does

    def begin(self) -> None:
        """An exchange begins."""
        self.own[0] += 1

    def ahead(self) -> int | None:
        """A process that has begun an exchange that this one has not."""
        found = np.zeros(1, np.int64)
        for rank in range(self.comm.Get_size()):
            self.window.Lock(rank, self.MPI.LOCK_SHARED)
            self.window.Get(found, rank)
            self.window.Unlock(rank)
            if found[0] > self.own[0]:
                return rank
        return None

    def end(self) -> None:
        """Wait until all have come here; end all if one waits for an exchange."""
        if self.MPI.Is_finalized():
            return
        if self.code:
            time.sleep(APART * self.comm.Get_rank())
            _end(self.comm, self.code)
        arrived = self.comm.Ibarrier()
        while not arrived.Test():
            waits = self.ahead()
            if waits is not None:
                own = self.comm.Get_rank()
                print(f"process {own} has come to the end of its program, but process {waits} waits for it in an "
                      "operation: all processes must call the same ones", file=sys.stderr, flush=True)  # fmt: skip
                _end(self.comm, 1)
            time.sleep(LOOK)
        self.window.Free()


def _end(comm: Any, code: int) -> None:
    """End all processes; this one does nothing more, though MPI may take its time."""
    sys.stdout.flush()
    sys.stderr.flush()
    time.sleep(HEARD)
    comm.Abort(code)
    os._exit(code)


def end_together(comm: Any, progress: Progress) -> None:
    """Let this process's end be that of all: set hooks for exceptions, for `sys.exit` and for the program's end."""
    before = sys.excepthook

    def end_all(kind: Any, error: Any, trace: Any) -> None:
        apart = KNOWN if is_of_all(error) and comm.Get_rank() else APART * comm.Get_rank()
        time.sleep(apart)
        before(kind, error, trace)
        _end(comm, 1)

    class Leaving(SystemExit):
        """Tells `progress` when it is Python itself that asks for the code: nobody has caught it."""

        @property
        def code(self) -> Any:  # type: ignore[override]
            code = self.args[0] if self.args else None
            try:
                sys._getframe(1)
            except ValueError:
                progress.code = code if isinstance(code, int) else 1 if code else 0
                if code and not isinstance(code, int):  # Python prints it; the first process then ends the others
                    time.sleep(APART * comm.Get_rank())
            return code

    def leave_all(code: Any = None) -> Any:
        raise Leaving(code)

    sys.excepthook = end_all
    sys.exit = leave_all
    at_the_end(progress.end)
