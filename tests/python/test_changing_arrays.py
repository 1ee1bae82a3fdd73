"""Arrays that another thread changes during a call: the result is that of bytes which were there at some time, or an
exception; never a crash."""

import contextlib
import threading

import numpy as np
import pytest
import softamp

SIZE = 1 << 17


@pytest.fixture
def bytes_that_change():
    """4 SIZE bytes that a thread writes again and again, as numbers or codes of any kind."""
    raw = np.zeros(4 * SIZE, np.uint8)
    over = threading.Event()

    def write():
        generator = np.random.default_rng(1)
        while not over.is_set():
            raw[:] = generator.integers(0, 256, raw.size, dtype=np.uint8)
            raw[::7] = 0x7F  # large numbers, NaNs, and codes that no format of 4 bits has

    thread = threading.Thread(target=write)
    thread.start()
    yield raw
    over.set()
    thread.join()


def test_no_call_crashes(bytes_that_change):
    floats = bytes_that_change.view(np.float32)
    halves, codes = bytes_that_change.view(np.float16)[:SIZE], bytes_that_change[:SIZE]
    scales = bytes_that_change[-SIZE // 32 :]
    calls = [
        lambda: softamp.round(floats, "fp16", rounding="stochastic", flags=True),
        lambda: softamp.round(floats, "fp16", rounding="stochastic", random_words=floats.view(np.uint32)),
        lambda: softamp.round(floats, "e4m3", out=floats),
        lambda: softamp.round(floats[::2], "bf16"),
        lambda: softamp.widen(codes, "e2m1"),
        lambda: softamp.widen(codes, "e4m3"),
        lambda: softamp.fma(halves, halves, halves, flags=True),
        lambda: softamp.div(codes, codes, "e5m2", rounding="stochastic"),
        lambda: softamp.quantize(floats, "nvfp4"),
        lambda: softamp.dequantize(codes, scales, "mxfp4"),
        lambda: softamp.dequantize(codes, scales, "mxfp6_e2m3"),
        lambda: softamp.fake_quantize(floats, "mxfp8_e4m3", out=floats),
        lambda: softamp.sum(floats[:5000], replicas=2, rounding="stochastic"),
        lambda: softamp.dot(codes[:5000], codes[5000:10000], codes="e4m3"),
        lambda: softamp.matmul(halves[:6400].reshape(80, 80), halves[6400:12800].reshape(80, 80), partials="half"),
    ]
    for _ in range(10):
        for call in calls:
            with contextlib.suppress(ValueError):  # of codes that were out of range when they were looked at
                call()
