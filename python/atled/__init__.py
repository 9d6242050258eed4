# SPDX-License-Identifier: MIT
"""Atled in Python: functions of Atled programs, and their derivatives, on NumPy arrays.

    import atled
    m = atled.load("model.atl")            # or atled.program("let loss w x = …")
    m.loss(w, x)                           # compiled with all that it uses; arrays aren't copied
    atled.grad(m.loss)(w, x)               # the derivative by the first argument

Values of Python and of Atled: see atled._values, or python/README.md."""
from ._errors import ArgumentError, CompileError, Error, EvaluationError, Exit, OutOfMemory
from ._functions import Function, Program, grad, hessian, hvp, jacobian, jvp, load, program, value_and_grad, vjp
from ._values import Variant
from ._version import VERSION as __version__

__all__ = ["ArgumentError", "CompileError", "Error", "EvaluationError", "Exit", "Function", "OutOfMemory", "Program", "Variant",
           "grad", "hessian", "hvp", "jacobian", "jvp", "load", "program", "value_and_grad", "vjp", "__version__"]
