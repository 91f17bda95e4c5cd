"""The devices that tests of parts use: all GPUs there are, or two emulated ones; several parts on each if too few."""

from __future__ import annotations

import gc
from collections.abc import Iterator
from typing import Any

from spgraph import context
from spgraph.exchange import Group, group_of
from spgraph.kernels.device import Device

__all__ = ["blocks", "gpus", "in_parts", "in_use", "make_bitmap", "spread"]


EMULATED = 2  # GPUs: parts share one with others, or are alone


def gpus(one: Device) -> int:
    """How many GPUs of its kind there are; 0 for the CPU, 1 for an emulated one."""
    if one.on_host or not one.name.startswith("cuda"):
        return 0 if one.on_host else 1
    import cupy

    return cupy.cuda.runtime.getDeviceCount()


def spread(one: Device, count: int) -> list[Device]:
    """So many devices of the same kind, that one first."""
    if one.name.startswith("emulated"):
        from emulator.device import emulated_device

        return [emulated_device(number % EMULATED) for number in range(count)]
    there = gpus(one)
    if there < 2:
        return [one] * count
    return [one, *(context.find_device(f"cuda:{number % there}", "--devices") for number in range(1, count))]


def in_parts(count: int) -> Group:
    """The device of the tests, or all of its kind, as so many parts."""
    device = context.device()
    return group_of(tuple(spread(device.devices[0] if device.group is not None else device, count)))


def blocks(x: Any) -> Iterator[Any]:
    """The block of a Vector or Matrix, or that of each part, while its device is CUDA's current one."""
    if x._device.group is None:
        yield x._block
    else:
        for _, piece in x._block.on_each():
            yield piece


def make_bitmap(v: Any) -> None:
    """Store it as a bitmap."""
    for block in blocks(v):
        block.to_bitmap()


def in_use(device: Device) -> int:
    """Bytes of a device's memory that are in use, without garbage, which the collector may free at any time."""
    gc.collect()
    return device.memory().used
