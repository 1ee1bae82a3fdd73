"""softamp: low-precision arithmetic of an IPU-style accelerator, bit for bit, for NumPy arrays.

>>> import softamp
>>> softamp.round(0.1, "fp16", result="values")
array(0.09997559, dtype=float32)

docs/PYTHON.md shows what there is.
"""

from ._arithmetic import add, div, fma, mul, sqrt, sub
from ._blocks import Quantized, dequantize, fake_quantize, quantize
from ._experiments import Experiment, experiments, reproduce
from ._graphs import Executor, Graph, Run
from ._inspection import inspect
from ._products import matmul
from ._rounding import round, widen
from ._softamp import Chip, FloatingPointException, Format, Status, behaviour, block_formats, chips, formats
from ._softamp import version as __version__
from ._sums import dot, running_sum, sum
from ._training import Study, Training, study, train

__all__ = [
    "Chip",
    "Executor",
    "Experiment",
    "FloatingPointException",
    "Format",
    "Graph",
    "Quantized",
    "Run",
    "Status",
    "Study",
    "Training",
    "__version__",
    "add",
    "behaviour",
    "block_formats",
    "chips",
    "dequantize",
    "div",
    "dot",
    "experiments",
    "fake_quantize",
    "fma",
    "formats",
    "inspect",
    "matmul",
    "mul",
    "quantize",
    "reproduce",
    "round",
    "running_sum",
    "sqrt",
    "study",
    "sub",
    "sum",
    "train",
    "widen",
]
