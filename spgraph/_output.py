"""What can be written to: ``C(mask, accum, replace=True) << expression`` and its variants."""

from __future__ import annotations

from typing import Any

from semirings.exceptions import DimensionMismatch
from spgraph import _check as check
from spgraph import _resolve as resolve
from spgraph._base import EMPTY, RANK
from spgraph._convert import describe
from spgraph._recording import noted, recorders
from spgraph._room import is_about_memory, out_of_memory, written
from spgraph.expression import Updater
from spgraph.infix import InPlace
from spgraph.mask import (
    ComplementedStructuralMask,
    ComplementedValueMask,
    Mask,
    StructuralMask,
    ValueMask,
    to_mask,
)

__all__ = ["Output", "replace"]

_MASKS = frozenset({StructuralMask, ComplementedStructuralMask, ValueMask, ComplementedValueMask})


class _Replace:
    """``C(mask, replace) << x``: a short way to write ``replace=True``."""

    __slots__ = ()

    def __repr__(self) -> str:
        return "replace"

    def __reduce__(self) -> str:
        return "replace"


_Replace.__name__ = "replace"
replace = _Replace()


class Output(InPlace):
    """Writing to a Vector or a Matrix.

    A subclass gives ``_write(value, mask, accum, replace, changed, input_mask)`` and
    ``_write_part(index, value, mask, accum, replace, sub)``.
    """

    __slots__ = ()

    def _update(self, value: Any, *how: Any) -> None:
        """``self << value``: `_write` on the object's device, which says what did not fit if memory runs out."""
        if recorders and noted(self, self._update, (value, *how)):
            return
        self._on_device(self._write, value, *how)

    def _assign(self, index: Any, value: Any, *how: Any) -> None:
        """``self[index] << value``, in the same way."""
        if recorders and noted(self, self._assign, (index, value, *how)):
            return
        self._on_device(self._write_part, index, value, *how)

    def _on_device(self, write, *args):
        device = self._block.device
        try:
            if device.on_host:
                write(*args)
            else:
                with device:
                    write(*args)
        except (MemoryError, RuntimeError, ValueError) as error:
            if not is_about_memory(error):
                raise
            raise out_of_memory(error, written(self, args), device, writing=True) from error

    def __call__(
        self,
        *args: Any,
        mask: Any = None,
        accum: Any = None,
        replace: bool = False,
        input_mask: Any = None,
        changed: Any = None,
    ) -> Updater:
        """Say how to write: ``C(mask, accum, replace=True) << expression``.

        Parameters
        ----------
        *args : Mask, BOOL object, BinaryOp, Monoid, str or ``replace``
            Mask and accumulator in any order.
        mask : Mask or BOOL object, optional
            Only entries that it allows are written; the others stay as they are.
        accum : BinaryOp, Monoid or str, optional
            Combines old and new entries, where both are there.
        replace : bool, default False
            Delete the entries that the mask does not allow.
        input_mask : Mask, optional
            For ``C(input_mask=m) << A[I, J]``: a mask over A.
        changed : Vector, or a selection of one, optional
            For ``w(accum, changed=c) << u.vxm(A)`` and ``A.mxv(u)``: afterwards c holds exactly the
            entries of w that are new or differ from before. Use it as the next frontier; c may be u. With
            ``changed=select.valuelt(c, limit)`` it holds those of them that the selection accepts.

        Examples
        --------
        >>> import spgraph as sg
        >>> w = sg.Vector.from_coo([0, 1], [1, 2], size=3)
        >>> u = sg.Vector.from_coo([1, 2], [10, 20], size=3)
        >>> w(w.S, sg.binary.plus) << u
        >>> w.to_dict()
        {0: 1, 1: 12}
        """
        for arg in args:
            if type(arg) in _MASKS:
                if mask is not None:
                    raise TypeError("C(...): mask was given twice")
                mask = arg
            elif arg is _REPLACE:
                replace = True
            elif RANK.get(type(arg)):
                if mask is not None:
                    raise TypeError("C(...): mask was given twice")
                mask = to_mask(arg, "C(...)")
            else:
                if accum is not None:
                    raise TypeError("C(...): accum was given twice")
                if not isinstance(arg, str) and not hasattr(arg, "resolve"):
                    raise TypeError(f"C(...): {describe(arg)} is neither a mask nor an accumulator")
                accum = arg
        if mask is not None:
            if type(mask) not in _MASKS:
                mask = to_mask(mask, "C(...)")
            if input_mask is not None:
                raise TypeError("C(...): mask and input_mask were both given, but one of them was wanted")
        elif replace and input_mask is None:
            raise TypeError("C(...): replace=True goes with a mask; to overwrite all of C write C << x")
        if accum is not None:
            accum = resolve.accum(accum, self.dtype)
        return Updater(self, mask, accum, replace, changed, input_mask)

    def __lshift__(self, value: Any) -> None:
        self._update(value)

    def update(self, expr: Any) -> None:
        """The same as ``<<``."""
        self._update(expr)

    def __setitem__(self, key: Any, value: Any) -> None:
        self._assign(self._parse_key(key), value, None, None, False, False)

    def __delitem__(self, key: Any) -> None:
        """Delete one entry, or all of a part."""
        self._assign(self._parse_key(key), EMPTY, None, None, False, False)

    def _whole_mask(self, mask: Mask) -> Any:
        """The engine's mask, for a mask over all of this object."""
        shape, wanted = mask.parent.shape, self.shape
        if shape != wanted:
            raise mask_mismatch(mask, wanted)
        check.same_device("<<: mask", self, mask.parent)
        return mask._engine()


_REPLACE = replace


def mask_mismatch(mask: Mask, wanted: tuple[int, ...]) -> Exception:
    """The error for a mask of another shape."""
    shape = mask.parent.shape
    if len(shape) != len(wanted):
        kinds = {1: "Vector", 2: "Matrix"}
        return TypeError(f"mask: it is made of a {kinds[len(shape)]}, but the output is a {kinds[len(wanted)]}")
    if len(wanted) == 1:
        return DimensionMismatch(f"mask: it has size {shape[0]}, but the output has size {wanted[0]}")
    return DimensionMismatch(f"mask: it has shape {shape}, but the output has shape {wanted}")
