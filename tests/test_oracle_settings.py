"""Objects of a few hundred rows under every setting that must not change an answer.

Here the frontier is large enough for both directions, rows are skewed as in power-law graphs, and work is
split among threads. Compiling every kernel for every semiring would take minutes: the many semirings run
interpreted, which is the same text, and a few run compiled (`compiled`) and under every setting.
"""

import contextlib

import numpy as np
import pytest
from graphs import rmat
from semiring_names import lookup

from semirings.exceptions import GraphblasException

GRAPH, SMALL = rmat(8, 6, seed=4), rmat(6, 5, seed=4)
N = GRAPH.n
INTERPRETED = {"jit": "never"}
SETTINGS = [
    {},
    {"direction": "push"},
    {"direction": "pull"},
    {"threads": 1},
    {"threads": 3},
    {"order": "degree"},
]
RINGS = {
    "INT64": ("plus_times", "min_plus", "max_second", "plus_pair", "ss.min_secondi", "ss.max_firstj"),
    "INT8": ("plus_times", "min_max", "bor_band", "lxor_lor"),
    "UINT64": ("plus_minus", "bxor_bxor", "max_plus"),
    "BOOL": ("lor_land", "lxor_land", "any_pair", "land_lor", "eq_eq"),
    "FP64": ("plus_times", "min_plus", "max_times", "plus_second"),
    "FP32": ("plus_first", "max_min"),
}
PAIRS = [(dtype, ring) for dtype, rings in RINGS.items() for ring in rings]


def setting(gb, options):
    return gb.Context(**options) if hasattr(gb, "Context") else contextlib.nullcontext()


def matrix(gb, dtype, graph=GRAPH):
    values = (graph.weights % 5 - (0 if dtype.startswith("U") else 2)).astype(gb.dtypes.lookup_dtype(dtype).np_type)
    return gb.Matrix.from_coo(graph.rows, graph.cols, values, dtype, nrows=graph.n, ncols=graph.n)


def vector(gb, dtype, share, seed):
    rng = np.random.default_rng(seed)
    indices = np.flatnonzero(rng.random(N) < share)
    values = rng.integers(0, 4, indices.size).astype(gb.dtypes.lookup_dtype(dtype).np_type)
    return gb.Vector.from_coo(indices, values, dtype, size=N)


def products(gb, dtype, name, share):
    """Masked, accumulated and plain products of one matrix with one vector, from both sides."""
    ring = lookup(gb.semiring, name)
    A, v, out = matrix(gb, dtype), vector(gb, dtype, share, 1), vector(gb, "INT64", 0.3, 2)
    mask = vector(gb, "BOOL", 0.5, 3)
    found = [A.mxv(v, ring).new(), v.vxm(A, ring).new(), A.T.mxv(v, ring).new(mask=mask.V)]
    for way in (
        {"mask": mask.S},
        {"mask": ~mask.S, "replace": True},
        {"mask": ~mask.V, "accum": gb.binary.plus},
    ):
        w = out.dup()
        w(**way) << v.vxm(A, ring)
        found.append(w)
        w = out.dup()
        w(**way) << A.mxv(v, ring)
        found.append(w)
    return found


@pytest.mark.parametrize("share", [0.01, 0.2, 1.0])
@pytest.mark.parametrize(("dtype", "name"), PAIRS)
def test_vector_products(agree, dtype, name, share):
    def text(gb):
        with setting(gb, INTERPRETED):
            return products(gb, dtype, name, share)

    agree(text)


@pytest.mark.parametrize("options", SETTINGS, ids=str)
@pytest.mark.parametrize(("dtype", "name"), [("INT64", "min_plus"), ("BOOL", "any_pair"), ("INT64", "ss.min_secondi")])
def test_settings_do_not_show(agree, dtype, name, options):
    def text(gb):
        with setting(gb, options):
            return [products(gb, dtype, name, share) for share in (0.02, 0.5)]

    agree(text)


@pytest.mark.parametrize(("dtype", "name"), PAIRS)
def test_matrix_products(agree, dtype, name):
    def text(gb):
        with setting(gb, INTERPRETED):
            ring, A = lookup(gb.semiring, name), matrix(gb, dtype, SMALL)
            L = gb.select.tril(A, -1).new()
            found = [A.mxm(A, ring).new(), A.mxm(A.T, ring).new(mask=A.S), L.mxm(L, ring).new(mask=L.V)]
            C, D = A.dup(), A.dup(dtype="INT64")
            C(~A.S, replace=True) << A.mxm(L, ring)
            D(L.S, accum=gb.binary.minus) << L.mxm(L.T, ring)
            return [*found, C, D]

    agree(text)


@pytest.mark.parametrize("dtype", RINGS)
def test_elementwise_reductions_and_extracts(agree, dtype):
    def text(gb):
        A, v = matrix(gb, dtype), vector(gb, dtype, 0.4, 5)
        w, mask = vector(gb, dtype, 0.6, 6), vector(gb, "BOOL", 0.5, 7)
        op = gb.binary.lor if dtype == "BOOL" else gb.binary.minus
        monoid = gb.monoid.lxor if dtype == "BOOL" else gb.monoid.plus
        chains = (
            op(v | w).new(),
            op(v & w).new(mask=mask.V),
            A.ewise_mult(A.T, op).new(),
            A.ewise_add(A.T, op).new(),
        )
        reduced = (
            A.reduce_rowwise(monoid).new(),
            A.reduce_columnwise(gb.monoid.max).new(),
            A.reduce_scalar(monoid).new(),
        )
        picked = np.random.default_rng(8).permutation(N)[: N // 2]
        parts = (
            A[picked, ::3].new(),
            A[::-1, 5].new(),
            v[picked].new(),
            gb.select.valuege(A, gb.Scalar.from_value(1, dtype)).new(),
            A.T.new(),
        )
        B, u = A.dup(), v.dup()
        B[picked[:10], :] << A[picked[10:20], :]
        B(A.S, replace=True)[:, picked[:9]] << 1
        u(mask.S)[picked] << v[picked]
        u(accum=gb.binary.second) << w
        return chains, reduced, parts, B, u, A.diag(1), v.diag(-2), A.to_csr(), A.T.to_csr()

    agree(text)


@pytest.mark.compiled
@pytest.mark.parametrize(("dtype", "name"), [("INT64", "min_plus"), ("INT8", "plus_times"), ("BOOL", "lor_land")])
def test_compiled(agree, dtype, name):
    def text(gb):
        with setting(gb, {"jit": "always"}):
            A, v = matrix(gb, dtype), vector(gb, dtype, 0.3, 9)
            C = gb.Matrix(dtype, N, N)
            C(A.S) << A.mxm(A, lookup(gb.semiring, name))
            u = v.dup()
            u(~v.S, accum=gb.binary.first) << v.vxm(A, lookup(gb.semiring, name))
            return (
                C,
                u,
                A.mxv(v, lookup(gb.semiring, name)).new(),
                gb.binary.max(v | u).new(),
                C.reduce_rowwise(gb.monoid.max),
            )

    agree(text)


@pytest.mark.compiled
def test_compiled_operators_of_ones_own(agree):
    def text(gb):
        with setting(gb, {"jit": "always"}):
            op = gb.binary.register_anonymous(lambda x, y: np.minimum(x + y, 7) - x // 2, "halved")
            ring = gb.semiring.register_anonymous(gb.monoid.max, op, "max_halved")
            A, v = matrix(gb, "INT32"), vector(gb, "INT32", 0.3, 10)
            return A.mxv(v, ring).new(), A.ewise_mult(A.T, op).new()

    agree(text)


def test_a_forced_direction_is_remembered_by_no_one(sg):
    with sg.Context(direction="push"):
        before = products(sg, "INT64", "min_plus", 0.2)
    after = products(sg, "INT64", "min_plus", 0.2)
    assert all(a.isequal(b) for a, b in zip(before, after))


def test_context_arguments(sg):
    for wrong in ({"direction": "sideways"}, {"order": "random"}, {"threads": 0}, {"jit": "sometimes"}):
        [(name, value)] = wrong.items()
        with pytest.raises(ValueError, match=rf"{name}.*{value}") as caught:
            sg.Context(**wrong)
        assert isinstance(caught.value, GraphblasException)
