"""quantize, dequantize and fake_quantize against the command."""

import numpy as np
import pytest
import softamp
from conftest import special_floats

PLAIN = ("e4m3", "e5m2", "f143", "f152", "e2m1", "e2m3", "e3m2")  # the command rounds to these as to formats of numbers
TEXTS = [name for name in softamp.block_formats() if name not in PLAIN] + [
    "mxfp4:scale_rule=rceil",
    "mxfp8_e4m3:block=8",
    "mxfp6_e2m3:rounding=stochastic,bits=9",
    "nvfp4:rounding=stochastic,variant=half,bits=5",
    "e5m2_1x128:block=16,powers_of_two=true",
]


@pytest.fixture
def x():
    return np.concatenate([special_floats(np.float32)[15:], np.zeros(5, np.float32)])[:960].reshape(6, 160)


@pytest.mark.parametrize("text", TEXTS)
def test_codes_scales_and_values_are_those_of_the_command(program, x, text):
    program.save("x.npy", x)
    where = dict(seed=4, step=2) if "stochastic" in text else {}
    options = [word for name, value in where.items() for word in (f"--{name}", value)]
    report = program.json("round", "x.npy", "codes.npy", "--format", text, "--scales", "scales.npy", *options)
    q = softamp.quantize(x, text, **where)
    assert np.array_equal(q.codes, program.load("codes.npy"))
    scales = program.load("scales.npy")
    assert q.scales.dtype == scales.dtype and q.scales.shape == scales.shape
    assert np.array_equal(q.scales, scales)
    assert q.format == report["settings"]["format"]
    program("round", "x.npy", "values.npy", "--format", text, "--values", *options)
    values = program.load("values.npy")
    assert np.array_equal(q.values(), values, equal_nan=True)
    assert np.array_equal(softamp.fake_quantize(x, text, **where), values, equal_nan=True)


@pytest.mark.parametrize("axis", [0, 1, -1, -2])
def test_axes_are_those_of_the_command(program, x, axis):
    program.save("x.npy", x)
    program("round", "x.npy", "codes.npy", "--format", "mxfp8_e5m2", "--scales", "scales.npy", "--axis", axis)
    q = softamp.quantize(x, "mxfp8_e5m2", axis=axis)
    assert np.array_equal(q.codes, program.load("codes.npy"))
    assert np.array_equal(q.scales, program.load("scales.npy"))


def test_amax_of_another_array(program, x):
    program.save("x.npy", x)
    program("round", "x.npy", "codes.npy", "--format", "nvfp4", "--scales", "scales.npy", "--amax", "65536")
    q = softamp.quantize(x, "nvfp4", amax=65536.0)
    assert q.amax == 65536.0
    assert np.array_equal(q.codes, program.load("codes.npy"))
    assert np.array_equal(q.scales, program.load("scales.npy"))


def test_a_golden_block():
    """OCP MX: the greatest magnitude 6 of fp4 has exponent 2, so a block of 12 has the scale 2^(3 - 2), 127 + 1."""
    q = softamp.quantize(np.float32([12, -6, 1, 0.5]), "mxfp4")
    assert q.scales.tolist() == [128]
    assert q.codes.tolist() == [0b0111, 0b1101, 0b0001, 0b0000]
    assert q.values().tolist() == [12, -6, 1, 0]


@pytest.mark.parametrize("text", PLAIN)
def test_elements_without_scales_saturate(x, text):
    q = softamp.quantize(x, text)
    assert q.scales.size == 0
    assert np.array_equal(q.codes, softamp.round(np.clip(x, -1e30, 1e30), text, overflow="saturate", result="codes"))


def test_in_place_and_of_other_dtypes(x):
    y = x.copy()
    assert softamp.fake_quantize(y, "mxfp8_e4m3", out=y) is y
    assert np.array_equal(y, softamp.fake_quantize(x, "mxfp8_e4m3"))
    half = x.astype(np.float16)
    assert np.array_equal(softamp.quantize(half, "mxfp4").codes, softamp.quantize(half.astype(np.float32), "mxfp4").codes)


def test_empty_arrays():
    for shape in ((0,), (0, 32), (3, 0)):
        for text in ("mxfp4", "nvfp4", "e4m3_row", "e4m3_tensor"):
            q = softamp.quantize(np.empty(shape, np.float32), text)
            assert q.codes.shape == shape and q.values().shape == shape
