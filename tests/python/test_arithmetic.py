"""add, sub, mul, div, fma, sqrt against the command `compute`, against NumPy, and at their addresses."""

import numpy as np
import pytest
import softamp

SUITE = {"add": "add", "sub": "sub", "mul": "mul", "div": "div", "fma": "mulAdd", "sqrt": "sqrt"}
OPERANDS = {"add": 2, "sub": 2, "mul": 2, "div": 2, "fma": 3, "sqrt": 1}
FLAGS = ["inexact", "underflow", "overflow", "divide_by_zero", "invalid"]
WIDTH = {"f16": 16, "bf16": 16, "f32": 32, "e4m3": 8, "f143": 8, "tf32": 19}
NAMES = {"f16": "fp16", "f32": "fp32"}


def compute(program, operation, format, operands, *options):
    """Codes and flags of each line, by the command."""
    digits = (WIDTH[format] + 3) // 4
    lines = "".join(" ".join(f"{int(c):0{digits}X}" for c in row) + "\n" for row in zip(*operands))
    rows = [line.split() for line in program("compute", f"{format}_{SUITE[operation]}", *options, text=lines).splitlines()]
    return np.array([int(r[-2], 16) for r in rows]), np.array([int(r[-1], 16) for r in rows])


def codes(random, format, count):
    dtype = np.uint8 if WIDTH[format] <= 8 else np.uint16 if WIDTH[format] <= 16 else np.uint32
    return random.integers(0, 2 ** WIDTH[format], count, dtype=dtype)


@pytest.mark.parametrize("preset", ["ieee", "ipu"])
@pytest.mark.parametrize("format", WIDTH)
@pytest.mark.parametrize("operation", SUITE)
def test_codes_and_flags_are_those_of_the_command(program, random, operation, format, preset):
    operands = [codes(random, format, 500) for _ in range(OPERANDS[operation])]
    theirs, their_flags = compute(program, operation, format, operands, "--preset", preset)
    call = getattr(softamp, operation)
    ours, status = call(*operands, format=NAMES.get(format, format), preset=preset, flags=True)
    assert np.array_equal(ours, theirs)
    for bit, name in enumerate(FLAGS):
        raised = np.flatnonzero(their_flags >> bit & 1)
        assert status.first_index.get(name) == (int(raised[0]) if raised.size else None)


@pytest.mark.parametrize("format", ["fp16", "bf16", "e5m2"])
@pytest.mark.parametrize("operation", SUITE)
def test_random_bits_have_addresses(random, operation, format):
    """Element i rounds by the same word whether it is computed alone or with others, by bulk or by bodies."""
    width = softamp.Format(format).bits
    dtype = np.uint8 if width == 8 else np.uint16
    operands = [random.integers(0, 2**width, 64, dtype=dtype) for _ in range(OPERANDS[operation])]
    call = getattr(softamp, operation)
    options = dict(format=format, rounding="stochastic", bits=6, seed=11, step=2, operation=3)
    together = call(*operands, **options, first_index=1000)
    alone = [call(*(o[i : i + 1] for o in operands), **options, first_index=1000 + i)[0] for i in range(64)]
    assert np.array_equal(together, alone)


def test_halves_as_numpy_computes_them(random):
    a, b = (random.standard_normal(1000).astype(np.float16) for _ in range(2))
    assert np.array_equal(softamp.add(a, b), a + b)
    assert np.array_equal(softamp.mul(a, b), a * b)
    assert softamp.add(a, b).dtype == np.float16
    single = a.astype(np.float32)
    assert np.array_equal(softamp.sqrt(np.abs(single)), np.sqrt(np.abs(single)))


def test_ml_dtypes_go_in_and_out():
    ml_dtypes = pytest.importorskip("ml_dtypes")
    a = np.array([1.5, 2, -3], ml_dtypes.bfloat16)
    assert softamp.add(a, a).dtype == ml_dtypes.bfloat16
    assert np.array_equal(softamp.add(a, a).astype(np.float32), [3, 4, -6])
    out = np.empty(3, ml_dtypes.bfloat16)
    assert softamp.mul(a, a, out=out) is out
    assert np.array_equal(out.astype(np.float32), [2.25, 4, 9])


def test_golden_values():
    assert softamp.mul(np.uint16([0x3C01]), np.uint16([0x3C01]), "fp16") == 0x3C02
    sum, status = softamp.add(np.float16([60000]), np.float16([60000]), flags=True)
    assert np.isinf(sum[0]) and status.overflow
    assert softamp.add(np.float16([60000]), np.float16([60000]), preset="ipu")[0] == 65504
