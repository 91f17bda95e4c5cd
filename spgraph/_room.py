"""Out of memory: errors of NumPy, CuPy and CUDA become one that says what was made, where, and what helps."""

from __future__ import annotations

import math
import re
from types import TracebackType
from typing import Any

from semirings.exceptions import OutOfMemory
from spgraph import engine
from spgraph._base import RANK
from spgraph.context import Device

__all__ = ["is_about_memory", "making", "may_spare", "out_of_memory", "size_text", "spare", "written"]

TOO_BIG = ("array is too big", "Maximum allowed dimension exceeded")
ASKED = re.compile(r"allocating ([\d,]+) bytes")  # CuPy's message


class making:
    """``with making("from_coo", device):`` where arrays are made on a device for what a caller asked for.

    The device is CUDA's current one inside.
    """

    __slots__ = ("_device", "_what")

    def __init__(self, what: str, device: Device):
        self._what = what
        self._device = device

    def __enter__(self) -> None:
        self._device.__enter__()

    def __exit__(self, kind: type | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self._device.__exit__(kind, error, trace)
        if error is not None and is_about_memory(error):
            raise out_of_memory(error, self._what, self._device) from error


def is_about_memory(error: BaseException) -> bool:
    """Whether the engine, NumPy, CuPy or CUDA says that memory does not suffice, and `out_of_memory` has not yet."""
    if isinstance(error, MemoryError):
        return not getattr(error, "is_told", False)
    if isinstance(error, ValueError):  # NumPy, of sizes that have no number of bytes
        return str(error).startswith(TOO_BIG)
    return isinstance(error, RuntimeError) and "out of memory" in str(error).lower()


def out_of_memory(error: BaseException, what: str, device: Device, *, writing: bool = False) -> OutOfMemory:
    """The error to raise instead of one that `is_about_memory`.

    An output is written when all memory for it is there; one in parts, whose devices have memory of their own, part by
    part.
    """
    detail = f"; {error}" if isinstance(error, OutOfMemory) else ""  # what the engine was about
    wanted = _wanted_bytes(error if not detail else error.__cause__)
    total, free, used, limit = device.memory()
    have = [f"{size_text(free)} are free"] if free is not None else []
    have += [f"of {size_text(total)}"] if total is not None and have else []
    facts = [" ".join(have)] if have else []
    facts += [f"{size_text(used)} are in use by this process"] if used is not None else []
    facts += [f"memory_limit is {size_text(limit)}"] if limit is not None else []
    asked = "" if wanted is None else f" for {size_text(wanted)} ({wanted:,} bytes)"
    group: Any = device.group
    left = "nothing was changed" if group is None or group.near or not writing else (
        "other parts of the output may have been written")  # fmt: skip
    told = OutOfMemory(
        f"{what}: {device.name} has no room{asked}{': ' * bool(facts)}{', '.join(facts)}{detail}; {left}. "
        f"{_remedy(device, limit)}"
    )
    told.is_told = True
    return told


def _remedy(device: Device, limit: int | None) -> str:
    if device.on_host:
        return "Delete what is not needed, or use narrower dtypes; spgraph.estimate() tells beforehand what fits"
    more = "give the Context a larger memory_limit, " if limit is not None else ""
    return (
        f'Delete what is not needed, {more}use narrower dtypes, or compute on the host: .to("cpu"); '
        "spgraph.estimate() tells beforehand what fits"
    )


def written(out: Any, args: tuple) -> str:
    """How an assignment that failed was written, and what it writes to."""
    from spgraph.display import Names, shape_text

    names = Names()
    name = names.of(out)
    value = next((x for x in args if type(x) in RANK), None)
    kind = "Vector" if out.ndim == 1 else "Matrix"
    right = "..." if value is None else value._formula(names)
    return f"{name} << {right} ({name} is a {kind} {out.dtype}, {shape_text(out.shape)})"


def may_spare(device: Device) -> bool:
    """Whether there are GPUs that hold memory in reserve, and no other process that would have to try again, too."""
    group: Any = device.group
    return not device.on_host if group is None else not group.near and None not in group.devices


def spare(device: Device) -> None:
    """Give back the memory that is held in reserve: scratch arrays, and blocks of CuPy's pool."""
    engine.forget_workspaces()
    device.release_memory()


def _wanted_bytes(error: BaseException | None) -> int | None:
    """Bytes that were asked for in vain, as far as NumPy or CuPy tells."""
    shape, dtype = getattr(error, "shape", None), getattr(error, "dtype", None)
    if isinstance(shape, tuple) and dtype is not None:
        return math.prod(shape) * dtype.itemsize
    found = ASKED.search(str(error))
    return int(found.group(1).replace(",", "")) if found else None


def size_text(number: int) -> str:
    """Bytes as people read them, such as ``1.5 GiB``."""
    for unit, power in (("TiB", 40), ("GiB", 30), ("MiB", 20), ("KiB", 10)):
        if number >= 1 << power:
            return f"{number / (1 << power):.3g} {unit}"
    return f"{number} bytes"
