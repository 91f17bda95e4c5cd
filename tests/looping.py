"""What tests of loops share."""

from __future__ import annotations

from typing import Any

import pytest

__all__ = ["steps_alone"]


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
