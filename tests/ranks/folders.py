"""Folders of raw CSR arrays: what several processes read together is what one reads, and each reads its own rows."""

from __future__ import annotations

import os
import sys
from typing import Any

import numpy as np
from comparing import compare, wait

import spgraph as sg
from spgraph._graphspec import load
from spgraph.exchange.launch import rank
from spgraph.exchange.ranks import ranks_of

FOLDER = sys.argv[1]
NAMES = "rowptr.i32", "col.i32", "w.f32"
NOISE = 1 << 14  # bytes that a process reads besides


def write(name: str, A: Any) -> str:
    """The folder of a symmetric matrix, written by the first process."""
    folder = os.path.join(FOLDER, name)
    if rank() == 0:
        os.mkdir(folder)
        for file, array, dtype in zip(NAMES, A.to_csr(), ("<i4", "<i4", "<f4")):
            array.astype(dtype).tofile(os.path.join(folder, file))
    wait()
    return folder


def damage(folder: str, file: str, place: int, number: int) -> None:
    if rank() == 0:
        with open(os.path.join(folder, file), "r+b") as out:
            out.seek(4 * place)
            out.write(np.array(number, "<i4").tobytes())
    wait()


def bytes_read() -> int:
    """By this process since it began, from files (Linux)."""
    with open("/proc/self/io") as file:
        return int(file.readline().split()[1])


g = sg.generators
with sg.Context("cpu"):
    GRAPHS = {
        "rmat": g.rmat(8, seed=1, weights="int"), "unweighted": g.rmat(7, seed=2), "grid": g.grid(9, 7),
        "star": g.star(40), "three": g.path(3), "vertex": g.path(1), "nothing": g.path(0),
        "no edges": sg.Matrix("FP32", 9, 9),
    }  # fmt: skip
    large = g.rmat(14, seed=1, weights="int")
folders = {name: write(name, A) for name, A in GRAPHS.items()}
for partition in ("contiguous_edges", "random", "contiguous", "metis"):
    with sg.Context(partition=partition):
        for name, folder in folders.items():
            for order in (None, "degree"):
                A = compare(f"{name} {partition}", lambda folder=folder, order=order: load(folder, order=order))
                assert (A.symmetric, A.dtype, A.nrows) == (True, "FP32", GRAPHS[name].nrows)
                for found, wanted in zip(A.to_coo(), GRAPHS[name].to_coo()):
                    assert np.array_equal(found, wanted), name

for name, file, place, number in (("rmat", "rowptr.i32", 200, -3), ("grid", "col.i32", 100, 63)):
    damage(folders[name], file, place, number)
    assert compare(f"broken {name}", lambda name=name: load(folders[name])) is None
if rank() == 0:
    os.remove(os.path.join(folders["star"], "w.f32"))
wait()
assert compare("no weights", lambda: load(folders["star"])) is None



def check_reading() -> None:
    """Of columns and weights each process reads those of its rows, which are a share but for a row; offsets twice."""
    folder = write("large", large)
    files = [os.path.getsize(os.path.join(folder, file)) for file in NAMES]
    load(folder)
    wait()
    before = bytes_read()
    A = load(folder)
    read = bytes_read() - before
    assert A.nvals == large.nvals
    share = sum(files[1:]) / ranks_of(sg.context.device()).count
    row = 8 * int(np.diff(large.to_csr()[0]).max())
    assert share - row < read < share + row + 2 * files[0] + NOISE, (read, share, row)


if os.path.exists("/proc/self/io"):
    check_reading()
wait()
print("read by rows")
