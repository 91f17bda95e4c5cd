"""What can go wrong; the names are python-graphblas's.

::

    GraphblasException (Exception)
    ├── DimensionMismatch (ValueError)      shapes of operands do not fit together
    ├── DomainMismatch (TypeError)          an operator does not work with a type
    ├── UdfParseError (ValueError)          a function cannot be traced into an operator
    ├── IndexOutOfBound (IndexError)        an index outside the object
    ├── InvalidIndex (IndexError)           an index that no object has
    ├── InvalidValue (ValueError)           an argument that cannot be
    ├── InvalidObject (ValueError)          an object that was spoilt or closed
    ├── EmptyObject (ValueError)            a value asked of an object that has none
    ├── OutputNotEmpty (ValueError)         building into an object that has entries
    ├── NoValue                             no entry at this place
    ├── NullPointer
    ├── UninitializedObject
    ├── InsufficientSpace
    ├── OutOfMemory (MemoryError)            a device or the host has no room
    ├── NoDevice (RuntimeError)              a GPU that was asked for cannot be used
    ├── DeviceMismatch (ValueError)          operands lie on different devices
    ├── NotImplementedException (NotImplementedError)
    └── Panic                               an error inside the engine
"""

__all__ = [
    "DeviceMismatch",
    "DimensionMismatch",
    "DomainMismatch",
    "EmptyObject",
    "GraphblasException",
    "IndexOutOfBound",
    "InsufficientSpace",
    "InvalidIndex",
    "InvalidObject",
    "InvalidValue",
    "NoDevice",
    "NoValue",
    "NotImplementedException",
    "NullPointer",
    "OutOfMemory",
    "OutputNotEmpty",
    "Panic",
    "UdfParseError",
    "UninitializedObject",
]


class GraphblasException(Exception):
    """Base of every error that spgraph and semirings raise on purpose."""


class DimensionMismatch(GraphblasException, ValueError):
    """Shapes of operands do not fit together."""


class DomainMismatch(GraphblasException, TypeError):
    """An operator does not work with a type, or two types do not go together."""


class UdfParseError(GraphblasException, ValueError):
    """A function cannot be traced into an operator."""


class IndexOutOfBound(GraphblasException, IndexError):
    """An index lies outside the object."""


class InvalidIndex(GraphblasException, IndexError):
    """An index that no object can have."""


class InvalidValue(GraphblasException, ValueError):
    """An argument has a value that it cannot have."""


class InvalidObject(GraphblasException, ValueError):
    """An object was spoilt by an earlier error or is closed."""


class EmptyObject(GraphblasException, ValueError):
    """A value was asked of an object that has none."""


class OutputNotEmpty(GraphblasException, ValueError):
    """An object that is to be built already has entries."""


class NoValue(GraphblasException):
    """There is no entry at this place."""


class NullPointer(GraphblasException):
    """A required object was not given."""


class UninitializedObject(GraphblasException):
    """An object is used before it was made."""


class InsufficientSpace(GraphblasException):
    """The array given for a result is too small."""


class OutOfMemory(GraphblasException, MemoryError):
    """A device or the host has no room for an object."""

    is_told = False  # whether the message names operation, object, device and a remedy


class NoDevice(GraphblasException, RuntimeError):
    """A GPU that was asked for is not there, or something that it takes is missing; the message says what helps."""


class DeviceMismatch(GraphblasException, ValueError):
    """Operands lie on different devices; ``.to(device)`` moves them."""


class NotImplementedException(GraphblasException, NotImplementedError):
    """A combination that is not offered."""


class Panic(GraphblasException):
    """An error inside the engine: please report it."""
