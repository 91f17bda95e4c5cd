"""Loops that are written down once and then run whole: ``with sg.loop() as loop``.

Method: within the block statements (``w(mask) << expression``) are recorded instead of run, numbers that depend on
them (``v.nvals``, a Scalar's ``value``, ``loop.count``) stand for what they will be, and ``loop.until(condition)`` says
when to stop. On leaving the block the loop runs to its end. Searches that grow, levels and relaxations run without
Python between supersteps (`spgraph.engine.loops`); all else runs statement by statement, as Python's loops do.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from contextlib import closing
from typing import Any

import numpy as np

from spgraph import _interrupts, _recording
from spgraph._loop_alone import levels_of, product_of
from spgraph._loop_numbers import Comparison, Condition, Number
from spgraph._loop_statements import Statement, kept_in
from spgraph.exceptions import InvalidValue

__all__ = ["Condition", "Loop", "Number", "loop"]


def _too_late(sign: str, right: Any) -> bool:
    """Whether no number of iterations from 1 on, when it is first looked at, compares so with a number."""
    if type(right) is Number:
        return False
    return {"==": right < 1 or right // 1 != right, "<": not right > 1, "<=": not right >= 1}.get(sign, False)


class Loop:
    """A loop that is recorded, and run when its block ends; made by `loop`."""

    def __init__(self) -> None:
        self._statements: list[Any] = []
        self._until: Condition | None = None
        self._count = 0
        self.recording = False
        self._done = False
        self._outer: Any = None
        self._holds = False

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
        kept_in(args, kept, set())
        self._statements.append(Statement(target, write, args, (frame.f_code.co_filename, frame.f_lineno), kept))

    def __enter__(self) -> Loop:
        if self.recording or self._done:
            raise RuntimeError("sg.loop(): a loop is recorded once; make another one")
        self._holds = _interrupts.hold()  # an interrupt in the block is raised at its end, when nothing is recorded
        self._outer = _recording.begin(self)
        self.recording = True
        return self

    def __exit__(self, kind: Any, error: Any, trace: Any) -> None:
        innermost = _recording.end(self)
        self.recording = False
        self._done = True
        if self._holds:
            _interrupts.release()
        if kind is not None:
            return
        if not innermost:
            raise RuntimeError("sg.loop(): its block ends before that of a loop within it, or in another thread")
        if self._until is None:
            raise InvalidValue("sg.loop(): nothing says when to stop; call loop.until(...) within the block")
        if not self._statements:
            raise InvalidValue("sg.loop(): there is no statement in the block")
        if self._outer is not None and self._outer.recording:
            self._outer._statements.append(self)
            return
        alone = product_of(self) or levels_of(self)  # what ends these is what they write
        if alone is None and self._outer is None and not self._may_end() and not self._ends_at_once():
            raise InvalidValue(f"loop.until: {self._until._text()}, but nothing in the block changes that")
        self._run(alone)

    def _ends_at_once(self) -> bool:
        self._count = 1  # as after the first iteration
        try:
            return self._until.holds()  # type: ignore[union-attr]
        finally:
            self._count = 0

    def _may_end(self) -> bool:
        """Whether a condition depends on what the block writes, as far as can be seen."""
        written: set[int] = {id(self)}
        for statement in self._statements:
            if type(statement) is not Statement:
                return True
            written.add(id(statement.target))
            for arg in statement.args:  # also a vector, or a selection of one, given as ``changed=``
                written.update((id(arg), id(getattr(getattr(arg, "_plan", None), "u", None))))
        until: Any = self._until
        for one in until.any_of:
            if type(one) is not Comparison:
                return True
            if type(one.left) is Number and one.left.of is self and _too_late(one.sign, one.right):
                continue
            numbers = [number for number in (one.left, one.right) if type(number) is Number]
            if any(number.of is None or id(number.of) in written for number in numbers):
                return True
        return False

    def run(self) -> None:
        """All iterations."""
        self._run(product_of(self) or levels_of(self))

    def _run(self, alone: Any) -> None:
        self._count = 0
        until: Any = self._until
        if alone is not None:
            with closing(alone.iterations()) as iterations:
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

    Three kinds of loops run without Python between the supersteps, which saves some 0.1 ms each. Searches
    that grow, as below. Levels, ``level(near.S) << loop.count`` and ``near(~level.S, replace=True) << near.vxm(A,
    any_pair)``. And relaxations, ``dist(binary.min, changed=near) << near.vxm(A, min_plus)``, also with a selection of
    what counts as changed: on a GPU if the loop ends when nothing changes, and by nothing else, and if the operator
    never falls where its operand rises (plus of floats and 64-bit integers, min, max, first, ...). A statement
    ``total(binary.plus) << near.nvals`` before may count with them. What was lowered may go on at once there, so
    ``loop.count`` and the total may be smaller; the result is the same. On several GPUs that see each other, a part on
    each, relaxations do the same as one by one, levels run so, and searches if their entries have one value, or it is
    not looked at. The CPU, too, does the same as one by one, as long as a superstep is too small for a second thread.
    So it is in whatever ``direction`` the context asks for, but that relaxations are not pulled so, and that on the CPU
    it is "auto" or "push". Other loops run statement by statement.

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
