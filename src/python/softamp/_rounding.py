"""round and widen: arrays to a format and back."""

from __future__ import annotations

from typing import Any, Literal, Optional, Union, overload

import numpy as np

from . import _softamp
from ._arguments import Array, FormatLike, NDArray, Numbers, exact_text, is_number, name_of, renamed

__all__ = ["round", "widen"]


@overload
def round(
    x: Numbers,
    format: FormatLike = ...,
    *,
    rounding: Optional[str] = ...,
    bits: Optional[int] = ...,
    variant: Optional[str] = ...,
    overflow: Optional[str] = ...,
    preset: Optional[str] = ...,
    chip: Union[str, _softamp.Chip, None] = ...,
    cast: Optional[str] = ...,
    seed: int = ...,
    step: int = ...,
    operation: int = ...,
    first_index: int = ...,
    random: Optional[str] = ...,
    random_words: Optional[Array] = ...,
    out: Optional[Array] = ...,
    result: Literal["auto", "codes", "values"] = ...,
    flags: Literal[False] = ...,
    threads: int = ...,
    packed: bool = ...,
    random_bits: Optional[Array] = ...,
) -> NDArray: ...
@overload
def round(
    x: Numbers,
    format: FormatLike = ...,
    *,
    rounding: Optional[str] = ...,
    bits: Optional[int] = ...,
    variant: Optional[str] = ...,
    overflow: Optional[str] = ...,
    preset: Optional[str] = ...,
    chip: Union[str, _softamp.Chip, None] = ...,
    cast: Optional[str] = ...,
    seed: int = ...,
    step: int = ...,
    operation: int = ...,
    first_index: int = ...,
    random: Optional[str] = ...,
    random_words: Optional[Array] = ...,
    out: Optional[Array] = ...,
    result: Literal["auto", "codes", "values"] = ...,
    flags: Literal[True],
    threads: int = ...,
    packed: bool = ...,
    random_bits: Optional[Array] = ...,
) -> tuple[NDArray, _softamp.Status]: ...
def round(
    x: Any,
    format: FormatLike = "fp16",
    *,
    rounding: Optional[str] = None,
    bits: Optional[int] = None,
    variant: Optional[str] = None,
    overflow: Optional[str] = None,
    preset: Optional[str] = None,
    chip: Union[str, _softamp.Chip, None] = None,
    cast: Optional[str] = None,
    seed: int = 0,
    step: int = 0,
    operation: int = 0,
    first_index: int = 0,
    random: Optional[str] = None,
    random_words: Optional[Array] = None,
    out: Optional[Array] = None,
    result: str = "auto",
    flags: bool = False,
    threads: int = 0,
    packed: bool = False,
    random_bits: Optional[Array] = None,
) -> Any:
    """Round every number of an array once to a format.

    x: numbers of any shape: float32, float64, float16 or a type of ml_dtypes; NumPy's, or with DLPack; or one
        number of Python: int, float, fractions.Fraction, decimal.Decimal, or a text as "0.1" or "0x1.8p-3", which is read
        exactly. An array that is not dense and in C order is copied once. Or dense float32 of a CUDA device, by DLPack, where the
        module was built with CUDA: with `out` on the same device, they are rounded there, to the same bits.
    format: the target: a name ("fp16", "bf16", "e4m3", "e5p11", ...; see formats()), a Format, or a dtype.
    rounding: "nearest" (ties to even), "nearest-away", "zero", "up", "down", "stochastic", "odd" [="nearest"].
    bits: random bits of a stochastic rounding, 1 to 32 [=13]. variant: "carry", "half", "rne", "odd", "at-least"
        [="carry"].
    overflow: what a result too large becomes: "infinity", "saturate", "nan" [="infinity"; "saturate" in preset ipu].
    preset: "ieee" or "ipu" [="ieee"; within behaviour(...) "ipu"].
    chip: round as this chip does, see chips(); then no rounding, variant or preset.
    cast: convert to 8 bits as a specification has it, to nearest: "ocp", "ocp_saturate", "onnx", "onnx_saturate",
        "ml_dtypes" (bf16, too), "nvidia_satfinite", "amd", "amd_saturate"; then none of the arguments above.
    seed, step, operation, first_index: the address of the random bits: element i takes those of (seed, step, operation,
        first_index + i), whatever the threads. seed, first_index below 2^64, step below 2^32, operation below 2^24 [=0].
    random: "philox" or "philox7" [="philox"]. random_words: one unsigned word for each element instead.
    out: where the result goes, of x's shape: float32 for values, else the format's dtype or unsigned integers for codes.
        It may be x itself where x is float32; other overlaps are refused.
    result: "auto": the dtype of NumPy or ml_dtypes that has these codes, else unsigned integers; "codes": unsigned
        integers; "values": float32 [="auto"].
    flags: True: also return a Status, with the flags raised and the lowest index of each.
    threads: 0 for all, else 1 to 1024; the result does not depend on it [=0].
    packed: with chip: a random word of 32 bits serves as many neighbours as in the chip's instruction, each by its part of it;
        random_words then has one uint32 for so many [=False].

    Returns the array, or (array, Status). Raises ValueError for a value out of range, and for a setting that changes no
    result, such as bits or a seed beside rounding "nearest", naming what was expected; TypeError for another kind of
    object; FloatingPointException within behaviour(...) that stops.
    """
    how = (rounding, bits, variant, overflow, preset, name_of(chip) if chip is not None else None, random, cast)
    random_words = renamed("random_words", random_words, "random_bits", random_bits)
    where = (seed, step, operation, first_index, random_words, threads, packed)
    if is_number(x):
        return _softamp.round_number(exact_text(x, "x"), format, how, where, out, result, flags)
    return _softamp.round(np.float64(x) if type(x) is float else x, format, how, where, out, result, flags)


def widen(
    codes: Array,
    format: Optional[FormatLike] = None,
    *,
    wide: bool = False,
    out: Optional[Array] = None,
    threads: int = 0,
) -> NDArray:
    """The numbers that codes stand for, exactly.

    codes: of a dtype with a format (float16, bfloat16, float8_e4m3fn, ...), or unsigned integers.
    format: of unsigned integers; of others it must be their own [=the dtype's].
    wide: float64 instead of float32 [=False]. out: where the result goes, float32 or float64 [=a new array].
    """
    return _softamp.widen(codes, format, wide, out, threads)
