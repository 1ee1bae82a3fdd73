"""matmul, and the sums that the accelerator's engine computes."""

from __future__ import annotations

import json
from typing import Any, Optional

import numpy as np

from . import _softamp
from ._arguments import Array, FormatLike, NDArray
from ._rounding import round, widen

__all__ = ["matmul"]

_DTYPES = {"fp16": "float16", "bf16": "bfloat16", "fp32": "float32"}
_HOLDERS = {"fp16": ("fp16", "fp32"), "bf16": ("bf16", "fp32"), "e4m3": tuple(_DTYPES), "e5m2": tuple(_DTYPES)}
_ROUNDING = ("rounding", "bits", "variant", "overflow", "preset", "random")


def _engine_options(name: str, seed: int, options: dict[str, Any]) -> dict[str, Any]:
    """What the engine takes; a rounding that is given decides all of its semantics."""
    behaviour = options.pop("behaviour", None)
    engine: dict[str, Any] = {"seed": seed, "behaviour": behaviour}
    if any(options.get(key) is not None for key in _ROUNDING):
        rounding, bits, variant, overflow = (options.get(key) for key in ("rounding", "bits", "variant", "overflow"))
        for flag, key, value in (("esr", "rounding", rounding), ("nanoo", "overflow", overflow)):
            if value is not None and getattr(behaviour, flag, False):
                raise ValueError(f"behaviour: {flag} decides the {key}, which is {value!r}; expected one of them")
        preset = options.get("preset") or "ipu"
        engine["semantics"] = (rounding, bits, variant, overflow, preset, None, options.get("random"))
    for key in _ROUNDING:
        options.pop(key, None)
    for key in ("partials", "block", "inner", "accumulator", "tensor_core_operands", "threads", "reference"):
        if options.get(key) is not None:
            engine[key] = options[key]
        options.pop(key, None)
    if options:
        raise TypeError(f"{name}() has no argument '{next(iter(options))}'")
    engine["memory_per_tile"] = 0  # an array of the host, whatever a device could hold
    return engine


def _operand(argument: str, x: Array, format: FormatLike) -> tuple[NDArray, str]:
    """x in the format, rounded to nearest where it is not there, and the name of the graph's dtype."""
    name = _softamp.Format(format).name
    if name not in _DTYPES:
        raise ValueError(f"format: {name!r}: expected fp16, bf16 or fp32, in which the engine computes")
    dtype = _DTYPES[name]
    if isinstance(x, np.ndarray) and str(x.dtype) == dtype and x.dtype.isnative:
        return x, dtype
    try:
        return round(x, format, rounding="nearest", preset="ieee"), dtype
    except (TypeError, ValueError) as error:  # round calls it x
        raise type(error)(str(error).replace("x:", f"{argument}:", 1)) from None


def _as_numpys(x: Any) -> Any:
    """The array, and one of codes that only buffers or DLPack give as one of NumPy's."""
    if hasattr(x, "dtype"):
        return x
    own = _softamp.format_of_codes(x)
    return x if own is None else round(widen(x), own)


def _own_format(x: Any) -> Optional[str]:
    """The format of an array of codes: of float16, bfloat16, the small types of ml_dtypes and PyTorch; none of others."""
    name = str(getattr(x, "dtype", "")).removeprefix("torch.")
    if name in ("float32", "float64") or not name.startswith(("float", "bfloat")):
        return None
    try:
        return _softamp.Format(name).name
    except ValueError:
        return None


def _fed(a: Array, b: Array, format: str, accumulator: str) -> Optional[str]:
    """The operands of a tensor core: the arrays' own type; none where they are numbers that the format is made of."""
    of_a, of_b = _own_format(a), _own_format(b)
    if {of_a, of_b} <= {None, format}:
        return None
    if of_a is None or of_b is None or of_a != of_b:
        texts = (str(getattr(x, "dtype", type(x).__name__)) for x in (a, b))
        raise ValueError(f"a, b: {' and '.join(texts)} with accumulator {accumulator}: expected two arrays of one type, "
                         "or tensor_core_operands, to which both are rounded")  # fmt: skip
    if of_a not in _HOLDERS:
        raise ValueError(f"a, b: {of_a}: accumulator {accumulator} takes fp16, bf16, e4m3 and e5m2; expected one of them "
                         "in tensor_core_operands, to which both are rounded")  # fmt: skip
    if format not in _HOLDERS[of_a]:
        raise ValueError(f"format: {format!r} does not hold the numbers of {of_a}, of which a and b are; expected "
                         f"{' or '.join(_HOLDERS[of_a])}, or tensor_core_operands")  # fmt: skip
    return of_a


def _dtype(value: NDArray, otherwise: str) -> str:
    return "float32" if value.dtype == np.float32 else otherwise


def _run(op: str, inputs: dict[str, NDArray], dtype: str, attributes: dict[str, Any], options: dict[str, Any]) -> NDArray:
    nodes: list[dict[str, Any]] = [
        {"name": name, "op": "Placeholder", "attributes": {"dtype": _dtype(value, dtype), "shape": list(value.shape)}}
        for name, value in inputs.items()
    ]
    nodes.append({"name": "result", "op": op, "inputs": list(inputs), "attributes": attributes})
    graph = _softamp.GraphFile.from_json(json.dumps({"softamp_graph": 1, "nodes": nodes, "outputs": ["result"]}), None)
    executor = graph.executor(options, "rounding='stochastic'")
    result: NDArray = executor.run(inputs, ["result"])["values"]["result"]
    return result


def _float(result: NDArray) -> float:
    """One number of an array without axes; unsigned integers are bfloat16 where there is no ml_dtypes."""
    if result.dtype == np.float32:
        return float(result)
    return float(_softamp.widen(result, "bf16" if result.dtype == np.uint16 else None, True, None, 0))


def matmul(
    a: Array,
    b: Array,
    format: Optional[FormatLike] = None,
    *,
    partials: Optional[str] = None,
    block: Optional[int] = None,
    inner: Optional[str] = None,
    accumulator: Optional[str] = None,
    tensor_core_operands: Optional[str] = None,
    transpose_a: bool = False,
    transpose_b: bool = False,
    c: Optional[Array] = None,
    seed: int = 0,
    behaviour: Optional[_softamp.behaviour] = None,
    threads: int = 0,
    **rounding: Any,
) -> NDArray:
    """The matrix product a b as the accelerator computes it: [m, k] by [k, n], or batches of them that broadcast.

    format: of the result, and what a and b are brought to, rounded to nearest where they are not of it: fp16, bf16 or fp32
        [=bf16 of two arrays of bfloat16, else fp16].
    partials: "float" or "half": the format of partial sums [="float"]. block: products between two roundings of half
        partials: 1, 4, 16, or 0 for all of k [=16]. inner: "fma_chain", "rn32_each", "exact_dot4" [="fma_chain"].
    accumulator: "ipu_model_a", "fp32_chain", "tensorcore_volta", ..._turing, _ampere, _ada, _hopper, _blackwell
        [="ipu_model_a"]. tensor_core_operands: "own", "fp16", "bf16", "e4m3", "e5m2" [="own"]; own: the
        type of the arrays, where both are of float16, bfloat16, float8_e4m3fn or float8_e5m2, else the format.
    c: float32 numbers that the sums begin with, in the place of 0: one for each result, or [n], one for each column [=none].
    rounding, bits, variant, overflow, preset, random: how results are rounded, as of round [=preset ipu, nearest].
    behaviour: behaviour(...): its exceptions stop, esr and nanoo decide the rounding where none is given.
    seed: of the random bits of stochastic roundings.

    Returns an array of the format's dtype. Raises ValueError for shapes that do not fit and options that do not go
    together, FloatingPointException where an enabled exception is raised.
    """
    options: dict[str, Any] = dict(
        rounding, partials=partials, block=block, inner=inner, accumulator=accumulator, behaviour=behaviour,
        tensor_core_operands=tensor_core_operands, threads=threads,
    )
    engine = _engine_options("matmul", seed, options)
    a, b = _as_numpys(a), _as_numpys(b)
    if format is None:
        format = "bf16" if _own_format(a) == _own_format(b) == "bf16" else "fp16"
    if accumulator is not None and _softamp.is_own(tensor_core_operands or "own") and _softamp.is_tensor_core(accumulator):
        fed = _fed(a, b, _softamp.Format(format).name, accumulator)
        engine.update({} if fed is None else {"tensor_core_operands": fed})
    x, dtype = _operand("a", a, format)
    y, _ = _operand("b", b, format)
    for argument, value in (("a", x), ("b", y)):
        if value.ndim < 2:
            raise ValueError(f"{argument}: has the shape {value.shape}; expected a matrix, or batches of them")
    inputs = {"a": x, "b": y} if c is None else {"a": x, "b": y, "c": _operand("c", c, "fp32")[0]}
    if x.ndim == 2 and y.ndim == 2:
        return _run("MatMul", inputs, dtype, {"transpose_a": transpose_a, "transpose_b": transpose_b}, engine)
    return _run("BatchMatMulV2", inputs, dtype, {"adj_x": transpose_a, "adj_y": transpose_b}, engine)


def _row(argument: str, x: Any, format: FormatLike) -> Any:
    """The elements in one row, of the array's own type."""
    if not hasattr(x, "reshape"):
        x = np.asarray(_operand(argument, x, format)[0])
    return x.reshape(1, -1)


def engine_dot(a: Array, b: Array, format: FormatLike, seed: int, options: dict[str, Any]) -> float:
    """dot with an accumulator: a product of one row and one column."""
    x, y = (_row(name, v, format) for name, v in (("a", _as_numpys(a)), ("b", _as_numpys(b))))
    if x.shape != y.shape:
        raise ValueError(f"b: has {y.shape[1]} elements; expected {x.shape[1]}, as many as a has")
    return _float(matmul(x, y.reshape(-1, 1), format, seed=seed, **options).reshape(()))


def engine_sum(x: Array, format: FormatLike, seed: int, options: dict[str, Any]) -> float:
    """sum in the order of the accelerator's reduction."""
    partials = options.pop("partials", None)
    engine = _engine_options("sum", seed, options)
    values, dtype = _operand("x", x, format)
    attributes: dict[str, Any] = {"axes": []}
    if partials is not None:
        attributes["accumulator"] = _softamp.our_partials(partials)
    return _float(_run("Sum", {"x": values}, dtype, attributes, engine))
