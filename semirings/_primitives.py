"""The primitives that a `Call` may name: one row each.

A row gives, for the kinds of its arguments (b boolean, i signed, u unsigned, f float), what stands
for it in Python and in CUDA C++. ``{0}`` and ``{1}`` are the arguments; in CUDA ``{T}`` is the type of
the result, ``{A}`` that of the first argument, ``{W}`` the unsigned type in which signed arithmetic may
wrap, ``{s}`` the suffix that float functions have. Both printers convert the text to the type of the
result. An argument that a text names twice is put in a variable first.

The NumPy function of the same name is the reference; what NumPy lacks (erf, gamma, ...) is in
``semirings._prelude``, and is named ``sr_...`` in both languages.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np

Texts = tuple[str, str]  # Python, CUDA C++


def _function(name: str, cuda: str | None = None) -> dict[str, Texts]:
    """A float function of one argument, named so in NumPy and in C."""
    return {"f": (f"np.{name}({{0}})", f"{cuda or name}{{s}}({{0}})")}


def _function2(name: str, cuda: str | None = None) -> dict[str, Texts]:
    return {"f": (f"np.{name}({{0}}, {{1}})", f"{cuda or name}{{s}}({{0}}, {{1}})")}


def _helper(name: str, n: int) -> Texts:
    text = f"sr_{name}({', '.join(f'{{{k}}}' for k in range(n))})"
    return text, text


def _compare(sign: str) -> dict[str, Texts]:
    text = f"{{0}} {sign} {{1}}"
    return {"biuf": (text, text)}


def _wrapping(sign: str) -> Texts:
    return f"{{0}} {sign} {{1}}", f"({{W}}){{0}} {sign} ({{W}}){{1}}"


def _plain(sign: str) -> Texts:
    return f"{{0}} {sign} {{1}}", f"{{0}} {sign} {{1}}"


def _choose(test: str) -> Texts:
    """The first argument if the test holds, else the second."""
    c_test = test.replace(" or ", " || ")
    return f"{{0}} if {test} else {{1}}", f"{c_test} ? {{0}} : {{1}}"


def _shift(sign: str, beyond: str, cuda_beyond: str, kind: str) -> Texts:
    inside = "{1} < {bits}" if kind == "u" else "{1} >= {zero} and {1} < {bits}"
    c_inside = "{1} < {bits}" if kind == "u" else "{1} >= 0 && {1} < {bits}"
    left = "({W}){0}" if sign == "<<" else "{0}"
    python = f"{{0}} {sign} {{1}} if {inside} else {beyond}"
    return python, f"{c_inside} ? ({{T}})({left} {sign} {{1}}) : ({{T}})({cuda_beyond})"


PRIMITIVES: dict[str, dict[str, Texts]] = {
    # arithmetic
    "add": {"b": ("{0} or {1}", "{0} || {1}"), "iu": _wrapping("+"), "f": _plain("+")},
    "subtract": {"iu": _wrapping("-"), "f": _plain("-")},
    "multiply": {"b": ("{0} and {1}", "{0} && {1}"), "iu": _wrapping("*"), "f": _plain("*")},
    "divide": {"f": ("np.true_divide({0}, {1})", "{0} / {1}")},
    "floor_divide": {
        "i": _helper("floordiv", 2),
        "u": _helper("udiv", 2),
        "f": _helper("ffloordiv", 2),
    },
    "remainder": {"i": _helper("mod", 2), "u": _helper("umod", 2), "f": _helper("pymod", 2)},
    "fmod": {"i": _helper("cmod", 2), "u": _helper("umod", 2), **_function2("fmod")},
    "power": {"i": _helper("ipow", 2), "u": _helper("upow", 2), "f": ("{0} ** {1}", "sr_pow({0}, {1})")},
    "float_power": {"f": ("{0} ** {1}", "sr_pow({0}, {1})")},
    "negative": {"iu": ("-{0}", "({W})0 - ({W}){0}"), "f": ("-{0}", "-{0}")},
    "absolute": {
        "i": ("abs({0})", "{0} < 0 ? ({T})(({W})0 - ({W}){0}) : {0}"),
        "f": ("abs({0})", "fabs{s}({0})"),
    },
    "sign": {
        "i": ("1 if {0} > {zero} else -1 if {0} < {zero} else 0", "({0} > 0) - ({0} < 0)"),
        "u": ("{0} > {zero}", "{0} > 0"),
        "f": ("np.sign({0})", "{0} > 0 ? 1 : {0} < 0 ? -1 : {0} == 0 ? 0 : {0}"),
    },
    "gcd": {"i": _helper("gcd", 2), "u": _helper("ugcd", 2)},
    "lcm": {"i": _helper("lcm", 2), "u": _helper("ulcm", 2)},
    "binom": {"i": _helper("binom", 2)},
    # the larger, the smaller; max propagates NaN, fmax ignores it
    "maximum": {
        "b": ("{0} or {1}", "{0} || {1}"),
        "iu": _choose("{0} > {1}"),
        "f": _choose("{0} > {1} or {0} != {0}"),
    },
    "minimum": {
        "b": ("{0} and {1}", "{0} && {1}"),
        "iu": _choose("{0} < {1}"),
        "f": _choose("{0} < {1} or {0} != {0}"),
    },
    "fmax": {
        "b": ("{0} or {1}", "{0} || {1}"),
        "iu": _choose("{0} > {1}"),
        "f": ("{0} if {0} >= {1} or {1} != {1} else {1}", "fmax{s}({0}, {1})"),
    },
    "fmin": {
        "b": ("{0} and {1}", "{0} && {1}"),
        "iu": _choose("{0} < {1}"),
        "f": ("{0} if {0} <= {1} or {1} != {1} else {1}", "fmin{s}({0}, {1})"),
    },
    # comparisons
    "equal": _compare("=="),
    "not_equal": _compare("!="),
    "less": _compare("<"),
    "less_equal": _compare("<="),
    "greater": _compare(">"),
    "greater_equal": _compare(">="),
    # bits; on booleans these are the logical operators
    "bitwise_and": {"b": ("{0} and {1}", "{0} && {1}"), "iu": _plain("&")},
    "bitwise_or": {"b": ("{0} or {1}", "{0} || {1}"), "iu": _plain("|")},
    "bitwise_xor": {"b": ("{0} != {1}", "{0} != {1}"), "iu": _plain("^")},
    "invert": {"b": ("not {0}", "!{0}"), "iu": ("~{0}", "~{0}")},
    "left_shift": {
        "i": _shift("<<", "{zero}", "0", "i"),
        "u": _shift("<<", "{zero}", "0", "u"),
    },
    "right_shift": {
        "i": _shift(">>", "-1 if {0} < {zero} else 0", "-({0} < 0)", "i"),
        "u": _shift(">>", "{zero}", "0", "u"),
    },
    # rounding and parts of floats
    "rint": _function("rint"),
    "floor": _function("floor"),
    "ceil": _function("ceil"),
    "trunc": _function("trunc"),
    "copysign": _function2("copysign"),
    "nextafter": _function2("nextafter"),
    "spacing": {"f": ("np.spacing({0})", "sr_spacing({0})")},
    "ldexp": {"f": ("np.ldexp({0}, {1})", "ldexp{s}({0}, {1})")},
    "frexp_mantissa": {"f": _helper("frexp_mantissa", 1)},
    "frexp_exponent": {"f": _helper("frexp_exponent", 1)},
    "isnan": {"f": ("{0} != {0}", "{0} != {0}")},
    "isinf": {"f": ("np.isinf({0})", "{0} == {0} && {0} - {0} != {0} - {0}")},
    "isfinite": {"f": ("np.isfinite({0})", "{0} - {0} == {0} - {0}")},
    "signbit": {"f": ("np.copysign({one}, {0}) < {zero}", "copysign{s}(({A})1, {0}) < 0")},
    # functions of the mathematical library
    "sqrt": _function("sqrt"),
    "cbrt": _function("cbrt"),
    "exp": _function("exp"),
    "exp2": _function("exp2"),
    "expm1": _function("expm1"),
    "log": _function("log"),
    "log2": _function("log2"),
    "log10": _function("log10"),
    "log1p": _function("log1p"),
    "sin": _function("sin"),
    "cos": _function("cos"),
    "tan": _function("tan"),
    "arcsin": _function("arcsin", "asin"),
    "arccos": _function("arccos", "acos"),
    "arctan": _function("arctan", "atan"),
    "arctan2": _function2("arctan2", "atan2"),
    "sinh": _function("sinh"),
    "cosh": _function("cosh"),
    "tanh": _function("tanh"),
    "arcsinh": _function("arcsinh", "asinh"),
    "arccosh": _function("arccosh", "acosh"),
    "arctanh": _function("arctanh", "atanh"),
    "hypot": _function2("hypot"),
    "logaddexp": {"f": ("np.logaddexp({0}, {1})", "sr_logaddexp({0}, {1})")},
    "logaddexp2": {"f": ("np.logaddexp2({0}, {1})", "sr_logaddexp2({0}, {1})")},
    "erf": {"f": ("sr_erf({0})", "erf{s}({0})")},
    "erfc": {"f": ("sr_erfc({0})", "erfc{s}({0})")},
    "lgamma": {"f": ("sr_lgamma({0})", "lgamma{s}({0})")},
    "tgamma": {"f": ("sr_tgamma({0})", "tgamma{s}({0})")},
}


def texts(name: str, kind: str) -> Texts:
    """Python and CUDA text of a primitive for arguments of a kind."""
    for kinds, found in PRIMITIVES[name].items():
        if kind in kinds:
            return found
    raise KeyError(f"{name} has no text for arguments of kind {kind!r}")


@cache
def reference(name: str) -> Callable[..., Any]:
    """The NumPy function that says what a primitive means."""
    function = getattr(np, name, None)
    if function is not None:
        return function  # type: ignore[no-any-return]
    from semirings import _prelude

    helper = getattr(_prelude, f"sr_{name}")
    return np.frompyfunc(helper, helper.__code__.co_argcount, 1)
