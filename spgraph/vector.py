"""Vector: a sparse vector, kept as a list, a bitmap or an array, whichever serves."""

from __future__ import annotations

from typing import Any

import numpy as np

from semirings.dtypes import FP64, DataType, lookup_dtype
from semirings.exceptions import DimensionMismatch, DomainMismatch
from semirings.expr import cast_array
from spgraph import _check as check
from spgraph import context, engine
from spgraph._base import CLASSES, EMPTY, RANK
from spgraph._convert import describe, fit, is_number, to_dtype, to_size, to_values
from spgraph._export import VectorExport
from spgraph._output import Output, mask_mismatch
from spgraph._plans import MxV, VectorSelect
from spgraph._recording import recorders, refuse
from spgraph._room import making
from spgraph._vector_make import VectorMake, dense_vector, filled_vector
from spgraph._vector_ops import VectorExpression, VectorIndexExpr, VectorLike, input_mask_of
from spgraph.block import VectorBlock
from spgraph.exchange.vector_parts import vector_storage
from spgraph.indexing import all_of, single
from spgraph.mask import StructuralMask, ValueMask

__all__ = ["Vector", "VectorExpression", "VectorIndexExpr"]

Leaf = engine.Leaf
_new = tuple.__new__  # half the time of calling a NamedTuple


class Vector(Output, VectorMake, VectorExport, VectorLike):
    """A sparse vector.

    Parameters
    ----------
    dtype : DataType, NumPy dtype or str, default FP64
        Type of the values.
    size : int, default 0
        Number of positions.
    name : str, optional
        Shown by ``repr`` and in messages.

    Attributes
    ----------
    dtype : DataType

    See Also
    --------
    Vector.from_coo, Vector.from_dense, Vector.from_dict, Vector.from_pairs, Vector.from_scalar

    Examples
    --------
    >>> import spgraph as sg
    >>> v = sg.Vector("INT64", 4)
    >>> v[[0, 2]] << 7
    >>> v
    Vector  INT64, size 4, 2 entries, bitmap, natural order
    index  0  1  2  3
    value  7     7
    """

    __slots__ = ("__weakref__", "_block", "_name", "dtype")

    dtype: DataType
    _weight = 1

    def __init__(self, dtype: Any = FP64, size: int = 0, *, name: str | None = None):
        self.dtype = dtype = to_dtype(dtype, "Vector(dtype, size)", "Vector.from_coo, from_dense or from_dict")
        self._block = vector_storage(to_size(size, "Vector", "size"), dtype.np_type, context.device())
        self._name = name

    @classmethod
    def _on(cls, device: context.Device, dtype: Any, size: int, name: str | None = None) -> Vector:
        """An empty Vector on a device."""
        return cls._wrap(vector_storage(size, lookup_dtype(dtype).np_type, device), name)

    @classmethod
    def _full(cls, device: context.Device, value: np.generic, size: int) -> Vector:
        """A Vector on a device in which every position holds one value."""
        return cls._wrap(filled_vector(size, value, device))

    @classmethod
    def _wrap(cls, block: VectorBlock, name: str | None = None) -> Vector:
        """A Vector that holds a block of the engine's."""
        self = object.__new__(cls)
        self.dtype = lookup_dtype(block.dtype)
        self._block = block
        self._name = name
        return self

    # ---- the protocol of operands (see spgraph._base) -------------------------------
    @property
    def _size(self) -> int:
        return self._block.size

    @property
    def S(self) -> StructuralMask:
        """Mask: where there is an entry."""
        return StructuralMask(self)

    @property
    def V(self) -> ValueMask:
        """Mask: where there is an entry that is not zero."""
        return ValueMask(self)

    def _eval(self) -> Vector:
        return self

    def _node(self):
        return _new(Leaf, (self._block,))

    def _run(self, out, mask, accum, replace):
        engine.vector_assign(out, mask, accum, replace, self._block, all_of(out.size))

    def _formula(self, names) -> str:
        return names.of(self)

    # ---- writing ----------------------------------------------------------------------
    def _write(self, value, mask=None, accum=None, replace=False, changed=None, input_mask=None) -> None:
        block = self._block
        device = block.device
        rank = RANK.get(type(value))
        if input_mask is not None:
            if not isinstance(value, VectorIndexExpr):
                raise TypeError("input_mask: it goes with an extraction, as in w(input_mask=m) << u[I]")
            mask = input_mask_of(value._parent, value._index, input_mask, mask)
        if mask is not None:
            parent = mask.parent
            if parent.ndim != 1 or parent._block.size != block.size:
                raise mask_mismatch(mask, (block.size,))
            if parent._block.device is not device:
                raise check.elsewhere("<<", "the output", device.name, "the mask", parent.device)
            mask = mask._engine()
        if rank == 1:
            if value._size != block.size:
                raise DimensionMismatch(f"<<: the output has size {block.size}, but the result has size {value._size}")
            if value._device is not device:
                raise check.elsewhere("<<", "the output", device.name, "the right side", value.device)
            if changed is None:
                value._run(block, mask, accum, replace)
            else:
                plan = value._plan if type(value) is not Vector else None
                if type(plan) is not MxV:
                    raise _changed_misused()
                plan.run(block, mask, accum, replace, *self._changed_block(changed))
            return
        if changed is not None:
            raise _changed_misused()
        if rank is None and not is_number(value):
            raise _no_value(value)
        value = scalar_for(value, self.dtype, accum)
        if value is None:
            value = vector_storage(block.size, block.dtype, device)
        engine.vector_assign(block, mask, accum, replace, value, all_of(block.size))

    def _changed_block(self, changed: Any) -> tuple[VectorBlock, tuple | None]:
        """Where changed entries go, and (op, thunk) of the select expression that says which count."""
        kept = None
        if type(changed) is not Vector:
            plan = getattr(changed, "_plan", None)
            if type(plan) is not VectorSelect or not plan.of_vector or type(plan.u) is not Vector:
                raise TypeError(f"changed: it is {describe(changed)}, but a Vector c or a selection such as "
                                "select.valuelt(c, limit) was wanted")
            thunk = np.int64(0) if plan.thunk is None else plan.thunk
            changed, kept = plan.u, (plan.op, thunk)
        if changed is self:
            raise TypeError("changed: it is the output itself, but another Vector was wanted")
        if changed._size != self._size:
            raise DimensionMismatch(f"changed: it has size {changed._size}, but the output has size {self._size}")
        if changed.dtype is not self.dtype:
            raise DomainMismatch(f"changed: its dtype is {changed.dtype}, but that of the output is {self.dtype}")
        check.same_device("changed", self, changed)
        return changed._block, kept

    def _write_part(self, index, value, mask, accum, replace, sub) -> None:
        block = self._block
        if type(index) is Vector:
            self._combine_at(index, value, mask, accum)
            return
        one = type(index) is int
        if mask is not None:
            if sub and one:
                raise TypeError("v[i](mask): one element takes no mask of its own; write v(mask)[i] << x")
            wanted = (index.size,) if sub else (block.size,)
            if mask.parent.shape != wanted:
                raise mask_mismatch(mask, wanted)
            check.same_device("v[...] << x: mask", self, mask.parent)
            mask = mask._engine()
        value = self._assigned(index, value, accum)
        if one:
            if mask is None and (accum is None or value is None):
                if value is not None:
                    engine.vector_set(block, index, cast_array(value, block.dtype)[()])
                elif accum is None:
                    engine.vector_remove(block, index)
                return
            index = single(index)
        if value is None:
            value = vector_storage(index.size, block.dtype, block.device)
        engine.vector_assign(block, mask, accum, replace, value, index, sub=sub)

    def _combine_at(self, p: Vector, value, mask, accum) -> None:
        """``self(accum)[p] << value``."""
        if mask is not None:
            raise TypeError("v(mask)[p] << x: a Vector p of positions takes no mask; select the entries of x instead")
        if accum is None or accum.monoid is None:
            given = "none" if accum is None else repr(accum)
            raise TypeError(f"v(accum)[p] << x: accum is {given}, but the operator of a monoid was wanted, since any "
                            "number of entries of the Vector p may name one position; v[:] << x takes no p")
        if RANK.get(type(value)) != 1 and not (RANK.get(type(value)) == 0 or is_number(value)):
            raise TypeError(f"v(accum)[p] << x: x is {describe(value)}, but a Vector or a number was wanted")
        if RANK.get(type(value)) == 1:
            if value._size != p._size:
                raise DimensionMismatch(f"v(accum)[p] << x: x has size {value._size}, but p has size {p._size}")
            check.same_device("v(accum)[p] << x", self, value)
            x = value._block
        else:
            number = scalar_for(value, self.dtype, accum)
            if number is None:
                return
            x = filled_vector(p._size, number, self._block.device)
        engine.combine_at(self._block, accum, p._block, x)

    def _assigned(self, index, value, accum) -> Any:
        """What is to be assigned: a block, a NumPy scalar, or None to delete."""
        rank = RANK.get(type(value))
        if rank == 1 and type(index) is not int:
            if value._size != index.size:
                raise DimensionMismatch(
                    f"v[...] << u: u has size {value._size}, but the index selects {index.size} positions"
                )
            check.same_device("v[...] << u", self, value)
            return value._block
        if value is EMPTY:
            return None
        if rank == 0 or is_number(value):
            return scalar_for(value, self.dtype, accum)
        if rank is not None or type(index) is int or isinstance(value, (str, bytes)) or value is None:
            wanted = "a number" if type(index) is int else "a Vector, a number or a list"
            raise TypeError(f"v[...] << x: x is {describe(value)}, but {wanted} was wanted")
        return listed(value, (index.size,), self.dtype, accum, self._block.device)

    # ---- whole-object operations --------------------------------------------------------
    @property
    def name(self) -> str:
        """Name given by the caller, or ``"v"``."""
        return self._name or "v"

    @name.setter
    def name(self, name: str) -> None:
        self._name = name

    @property
    def order(self) -> str:
        """Order in which entries are stored: "natural", "degree" or "listed"; results do not depend on it."""
        return self._block.partition.name

    def clear(self) -> None:
        """Remove all entries; the size stays."""
        if recorders:
            refuse("clear", "write an empty object into it with <<")
        self._block.clear()

    def resize(self, size: int) -> None:
        """Change the size; entries beyond it are dropped."""
        if recorders:
            refuse("resize", "resize before the loop")
        with making("resize", self._block.device):
            self._block.resize(to_size(size, "resize", "size"))

    def dup(self, dtype: Any = None, *, clear: bool = False, mask: Any = None, name: str | None = None) -> Vector:
        """A copy of its own.

        Parameters
        ----------
        dtype : optional
            dtype of the copy; values are converted as the GraphBLAS specification says.
        clear : bool, default False
            Leave the copy empty.
        mask : Mask, optional
            Which entries to copy.
        name : str, optional
            Name of the copy.

        Examples
        --------
        >>> import spgraph as sg
        >>> v = sg.Vector.from_coo([0, 1], [1.5, 0])
        >>> v.dup(mask=v.V).to_dict()
        {0: 1.5}
        """
        if recorders and not clear:
            refuse("dup", "make the object before the loop, and write into it with <<")
        if clear or mask is not None or (dtype is not None and lookup_dtype(dtype) is not self.dtype):
            new = self._empty(self.dtype if dtype is None else dtype, self.shape, name)
            if not clear:
                new(mask=mask) << self
            return new
        with making("dup", self._block.device):
            return Vector._wrap(self._block.copy(), name)

    def _moved(self, device: context.Device) -> Vector:
        with making(f'to("{device.name}")', device):
            return Vector._wrap(self._block.to_device(device), self._name)

    def __copy__(self) -> Vector:
        return self.dup(name=self._name)

    def __deepcopy__(self, memo: Any) -> Vector:
        return self.dup(name=self._name)

    def __reduce__(self):
        indices, values = self.to_coo()
        if self._block.iso and values.size:
            values = values[0]
        return _unpickle, (self.dtype.name, self._size, indices, values, self._name)

    def __sizeof__(self) -> int:
        return object.__sizeof__(self) + self._block.nbytes

    def __repr__(self) -> str:
        from spgraph import display

        return display.vector_text(self)

    def _repr_html_(self) -> str:
        from spgraph import display

        return display.vector_html(self)


def _unpickle(dtype, size, indices, values, name):
    np_type, device = lookup_dtype(dtype).np_type, context.device()
    block = engine.build_vector(size, indices, np.asarray(values, np_type), np_type, device=device)
    return Vector._wrap(block, name)


def scalar_for(value: Any, dtype: DataType, accum: Any) -> Any:
    """A number to be stored (or, with an accumulator, its second operand); None for an empty Scalar.

    A Scalar has a dtype and will be cast like any object; a plain number must fit.
    """
    if RANK.get(type(value)) == 0:
        return value._number()
    return fit(value, dtype if accum is None else accum.type2, "<<", "value")


def listed(value: Any, shape: tuple, dtype: DataType, accum: Any, device: context.Device) -> Any:
    """A list or array to be assigned to a part of `shape`, as a block on `device`."""
    values, _ = to_values(value, dtype if accum is None else accum.type2, "<<", "values", device)
    if values.shape != shape:
        raise DimensionMismatch(f"<<: the values have shape {values.shape}, but the index selects shape {shape}")
    if len(shape) == 1:
        return dense_vector(values, None, None, device)
    from spgraph._matrix_make import dense_matrix

    return dense_matrix(values, None, None, device)


def _no_value(value: Any) -> TypeError:
    hint = "; lists are assigned with v[:] << x" if hasattr(value, "__iter__") and not isinstance(value, str) else ""
    return TypeError(
        f"<<: the right side is {describe(value)}, but a Vector, an expression or a number was wanted{hint}"
    )


def _changed_misused() -> TypeError:
    return TypeError("changed: it goes with w(accum, changed=c) << u.vxm(A) or << A.mxv(u)")


CLASSES[1] = Vector
