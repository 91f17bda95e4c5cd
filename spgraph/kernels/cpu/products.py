"""Matrix products on the CPU: scratch and launch of the kernels of `spgemm`.

Scratch (dense accumulators, marks) is made once per thread and kept for products of the same kind.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from spgraph.kernels.cpu import spgemm
from spgraph.kernels.cpu._pieces import produce_rows

__all__ = ["MatrixProduct", "multiply"]

KEPT = 4
LIMITS = {"SEARCH": spgemm.SEARCH, "DENSE": spgemm.DENSE, "SHORT": spgemm.SHORT}
_pools: OrderedDict = OrderedDict()


class MatrixProduct(NamedTuple):
    """One product of matrices, with everything that a device needs to compute it.

    Attributes
    ----------
    method : str
        A function of `spgemm`: "gustavson", "gustavson_masked" or "dot_masked".
    kernel : callable
        ``kernel(name, **constants)``: a kernel with the product's operators and constants.
    A, B, mask : tuple of array
        indptr, indices, values; B is the CSR of its transpose for "dot_masked".
    ids : tuple of array
        Global ids of rows, inner numbers and columns.
    costs : array, shape (rows + 1,)
        Running sum of each row's steps (products, for "gustavson").
    nrows, inner, ncols : int
    index_dtype : dtype
        Of the result's column numbers.
    dtype : dtype
        The monoid's.
    value_dtype : dtype or None
        The result's; None if only the pattern is wanted.
    identity : scalar
        What a running sum starts from.
    store : tuple
        The operator STORE, from `dtype` to `value_dtype`.
    mask_consts : dict
        The mask's constants (COMPLEMENT, VALUED).
    key : hashable
        Tells the operator and its types from others.
    counted : bool
        Whether all products are the same number, so that how many there are is all that is wanted of them.
    """

    method: str
    kernel: Callable
    A: tuple
    B: tuple
    mask: tuple
    ids: tuple
    costs: Any
    nrows: int
    inner: int
    ncols: int
    index_dtype: Any
    dtype: Any
    value_dtype: Any
    identity: Any
    store: tuple
    mask_consts: dict
    key: Any
    counted: bool = False


def multiply(product: MatrixProduct) -> tuple:
    """(indptr, indices, values) of a product; values is None if only the pattern is wanted."""
    kernel = product.kernel(f"spgemm.{product.method}", **LIMITS)
    rooms, scratch, more = _needs(product)
    idle = _idle(product.method, product.ncols, product.inner, product.dtype, product.value_dtype is None, product.key)
    return produce_rows(
        kernel,
        int(product.costs[-1]) + product.nrows,
        (*product.A, *product.B, *product.mask, *product.ids, *more),
        rooms,
        product.index_dtype,
        product.value_dtype,
        costs=product.costs,
        scratch=scratch,
        idle=idle,
    )


def _needs(product: MatrixProduct) -> tuple:
    """Upper bounds of the rows (running sum), what makes scratch, and further arguments of the kernel."""
    ncols, dtype = product.ncols, product.dtype
    acc = 0 if product.value_dtype is None else ncols
    if product.method == "dot_masked":
        return product.mask[0], lambda: (np.zeros(product.inner, np.int32),), ()
    if product.method == "gustavson_masked":
        return product.mask[0], lambda: (np.empty(acc, dtype), np.zeros(ncols, np.uint8)), ()
    rooms = np.concatenate(([0], np.cumsum(np.minimum(np.diff(product.costs), ncols))))
    return rooms, lambda: _accumulators(product), (product.costs,)


def _accumulators(product: MatrixProduct) -> tuple:
    padded = (product.ncols + 7) // 8 * 8
    mark = np.zeros(padded, np.uint8)
    acc = np.full(0 if product.value_dtype is None else padded, product.identity, product.dtype)
    return acc, mark, mark.view(np.uint64), np.zeros(256, np.int64), np.empty(product.ncols, product.index_dtype)


def _idle(*key) -> list:
    """Scratch of this kind that earlier products have left; the kinds used last are kept."""
    found = _pools.setdefault(key, [])
    _pools.move_to_end(key)
    if len(_pools) > KEPT:
        _pools.popitem(last=False)
    return found
