"""Graphs made from a few numbers, the same for every machine and number of threads and processes.

Every generator returns a Matrix; ``matrix.report`` says how many edges were
generated, and how many were dropped, merged or added.
"""

from spgraph.generators._random import rmat, rmat_edges, uniform
from spgraph.generators._regular import complete, cycle, grid, path, star

__all__ = ["complete", "cycle", "grid", "path", "rmat", "rmat_edges", "star", "uniform"]
