"""Benchmarks: spgraph against other engines, Graph500, and what a call costs.

Every answer is checked before its text is timed. Results carry the machine, its
GPU, the commit and the versions, and can be saved.
"""

from spgraph.bench._compare import Comparison, compare
from spgraph.bench._graph500 import Graph500, graph500
from spgraph.bench._measurement import Measurement, Steps
from spgraph.bench._overhead import Overhead, overhead
from spgraph.bench._saved import save

__all__ = ["Comparison", "Graph500", "Measurement", "Overhead", "Steps", "compare", "graph500", "overhead", "save"]
