"""quantize, dequantize, fake_quantize: arrays in blocks of small elements with scales (MX, NVFP4, FP8)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Optional

from . import _softamp
from ._arguments import Array, NDArray

__all__ = ["Quantized", "dequantize", "fake_quantize", "quantize"]

@dataclass(frozen=True, eq=False)
class Quantized:
    """What quantize returns.

    codes: uint8, of the array's shape, an element each. scales: uint8 (MX: E8M0; NVFP4: E4M3), or float32 of FP8; the
    extent of the axis is the number of its blocks. format: its text, as quantize read it. axis: of the blocks. amax: the
    greatest magnitude, to which the scales of NVFP4 refer; 0 of others. status: the flags raised.
    """

    codes: NDArray
    scales: NDArray
    format: str
    axis: int
    amax: float
    status: _softamp.Status

    def values(self, threads: int = 0) -> NDArray:
        """The float32 values that codes and scales stand for."""
        return dequantize(self.codes, self.scales, self.format, axis=self.axis, amax=self.amax, threads=threads)


def _how(random: Optional[str]) -> tuple[Optional[str], ...]:
    return (None, None, None, None, None, None, random)


def quantize(
    x: Array,
    format: str,
    *,
    axis: int = -1,
    amax: Optional[float] = None,
    seed: int = 0,
    step: int = 0,
    operation: int = 0,
    first_index: int = 0,
    random: Optional[str] = None,
    threads: int = 0,
) -> Quantized:
    """Make blocks of small elements with scales of an array.

    x: float32, float16 or a type of ml_dtypes, of any shape.
    format: NAME[:OPTION=VALUE,...]: "mxfp4", "mxfp8_e4m3", "nvfp4:rounding=stochastic,bits=8", "e4m3_1x128"; see
        block_formats() and docs/PYTHON.md.
    axis: along which blocks lie [=-1, the last].
    amax: the greatest magnitude of NVFP4's tensor where it is not this array's own [=x's]; with NVFP4 alone.
    seed, step, operation, first_index, random: the address of the random bits, as of round; with a format that rounds
        stochastically.

    Raises ValueError for an unknown format or option, for an axis that the array or the format does not have, and for
    a setting that changes no result.
    """
    codes, scales, greatest, text, status = _softamp.quantize(
        x, format, axis, amax, _how(random), (seed, step, operation, first_index, None, threads)
    )
    return Quantized(codes, scales, text, axis, greatest, status)


def dequantize(
    codes: Array, scales: Array, format: str, *, axis: int = -1, amax: float = 0.0, threads: int = 0
) -> NDArray:
    """The float32 values of codes and scales as quantize made them; amax: what it found (NVFP4 alone needs it)."""
    return _softamp.dequantize(codes, scales, format, axis, amax, threads)


def fake_quantize(
    x: Array,
    format: str,
    *,
    axis: int = -1,
    seed: int = 0,
    step: int = 0,
    operation: int = 0,
    first_index: int = 0,
    random: Optional[str] = None,
    out: Optional[Array] = None,
    threads: int = 0,
) -> NDArray:
    """Both at once: the float32 values that x has after quantize. out may be x itself."""
    return _softamp.fake_quantize(
        x, format, axis, _how(random), (seed, step, operation, first_index, None, threads), out
    )
