"""The engine: plans and launches operations on blocks.

Every function of the form ``f(out, mask, accum, replace, ...)`` computes
C<M, replace> (accum)= T as the GraphBLAS C API 2.1 defines it, where `out` is C
(a block, changed in place once the result is there), `mask` a `Mask` or None and
`accum` a typed binary operator or None. Arguments have been checked by the face.
"""

from spgraph.engine.dispatch import for_parts
from spgraph.engine.first_entries import some_entries
from spgraph.engine.index import Index
from spgraph.engine.lanes import copies_of, count_of_copies, most_copies, rows_of_copies, sum_of_copies
from spgraph.engine.loops import run_alone, run_levels
from spgraph.engine.mask import Mask
from spgraph.engine.matrix_assign import matrix_assign, matrix_assign_line
from spgraph.engine.matrix_build import build_matrix, matrix_coo, matrix_csr
from spgraph.engine.matrix_common import align_matrices
from spgraph.engine.matrix_elementwise import matrix_apply, matrix_ewise, matrix_select
from spgraph.engine.matrix_products import kronecker, mxm, outer
from spgraph.engine.matrix_reduce import matrix_reduce_rows, matrix_reduce_scalar
from spgraph.engine.matrix_structure import (
    matrix_diag,
    matrix_extract,
    matrix_extract_column,
    matrix_get,
    matrix_remove,
    matrix_resize,
    matrix_set,
    vector_diag,
)
from spgraph.engine.pointers import combine_at, gather, pointer_jump
from spgraph.engine.vector_elementwise import (
    Apply,
    Ewise,
    Leaf,
    inner,
    vector_chain,
    vector_reduce,
    vector_reduce_later,
    vector_select,
)
from spgraph.engine.vector_products import mxv
from spgraph.engine.vector_structure import (
    build_vector,
    vector_assign,
    vector_coo,
    vector_extract,
    vector_get,
    vector_remove,
    vector_set,
)
from spgraph.engine.workspace import forget_workspaces
from spgraph.exchange.vector_parts import VectorParts
from spgraph.kernels.device import HOST

combine_at, gather, pointer_jump = for_parts(combine_at, gather, pointer_jump)
kronecker, mxm, outer, some_entries = for_parts(kronecker, mxm, outer, some_entries)
inner, mxv, vector_chain, vector_select = for_parts(inner, mxv, vector_chain, vector_select)
matrix_apply, matrix_ewise, matrix_select = for_parts(matrix_apply, matrix_ewise, matrix_select)
matrix_assign, matrix_assign_line = for_parts(matrix_assign, matrix_assign_line)
matrix_coo, matrix_csr, matrix_diag, vector_diag = for_parts(matrix_coo, matrix_csr, matrix_diag, vector_diag)
matrix_extract, matrix_extract_column = for_parts(matrix_extract, matrix_extract_column)
matrix_get, matrix_remove, matrix_resize, matrix_set = for_parts(
    matrix_get, matrix_remove, matrix_resize, matrix_set)
matrix_reduce_rows, matrix_reduce_scalar = for_parts(matrix_reduce_rows, matrix_reduce_scalar)
vector_assign, vector_coo, vector_extract = for_parts(vector_assign, vector_coo, vector_extract)
vector_get, vector_remove, vector_set = for_parts(vector_get, vector_remove, vector_set)


def _leaf(tree, *_monoid):
    """A vector of a tree."""
    while True:
        kind = tree.__class__
        if kind is Apply:
            tree = tree.child
        elif kind is Ewise:
            tree = tree.l
        else:
            return tree.block if kind is Leaf else tree


vector_reduce, vector_reduce_later = for_parts(vector_reduce, vector_reduce_later, where=_leaf)


_samples: dict = {}  # an empty vector in parts for each group


def _built_on(*_arrays, device=HOST, **_more):
    """An operand that says where a new object is made."""
    if device.group is None:
        return device
    found = _samples.get(device)
    if found is None:
        found = _samples[device] = VectorParts(0, "b", device)
    return found


build_vector, build_matrix = for_parts(build_vector, build_matrix, where=_built_on)

__all__ = [
    "Apply",
    "Ewise",
    "Index",
    "Leaf",
    "Mask",
    "align_matrices",
    "build_matrix",
    "build_vector",
    "combine_at",
    "copies_of",
    "count_of_copies",
    "forget_workspaces",
    "gather",
    "inner",
    "kronecker",
    "matrix_apply",
    "matrix_assign",
    "matrix_assign_line",
    "matrix_coo",
    "matrix_csr",
    "matrix_diag",
    "matrix_ewise",
    "matrix_extract",
    "matrix_extract_column",
    "matrix_get",
    "matrix_reduce_rows",
    "matrix_reduce_scalar",
    "matrix_remove",
    "matrix_resize",
    "matrix_select",
    "matrix_set",
    "most_copies",
    "mxm",
    "mxv",
    "outer",
    "pointer_jump",
    "rows_of_copies",
    "run_alone",
    "run_levels",
    "some_entries",
    "sum_of_copies",
    "vector_assign",
    "vector_chain",
    "vector_coo",
    "vector_diag",
    "vector_extract",
    "vector_get",
    "vector_reduce",
    "vector_reduce_later",
    "vector_remove",
    "vector_select",
    "vector_set",
]
