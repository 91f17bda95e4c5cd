"""NetworkX's functions by our algorithms: NetworkX's arguments, errors and results."""

from __future__ import annotations

import functools
import inspect
import math
import numbers
import random
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from spgraph import algorithms
from spgraph._nx_info import FUNCTIONS
from spgraph.exceptions import DomainMismatch, InvalidValue
from spgraph.nx._graph import Graph

ARPACK_STEPS = 20  # products that ARPACK, which NetworkX's hits uses, counts as one iteration

_CHECKS: dict[str, Callable[..., str | None]] = {}
_SIGNATURES: dict[str, inspect.Signature] = {}

__all__ = [*FUNCTIONS, "can_run", "should_run"]


def backend_function(*checks: Callable[[dict[str, Any]], str | None]):
    """Offer a function under its name; each check says of the arguments why it cannot run, or None."""

    def decorate(function):
        name = function.__name__
        _SIGNATURES[name] = inspect.signature(function)
        _CHECKS[name] = lambda arguments: next((why for check in checks if (why := check(arguments))), None)

        @functools.wraps(function)
        def run(G, *args, **kwargs):
            graph = G if isinstance(G, Graph) else Graph(G)
            try:
                return function(graph, *args, **kwargs)
            except (InvalidValue, DomainMismatch) as error:
                raise NotImplementedError(str(error)) from error
            finally:
                graph.forget()

        return run

    return decorate


def can_run(name: str, args, kwargs) -> bool | str:
    """Whether we have a function for these arguments: True, or the reason why not."""
    if name not in FUNCTIONS:
        return f"spgraph has no {name}"
    try:
        bound = _SIGNATURES[name].bind(*args, **kwargs)
    except TypeError as error:
        return str(error)
    bound.apply_defaults()
    return _CHECKS[name](bound.arguments) or True


def should_run(name: str, args, kwargs) -> bool | str:
    """Whether NetworkX should come to us unasked: whenever we can."""
    return can_run(name, args, kwargs)


# ---- why not ------------------------------------------------------------------------
def weight_is_a_name(arguments) -> str | None:
    """Weights come from an attribute."""
    weight = arguments["weight"]
    given = weight if isinstance(weight, bool) else "a function" if callable(weight) else None
    return None if given is None else f"weight is {given}, and spgraph takes the name of an attribute"


def real_cutoff(arguments) -> str | None:
    """Distances are compared with a number."""
    cutoff = arguments["cutoff"]
    if cutoff is None or (isinstance(cutoff, numbers.Real) and not math.isnan(cutoff)):
        return None
    return f"cutoff is {cutoff!r}, and spgraph takes a real number"


def number_or_dict(arguments) -> str | None:
    """What every node gets, or each."""
    beta = arguments["beta"]
    if isinstance(beta, (dict, numbers.Real)):
        return None
    return f"beta is {beta!r}, and spgraph takes a real number or a dict"


def no_weight(arguments) -> str | None:
    """Edges count as 1."""
    return None if arguments["weight"] is None else "spgraph has this function without weights only"


def undirected(arguments) -> str | None:
    """The graph has no directions."""
    return "spgraph has this function for undirected graphs only" if arguments["G"].is_directed() else None


def no_multigraph(arguments) -> str | None:
    """There are no parallel edges, as NetworkX has it."""
    return "NetworkX has this function for graphs, not for multigraphs" if arguments["G"].is_multigraph() else None


def all_nodes(arguments) -> str | None:
    """The answer is about the whole graph."""
    return None if arguments["nodes"] is None else "spgraph has this function for all nodes only"


def every_node(name: str) -> Callable[[dict[str, Any]], str | None]:
    """A dict has a value for every node."""

    def check(arguments) -> str | None:
        given = arguments[name]
        if given is None or not isinstance(given, dict) or set(given) == set(arguments["G"]):
            return None
        return f"{name} has values for {len(given)} nodes, and not for each of the {len(arguments['G'])}"

    return check


def normalized_only(arguments) -> str | None:
    """Of singular vectors NetworkX leaves the sign to chance."""
    return None if arguments["normalized"] else "normalized=False leaves signs to chance"


def no_start(arguments) -> str | None:
    """NetworkX's start is that of another method."""
    return None if arguments["nstart"] is None else "nstart is about NetworkX's own method"


def not_one_sample(arguments) -> str | None:
    """NetworkX gives NaN for the sole source of an estimate."""
    alone = arguments["k"] == 1 and not arguments["endpoints"]
    return "k=1 without endpoints says nothing of the source" if alone else None


def known_seed(arguments) -> str | None:
    """We draw as NetworkX does from `random.Random`, not from NumPy's generators."""
    seed = arguments["seed"]
    if seed is None or isinstance(seed, (int, np.integer, random.Random)):
        return None
    return f"seed is {seed!r}, and spgraph takes None, an integer or a random.Random"


# ---- results ------------------------------------------------------------------------
def _full(graph: Graph, vector) -> dict:
    return dict(zip(graph, vector.to_dense().tolist()))


def _sparse(graph: Graph, vector, keep=None) -> dict:
    """The entries of a Vector, in node order."""
    numbers, values = vector.to_coo()
    if keep is not None:
        chosen = keep(values)
        numbers, values = numbers[chosen], values[chosen]
    nodes = list(graph)
    return {nodes[number]: value for number, value in zip(numbers.tolist(), values.tolist())}


def _array(graph: Graph, numbers: dict) -> np.ndarray:
    """A dict by node as an array, 0 where there is none."""
    return np.array([numbers.get(node, 0) for node in graph], np.float64)


def _converged(graph: Graph, vector, max_iter: int) -> dict:
    if not vector.converged:
        raise _not_converged(max_iter)
    return _full(graph, vector)


def _not_converged(max_iter: int) -> Exception:
    import networkx

    return networkx.PowerIterationFailedConvergence(max_iter)


def _of_nodes(graph: Graph, result: dict, nodes):
    """NetworkX's `nodes`: all, one, or some."""
    if nodes is None:
        return result
    if nodes in graph.source:
        return result[nodes]
    return {node: result[node] for node in graph.source.nbunch_iter(nodes)}


def _check_node(graph: Graph, node, what: str = "Source") -> int:
    if node not in graph:
        import networkx

        raise networkx.NodeNotFound(f"{what} {node} is not in G")
    return graph.index(node)


# ---- shortest paths -----------------------------------------------------------------
def _levels(graph: Graph, node, cutoff, *, backwards: bool = False) -> dict:
    start = _check_node(graph, node, "Target" if backwards else "Source")
    depth = None if cutoff is None or cutoff == math.inf else math.ceil(cutoff) if cutoff > 0 else 0
    A = graph.matrix()
    return _sparse(graph, algorithms.bfs(A.T if backwards else A, start, max_depth=depth))


@backend_function(real_cutoff)
def single_source_shortest_path_length(G, source, cutoff=None):
    """Numbers of edges from a node to all that it reaches."""
    return _levels(G, source, cutoff)


@backend_function(real_cutoff)
def single_target_shortest_path_length(G, target, cutoff=None):
    """Numbers of edges to a node from all that reach it."""
    return _levels(G, target, cutoff, backwards=True)


@backend_function()
def descendants(G, source):
    """All nodes that a node reaches, without itself."""
    return _reached(G, source, backwards=False)


@backend_function()
def ancestors(G, source):
    """All nodes that reach a node, without itself."""
    return _reached(G, source, backwards=True)


def _reached(graph: Graph, source, backwards: bool) -> set:
    if source not in graph:
        import networkx

        raise networkx.NetworkXError(f"The node {source} is not in the graph.")
    return set(_levels(graph, source, None, backwards=backwards)) - {source}


@backend_function(weight_is_a_name, real_cutoff)
def single_source_dijkstra_path_length(G, source, cutoff=None, weight="weight"):
    """Least sums of weights from a node to all that it reaches."""
    start = _check_node(G, source, "Node")
    keep = None if cutoff is None else lambda values: values <= cutoff
    found = _sparse(G, algorithms.sssp(G.matrix(weight, parallel="min"), start), keep)
    return found or {source: 0}  # the node itself is within any cutoff


@backend_function(weight_is_a_name)
def single_source_bellman_ford_path_length(G, source, weight="weight"):
    """Least sums of weights from a node to all that it reaches, whatever their signs."""
    start = _check_node(G, source)
    A = G.matrix(weight, parallel="min")
    try:
        return _sparse(G, algorithms.bellman_ford(A, start)[0], lambda values: values < math.inf)
    except InvalidValue:
        if algorithms.negative_cycle(A, start) is None:
            raise
        import networkx

        raise networkx.NetworkXUnbounded("Negative cycle detected.") from None


# ---- centrality ---------------------------------------------------------------------
@backend_function(weight_is_a_name)
def pagerank(
    G, alpha=0.85, personalization=None, max_iter=100, tol=1.0e-6, nstart=None, weight="weight", dangling=None
):
    """PageRank; parallel edges add up."""
    if len(G) == 0:
        return {}
    A = G.matrix(weight, parallel="plus", dtype=np.float64 if G.is_multigraph() else None)
    given = {"personalization": personalization, "nstart": nstart, "dangling": dangling}
    vectors = {name: _array(G, found) for name, found in given.items() if found is not None}
    empty = {name for name, vector in vectors.items() if not vector.sum()}
    if "personalization" in empty:
        raise ZeroDivisionError
    if empty:  # NetworkX divides by the sum, and iterates over NaN
        raise _not_converged(max_iter)
    rank = algorithms.pagerank(A, alpha, max_iter=max_iter, tol=tol, fail_on_nonconvergence=False, **vectors)
    return _converged(G, rank, max_iter)


@backend_function(no_multigraph, weight_is_a_name, every_node("nstart"), every_node("beta"), number_or_dict)
def katz_centrality(
    G, alpha=0.1, beta=1.0, max_iter=1000, tol=1.0e-6, nstart=None, normalized=True, weight=None
):
    """Katz's centrality."""
    if len(G) == 0:
        return {}
    start = None if nstart is None else _array(G, nstart)
    beta = _array(G, beta) if isinstance(beta, dict) else beta
    result = algorithms.katz_centrality(
        G.matrix(weight), alpha, beta, max_iter=max_iter, tol=tol, nstart=start, normalized=normalized,
        weighted=weight is not None, fail_on_nonconvergence=False,
    )  # fmt: skip
    return _converged(G, result, max_iter)


@backend_function(no_multigraph, weight_is_a_name, every_node("nstart"))
def eigenvector_centrality(G, max_iter=100, tol=1.0e-6, nstart=None, weight=None):
    """The eigenvector of the largest eigenvalue."""
    import networkx

    if len(G) == 0:
        raise networkx.NetworkXPointlessConcept("cannot compute centrality for the null graph")
    start = None if nstart is None else _array(G, nstart)
    if start is not None and not start.any():
        raise networkx.NetworkXError("initial vector cannot have all zero values")
    result = algorithms.eigenvector_centrality(
        G.matrix(weight), max_iter, tol, nstart=start, weighted=bool(weight), fail_on_nonconvergence=False
    )
    return _converged(G, result, max_iter)


@backend_function(normalized_only, no_start)
def hits(G, max_iter=100, tol=1.0e-8, nstart=None, normalized=True, *, method="power_iteration"):
    """Hubs and authorities; parallel edges add up. NetworkX asks for a method since 3.7: either gives these."""
    if method not in ("power_iteration", "svd"):
        raise ValueError(f"method not supported: {method}")
    if len(G) == 0:
        return {}, {}
    A = G.matrix("weight", parallel="plus", dtype=np.float64 if G.is_multigraph() else None)
    steps = max_iter * ARPACK_STEPS
    hubs, authorities = algorithms.hits(A, steps, tol, fail_on_nonconvergence=False)
    return _converged(G, hubs, max_iter), _converged(G, authorities, max_iter)


@backend_function(no_weight, not_one_sample, known_seed)
def betweenness_centrality(G, k=None, normalized=True, weight=None, endpoints=False, seed=None):
    """Shares of shortest paths through every node."""
    sample = None if k == len(G) else k
    result = algorithms.betweenness_centrality(
        G.matrix(), sample, normalized=normalized, endpoints=endpoints, directed=G.is_directed(), seed=seed
    )
    return _full(G, result)


# ---- components ---------------------------------------------------------------------
def _components(graph: Graph) -> list[set]:
    """In the order of their first nodes."""
    label = algorithms.connected_components(graph.matrix()).to_dense()
    members: dict[int, set] = {}
    for node, number in zip(graph, label.tolist()):
        members.setdefault(number, set()).add(node)
    return list(members.values())


def _is_one(graph: Graph) -> bool:
    if len(graph) == 0:
        import networkx

        raise networkx.NetworkXPointlessConcept("Connectivity is undefined for the null graph.")
    return not algorithms.connected_components(graph.matrix()).to_dense().any()


@backend_function(undirected)
def connected_components(G) -> Iterator[set]:
    """Sets of nodes."""
    return iter(_components(G))


@backend_function(undirected)
def number_connected_components(G):
    """How many there are."""
    return len(_components(G))


@backend_function(undirected)
def is_connected(G):
    """Whether there is one component."""
    return _is_one(G)


@backend_function(undirected)
def node_connected_component(G, n):
    """The component of a node."""
    if n not in G:
        raise KeyError(n)
    return next(component for component in _components(G) if n in component)


@backend_function()
def weakly_connected_components(G) -> Iterator[set]:
    """Sets of nodes that edges connect, whatever their directions."""
    return iter(_components(G))


@backend_function()
def number_weakly_connected_components(G):
    """How many there are."""
    return len(_components(G))


@backend_function()
def is_weakly_connected(G):
    """Whether there is one weakly connected component."""
    return _is_one(G)


# ---- clustering and cores -----------------------------------------------------------
@backend_function(undirected, no_multigraph)
def triangles(G, nodes=None):
    """Numbers of triangles that nodes are in."""
    return _of_nodes(G, _full(G, algorithms.triangles(G.matrix())), nodes)


@backend_function(undirected, no_multigraph, no_weight)
def clustering(G, nodes=None, weight=None):
    """Shares of pairs of neighbours that are neighbours."""
    return _of_nodes(G, _full(G, algorithms.clustering(G.matrix())), nodes)


@backend_function(undirected, no_multigraph, no_weight, all_nodes)
def average_clustering(G, nodes=None, weight=None, count_zeros=True):
    """Mean of the clustering coefficients."""
    mean = algorithms.average_clustering(G.matrix(), count_zeros=count_zeros)
    if math.isnan(mean):
        raise ZeroDivisionError("division by zero")
    return mean


@backend_function(undirected, no_multigraph)
def transitivity(G):
    """Share of pairs of edges at a node that are sides of a triangle."""
    return algorithms.transitivity(G.matrix())


@backend_function(undirected, no_multigraph)
def core_number(G):
    """The largest core that each node is in."""
    A = G.matrix()
    rows, cols, _ = A.to_coo()
    if (rows == cols).any():
        import networkx

        raise networkx.NetworkXNotImplemented("Input graph has self loops which is not permitted")
    return _full(G, algorithms.core_number(A))

