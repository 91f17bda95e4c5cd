"""Graphs in and out: files, SciPy, NetworkX, NumPy, CuPy and DLPack.

Every reader says on ``matrix.report`` what it dropped, merged or added, and
raises `FormatError`, naming the line, for a file that is not what it claims.
"""

from spgraph.io._read import read
from spgraph.io._report import FormatError, Report
from spgraph.io._write import write
from spgraph.io.convert import as_matrix, from_networkx, from_numpy, from_scipy, to_networkx, to_scipy
from spgraph.io.csv_edges import read_csv
from spgraph.io.dimacs import read_dimacs
from spgraph.io.edgelist import read_edgelist
from spgraph.io.gpu import from_cupy, from_cupyx, from_dlpack, to_cupy, to_cupyx
from spgraph.io.matrix_market import read_matrix_market
from spgraph.io.metis import read_metis, write_metis
from spgraph.io.npz import read_npz
from spgraph.io.parquet import read_parquet

__all__ = [
    "FormatError",
    "Report",
    "as_matrix",
    "from_cupy",
    "from_cupyx",
    "from_dlpack",
    "from_networkx",
    "from_numpy",
    "from_scipy",
    "read",
    "read_csv",
    "read_dimacs",
    "read_edgelist",
    "read_matrix_market",
    "read_metis",
    "read_npz",
    "read_parquet",
    "to_cupy",
    "to_cupyx",
    "to_networkx",
    "to_scipy",
    "write",
    "write_metis",
]
