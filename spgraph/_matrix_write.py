"""Writing to a Matrix: all of it, a part, a line or one element."""

from __future__ import annotations

from typing import Any

import numpy as np

from semirings.exceptions import DimensionMismatch
from semirings.expr import cast_array
from spgraph import _check as check
from spgraph import engine
from spgraph._base import EMPTY, RANK
from spgraph._convert import describe, is_number
from spgraph._matrix_ops import MatrixIndexExpr
from spgraph._output import Output, mask_mismatch
from spgraph._vector_ops import input_mask_of
from spgraph.block import MatrixBlock, VectorBlock
from spgraph.exchange.matrix_parts import MatrixParts, matrix_storage
from spgraph.exchange.vector_parts import VectorParts, vector_storage
from spgraph.indexing import all_of, single
from spgraph.vector import listed, scalar_for

__all__ = ["MatrixWrite"]


class MatrixWrite(Output):
    """``C(mask, accum) << x`` and ``C(mask, accum)[I, J] << x``."""

    __slots__ = ()

    def _write(self, value, mask=None, accum=None, replace=False, changed=None, input_mask=None) -> None:
        rank = RANK.get(type(value))
        if changed is not None:
            raise TypeError("changed: it goes with vectors, as in w(accum, changed=c) << u.vxm(A)")
        if input_mask is not None:
            if not isinstance(value, MatrixIndexExpr):
                raise TypeError("input_mask: it goes with an extraction, as in C(input_mask=m) << A[I, J]")
            mask = input_mask_of(value._parent, value._index, input_mask, mask)
        shape = self.shape
        if rank != 2:
            if rank == 1 or (rank is None and not is_number(value)):
                raise TypeError(
                    f"<<: the right side is {describe(value)}, but a Matrix, an expression or a number was wanted"
                )
            self._write_part(tuple(map(all_of, shape)), value, mask, accum, replace, False)
            return
        if value.shape != shape:
            raise DimensionMismatch(f"<<: the output has shape {shape}, but the result has shape {value.shape}")
        check.same_device("<<", self, value)
        if mask is not None:
            mask = self._whole_mask(mask)
        value._run(self._block, mask, accum, replace)

    def _write_part(self, index, value, mask, accum, replace, sub) -> None:
        block = self._block
        i, j = index
        part = tuple(axis.size for axis in index if not isinstance(axis, int))
        line_mask = False
        if mask is not None:
            line_mask = mask.ndim == 1
            self._check_mask(mask, index, part, sub)
            mask = mask._engine()
        value = self._assigned(part, value, accum)
        if not part and mask is None and (accum is None or value is None):
            if value is not None:
                engine.matrix_set(block, i, j, cast_array(value, block.dtype)[()])
            elif accum is None:
                engine.matrix_remove(block, i, j)
            return
        if len(part) == 1 and (line_mask or isinstance(value, (VectorBlock, VectorParts))):
            row = isinstance(i, int)
            self._assign_line(index, value, mask, line_mask, accum, replace, sub, row)
            return
        i, j = (single(axis) if isinstance(axis, int) else axis for axis in index)
        if value is None:
            value = matrix_storage(i.size, j.size, block.dtype, block.device)
        if isinstance(value, (MatrixBlock, MatrixParts)):
            value = (value, False)
        engine.matrix_assign(block, mask, accum, replace, value, i, j, sub=sub)

    def _assign_line(self, index, value, mask, line_mask, accum, replace, sub, row) -> None:
        """``C[i, J] << v`` or ``C[I, j] << v``, with a mask over the line, or one over the whole of C."""
        block = self._block
        line, along = index if row else index[::-1]
        if not isinstance(value, (VectorBlock, VectorParts)):
            u = vector_storage(along.size, block.dtype if value is None else value.dtype, block.device)
            if value is not None and along.size:
                u.set_full(np.array([value]), iso=True)
            value = u
        if mask is None or line_mask:
            engine.matrix_assign_line(block, mask, accum, replace, value, along, line, row=row, sub=sub)
            return
        ids, values = value.coo()
        zeros = block.device.xp.zeros(ids.size, np.int64)
        if row:
            upcast = engine.build_matrix(1, value.size, zeros, ids, values, value.dtype, device=block.device)
        else:
            upcast = engine.build_matrix(value.size, 1, ids, zeros, values, value.dtype, device=block.device)
        i, j = (single(axis) if isinstance(axis, int) else axis for axis in index)
        engine.matrix_assign(block, mask, accum, replace, (upcast, False), i, j, sub=sub)

    def _check_mask(self, mask, index, part, sub) -> None:
        if sub:
            if not part:
                raise TypeError("C[i, j](mask): one element takes no mask of its own; write C(mask)[i, j] << x")
            wanted = part
        elif mask.ndim == 1:
            if len(part) != 1:
                raise mask_mismatch(mask, self.shape)
            wanted = (self.shape[1 if isinstance(index[0], int) else 0],)
        else:
            wanted = self.shape
        if mask.parent.shape != wanted:
            raise mask_mismatch(mask, wanted)
        check.same_device("C[...] << x: mask", self, mask.parent)

    def _assigned(self, part, value, accum) -> Any:
        """What is to be assigned: a block, (block, transposed), a NumPy scalar, or None to delete."""
        rank = RANK.get(type(value))
        if rank and rank == len(part):
            if value.shape != part:
                raise DimensionMismatch(f"C[...] << x: x has shape {value.shape}, but the index selects shape {part}")
            check.same_device("C[...] << x", self, value)
            if rank == 1:
                return value._block
            value = value._eval()
            return value._block, value._is_transposed
        if value is EMPTY:
            return None
        if rank == 0 or is_number(value):
            return scalar_for(value, self.dtype, accum)
        if rank is not None or not part or isinstance(value, (str, bytes)) or value is None:
            wanted = ("a number", "a Vector, a number or a list", "a Matrix, a number or an array")[len(part)]
            raise TypeError(f"C[...] << x: x is {describe(value)}, but {wanted} was wanted")
        return listed(value, part, self.dtype, accum, self._block.device)
