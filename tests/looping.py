"""What tests of loops share."""

from __future__ import annotations

from typing import Any

import pytest

__all__ = ["level_by_level", "steps_alone"]


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
