"""Types of arguments that many functions share, and how they are handed on."""

from __future__ import annotations

from typing import Any, Protocol, Union

import numpy as np

from . import _softamp


class SupportsDLPack(Protocol):
    """An array of another library, such as a PyTorch tensor on the CPU."""

    def __dlpack__(self, *args: Any, **kwargs: Any) -> Any: ...

    def __dlpack_device__(self) -> Any: ...


Array = Union["np.ndarray[Any, Any]", SupportsDLPack]
Numbers = Union[Array, float, int]
FormatLike = Union[str, _softamp.Format, "np.dtype[Any]", type]
NDArray = np.ndarray[Any, Any]


def numbers(x: Any) -> Any:
    """A Python number as an array of one binary64; all else as it is."""
    return np.float64(x) if type(x) is float or type(x) is int else x


def name_of(value: Any) -> Any:
    """The name of a chip that is given as an object."""
    return value.name if isinstance(value, _softamp.Chip) else value
