"""softamp for PyTorch: tensors rounded with straight-through gradients, layers in low precision, rounded updates.

Every random bit has an address: seed, step, and the name of the layer and of what is rounded there. So results do not
depend on the number of threads or workers, or on the order of layers. float32 tensors of a CUDA device are rounded there to
formats of numbers, where the module was built with CUDA; other tensors of devices on the CPU, to the same bits.
"""

from __future__ import annotations

import functools
import inspect
import zlib
from dataclasses import dataclass, replace
from typing import Any, Callable, Iterable, Optional, Union

import numpy as np
import torch
from torch import Tensor, nn

from . import _softamp
from ._arguments import renamed
from ._blocks import fake_quantize
from ._rounding import round as _round

__all__ = ["Clock", "QuantizedLayer", "RoundedUpdates", "Rounding", "quantize", "quantize_", "round_gradient", "wrap"]

_DTYPES = {torch.float16: "fp16", torch.bfloat16: "bf16", torch.float32: "fp32", torch.float64: "fp64"}
_ADDRESS = {"seed", "step", "operation", "first_index"}
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

    def __post_init__(self) -> None:
        if not isinstance(self.format, str):
            object.__setattr__(self, "format", _softamp.Format(self.format).name)
        for name in ("bits", "axis"):
            _check_whole(name, getattr(self, name))
        for name in ("rounding", "variant", "overflow", "chip"):
            value = getattr(self, name)
            if not isinstance(value, (str, type(None))):
                raise TypeError(f"{name}: expected a word, not {value!r}")
        _check_rounding(self)

    @classmethod
    def of(cls, value: Union[str, Rounding, None]) -> Optional[Rounding]:
        """A name of a format stands for rounding to nearest."""
        return value if value is None or isinstance(value, Rounding) else cls(value)


def _check_whole(name: str, value: Any) -> None:
    if value is not None and (isinstance(value, bool) or not hasattr(type(value), "__index__")):
        raise TypeError(f"{name}: {value!r}: expected a whole number")


@functools.lru_cache(maxsize=1024)
def _check_rounding(r: Rounding) -> None:
    """Raises what rounding one number raises."""
    if _is_of_blocks(r.format):
        text = _block_text(r)
        fake_quantize(np.zeros((1, 1), np.float32), text)
        if r.axis is not None and not _has_axis(text):
            raise ValueError(f"axis: {r.format} has no blocks along an axis; expected none")
        return
    if r.axis is not None:
        raise ValueError(f"axis: {r.axis}: expected none beside {r.format}, a format of numbers; blocks lie along an axis")
    _round(np.zeros(1, np.float32), r.format, result="values", **_how(r))


def _how(r: Rounding) -> dict[str, Any]:
    rounding = r.rounding or (None if r.chip else "nearest")
    return dict(rounding=rounding, bits=r.bits, variant=r.variant, overflow=r.overflow, chip=r.chip)


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


def _has_axis(text: str) -> bool:
    """Whether the blocks of a format of blocks lie along an axis."""
    return _softamp.block_shape(text) != (0, 0)


@functools.lru_cache(maxsize=1024)
def _draws(r: Rounding) -> bool:
    """Whether random bits decide."""
    if _is_of_blocks(r.format):
        return _softamp.block_draws(_block_text(r))
    how = _how(r)
    return _softamp.draws(r.format, (*(how[key] for key in ("rounding", "bits", "variant", "overflow")), None, r.chip, None))


def _refuse_idle(rounds: Iterable[Optional[Rounding]], **address: int) -> None:
    """Raises ValueError for the first part of an address that none of the roundings draws at."""
    if not any(r is not None and _draws(r) for r in rounds):
        _softamp.refuse_idle([name for name, value in address.items() if value != 0], False)


def _is_of_blocks(format: str) -> bool:
    return ":" in format or format.lower().replace("-", "_") in _block_names()


def _block_names() -> list[str]:
    return [name for name in _softamp.block_formats() if "x" in name or "_" in name or name == "nvfp4"]


def _check_dtype(x: Tensor, format: str) -> None:
    if x.dtype not in _DTYPES:
        raise TypeError(f"quantize: has elements of {x.dtype}; expected float16, bfloat16, float32 or float64")
    if _is_of_blocks(format) and x.dtype != torch.float32:
        raise TypeError(f"quantize: has elements of {x.dtype}; expected float32 for the values of {format}")
    if x.dtype in (torch.float32, torch.float64):
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
    if chip is not None and x.dtype == torch.float64:
        raise TypeError("quantize: has elements of torch.float64; expected float32, which chips round")
    r = Rounding(format, rounding, bits, variant, overflow, chip)
    where: dict[str, Any] = {}
    if _draws(r):
        where = dict(seed=seed, step=step, operation=operation, first_index=first_index)
    how = _how(r)
    if x.is_cuda and _softamp.has_cuda and x.dtype == torch.float32 and not _is_of_blocks(format):
        there = x.detach().contiguous()
        rounded: Tensor = _round(there, format, out=torch.empty_like(there), **how, **where)
        return rounded
    wide = x.dtype == torch.float64
    dense = x.detach().to("cpu", torch.float64 if wide else torch.float32).contiguous()
    if _is_of_blocks(format):
        text = _block_text(r)
        values = fake_quantize(dense.numpy(), text, axis=axis if _has_axis(text) else -1, **where)
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
    for name, value in (("seed", seed), ("step", step), ("operation", operation), ("first_index", first_index)):
        _check_whole(name, value)
        if not 0 <= value < 1 << 63:
            raise ValueError(f"{name}: {value}: expected 0 to 2^63 - 1")
    if not isinstance(x, Tensor):
        raise TypeError(f"x: expected a tensor of PyTorch, not {type(x).__name__}")
    if not isinstance(format, Rounding):
        format = Rounding(format, rounding, bits, variant, overflow, chip, axis)
    elif any(given is not None for given in (rounding, bits, variant, overflow, chip, axis)):
        raise ValueError("format: a Rounding says how to round; expected nothing of that beside it")
    _refuse_idle([format], seed=seed, step=step, operation=operation, first_index=first_index)
    return _call(x, format, seed, step, operation, first_index)


def _call(x: Tensor, r: Rounding, seed: int, step: int, operation: int, first_index: int, axis: int = -1) -> Tensor:
    """axis: of blocks, where r names none."""
    axis = axis if r.axis is None else r.axis
    where = (seed, step, operation, first_index, axis)
    if _is_of_blocks(r.format):
        result: Tensor = torch.ops.softamp.quantize(x, _block_text(r), None, None, None, None, None, *where)
        return result
    result = torch.ops.softamp.quantize(x, r.format, *_how(r).values(), *where)
    return result


@torch.no_grad()
def quantize_(x: Tensor, format: Union[str, Rounding], **options: Any) -> Tensor:
    """The same in place, without a copy where x is float32, dense and on the CPU. options: as of quantize."""
    dense = isinstance(x, Tensor) and x.dtype == torch.float32 and x.device.type == "cpu" and x.is_contiguous()
    how = {key: options.get(key) for key in ("rounding", "bits", "variant", "overflow", "chip", "axis")}
    if dense and isinstance(format, str) and options.keys() <= how.keys() | _ADDRESS and not _is_of_blocks(format):
        r = Rounding(format, **how)
        _round(x.detach(), format, out=x.detach(), **_how(r), **{key: options[key] for key in options.keys() & _ADDRESS})
        torch.autograd.graph.increment_version(x)  # for who needs what was there before
        return x
    result: Tensor = x.copy_(quantize(x, format, **options))
    return result


class _RoundedGradient(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: Tensor, rounding: Rounding, address: tuple[int, int, int, int], layer: Any) -> Tensor:
        ctx.rounding, ctx.address, ctx.layer = rounding, address, layer
        return x.view_as(x)

    @staticmethod
    def backward(ctx: Any, gradient: Tensor) -> tuple[Optional[Tensor], ...]:
        return _rounded_values(ctx.layer, gradient, ctx.rounding, ctx.address), None, None, None


def round_gradient(
    x: Tensor, format: Union[str, Rounding, None] = None, *, seed: int = 0, step: int = 0, operation: int = 0, first_index: int = 0,
    rounding: Union[str, Rounding, None] = None,
) -> Tensor:  # fmt: skip
    """x itself; the gradient that arrives at it is rounded. format: a Rounding, or the name of a format."""
    how = Rounding.of(renamed("format", format, "rounding", rounding))
    if how is None:
        raise TypeError("round_gradient: expected a format, or a Rounding")
    _refuse_idle([how], seed=seed, step=step, operation=operation, first_index=first_index)
    result: Tensor = _RoundedGradient.apply(x, how, (seed, step, operation, first_index), None)
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
        if not self._roundings():
            raise ValueError("QuantizedLayer: nothing is rounded; expected weights, inputs, outputs or gradients")
        self._last_step = {True: -1, False: -1}
        self._calls = {True: 0, False: 0}  # of training, and of evaluation, which moves no bits of training's

    def __getattr__(self, name: str) -> Any:
        """What a layer around this one asks of it, but no tensor: that would not be rounded."""
        try:
            return super().__getattr__(name)
        except AttributeError:
            value = getattr(super().__getattr__("layer"), name)
            if isinstance(value, Tensor) and name != "in_proj_bias":  # a transformer's layer asks whether it is there
                raise
            return value

    def _roundings(self) -> list[Rounding]:
        return [r for r in (self.weights, self.inputs, self.outputs, self.gradients) if r is not None]

    def _address(self, role: str) -> tuple[int, int, int, int]:
        return self.clock.seed, self.clock.step, operation_of(self.name, role), self._calls[self.training] << _CALLS

    def _mapped(self, role: str, value: Any, change: Callable[[Tensor, tuple[int, int, int, int]], Tensor]) -> Any:
        """The value with its tensors changed, those in tuples, lists and dicts too, each at an address of its own."""
        if isinstance(value, Tensor):
            return change(value, self._address(role)) if _is_floating(value) else value
        if isinstance(value, (tuple, list)):
            parts = [self._mapped(f"{role}/{i}", one, change) for i, one in enumerate(value)]
            return type(value)(*parts) if hasattr(value, "_fields") else type(value)(parts)
        if isinstance(value, dict):
            return {key: self._mapped(f"{role}/{key}", one, change) for key, one in value.items()}
        return value

    def _count_call(self) -> None:
        if _in_backward() and any(_draws(r) for r in self._roundings()):
            raise RuntimeError(f"QuantizedLayer '{self.name}': is computed again within a backward pass (activation checkpointing); "
                               "expected no stochastic rounding there, whose bits would be other ones")  # fmt: skip
        self._calls[self.training] = self._calls[self.training] + 1 if self._last_step[self.training] == self.clock.step else 0
        self._last_step[self.training] = self.clock.step

    def forward(self, *inputs: Any, **more: Any) -> Any:
        self._count_call()
        if (how := self.inputs) is not None:
            inputs = tuple(self._mapped(f"input{i}", x, lambda t, at: _rounded_values(self.layer, t, how, at)) for i, x in enumerate(inputs))
            places = _places(self.layer) if more else {}
            more = {
                key: self._mapped(places.get(key, f"input/{key}"), x, lambda t, at: _rounded_values(self.layer, t, how, at))
                for key, x in more.items()
            }
        if self.weights is None:
            result = self.layer(*inputs, **more)
        else:
            rounded = {
                key: _rounded_parameter(self.layer, value, self.weights, self._address(f"weight/{key}"))
                for key, value in self.layer.named_parameters()
            }
            result = torch.func.functional_call(self.layer, rounded, inputs, more)
        if (how_out := self.outputs) is not None:
            result = self._mapped("output", result, lambda t, at: _rounded_values(self.layer, t, how_out, at))
        if (how_back := self.gradients) is not None:
            result = self._mapped("gradient", result, lambda t, at: _RoundedGradient.apply(t, how_back, at, self.layer))
        return result


def _places(layer: Any) -> dict[str, str]:
    """The places that arguments of a layer have, so that they are rounded alike when they are given by name."""
    try:
        parameters = inspect.signature(layer.forward).parameters.values()
    except (TypeError, ValueError):  # not written in Python
        return {}
    return {p.name: f"input{i}" for i, p in enumerate(parameters) if p.kind is p.POSITIONAL_OR_KEYWORD}


def _in_backward() -> bool:
    current = getattr(torch._C, "_current_graph_task_id", None)
    return current is not None and current() != -1


def _is_convolution(layer: Any) -> bool:
    return isinstance(layer, nn.modules.conv._ConvNd)


def _channels(layer: Any) -> int:
    """The axis of channels of what enters and leaves a convolution, with or without one of a batch; of other layers the last."""
    return -1 - len(layer.kernel_size) if _is_convolution(layer) else -1


def _rounded_parameter(layer: Any, parameter: Tensor, r: Rounding, address: tuple[int, int, int, int]) -> Tensor:
    """Blocks of a convolution's weights lie along the channels that it sums over, of one group; where a block does not fit into
    these, or has rows, along all that it sums: the channels at one place of the kernel after the other."""
    if parameter.ndim < 2:
        return _call(parameter, replace(r, axis=None), *address)
    if not _is_of_blocks(r.format) or r.axis is not None or not _is_convolution(layer):
        return _call(parameter, r, *address)
    rows, size = _softamp.block_shape(_block_text(r))
    transposed = isinstance(layer, nn.modules.conv._ConvTransposeNd)
    own = parameter.unflatten(0, (layer.groups, -1)) if transposed else parameter
    if rows == 0 or (rows == 1 and size > 0 and own.shape[1] % size == 0):
        return _call(own, r, *address, 1).reshape(parameter.shape)
    summed = own.movedim(1, -1)
    flat = _call(summed.flatten(-1 - len(layer.kernel_size)), r, *address)
    return flat.reshape(summed.shape).movedim(-1, 1).reshape(parameter.shape)


def _rounded_values(layer: Any, x: Tensor, r: Rounding, address: tuple[int, int, int, int]) -> Tensor:
    """What enters or leaves a layer: blocks lie along its channels; those that have rows, in the matrix of all places."""
    axis = _channels(layer)
    if axis == -1 or not _is_of_blocks(r.format) or r.axis is not None or _softamp.block_shape(_block_text(r))[0] <= 1:
        return _call(x, r, *address, axis)
    return _call(x.movedim(axis, -1), r, *address).movedim(-1, axis)


def _is_floating(x: Any) -> bool:
    return isinstance(x, Tensor) and x.is_floating_point()


def wrap(
    model: nn.Module,
    *,
    weights: Union[str, Rounding, None] = None,
    inputs: Union[str, Rounding, None] = None,
    outputs: Union[str, Rounding, None] = None,
    gradients: Union[str, Rounding, None] = None,
    layers: tuple[type, ...] = (nn.Linear, nn.Conv1d, nn.Conv2d, nn.Conv3d, nn.Embedding, nn.MultiheadAttention),
    seed: int = 0,
) -> Clock:
    """Puts a QuantizedLayer in the place of every layer of these kinds in a model, under its own name; of a layer that has
    such layers within it, as attention has, in its own place alone, and of one that stands in several places in all of them.

    Returns the clock; call clock.advance() after each optimizer step. Raises ValueError where the names of two layers give
    the same address, where nothing would be rounded, and for a seed where no rounding is stochastic.
    """
    _refuse_idle([Rounding.of(r) for r in (weights, inputs, outputs, gradients)], seed=seed)
    clock = Clock(seed)
    places: dict[int, list[str]] = {}
    found: dict[int, nn.Module] = {}
    within: list[str] = []
    for name, module in model.named_modules(remove_duplicate=False):
        if any(name.startswith(outer + ".") for outer in within) or not isinstance(module, layers):
            continue
        if not name:
            raise ValueError("wrap: the model itself is such a layer; expected a model of layers, or QuantizedLayer")
        within.append(name)
        found[id(module)] = module
        places.setdefault(id(module), []).append(name)
    if not places:
        kinds = ", ".join(kind.__name__ for kind in layers)
        raise ValueError(f"layers: the model has none of {kinds}; expected kinds of layers that it has")
    _check_addresses(names[0] for names in places.values())
    for key, names in places.items():
        wrapped = QuantizedLayer(
            found[key], names[0], clock, weights=weights, inputs=inputs, outputs=outputs, gradients=gradients
        )
        for name in names:
            setattr(model.get_submodule(name.rpartition(".")[0]), name.rpartition(".")[2], wrapped)
    for module in model.modules():
        if isinstance(module, nn.TransformerEncoderLayer):
            module.activation_relu_or_gelu = 0  # no path of its own in evaluation, past its layers
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
    format: its name, which is then rounded to stochastically, or a Rounding.
    """

    def __init__(
        self,
        optimizer: torch.optim.Optimizer,
        parameters: Iterable[tuple[str, Tensor]],
        format: Union[str, Rounding] = "bf16",
        *,
        seed: int = 0,
        rounding: Union[str, Rounding, None] = None,
    ) -> None:
        self.optimizer = optimizer
        format = renamed("format", format, "rounding", rounding)
        if isinstance(format, str):
            format = Rounding(format, None if "rounding=" in format else "stochastic")
        _refuse_idle([format], seed=seed)
        self.rounding = format
        self.seed = seed
        self.steps = 0
        self._names = {id(p): name for name, p in parameters}
        _check_addresses(name for name, _ in self._parameters())

    def _parameters(self) -> list[tuple[str, Tensor]]:
        """Those that the optimizer has now, of groups that were added, too."""
        found: list[tuple[str, Tensor]] = []
        for group in self.optimizer.param_groups:
            for p in group["params"]:
                if id(p) not in self._names:
                    raise ValueError("RoundedUpdates: the optimizer has a parameter without a name; expected all of them")
                name = self._names[id(p)]
                if p.dtype != torch.float32:
                    raise TypeError(f"RoundedUpdates: '{name}' is {p.dtype}; expected float32, in which it is updated")
                if p.ndim > 2 and self.rounding.axis is None and _is_of_blocks(self.rounding.format):
                    raise ValueError(f"RoundedUpdates: '{name}' has {p.ndim} axes; expected Rounding(..., axis=1), along which blocks of a "
                                     "convolution's weights lie, of a transposed one axis=0")  # fmt: skip
                found.append((name, p))
        return found

    def zero_grad(self, set_to_none: bool = True) -> None:
        self.optimizer.zero_grad(set_to_none)

    @property
    def param_groups(self) -> Any:
        return self.optimizer.param_groups

    def step(self, closure: Optional[Callable[[], Any]] = None) -> Any:
        """The optimizer's step, then the rounding. Parameters without a gradient stay as they are."""
        parameters = self._parameters()
        loss = self.optimizer.step() if closure is None else self.optimizer.step(closure)
        with torch.no_grad():
            for name, p in parameters:
                if p.grad is None:
                    continue
                how = self.rounding if p.ndim > 1 else replace(self.rounding, axis=None)
                p.copy_(_call(p, how, self.seed, self.steps, operation_of(name, "update"), 0))
        self.steps += 1
        return loss

    def state_dict(self) -> dict[str, Any]:
        return {"optimizer": self.optimizer.state_dict(), "steps": self.steps, "seed": self.seed}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        self.optimizer.load_state_dict(state["optimizer"])
        self.steps, self.seed = state["steps"], state["seed"]
