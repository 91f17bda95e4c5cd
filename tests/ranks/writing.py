"""The first process alone writes a file; all know how it went."""

from __future__ import annotations

import builtins
import os
import sys
from typing import Any

import numpy as np
import pytest

import spgraph as sg
from spgraph.exchange.launch import rank

FOLDER = sys.argv[1]
opened: list[str] = []
plain_open = builtins.open


def watched(path: Any, mode: str = "r", *more: Any, **others: Any) -> Any:
    if set(mode) & set("wax+"):
        opened.append(str(path))
    return plain_open(path, mode, *more, **others)


builtins.open = watched  # type: ignore[assignment]
for partition in ("contiguous_edges", "random"):
    with sg.Context(partition=partition):
        graphs = {"weighted": sg.generators.grid(9, weights="int"), "plain": sg.generators.rmat(6, seed=1),
                  "none": sg.Matrix(float, 3, 3), "wide": sg.Matrix.from_coo([0, 2], [4, 1], [1.5, -2.0], ncols=6)}
        for name, A in graphs.items():
            path = os.path.join(FOLDER, f"{name}.mtx")
            sg.io.write(A, path)
            B = sg.io.read(path)
            assert B.dtype == A.dtype
            assert all(map(np.array_equal, A.to_coo(), B.to_coo()))
            with sg.Context("cpu"):
                assert all(map(np.array_equal, sg.io.read(path).to_coo(), A.to_coo()))
ours = [path for path in opened if path.startswith(FOLDER)]
assert len(ours) == (8 if rank() == 0 else 0), ours
for call in (lambda: sg.io.write(graphs["weighted"], os.path.join(FOLDER, "no", "folder.mtx")),
             lambda: sg.io.write(graphs["wide"], os.path.join(FOLDER, "wide.graph"))):  # fmt: skip
    with pytest.raises((OSError, sg.exceptions.DimensionMismatch), match=r"folder\.mtx|square"):
        call()
print("written")
