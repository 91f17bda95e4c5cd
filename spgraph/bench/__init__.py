"""Benchmarks: spgraph against other engines, on several devices, Graph500, what buffers and calls cost.

Every answer is checked before its text is timed. Results carry the machine, its
GPU, the commit and the versions, and can be saved.
"""

from spgraph.bench._compare import Comparison, compare
from spgraph.bench._graph500 import Graph500, graph500
from spgraph.bench._measurement import Measurement, Steps
from spgraph.bench._memory import Allocation, Memory, memory
from spgraph.bench._overhead import Overhead, overhead
from spgraph.bench._saved import save
from spgraph.bench._scaling import Scaled, Scaling, scaling

__all__ = [
    "Allocation",
    "Comparison",
    "Graph500",
    "Measurement",
    "Memory",
    "Overhead",
    "Scaled",
    "Scaling",
    "Steps",
    "compare",
    "graph500",
    "memory",
    "overhead",
    "save",
    "scaling",
]
