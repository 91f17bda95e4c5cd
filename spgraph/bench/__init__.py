"""Benchmarks: spgraph against python-graphblas, SciPy and NetworkX, and what a call costs.

Every answer is checked before its text is timed. Results carry the machine,
the commit and the versions, and can be saved.
"""

from spgraph.bench._compare import Comparison, Disagreement, Measurement, compare
from spgraph.bench._overhead import Overhead, overhead
from spgraph.bench._saved import save

__all__ = ["Comparison", "Disagreement", "Measurement", "Overhead", "compare", "overhead", "save"]
