"""Whether ``mpiexec`` has started this process, and how all of them end if one fails."""

from __future__ import annotations

import atexit
import importlib
import os
import sys
import time
from collections.abc import Callable

__all__ = ["abort", "at_the_end", "launched", "on_this_machine", "rank"]

SIZES = ("OMPI_COMM_WORLD_SIZE", "PMI_SIZE", "MPI_LOCALNRANKS")  # how launchers tell the number of processes
RANKS = ("OMPI_COMM_WORLD_RANK", "PMI_RANK", "MPI_LOCALRANKID")
NEIGHBOURS = ("OMPI_COMM_WORLD_LOCAL_SIZE", "MPI_LOCALNRANKS")
HEARD = 0.1  # seconds in which the launcher passes on what was said, before all are ended
APART = 0.4  # seconds between the messages of processes that fail at the same place: the first ends the others


def launched() -> bool:
    """Whether this process is one of several that ``mpiexec`` has started.

    Examples
    --------
    >>> launched()
    False
    """
    return any(os.environ.get(name, "1") not in ("", "1") for name in SIZES)


def rank() -> int:
    """The number of this process among those that ``mpiexec`` has started, else 0.

    Examples
    --------
    >>> rank()
    0
    """
    return int(next((os.environ[name] for name in RANKS if os.environ.get(name)), 0)) if launched() else 0


def on_this_machine() -> int:
    """How many processes that ``mpiexec`` has started share this one's memory, itself included.

    Examples
    --------
    >>> on_this_machine()
    1
    """
    return int(next((os.environ[name] for name in NEIGHBOURS if os.environ.get(name)), 1)) if launched() else 1


def abort(code: int, message: str) -> None:
    """Say why, and end all processes, if there are several; the first that fails speaks for those that fail alike."""
    if launched():
        try:
            comm = importlib.import_module("mpi4py.MPI").COMM_WORLD
        except ImportError:
            comm = None
        time.sleep(APART * rank())
        print(message, file=sys.stderr, flush=True)
        if comm is not None:
            time.sleep(HEARD)
            comm.Abort(code)
        return
    print(message, file=sys.stderr)


_last: list[Callable[[], None]] = []


def at_the_end(function: Callable[[], None]) -> None:
    """Call it when the program has ended, after what the program itself has left for its end."""
    _last.append(function)


def _end() -> None:
    for function in _last:
        function()


if launched():
    atexit.register(_end)  # early: what was registered first is called last
