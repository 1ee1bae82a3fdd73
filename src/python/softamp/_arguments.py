"""Types of arguments that many functions share, and how they are handed on."""

from __future__ import annotations

import decimal
import math
import numbers
import operator
import warnings
from fractions import Fraction
from typing import Any, Protocol, Union

import numpy as np

from . import _softamp


class SupportsDLPack(Protocol):
    """An array of another library, such as a PyTorch tensor on the CPU."""

    def __dlpack__(self, *args: Any, **kwargs: Any) -> Any: ...

    def __dlpack_device__(self) -> Any: ...


Array = Union["np.ndarray[Any, Any]", SupportsDLPack]
Number = Union[float, int, Fraction, decimal.Decimal, str]
Numbers = Union[Array, Number]
FormatLike = Union[str, _softamp.Format, "np.dtype[Any]", type]
NDArray = np.ndarray[Any, Any]


def is_number(x: Any) -> bool:
    """Whether x is one number that is read exactly, by its text: no float, which binary64 holds, and no array."""
    if isinstance(x, (bool, np.generic)):
        return False
    return isinstance(x, (str, decimal.Decimal, numbers.Rational))


def exact_text(x: Any, name: str) -> str:
    """A number as text that the module reads exactly: others than ints and Decimals in hexadecimal."""
    if isinstance(x, (str, decimal.Decimal)):
        return str(x)
    if isinstance(x, (bool, np.bool_, complex)):
        raise TypeError(f"{name}: expected a number or a text, not {x!r}")
    if isinstance(x, float):
        return x.hex()
    if isinstance(x, int) and x.bit_length() < 10000:  # Python turns no longer ones into decimal
        return str(x)
    if not hasattr(x, "as_integer_ratio"):
        try:
            x = operator.index(x)
        except TypeError:
            if not hasattr(x, "__float__"):
                raise TypeError(f"{name}: expected a number or a text, not {x!r}") from None
            x = float(x)
    try:
        numerator, denominator = x.as_integer_ratio()
    except (OverflowError, ValueError):  # infinities and NaNs
        return str(float(x))
    if numerator == 0:
        return "-0" if math.copysign(1, x) < 0 else "0"
    # At least 80 bits, and one more that says whether anything follows: no rounding reads so many.
    places = max(0, 80 - numerator.bit_length() + denominator.bit_length()) if denominator != 1 else 0
    quotient, rest = divmod(abs(numerator) << places, denominator)
    if rest:
        quotient, places = quotient << 1 | 1, places + 1
    return f"{'-' if numerator < 0 else ''}0x{quotient:x}p{-places}"


def renamed(name: str, value: Any, old_name: str, old_value: Any) -> Any:
    """The value of an argument that an earlier version called otherwise."""
    if old_value is None:
        return value
    warnings.warn(f"{old_name} is called {name}; the old name goes with the next version", DeprecationWarning, stacklevel=3)
    return old_value


def name_of(value: Any) -> Any:
    """The name of a chip that is given as an object."""
    return value.name if isinstance(value, _softamp.Chip) else value
