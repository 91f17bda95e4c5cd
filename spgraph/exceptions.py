"""The errors that spgraph raises; see `semirings.exceptions` for the tree.

Every class derives from `GraphblasException` and from the built-in error that fits it,
so that ``except IndexError`` catches `IndexOutOfBound`.

>>> import spgraph as sg
>>> issubclass(sg.exceptions.DimensionMismatch, ValueError)
True
"""

from semirings.exceptions import *  # noqa: F403
from semirings.exceptions import __all__  # noqa: F401
