"""Arrays of other libraries in and out: without a copy where device and layout allow, and never another dtype.

CuPy's part is played by the emulated GPU (and by CuPy itself where the tests run on a GPU), PyTorch's and Numba's by
fakes that offer an array by one of the protocols and nothing else.
"""

from __future__ import annotations

import sys
import types

import numpy as np
import pytest

import spgraph as sg
from spgraph import exceptions
from spgraph.kernels.device import HOST

DTYPES = [np.bool_, np.int8, np.uint64, np.int64, np.float32, np.float64]


class ByDlpack:
    """What PyTorch's tensors look like to others."""

    def __init__(self, array, device=None):
        self.array, self.where = array, device

    def __dlpack__(self, **keywords):
        return self.array.__dlpack__(**keywords)

    def __dlpack_device__(self):
        return self.where or self.array.__dlpack_device__()


class ByInterface:
    """What Numba's arrays look like to others."""

    def __init__(self, array):
        self.array = array  # keeps the memory

    @property
    def __cuda_array_interface__(self):
        return self.array.__cuda_array_interface__


@pytest.fixture(params=["cpu", "gpu"])
def here(request):
    """The context's device."""
    chosen = HOST if request.param == "cpu" else request.getfixturevalue("cuda")
    with sg.Context(chosen):
        yield chosen


@pytest.fixture
def gpu(cuda):
    with sg.Context(cuda):
        yield cuda


def address(array):
    return array.ctypes.data if isinstance(array, np.ndarray) else array.data.ptr


# ---- in -----------------------------------------------------------------------------------
WAYS = {
    "NumPy": lambda x, gpu: x,
    "a read-only array": lambda x, gpu: (x.setflags(write=False), x)[1],
    "DLPack on the CPU": lambda x, gpu: ByDlpack(x),
    "CuPy": lambda x, gpu: gpu.to_device(x),
    "DLPack on a GPU": lambda x, gpu: ByDlpack(gpu.to_device(x)),
    "__cuda_array_interface__": lambda x, gpu: ByInterface(gpu.to_device(x)),
}


@pytest.mark.parametrize("way", WAYS)
class TestIn:
    @pytest.fixture
    def offered(self, way, cuda):
        return lambda values, dtype=None: WAYS[way](np.array(values, dtype), cuda)

    @pytest.fixture(autouse=True)
    def without_cupy(self, way, here, cuda):
        if here.on_host and way in ("DLPack on a GPU", "__cuda_array_interface__") and cuda.name.startswith("emulated"):
            pytest.skip("it takes CuPy itself to bring a foreign array from a GPU to the host")

    @pytest.mark.parametrize("dtype", DTYPES)
    def test_vectors(self, here, offered, dtype):
        v = sg.Vector.from_dense(offered([0, 1, 1], dtype))
        assert (v.dtype, v._device) == (np.dtype(dtype), here)
        assert v.to_dense().tolist() == [0, 1, 1]
        v = sg.Vector.from_dense(offered([0, 1, 1], dtype), missing_value=0)
        assert (v.dtype, v.to_dict()) == (np.dtype(dtype), {1: 1, 2: 1})
        v = sg.Vector.from_coo(offered([5, 2]), offered([0, 1], dtype), size=7)
        assert (v.dtype, v.to_dict()) == (np.dtype(dtype), {2: 1, 5: 0})

    @pytest.mark.parametrize("index", [np.int8, np.uint32, np.int32, np.int64])
    def test_matrices(self, here, offered, index):
        wanted = {0: {1: 1.5, 2: 2.5}, 2: {0: 3.5}}
        values = offered([1.5, 2.5, 3.5], np.float32)
        turned, by_column = offered([2.5, 1.5, 3.5], np.float32), offered([3.5, 1.5, 2.5], np.float32)
        made = [
            sg.Matrix.from_coo(offered([0, 0, 2], index), offered([1, 2, 0], index), values),
            sg.Matrix.from_csr(offered([0, 2, 2, 3], index), offered([1, 2, 0], index), values),
            sg.Matrix.from_csr(offered([0, 2, 2, 3], index), offered([2, 1, 0], index), turned),
            sg.Matrix.from_csr(offered([0, 2, 2, 3], index), offered([1, 2, 0], index), values, copy=False),
            sg.Matrix.from_csc(offered([0, 1, 2, 3], index), offered([2, 0, 0], index), by_column),
            sg.Matrix.from_dcsr(offered([0, 2], index), offered([0, 2, 3], index), offered([1, 2, 0], index), values),
            sg.Matrix.from_edgelist(offered([[0, 1], [0, 2], [2, 0]], index), values),
            sg.Matrix.from_dense(offered([[0, 1.5, 2.5], [0, 0, 0], [3.5, 0, 0]], np.float32), missing_value=0),
        ]
        for A in made:
            assert (A.dtype, A._device, A.shape) == (np.float32, here, (3, 3))
            assert A.to_dicts() == wanted
        assert sg.Matrix.from_coo(offered([0, 1], index), offered([1, 0], index), True).nvals == 2

    def test_values_are_checked_where_they_lie(self, here, offered):
        with pytest.raises(exceptions.InvalidValue, match=r"values hold 300 \(position 1\), which INT8"):
            sg.Vector.from_dense(offered([5, 300]), dtype="INT8")
        with pytest.raises(exceptions.InvalidValue, match=r"hold 1\.5 \(position 0\), which INT64"):
            sg.Vector.from_coo(offered([0, 1]), offered([1.5, 2]), dtype=int)
        with pytest.raises(exceptions.IndexOutOfBound, match="indices hold 7, but the size is 7"):
            sg.Vector.from_coo(offered([0, 7]), 1, size=7)
        with pytest.raises(exceptions.IndexOutOfBound, match="rows hold -1"):
            sg.Matrix.from_coo(offered([0, -1]), offered([0, 1]), 1, nrows=2, ncols=2)
        with pytest.raises(exceptions.InvalidValue, match="repeat a position"):
            sg.Matrix.from_coo(offered([0, 0]), offered([1, 1]), offered([1, 2]))
        with pytest.raises(exceptions.InvalidValue, match="index 1 stands 2 times"):
            sg.Vector.from_coo(offered([1, 1]), offered([1, 2]))
        with pytest.raises(TypeError, match="indices have dtype float64, but integers were wanted"):
            sg.Vector.from_coo(offered([0.0, 1.0]), 1)
        with pytest.raises(exceptions.InvalidValue, match="indptr goes from 0 to 2, but 0 to 3"):
            sg.Matrix.from_csr(offered([0, 1, 2]), offered([0, 1, 0]))
        with pytest.raises(exceptions.DomainMismatch, match="complex128"):
            sg.Vector.from_dense(offered([1j, 2j]))

    def test_duplicates_combine(self, here, offered):
        v = sg.Vector.from_coo(offered([1, 0, 1]), offered([5, 6, 7]), dup_op="-")
        assert v.to_dict() == {0: 6, 1: -2}
        A = sg.Matrix.from_coo(offered([1, 0, 1]), offered([1, 0, 1]), offered([5, 6, 7]), dup_op="+")
        assert A.to_dicts() == {0: {0: 6}, 1: {1: 12}}

    def test_as_indices_and_in_assignments(self, here, offered):
        v = sg.Vector.from_dense([10, 11, 12, 13])
        assert v[offered([3, -4])].new().to_dict() == {0: 13, 1: 10}
        v[offered([0, 2])] << offered([1, 2])
        assert v.to_dense().tolist() == [1, 11, 2, 13]
        A = sg.Matrix(int, 2, 3)
        A[offered([1, 0]), 1:] << offered([[1, 2], [3, 4]])
        assert A.to_dicts() == {0: {1: 3, 2: 4}, 1: {1: 1, 2: 2}}
        with pytest.raises(exceptions.IndexOutOfBound, match="holds 4, but the size is 4"):
            v[offered([0, 4])]
        with pytest.raises(TypeError, match="float"):
            v[offered([0.5])]

    def test_build(self, here, offered):
        v, A = sg.Vector(float, 4), sg.Matrix("INT8", 2, 2)
        v.build(offered([3, 1]), offered([5, 6]))
        A.build(offered([1]), offered([0]), offered([7]))
        assert (v.to_dict(), A.to_dicts()) == ({1: 6.0, 3: 5.0}, {1: {0: 7}})

    def test_as_matrix(self, here, offered):
        A = sg.io.as_matrix(offered([[0, 2], [0, 0]]))
        assert A.to_dicts() == {0: {1: 2}}
        if not isinstance(offered([0]), ByDlpack):
            assert sg.io.as_matrix((offered([0, 1]), offered([1, 2]))).shape == (3, 3)

    def test_from_dlpack(self, here, offered):
        if isinstance(offered([0]), ByInterface):
            with pytest.raises(exceptions.DomainMismatch, match="wanted an array that has __dlpack__"):
                sg.io.from_dlpack(offered([5]))
            return
        assert sg.io.from_dlpack(offered([5, 0]), 0).to_dict() == {0: 5}
        assert sg.io.from_dlpack(offered([[5, 0]]), name="A").name == "A"
        with pytest.raises(exceptions.DomainMismatch, match="3 dimensions"):
            sg.io.from_dlpack(offered([[[1]]]))


# ---- sharing ------------------------------------------------------------------------------
class TestSharing:
    def test_csr(self, here):
        indptr, indices, values = (here.to_device(np.array(x, d)) for x, d in (
            ([0, 2, 3], np.int32), ([0, 1, 0], np.int32), ([1.5, 2.5, 3.5], np.float64)))  # fmt: skip
        A = sg.Matrix.from_csr(indptr, indices, values, ncols=2, copy=False)
        block = A._block
        assert (block.indptr is indptr, block.indices is indices, block.values is values) == (True, True, True)
        B = sg.Matrix.from_csr(indptr, indices, values, ncols=2)
        for array, own in ((indptr, B._block.indptr), (indices, B._block.indices), (values, B._block.values)):
            assert address(array) != address(own)
        assert A.isequal(B)

    def test_full_vectors(self, here):
        values = here.to_device(np.array([1.5, 2.5]))
        v = sg.Vector.from_dense(values, copy=False)
        assert address(v._block.values) == address(values)
        assert address(sg.Vector.from_dense(values)._block.values) != address(values)
        assert address(sg.Vector.from_dense(values, dtype="FP32", copy=False)._block.values) != address(values)

    def test_what_cannot_be_written_to_is_copied(self):
        values = np.array([1.5, 2.5])
        values.setflags(write=False)
        with sg.Context("cpu"):
            v = sg.Vector.from_dense(values, copy=False)
            v[0] << 7
        assert values.tolist() == [1.5, 2.5]

    def test_out(self, here):
        v = sg.Vector.from_dense([1.5, 2.5])
        array = (np if here.on_host else here.xp).from_dlpack(v)
        assert address(array) == address(v._block.values)
        assert (array.dtype, here.to_host(array).tolist()) == (np.float64, [1.5, 2.5])
        assert v.__dlpack_device__() == ((1, 0) if here.on_host else (2, 0))

    def test_an_exported_array_outlives_the_vector(self, here):
        xp = np if here.on_host else here.xp
        v = sg.Vector.from_dense([1.5, 2.5])
        array = xp.from_dlpack(v)
        v << 7
        del v
        assert here.to_host(array).tolist()[0] in (1.5, 7.0)
        w = sg.Vector.from_scalar(3, 4)
        array = xp.from_dlpack(w)
        w.clear()
        assert here.to_host(array).tolist() == [3, 3, 3, 3]


class TestOut:
    def test_every_storage(self, here):
        """One value per position, whether it is stored so, once for all, as a list or in another order."""
        xp = np if here.on_host else here.xp
        listed = sg.Vector.from_coo([2, 0, 1], [7, 5, 6])
        by_degree = sg.generators.star(4, order="degree").reduce_rowwise(sg.monoid.plus).new()
        for v, wanted in (
            (listed, [5, 6, 7]), (sg.Vector.from_scalar(True, 3), [True] * 3), (sg.Vector(int, 0), []),
            (by_degree, by_degree.to_dense().tolist()),
        ):  # fmt: skip
            array = xp.from_dlpack(v)
            assert here.to_host(array).tolist() == wanted
            assert array.dtype == v.dtype.np_type

    def test_missing_entries(self, here):
        v = sg.Vector.from_coo([1], [5], size=3)
        with pytest.raises(BufferError, match="2 positions have no entry"):
            v.__dlpack__()
        assert not hasattr(v, "__cuda_array_interface__")

    def test_a_copy_that_is_not_wanted(self, here):
        with pytest.raises(BufferError, match="copy=False cannot be"):
            sg.Vector.from_scalar(1, 3).__dlpack__(copy=False)

    def test_the_interface(self, gpu):
        v = sg.Vector.from_scalar(2.5, 3)
        array = gpu.xp.asarray(ByInterface(v))
        assert gpu.to_host(array).tolist() == [2.5] * 3
        assert v.__cuda_array_interface__["data"][0] == address(v._block.values)
        assert v.to_dense().tolist() == [2.5] * 3
        with sg.Context("cpu"):
            assert not hasattr(sg.Vector.from_dense([1]), "__cuda_array_interface__")

    def test_to_cupy(self, gpu):
        v = sg.Vector.from_dense([1.5, 2.5])
        shared, own = sg.io.to_cupy(v, copy=False), sg.io.to_cupy(v)
        assert (address(shared) == address(v._block.values), address(own) == address(v._block.values)) == (True, False)
        assert type(own) is gpu.array_type and gpu.to_host(own).tolist() == [1.5, 2.5]
        w = sg.Vector.from_coo([1], [5], size=3)
        assert gpu.to_host(sg.io.to_cupy(w, -1)).tolist() == [-1, 5, -1]
        assert sg.io.to_cupy(w, 0.5).dtype == np.float64
        assert gpu.to_host(sg.io.to_cupy(w + 1, 0)).tolist() == [0, 6, 0]
        with pytest.raises(TypeError, match="to_cupy: 2 positions have no entry; give fill_value"):
            sg.io.to_cupy(w)
        with sg.Context("cpu"), pytest.raises(exceptions.DeviceMismatch, match=r'write \.to\("cuda"\)'):
            sg.io.to_cupy(sg.Vector.from_dense([1]))

    def test_from_cupy(self, gpu):
        array = gpu.to_device(np.array([5, 0]))
        if type(array).__module__.startswith("cupy"):
            assert sg.io.from_cupy(array, 0).to_dict() == {0: 5}
        with pytest.raises(exceptions.DomainMismatch, match="from_cupy: got list, wanted an array of CuPy"):
            sg.io.from_cupy([1, 2])


# ---- sparse matrices ----------------------------------------------------------------------
class Sparse:
    """What a matrix of cupyx.scipy.sparse shows."""

    def __init__(self, format, shape, **arrays):
        self.format, self.shape = format, shape
        self.dtype = arrays["data"].dtype
        self.__dict__.update(arrays)

    def tocoo(self):
        return self.coo


Sparse.__module__ = "cupyx.scipy.sparse._csr"


@pytest.fixture
def csr(cuda):
    arrays = {"indptr": [0, 2, 2, 3], "indices": [1, 2, 0], "data": [1.5, 2.5, 3.5]}
    made = {name: cuda.to_device(np.array(x, np.float64 if name == "data" else np.int32)) for name, x in arrays.items()}
    return Sparse("csr", (3, 3), **made)


WANTED = {0: {1: 1.5, 2: 2.5}, 2: {0: 3.5}}


class TestSparse:
    def test_csr_is_shared(self, gpu, csr):
        A = sg.io.from_cupyx(csr)
        own = A._block.indptr, A._block.indices, A._block.values
        assert [*map(address, own)] == [*map(address, (csr.indptr, csr.indices, csr.data))]
        assert (A.to_dicts(), A.dtype, A._device) == (WANTED, "FP64", gpu)
        assert str(A.report) == "cupyx: 3 vertices; 3 edges given, 3 stored"
        assert sg.io.as_matrix(csr).isequal(A)

    def test_to_the_host(self, cuda, csr):
        with sg.Context("cpu"):
            A = sg.io.from_cupyx(csr, order="degree")
        assert (A.to_dicts(), A.device, A.order) == (WANTED, "cpu", "degree")

    def test_other_formats(self, gpu, csr):
        put = lambda x, d=np.int32: gpu.to_device(np.array(x, d))  # noqa: E731
        coo = Sparse("coo", (3, 3), row=put([2, 0, 0]), col=put([0, 1, 2]), data=put([3.5, 1.5, 2.5], np.float64))
        csc = Sparse("csc", (3, 3), indptr=put([0, 1, 2, 3]), indices=put([2, 0, 0]), data=coo.data)
        dia = Sparse("dia", (3, 3), data=coo.data, coo=coo)
        for sparse in (coo, csc, dia):
            assert sg.io.from_cupyx(sparse).to_dicts() == WANTED

    def test_room_behind_and_disorder(self, gpu, csr):
        csr.indices = gpu.to_device(np.array([2, 1, 0, 9, 9], np.int32))
        csr.data = gpu.to_device(np.array([2.5, 1.5, 3.5, 0, 0]))
        assert sg.io.from_cupyx(csr).to_dicts() == WANTED

    def test_duplicates(self, gpu, csr):
        csr.indices = gpu.to_device(np.array([1, 1, 0], np.int32))
        with pytest.raises(exceptions.InvalidValue, match="from_cupyx: 1 of 3 entries repeat a position"):
            sg.io.from_cupyx(csr)
        A = sg.io.from_cupyx(csr, dup_op="+")
        assert A.to_dicts() == {0: {1: 4.0}, 2: {0: 3.5}}
        assert str(A.report) == "cupyx: 3 vertices; 3 edges given, 1 duplicate merged, 2 stored"

    def test_what_it_is_not(self, gpu):
        for wrong in ([[1, 2]], np.eye(2)):
            with pytest.raises(exceptions.DomainMismatch, match="wanted a two-dimensional matrix or array of cupyx"):
                sg.io.from_cupyx(wrong)

    @pytest.fixture
    def cupyx(self, monkeypatch, gpu):
        """`cupyx.scipy.sparse`, as far as `to_cupyx` asks for it."""
        class csr_matrix:
            def __init__(self, arrays, shape, copy):
                arrays = [array.copy() for array in arrays] if copy else arrays
                self.data, self.indices, self.indptr = arrays
                self.shape = shape

        if not type(gpu.to_device(np.zeros(1))).__module__.startswith("cupy"):
            sparse = types.SimpleNamespace(csr_matrix=csr_matrix)
            scipy = types.SimpleNamespace(sparse=sparse)
            top = types.SimpleNamespace(scipy=scipy)
            for name, module in {"cupyx": top, "cupyx.scipy": scipy, "cupyx.scipy.sparse": sparse}.items():
                monkeypatch.setitem(sys.modules, name, module)

    @pytest.mark.parametrize("dtype", ["BOOL", "FP32", "FP64"])
    def test_out(self, cupyx, gpu, dtype):
        A = sg.Matrix.from_coo([0, 0, 2], [1, 2, 0], [1, 0, 1], dtype)
        for copy in (True, False):
            sparse = sg.io.to_cupyx(A, copy=copy)
            assert sparse.shape == (3, 3)
            arrays = [gpu.to_host(array).tolist() for array in (sparse.indptr, sparse.indices, sparse.data)]
            assert arrays == [[0, 2, 2, 3], [1, 2, 0], [1, 0, 1]]
            assert sparse.data.dtype == A.dtype.np_type
            assert (address(sparse.data) == address(A._block.values)) is not copy
        assert gpu.to_host(sg.io.to_cupyx(sg.generators.path(3)).data).tolist() == [True] * 4

    def test_what_it_does_not_hold(self, cupyx, gpu):
        words = r'INT64, but .* only BOOL, FP32, FP64: A.dup\("FP64"\) converts'
        with pytest.raises(exceptions.DomainMismatch, match=words):
            sg.io.to_cupyx(sg.Matrix.from_coo([0], [0], [1]))
        with sg.Context("cpu"), pytest.raises(exceptions.DeviceMismatch, match=r'write \.to\("cuda"\)'):
            sg.io.to_cupyx(sg.Matrix(float, 1, 1))


# ---- what goes wrong ----------------------------------------------------------------------
class Broken(ByDlpack):
    def __dlpack__(self, **keywords):
        raise BufferError("Can't export tensors that require gradient, use tensor.detach()")


def test_an_array_that_refuses():
    words = r"from_dense: values can't be exported by DLPack: .*use tensor\.detach"
    with pytest.raises(exceptions.InvalidValue, match=words):
        sg.Vector.from_dense(Broken(np.zeros(3)))


def test_other_devices():
    with pytest.raises(exceptions.InvalidValue, match="on a device of DLPack's kind 10, wanted the CPU or CUDA"):
        sg.Vector.from_dense(ByDlpack(np.zeros(3), (10, 0)))


def test_a_gpu_without_cupy(monkeypatch):
    monkeypatch.setitem(sys.modules, "cupy", None)
    words = r'values are on a GPU, .*pip install "cupy-cuda13x\[ctk\]"'
    with sg.Context("cpu"), pytest.raises(exceptions.NoDevice, match=words):
        sg.Vector.from_dense(ByDlpack(np.zeros(3), (2, 0)))
