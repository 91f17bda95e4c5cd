"""The same text under another engine: what the oracle changes in a function before it runs it.

Two engines share one vocabulary: spgraph (with the operator package ``semirings``) and python-graphblas.
`counterpart` maps a value of one to the value of the same meaning in the other: modules, classes,
operators and dtypes by their names, matrices, vectors and scalars by their entries, containers item by
item. `retarget` does so for everything that a function's text refers to (globals, closure, defaults,
helpers of the same package) in a copy of the function.
"""

from __future__ import annotations

import dataclasses
import dis
import functools
import importlib
import importlib.util
import inspect
import sys
import types
from typing import Any

import numpy as np
import scipy.sparse

ROOTS = {"spgraph": "spgraph", "semirings": "spgraph", "graphblas": "graphblas"}
MISSING = (
    "spgraph.oracle compares with python-graphblas, which is not installed: "
    "pip install python-graphblas==2025.2.0 suitesparse-graphblas==9.4.5.0"
)
KINDS = ("indexunary", "unary", "binary", "select", "semiring", "monoid", "agg")


def installed() -> bool:
    return all(importlib.util.find_spec(name) is not None for name in ("graphblas", "suitesparse_graphblas"))


def load_engine(name: str) -> types.ModuleType:
    """The module of an engine: "spgraph" or "graphblas"."""
    if name not in ("spgraph", "graphblas"):
        raise ValueError(f'oracle: engine is {name!r}, but "spgraph" or "graphblas" was wanted')
    if name == "graphblas" and not installed():
        raise ImportError(MISSING)
    return importlib.import_module(name)


def engine_of(value: Any) -> str | None:
    """Which engine a value belongs to, or None. A module belongs by its name, anything else by its class."""
    if isinstance(value, types.ModuleType):
        path = value.__name__
    elif isinstance(value, type):
        path = value.__module__
    else:
        path = type(value).__module__
    return ROOTS.get(path.partition(".")[0])


def counterpart(value: Any, engine: str, *, copy: bool = False) -> Any:
    """The value of the same meaning in `engine`; a value that belongs to no engine is returned as it is.

    With `copy`, what an algorithm could change in place (objects of the engine, NumPy arrays, lists,
    dicts) is copied, so that each engine has its own.
    """
    if isinstance(value, dict):
        return {k: counterpart(v, engine, copy=copy) for k, v in value.items()}
    if isinstance(value, tuple) and hasattr(value, "_fields"):
        return type(value)(*(counterpart(v, engine, copy=copy) for v in value))
    if type(value) in (list, tuple, set, frozenset):
        return type(value)(counterpart(v, engine, copy=copy) for v in value)
    if scipy.sparse.issparse(value):
        return _matrix_from_scipy(value, engine)
    if isinstance(value, np.ndarray):
        return value.copy() if copy else value
    source = engine_of(value)
    if source is None:
        return value
    if isinstance(value, types.ModuleType):
        return value if source == engine else _module(value, engine)
    if isinstance(value, type):
        return value if source == engine else _named_class(value, engine)
    if hasattr(value, "dtype") and hasattr(value, "shape"):
        return _entries(value, engine, copy=copy)
    return value if source == engine else _named_object(value, engine)


def _module(module: types.ModuleType, engine: str) -> Any:
    found: Any = load_engine(engine)
    for part in module.__name__.split(".")[1:]:
        found = getattr(found, part, None)
        if found is None:
            raise AttributeError(f"oracle: the text uses {module.__name__}, which {engine} does not have")
    return found


def _named_class(cls: type, engine: str) -> type:
    module = load_engine(engine)
    for namespace in (module, module.exceptions, module.dtypes):
        found = getattr(namespace, cls.__name__, None)
        if isinstance(found, type):
            return found
    name = f"{cls.__module__}.{cls.__name__}"
    raise AttributeError(f"oracle: the text uses {name}, which {engine} does not have")


def _named_object(value: Any, engine: str) -> Any:
    module = load_engine(engine)
    if type(value).__name__ == "replace":
        return module.replace
    if hasattr(value, "np_type"):
        return getattr(module.dtypes, value.name)
    kind = operator_kind(value)
    if kind is None:
        raise AttributeError(f"oracle: {value!r} (a {type(value).__name__}) has no counterpart in {engine}")
    return _operator(value, kind, module)


def operator_kind(value: Any) -> str | None:
    """The namespace of an operator ("binary", "semiring", ...), or None for anything else."""
    name = type(value).__name__.lower()
    return next((kind for kind in KINDS if kind in name), None) if hasattr(value, "name") else None


def _operator(op: Any, kind: str, module: types.ModuleType) -> Any:
    base = getattr(op, "parent", None)
    if base is None:
        found = getattr(module, kind)
        for part in op.name.split("."):
            found = getattr(found, part, None)
        return found if found is not None else _register(op, kind, module)
    untyped = _operator(base, kind, module)
    type2 = getattr(op, "type2", op.type)
    return untyped[op.type.name] if type2 == op.type else untyped[op.type.name, type2.name]


@functools.cache
def _register(op: Any, kind: str, module: types.ModuleType) -> Any:
    """An operator of the user's own: registered in the other engine from the function it was made of."""
    engine = module.__name__
    register = getattr(module, kind).register_anonymous
    if kind == "semiring":
        return register(counterpart(op.monoid, engine), counterpart(op.binaryop, engine), op.name)
    if kind == "monoid":
        identities = {dtype.name: value for dtype, value in op.identities.items()}
        return register(counterpart(op.binaryop, engine), identities, op.name)
    function = getattr(op, "func", None) or getattr(op, "orig_func", None)
    if function is None:
        raise AttributeError(f"oracle: {kind}.{op.name} has no counterpart in {engine}")
    return register(_for_numba(function) if engine == "graphblas" else function, op.name)


def _for_numba(function: Any) -> Any:
    """The same function with `np.where` and `np.clip` in forms that Numba, which compiles python-graphblas's
    operators, knows of scalars too."""
    if not isinstance(function, types.FunctionType):
        return function
    import numba

    forms = {
        np.where: numba.njit(lambda condition, x, y: x if condition else y),
        np.clip: numba.njit(lambda x, low, high: min(max(x, low), high)),
    }
    numpy = types.ModuleType("numpy")
    numpy.__dict__.update({name: getattr(np, name) for name in np.__all__})
    for original, form in forms.items():
        setattr(numpy, original.__name__, form)

    def scalar_form(value: Any) -> Any:
        if value is np:
            return numpy
        return next((form for original, form in forms.items() if value is original), value)

    new = {name: scalar_form(value) for name, value in function.__globals__.items()}
    cells = tuple(types.CellType(scalar_form(cell.cell_contents)) for cell in function.__closure__ or ())
    return types.FunctionType(function.__code__, new, function.__name__, function.__defaults__, cells)


def _entries(value: Any, engine: str, *, copy: bool) -> Any:
    """A Matrix, Vector or Scalar (or an expression, evaluated) as an object of `engine`."""
    if hasattr(value, "new"):
        value = value.new()
    elif engine_of(value) == engine:
        return value.dup() if copy else value
    if engine_of(value) == engine:
        return value
    module = load_engine(engine)
    dtype = value.dtype.name
    if len(value.shape) == 0:
        return (
            module.Scalar(dtype)
            if value.is_empty
            else module.Scalar.from_value(value.dtype.np_type.type(value.value), dtype)
        )
    if len(value.shape) == 1:
        indices, values = value.to_coo()
        return module.Vector.from_coo(indices, values, dtype, size=value.size)
    indptr, columns, values = value.to_csr()
    return module.Matrix.from_csr(indptr, columns, values, dtype, nrows=value.nrows, ncols=value.ncols)


def _matrix_from_scipy(matrix: Any, engine: str) -> Any:
    csr = scipy.sparse.csr_array(matrix, copy=True)
    csr.sum_duplicates()
    nrows, ncols = csr.shape
    return load_engine(engine).Matrix.from_csr(csr.indptr, csr.indices, csr.data, nrows=nrows, ncols=ncols)


@dataclasses.dataclass
class _Retarget:
    """One function and what it refers to, rebound to `engine`. Every function is copied once."""

    engine: str
    package: str
    globals_: dict[int, dict[str, Any]] = dataclasses.field(default_factory=dict)
    functions: dict[int, types.FunctionType] = dataclasses.field(default_factory=dict)

    def value(self, value: Any) -> Any:
        if isinstance(value, types.FunctionType):
            return self.function(value)
        if isinstance(value, functools.partial):
            keywords = {k: self.value(v) for k, v in value.keywords.items()}
            return functools.partial(self.value(value.func), *map(self.value, value.args), **keywords)
        return counterpart(value, self.engine, copy=True)

    def function(self, function: types.FunctionType) -> types.FunctionType:
        owner = _owner(function)
        if owner not in (None, self.engine):
            name = f"{function.__module__}.{function.__qualname__}"
            raise AttributeError(f"oracle: the text uses {name}, which {self.engine} does not have")
        if owner is not None or _package(function) != self.package:
            return function
        if id(function) in self.functions:
            return self.functions[id(function)]
        old = function.__globals__
        new = self.globals_.setdefault(id(old), dict(old))
        cells = tuple(types.CellType() for _ in function.__closure__ or ())
        copy = types.FunctionType(function.__code__, new, function.__name__, None, cells)
        self.functions[id(function)] = copy
        copy.__defaults__ = self.value(function.__defaults__)
        copy.__kwdefaults__ = self.value(function.__kwdefaults__)
        copy.__qualname__ = function.__qualname__
        copy.__module__ = function.__module__
        for name in _global_names(function.__code__):
            if name in old:
                new[name] = self.value(old[name])
        for cell, source in zip(cells, function.__closure__ or ()):
            if _filled(source):
                cell.cell_contents = self.value(source.cell_contents)
        return copy


def _package(function: types.FunctionType) -> str:
    return str(function.__module__).partition(".")[0]


def _owner(function: types.FunctionType) -> str | None:
    """The engine whose own function this is; not one of a doctest that bears a module's name."""
    module = sys.modules.get(str(function.__module__))
    own = module is not None and vars(module) is inspect.unwrap(function).__globals__
    return ROOTS.get(_package(function)) if own else None


def _filled(cell: types.CellType) -> bool:
    try:
        cell.cell_contents  # noqa: B018
    except ValueError:
        return False
    return True


def _global_names(code: types.CodeType) -> set[str]:
    """The global names that a function's text reads, its inner functions included."""
    names = set()
    for step in dis.get_instructions(code):
        if step.opname in ("LOAD_GLOBAL", "LOAD_NAME"):
            names.add(step.argval)
        elif step.opname == "IMPORT_NAME" and step.argval.partition(".")[0] in ROOTS:
            raise ValueError(
                f"oracle: {code.co_name} imports {step.argval} inside its body, where it can't be replaced "
                "by the other engine; import it at the top of the module or take it as the first "
                "parameter, named gb"
            )
    for constant in code.co_consts:
        if isinstance(constant, types.CodeType):
            names |= _global_names(constant)
    return names


def retarget(function: Any, engine: str) -> Any:
    """A copy of `function` whose text means `engine` wherever it says spgraph, semirings or graphblas."""
    if isinstance(function, functools.partial):
        inner = retarget(function.func, engine)
        args, keywords = counterpart((function.args, function.keywords), engine)
        return functools.partial(inner, *args, **keywords)
    if not isinstance(function, types.FunctionType):
        raise TypeError(
            f"oracle: algorithm is a {type(function).__name__}, but a plain Python function was wanted "
            "(a method or a callable object can't be copied with other globals)"
        )
    return _Retarget(engine, _package(function)).function(function)
