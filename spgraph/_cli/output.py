"""Write results to a file: one row for every vertex that has a value, under its own name."""

from __future__ import annotations

import os
import re

import numpy as np

from spgraph._cli.names import Names
from spgraph._cli.options import no_place
from spgraph.exceptions import InvalidValue
from spgraph.exchange.launch import rank
from spgraph.vector import Vector

__all__ = ["SUFFIXES", "check_folder", "check_names", "check_path", "write"]


def check_path(path: str) -> str:
    """The suffix of `path`, or an error before anything is computed."""
    suffix = os.path.splitext(path)[1].lower()
    if suffix not in SUFFIXES:
        raise InvalidValue(f"--output: {path or repr(path)}: wanted a name that ends with {', '.join(SUFFIXES)}")
    check_folder("--output", path)
    return suffix


def check_folder(option: str, path: str) -> None:
    """An error before anything is computed, if there is no place for the file."""
    problem = no_place(path)
    if problem:
        raise InvalidValue(f"{option}: {problem}")


def check_names(path: str, names: Names) -> None:
    """An error before anything is computed, if the file cannot hold a vertex's name: .txt has no quotation marks."""
    if names.labels is None or check_path(path) != ".txt":
        return
    for label in map(str, names.labels.tolist()):
        if BREAKS.search(label):
            raise InvalidValue(f"--output: {path}: the vertex {label!r} has a tab or a line break in its name; wanted "
                               "a file that ends with .csv, .npy, .npz")  # fmt: skip


BREAKS = re.compile("[\t\r\n]")  # what ends a field or a row of .txt
VERTICES = {"parent", "component"}  # columns of vertices, which are written by their names


def write(path: str, vectors: dict[str, Vector], names: Names) -> int:
    """Write `vectors`, which have entries at the same vertices; returns the number of rows.

    Of several processes, the first writes.
    """
    columns: dict[str, np.ndarray] = {}
    for name, vector in vectors.items():
        vertices, values = vector.to_coo()
        columns.setdefault("vertex", _plain(names.all(vertices)))
        columns[name] = _plain(names.all(values)) if name in VERTICES else values
    if not rank():
        SUFFIXES[check_path(path)](path, columns)
    return int(columns["vertex"].size)


def _plain(labels: np.ndarray) -> np.ndarray:
    """Labels as integers or text: arrays of objects would have to be pickled."""
    if labels.dtype != object:
        return labels
    return labels.astype(np.int64) if all(isinstance(label, int) for label in labels) else labels.astype(str)


def _text(separator: str, head: str):
    def writer(path: str, columns: dict[str, np.ndarray]) -> None:
        with open(path, "w", encoding="utf-8", newline="") as file:
            file.write(head + separator.join(columns) + "\n")
            fields = [_fields(column, separator) for column in columns.values()]
            file.writelines(separator.join(row) + "\n" for row in zip(*fields))

    return writer


def _fields(column: np.ndarray, separator: str):
    """The texts of a column; in .csv, a name that holds a comma or a quotation mark is quoted."""
    texts = map(str, column.tolist())
    if column.dtype.kind == "U" and separator == ",":
        return ('"' + text.replace('"', '""') + '"' if set(text) & set(',"\r\n') else text for text in texts)
    return texts


def _npy(path: str, columns: dict[str, np.ndarray]) -> None:
    table = np.empty(columns["vertex"].size, [(name, column.dtype) for name, column in columns.items()])
    for name, column in columns.items():
        table[name] = column
    np.save(path, table)


def _npz(path: str, columns: dict[str, np.ndarray]) -> None:
    np.savez_compressed(path, **columns)  # type: ignore[arg-type]


SUFFIXES = {".txt": _text("\t", "# "), ".csv": _text(",", ""), ".npy": _npy, ".npz": _npz}
