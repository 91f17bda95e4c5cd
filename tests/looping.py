"""What tests of loops share."""

from __future__ import annotations

from collections import deque
from typing import Any

import numpy as np
import pytest

__all__ = ["in_any_order", "interrupt", "level_by_level", "steps_alone"]


def steps_alone(monkeypatch: pytest.MonkeyPatch, module: Any) -> list[int]:
    """How many iterations each loop does without the host, whenever `module` is asked to run one so; the list grows."""
    steps: list[int] = []

    def noting(real: Any) -> Any:
        def noted(*args: Any) -> Any:
            done = real(*args)
            steps.append(0 if done is None else done.steps)
            return done

        return noted

    for name in ("grow", "relax"):
        monkeypatch.setattr(module, name, noting(getattr(module, name)))
    return steps


def level_by_level(A: Any, w: Any, near: Any, op: Any, most: int | None = None) -> int:
    """A search by Python's loop; how many iterations."""
    count = 0
    while True:
        w(~w.S, changed=near) << near.vxm(A, op)
        count += 1
        if near.nvals == 0 or count == most:
            return count


def interrupt(monkeypatch: pytest.MonkeyPatch, look: int) -> list[int]:
    """A loop is interrupted at the so-manieth look of the host whether it has ended; its looks, a growing list."""
    from spgraph.kernels.cuda.launch import Pending

    calls: list[int] = []
    ready = Pending.ready

    def interrupted(pending: Any) -> bool:
        calls.append(1)
        if len(calls) == look:
            raise KeyboardInterrupt
        return ready(pending)

    monkeypatch.setattr(Pending, "ready", interrupted)
    return calls


def in_any_order(monkeypatch: pytest.MonkeyPatch, module: Any, seed: int) -> list[int]:
    """Kernels of loops run on emulated GPUs in turns that a seed decides; whose turns they are, a growing list says.

    What is started waits until the host looks whether the loop has ended (`module._drive`), or for errors.
    """
    from emulator.device import EmulatedDevice

    from spgraph.kernels.cuda.launch import Pending

    rng, waiting, turns = np.random.default_rng(seed), {}, []
    strides = [[1], [1, 3, 9], [1, 30], [12]][seed % 4]
    start, check, ready, drive = EmulatedDevice.start_graph, EmulatedDevice.check, Pending.ready, module._drive

    def run_one(device: Any) -> None:
        turns.append(device.number)
        launches = device.counters.launches
        start(device, [waiting[device].popleft()])
        device.counters.launches = launches

    def run_some(pending: Any) -> bool:
        for _ in range(rng.integers(1, 12)):
            busy = [device for device, queue in waiting.items() if queue]
            if busy:
                device = busy[rng.integers(len(busy))]
                for _ in range(min(rng.choice(strides), len(waiting[device]))):
                    run_one(device)
        return ready(pending)

    def later(device: Any, graph: list[tuple]) -> None:
        device.counters.launches += 1
        waiting.setdefault(device, deque()).extend(graph)

    def finish(device: Any) -> None:
        while waiting.get(device):
            run_one(device)
        check(device)

    def driven(devices: list[Any], *args: Any) -> None:
        try:
            drive(devices, *args)
        finally:
            for device in devices:
                finish(device)

    monkeypatch.setattr(EmulatedDevice, "start_graph", later)
    monkeypatch.setattr(EmulatedDevice, "check", finish)
    monkeypatch.setattr(Pending, "ready", run_some)
    monkeypatch.setattr(module, "_drive", driven)
    return turns
