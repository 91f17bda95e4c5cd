"""A backend of NetworkX: ``nx.pagerank(G, backend="spgraph")``.

NetworkX finds it by the entry points ``networkx.backends`` and ``networkx.backend_info``. Results are what NetworkX
returns: dicts in node order, with the caller's nodes and Python's numbers. `can_run` declines what we do not have, with
a reason, and so does NotImplementedError where only the edges tell, so that NetworkX may go on to another backend.

Nothing is cached: a graph is converted, in about a microsecond an edge, each time a function is called, so
that an answer is always about the graph as it is, even after ``G[u][v]["weight"] = 3``, which
NetworkX's own cache does not see. For many calls on one graph convert it once: ``A = spgraph.io.from_networkx(G)``, and
use `spgraph.algorithms`.

Source: the interface is described in ``networkx.utils.backends`` (NetworkX 3.4 and newer).
"""

from spgraph._nx_info import FUNCTIONS
from spgraph.nx._functions import *  # noqa: F403
from spgraph.nx._functions import can_run, should_run
from spgraph.nx._graph import Graph, convert_from_nx, convert_to_nx

__all__ = ["Graph", "can_run", "convert_from_nx", "convert_to_nx", "should_run", *FUNCTIONS]
