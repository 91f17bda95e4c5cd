"""Assign and subassign of matrices, scalars and lines against python-graphblas."""

import matrix_cases as mc
import numpy as np
import pytest
from matrix_cases import assert_same, chance, draw_matrix, draw_vector, gb, turned, view

from semirings import binary
from spgraph.engine.index import Index
from spgraph.engine.matrix_assign import matrix_assign, matrix_assign_line

pytestmark = pytest.mark.one_device("is about blocks of one device")

ACCUMS = (None, None, "plus", "second", "minus")


@pytest.fixture(params=range(40))
def rng(request):
    with mc.case(request.param) as generator:
        yield generator


def draw_write(rng, mask_shape, dtype, own=None):
    """mask, accum, replace: ours, and the gb call's arguments."""
    mask_pair = own if own is not None and chance(rng, 0.1) else None
    if mask_pair is None and chance(rng, 0.6):
        draw = draw_vector if isinstance(mask_shape, int) else draw_matrix
        size = (mask_shape,) if isinstance(mask_shape, int) else mask_shape
        mask_pair = draw(rng, *size, ordered=chance(rng, 0.2))
    mask, gb_mask = mc.draw_mask(rng, mask_pair)
    name = ACCUMS[rng.integers(len(ACCUMS))]
    accum = None if name is None else getattr(binary, name).resolve(dtype, dtype)
    replace = mask is not None and chance(rng, 0.5)
    given = {} if name is None else {"accum": getattr(gb.binary, name)}
    if mask is not None:
        given |= {"mask": gb_mask, "replace": replace}
    return (mask, accum, replace), given


@pytest.mark.parametrize("sub", [False, True])
@pytest.mark.parametrize("kind", ["matrix", "scalar"])
def test_assign(rng, sub, kind):
    shape, ordered, a_t = mc.shape_of(rng), chance(rng, 0.3), chance(rng, 0.3)
    C = draw_matrix(rng, *shape, "INT64", ordered=ordered)
    rows, gb_rows = mc.draw_index(rng, shape[0])
    cols, gb_cols = mc.draw_index(rng, shape[1])
    part = rows.size, cols.size
    how, given = draw_write(rng, part if sub else shape, np.int64, None if sub else C)
    if kind == "matrix":
        A = draw_matrix(rng, *turned(part, a_t), ordered=chance(rng, 0.3))
        value, theirs = (A.ours, a_t), view(A.theirs, a_t)
    else:
        value = mc.scalar(rng, str(rng.choice(mc.DTYPES)))
        theirs = mc.gb_scalar(value)
    label = f"{how} {rows} {cols}"
    if sub:
        C.theirs[gb_rows, gb_cols](**given) << theirs
    elif given:
        C.theirs(**given)[gb_rows, gb_cols] << theirs
    else:
        C.theirs[gb_rows, gb_cols] << theirs
    matrix_assign(C.ours, *how, value, rows, cols, sub=sub)
    assert_same(C.ours, C.theirs, label)


@pytest.mark.parametrize("sub", [False, True])
@pytest.mark.parametrize("row", [False, True])
def test_assign_line(rng, sub, row):
    nrows, ncols = (n + 1 for n in mc.shape_of(rng))
    C = draw_matrix(rng, nrows, ncols, "INT64", ordered=chance(rng, 0.3))
    length, lines = (ncols, nrows) if row else (nrows, ncols)
    index, gb_index = mc.draw_index(rng, length, repeats=False)
    line = int(rng.integers(lines))
    u = draw_vector(rng, index.size, ordered=chance(rng, 0.3))
    how, given = draw_write(rng, index.size if sub else length, np.int64)
    where = (line, gb_index) if row else (gb_index, line)
    if sub:
        C.theirs[where](**given) << u.theirs
    elif given:
        C.theirs(**given)[where] << u.theirs
    else:
        C.theirs[where] << u.theirs
    matrix_assign_line(C.ours, *how, u.ours, index, line, row=row, sub=sub)
    assert_same(C.ours, C.theirs, f"{how} {index} {line}")


def test_the_value_is_the_output(rng):
    C = draw_matrix(rng, 4, 4, "INT64", ordered=chance(rng, 0.4))
    ids = rng.permutation(4)
    copy = C.theirs.dup()
    C.theirs[ids, [3, 2, 1, 0]] << copy.T
    index = Index.of_list(ids), Index.of_range(3, -1, -1)
    matrix_assign(C.ours, None, None, False, (C.ours, True), *index)
    assert_same(C.ours, C.theirs)
