"""The graph that NetworkX hands to our functions: a view of its own, converted when a function needs it."""

from __future__ import annotations

from typing import Any

from spgraph.io import from_networkx
from spgraph.matrix import Matrix

__all__ = ["NAME", "Graph", "convert_from_nx", "convert_to_nx"]

NAME = "spgraph"


class Graph:
    """A NetworkX graph as the backend sees it.

    It holds no copy, so it is never out of date.

    Parameters
    ----------
    source : networkx.Graph, DiGraph, MultiGraph or MultiDiGraph
    """

    __networkx_backend__ = NAME

    def __init__(self, source: Any):
        self.source = source

    def is_directed(self) -> bool:
        """Whether edges have a direction."""
        return self.source.is_directed()

    def is_multigraph(self) -> bool:
        """Whether there may be parallel edges."""
        return self.source.is_multigraph()

    def __iter__(self):
        return iter(self.source)

    def __len__(self) -> int:
        return len(self.source)

    def __contains__(self, node) -> bool:
        return node in self.source

    def matrix(self, weight: Any = None, *, parallel: str = "any", dtype: Any = None) -> Matrix:
        """The adjacency matrix, vertices in node order.

        Parameters
        ----------
        weight : str or None
            Edge attribute for the values; an edge without it counts as 1.
        parallel : str
            Operator that combines parallel edges.
        dtype : optional
            Type of the values.

        Raises
        ------
        NotImplementedError
            If a weight is None, which hides an edge from some of NetworkX's functions and not from others; or if
            `weight` is a Boolean, which as a name means something else to NetworkX's own edges.
        """
        if isinstance(weight, bool):
            raise NotImplementedError(f"weight is {weight}, and spgraph takes the name of an attribute")
        if weight is not None and any(data is None for _, _, data in self.source.edges(data=weight, default=1)):
            raise NotImplementedError(f"an edge has {weight}=None")
        dup_op = parallel if self.is_multigraph() else None
        return from_networkx(self.source, weight, dup_op=dup_op, dtype=dtype)

    def index(self, node) -> int:
        """The number of a node."""
        return list(self.source).index(node)

    def forget(self) -> None:
        """Take this graph out of NetworkX's cache, which is not told when an attribute changes."""
        cache = getattr(self.source, "__networkx_cache__", None)
        if cache is not None:
            cache.get("backends", {}).pop(NAME, None)


def convert_from_nx(graph: Any, **_options: Any) -> Graph:
    """What NetworkX calls to convert a graph; attributes are looked up when a function needs them."""
    return Graph(graph)


def convert_to_nx(result: Any, **_options: Any) -> Any:
    """What NetworkX calls to convert a graph back; anything else is NetworkX's already."""
    return result.source if isinstance(result, Graph) else result
