"""SciPy's sparse matrices (``.npz``): what `scipy.sparse.save_npz` writes, without pickle.

Data encoding: a zip archive with an array in NumPy's format for each of ``format``, ``shape``, ``data`` and
``indices, indptr`` (csr, csc, bsr), ``row, col`` (coo) or ``offsets`` (dia). What we write also has ``labels``, where
there are some, which SciPy passes over. Nothing is allocated before sizes are known to be those of the file.
"""

from __future__ import annotations

import io
import math
import os
import tokenize
import zipfile
import zlib

import numpy as np

from spgraph.io._build import build_matrix
from spgraph.io._coo import Edges, tidy
from spgraph.io._labels import checked_labels
from spgraph.io._report import FormatError
from spgraph.io._text import Packed, Text, load_packed

__all__ = ["npz_edges", "npz_file", "read_npz"]

ARRAYS = {
    "csr": ("indices", "indptr"),
    "csc": ("indices", "indptr"),
    "bsr": ("indices", "indptr"),
    "coo": ("row", "col"),
    "dia": ("offsets",),
}
DAMAGE = (
    ValueError, TypeError, SyntaxError, OverflowError, RuntimeError, EOFError, OSError, MemoryError, KeyError,
    tokenize.TokenError,
)  # fmt: skip
SQUEEZED = 1040  # bytes that one byte of a deflated file may stand for, at most
WHOLE = ("indptr", "offsets")  # arrays that every process needs
PIECE = 1 << 20  # bytes that are passed over at a time
NOT_OURS = "wanted what scipy.sparse.save_npz writes"


def read_npz(
    path, *, dtype=None, symmetrize=False, dup_op=None, drop_self_loops=False, order=None, progress=None
):
    """Read a sparse matrix that SciPy or spgraph saved.

    Parameters
    ----------
    path : str or path-like
    dtype : optional
        Type of the values; default: the file's.
    symmetrize : bool
        Store every edge in both directions.
    dup_op : str or binary operator, optional
        Combines duplicate entries; without one they raise.
    drop_self_loops : bool
    order : {"natural", "degree"}, optional
        Order in memory; default: the context's.
    progress : bool, optional
        Default: a bar on terminals for what takes longer than a second.

    Returns
    -------
    Matrix
        With ``.report`` and, if spgraph wrote the file and there were some, ``.labels``. Explicit zeros are entries.

    Raises
    ------
    FormatError
        Names the file and the array.

    Examples
    --------
    >>> import pathlib, tempfile, scipy.sparse as sp
    >>> path = pathlib.Path(tempfile.mkdtemp()) / "path.npz"
    >>> sp.save_npz(path, sp.coo_array(([5.0, 7.0], ([0, 1], [1, 2])), shape=(4, 4)))
    >>> print(read_npz(path).report)
    path.npz: 4 vertices; 2 edges read, 2 stored
    """
    text = load_packed(path, progress)
    with text.ranks.together():
        edges = npz_edges(text)
        csr = tidy(edges, drop_self_loops=drop_self_loops, symmetrize=symmetrize, dup_op=dup_op, dtype=dtype)
    return build_matrix(csr, order)


def npz_edges(text: Text) -> Edges:
    """The entries of the file as they stand there."""
    arrays = _Arrays(text)
    layout = arrays.word("format")
    if layout not in ARRAYS:
        raise arrays.error("format", f"got {layout[:20]!r}, expected one of {', '.join(ARRAYS)}")
    nrows, ncols = arrays.shape()
    data = arrays.numbers("data", {"bsr": 3, "dia": 2}.get(layout, 1), "biuf", shared=True)
    first, *second = (arrays.numbers(name, 1, "iu", shared=name not in WHOLE) for name in ARRAYS[layout])
    text.check_room(None, max(nrows, ncols))
    if layout == "coo":
        rows, cols, values = first, second[0], data
        arrays.check_lengths("row", rows.size == cols.size == values.size)
    elif layout == "dia":
        rows, cols, values = _diagonals(arrays, first, data, nrows, ncols)
    else:
        rows, cols, values = _compressed(arrays, layout, first, second[0], data, nrows, ncols)
    names = ("row", "col") if layout == "coo" else ("indices", "indices")
    if layout != "dia":
        for ids, count, name in zip((rows, cols), (nrows, ncols), names):
            if ids.size and (ids.min() < 0 or ids.max() >= count):
                at = int(((ids < 0) | (ids >= count)).argmax())
                raise arrays.error(name, f"got index {ids[at]}, expected {f'0..{count - 1}' if count else 'none'}")
    iso = values.dtype == np.bool_ and all(text.ranks.gather(bool(values.all())))
    before = text.ranks.before(rows.size)
    return Edges(
        rows.astype(np.int64),
        cols.astype(np.int64),
        np.True_ if iso else values,
        nrows,
        ncols,
        text.name,
        lambda entry, message: text.error(None, message if entry is None else f"entry {before + entry}: {message}"),
        labels=arrays.labels(max(nrows, ncols)),
        ranks=text.ranks,
    )


def _compressed(arrays: _Arrays, layout: str, indices, indptr, data, nrows: int, ncols: int):
    """Rows, columns and values of csr, csc and bsr."""
    high, wide = (data.shape[1:] if layout == "bsr" else (1, 1))
    if high * wide == 0 or nrows % high or ncols % wide:
        raise arrays.error("data", f"blocks of {high} x {wide} do not fill {nrows} x {ncols}")
    major = ncols if layout == "csc" else nrows // high
    arrays.check_lengths("indices", indices.size == data.shape[0])
    indptr = indptr.astype(np.int64)
    ranks = arrays.text.ranks
    before, count = ranks.before(indices.size), sum(ranks.gather(indices.size))
    fits = indptr.size == major + 1 and indptr[0] == 0 and indptr[-1] == count
    if not fits or (np.diff(indptr) < 0).any():
        raise arrays.error("indptr", f"expected {major + 1:,} numbers that rise from 0 to {count:,}")
    own = np.repeat(np.arange(major), np.diff(indptr.clip(before, before + indices.size)))
    if layout == "csc":
        return indices, own, data
    if layout == "csr":
        return own, indices, data
    count = ncols // wide
    if indices.size and (indices.min() < 0 or indices.max() >= count):
        raise arrays.error("indices", f"expected numbers in 0..{count - 1}")
    down, across = np.divmod(np.arange(high * wide), wide)
    rows = (own[:, None] * high + down).ravel()
    cols = (indices.astype(np.int64)[:, None] * wide + across).ravel()
    return rows, cols, data.reshape(-1)


def _diagonals(arrays: _Arrays, offsets, data, nrows: int, ncols: int):
    """Rows, columns and values of dia: column j of the k-th row of data lies on diagonal offsets[k]."""
    first, last = arrays.text.ranks.share(offsets.size)
    arrays.check_lengths("offsets", last - first == data.shape[0])
    if np.unique(offsets).size != offsets.size:
        raise arrays.error("offsets", "a diagonal stands there twice")
    limit = np.iinfo(np.int64).max // 2
    if offsets.size and (offsets.min() < -limit or offsets.max() > limit):
        raise arrays.error("offsets", f"expected numbers in {-nrows}..{ncols}")
    cols = np.broadcast_to(np.arange(data.shape[1]), data.shape)
    rows = cols - offsets[first:last].astype(np.int64)[:, None]
    inside = (rows >= 0) & (rows < nrows) & (cols < ncols) & (data != 0)  # as SciPy has it, zeros are filling
    return rows[inside], cols[inside], data[inside]


class _Arrays:
    """The arrays of an archive, each read when it is asked for, after its size was checked."""

    def __init__(self, text: Text):
        self.text = text
        shared = isinstance(text, Packed)
        self.size = os.path.getsize(text.path) if shared else len(text.data)
        try:
            self.archive = zipfile.ZipFile(text.path if shared else io.BytesIO(text.data))
            self.members = {info.filename.removesuffix(".npy"): info for info in self.archive.infolist()}
        except (zipfile.BadZipFile, ValueError, NotImplementedError, EOFError, OSError) as error:
            raise text.error(None, f"this is not a .npz file ({error})") from error

    def error(self, name: str, message: str) -> FormatError:
        """The error that points at an array."""
        return self.text.error(None, f"array {name!r}: {message}")

    def check_lengths(self, name: str, agree: bool) -> None:
        """Raise unless arrays agree in length."""
        if not agree:
            raise self.error(name, "its length is not that of the other arrays")

    def get(self, name: str, shared: bool = False) -> np.ndarray:
        """An array, whatever its type; if it is `shared`, this process's share of its rows."""
        if name not in self.members:
            raise self.text.error(None, f"there is no array {name!r}; {NOT_OURS}")
        info = self.members[name]
        if info.file_size > SQUEEZED * self.size or not self.text.fits(info.file_size):
            raise self.error(name, f"{info.file_size:,} bytes are more than the file or the memory can hold")
        shared = shared and self.text.ranks.count > 1
        try:
            with self.archive.open(info) as file:
                version = np.lib.format.read_magic(file)
                readers = {(1, 0): np.lib.format.read_array_header_1_0, (2, 0): np.lib.format.read_array_header_2_0}
                if version not in readers:
                    raise ValueError(f"version {version[0]}.{version[1]} of NumPy's format")
                shape, by_columns, dtype = readers[version](file)
                if dtype.hasobject:
                    raise self.error(name, "it holds pickled Python objects, which are not read")
                count, held = math.prod(shape), info.file_size - file.tell()
                if any(length < 0 for length in shape) or count * dtype.itemsize != held:
                    raise self.error(name, f"it promises {count:,} values of {dtype}, the file holds {held:,} bytes")
                first, last = self.text.ranks.share(shape[0]) if shared else (0, 0)
                row = held // max(shape[0], 1) if shared and not by_columns else 0
                _skip(file, first * row)
                data = file.read((last - first) * row if row else held)
        except FormatError:
            raise
        except (*DAMAGE, zipfile.BadZipFile, zlib.error) as error:
            raise self.error(name, f"it is damaged ({str(error)[:80]})") from error
        if count * dtype.itemsize == 0:
            return np.zeros(tuple(min(length, 1 << 32) if 0 in shape else 1 for length in shape), dtype)
        if row:
            shape = (last - first, *shape[1:])
        values = np.frombuffer(data, dtype, math.prod(shape))
        values = values.reshape(shape, order="F" if by_columns else "C")
        values = values[first:last] if shared and not row else values
        return values.astype(dtype.newbyteorder("="), copy=False)

    def word(self, name: str) -> str:
        """A text."""
        found = self.get(name)
        if found.dtype.kind not in "SU" or found.size != 1:
            raise self.error(name, f"expected a word; {NOT_OURS}")
        word = found.reshape(-1)[0]
        return word.decode("utf-8", "replace") if isinstance(word, bytes) else str(word)

    def numbers(self, name: str, ndim: int, kinds: str, shared: bool = False) -> np.ndarray:
        """Numbers of these kinds; the own ones if they are `shared`."""
        found = self.get(name, shared)
        if found.dtype.kind not in kinds or found.ndim != ndim or found.dtype.itemsize > 8 or found.dtype == np.float16:
            what = "integers" if kinds == "iu" else "real numbers"
            raise self.error(name, f"got {found.dtype} of {found.ndim} dimensions, expected {what} of {ndim}")
        return found

    def shape(self) -> tuple[int, int]:
        """Rows and columns."""
        found = self.numbers("shape", 1, "iu").tolist()
        if len(found) != 2 or not all(0 <= length < 2**62 for length in found):
            raise self.error("shape", f"got {found[:4]}, expected two numbers, 0 or more")
        return found[0], found[1]

    def labels(self, count: int) -> np.ndarray | None:
        """Names of the vertices, if we wrote the file."""
        if "labels" not in self.members:
            return None
        found = self.get("labels")
        if found.shape != (count,) or found.dtype.kind not in "iuU":
            got = f"got {found.dtype} of shape {found.shape}"
            raise self.error("labels", f"{got}, expected {count:,} integers or texts")
        if (different := np.unique(found).size) != count:
            raise self.error("labels", f"it names {different:,} different vertices, there are {count:,}")
        return found.astype(object) if found.dtype.kind == "U" else found


def _skip(file, count: int) -> None:
    """Read on without keeping: what was packed must be unpacked to be passed over."""
    while count:
        passed = len(file.read(min(count, PIECE)))
        if not passed:
            raise EOFError("it ends too early")
        count -= passed


# ---- writing --------------------------------------------------------------------
def npz_file(indptr, indices, values, shape, labels) -> bytes:
    """The file of a matrix that is given as CSR."""
    arrays = {"indices": indices, "indptr": indptr, "format": np.array(b"csr"), "shape": np.array(shape, np.int64)}
    arrays |= {"data": values, "_is_array": np.array(True)}
    names = checked_labels(labels, shape)
    if names is not None:
        arrays["labels"] = names.astype(str) if names.dtype == object else names
    buffer = io.BytesIO()
    np.savez_compressed(buffer, **arrays)
    return buffer.getvalue()
