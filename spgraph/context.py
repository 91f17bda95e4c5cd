"""Which devices run a program, and how.

A context names the device and the choices that the engine may make. There is
always one in force: the default, or the innermost ``with sg.Context(...)``.
Objects are made on its device and stay there; ``A.to(device)`` makes a copy
elsewhere.

Without a context, ``$SPGRAPH_DEVICE`` decides ("cpu", "cuda", "cuda:1"), else
there is a GPU that can be used or there is none. That is found out when the
first object is made, not at import, and CuPy is imported only if the driver
finds a card.
"""

from __future__ import annotations

import os
import threading
from typing import Any

import numpy as np

from semirings.exceptions import InvalidObject, InvalidValue, NoDevice
from spgraph.exchange.group import Group, group_of
from spgraph.exchange.launch import launched
from spgraph.kernels.cpu import _specialise, _threads
from spgraph.kernels.device import HOST, Device, get_device
from spgraph.kernels.memory import parse_limit
from spgraph.partition import names as partitions

__all__ = ["HOST", "Context", "Device", "check_partition", "current", "device", "find_device", "on", "set_default"]

DIRECTIONS = ("auto", "push", "pull", "gap", "lagraph", "gunrock")
ORDERS = ("natural", "degree")
EXCHANGES = ("auto", "selective", "broadcast")
DUPLICATES = ("1-hop", "all")
TILES = ("auto", "never")
# where nobody says anything
INHERITED = {"partition": "contiguous_edges", "duplicate": "1-hop", "exchange": "auto", "tiles": "auto"}
VARIABLE = "SPGRAPH_DEVICE"
WANTED = "'cpu', 'cuda', 'cuda:1' (the second GPU), 'auto', or several: 4, 'all', ['cuda:0', 'cuda:2'], 'cpu:4'"


class Context:
    """The device and settings for the expressions that run inside.

    Parameters
    ----------
    devices : {"auto", "cpu", "cuda", "cuda:N", "cpu:N"}, int, list of str or "all", optional
        Where objects are made: on the CPU, or on GPU N (0 if not said). "auto": on the first GPU if one can be
        used, else on the CPU. Several devices, each with a part of every object: a number of GPUs (of parts of the CPU
        if there is no GPU), "all" GPUs, a list such as ``["cuda:0", "cuda:2"]``, or "cpu:4" for four parts of the CPU.
        Default: as the context around says, in the end ``$SPGRAPH_DEVICE`` or "auto".
    threads : int, optional
        Threads for the CPU's kernels. Default: all cores of this process
        (or ``$SPGRAPH_NUM_THREADS``).
    direction : {"auto", "push", "pull", "gap", "lagraph", "gunrock"}
        How matrix-vector products run; results do not depend on it. "auto" weighs what the steps of a device cost; the
        last three use the rules and factors of those systems where rows stop early, see `engine.plan.preset_limit`.
    order : {"natural", "degree"}
        Storage order that readers and generators give to square matrices;
        invisible to the caller.
    jit : {"auto", "always", "never"}, optional
        When the CPU's kernels are compiled, see ``$SPGRAPH_JIT``; "auto" interprets tiny
        work and compiles the rest. Default: as it is.
    memory_limit : int or str, optional
        What CuPy's pool may use of the GPU's memory while the context is in force: bytes, or a share such as
        ``"80%"``. Where "auto" finds no GPU it has no effect.

    host_copies : bool, default True
        False: while inside, a copy of an array from this context's GPUs to the host is an error. To make sure that a
        program stays on the GPU; what exports (`to_coo`, ...) raises, too.
    partition : str, callable or array of int, optional
        Which of several devices owns which vertex of a graph that is made inside: a name of
        `spgraph.partition.names`, a function or an array, see `spgraph.partition.assign`. Results never depend on it.
        Default: as the context around says, in the end "contiguous_edges".
    duplicate : {"1-hop", "all"}, optional
        Which vertices of others several devices have a proxy of, whose values they receive before a product: those that
        their rows look at, or all, which needs memory for n values on each, but no lists of who looks at what.
        Default: as the context around says, in the end "1-hop" (for what `selectk` makes, which is used a few times,
        "all" between GPUs that see each other, if nothing is said of `exchange` either).
    exchange : {"auto", "selective", "broadcast"}, optional
        Whether several devices send a value only to those that look at it, or all to all; "auto": the one that moves
        fewer bytes (the first; of equals, where all vertices are wanted everywhere, the second, which has nothing to
        pick out). Results never depend on either. Default: as the context around says, in the end "auto".
    tiles : {"auto", "never"}, optional
        Whether products on a GPU may make a copy of a matrix in a form that is read faster, if that pays: of one in
        order "degree" with four million entries or more, after 32 products of all its rows (as in PageRank). The copy
        takes no more than the matrix without its values, and more than sixteen times that must be free; it goes with
        its matrix, or when a new result (``new``) finds no room (but not in processes that ``mpiexec`` has started).
        "never": products inside make no copy and use none. Default: as the context around says, in the end "auto".

    Raises
    ------
    InvalidValue
        If an argument is none of these.
    NoDevice
        If the GPU that is named cannot be used; the message says why, and what helps.

    Examples
    --------
    >>> import spgraph as sg
    >>> with sg.Context("cpu", threads=1, direction="push") as context:
    ...     context
    Context(devices='cpu', threads=1, direction='push', order='natural')
    """

    __slots__ = ("_closed", "_device", "devices", "direction", "duplicate", "exchange", "host_copies", "jit",
                 "memory_limit", "order", "partition", "threads", "tiles")

    def __init__(self, devices: Any = None, *, threads: int | None = None, direction: str = "auto",
                 order: str = "natural", jit: str | None = None, memory_limit: int | str | None = None,
                 host_copies: bool = True, partition: Any = None, duplicate: str | None = None,
                 exchange: str | None = None, tiles: str | None = None):
        if threads is not None and (not isinstance(threads, int) or isinstance(threads, bool) or threads < 1):
            raise InvalidValue(f"Context: threads is {threads!r}, wanted a positive integer or None")
        _one_of("direction", direction, DIRECTIONS)
        check_order("Context: order is", order)
        check_partition("Context", partition)
        if duplicate is not None:
            _one_of("duplicate", duplicate, DUPLICATES)
        if exchange is not None:
            _one_of("exchange", exchange, EXCHANGES)
        if tiles is not None:
            _one_of("tiles", tiles, TILES)
        if jit is not None:
            _one_of("jit", jit, ("auto", "always", "never"))
        self.memory_limit = _limit(memory_limit, devices)
        self._device = None if devices is None else find_device(devices, "Context: devices")
        self.devices = devices
        self.threads = threads
        self.direction = direction
        self.order = order
        self.jit = jit
        self.host_copies = bool(host_copies)
        self.partition = partition
        self.duplicate = duplicate
        self.exchange = exchange
        self.tiles = tiles
        self._closed = False

    @property
    def device(self) -> Device:
        """Where objects are made inside; for a context that names none, the device in force now."""
        return self._device or device()

    def __repr__(self):
        threads = self.threads or _threads.threads()
        limit = "" if self.memory_limit is None else f", memory_limit={self.memory_limit!r}"
        said = "".join(f", {name}={getattr(self, name)!r}" for name in INHERITED if getattr(self, name) is not None)
        return (f"Context(devices={self.device.name!r}, threads={threads}, direction={self.direction!r}, "
                f"order={self.order!r}{said}{limit})")

    def __enter__(self) -> Context:
        if self._closed:
            raise InvalidObject("Context: entered after close()")
        before: dict[tuple, Any] = {}
        guarded = [] if self.host_copies else _every(self.device)
        if self.memory_limit is not None:
            here = self.device
            before[here.limit_memory,] = here.limit_memory(parse_limit(self.memory_limit))
        if self.threads is not None:
            before[_threads.set_threads,] = _threads.set_threads(self.threads)
        if self.jit is not None:
            before[_specialise.set_jit,] = _specialise.set_jit(self.jit)
        for one in guarded:
            one.forbid_host_copies(1)
        _stack().append(self)
        _local.before.append((before, guarded))
        return self

    def __exit__(self, *_exc) -> None:
        stack = _stack()
        place = next((place for place in range(len(stack) - 1, 0, -1) if stack[place] is self), 0)
        if not place:
            raise InvalidObject("Context: it ends where it was not entered, or has ended already")
        del stack[place]
        before, guarded = _local.before.pop(place)
        for one in guarded:
            one.forbid_host_copies(-1)
        for setting, value in before.items():
            # contexts that were entered since, and last longer, keep what they say, and leave this behind
            inner = next((one for one, _ in _local.before[place:] if setting in one), None)
            if inner is None:
                setting[0](*setting[1:], value)
            else:
                inner[setting] = value

    def close(self) -> None:
        """Forbid further use; closing twice is harmless, closing inside its own ``with`` is an error."""
        if self in _stack():
            raise InvalidObject("Context: close() inside its own with block")
        self._closed = True


def _every(device: Device) -> list[Device]:
    """A device, and those of this process that it consists of."""
    group = device.group
    return list(dict.fromkeys([device, *([] if group is None else [group.devices[part] for part in group.mine])]))


def check_partition(who: str, partition: Any) -> None:
    """Raise unless it is a partition's name, a function or an array of owners; None is the one in force."""
    if isinstance(partition, str):
        if partition not in partitions():
            raise InvalidValue(f"{who}: partition is {partition!r}, wanted one of {', '.join(partitions())}")
    elif partition is not None and not callable(partition) and not _is_line(partition):
        raise InvalidValue(f"{who}: partition is {partition!r}, wanted a name ({', '.join(partitions())}), a "
                           "function or an array with a part for every vertex")


def _is_line(given: Any) -> bool:
    try:
        return np.ndim(given) == 1
    except ValueError:  # lists of several lengths
        return False


def check_order(what: str, order: Any) -> None:
    """Raise for what is none of `ORDERS`; `what` begins the message."""
    if order not in ORDERS:
        hint = "; A.reorder(spgraph.algorithms.bfs_order(A)) makes that one" if order == "bfs" else ""
        raise InvalidValue(f"{what} {order!r}, wanted one of {', '.join(ORDERS)}{hint}")


def _one_of(name, got, wanted):
    if got not in wanted:
        raise InvalidValue(f"Context: {name} is {got!r}, wanted one of {', '.join(wanted)}")


def _limit(given: Any, devices: Any) -> Any:
    if given is None:
        return None
    try:
        parse_limit(given)
    except ValueError:
        raise InvalidValue(f'Context: memory_limit is {given!r}, wanted bytes, or a share such as "80%"') from None
    if isinstance(devices, str) and devices.partition(":")[0] == "cpu":
        raise InvalidValue(f"Context: memory_limit limits a GPU's memory, but devices is {devices!r}")
    return given


# ---- devices ------------------------------------------------------------------------
def find_device(name: Any, argument: str) -> Device:
    """The device that a caller names.

    Raises
    ------
    InvalidValue
        If it is no name of a device.
    NoDevice
        If it is a GPU that cannot be used.

    Examples
    --------
    >>> find_device("cpu", "to: device")
    <device cpu>
    """
    if isinstance(name, Device):
        return name
    kind, colon, number = name.partition(":") if isinstance(name, str) else ("", "", "")
    if kind == "cuda" and (number.isdecimal() or not colon):
        return _cuda(int(number or 0))
    if name == "cpu":
        return HOST
    if name == "auto":
        return _launched() or _found()
    if kind == "cpu" and number.isdecimal() and int(number):
        return _group([HOST] * int(number))
    if kind == "cuda" and all(one.isdecimal() for one in number.split(",")):
        return _group([_cuda(int(one)) for one in number.split(",")])
    if isinstance(name, str) and name.isdecimal() and int(name):
        return _some(int(name))
    if name == "all":
        return _some(name)
    if isinstance(name, (int, np.integer)) and not isinstance(name, bool) and name > 0:
        return _some(int(name))
    if kind == "mpi" and number.isdecimal():
        return _processes(int(number), argument)
    if isinstance(name, str) and "+" in name:  # as a group of devices of several kinds is called
        name = name.split("+")
    if isinstance(name, (list, tuple)) and name and all(isinstance(one, str) for one in name):
        found = [find_device(one, argument) for one in name]
        if all(one.group is None for one in found):
            return _group(found)
    raise InvalidValue(f"{argument} is {name!r}, wanted {WANTED}")


def _processes(count: int, argument: str) -> Device:
    found = _launched()
    there = 1 if found is None else found.group.parts
    if found is None or there != count:
        raise NoDevice(f"{argument} is 'mpi:{count}', wanted the number of processes that mpiexec has started: {there}")
    return found


def _launched() -> Device | None:
    """All processes as one device, if ``mpiexec`` has started several."""
    if not launched():
        return None
    from spgraph.exchange.mpi import mpi_group

    return mpi_group()


def _group(devices: list[Device]) -> Device:
    """Several devices as one; a sole one is itself."""
    return devices[0] if len(devices) == 1 else group_of(tuple(devices))


def _some(count: Any) -> Device:
    """So many GPUs, or "all"; where there is none, as many parts of the CPU (one for "all")."""
    if _found().on_host:
        return HOST if count == "all" else _group([HOST] * count)
    if count == "all":
        import cupy

        count = cupy.cuda.runtime.getDeviceCount()
    return _group([_cuda(number) for number in range(count)])


def in_force(name: str) -> Any:
    """What the innermost context that says it says of `partition`, `duplicate`, `exchange` or `tiles`."""
    for one in reversed(_stack()):
        given = getattr(one, name)
        if given is not None:
            return given
    return INHERITED[name]


Group.choice = staticmethod(lambda: in_force("partition"))
Group.exchange = staticmethod(lambda: in_force("exchange"))
Group.duplicate = staticmethod(lambda: in_force("duplicate"))
Group.may_send_all = staticmethod(lambda: all(one.duplicate is None and one.exchange is None for one in _stack()))


def _cuda(number: int) -> Device:
    found = _gpus.get(number)
    if found is None:
        from spgraph.kernels.cuda.driver import check

        check(number)
        found = _gpus[number] = get_device(f"cuda:{number}")
        if len(_gpus) == 1 and hasattr(os, "register_at_fork"):
            os.register_at_fork(after_in_child=_forked)
    return found


def _found() -> Device:
    from spgraph.kernels.cuda.driver import find

    number = find()
    return HOST if number is None else _cuda(number)


def _forked() -> None:
    for gpu in _gpus.values():
        gpu.__class__ = _Lost


class _Lost(Device):
    """What a GPU becomes in a process that was forked after CUDA had started: CUDA does not outlive a fork."""

    def __getattribute__(self, attribute: str) -> Any:
        if attribute == "name" or attribute.startswith("__"):
            return object.__getattribute__(self, attribute)
        raise NoDevice(
            f"{self.name}: this process was forked after the GPU had been used, and CUDA does not outlive that; start "
            'it with multiprocessing.get_context("spawn"), or use Context("cpu") in it'
        )


_gpus: dict[int, Device] = {}
_default: Device | None = None
_local = threading.local()


def _stack() -> list:
    found = getattr(_local, "stack", None)
    if found is None:
        found = _local.stack = [DEFAULT]
        _local.before = [({}, [])]  # for each: how settings were, by what sets them, and devices that may not copy
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


def device() -> Device:
    """The device in force: where objects are made."""
    stack = _stack()
    found = stack[-1]._device
    if found is None and len(stack) > 1:
        found = next((context._device for context in reversed(stack) if context._device is not None), None)
    return found or _default or _default_device()


def _default_device() -> Device:
    global _default
    _default = find_device(os.environ.get(VARIABLE) or "auto", f"${VARIABLE}")
    return _default


def on(operand: Any) -> Context:
    """The settings in force, on the device of a Vector or Matrix: ``with context.on(A): ...`` makes objects there."""
    outer = current()
    return Context(operand._device, direction=outer.direction, order=outer.order)


def set_default(chosen: Device | None) -> Device | None:
    """Let another device be the default (None: find out again); returns the one before. For tests."""
    global _default
    before, _default = _default, chosen
    return before
