"""sum, dot and running_sum: sums that are rounded at every addition."""

from __future__ import annotations

from typing import Any, Literal, Optional, Union, overload

from . import _softamp
from ._arguments import Array, FormatLike, Number, exact_text
from ._products import engine_dot, engine_sum

__all__ = ["dot", "running_sum", "sum"]

_ENGINE = ("partials", "block", "inner", "accumulator", "tensor_core_operands", "threads")


def _how(options: dict[str, Any]) -> tuple[Any, ...]:
    return tuple(options.pop(key, None) for key in ("rounding", "bits", "variant", "overflow", "preset", "chip", "random"))


def _refuse(name: str, options: dict[str, Any]) -> None:
    if options:
        raise TypeError(f"{name}() has no argument '{next(iter(options))}'")


def _result(report: dict[str, Any], replicas: Optional[int], wanted: bool) -> Any:
    if wanted:
        return report
    return report["values"] if replicas is not None else float(report["values"][0])


def sum(
    x: Array,
    format: FormatLike = "fp16",
    *,
    order: Literal["ascending", "device"] = "ascending",
    start: Number = 0.0,
    replicas: Optional[int] = None,
    seed: int = 0,
    operation: int = 0,
    codes: Optional[FormatLike] = None,
    report: bool = False,
    **options: Any,
) -> Any:
    """The sum of all elements of an array, each addition rounded once to a format.

    x: float32, float64, float16 or a type of ml_dtypes, read in C order; or unsigned integers, codes of `codes`. Elements
        enter the format rounded to nearest.
    order: "ascending": one addition after the other, from `start`; "device": that of the accelerator's reduction (rule
        N140), of fp16, bf16 or fp32 alone.
    replicas: so many independent sums, 1 to 2^20, of a stochastic rounding [=None, one]. Addition n of replica i takes the random bits
        of (seed, step n, operation, index i).
    rounding, bits, variant, overflow, preset, random: as of round; partials: of order "device".
    report: return a dict: values, codes, exact (the exact sum of the rounded elements), exact_given, magnitude,
        last_change and lost (by replica), first_addition_with_flag.

    Returns a float; of replicas an array of them; or the dict.
    """
    if _softamp.word_of("order", order, ["ascending", "device"]) == "device":
        if start != 0.0 or replicas is not None or codes is not None or report or operation != 0:
            raise ValueError("order: 'device': expected no start, replicas, operation, codes or report beside it")
        return engine_sum(x, format, seed, options)
    how = _how(options)
    _refuse("sum", options)
    all = _softamp.sum_array(x, None, False, format, codes, how, exact_text(start, "start"), replicas, seed, operation)
    return _result(all, replicas, report)


def dot(
    a: Array,
    b: Array,
    format: FormatLike = "fp16",
    *,
    products: Literal["exact", "rounded"] = "exact",
    start: Number = 0.0,
    replicas: Optional[int] = None,
    seed: int = 0,
    operation: int = 0,
    codes: Optional[FormatLike] = None,
    report: bool = False,
    **options: Any,
) -> Any:
    """The sum of the products of two arrays' elements, ascending, each addition rounded once to a format.

    products: "exact": sum + a b is rounded once; "rounded": a b is rounded, and then the sum.
    partials, block, inner, accumulator, tensor_core_operands: where one of them is given, the accelerator's matrix
        product computes it, or a tensor core's model: see matmul; fp16, bf16 or fp32.
    All else as of sum.
    """
    rounded = _softamp.word_of("products", products, ["exact", "rounded"]) == "rounded"
    if any(key in options for key in _ENGINE):
        if start != 0.0 or replicas is not None or codes is not None or report or rounded or operation != 0:
            raise ValueError("dot: expected no start, replicas, operation, codes, products or report beside an accumulator")
        return engine_dot(a, b, format, seed, options)
    how = _how(options)
    _refuse("dot", options)
    all = _softamp.sum_array(a, b, rounded, format, codes, how, exact_text(start, "start"), replicas, seed, operation)
    return _result(all, replicas, report)


def running_sum(
    value: Number,
    count: int,
    format: FormatLike = "fp16",
    *,
    start: Number = 0.0,
    replicas: Optional[int] = None,
    seed: int = 0,
    operation: int = 0,
    trace_points: int = 0,
    report: bool = False,
    **options: Any,
) -> Any:
    """One number added `count` times (1 to 2^32 - 1), each addition rounded once: where the sum stops.

    value, start: read exactly, as of round; rounded to nearest to the format, once. trace_points: record the sums after about so many additions, in the report's
        trace_additions and traces [=0, none]. All else as of sum.
    """
    how = _how(options)
    _refuse("running_sum", options)
    if trace_points != 0 and not report:
        raise ValueError("trace_points: the sums on the way are part of the report; expected report=True")
    all = _softamp.running_sum(
        exact_text(value, "value"), count, format, how, exact_text(start, "start"), replicas, seed, operation, trace_points
    )
    return _result(all, replicas, report)
