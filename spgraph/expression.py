"""Lazy expressions, and where their results go.

``A.mxv(v)`` computes nothing: it checks shapes and dtypes and remembers what to do, as a *plan* (see
`spgraph._plans`). The work is done, in one pass with mask, accumulator and replace, by

- ``w(mask, accum, replace=True) << expression``: into an existing object;
- ``expression.new(dtype, mask=..., name=...)``: into a new one;
- any use of the expression as an object (``expression.nvals``, ``expression.to_coo()``, as an operand
  of another operation): evaluated then, once, and kept. An element-wise expression over vectors that is
  an operand of another one is not evaluated by itself: the whole chain runs as one kernel.

An expression sees its operands as they are when it is computed, not as they were when it was written.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from semirings.exceptions import OutOfMemory
from spgraph._recording import recorders, refuse
from spgraph._room import may_spare, spare

__all__ = ["Assigner", "Expression", "Updater", "computed"]


class Expression:
    """What all lazy expressions can do; VectorExpression, MatrixExpression and ScalarExpression derive.

    Slots of the subclasses: ``_plan`` (what to do), ``_value`` (the object, once it was needed),
    ``dtype`` and the shape.
    """

    __slots__ = ()

    if TYPE_CHECKING:  # subclasses have it, as a slot or as a property

        def __getattr__(self, name: str) -> Any: ...

    def new(self, dtype: Any = None, *, mask: Any = None, name: str | None = None):
        """Compute into a new object.

        Parameters
        ----------
        dtype : optional
            dtype of the new object; by default that of the expression.
        mask : Mask, optional
            Which entries to compute.
        name : str, optional
            Name of the new object.

        Examples
        --------
        >>> import spgraph as sg
        >>> v = sg.Vector.from_coo([0, 2], [1, -3])
        >>> v.apply("abs").new(float, mask=(v < 0).V).to_dict()
        {2: 3.0}
        """
        if self._value is not None and mask is None:
            return self._value.dup(dtype, name=name)
        return computed(self, dtype, mask, name)

    def dup(self, dtype: Any = None, *, clear: bool = False, mask: Any = None, name: str | None = None):
        """Compute into a new object, or with `clear` make an empty one of the same shape."""
        if clear:
            return self._empty(self.dtype if dtype is None else dtype, self.shape, name)
        return self.new(dtype, mask=mask, name=name)

    def _eval(self):
        """The object that the expression stands for, computed when first asked for."""
        if self._value is None:
            self._value = self.new()
        return self._value

    @property
    def _block(self):
        return self._eval()._block

    @property
    def _device(self):
        return self._plan.device if self._value is None else self._value._block.device

    def _run(self, out: Any, mask: Any, accum: Any, replace: bool) -> None:
        self._plan.run(out, mask, accum, replace)

    def _formula(self, names: Any) -> str:
        return self._plan.formula(names)

    @property
    def name(self) -> str:
        """How the expression is written."""
        from spgraph.display import Names

        return self._formula(Names())

    def __repr__(self) -> str:
        from spgraph import display

        return display.expression_text(self)

    def _repr_html_(self) -> str:
        from spgraph import display

        return display.expression_html(self)


def computed(operand: Any, dtype: Any, mask: Any, name: str | None) -> Any:
    """A new object with the value of an expression (or of A.T)."""
    if recorders:
        refuse("new", "make the object before the loop, and write into it with <<")
    dtype = operand.dtype if dtype is None else dtype
    try:
        return _made(operand, dtype, mask, name)
    except OutOfMemory as error:
        if getattr(error, "came_again", False) or not may_spare(operand._device):
            raise
    # once more, when the error no longer holds what it was about: nothing that anybody holds was changed
    spare(operand._device)
    try:
        return _made(operand, dtype, mask, name)
    except OutOfMemory as error:
        error.came_again = True  # type: ignore[attr-defined]  # so that an expression around this one does not try again
        raise


def _made(operand: Any, dtype: Any, mask: Any, name: str | None) -> Any:
    new = operand._empty(dtype, operand.shape, name)
    new._update(operand, mask)
    return new


class Updater:
    """An output with its mask, accumulator and replace: what ``w(mask, accum, replace=True)`` returns.

    ``updater << value`` (or ``updater.update(value)``) writes to the whole object,
    ``updater[index] << value`` (or ``updater[index] = value``) to a part of it.
    """

    __slots__ = ("__weakref__", "_accum", "_changed", "_input_mask", "_mask", "_parent", "_replace")

    def __init__(self, parent, mask, accum, replace, changed, input_mask):
        self._parent = parent
        self._mask = mask
        self._accum = accum
        self._replace = replace
        self._changed = changed
        self._input_mask = input_mask

    def __lshift__(self, value: Any) -> None:
        self._parent._update(value, self._mask, self._accum, self._replace, self._changed, self._input_mask)

    def update(self, expr: Any) -> None:
        """The same as ``<<``."""
        self._parent._update(expr, self._mask, self._accum, self._replace, self._changed, self._input_mask)

    def __getitem__(self, key: Any) -> Assigner:
        return Assigner(self._parent, self._parent._parse_key(key), self, sub=False)

    def __setitem__(self, key: Any, value: Any) -> None:
        self[key].update(value)

    def __delitem__(self, key: Any) -> None:
        from spgraph._base import EMPTY

        self[key].update(EMPTY)

    __hash__ = object.__hash__

    def __eq__(self, other: object) -> bool:
        raise TypeError("==: w(...) is an output waiting for `<< value`; it can't be compared")

    def __bool__(self) -> bool:
        raise TypeError("bool: w(...) is an output waiting for `<< value`; it has no truth")


class Assigner:
    """A part of an output, with mask, accumulator and replace: waits for ``<< value``.

    ``sub`` says where the mask counts: ``w[I](mask) << x`` masks the part (subassign), ``w(mask)[I] << x``
    the whole (assign).
    """

    __slots__ = ("__weakref__", "_index", "_parent", "_sub", "_updater")

    def __init__(self, parent, index, updater, *, sub):
        if updater._changed is not None:
            raise TypeError("changed= goes with w(accum, changed=c) << u.vxm(A) or A.mxv(u), not with an index")
        if updater._input_mask is not None:
            raise TypeError("input_mask= goes with C(input_mask=m) << A[I, J], not with an index of the output")
        self._parent = parent
        self._index = index
        self._updater = updater
        self._sub = sub

    def __lshift__(self, value: Any) -> None:
        self.update(value)

    def update(self, expr: Any) -> None:
        """The same as ``<<``."""
        updater = self._updater
        self._parent._assign(self._index, expr, updater._mask, updater._accum, updater._replace, self._sub)

    __hash__ = object.__hash__
    __eq__ = Updater.__eq__
    __bool__ = Updater.__bool__
