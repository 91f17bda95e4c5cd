"""The processes that load a graph together."""

from spgraph.exchange.launch import on_this_machine
from spgraph.exchange.ranks import ALONE, Alone, is_of_all, ranks_of

__all__ = ["ALONE", "Alone", "is_of_all", "loading_ranks", "on_this_machine"]


def loading_ranks() -> Alone:
    """Those of the device in force: one, or all that ``mpiexec`` has started."""
    from spgraph import context

    return ranks_of(context.device())
