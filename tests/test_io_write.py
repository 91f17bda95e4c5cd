"""What is written is read back: values, dtype, shape, labels."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import spgraph as sg
from semirings.exceptions import DimensionMismatch, DomainMismatch, InvalidValue
from spgraph.io import read, read_edgelist, write
from spgraph.io._build import build_matrix
from spgraph.io._coo import Edges, invalid, tidy

DTYPES = [
    "bool",
    "int8",
    "int16",
    "int32",
    "int64",
    "uint8",
    "uint16",
    "uint32",
    "uint64",
    "float32",
    "float64",
]


def matrix(rows, cols, values, shape, labels=None):
    edges = Edges(
        np.array(rows, np.int64), np.array(cols, np.int64), values, *shape, "x", invalid("x"), labels=labels
    )
    return build_matrix(tidy(edges))


@st.composite
def matrices(draw):
    dtype = np.dtype(draw(st.sampled_from(DTYPES)))
    shape = draw(st.tuples(st.integers(0, 5), st.integers(0, 5)))
    places = [(i, j) for i in range(shape[0]) for j in range(shape[1])]
    chosen = draw(st.lists(st.sampled_from(places), unique=True)) if places else []
    if dtype.kind == "f":
        numbers = st.floats(width=8 * dtype.itemsize)
    elif dtype.kind == "b":
        numbers = st.booleans()
    else:
        numbers = st.integers(np.iinfo(dtype).min, np.iinfo(dtype).max)
    values = np.array([draw(numbers) for _ in chosen], dtype)
    return matrix([i for i, _ in chosen], [j for _, j in chosen], values, shape)


def same(A, B):
    return (
        A.shape == B.shape
        and A.dtype == B.dtype
        and all(
            np.array_equal(mine, theirs, equal_nan=mine.dtype.kind == "f")
            for mine, theirs in zip(A.to_coo(), B.to_coo())
        )
    )


@given(matrices(), st.sampled_from(["a.mtx", "a.mtx.gz"]))
def test_matrix_market(tmp_path_factory, A, name):
    path = tmp_path_factory.mktemp("mtx") / name
    write(A, path)
    assert same(A, read(path))


def test_edge_list(tmp_path):
    labels = np.array([7, 9, 2**40])
    A = matrix([0, 2, 1], [1, 0, 2], np.array([0.1, 1e-300, 0.0]), (3, 3), labels)
    path = tmp_path / "a.tsv"
    write(A, path)
    B = read(path)
    assert same(A, B)
    assert B.labels.tolist() == labels.tolist()
    write(A, path, labels=["x", "y", "z"])
    assert read(path).labels.tolist() == ["x", "y", "z"]
    pattern = sg.generators.path(4)
    write(pattern, tmp_path / "b.edges")
    assert same(pattern, read(tmp_path / "b.edges"))
    isolated = matrix([0], [1], np.array([3]), (5, 5))
    write(isolated, path)
    assert same(isolated, read_edgelist(path, vertices=5))
    with pytest.raises(DimensionMismatch, match="labels"):
        write(A, path, labels=["x"])
    for bad in ("a b", "", "#a", "a,b"):
        with pytest.raises(InvalidValue, match="label"):
            write(A, path, labels=["x", bad, "z"])


def test_dimacs(tmp_path):
    path = tmp_path / "a.gr"
    A = matrix([0, 2], [1, 0], np.array([0, 2**40]), (4, 4))
    write(A, path)
    assert same(A, read(path))
    with pytest.raises(DomainMismatch, match="integer weights, got float64"):
        write(matrix([0], [1], np.array([0.5]), (2, 2)), path)
    with pytest.raises(DimensionMismatch, match="1 x 2"):
        write(matrix([0], [1], np.array([5]), (1, 2)), path)
    with pytest.raises(InvalidValue, match="format: got 'xml'"):
        write(A, path, "xml")
