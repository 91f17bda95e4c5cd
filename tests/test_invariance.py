"""Storage order, direction, threads and formats change no answer (DESIGN: contracts)."""

import os
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import spgraph as sg
from spgraph import binary, monoid, select, semiring
from spgraph.partition import Partition
from spgraph.partition.layout import Layout


def random_graph(seed, n=40, m=160, *, weights=True):
    rng = np.random.default_rng(seed)
    rows, cols = rng.integers(0, n, (2, m))
    values = rng.integers(0, 9, m) if weights else np.ones(m, bool)
    return sg.Matrix.from_coo(rows, cols, values, nrows=n, ncols=n, dup_op=binary.min if weights else binary.first)


def shuffled(A, seed):
    """A in another, random storage order."""
    B = A.dup()
    device, rng = B._block.device, np.random.default_rng(seed)
    order = rng.permutation(A.nrows)
    if device.group is None:
        p = Partition(order.astype(np.int32), "random").on(device)
    else:  # parts of random sizes
        cuts = rng.integers(0, A.nrows + 1, len(device.devices) - 1)
        p = Layout(device, [0, *sorted(cuts), A.nrows], order, "random")
    B._block.rehome(p, p)
    return B


def permuted(A):
    order = np.random.default_rng(5).permutation(A.nrows)
    return A[order, order].new()


def permuted_rows(A):
    return A[np.random.default_rng(5).permutation(A.nrows)[:17], :].new()


def permuted_columns(A):
    return A.T[:, np.array([3, 1, 20, 8]) % A.nrows].new()


def repeated(A):
    return A[np.array([1, 1, 0]) % A.nrows, np.array([3, 20, 3, 5]) % A.nrows].new()


def upper_half_renumbered(A):
    order = np.random.default_rng(5).permutation(A.nrows)
    return select.triu(A[order, order], 1).new()


def levels(A):
    return sg.algorithms.bfs(A, 3)


def parents_are_valid(A):
    parent = sg.algorithms.bfs_parents(A, 3).to_dict()
    level = sg.algorithms.bfs(A, 3).to_dict()
    assert parent.keys() == level.keys()
    assert parent[3] == 3
    for v, u in parent.items():
        assert v == 3 or (level[v] == level[u] + 1 and (u, v) in A)
    return sg.algorithms.bfs(A, 3)


def distances(A):
    return sg.algorithms.sssp(A, 3, delta=4)


def ranks(A):
    return sg.algorithms.pagerank(A, tol=1e-12, max_iter=500)


def smallest_in_neighbour(A):
    return sg.Vector.from_coo(range(A.nrows), range(A.nrows), size=A.nrows).vxm(A, semiring.min_firstj).new()


def row_sums(A):
    return A.reduce_rowwise(monoid.plus).new()


def lower_part(A):
    return select.tril(A, -1).new()


def positions(A):
    return A.apply(sg.indexunary.colindex, 1).new()


def two_steps(A):
    C = sg.Matrix(A.dtype, A.nrows, A.ncols)
    C(A.S, binary.plus) << A.mxm(A, semiring.plus_times)
    return C


def part(A):
    return A[[5, 3, 3, 9], ::2].new()


def pointer_jump(A):
    f = sg.Vector.from_dense(np.arange(A.nrows))
    f(binary.min) << A.mxv(f, semiring.min_second)
    return f[f.to_coo()[1]].new()


def masked_chain(A):
    d = A.reduce_rowwise(monoid.max).new()
    w = sg.Vector.from_coo([1, 2, 3], [7, 8, 9], size=A.nrows)
    w(~d.V, binary.second) << binary.times(d | d).apply(binary.plus, right=1)
    return w


EXACT = [permuted, permuted_rows, permuted_columns, repeated, upper_half_renumbered, levels, parents_are_valid,
         distances, smallest_in_neighbour, row_sums, lower_part, positions, two_steps, part, pointer_jump, masked_chain]


@pytest.mark.parametrize("algorithm", EXACT)
@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("direction", ["auto", "push", "pull", "gap", "lagraph", "gunrock"])
def test_order_and_direction(algorithm, seed, direction):
    A = random_graph(seed)
    wanted = algorithm(A)
    with sg.Context(direction=direction):
        for B in (A.dup(), shuffled(A, seed), A.dup().reorder("degree")):
            got = algorithm(B)
            assert got.dtype == wanted.dtype
            assert got.isequal(wanted)


@pytest.mark.parametrize("direction", ["auto", "push", "pull", "gap", "lagraph", "gunrock"])
def test_ranks_differ_by_rounding_only(direction):
    A = random_graph(1)
    wanted = ranks(A)
    with sg.Context(direction=direction):
        assert ranks(shuffled(A, 5)).isclose(wanted, rel_tol=1e-9)


@pytest.mark.compiled
@pytest.mark.parametrize("threads", [1, 2, 7])
def test_threads(threads):
    A = sg.generators.rmat(12, seed=3, weights=(1, 9))
    wanted = [sg.algorithms.bfs(A, 0), sg.algorithms.sssp(A, 0)]
    with sg.Context(threads=threads, jit="always"):
        for direction in ("push", "pull", "auto"):
            with sg.Context(direction=direction):
                assert sg.algorithms.bfs(A, 0).isequal(wanted[0])
                assert sg.algorithms.sssp(A, 0).isequal(wanted[1])


@settings(max_examples=40)
@given(st.integers(0, 10**6), st.sampled_from(EXACT), st.sampled_from(["push", "pull", "auto"]))
def test_any_graph(seed, algorithm, direction):
    rng = np.random.default_rng(seed)
    A = random_graph(seed, n=int(rng.integers(10, 30)), m=int(rng.integers(0, 120)))
    wanted = algorithm(A)
    with sg.Context(direction=direction):
        assert algorithm(shuffled(A, seed)).isequal(wanted)


def test_a_context_names_its_choices_and_restores_them():
    before = sg.context.current()
    with sg.Context(threads=1, direction="pull", order="degree", jit="never") as inside:
        assert sg.context.current() is inside
        assert "direction='pull'" in repr(inside)
        with pytest.raises(sg.exceptions.InvalidObject, match="close\\(\\) inside its own with block"):
            inside.close()
    assert sg.context.current() is before
    inside.close()
    inside.close()
    with pytest.raises(sg.exceptions.InvalidObject, match="entered after close"):
        inside.__enter__()


@pytest.mark.parametrize(("argument", "message"), [
    ({"devices": "cuda:one"}, "devices is 'cuda:one', wanted 'cpu', 'cuda', 'cuda:1'"),
    ({"threads": 0}, "threads is 0, wanted a positive integer"),
    ({"threads": True}, "threads is True, wanted a positive integer"),
    ({"direction": "sideways"}, "direction is 'sideways', wanted one of auto, push, pull"),
    ({"order": "best"}, "order is 'best', wanted one of natural, degree"),
    ({"jit": "maybe"}, "jit is 'maybe', wanted one of auto, always, never"),
])
def test_a_context_refuses_what_it_does_not_know(argument, message):
    with pytest.raises(sg.exceptions.InvalidValue, match=message):
        sg.Context(**argument)


def test_programs_may_run_in_several_threads():
    graphs = [random_graph(seed) for seed in range(4)]
    wanted = [distances(A) for A in graphs]
    with ThreadPoolExecutor(4) as pool:
        for _ in range(5):
            for got, want in zip(pool.map(distances, graphs), wanted):
                assert got.isequal(want)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system has no fork")
def test_a_forked_child_can_go_on():
    program = (
        "import os, sys, warnings; warnings.simplefilter('ignore')\n"
        "import spgraph as sg\n"
        "with sg.Context('cpu', threads=3, jit='always'):\n"
        "    A = sg.generators.rmat(12, seed=1)\n"
        "    wanted = sg.algorithms.bfs(A, 0)\n"
        "    child = os.fork()\n"
        "    same = sg.algorithms.bfs(A, 0).isequal(wanted)\n"
        "    if child == 0:\n"
        "        os._exit(0 if same else 1)\n"
        "    sys.exit(os.waitpid(child, 0)[1] != 0 or not same)\n"
    )
    assert subprocess.run([sys.executable, "-c", program], timeout=120).returncode == 0
