"""inspect: a number taken apart."""

from __future__ import annotations

import json
from typing import Any, Optional

from . import _softamp
from ._arguments import FormatLike, Number, exact_text

__all__ = ["inspect"]


def inspect(
    value: Number, format: FormatLike = "fp16", *, bits: Optional[int] = None, overflow: Optional[str] = None
) -> dict[str, Any]:
    """What every rounding makes of a number, and why: the document of `softamp inspect --json`.

    value: a number, read exactly: int, float, fractions.Fraction, decimal.Decimal or a text; text as "0.1", "0x1.8p-3", "inf", is read as decimal: inspect(0.1) is the float nearest
        to it, inspect("0.1") one tenth. "0x3c00" is a code.
    bits: random bits of the stochastic roundings shown [=13]. overflow: "infinity", "saturate", "nan" [="infinity"].
    """
    text = exact_text(value, "value")
    document: dict[str, Any] = json.loads(_softamp.inspect(text, format, bits, overflow))
    return document

