"""out: of the right format, not only of its width; and apart from the inputs."""

import numpy as np
import pytest
import softamp

HALVES = np.float16([1, 2, 3, 4])


def test_another_format_of_the_same_width_is_refused():
    ml_dtypes = pytest.importorskip("ml_dtypes")
    with pytest.raises(TypeError, match="out: has elements of type bfloat16; expected uint16 or float16 for codes of fp16"):
        softamp.add(HALVES, HALVES, out=np.empty(4, ml_dtypes.bfloat16))
    small = HALVES.astype(ml_dtypes.float8_e4m3fn)
    with pytest.raises(TypeError, match="out: has elements of type float8_e5m2"):
        softamp.mul(small, small, out=np.empty(4, ml_dtypes.float8_e5m2))
    with pytest.raises(TypeError, match="out: .*expected float32 for values, or uint8 or float8_e4m3fn"):
        softamp.round(HALVES, "e4m3", out=np.empty(4, ml_dtypes.float8_e5m2))
    out = np.empty(4, ml_dtypes.bfloat16)
    plain = out.view(np.uint16)
    ones = np.full(4, 0x3F80, np.uint16)
    softamp.add(ones, ones, "bf16", out=out)
    assert np.array_equal(plain, np.full(4, 0x4000))
    for dtype in ("i1", "?", "i4", "f8"):
        with pytest.raises(TypeError, match="out: has elements of type"):
            softamp.add(HALVES, HALVES, out=np.empty(4, dtype))


def test_scales_and_codes_of_another_type_are_refused():
    ml_dtypes = pytest.importorskip("ml_dtypes")
    q = softamp.quantize(np.ones(128, np.float32), "e4m3_1x128")
    with pytest.raises(TypeError, match="scales: .*expected float32"):
        softamp.dequantize(q.codes, q.scales.view(np.int32), q.format)
    with pytest.raises(TypeError, match="codes: .*expected uint8, codes of e4m3_1x128"):
        softamp.dequantize(q.codes.view(ml_dtypes.float8_e5m2), q.scales, q.format)
    own = softamp.dequantize(q.codes.view(ml_dtypes.float8_e4m3fn), q.scales, q.format)
    assert np.array_equal(own, np.ones(128))
    m = softamp.quantize(np.ones(32, np.float32), "mxfp4")
    with pytest.raises(TypeError, match="scales: .*expected uint8"):
        softamp.dequantize(m.codes, m.scales.view(ml_dtypes.float8_e4m3fn), m.format)


@pytest.mark.parametrize(
    "call",
    [
        lambda x, out: softamp.fake_quantize(x, "mxfp4", out=out),
        lambda x, out: softamp.fake_quantize(x.reshape(8, 8), "mxfp4", axis=0, out=out.reshape(8, 8)),
        lambda x, out: softamp.round(x, "fp16", out=out),
        lambda x, out: softamp.round(x.view(np.float16), "fp16", out=out.view(np.float16)),
        lambda x, out: softamp.add(x, x, out=out),
        lambda x, out: softamp.widen(x.view(np.uint32), "tf32", out=out),
    ],
)
@pytest.mark.parametrize("shift", [1, 32, 63, -1, -32])
def test_an_output_that_overlaps_is_refused(call, shift):
    x = np.ones(192, np.float32)
    with pytest.raises(ValueError, match="overlaps"):
        call(x[64:128], x[64 + shift : 128 + shift])
    assert np.array_equal(x, np.ones(192))


def test_in_place():
    x = np.linspace(-3, 3, 64, dtype=np.float32)
    expected = softamp.fake_quantize(x, "mxfp4")
    softamp.fake_quantize(x, "mxfp4", out=x)
    assert np.array_equal(x, expected)
