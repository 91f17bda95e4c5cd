"""Functions that NumPy lacks, for use in operators beside NumPy's own.

They work on arrays and can be traced.

>>> import numpy as np
>>> erf(np.array([0.0, 1.0]))
array([0.        , 0.84270079])
>>> from semirings.trace import trace
>>> trace(lambda x: 1 - erf(x), {"x": np.float64})
subtract(1.0, erf(x))
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from semirings._lower import NoLoop
from semirings._primitives import reference
from semirings.expr import Call
from semirings.trace import Symbol

__all__ = ["binom", "erf", "erfc", "frexp_exponent", "frexp_mantissa", "lgamma", "tgamma"]


def _primitive(name: str, kinds: str, doc: str) -> Callable[..., Any]:
    def function(*args: Any) -> Any:
        dtype = np.result_type(*args) if not any(isinstance(a, Symbol) for a in args) else args[0].dtype
        if dtype.kind not in kinds:
            raise NoLoop(f"{name} of {dtype}")
        if isinstance(args[0], Symbol):
            return Symbol(Call(name, tuple(a.expr for a in args), dtype))
        return np.asarray(reference(name)(*args)).astype(dtype)

    function.__name__ = function.__qualname__ = name
    function.__doc__ = doc
    return function


erf = _primitive("erf", "f", "Error function of a float.")
erfc = _primitive("erfc", "f", "Complementary error function of a float, ``1 - erf(x)``.")
lgamma = _primitive("lgamma", "f", "Logarithm of the absolute value of the gamma function.")
tgamma = _primitive("tgamma", "f", "Gamma function; NaN at negative integers.")
frexp_mantissa = _primitive("frexp_mantissa", "f", "Mantissa m of ``x = m * 2**e``, 0.5 <= abs(m) < 1.")
frexp_exponent = _primitive("frexp_exponent", "f", "Exponent e of ``x = m * 2**e``, as a float.")
binom = _primitive("binom", "i", "Binomial coefficient; 0 where it is none or exceeds the type.")
