"""The engine: plans and launches operations on blocks.

Every function of the form ``f(out, mask, accum, replace, ...)`` computes
C<M, replace> (accum)= T as the GraphBLAS C API 2.1 defines it, where `out` is C
(a block, changed in place once the result is there), `mask` a `Mask` or None and
`accum` a typed binary operator or None. Arguments have been checked by the face.
"""

from spgraph.engine.index import Index
from spgraph.engine.mask import Mask
from spgraph.engine.matrix_assign import matrix_assign, matrix_assign_line
from spgraph.engine.matrix_build import build_matrix, matrix_coo, matrix_csr
from spgraph.engine.matrix_common import align_matrices
from spgraph.engine.matrix_elementwise import matrix_apply, matrix_ewise, matrix_select, some_entries
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
    "mxm",
    "mxv",
    "outer",
    "pointer_jump",
    "some_entries",
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
