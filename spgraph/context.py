"""Which devices run a program, and how.

A context names the devices and the choices that the engine may make. There is
always one in force: the default, or the innermost ``with sg.Context(...)``.
"""

from __future__ import annotations

import threading

from semirings.exceptions import InvalidObject, InvalidValue
from spgraph.kernels.cpu import _specialise, _threads

__all__ = ["Context", "current"]

DIRECTIONS = ("auto", "push", "pull")
ORDERS = ("natural", "degree")


class Context:
    """Devices and settings for the expressions that run inside.

    Parameters
    ----------
    devices : str, default "cpu"
        The device that holds the blocks. This version has one kind: "cpu".
    threads : int, optional
        Threads for the CPU's kernels. Default: all cores of this process
        (or ``$SPGRAPH_NUM_THREADS``).
    direction : {"auto", "push", "pull"}
        How matrix-vector products run; results do not depend on it.
    order : {"natural", "degree"}
        Storage order that readers and generators give to square matrices;
        invisible to the caller.
    jit : {"auto", "always", "never"}, optional
        When kernels are compiled, see ``$SPGRAPH_JIT``; "auto" interprets tiny
        work and compiles the rest. Default: as it is.

    Raises
    ------
    InvalidValue
        If an argument is none of these.

    Examples
    --------
    >>> import spgraph as sg
    >>> with sg.Context(threads=1, direction="push") as context:
    ...     context
    Context(devices='cpu', threads=1, direction='push', order='natural')
    """

    __slots__ = ("_before", "_closed", "devices", "direction", "jit", "order", "threads")

    def __init__(self, devices: str = "cpu", *, threads: int | None = None, direction: str = "auto",
                 order: str = "natural", jit: str | None = None):
        if devices != "cpu":
            raise InvalidValue(f"Context: devices is {devices!r}; this version of spgraph runs on devices='cpu'")
        if threads is not None and (not isinstance(threads, int) or threads < 1):
            raise InvalidValue(f"Context: threads is {threads!r}, wanted a positive integer or None")
        _one_of("direction", direction, DIRECTIONS)
        _one_of("order", order, ORDERS)
        if jit is not None:
            _one_of("jit", jit, ("auto", "always", "never"))
        self.devices = devices
        self.threads = threads
        self.direction = direction
        self.order = order
        self.jit = jit
        self._before: list = []
        self._closed = False

    def __repr__(self):
        threads = self.threads or _threads.threads()
        return (f"Context(devices={self.devices!r}, threads={threads}, direction={self.direction!r}, "
                f"order={self.order!r})")

    def __enter__(self) -> Context:
        if self._closed:
            raise InvalidObject("Context: entered after close()")
        threads = _threads.set_threads(self.threads) if self.threads is not None else None
        jit = _specialise.set_jit(self.jit) if self.jit is not None else None
        self._before.append((threads, jit))
        _stack().append(self)
        return self

    def __exit__(self, *_exc) -> None:
        threads, jit = self._before.pop()
        if threads is not None:
            _threads.set_threads(threads)
        if jit is not None:
            _specialise.set_jit(jit)
        _stack().pop()

    def close(self) -> None:
        """Forbid further use; closing twice is harmless, closing inside its own ``with`` is an error."""
        if self in _stack():
            raise InvalidObject("Context: close() inside its own with block")
        self._closed = True


def _one_of(name, got, wanted):
    if got not in wanted:
        raise InvalidValue(f"Context: {name} is {got!r}, wanted one of {', '.join(wanted)}")


_local = threading.local()


def _stack() -> list:
    found = getattr(_local, "stack", None)
    if found is None:
        found = _local.stack = [DEFAULT]
    return found


DEFAULT = Context()


def current() -> Context:
    """The context in force.

    Examples
    --------
    >>> import spgraph as sg
    >>> sg.context.current().direction
    'auto'
    """
    return _stack()[-1]
