"""What every object and expression shares: how to ask for its kind, and what it refuses.

``RANK[type(x)]`` is 0, 1 or 2 for a Scalar, Vector or Matrix (or an expression that gives one) and
missing for everything else: one dictionary lookup in place of a cascade of isinstance.

The protocol by which operands and expressions meet; all of it is internal:

- ``x._block``: the storage (an expression is evaluated for it, once, and keeps the value);
- ``x._node()``: the same as a leaf or branch of an element-wise tree (vectors);
- ``x._device``: where the operands lie, and the result will (vectors and matrices; nothing is computed for it);
- ``x._run(out, mask, accum, replace)``: compute x into a block (vectors and matrices);
- ``x._formula(names)``: how x is written.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from spgraph._recording import recorders, refuse

RANK: dict[type, int] = {}


class Operand:
    """Base of Scalar, Vector, Matrix, their expressions and TransposedMatrix."""

    __slots__ = ()

    ndim: int
    _is_transposed = False

    if TYPE_CHECKING:  # subclasses have it, as a slot or as a property

        def __getattr__(self, name: str) -> Any: ...

    # NumPy leaves operators to us (`array + v` asks v) and never treats v as an array of objects.
    __array_ufunc__: Any = None

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        if hasattr(cls, "ndim"):
            RANK[cls] = cls.ndim

    # `==` builds an expression; objects are still keys of dictionaries by identity.
    __hash__ = object.__hash__

    def __semiring_call__(self, op: Any, args: tuple, kwargs: dict) -> Any:
        """What an operator called with this object as an argument returns; see `spgraph._calls`."""
        from spgraph._calls import call_operator

        return call_operator(op, args, kwargs)

    def wait(self, how: str = "materialize"):
        """Return the object itself: every operation is complete when its call returns."""
        if how.lower() not in ("materialize", "complete"):
            raise ValueError(f'wait: how is {how!r}, but "materialize" or "complete" was wanted')
        return self


class Collection(Operand):
    """Base of what is a Vector or a Matrix."""

    __slots__ = ()

    @property
    def _device(self) -> Any:
        return self._block.device

    @property
    def device(self) -> str:
        """Name of the device that holds it: "cpu" or, for a GPU, "cuda:0"."""
        return self._device.name

    def to(self, device: str) -> Any:
        """The same on another device: itself if it is there, else a copy.

        Parameters
        ----------
        device : {"cpu", "cuda", "cuda:N", "auto"}
            As for `Context`.

        Raises
        ------
        NoDevice
            If it is a GPU that cannot be used.
        OutOfMemory
            If there is no room.

        Examples
        --------
        >>> import spgraph as sg
        >>> v = sg.Vector.from_coo([0, 2], [5, 7]).to("cpu")
        >>> v.device, v.to("cpu") is v
        ('cpu', True)
        """
        if recorders:
            refuse("to", "do it before the loop, or after it")
        from spgraph.context import find_device

        wanted = find_device(device, "to: device")
        operand = self._eval()
        return operand if operand._device is wanted else operand._moved(wanted)

    def __bool__(self) -> bool:
        name = type(self).__name__
        raise TypeError(f"bool: the truth of a {name} is not defined; ask .nvals, .isequal(...) or .reduce(...)")

    def __array__(self, dtype: Any = None, copy: Any = None):
        name = type(self).__name__
        raise TypeError(f"a {name} does not become an array by itself: call .to_dense(fill_value) or .to_coo()")


class _Empty:
    """No value: assigning it deletes entries."""

    __slots__ = ()

    def __repr__(self) -> str:
        return "no value"


EMPTY = _Empty()

# Scalar, Vector and Matrix by rank; filled by their modules, which import each other's expressions.
CLASSES: dict[int, Any] = {}
