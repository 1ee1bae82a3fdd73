"""Arrays by the buffer protocol and DLPack, as others export them: never a crash, nothing kept of what is refused."""

import array
import ctypes

import foreign_arrays
import numpy as np
import pytest
import softamp

FLOATS = (ctypes.c_float * 4)(1, 2, 3, 0.1)


@pytest.mark.parametrize(
    "call",
    [
        lambda x: softamp.round(x, "fp16"),
        lambda x: softamp.add(x, x),
        lambda x: softamp.sub(x, x),
        lambda x: softamp.mul(x, x),
        lambda x: softamp.div(x, x),
        lambda x: softamp.fma(x, x, x),
        lambda x: softamp.sqrt(x),
        lambda x: softamp.quantize(x, "mxfp4").codes,
        lambda x: softamp.fake_quantize(x, "mxfp4"),
        lambda x: softamp.sum(x),
        lambda x: softamp.dot(x, x),
        lambda x: softamp.round(np.zeros(4, np.float32), "fp32", out=x) is x,
    ],
)
def test_buffers_without_strides_are_dense(call):
    assert np.array_equal(call((ctypes.c_float * 4)(*FLOATS)), call(np.array(FLOATS, np.float32)))


@pytest.mark.parametrize("x", [np.datetime64("now"), ctypes.c_longdouble(1), (ctypes.c_char * 3)(), ctypes.c_wchar("a")])
def test_buffers_of_other_elements_are_refused(x):
    for call in (softamp.round, softamp.sum, softamp.sqrt, softamp.widen):
        with pytest.raises(TypeError, match="has elements of type"):
            call(x, "fp16")


def test_matrices_and_numbers_of_ctypes():
    rows = ((ctypes.c_float * 2) * 3)((1, 2), (3, 4), (5, 6))
    assert np.array_equal(softamp.round(rows, "fp16"), np.float16([[1, 2], [3, 4], [5, 6]]))
    assert softamp.round(ctypes.c_double(0.1), "fp16") == np.float16(0.1)


def foreign(data=FLOATS, **described):
    return foreign_arrays.Foreign(data, **described)


def test_tensors_of_dlpack():
    assert np.array_equal(softamp.round(foreign(), "fp16"), np.float16(FLOATS))
    assert np.array_equal(softamp.round(foreign(shape=(2,), strides=(-2,), offset=12), "fp16"), np.float16([0.1, 2]))
    assert np.array_equal(softamp.round(foreign(shape=(3,), strides=(0,)), "fp16"), np.float16([1, 1, 1]))
    assert softamp.round(foreign(shape=(0, 2**40)), "fp16", out=np.empty((0, 2**40), "f2")).size == 0


@pytest.mark.parametrize("code", range(8))
@pytest.mark.parametrize("bits", [0, 1, 2, 4, 6, 7, 12, 128, 255])
def test_tensors_of_other_widths_are_refused(code, bits):
    for call in (softamp.round, softamp.sum, softamp.widen, softamp.sqrt):
        with pytest.raises(TypeError, match="has elements of type"):
            call(foreign(code=code, bits=bits), "fp16")


@pytest.mark.parametrize(
    "wrong, error",
    [
        (dict(shape=None), BufferError),
        (dict(shape=(-1,)), BufferError),
        (dict(shape=(2**40, 2**40)), BufferError),
        (dict(shape=(1,) * 65), BufferError),
        (dict(data=None), BufferError),
        (dict(lanes=2), TypeError),
        (dict(lanes=0), TypeError),
        (dict(device=8), ValueError),
    ],
)
def test_tensors_that_are_described_wrongly(wrong, error):
    with pytest.raises(error, match="^x: "):
        softamp.round(foreign(**wrong), "fp16")


def test_what_an_exporter_raises_is_the_cause():
    class Fails:
        def __dlpack__(self, **_):
            raise RuntimeError("no")

    with pytest.raises(BufferError, match="x: .*Fails gave no tensor by DLPack") as caught:
        softamp.round(Fails(), "fp16")
    assert isinstance(caught.value.__cause__, RuntimeError)
    closed = memoryview(b"")
    closed.release()
    with pytest.raises(BufferError, match="x: memoryview does not give its buffer"):
        softamp.round(closed, "fp16")


def test_a_refused_array_is_let_go_of():
    for make, call in [
        (lambda: array.array("i", [1, 2]), lambda x: softamp.round(x, "fp16")),
        (lambda: array.array("f", [1, 2]), lambda x: softamp.round(x, "fp16", out=np.empty(3, np.float32))),
        (lambda: array.array("f", [1, 2]), lambda x: softamp.round(np.zeros(2, np.int8), "fp16", out=x)),
        (lambda: array.array("h", [1, 2]), lambda x: softamp.add(x, x)),
        (lambda: array.array("d", [1, 2]), lambda x: softamp.quantize(x, "mxfp4")),
        (lambda: array.array("q", [1, 2]), lambda x: softamp.sum(x)),
    ]:
        x = make()
        with pytest.raises((TypeError, ValueError)):
            call(x)
        x.append(3)  # BufferError while a buffer is exported
    raw = bytearray(8)
    with pytest.raises(TypeError):
        softamp.round(memoryview(raw).cast("q"), "fp16")
    raw.append(1)
