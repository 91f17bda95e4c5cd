"""Loops that are written down once and then run whole: ``with sg.loop() as loop``.

Method: within the block statements (``w(mask) << expression``) are recorded instead of run, numbers that depend on
them (``v.nvals``, a Scalar's ``value``, ``loop.count``) stand for what they will be, and ``loop.until(condition)`` says
when to stop. On leaving the block the loop runs to its end. Searches that grow and relaxations run on a GPU without
the host between supersteps (`spgraph.engine.loops_cuda`); all else runs statement by statement, as Python's loops do.
"""

from __future__ import annotations

import functools
import operator
import sys
from collections.abc import Callable, Generator
from contextlib import closing
from typing import Any, NamedTuple

import numpy as np

from spgraph import _recording, binary, engine, monoid, semiring
from spgraph._plans import MxV, Plan
from spgraph.exceptions import InvalidValue
from spgraph.expression import Expression
from spgraph.mask import ComplementedStructuralMask, Mask, StructuralMask
from spgraph.scalar import SCALARS, Scalar
from spgraph.vector import Vector

__all__ = ["Condition", "Loop", "Number", "loop", "nvals_later", "value_later"]


KEPT = ("_value", "_expression")  # of an expression: what it has computed, and what it has made of itself


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

    def _now(self, what: str) -> Any:
        if _recording.recorder() is None:
            return self._get()
        raise TypeError(
            f"{what}: {self._text} is known only when the loop runs; compare it in loop.until(...), or write it with <<"
        )

    def __bool__(self) -> bool:
        return bool(self._now("bool"))

    def __int__(self) -> int:
        return int(self._now("int"))

    def __index__(self) -> int:
        return operator.index(self._now("int"))

    def __float__(self) -> float:
        return float(self._now("float"))

    def _with(self, other: Any, function: Callable, sign: str, swapped: bool = False) -> Any:
        if not _is_number(other):
            return NotImplemented
        left, right = (other, self) if swapped else (self, other)
        return Number(lambda: function(_value(left), _value(right)), f"({_text(left)} {sign} {_text(right)})")

    def _compared(self, other: Any, function: Callable, sign: str) -> Any:
        if not _is_number(other):
            raise TypeError(f"{self._text} {sign} ...: got {other!r}, wanted a number")
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

    def __neg__(self) -> Number:
        return Number(lambda: -self._get(), f"-{self._text}")

    def __abs__(self) -> Number:
        return Number(lambda: abs(self._get()), f"abs({self._text})")

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
    return Number(lambda: counted._block.nvals, f"{counted.name}.nvals", getattr(counted, "_matrix", counted))


def value_later(scalar: Any) -> Number:
    """The same for a Scalar's value."""
    return Number(lambda: scalar.value, f"{scalar.name}.value", scalar)


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
        left = self.left._get() if type(self.left) is Number else self.left
        right = self.right._get() if type(self.right) is Number else self.right
        if left is None or right is None:
            raise InvalidValue(f"loop.until: {self} compares a Scalar without a value")
        return bool(self.function(left, right))  # NaN compares as in Python

    def __str__(self) -> str:
        return f"{_text(self.left)} {self.sign} {_text(self.right)}"


class Condition:
    """When a loop ends: any of some comparisons. ``|``, ``&`` and ``~`` combine conditions."""

    __slots__ = ("any_of",)

    def __init__(self, any_of: tuple):
        self.any_of = any_of

    def holds(self) -> bool:
        """Whether it does, now."""
        for one in self.any_of:  # noqa: SIM110  # a generator costs as much as a small superstep's share
            if one.holds():
                return True
        return False

    def __or__(self, other: Any) -> Any:
        return Condition((*self.any_of, *other.any_of)) if type(other) is Condition else NotImplemented

    def __and__(self, other: Any) -> Any:
        if type(other) is not Condition:
            return NotImplemented
        return Condition((_Told(lambda: self.holds() and other.holds(), f"({self._text()} and {other._text()})"),))

    def __invert__(self) -> Condition:
        return Condition((_Told(lambda: not self.holds(), f"not ({self._text()})"),))

    def __bool__(self) -> bool:
        if _recording.recorder() is None:
            return self.holds()
        raise TypeError(f"bool: {self._text()} is not known before the loop runs; give it to loop.until(...)")

    def __eq__(self, other: object) -> Any:
        raise TypeError(f"==: {self._text()} is compared with {other!r}; conditions are combined by |, & and ~")

    __hash__ = None  # type: ignore[assignment]

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
    """A write, where it stands in the program, and what its expressions keep of themselves, which is made anew."""

    target: Any
    write: Callable
    args: tuple
    place: str
    kept: list[tuple[Any, str]]

    def run(self) -> None:
        """Do it."""
        try:
            for part, name in self.kept:
                setattr(part, name, None)
            if Number in map(type, self.args):
                self.write(*map(_value, self.args))
            else:
                self.write(*self.args)
        except BaseException as error:
            self.note(error)
            raise

    def note(self, error: BaseException) -> None:
        """Say in an error where it happened."""
        error.add_note(f"in a statement of a loop: {self.place}")


def _kept_in(thing: Any, found: list[tuple[Any, str]], seen: set[int]) -> None:
    """Adds what expressions below `thing` will have computed and kept: (expression, attribute)."""
    if id(thing) in seen:
        return
    seen.add(id(thing))
    if isinstance(thing, (tuple, list)):
        for part in thing:
            _kept_in(part, found, seen)
    elif isinstance(thing, (Expression, Plan, Mask)):
        for kind in type(thing).__mro__:
            for name in getattr(kind, "__slots__", ()):
                part = getattr(thing, name, None)
                if name in KEPT and part is None and isinstance(thing, Expression):
                    found.append((thing, name))
                else:
                    _kept_in(part, found, seen)


class Loop:
    """A loop that is recorded, and run when its block ends; made by `loop`."""

    def __init__(self) -> None:
        self._statements: list[Any] = []
        self._until: Condition | None = None
        self._count = 0
        self.recording = False
        self._done = False
        self._outer: Any = None

    def __repr__(self) -> str:
        if self.recording:
            return "<loop, being recorded>"
        return f"<loop, {self._count} iterations>" if self._done else "<loop, not yet recorded>"

    @property
    def count(self) -> Any:
        """Iterations that are finished: a `Number` within a loop's block, afterwards an int."""
        if self.recording or (self._done and _recording.recorder() is not None):
            return Number(lambda: self._count, "loop.count", self)
        return self._count

    def until(self, condition: Condition) -> None:
        """End after the first iteration at whose end the condition holds; of several conditions, any.

        Parameters
        ----------
        condition : Condition
            A comparison of numbers that the loop knows, such as ``frontier.nvals == 0``, ``change.value < 1e-9`` or
            ``loop.count >= 20``, or several of them, combined with ``|``, ``&`` and ``~``.
        """
        if not self.recording:
            raise RuntimeError("loop.until: it was called outside the loop's block")
        if type(condition) is not Condition:
            raise TypeError(f"loop.until: got {condition!r}, wanted a condition such as frontier.nvals == 0")
        self._until = condition if self._until is None else self._until | condition

    def note(self, target: Any, write: Callable, args: tuple) -> None:
        """Record a write."""
        frame: Any = sys._getframe(1)
        while frame.f_back is not None and frame.f_globals.get("__name__", "").startswith("spgraph."):
            frame = frame.f_back
        args = tuple(arg.copy() if isinstance(arg, np.ndarray) else arg for arg in args)
        kept: list[tuple[Any, str]] = []
        _kept_in(args, kept, set())
        place = f"{frame.f_code.co_filename}, line {frame.f_lineno}"
        self._statements.append(_Statement(target, write, args, place, kept))

    def __enter__(self) -> Loop:
        if self.recording or self._done:
            raise RuntimeError("sg.loop(): a loop is recorded once; make another one")
        self._outer = _recording.begin(self)
        self.recording = True
        return self

    def __exit__(self, kind: Any, error: Any, trace: Any) -> None:
        innermost = _recording.end(self)
        self.recording = False
        self._done = True
        if kind is not None:
            return
        if not innermost:
            raise RuntimeError("sg.loop(): its block ends before that of a loop within it, or in another thread")
        if self._until is None:
            raise InvalidValue("sg.loop(): nothing says when to stop; call loop.until(...) within the block")
        if not self._statements:
            raise InvalidValue("sg.loop(): there is no statement in the block")
        if self._outer is None and not self._may_end() and not self._until.holds():
            raise InvalidValue(f"loop.until: {self._until._text()}, but nothing in the block changes that")
        if self._outer is not None and self._outer.recording:
            self._outer._statements.append(self)
        else:
            self.run()

    def _may_end(self) -> bool:
        """Whether a condition depends on what the block writes, as far as can be seen."""
        written: set[int] = {id(self)}
        for statement in self._statements:
            if type(statement) is not _Statement:
                return True
            written.add(id(statement.target))
            for arg in statement.args:  # also a vector, or a selection of one, given as ``changed=``
                written.update((id(arg), id(getattr(getattr(arg, "_plan", None), "u", None))))
        of = [number.of for one in self._until.any_of if type(one) is Comparison  # type: ignore[union-attr]
              for number in (one.left, one.right) if type(number) is Number]
        others = any(type(one) is not Comparison for one in self._until.any_of)  # type: ignore[union-attr]
        return others or any(thing is None or id(thing) in written for thing in of)

    def run(self) -> None:
        """All iterations."""
        self._count = 0
        until: Any = self._until
        product = _product_of(self) or _levels_of(self)
        if product is not None:
            with closing(product.iterations()) as iterations:
                for done in iterations:
                    self._count += done
                    if until.holds():
                        return
        while True:
            for statement in self._statements:
                statement.run()
            self._count += 1
            if until.holds():
                return


def loop() -> Loop:
    """A loop that is written down first, and then run whole.

    Within ``with sg.loop() as loop`` statements are recorded instead of run. ``v.nvals`` and a Scalar's ``value`` are
    numbers that are known later, ``loop.count`` is how many iterations are finished, and ``loop.until(condition)`` says
    after which iteration to stop. When the block ends, the loop runs; then ``loop.count`` is an int. A loop within
    a loop is run to its end in each iteration of the outer one. Expressions are computed anew in every iteration, but
    the text of the block is run once: objects that it makes are made once, and names that it binds are bound once.

    On one GPU three kinds of loops run without Python between the supersteps, which saves some 0.1 ms each. Searches
    that grow, as below. Levels, ``level(near.S) << loop.count`` and ``near(~level.S, replace=True) << near.vxm(A,
    any_pair)``. And relaxations, ``dist(binary.min, changed=near) << near.vxm(A, min_plus)``, also with a selection of
    what counts as changed: if the loop ends when nothing changes, and by nothing else; if the operator never falls
    where its operand rises (plus, min, max, first, ...); as long as few edges leave what has changed. A statement
    ``total(binary.plus) << near.nvals`` before may count with them. What was lowered may go on at once there, so
    ``loop.count`` and the total may be smaller; the result is the same. Other loops run statement by statement.

    Returns
    -------
    Loop

    Raises
    ------
    InvalidValue
        When the block ends: if there is no `until`, or none that the block may fulfil, or no statement.
    RuntimeError, TypeError
        If a value, or a number, is asked for that no statement has computed yet.

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


class _Product:
    """C<!s(C)> = u f A, or C f= u g A, with u = what changes, until nothing does, or so often; a Scalar may count."""

    def __init__(self, statement: _Statement, limits: list[Any], counter: Scalar | None):
        self.statement = statement
        self.out: Vector = statement.target
        value, _, self.accum, _, self.changed, _ = statement.args
        self.product: MxV = value._plan
        self.limits, self.counter = limits, counter
        self.known = False  # u's values are C's

    def iterations(self) -> Generator[int, None, None]:
        """Run as many at once as can be, again and again; yields how many."""
        out, u, run, total, done = self.out, self.product.u, self.statement.run, 0, 0
        alone = not out._block.device.on_host
        try:
            while True:
                found = self.run(done) if alone else None
                if found is None:
                    total += u._block.nvals
                    run()
                    steps = 1
                else:
                    steps, more = found
                    total += more
                done += steps
                yield steps
        finally:
            if self.counter is not None:
                self.counter(binary.plus) << total

    def run(self, done: int) -> Any:
        """Iterations without the host: how many, and u's entries in all of them. None if there are none."""
        most = min((_value(limit) for limit in self.limits), default=None)
        known, self.known = self.known, True  # after this iteration, however it is run
        if most is not None and most <= done:
            return None
        product, out = self.product, self.out
        found: list[Any] = []

        def run_alone() -> None:
            _, kept = out._changed_block(self.changed)
            found.append(
                engine.run_alone(
                    out._block, product.A._block, product.transposed, product.u._block, product.op, product.flipped,
                    self.accum, kept, known, None if most is None else most - done,
                )
            )  # fmt: skip

        try:
            out._on_device(run_alone)
        except BaseException as error:
            self.statement.note(error)
            raise
        return found[0]


def _product_of(loop: Loop) -> _Product | None:
    """The loop as such a product, if it is one."""
    statements = list(loop._statements)
    if not statements or any(type(one) is not _Statement for one in statements):
        return None
    last = statements.pop()
    if type(last.target) is not Vector or len(last.args) != 6:
        return None
    value, mask, accum, replace, changed, input_mask = last.args
    product = getattr(value, "_plan", None)
    if type(product) is not MxV or replace or input_mask is not None:
        return None
    selected = getattr(changed, "_plan", None)
    u = changed if selected is None else getattr(selected, "u", None)
    if u is not product.u or u is last.target:
        return None
    grows = type(mask) is ComplementedStructuralMask and mask.parent is last.target and accum is None
    if not (grows or (mask is None and accum is not None)):
        return None
    counter = _counter(statements, u)
    limits = _limits(loop, u)
    return None if counter is False or limits is None else _Product(last, limits, counter)


class _Levels:
    """C<s(u)> = loop.count, u<!s(C), replace> = u any.pair A, until u is empty, or so often."""

    def __init__(self, loop: Loop, first: _Statement, second: _Statement, limits: list[Any]):
        self.loop, self.first, self.second, self.limits = loop, first, second, limits
        self.level: Vector = first.target
        self.product: MxV = second.args[0]._plan

    def iterations(self) -> Generator[int, None, None]:
        """As of `_Product`."""
        level, product = self.level, self.product
        dtype = level.dtype.np_type
        last = np.iinfo(dtype).max if dtype.kind in "iu" else 1 << np.finfo(dtype).nmant
        limit = min([*map(_value, self.limits), last])
        follow = _next(product.flipped)[level.dtype]
        found: list[Any] = []

        def run_levels() -> None:
            found.append(
                engine.run_levels(
                    level._block, product.A._block, product.transposed, product.u._block, product.op, product.flipped,
                    follow, int(limit) - self.loop._count,
                )
            )  # fmt: skip

        while True:
            self.first.run()
            if limit > self.loop._count:
                try:
                    level._on_device(run_levels)
                except BaseException as error:
                    self.second.note(error)
                    raise
            done = found.pop() if found else None
            if done is None:
                self.second.run()
            yield 1 if done is None else done.steps


@functools.cache
def _next(first: bool) -> Any:
    """any.f, where f is one more than the first or the second operand."""
    function = (lambda x, y: x + 1) if first else (lambda x, y: y + 1)
    return semiring.register_anonymous(monoid.any, binary.register_anonymous(function, "next"), "any_next")


def _levels_of(loop: Loop) -> _Levels | None:
    """The loop as such, if it is."""
    if len(loop._statements) != 2 or any(type(one) is not _Statement or len(one.args) != 6 for one in loop._statements):
        return None
    first, second = loop._statements
    level, u = first.target, second.target
    if type(level) is not Vector or type(u) is not Vector or level is u or level.dtype.np_type.kind not in "iuf":
        return None
    if level._block.device.on_host:
        return None
    count, mask, accum, replace, changed, input_mask = first.args
    if type(count) is not Number or count.of is not loop or type(mask) is not StructuralMask or mask.parent is not u:
        return None
    if accum is not None or replace or changed is not None or input_mask is not None:
        return None
    value, mask, accum, replace, changed, input_mask = second.args
    product = getattr(value, "_plan", None)
    if type(product) is not MxV or product.u is not u or not replace or accum is not None or changed is not None:
        return None
    if type(mask) is not ComplementedStructuralMask or mask.parent is not level or input_mask is not None:
        return None
    limits = _limits(loop, u)
    return None if limits is None else _Levels(loop, first, second, limits)


def _counter(statements: list[_Statement], u: Vector) -> Any:
    """Of the statements before: None if there is none, the Scalar to which u's entries are added, False for others."""
    if not statements:
        return None
    target, args = statements[0].target, statements[0].args
    if len(statements) > 1 or type(target) not in SCALARS or len(args) != 3:
        return False
    value, mask, accum = args
    adds = mask is None and accum is not None and accum.parent is binary.plus
    return target if adds and type(value) is Number and value.of is u else False


def _limits(loop: Loop, u: Vector) -> list[Any] | None:
    """The numbers of iterations at which the loop ends; None if it does not end when u is empty, or by other rules."""
    limits, ends = [], False
    for one in loop._until.any_of:  # type: ignore[union-attr]
        if type(one) is not Comparison or type(one.left) is not Number or type(one.right) is Number:
            return None
        if one.left.of is u and (one.sign, one.right) in (("==", 0), ("<", 1), ("<=", 0)):
            ends = True
        elif one.left.of is loop and one.sign in (">=", "==") and float(one.right).is_integer():
            limits.append(int(one.right))
        else:
            return None
    return limits if ends else None
