"""Each verb against the same call of the C++ library: tests/python/verbs.cpp."""

import os
import subprocess

import numpy as np
import pytest
import softamp
from conftest import ROOT, special_floats

X = special_floats(np.float32)
NORMAL = np.random.default_rng(5).standard_normal(1000).astype(np.float32)
FINITE = X[20:980].reshape(6, 160)
ADDRESSES = dict(seed=11, step=2, operation=3, first_index=1000)
BLOCKS = "nvfp4:rounding=stochastic,bits=9"


def halves(x):
    return softamp.round(x, "fp16")


def arithmetic(operation, operands):
    thirds = halves(X).reshape(3, -1)[:operands]
    return operation(*thirds, rounding="stochastic", bits=9, **ADDRESSES)


def blocks():
    return softamp.quantize(FINITE, BLOCKS, seed=11, step=2, operation=3)


def matmul():
    a, b = halves(NORMAL[:500]).reshape(5, 100), halves(NORMAL[500:800]).reshape(100, 3)
    return softamp.matmul(a, b, partials="half", behaviour=softamp.behaviour(esr=True), seed=11)


def graph():
    return softamp.Graph.load(ROOT / "examples" / "graphs" / "dense.json").run({"x": halves(NORMAL[:6]).reshape(2, 3)})


def train():
    settings = dict(generated=True, precision="float16", steps=3, stochastic_rounding="on", train_images=256, evaluate=False, seed=3)
    return np.array(softamp.train(settings).losses)


SUMS = dict(rounding="stochastic", replicas=3, seed=11, operation=3)
VERBS = {
    "round": lambda: [softamp.round(X, "fp16", rounding="stochastic", bits=13, **ADDRESSES)],
    "round_values": lambda: [softamp.round(X, "bf16", rounding="up", result="values")],
    "round_as_a_chip": lambda: [softamp.round(X, "e5m2", chip="nvidia_sm100", packed=True, result="codes", **ADDRESSES)],
    "widen": lambda: [softamp.widen(halves(X))],
    "add": lambda: [arithmetic(softamp.add, 2)],
    "sub": lambda: [arithmetic(softamp.sub, 2)],
    "mul": lambda: [arithmetic(softamp.mul, 2)],
    "div": lambda: [arithmetic(softamp.div, 2)],
    "fma": lambda: [arithmetic(softamp.fma, 3)],
    "sqrt": lambda: [arithmetic(softamp.sqrt, 1)],
    "quantize": lambda: [blocks().codes, blocks().scales],
    "fake_quantize": lambda: [softamp.fake_quantize(FINITE, BLOCKS, **ADDRESSES)],
    "dequantize": lambda: [blocks().values()],
    "sum": lambda: [softamp.sum(NORMAL, **SUMS)],
    "dot": lambda: [softamp.dot(*NORMAL.reshape(2, 500), **SUMS)],
    "running_sum": lambda: [
        softamp.running_sum(0.0625, 3000, rounding="stochastic", replicas=4, seed=11, report=True)["codes"]
    ],
    "matmul": lambda: [matmul()],
    "graph": lambda: list(graph().values()),
    "train": lambda: [train()],
}


@pytest.fixture(scope="module")
def cpp():
    path = os.environ.get("SOFTAMP_VERBS", ROOT / "build" / "tests" / "python" / "softamp_python_verbs")
    if not os.access(path, os.X_OK):
        pytest.skip(f"{path} is not built; SOFTAMP_VERBS names another")
    return lambda *verb: subprocess.run([path, *verb], input=X.tobytes() + NORMAL.tobytes(), capture_output=True, check=True).stdout


def test_every_verb_is_here(cpp):
    assert cpp().decode().split() == sorted(VERBS)


@pytest.mark.parametrize("verb", VERBS)
def test_bytes_are_those_of_cpp(cpp, verb):
    ours = b"".join(np.ascontiguousarray(array).tobytes() for array in VERBS[verb]())
    assert len(ours) >= 16 and ours == cpp(verb)
