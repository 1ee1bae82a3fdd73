"""softamp for PyTorch: tensors rounded with straight-through gradients, layers in low precision, rounded updates.

Every random bit has an address: seed, step, and the name of the layer and of what is rounded there. So results do not
depend on the number of threads or workers, or on the order of layers. float32 tensors of a CUDA device are rounded there to
formats of numbers, where the module was built with CUDA; other tensors of devices on the CPU, to the same bits.
"""

from __future__ import annotations

import zlib
from dataclasses import dataclass
from typing import Any, Callable, Iterable, Optional, Union

import torch
from torch import Tensor, nn

from . import _softamp
from ._blocks import fake_quantize
from ._rounding import round as _round

__all__ = ["Clock", "QuantizedLayer", "RoundedUpdates", "Rounding", "quantize", "quantize_", "round_gradient", "wrap"]

_DTYPES = {torch.float16: "fp16", torch.bfloat16: "bf16", torch.float32: "fp32", torch.float64: "fp64"}
_CALLS = 40  # bits of first_index below the number of a call in its step: no tensor has so many elements


@dataclass(frozen=True)
class Rounding:
    """How tensors are rounded. format: of numbers ("e4m3", "fp16", "e5p9", ...), or of blocks ("mxfp4",
    "nvfp4:rounding=stochastic"). rounding, bits, variant [=nearest, or what the text of a format of blocks says]: as of
    softamp.round; overflow, chip: the same, for formats of numbers alone. axis: along which blocks lie [=the last; in a
    layer the one that it sums over: of a convolution its channels]."""

    format: str
    rounding: Optional[str] = None
    bits: Optional[int] = None
    variant: Optional[str] = None
    overflow: Optional[str] = None
    chip: Optional[str] = None
    axis: Optional[int] = None

    @classmethod
    def of(cls, value: Union[str, Rounding, None]) -> Optional[Rounding]:
        """A name of a format stands for rounding to nearest."""
        return cls(value) if isinstance(value, str) else value


def _block_text(r: Rounding) -> str:
    """The text of a format of blocks with the rounding that is given beside it."""
    for name, value in (("overflow", r.overflow), ("chip", r.chip)):
        if value is not None:
            raise ValueError(f"{name}: {value!r}: expected none beside {r.format}, a format of blocks, which saturate")
    beside = (("rounding", r.rounding), ("bits", r.bits), ("variant", r.variant))
    given = [f"{name}={value}" for name, value in beside if value is not None]
    if not given:
        return r.format
    return r.format + ("," if ":" in r.format else ":") + ",".join(given)


def _is_of_blocks(format: str) -> bool:
    return ":" in format or format.lower().replace("-", "_") in _block_names()


def _block_names() -> list[str]:
    return [name for name in _softamp.block_formats() if "x" in name or "_" in name or name == "nvfp4"]


def _check_dtype(x: Tensor, format: str) -> None:
    if x.dtype not in _DTYPES:
        raise TypeError(f"quantize: has elements of {x.dtype}; expected float16, bfloat16, float32 or float64")
    if x.dtype in (torch.float32, torch.float64) or _is_of_blocks(format):
        if x.dtype in (torch.float16, torch.bfloat16):
            raise TypeError(f"quantize: has elements of {x.dtype}; expected float32 for the values of {format}")
        return
    target, own = _softamp.Format(format), _softamp.Format(_DTYPES[x.dtype])
    fits = target.precision <= own.precision and target.max <= own.max and target.min_subnormal >= own.min_subnormal
    if not fits:
        raise TypeError(f"quantize: has elements of {x.dtype}, which do not hold all values of {format}; expected float32")


@torch.library.custom_op("softamp::quantize", mutates_args=())
def _quantize(
    x: Tensor,
    format: str,
    rounding: Optional[str],
    bits: Optional[int],
    variant: Optional[str],
    overflow: Optional[str],
    chip: Optional[str],
    seed: int,
    step: int,
    operation: int,
    first_index: int,
    axis: int = -1,
) -> Tensor:
    _check_dtype(x, format)
    where: dict[str, Any] = dict(seed=seed, step=step, operation=operation, first_index=first_index)
    how: dict[str, Any] = dict(rounding=rounding, bits=bits, variant=variant, overflow=overflow, chip=chip)
    if x.is_cuda and _softamp.has_cuda and x.dtype == torch.float32 and not _is_of_blocks(format):
        there = x.detach().contiguous()
        rounded: Tensor = _round(there, format, out=torch.empty_like(there), **how, **where)
        return rounded
    wide = x.dtype == torch.float64 and not _is_of_blocks(format) and chip is None
    dense = x.detach().to("cpu", torch.float64 if wide else torch.float32).contiguous()
    if _is_of_blocks(format):
        values = fake_quantize(dense.numpy(), format, axis=axis, **where)
    else:
        values = _round(dense.numpy(), format, result="values", **how, **where)
    result: Tensor = torch.from_numpy(values).reshape(x.shape).to(x.device, x.dtype)
    return result


@_quantize.register_fake
def _(x: Tensor, *_: Any) -> Tensor:
    return torch.empty_like(x, memory_format=torch.contiguous_format)


def _straight_through(_: Any, gradient: Tensor) -> tuple[Optional[Tensor], ...]:
    return (gradient,) + (None,) * 11


_quantize.register_autograd(_straight_through)


def quantize(
    x: Tensor,
    format: Union[str, Rounding],
    *,
    rounding: Optional[str] = None,
    bits: Optional[int] = None,
    variant: Optional[str] = None,
    overflow: Optional[str] = None,
    chip: Optional[str] = None,
    seed: int = 0,
    step: int = 0,
    operation: int = 0,
    first_index: int = 0,
    axis: Optional[int] = None,
) -> Tensor:
    """A tensor of x's shape, dtype and device with every element rounded to a format; the gradient goes straight through.

    x: float32 or float64; float16 or bfloat16 where these hold all values of the format.
    format: a name, of numbers or of blocks, or a Rounding, beside which nothing else says how to round.
    axis: along which blocks lie [=-1, the last].
    rounding, bits, variant: of blocks, too; overflow and chip: of numbers alone.
    All else as of softamp.round; seed below 2^63. It is the operation torch.ops.softamp.quantize.
    """
    if not isinstance(format, Rounding):
        format = Rounding(format, rounding, bits, variant, overflow, chip, axis)
    elif any(given is not None for given in (rounding, bits, variant, overflow, chip, axis)):
        raise ValueError("format: a Rounding says how to round; expected nothing of that beside it")
    return _call(x, format, seed, step, operation, first_index)


def _call(x: Tensor, r: Rounding, seed: int, step: int, operation: int, first_index: int, axis: int = -1) -> Tensor:
    """axis: of blocks, where r names none."""
    axis = axis if r.axis is None else r.axis
    where = (seed, step, operation, first_index, axis)
    if _is_of_blocks(r.format):
        result: Tensor = torch.ops.softamp.quantize(x, _block_text(r), None, None, None, None, None, *where)
        return result
    rounding = r.rounding or (None if r.chip else "nearest")
    result = torch.ops.softamp.quantize(x, r.format, rounding, r.bits, r.variant, r.overflow, r.chip, *where)
    return result


@torch.no_grad()
def quantize_(x: Tensor, format: Union[str, Rounding], **options: Any) -> Tensor:
    """The same in place, without a copy where x is float32, dense and on the CPU. options: as of softamp.round."""
    there = x.dtype == torch.float32 and x.device.type == "cpu" and x.is_contiguous()
    if there and isinstance(format, str) and not _is_of_blocks(format) and "axis" not in options:
        _round(x.detach(), format, out=x.detach(), **options)
        return x
    result: Tensor = x.copy_(quantize(x, format, **options))
    return result


class _RoundedGradient(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: Tensor, rounding: Rounding, address: tuple[int, int, int, int], axis: int) -> Tensor:
        ctx.rounding, ctx.address, ctx.axis = rounding, address, axis
        return x.view_as(x)

    @staticmethod
    def backward(ctx: Any, gradient: Tensor) -> tuple[Optional[Tensor], ...]:
        address: tuple[int, int, int, int] = ctx.address
        return _call(gradient, ctx.rounding, *address, ctx.axis), None, None, None


def round_gradient(
    x: Tensor, rounding: Union[str, Rounding], *, seed: int = 0, step: int = 0, operation: int = 0, first_index: int = 0
) -> Tensor:
    """x itself; the gradient that arrives at it is rounded."""
    how = Rounding(rounding) if isinstance(rounding, str) else rounding
    result: Tensor = _RoundedGradient.apply(x, how, (seed, step, operation, first_index), -1)
    return result


def operation_of(name: str, role: str) -> int:
    """The address (24 bits) of what is rounded in a place: the CRC-32 of "name/role", its low bits."""
    return zlib.crc32(f"{name}/{role}".encode()) & 0xFFFFFF


class Clock:
    """The step that addresses of random bits count, shared by the layers of a model and its optimizer."""

    def __init__(self, seed: int = 0) -> None:
        self.seed = seed
        self.step = 0

    def advance(self) -> None:
        """After each optimizer step."""
        self.step += 1


class QuantizedLayer(nn.Module):
    """A layer whose parameters, inputs, outputs and arriving gradients are rounded, each in its own way.

    The layer keeps its parameters as they are (master weights): what it computes with is rounded at every call, and
    gradients go straight through that. name: of the layer, the address of its random bits with clock.step; the calls of
    one step (micro-batches) have addresses of their own.
    """

    def __init__(
        self,
        layer: nn.Module,
        name: str,
        clock: Clock,
        *,
        weights: Union[str, Rounding, None] = None,
        inputs: Union[str, Rounding, None] = None,
        outputs: Union[str, Rounding, None] = None,
        gradients: Union[str, Rounding, None] = None,
    ) -> None:
        super().__init__()
        self.layer = layer
        self.name = name
        self.clock = clock
        self.weights, self.inputs = Rounding.of(weights), Rounding.of(inputs)
        self.outputs, self.gradients = Rounding.of(outputs), Rounding.of(gradients)
        self._last_step = -1
        self._calls = 0

    def _address(self, role: str) -> tuple[int, int, int, int]:
        return self.clock.seed, self.clock.step, operation_of(self.name, role), self._calls << _CALLS

    def forward(self, *inputs: Any, **more: Any) -> Any:
        self._calls = self._calls + 1 if self._last_step == self.clock.step else 0
        self._last_step = self.clock.step
        of_values = _channels(self.layer)
        if self.inputs is not None:
            inputs = tuple(
                _call(x, self.inputs, *self._address(f"input{i}"), of_values) if _is_floating(x) else x for i, x in enumerate(inputs)
            )
        if self.weights is None:
            result = self.layer(*inputs, **more)
        else:
            rounded = {
                key: _call(value, self.weights, *self._address(f"weight/{key}"), _summed_axis(self.layer, value))
                for key, value in self.layer.named_parameters()
            }
            result = torch.func.functional_call(self.layer, rounded, inputs, more)
        if self.outputs is not None and _is_floating(result):
            result = _call(result, self.outputs, *self._address("output"), of_values)
        if self.gradients is not None and _is_floating(result):
            result = _RoundedGradient.apply(result, self.gradients, self._address("gradient"), of_values)
        return result


def _is_convolution(layer: Any) -> bool:
    return isinstance(layer, nn.modules.conv._ConvNd)


def _channels(layer: Any) -> int:
    """The axis of channels of what enters and leaves a convolution, with or without one of a batch; of other layers the last."""
    return -1 - len(layer.kernel_size) if _is_convolution(layer) else -1


def _summed_axis(layer: nn.Module, parameter: Tensor) -> int:
    """The axis of a parameter that the layer sums over: of a convolution's weights the channels that enter it."""
    if not _is_convolution(layer) or parameter.ndim < 2:
        return -1
    return 0 if isinstance(layer, nn.modules.conv._ConvTransposeNd) else 1


def _is_floating(x: Any) -> bool:
    return isinstance(x, Tensor) and x.is_floating_point()


def wrap(
    model: nn.Module,
    *,
    weights: Union[str, Rounding, None] = None,
    inputs: Union[str, Rounding, None] = None,
    outputs: Union[str, Rounding, None] = None,
    gradients: Union[str, Rounding, None] = None,
    layers: tuple[type, ...] = (nn.Linear, nn.Conv1d, nn.Conv2d, nn.Conv3d, nn.Embedding),
    seed: int = 0,
) -> Clock:
    """Puts a QuantizedLayer in the place of every layer of these kinds in a model, under its own name.

    Returns the clock; call clock.advance() after each optimizer step. Raises ValueError where the names of two layers give
    the same address.
    """
    clock = Clock(seed)
    chosen = [(name, m) for name, m in model.named_modules() if isinstance(m, layers)]
    _check_addresses(name for name, _ in chosen)
    for name, layer in chosen:
        if not name:
            raise ValueError("wrap: the model itself is such a layer; expected a model of layers, or QuantizedLayer")
        parent = model.get_submodule(name.rpartition(".")[0])
        wrapped = QuantizedLayer(
            layer, name, clock, weights=weights, inputs=inputs, outputs=outputs, gradients=gradients
        )
        setattr(parent, name.rpartition(".")[2], wrapped)
    return clock


def _check_addresses(names: Iterable[str]) -> None:
    seen: dict[int, str] = {}
    for name in names:
        other = seen.setdefault(operation_of(name, "output"), name)
        if other != name:
            raise ValueError(f"the names '{other}' and '{name}' give the same address of random bits; rename one of them")


class RoundedUpdates:
    """An optimizer whose updates are rounded: after each step every parameter is rounded to a format, by default
    stochastically, so that on average no update is lost.

    optimizer: any of torch.optim, of float32 parameters on the CPU or another device; it computes the update in float32.
    parameters: (name, parameter) pairs, as model.named_parameters() gives them; the names are addresses of random bits.
    rounding: a Rounding, or the name of a format, which is then rounded to stochastically.
    """

    def __init__(
        self,
        optimizer: torch.optim.Optimizer,
        parameters: Iterable[tuple[str, Tensor]],
        rounding: Union[str, Rounding] = "bf16",
        *,
        seed: int = 0,
    ) -> None:
        self.optimizer = optimizer
        self.rounding = Rounding(rounding, "stochastic") if isinstance(rounding, str) else rounding
        self.seed = seed
        self.steps = 0
        names = {id(p): name for name, p in parameters}
        self._parameters: list[tuple[str, Tensor]] = []
        for group in optimizer.param_groups:
            for p in group["params"]:
                if id(p) not in names:
                    raise ValueError("RoundedUpdates: the optimizer has a parameter without a name; expected all of them")
                if p.dtype != torch.float32:
                    raise TypeError(f"RoundedUpdates: '{names[id(p)]}' is {p.dtype}; expected float32, in which it is updated")
                self._parameters.append((names[id(p)], p))
        _check_addresses(name for name, _ in self._parameters)

    def zero_grad(self, set_to_none: bool = True) -> None:
        self.optimizer.zero_grad(set_to_none)

    @property
    def param_groups(self) -> Any:
        return self.optimizer.param_groups

    def step(self, closure: Optional[Callable[[], Any]] = None) -> Any:
        """The optimizer's step, then the rounding. Parameters without a gradient stay as they are."""
        loss = self.optimizer.step() if closure is None else self.optimizer.step(closure)
        with torch.no_grad():
            for name, p in self._parameters:
                if p.grad is not None:
                    p.copy_(_call(p, self.rounding, self.seed, self.steps, operation_of(name, "update"), 0))
        self.steps += 1
        return loss

    def state_dict(self) -> dict[str, Any]:
        return {"optimizer": self.optimizer.state_dict(), "steps": self.steps, "seed": self.seed}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        self.optimizer.load_state_dict(state["optimizer"])
        self.steps, self.seed = state["steps"], state["seed"]
