"""No process holds the whole graph: the most memory that loading takes, and the entries kept, are about a share."""

from __future__ import annotations

import os
import sys
import tracemalloc
from typing import Any

import numpy as np

import spgraph as sg
from spgraph._graphspec import load
from spgraph.exchange.launch import rank

FOLDER, ROOM = sys.argv[1], float(sys.argv[2])
group = sg.context.device().group
parts = group.parts


def peak(call: Any) -> tuple[int, Any]:
    """Bytes that a call holds at most, as NumPy and Python tell, and its result."""
    tracemalloc.start()
    result = call()
    most = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    return most, result


def compare(name: str, call: Any, room: float = ROOM) -> None:
    with sg.Context(jit="always"):  # nothing is compiled while memory is measured
        call()
        own, A = peak(call)
        with sg.Context("cpu"):
            call()
            whole, B = peak(call)
    own = max(group.transport.gather([own]))
    entries = max(group.transport.gather([piece.nvals for piece in A._block.pieces]))
    if rank() == 0:
        print(f"{name}: {own / 2**20:.1f} MiB of {whole / 2**20:.1f}: {own / whole * parts:.2f} shares; "
              f"entries {entries * parts / B.nvals:.2f}")  # fmt: skip
    assert own < room * whole / parts, f"{name}: {own / whole * parts:.2f} shares"
    assert entries < 1.2 * B.nvals / parts, f"{name}: {entries} of {B.nvals} entries"


with sg.Context("cpu"):
    A = sg.generators.rmat(13, seed=1, weights="int")
folder = os.path.join(FOLDER, "raw")
paths = [os.path.join(FOLDER, f"graph.{suffix}") for suffix in ("gr", "mtx", "graph", "tsv", "npz", "gr.gz")]
if rank() == 0:
    for path in paths:
        sg.io.write(A, path)
    os.mkdir(folder)
    for name, array, dtype in zip(("rowptr.i32", "col.i32", "w.f32"), A.to_csr(), ("<i4", "<i4", "<f4")):
        array.astype(dtype).tofile(os.path.join(folder, name))
group.transport.comm.Barrier()
for path in paths:
    compare(os.path.basename(path), lambda path=path: sg.io.read(path))
# one process holds nothing but what it reads; of several each holds its share as read and as dealt
compare("raw", lambda: load(folder), 2.4)
compare("rmat", lambda: sg.generators.rmat(14, seed=1, weights="int"))
compare("uniform", lambda: sg.generators.uniform(1 << 14, 32, weights="uniform"))
compare("grid", lambda: sg.generators.grid(300))
with sg.Context(partition="random_edges"):
    compare("rmat by random_edges", lambda: sg.generators.rmat(14, seed=1))
assert np.all(np.array(group.transport.gather([1])) == 1)
