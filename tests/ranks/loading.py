"""What several processes load together is what one loads: graphs, reports, labels, errors, also of empty shares."""

from __future__ import annotations

import bz2
import gzip
import os
import sys
from typing import Any

import numpy as np
import scipy.sparse as sp
from comparing import compare, wait

import spgraph as sg
from spgraph.exchange.launch import rank
from spgraph.io import _text

FOLDER = sys.argv[1]
# so that small files are shared, too
_text.HEAD, _text.HEAD_LINES = 1, 2

random = np.random.default_rng(0)
PAIRS = np.unique(random.integers(1, 40, (120, 2)), axis=0)
random.shuffle(PAIRS)
WEIGHTS = random.integers(1, 9, len(PAIRS)).tolist()
EDGES = [(int(u), int(v), w) for (u, v), w in zip(PAIRS, WEIGHTS)]
TWICE = EDGES + [(u, v, w + 1) for u, v, w in EDGES[::3]]


def arcs(edges: list, pattern: str = "a {} {} {}") -> str:
    return "".join(pattern.format(*edge) + "\n" for edge in edges)


def gr(edges: list, n: int = 40) -> str:
    return f"c roads\np sp {n} {len(edges)}\n" + arcs(edges)


def mtx(edges: list, head: str = "integer general", n: int = 40) -> str:
    return f"%%MatrixMarket matrix coordinate {head}\n% by hand\n{n} {n} {len(edges)}\n" + arcs(edges, "{} {} {}")


def metis(edges: list, n: int = 40, *, weighted: bool = True, both: bool = True) -> str:
    weight = {(min(u, v), max(u, v)): w for u, v, w in edges}
    ends: dict[int, list] = {v: [] for v in range(1, n + 1)}
    for (u, v), w in sorted(weight.items()):
        ends[u].append((v, w))
        if u != v and both:
            ends[v].append((u, w))
    lines = [" ".join(f"{v} {w}" if weighted else str(v) for v, w in ends[u]) for u in ends]
    return f"{n} {len(weight)} {int(weighted)}\n% lists\n" + "\n".join(lines) + "\n"


def named(edges: list, sep: str = " ") -> str:
    return arcs([(f"node{u:x}", f"node{v:x}", w + 0.5) for u, v, w in edges], sep.join(["{}"] * 3))


LOWER = [(u, v, w) for u, v, w in EDGES if u > v]
FILES: dict[str, Any] = {
    "plain.gr": gr(EDGES),
    "twice.gr": gr(TWICE),
    "short.gr": gr(EDGES[:3]),
    "none.gr": gr([]),
    "open.gr": gr(EDGES).rstrip("\n"),
    "bare.gr": arcs(EDGES),
    "tw.gr": f"p tw 40 {len(LOWER)}\n" + arcs(LOWER, "{} {}"),
    "wrong.gr": gr([*EDGES[:-2], ("x", 2, 3), *EDGES[-1:]]),
    "middle.gr": gr([*EDGES[:70], (5, "y", 1), *EDGES[70:90], (5, "z", 1), *EDGES[90:]]),
    "outside.gr": gr([*EDGES[:-1], (3, 41, 1)]),
    "count.gr": gr(EDGES).replace(f"p sp 40 {len(EDGES)}", "p sp 40 7"),
    "plain.mtx": mtx(EDGES),
    "float.mtx": mtx([*EDGES[:-1], (1, 1, "2.5e-3")] if (1, 1) not in PAIRS.tolist() else EDGES, "real general"),
    "symmetric.mtx": mtx(LOWER, "integer symmetric"),
    "skew.mtx": mtx(LOWER, "integer skew-symmetric"),
    "wide.mtx": "%%MatrixMarket matrix coordinate pattern general\n3 500 4\n1 7\n3 500\n2 2\n1 9\n",
    "huge.mtx": mtx([*EDGES[:-1], (40, 40, 2**63 + 5)], "integer general"),
    "long.mtx": mtx(EDGES) + "1 1 5\n",
    "cut.mtx": mtx(EDGES).rsplit("\n", 3)[0] + "\n",
    "array.mtx": "%%MatrixMarket matrix array real general\n4 3\n" + "".join(f"{k}.5\n" for k in range(12)),
    "lower.mtx": "%%MatrixMarket matrix array real symmetric\n4 4\n" + "".join(f"{k}.5\n" for k in range(10)),
    "numbers.el": arcs(EDGES, "{}\t{}\t{}"),
    "far.el": arcs([(u * 10**12, v * 10**12, w) for u, v, w in EDGES], "{} {} {}"),
    "last_float.wel": arcs([*EDGES[:-1], (7, 9, "0.25")], "{} {} {}"),
    "header.el": "from to w\n" + arcs(EDGES, "{} {} {}"),
    "names.tsv": named(EDGES),
    "bad_weight.tsv": named(EDGES) + "a b c\n",
    "missing_weight.tsv": named(EDGES) + "a b\n",
    "bad.el": arcs(EDGES, "{} {} {}") + "7 x 1\n",
    "zero.el": arcs(EDGES, "{} {} {}") + "7 8 \0\n",
    "guess_me": arcs(EDGES, "{} {} {}"),
    "guess_metis": metis(EDGES),
    "guess_gr": gr(EDGES),
    "numbers.csv": "source,target,weight\n" + arcs(EDGES, "{},{},{}"),
    "empty_cells.csv": "source,target,weight\n" + arcs(EDGES, "{},{},{}") + "77,,\n78,,\n",
    "names.csv": "source,target,weight\n" + named(EDGES, ","),
    "quotes.csv": "from,to,km\n" + arcs(EDGES, '"city, {}","city, {}",{}'),
    "lines.csv": "from,to,km\n" + arcs(EDGES, '"city\n{}","city\n{}",{}'),
    "wrong.csv": "source,target,weight\n" + arcs(EDGES, "{},{},{}") + "4,5\n",
    "wrong_number.csv": "source,target,weight\n" + arcs(EDGES, "{},{},{}") + "4,5,many\n",
    "plain.graph": metis(EDGES),
    "pattern.graph": metis(EDGES, weighted=False),
    "one_way.graph": metis(EDGES, both=False),
    "short.graph": metis(EDGES).replace("40 ", "43 ", 1),
    "more.graph": metis(EDGES) + "1 5\n",
    "open.graph": metis(EDGES).rstrip("\n"),
    "alone.graph": "3 0\n\n\n\n",
    "other_weight.graph": metis(EDGES).rstrip("\n").rsplit(" ", 1)[0] + " 77\n",
    "outside.graph": metis(EDGES).rstrip("\n").rsplit(" ", 2)[0] + " 99 1\n",
}
FILES["packed.gr.gz"] = gzip.compress(FILES["plain.gr"].encode())
FILES["packed.el.bz2"] = bz2.compress(FILES["numbers.el"].encode())
FILES["broken.gr.gz"] = FILES["packed.gr.gz"][:-20]
FILES["marked.el"] = b"\xef\xbb\xbf" + FILES["numbers.el"].encode()
OPTIONS: list[dict] = [
    {},
    {"dup_op": "min"},
    {"dup_op": "first", "symmetrize": True, "drop_self_loops": True},
    {"dup_op": "plus", "dtype": "FP32"},
    {"symmetrize": True, "dtype": "INT8"},
]
OWN: list[tuple] = [
    ("read_edgelist", "numbers.el", {"relabel": False}),
    ("read_edgelist", "numbers.el", {"vertices": 41}),
    ("read_edgelist", "numbers.el", {"vertices": [3, 99]}),
    ("read_edgelist", "numbers.el", {"ids": str}),
    ("read_edgelist", "names.tsv", {"vertices": ["zoe", "node2"]}),
    ("read_metis", "one_way.graph", {"directed": True}),
    ("read_matrix_market", "guess_me", {}),
]


def arrays() -> None:
    """SciPy's files, and Parquet."""
    rows, cols = PAIRS.T
    A = sp.coo_array((np.array(WEIGHTS), (rows, cols)), shape=(41, 42))
    B = sp.coo_array((np.ones(len(rows), bool), (rows, cols)), shape=(42, 42))
    forms = {"coo": A, "csr": A.tocsr(), "csc": A.tocsc(), "bsr": sp.bsr_array(A.tocsr(), blocksize=(1, 2)), "bool": B,
             "dia": sp.dia_array(A), "none": sp.csr_array((5, 5))}  # fmt: skip
    for name, form in forms.items():
        path = os.path.join(FOLDER, f"{name}.npz")
        if rank() == 0:
            sp.save_npz(path, form)
        wait()
        for options in OPTIONS[:3]:
            compare(f"{name}.npz {options}", lambda path=path, options=options: sg.io.read(path, **options))
    path = os.path.join(FOLDER, "broken.npz")
    if rank() == 0:
        with open(os.path.join(FOLDER, "csr.npz"), "rb") as file, open(path, "wb") as out:
            out.write(file.read()[:-40])
    wait()
    compare("broken.npz", lambda: sg.io.read(path))
    try:
        import pyarrow as pa
        import pyarrow.parquet
    except ImportError:
        return
    for name, ends in (("numbers", PAIRS), ("texts", PAIRS.astype(str))):
        path = os.path.join(FOLDER, f"{name}.parquet")
        if rank() == 0:
            table = pa.table({"source": ends[:, 0], "target": ends[:, 1], "weight": np.array(WEIGHTS, np.int16)})
            pyarrow.parquet.write_table(table, path, row_group_size=10)
        wait()
        compare(path, lambda path=path: sg.io.read(path))


def main() -> None:
    if rank() == 0:
        for name, content in FILES.items():
            with open(os.path.join(FOLDER, name), "wb") as file:
                file.write(content if isinstance(content, bytes) else content.encode())
    wait()
    read = failed = 0
    for name in FILES:
        path = os.path.join(FOLDER, name)
        for options in OPTIONS:
            if compare(f"{name} {options}", lambda path=path, options=options: sg.io.read(path, **options)) is None:
                failed += 1
            else:
                read += 1
    assert read > 60 and failed > 60, (read, failed)
    for function, name, options in OWN:
        path = os.path.join(FOLDER, name)
        call = getattr(sg.io, function)
        compare(f"{name} {options}", lambda call=call, path=path, options=options: call(path, **options))
    compare("missing", lambda: sg.io.read(os.path.join(FOLDER, "missing.gr")))
    weights = os.path.join(FOLDER, "sizes.graph")
    if rank() == 0:
        with open(weights, "w") as file:
            file.write("4 2 110 2\n" + "5 1 2 2\n6 3 4 1\n7 5 6 4\n8 7 8 3\n")
    wait()
    A, sizes, more = sg.io.read_metis(weights, with_vertices=True)
    assert A.nvals == 4 and sizes.tolist() == [5, 6, 7, 8] and more.tolist() == [[1, 2], [3, 4], [5, 6], [7, 8]]
    arrays()
    print("all the same")


main()
