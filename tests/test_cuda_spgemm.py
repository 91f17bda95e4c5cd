"""Matrix products of the CUDA side against those of the CPU: rows and lists of every length class."""

from __future__ import annotations

import numpy as np
import pytest

from semirings import semiring
from spgraph.block import MatrixBlock, width
from spgraph.engine import Mask, build_matrix, matrix_coo, matrix_products, mxm
from spgraph.kernels.cuda import products
from spgraph.kernels.cuda.launch import CudaKernel
from spgraph.kernels.device import HOST

pytestmark = pytest.mark.usefixtures("interpreted")  # on the CPU: a reference, for a call or two of each kernel
INT64, FP64, BOOL, INT8 = (np.dtype(name) for name in ("int64", "float64", "bool", "int8"))
OPERATORS = {
    "sum": ("plus_times", INT64),
    "wraps": ("plus_times", INT8),
    "counted": ("plus_pair", INT64),
    "counted floats": ("plus_pair", FP64),
    "compare and swap": ("min_plus", FP64),
    "no atomic": ("times_plus", INT8),
    "terminal": ("land_land", BOOL),
    "terminal number": ("min_second", INT8),
    "pattern": ("any_pair", BOOL),
}
operators = pytest.mark.parametrize("operator", OPERATORS.values(), ids=OPERATORS)


@pytest.fixture
def rng():
    return np.random.default_rng(20261128)


@pytest.fixture
def force(monkeypatch):
    """Choose the method of masked products."""

    def to(method):
        monkeypatch.setattr(matrix_products, "settled", lambda *counts: False)
        monkeypatch.setattr(matrix_products, "choose_product", lambda *counts: method)

    return to


@pytest.fixture
def launched(monkeypatch):
    """Names of the kernels that were started."""
    names, start = set(), CudaKernel.__call__

    def noted(kernel, *args, **more):
        names.add(kernel.name)
        return start(kernel, *args, **more)

    monkeypatch.setattr(CudaKernel, "__call__", noted)
    return names


def rows_of(rng, lengths, ncols, dtype, device, close=0):
    """The same matrix on the host and on a device, with rows of given lengths; the first `close` are packed tightly."""
    spans = [min(ncols, 2 * length) if i < close else ncols for i, length in enumerate(lengths)]
    starts = [rng.integers(0, ncols - span + 1) for span in spans]
    cols = np.concatenate([start + rng.choice(span, length, replace=False)
                           for start, span, length in zip(starts, spans, lengths)])
    rows = np.repeat(np.arange(len(lengths)), lengths)
    values = rng.integers(-2, 3, cols.size).astype(dtype)
    return tuple(build_matrix(len(lengths), ncols, rows, cols, values, dtype, device=place) for place in (HOST, device))


def same_product(cuda, A, B, b_t, operator, mask=None, *, complement=False, structural=True):
    """Multiplies on both devices and compares; the number of entries."""
    name, dtype = operator
    typed = getattr(semiring, name).resolve(dtype, dtype)
    nrows, ncols = A[0].nrows, B[0].nrows if b_t else B[0].ncols
    found = []
    for place, device in enumerate((HOST, cuda)):
        C = MatrixBlock(nrows, ncols, typed.return_type.np_type, device=device)
        M = None if mask is None else Mask(mask[place], complement, structural)
        mxm(C, M, None, False, A[place], False, B[place], b_t, typed)
        found.append(matrix_coo(C))
    for want, got in zip(*found):
        assert want.dtype == got.dtype
        np.testing.assert_array_equal(want, got)
    return found[0][0].size


# ---- within a mask ----------------------------------------------------------------------
LENGTHS = [0, 1, 3, 31, 32, 33, 63, 64, 65, 300, 700, *[1100] * 9]
INNER = 2500


@pytest.fixture
def giants(monkeypatch):
    """Pairs of a thousand steps are giants, and the list has not room for all."""
    monkeypatch.setattr(products, "GIANT", 1000)
    monkeypatch.setattr(products, "MOST_GIANTS", 50)


@operators
def test_dot_products_of_every_length(cuda, rng, force, giants, operator):
    """Rows of the mask that are empty, short and full."""
    force("dot")
    A, B = (rows_of(rng, LENGTHS, INNER, operator[1], cuda) for _ in range(2))
    mask = rows_of(rng, [0, 20, 1, 0, *[20] * 16], 20, INT64, cuda)
    assert same_product(cuda, A, B, True, operator, mask) > 30


@operators
def test_sums_within_masks_of_every_length(cuda, rng, force, giants, operator):
    """Rows of the mask and of B that are shorter and longer than each other; many entries of A at one of the mask."""
    force("gustavson")
    A = rows_of(rng, [20, 0, 20, 5, 1, 20, 20, 20, 20, 3], 20, operator[1], cuda)
    mask = rows_of(rng, [1100, 9, 1, 700, 50, *[1100] * 4, 0], INNER, INT64, cuda)
    assert same_product(cuda, A, rows_of(rng, LENGTHS, INNER, operator[1], cuda), False, operator, mask) > 1000


@pytest.mark.parametrize("method", ["dot", "gustavson"])
def test_masks_by_value(cuda, rng, force, method):
    force(method)
    A, B, mask = (rows_of(rng, rng.integers(0, 20, 40), 40, INT64, cuda) for _ in range(3))
    assert same_product(cuda, A, B, method == "dot", OPERATORS["sum"], mask, structural=False) > 20


def test_many_at_one_entry(cuda, rng, force):
    force("gustavson")
    A, B, mask = (rows_of(rng, [n] * m, n, INT64, cuda) for n, m in ((300, 2), (1, 300), (1, 2)))
    assert same_product(cuda, A, B, False, OPERATORS["sum"], mask) == 2


@operators
@pytest.mark.parametrize("same", [True, False])
def test_rows_as_bitmaps(cuda, rng, force, giants, monkeypatch, operator, same):
    """Rows close together, which are bitmaps, and scattered ones, which are not; short, long and empty."""
    force("dot")
    monkeypatch.setattr(products, "OFTEN", 0)
    lengths = [0, 1, 3, 31, 40, 64, 65, 200, 900, 1100]
    A, B = (rows_of(rng, lengths * 3, 4000, operator[1], cuda, close=10) for _ in range(2))
    mask = rows_of(rng, [0, 30, 1, 0, *[30] * 26], 30, INT64, cuda)
    assert same_product(cuda, A, A if same else B, True, operator, mask) > 30


@pytest.mark.parametrize(("often", "kernels"), [(0, {"mask_counts", "mask_dots"}), (1000, {"mask_dots"})])
def test_bitmaps_are_made_where_rows_are_met_often(cuda, rng, force, monkeypatch, launched, often, kernels):
    force("dot")
    monkeypatch.setattr(products, "OFTEN", often)
    A, mask = rows_of(rng, [30] * 20, 3000, INT64, cuda), rows_of(rng, [10] * 20, 20, INT64, cuda)
    same_product(cuda, A, A, True, OPERATORS["counted"], mask)
    assert launched & {"mask_counts", "mask_dots"} == kernels


def test_a_mask_that_is_filled_is_the_pattern(cuda, rng, force):
    """Nothing is packed: the result shares the mask's arrays."""
    force("dot")
    A, mask = (rows_of(rng, [10] * 20, 10, INT64, cuda) for _ in range(2))
    C = MatrixBlock(20, 10, INT64, device=cuda)
    B = rows_of(rng, [10] * 10, 10, INT64, cuda)
    mxm(C, Mask(mask[1], False, True), None, False, A[1], False, B[1], True, semiring.plus_pair.resolve(INT64, INT64))
    assert C.indices is mask[1].indices
    assert same_product(cuda, A, B, True, OPERATORS["counted"], mask) == 200


# ---- without one ----------------------------------------------------------------------------
WIDTH = 6000


def wide_operands(rng, dtype, device):
    """Rows of the product with none, few, hundreds and thousands of columns, once and several times each."""
    A = rows_of(rng, [0, 1, 2, 3, 8, 20, 20, 0, 40, 40, 1], 40, dtype, device)
    B = rows_of(rng, [0, 1, 5, 9, 30, *[120] * 30, 900, 1200, 2500, 3000, 30], WIDTH, dtype, device)
    return A, B


@operators
def test_rows_of_every_size(cuda, rng, monkeypatch, operator):
    monkeypatch.setattr(products, "WIDE_BYTES", 1 << 16)  # a batch is one row, or a few
    assert same_product(cuda, *wide_operands(rng, operator[1], cuda), False, operator) > WIDTH


@pytest.mark.parametrize("operator", [OPERATORS["sum"], OPERATORS["pattern"]], ids=["sum", "pattern"])
@pytest.mark.parametrize("structural", [True, False], ids=["structural", "valued"])
def test_rows_outside_a_mask(cuda, rng, monkeypatch, operator, structural):
    monkeypatch.setattr(products, "WIDE_BYTES", 1 << 17)
    mask = rows_of(rng, [10, 0, 200, 3000, WIDTH, 500, 4000, 1, WIDTH, 2000, 0], WIDTH, INT64, cuda)
    A, B = wide_operands(rng, operator[1], cuda)
    assert same_product(cuda, A, B, False, operator, mask, complement=True, structural=structural) > 1000


@pytest.mark.parametrize("limits", [(0, 1 << 18), (0, 0), (1 << 18, 0)], ids=["blocks", "card", "warps and card"])
def test_bins_change_nothing(cuda, rng, monkeypatch, limits):
    for name, limit in zip(("SMALL_WORK", "MEDIUM_WORK"), limits):
        monkeypatch.setattr(products, name, limit)
    same_product(cuda, *wide_operands(rng, INT64, cuda), False, OPERATORS["sum"])


def test_wide_indices(cuda, rng, force, monkeypatch):
    monkeypatch.setattr(width, "LIMIT", 5)
    operands = wide_operands(rng, INT64, cuda)
    assert operands[0][1].indices.dtype == INT64
    same_product(cuda, *operands, False, OPERATORS["sum"])
    for method in ("dot", "gustavson"):
        force(method)
        A, B, mask = (rows_of(rng, [3, 0, 9, 6, 5, 1, 2, 4, 7, 8], 10, INT64, cuda) for _ in range(3))
        same_product(cuda, A, B, False, OPERATORS["sum"], mask)


def test_nothing_waits_but_for_counts(cuda, rng, force):
    """A masked product waits for the steps of each method and for the number of its entries."""
    force("dot")
    A, B, mask = (rows_of(rng, [5] * 30, 30, INT64, cuda)[1] for _ in range(3))
    B.oriented(True)
    C = MatrixBlock(30, 30, INT64, device=cuda)
    before = cuda.counters.launches
    mxm(C, Mask(mask, False, True), None, False, A, False, B, True, semiring.plus_times.resolve(INT64, INT64))
    assert cuda.counters.launches - before == 4  # the steps of two methods, dots, packing
