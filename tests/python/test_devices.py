"""Arrays that lie on a CUDA device: where they are taken, and what is said elsewhere. Made by hand, as DLPack has them; their
address is null, which the library refuses before any device is asked."""

import ctypes
import gc

import numpy as np
import pytest
import softamp

CUDA, HIP = 2, 10  # DLDeviceType


class Tensor(ctypes.Structure):
    """DLManagedTensor of dlpack.h."""

    _fields_ = [
        ("data", ctypes.c_void_p), ("device", ctypes.c_int32), ("number", ctypes.c_int32), ("rank", ctypes.c_int32),
        ("code", ctypes.c_uint8), ("bits", ctypes.c_uint8), ("lanes", ctypes.c_uint16),
        ("shape", ctypes.POINTER(ctypes.c_int64)), ("strides", ctypes.POINTER(ctypes.c_int64)),
        ("byte_offset", ctypes.c_uint64), ("context", ctypes.c_void_p), ("deleter", ctypes.c_void_p),
    ]  # fmt: skip


class OnDevice:
    """A tensor of floating-point numbers (code 2), or of unsigned integers (1)."""

    def __init__(self, shape=(3,), bits=32, code=2, device=CUDA, number=0, strides=None):
        self.shape = (ctypes.c_int64 * len(shape))(*shape)
        self.strides = (ctypes.c_int64 * len(shape))(*strides) if strides else None
        self.tensor = Tensor(None, device, number, len(shape), code, bits, 1, self.shape, self.strides, 0, None, None)

    def __dlpack__(self, **_):
        new = ctypes.pythonapi.PyCapsule_New
        new.restype, new.argtypes = ctypes.py_object, [ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p]
        return new(ctypes.addressof(self.tensor), b"dltensor", None)

    def __dlpack_device__(self):
        return self.tensor.device, self.tensor.number


X = np.zeros(3, np.float32)


@pytest.mark.parametrize(
    "call, error, message",
    [
        (lambda x: softamp.round(x, "fp16", out=x), ValueError, "out overlaps x|round_on_device: an array's address is null"),
        (lambda x: softamp.round(x, "fp16", out=OnDevice(bits=16, code=1)), ValueError, "out overlaps x|round_on_device: an array's address"),
        (lambda x: softamp.round(x, "bf16", rounding="stochastic", seed=1, out=x), ValueError, "round_on_device"),
        (lambda x: softamp.round(x, "fp16"), ValueError, "x: lies on CUDA device 0; expected the CPU, or out on that device"),
        (lambda x: softamp.round(x, "fp16", out=X), ValueError, "out: lies on another device than x; expected CUDA device 0"),
        (lambda x: softamp.round(x, "fp16", out=OnDevice(number=1)), ValueError, "out: lies on another device than x"),
        (lambda x: softamp.round(X, "fp16", out=x), ValueError, "out: lies on another device; expected the CPU"),
        (lambda x: softamp.round(x, "fp16", out=OnDevice((4,))), ValueError, r"out: has the shape \(4,\); expected"),
        (lambda x: softamp.round(x, "fp16", out=OnDevice(bits=8, code=1)), TypeError, "expected float32 for values, or uint16"),
        (lambda x: softamp.round(OnDevice(bits=64), "fp16", out=x), TypeError, "expected float32, which devices round"),
        (lambda x: softamp.round(OnDevice(bits=16), "e4m3", out=x), TypeError, "expected float32, which devices round"),
        (lambda x: softamp.round(OnDevice(strides=(2,)), "fp16", out=x), ValueError, "x is not dense and in C order"),
        (lambda x: softamp.round(OnDevice(device=HIP), "fp16", out=x), ValueError, "x: lies on another device"),
        (
            lambda x: softamp.round(x, "fp16", rounding="stochastic", random_words=np.zeros(3, np.uint32), out=x),
            ValueError,
            "x: lies on CUDA device 0; expected no random_words or packed there",
        ),
        (lambda x: softamp.round(x, "fp16", chip="b200", packed=True, out=x), ValueError, "no random_words or packed"),
        (lambda x: softamp.add(x, x), ValueError, "a: lies on another device; expected the CPU"),
        (lambda x: softamp.quantize(x, "mxfp4"), ValueError, "x: lies on another device; expected the CPU"),
        (lambda x: softamp.widen(OnDevice(bits=16), "fp16"), ValueError, "codes: lies on another device"),
        (lambda x: softamp.matmul(x, x), ValueError, "a: lies on CUDA device 0; expected the CPU"),
    ],
)
def test_what_is_said(call, error, message):
    with pytest.raises(error, match=message):
        call(OnDevice())
    gc.collect()


def test_nothing_of_no_elements():
    x = OnDevice((0,))
    if softamp._softamp.has_cuda:
        pytest.skip("a build with CUDA asks the device")
    with pytest.raises(RuntimeError, match="this build has no CUDA"):
        softamp.round(x, "fp16", out=x)
