"""inspect: a number taken apart."""

from __future__ import annotations

import json
from typing import Any, Optional, Union

from . import _softamp
from ._arguments import FormatLike

__all__ = ["inspect"]


def inspect(
    value: Union[str, float, int], format: FormatLike = "fp16", *, bits: Optional[int] = None, overflow: Optional[str] = None
) -> dict[str, Any]:
    """What every rounding makes of a number, and why: the document of `softamp inspect --json`.

    value: a number, read exactly; text as "0.1", "0x1.8p-3", "inf", is read as decimal: inspect(0.1) is the float nearest
        to it, inspect("0.1") one tenth. "0x3c00" is a code.
    bits: random bits of the stochastic roundings shown [=13]. overflow: "infinity", "saturate", "nan" [="infinity"].
    """
    text = value if isinstance(value, str) else _exact_text(value)
    document: dict[str, Any] = json.loads(_softamp.inspect(text, format, bits, overflow))
    return document


def _exact_text(value: Any) -> str:
    if isinstance(value, bool) or not hasattr(value, "__float__"):
        raise TypeError(f"value: expected a number or a text, not {value!r}")
    return str(value) if isinstance(value, int) else float(value).hex()
