"""add, sub, mul, div, fma, sqrt: arrays of codes, element by element, each result rounded once."""

from __future__ import annotations

from typing import Any, Optional

from . import _softamp
from ._arguments import Array, FormatLike, renamed

__all__ = ["add", "sub", "mul", "div", "fma", "sqrt"]

_SHARED = """
    Operands: of one dtype and shape: float16, float32, a type of ml_dtypes; or unsigned integers, which are codes of
        `format`. Nothing is promoted and nothing is broadcast.
    rounding, bits, variant, overflow, preset, seed, step, operation, first_index, random, random_words, flags, threads:
        as of round.
    out: of the operands' shape and width, overlapping none of them [=a new array].

    Returns codes of the same format, or (codes, Status).
    """


def _call(name: str, operands: tuple[Any, ...], format: Any, options: dict[str, Any]) -> Any:
    take = options.pop
    how = tuple(take(key, None) for key in ("rounding", "bits", "variant", "overflow", "preset", "chip", "random"))
    where = (
        take("seed", 0),
        take("step", 0),
        take("operation", 0),
        take("first_index", 0),
        renamed("random_words", take("random_words", None), "random_bits", take("random_bits", None)),
        take("threads", 0),
    )
    out, flags = take("out", None), take("flags", False)
    if options:
        raise TypeError(f"{name}() has no argument '{next(iter(options))}'")
    return _softamp.arithmetic(name, operands, format, how, where, out, flags)


def add(a: Array, b: Array, format: Optional[FormatLike] = None, **options: Any) -> Any:
    """a + b."""
    return _call("add", (a, b), format, options)


def sub(a: Array, b: Array, format: Optional[FormatLike] = None, **options: Any) -> Any:
    """a - b."""
    return _call("sub", (a, b), format, options)


def mul(a: Array, b: Array, format: Optional[FormatLike] = None, **options: Any) -> Any:
    """a b."""
    return _call("mul", (a, b), format, options)


def div(a: Array, b: Array, format: Optional[FormatLike] = None, **options: Any) -> Any:
    """a / b; under preset ipu fp16 is rounded to fp32 first."""
    return _call("div", (a, b), format, options)


def fma(a: Array, b: Array, c: Array, format: Optional[FormatLike] = None, **options: Any) -> Any:
    """a b + c, rounded once."""
    return _call("fma", (a, b, c), format, options)


def sqrt(a: Array, format: Optional[FormatLike] = None, **options: Any) -> Any:
    """The square root of a."""
    return _call("sqrt", (a,), format, options)


for _function in (add, sub, mul, div, fma, sqrt):
    _function.__doc__ = f"{_function.__doc__}\n{_SHARED}"
