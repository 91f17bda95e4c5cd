"""Loops that are written down once and then run whole: ``with sg.loop() as loop``.

Method: within the block statements (``w(mask) << expression``) are recorded instead of run, numbers that depend on
them (``v.nvals``, a Scalar's ``value``, ``loop.count``) stand for what they will be, and ``loop.until(condition)`` says
when to stop. On leaving the block the loop runs to its end. A search that only grows runs on a GPU without the host
between its levels (`spgraph.engine.loops_cuda`); all else runs statement by statement, as a loop of Python's would.
"""

from __future__ import annotations

import operator
import sys
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from spgraph import _recording, engine
from spgraph._plans import MxV
from spgraph.exceptions import InvalidValue
from spgraph.mask import ComplementedStructuralMask
from spgraph.vector import Vector

__all__ = ["Condition", "Loop", "Number", "loop", "nvals_later", "value_later"]


class Number:
    """A number that a loop will know when it runs.

    Comparisons give a `Condition`; sums, differences, products and quotients another Number.
    """

    __slots__ = ("_get", "_text", "of")
    __array_ufunc__ = None  # NumPy's numbers leave operators to this class

    def __init__(self, get: Callable[[], Any], text: str, of: Any = None):
        self._get = get
        self._text = text
        self.of = of  # the vector whose entries it counts, or the loop

    def __repr__(self) -> str:
        return f"<{self._text}, known when the loop runs>"

    def _refuse(self, what: str) -> Any:
        raise TypeError(
            f"{what}: {self._text} is known only when the loop runs; compare it in loop.until(...), or write it with <<"
        )

    def __bool__(self) -> bool:
        return self._refuse("bool")

    def __int__(self) -> int:
        return self._refuse("int")

    __index__ = __int__

    def __float__(self) -> float:
        return self._refuse("float")

    def _with(self, other: Any, function: Callable, sign: str, swapped: bool = False) -> Any:
        if not _is_number(other):
            return NotImplemented
        left, right = (other, self) if swapped else (self, other)
        return Number(lambda: function(_value(left), _value(right)), f"({_text(left)} {sign} {_text(right)})")

    def _compared(self, other: Any, function: Callable, sign: str) -> Any:
        if not _is_number(other):
            return NotImplemented
        return Condition((Comparison(self, function, other, sign),))

    def __eq__(self, other: object) -> Any:
        return self._compared(other, operator.eq, "==")

    def __ne__(self, other: object) -> Any:
        return self._compared(other, operator.ne, "!=")

    def __lt__(self, other: Any) -> Any:
        return self._compared(other, operator.lt, "<")

    def __le__(self, other: Any) -> Any:
        return self._compared(other, operator.le, "<=")

    def __gt__(self, other: Any) -> Any:
        return self._compared(other, operator.gt, ">")

    def __ge__(self, other: Any) -> Any:
        return self._compared(other, operator.ge, ">=")

    __hash__ = None  # type: ignore[assignment]  # equality is a condition

    def __add__(self, other: Any) -> Any:
        return self._with(other, operator.add, "+")

    def __radd__(self, other: Any) -> Any:
        return self._with(other, operator.add, "+", swapped=True)

    def __sub__(self, other: Any) -> Any:
        return self._with(other, operator.sub, "-")

    def __rsub__(self, other: Any) -> Any:
        return self._with(other, operator.sub, "-", swapped=True)

    def __mul__(self, other: Any) -> Any:
        return self._with(other, operator.mul, "*")

    def __rmul__(self, other: Any) -> Any:
        return self._with(other, operator.mul, "*", swapped=True)

    def __truediv__(self, other: Any) -> Any:
        return self._with(other, operator.truediv, "/")

    def __rtruediv__(self, other: Any) -> Any:
        return self._with(other, operator.truediv, "/", swapped=True)


def nvals_later(counted: Any) -> Number:
    """How many entries a Vector or a Matrix has, as the loop that is recorded will know it."""
    if hasattr(counted, "_plan"):
        _recording.refuse("nvals", "write the expression into an object, and compare that one's nvals")
    return Number(lambda: counted.nvals, f"{counted.name}.nvals", counted)


def value_later(scalar: Any) -> Number:
    """The same for a Scalar's value."""
    return Number(lambda: scalar.value, f"{scalar.name}.value")


def _is_number(x: Any) -> bool:
    return type(x) is Number or isinstance(x, (int, float, np.integer, np.floating))


def _value(x: Any) -> Any:
    """What a Number is now, and anything else itself."""
    return x._get() if type(x) is Number else x


def _text(x: Any) -> str:
    return x._text if type(x) is Number else str(x)


class Comparison(NamedTuple):
    """Two numbers and how they are compared; without an order it is any function of no arguments."""

    left: Any
    function: Callable
    right: Any
    sign: str

    def holds(self) -> bool:
        """Whether it does, now."""
        left, right = _value(self.left), _value(self.right)
        if left is None or right is None:
            raise InvalidValue(f"loop.until: {self} compares a Scalar without a value")
        return bool(self.function(left, right))

    def __str__(self) -> str:
        return f"{_text(self.left)} {self.sign} {_text(self.right)}"


class Condition:
    """When a loop ends: any of some comparisons. ``|``, ``&`` and ``~`` combine conditions."""

    __slots__ = ("any_of",)

    def __init__(self, any_of: tuple):
        self.any_of = any_of

    def holds(self) -> bool:
        """Whether it does, now."""
        return any(one.holds() for one in self.any_of)

    def __or__(self, other: Any) -> Any:
        return Condition((*self.any_of, *other.any_of)) if type(other) is Condition else NotImplemented

    def __and__(self, other: Any) -> Any:
        if type(other) is not Condition:
            return NotImplemented
        return Condition((_Told(lambda: self.holds() and other.holds(), f"({self._text()} and {other._text()})"),))

    def __invert__(self) -> Condition:
        return Condition((_Told(lambda: not self.holds(), f"not ({self._text()})"),))

    def __bool__(self) -> bool:
        raise TypeError(f"bool: {self._text()} is not known before the loop runs; give it to loop.until(...)")

    def _text(self) -> str:
        return " or ".join(map(str, self.any_of))

    def __repr__(self) -> str:
        return f"<{self._text()}, known when the loop runs>"


class _Told(NamedTuple):
    """A condition that is made of others."""

    function: Callable[[], bool]
    text: str

    def holds(self) -> bool:
        return self.function()

    def __str__(self) -> str:
        return self.text


class _Statement(NamedTuple):
    """A write, and where it stands in the program."""

    target: Any
    write: Callable
    args: tuple
    place: str

    def run(self) -> None:
        try:
            self.write(*(_value(arg) for arg in self.args))
        except Exception as error:
            error.add_note(f"in a statement of a loop: {self.place}")
            raise


class Loop:
    """A loop that is recorded, and run when its block ends; made by `loop`."""

    def __init__(self) -> None:
        self._statements: list[Any] = []
        self._until: Condition | None = None
        self._count = 0
        self._recording = False
        self._done = False

    def __repr__(self) -> str:
        if self._recording:
            return "<loop, being recorded>"
        return f"<loop, {self._count} iterations>" if self._done else "<loop, not yet recorded>"

    @property
    def count(self) -> Any:
        """Iterations that are finished: a `Number` within the block, afterwards an int."""
        return Number(lambda: self._count, "loop.count", self) if self._recording else self._count

    def until(self, condition: Condition) -> None:
        """End after the first iteration at whose end the condition holds; of several conditions, any.

        Parameters
        ----------
        condition : Condition
            A comparison of numbers that the loop knows, such as ``frontier.nvals == 0``, ``change.value < 1e-9`` or
            ``loop.count >= 20``, or several of them, combined with ``|``, ``&`` and ``~``.
        """
        if not self._recording:
            raise RuntimeError("loop.until: it was called outside the loop's block")
        if type(condition) is not Condition:
            raise TypeError(f"loop.until: got {condition!r}, wanted a condition such as frontier.nvals == 0")
        self._until = condition if self._until is None else self._until | condition

    def note(self, target: Any, write: Callable, args: tuple) -> None:
        """Record a write."""
        frame: Any = sys._getframe(1)
        while frame.f_back is not None and frame.f_globals.get("__name__", "").startswith("spgraph."):
            frame = frame.f_back
        self._statements.append(_Statement(target, write, args, f"{frame.f_code.co_filename}, line {frame.f_lineno}"))

    def __enter__(self) -> Loop:
        if self._recording or self._done:
            raise RuntimeError("sg.loop(): a loop is recorded once; make another one")
        self._recording = True
        _recording.begin(self)
        return self

    def __exit__(self, kind: Any, error: Any, trace: Any) -> None:
        _recording.end()
        self._recording = False
        if kind is not None:
            return
        if self._until is None:
            raise InvalidValue("sg.loop(): nothing says when to stop; call loop.until(...) within the block")
        if not self._statements:
            raise InvalidValue("sg.loop(): there is no statement in the block")
        self._done = True
        outer = _recording.recorder()
        if outer is not None:
            outer._statements.append(self)
        else:
            self.run()

    def run(self) -> None:
        """All iterations."""
        self._count = 0
        search = _search_of(self)
        while True:
            done = 0 if search is None else search.run(self._count)
            if not done:
                for statement in self._statements:
                    statement.run()
                done = 1
            self._count += done
            if self._until.holds():  # type: ignore[union-attr]
                return


def loop() -> Loop:
    """A loop that is written down first, and then run whole.

    Within ``with sg.loop() as loop`` statements are recorded instead of run. ``v.nvals`` and a Scalar's ``value`` are
    numbers that are known later, ``loop.count`` is how many iterations are finished, and ``loop.until(condition)`` says
    after which iteration to stop. When the block ends, the loop runs; then ``loop.count`` is an int. A loop within
    a loop is run to its end in each iteration of the outer one.

    On a GPU a search that only grows, as below, runs from its first to its last level without Python, which saves some
    0.1 ms per level. Other loops run statement by statement.

    Returns
    -------
    Loop

    Raises
    ------
    InvalidValue
        When the block ends: if there is no `until`, or no statement.
    RuntimeError
        If a value is asked for that no statement has computed yet.

    Examples
    --------
    >>> import spgraph as sg
    >>> A = sg.generators.path(5)
    >>> parent = sg.Vector.from_coo([0], 0, size=5)
    >>> frontier = parent.dup()
    >>> with sg.loop() as loop:
    ...     parent(~parent.S, changed=frontier) << frontier.vxm(A, sg.semiring.any_secondi)
    ...     loop.until(frontier.nvals == 0)
    >>> loop.count, parent.to_dense()
    (5, array([0, 0, 1, 2, 3]))
    """
    return Loop()


class _Search:
    """C<!s(C)> = u f A with u = what is new, until nothing is, or so often."""

    def __init__(self, out: Vector, product: MxV, limits: list[Number]):
        self.out, self.product, self.limits = out, product, limits
        self.known = False  # u's values are C's

    def run(self, done: int) -> int:
        """As many iterations as can be run at once; how many that were."""
        most = min((_value(limit) for limit in self.limits), default=None)
        product = self.product
        steps = 0
        if most is None or most > done:
            found: list[int] = []

            def grow() -> None:
                A, u, left = product.A._block, product.u._block, None if most is None else most - done
                found.append(
                    engine.grow(
                        self.out._block, A, product.transposed, u, product.op, product.flipped, self.known, left
                    )
                )

            self.out._on_device(grow)
            steps = found[0]
        self.known = True  # after this iteration, however it is run
        return steps


def _search_of(loop: Loop) -> _Search | None:
    """The loop as such a search, if it is one."""
    if len(loop._statements) != 1 or type(loop._statements[0]) is not _Statement:
        return None
    out, _, args, _ = loop._statements[0]
    if type(out) is not Vector or len(args) != 6:
        return None
    value, mask, accum, replace, changed, input_mask = args
    product = getattr(value, "_plan", None)
    if type(product) is not MxV or accum is not None or replace or input_mask is not None:
        return None
    if type(mask) is not ComplementedStructuralMask or mask.parent is not out:
        return None
    if changed is not product.u or changed is out:
        return None
    limits, empties = [], 0
    for one in loop._until.any_of:  # type: ignore[union-attr]
        if type(one) is not Comparison or type(one.left) is not Number or type(one.right) is Number:
            return None
        if one.left.of is changed and (one.sign, one.right) in (("==", 0), ("<", 1), ("<=", 0)):
            empties += 1
        elif one.left.of is loop and one.sign in (">=", "==") and one.right == int(one.right):
            limits.append(one.right)
        else:
            return None
    return _Search(out, product, limits) if empties else None
