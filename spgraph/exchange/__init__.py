"""What moves between the parts of a graph that is spread over several devices.

A `Group` is the devices of a program; it has a *transport*, which alone knows how bytes get from one part to another
(`InProcess` for the devices of one process). `Border` says which values a matrix needs from other parts, and moves
them with two verbs: *share* (an owner gives values to those who need them, before a pull) and *reduce* (partial results
go to the owner, who combines them, after a push).
"""

from spgraph.exchange.border import Border
from spgraph.exchange.group import Group, group_of
from spgraph.exchange.transport import InProcess

__all__ = ["Border", "Group", "InProcess", "group_of"]
