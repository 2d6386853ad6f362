"""How loops are compiled: for named types, without the interpreter's lock, kept on disk."""

from collections.abc import Callable
from functools import partial
from typing import Any, TypeVar, cast

import numba
from llvmlite import ir
from numba.extending import intrinsic

Function = TypeVar("Function", bound=Callable[..., object])

# Sums may be taken several at a time, in another order; infinities and NaN stay what they are.
_SUMS = {"reassoc", "contract", "arcp", "nsz"}
_AS_WRITTEN = {"contract", "nsz"}
# A maximum is taken several at a time only where NaN is left out of account.
_NUMBERS = {"nsz", "nnan"}


def compiled(
    *signatures: str, as_written: bool = False, numbers: bool = False
) -> Callable[[Function], Function]:
    """Return a decorator that compiles a function.

    Parameters
    ----------
    *signatures : str
        Types in numba's notation, compiled at once and kept; none for what only other loops call.
    as_written : bool
        Keep the order of additions: for rounding tricks, which are a sum taken back.
    numbers : bool
        Compare as if there were no NaN: what comes of one is then any value of the input.
    """
    types = list(signatures) or None
    fastmath = _AS_WRITTEN if as_written else _NUMBERS if numbers else _SUMS
    make = partial(numba.njit, types, nogil=True, error_model="numpy", fastmath=fastmath)

    def keep(function: Function) -> Function:
        try:
            return cast("Function", make(cache=bool(types))(function))
        except RuntimeError:  # no folder to keep it in: compiled anew in every process
            return cast("Function", make()(function))

    return keep


def _maximum(_context: Any, a: Any, _b: Any) -> Any:  # noqa: ANN401 (types of the compiler)
    def write(_: Any, builder: Any, __: Any, pair: Any) -> Any:  # noqa: ANN401 (its code)
        kind = pair[0].type
        signature = ir.FunctionType(kind, [kind, kind])
        return builder.call(
            builder.module.declare_intrinsic("llvm.maxnum", [kind], signature), pair
        )

    return a(a, a), write


# The larger of two numbers of one type, in loops compiled with `numbers`: the compiler takes this
# several at a time along a row, and neither `max` nor a comparison.
larger = cast("Callable[[float, float], float]", intrinsic(_maximum))
