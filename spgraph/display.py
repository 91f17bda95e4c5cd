"""How objects look: ``repr`` as text, ``_repr_html_`` for notebooks.

Small objects are shown whole, as a grid in which absent entries are blank; of large ones a vector shows
its first and last entries, a matrix its corners. Showing changes nothing and never starts heavy work: an
expression is computed for display only when its operands are small, and the value is not kept.
"""

from __future__ import annotations

from html import escape
from typing import Any

import numpy as np

from spgraph._cells import Grid, matrix_grid, number_text, vector_grid
from spgraph._recording import recorder, recorders
from spgraph._room import making

__all__ = [
    "Names",
    "expression_html",
    "expression_text",
    "mask_html",
    "mask_text",
    "matrix_html",
    "matrix_text",
    "scalar_html",
    "scalar_text",
    "vector_html",
    "vector_text",
]

_KINDS = ("Scalar", "Vector", "Matrix")
SMALL = 1000  # entries of all operands: up to here an expression is computed for display


class Names:
    """Gives the objects of one formula their names: the caller's, else v, w, ... and A, B, ...

    Examples
    --------
    >>> import spgraph as sg
    >>> names = Names()
    >>> u, v = sg.Vector(int, 3), sg.Vector(int, 3, name="rank")
    >>> names.of(u), names.of(v), names.of(u)
    ('v', 'rank', 'v')
    """

    _letters = ("stxyz", "vwuxyz", "ABCDEF")

    def __init__(self) -> None:
        self._given: dict[int, str] = {}
        self._counts = [0, 0, 0]

    def of(self, x: Any) -> str:
        """The name of a Scalar, Vector or Matrix."""
        if x._name:
            return x._name
        name = self._given.get(id(x))
        if name is None:
            letters, count = self._letters[x.ndim], self._counts[x.ndim]
            self._counts[x.ndim] += 1
            name = self._given[id(x)] = letters[count] if count < len(letters) else f"{letters[0]}{count}"
        return name


# ---- headers ----------------------------------------------------------------------------
def _count(number: int) -> str:
    return f"{number:,} entry" if number == 1 else f"{number:,} entries"


def shape_text(shape: tuple[int, ...]) -> str:
    """``size 4`` or ``3 x 3``."""
    return f"size {shape[0]:,}" if len(shape) == 1 else f"{shape[0]:,} x {shape[1]:,}"


def _vector_facts(v: Any) -> list[str]:
    block = v._block
    storage = f"{block.format}{' (one value)' if block.iso and block.nvals else ''}"
    order = f"{block.partition.name} order"
    return [v.dtype.name, shape_text(v.shape), _count(block.nvals), storage, order, *_place(v)]


def _place(x: Any) -> list[str]:
    """The device, if it is not the CPU."""
    return [] if x.device == "cpu" else [f"on {x.device}"]


def _matrix_facts(A: Any) -> list[str]:
    block = A._block
    storage = f"csr{' (one value)' if block.iso and block.nvals else ''}"
    owner = A.T if A._is_transposed else A
    facts = [A.dtype.name, shape_text(A.shape), _count(block.nvals), storage, f"{owner.order} order", *_place(A)]
    return [*facts, "symmetric"] if block.symmetric else facts


def _text(title: str, facts: list[str], grid: Grid | None, notes: tuple[str, ...] = ()) -> str:
    lines = [f"{title}  {', '.join(facts)}"]
    if grid is not None:
        lines += grid.lines()
    lines += notes
    return "\n".join(lines)


def _html(title: str, facts: list[str], grid: Grid | None, notes: tuple[str, ...] = ()) -> str:
    parts = [
        '<div class="spgraph">',
        f'<div style="margin-bottom:.4em"><b>{escape(title)}</b> &nbsp;<span style="opacity:.7">'
        f"{escape(', '.join(facts))}</span></div>",
    ]
    if grid is not None:
        parts.append(grid.html())
    parts += [f'<div style="opacity:.7">{escape(note)}</div>' for note in notes]
    return "\n".join([*parts, "</div>"])


# ---- objects ----------------------------------------------------------------------------
def _title(x: Any, kind: str) -> str:
    return f"{x._name}  {kind}" if x._name else kind


def _unknown(thing: Any, show) -> str:
    """What there is to say while a loop is recorded; nothing at other times."""
    if not recorders or recorder() is None:
        return ""
    return show(thing._formula(Names()), ["known when the loop runs"], None)


def _vector(v: Any, show):
    with making("print", v._device):
        return show(_title(v, "Vector"), _vector_facts(v), vector_grid(v))


def _matrix(A: Any, show):
    title = _title(A, "Matrix") if not A._is_transposed else f"{A.name}  TransposedMatrix"
    with making("print", A._device):
        return show(title, _matrix_facts(A), matrix_grid(A))


def vector_text(v: Any) -> str:
    """Text of a Vector."""
    return _unknown(v, _text) or _vector(v, _text)


def vector_html(v: Any) -> str:
    """HTML of a Vector."""
    return _unknown(v, _html) or _vector(v, _html)


def matrix_text(A: Any) -> str:
    """Text of a Matrix or TransposedMatrix."""
    return _unknown(A, _text) or _matrix(A, _text)


def matrix_html(A: Any) -> str:
    """HTML of a Matrix or TransposedMatrix."""
    return _unknown(A, _html) or _matrix(A, _html)


def _scalar_value(s: Any) -> str:
    return "no value" if s._value is None else number_text(s._value)


def scalar_text(s: Any) -> str:
    """Text of a Scalar."""
    return _unknown(s, _text) or f"{_title(s, 'Scalar')}  {s.dtype.name}, {_scalar_value(s)}"


def scalar_html(s: Any) -> str:
    """HTML of a Scalar."""
    return _unknown(s, _html) or _html(_title(s, "Scalar"), [s.dtype.name, _scalar_value(s)], None)


# ---- masks ------------------------------------------------------------------------------
def _mask(mask: Any, show):
    parent = mask.parent
    kind = "structural" if mask.structure else "value"
    facts = [f"{'complemented ' if mask.complement else ''}{kind} mask", shape_text(parent.shape)]
    small = int(np.prod(parent.shape)) <= SMALL
    grid = None
    if small:
        allowed = mask.new()
        facts.append(f"allows {allowed.nvals} of {int(np.prod(parent.shape))} positions")
        grid = vector_grid(allowed) if parent.ndim == 1 else matrix_grid(allowed)
    return show(mask._formula(Names()), facts, grid)


def mask_text(mask: Any) -> str:
    """Text of a mask: where it allows writing."""
    return _unknown(mask, _text) or _mask(mask, _text)


def mask_html(mask: Any) -> str:
    """HTML of a mask."""
    return _unknown(mask, _html) or _mask(mask, _html)


# ---- expressions ------------------------------------------------------------------------
_SLOTS = ("A", "B", "u", "v", "operand", "left", "right", "source", "parent", "mask")


def work(x: Any) -> int:
    """Entries of all operands of an object, mask, plan or expression; nothing is computed for it."""
    if hasattr(x, "complement"):
        return work(x.parent)
    if not hasattr(x, "_formula"):  # a plan, or what is no operand
        own = sum(work(getattr(x, name)) for name in _SLOTS if hasattr(x, name))
        return own + sum(map(work, getattr(x, "operands", ())))
    if hasattr(x, "_plan") and x._value is None:
        return work(x._plan)
    return x._block.nvals if x.ndim else 1


def _computed(expression: Any):
    """The value of an expression, if it is at hand or cheap to get; else None."""
    if expression._value is not None:
        return expression._value
    if work(expression) > SMALL or int(np.prod(expression.shape)) > 100 * SMALL:
        return None
    value = expression._empty(expression.dtype, expression.shape, None)
    value._update(expression)
    return value


def _expression(expression: Any, show):
    title = f"{_KINDS[expression.ndim]}Expression  {expression._formula(Names())}"
    try:
        facts = [expression.dtype.name]
    except TypeError as error:  # u | v of types that have no default operator
        return show(title, [shape_text(expression.shape)] if expression.shape else [], None, (str(error),))
    if expression.shape:
        facts.append(shape_text(expression.shape))
    value = _computed(expression)
    if value is None:
        return show(title, facts, None, ("not computed yet: call .new() or write w << expression",))
    if value.ndim == 0:
        return show(title, [*facts, _scalar_value(value)], None)
    facts.append(_count(value.nvals))
    return show(title, facts, vector_grid(value) if value.ndim == 1 else matrix_grid(value))


def expression_text(expression: Any) -> str:
    """Text of an expression: its formula, and its value if that is cheap."""
    return _unknown(expression, _text) or _expression(expression, _text)


def expression_html(expression: Any) -> str:
    """HTML of an expression."""
    return _unknown(expression, _html) or _expression(expression, _html)
