"""softamp: low-precision arithmetic of an IPU-style accelerator, bit for bit, for NumPy arrays.

>>> import numpy as np, softamp
>>> softamp.round(np.float32([0.1, 0.2]), "fp16", rounding="stochastic", seed=1)

docs/PYTHON.md shows what there is.
"""

from ._arithmetic import add, div, fma, mul, sqrt, sub
from ._rounding import round, widen
from ._softamp import Chip, FloatingPointException, Format, Status, behaviour, block_formats, chips, formats
from ._softamp import version as __version__
