"""What tests of loops share."""

from __future__ import annotations

from collections import deque
from typing import Any

import numpy as np
import pytest
from devices import gpus

import spgraph as sg
from spgraph import context

__all__ = ["devices", "directed", "in_any_order", "interrupt", "level_by_level", "searched", "steps_alone"]


def devices(one: Any, count: int) -> tuple:
    """So many GPUs, or emulated ones, as `one` is; skips where there are fewer."""
    if one.name.startswith("emulated"):
        from emulator.device import emulated_device

        return tuple(emulated_device(number) for number in range(count))
    if gpus(one) < count:
        pytest.skip(f"there are {gpus(one)} GPUs, not {count}")
    return tuple(context.find_device(f"cuda:{number}", "--devices") for number in range(count))


def directed(scale: int, degree: int, seed: int) -> Any:
    """A graph of random arcs, self-loops among them."""
    rng = np.random.default_rng(seed)
    n = 1 << scale
    rows, cols = rng.integers(0, n, (2, n * degree))
    return sg.Matrix.from_coo(rows, cols, True, nrows=n, ncols=n, dup_op=sg.binary.any)


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


def searched(A: Any, w: Any, near: Any, op: Any, most: int | None = None) -> int:
    """The same by a loop that is recorded."""
    with sg.loop() as loop:
        w(~w.S, changed=near) << near.vxm(A, op)
        loop.until(near.nvals == 0)
        if most is not None:
            loop.until(loop.count == most)
    return loop.count


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
