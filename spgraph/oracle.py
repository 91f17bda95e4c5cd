"""Run one program text on spgraph and on python-graphblas, and compare the answers.

python-graphblas wraps SuiteSparse:GraphBLAS, a mature implementation of the same specification. A
program that keeps to the shared names means the same on both, so an algorithm of yours can be checked
without writing it twice: see `check`. python-graphblas is imported when it is first needed;
``pip install ".[test]"`` in a copy of the repository brings it. Test suites get this module as the
pytest fixture ``oracle``.

Values compare as follows: structure, shape and dtype always exactly; integers and booleans exactly;
floating-point values within a tolerance, because sums may be added in another order; NaN equals NaN.
Indices are int64 in spgraph and uint64 in python-graphblas: a bare NumPy array of int64 agrees with
one of uint64 of the same numbers.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

from spgraph._oracle_compare import Entries, OracleMismatch, Rule, compare_answers
from spgraph._oracle_text import counterpart, engine_of, installed, load_engine, retarget

__all__ = [
    "Entries",
    "OracleMismatch",
    "available",
    "check",
    "compare",
    "from_graphblas",
    "run",
    "to_graphblas",
]

ENGINE_PARAMETERS = ("gb", "sg", "engine")


def available() -> bool:
    """Whether python-graphblas is installed.

    Examples
    --------
    >>> from spgraph import oracle
    >>> oracle.available()
    True
    """
    return installed()


def to_graphblas(x: Any) -> Any:
    """Convert to python-graphblas.

    Parameters
    ----------
    x : object
        A Matrix, Vector, Scalar or expression, a SciPy sparse matrix (its duplicates are summed, as
        SciPy has it), an operator, a dtype, or a tuple, list or dict of these. Anything else is
        returned as it is.

    Examples
    --------
    >>> import spgraph as sg
    >>> v = sg.Vector.from_coo([0, 2], [1.5, 2.5], size=4)
    >>> sg.oracle.to_graphblas(v).to_dict()
    {0: 1.5, 2: 2.5}
    """
    return counterpart(x, "graphblas")


def from_graphblas(x: Any) -> Any:
    """Convert from python-graphblas to spgraph: the inverse of `to_graphblas`, for the same things.

    Examples
    --------
    >>> import graphblas as gb
    >>> import spgraph as sg
    >>> v = gb.Vector.from_coo([0, 2], [1.5, 2.5], size=4)
    >>> sg.oracle.from_graphblas(v).dtype.name
    'FP64'
    """
    return counterpart(x, "spgraph")


def run(algorithm: Callable[..., Any], engine: str, *args: Any, **kwargs: Any) -> Any:
    """Run a program text under one engine and return what it returns.

    Parameters
    ----------
    algorithm : function
        See `check`.
    engine : {"spgraph", "graphblas"}
    *args, **kwargs
        Given to the algorithm, converted to the engine. They are copies: the caller's objects stay
        as they are.

    Examples
    --------
    >>> import spgraph as sg
    >>> def out_degree(gb, A):
    ...     return A.reduce_rowwise(gb.monoid.plus).new()
    >>> A = sg.Matrix.from_coo([0, 0, 1], [1, 2, 0], 1, nrows=3, ncols=3)
    >>> sg.oracle.run(out_degree, "graphblas", A).to_dict()
    {0: 2, 1: 1}
    """
    module = load_engine(engine)
    args, kwargs = counterpart((args, kwargs), engine, copy=True)
    if _takes_engine(algorithm):
        return algorithm(module, *args, **kwargs)
    return retarget(algorithm, engine)(*args, **kwargs)


def check(
    algorithm: Callable[..., Any],
    *args: Any,
    equal: str | Callable[[Any, Any], bool] = "close",
    rtol: float | None = None,
    atol: float = 0.0,
    valid: Callable[..., Any] | None = None,
    **kwargs: Any,
) -> Any:
    """Run an algorithm on spgraph and on python-graphblas; both must answer the same.

    Parameters
    ----------
    algorithm : function
        Either takes the engine as its first parameter, named ``gb``, ``sg`` or ``engine``; or is an
        ordinary function that refers to spgraph (or graphblas) by global names such as ``sg``,
        ``Matrix`` or ``semiring``. Of the second kind a copy runs in which these names, and those in
        helper functions of the same package, mean the other engine. Not seen through: imports inside
        a function's body (they raise), methods of classes, ``global`` statements (they write to the
        copy's globals), helpers called through their module (``helpers.f(A)``), and functions of
        other packages, which run as they are.
    *args, **kwargs
        Given to the algorithm, converted to each engine: objects and operators of either engine,
        SciPy sparse matrices (they become a Matrix), and tuples, lists and dicts of them. NumPy
        arrays and the rest go as they are. Each engine gets copies of its own.
    equal : {"close", "exact"} or callable
        How values compare: floating-point ones within `rtol` and `atol`, or exactly. A callable is
        called with spgraph's answer and the oracle's (converted to spgraph's objects) and tells
        whether they agree.
    rtol, atol : float, optional
        ``abs(got - wanted) <= atol + rtol * abs(wanted)``. By default rtol is 1e-5 for FP32 and
        1e-9 for FP64.
    valid : callable, optional
        For answers that are not unique, such as the parents of a BFS. ``valid(answer, *args,
        **kwargs)`` is called on each engine's answer (as spgraph's objects), and returns False or
        raises AssertionError for a wrong one. The two answers are then not compared with each other.

    Returns
    -------
    object
        spgraph's answer.

    Raises
    ------
    OracleMismatch
        If the answers differ, if one is not valid, or if one engine raises and the other answers.
        Where both raise, spgraph's exception is raised.
    ImportError
        If python-graphblas is not installed.

    Examples
    --------
    >>> import spgraph as sg
    >>> from spgraph import semiring
    >>> def after_two_steps(A, source):
    ...     v = sg.Vector.from_coo([source], [True], size=A.nrows)
    ...     return v.vxm(A, semiring.any_pair).vxm(A, semiring.any_pair).new()
    >>> A = sg.Matrix.from_coo([0, 1, 2], [1, 2, 3], True, nrows=4, ncols=4)
    >>> sg.oracle.check(after_two_steps, A, 0).nvals
    1
    """
    load_engine("graphblas")
    name = getattr(algorithm, "__name__", "algorithm")
    got, got_error = _attempt(algorithm, "spgraph", args, kwargs)
    wanted, wanted_error = _attempt(algorithm, "graphblas", args, kwargs)
    if got_error is not None or wanted_error is not None:
        raise _error_report(name, got_error, wanted_error)
    if valid is not None:
        _check_valid(valid, name, got, "spgraph", args, kwargs)
        _check_valid(valid, name, from_graphblas(wanted), "python-graphblas", args, kwargs)
    elif callable(equal):
        wanted = from_graphblas(wanted)
        if not equal(got, wanted):
            raise OracleMismatch(f"{name}: {equal} is not true of\n  got {got!r}\n  wanted {wanted!r}")
    else:
        compare(got, wanted, equal=equal, rtol=rtol, atol=atol, name=name)
    return got


def compare(
    got: Any,
    wanted: Any,
    *,
    equal: str = "close",
    rtol: float | None = None,
    atol: float = 0.0,
    name: str = "compare",
) -> None:
    """Compare two answers, of whichever engine; raise `OracleMismatch` at the first difference.

    Parameters
    ----------
    got, wanted : object
        A Matrix, Vector, Scalar, expression, SciPy sparse matrix, NumPy array, number, string, None,
        or a tuple, list, dict or dataclass of these.
    equal : {"close", "exact"}
    rtol, atol : float, optional
        See `check`.
    name : str
        What the report begins with.

    Examples
    --------
    >>> import spgraph as sg
    >>> u = sg.Vector.from_coo([0, 2], [1, 2], size=3)
    >>> v = sg.Vector.from_coo([0, 2], [1, 5], size=3)
    >>> sg.oracle.compare(u, v)
    Traceback (most recent call last):
        ...
    spgraph.oracle.OracleMismatch: compare: result differs: a Vector of INT64, size 3, 2 entries
      1 of 2 common entries differ; 0 only in got, 0 only in wanted
      at (2,): got 2, wanted 5
    """
    if equal not in ("close", "exact"):
        raise ValueError(f'oracle.compare: equal is {equal!r}, but "close" or "exact" was wanted')
    compare_answers(got, wanted, "result", Rule(equal == "exact", rtol, atol, name))


def _takes_engine(algorithm: Callable[..., Any]) -> bool:
    first = next(iter(inspect.signature(algorithm).parameters.values()), None)
    return first is not None and first.name in ENGINE_PARAMETERS and first.default is first.empty


def _attempt(
    algorithm: Callable[..., Any], engine: str, args: tuple[Any, ...], kwargs: dict[str, Any]
) -> tuple[Any, Exception | None]:
    try:
        return _evaluated(run(algorithm, engine, *args, **kwargs)), None
    except Exception as error:
        return None, error


def _evaluated(answer: Any) -> Any:
    """The answer with its lazy expressions computed: what they raise belongs to their engine's turn."""
    if isinstance(answer, tuple) and hasattr(answer, "_fields"):
        return type(answer)(*map(_evaluated, answer))
    if type(answer) in (list, tuple):
        return type(answer)(map(_evaluated, answer))
    if isinstance(answer, dict):
        return {k: _evaluated(v) for k, v in answer.items()}
    if engine_of(answer) is not None and hasattr(answer, "shape") and hasattr(answer, "new"):
        return answer.new()
    return answer


def _error_report(name: str, got: Exception | None, wanted: Exception | None) -> Exception:
    if got is not None and wanted is not None:
        got.add_note(f"oracle: python-graphblas raises too: {type(wanted).__name__}: {wanted}")
        return got
    error = got or wanted
    raises, answers = ("spgraph", "python-graphblas") if got else ("python-graphblas", "spgraph")
    report = OracleMismatch(f"{name}: {raises} raises {type(error).__name__}, {answers} answers\n  {error}")
    report.__cause__ = error
    return report


def _check_valid(
    valid: Callable[..., Any],
    name: str,
    answer: Any,
    engine: str,
    args: tuple[Any, ...],
    kwargs: dict[str, Any],
) -> None:
    try:
        verdict = valid(answer, *args, **kwargs)
    except AssertionError as error:
        raise OracleMismatch(f"{name}: the answer of {engine} is not valid: {error}") from error
    if verdict is not None and not verdict:
        raise OracleMismatch(f"{name}: the answer of {engine} is not valid: {answer!r}")
