"""An interpreter that ends while daemon threads compute, or are in a callback: exit code 0, nothing on standard error.
A quarter of the cases by SOFTAMP_SLICE."""

import subprocess
import sys

import pytest
from conftest import of_slice

BEGIN = """
import sys, threading, time
import numpy as np, softamp
x = np.random.default_rng(1).standard_normal(1 << 20).astype(np.float32)
half = x.astype(np.float16)
graph = softamp.Graph({"softamp_graph": 1, "nodes": [
    {"name": "x", "op": "Placeholder", "attributes": {"dtype": "float32", "shape": [1024, 1024]}},
    {"name": "y", "op": "MatMul", "inputs": ["x", "x"]}], "outputs": ["y"]})
feeds = {"x": x.reshape(1024, 1024)}
class Slow:
    # An array and a number of another library, whose functions take their time.
    def __dlpack__(self, **_):
        time.sleep(0.001)
        return half.__dlpack__()
    def __index__(self):
        time.sleep(0.001)
        return 7
    def __repr__(self):
        time.sleep(0.001)
        return "Slow"
    def __getattr__(self, name):
        time.sleep(0.001)
        raise AttributeError(name)
def work():
    while True:
        %s
for _ in range(2):
    threading.Thread(target=work, daemon=True).start()
time.sleep(%s)
"""
WORK = {
    "round": 'softamp.round(x, "fp16", rounding="stochastic")',
    "round_exactly": 'softamp.round(x, "e4m3", rounding="stochastic", bits=32, flags=True)',
    "add": "softamp.add(half, half, rounding='stochastic')",
    "quantize": 'softamp.quantize(x, "nvfp4")',
    "sum": "softamp.sum(x)",
    "running_sum": "softamp.running_sum(1e-3, 4_000_000_000, replicas=64, rounding='stochastic')",
    "run": "graph.run(feeds)",
    "train": "softamp.train({'steps': 100000})",
    "train_with_callback": "softamp.train({'steps': 100000}, on_step=lambda step: time.sleep(0.001))",
    "dlpack": "softamp.round(Slow(), 'fp32')",
    "index": "softamp.round(half, 'e4m3', rounding='stochastic', seed=Slow())",
    "refusal": "np.testing.assert_raises(TypeError, softamp.round, half, Slow())",
    "reproduce": "softamp.reproduce('harmonic-series')",
}


@pytest.mark.parametrize("verb, delay", of_slice([(verb, delay) for delay in (0.05, 0.3) for verb in WORK], 4))
def test_the_interpreter_ends(verb, delay):
    script = BEGIN % (WORK[verb], delay)
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=False, timeout=120)
    assert (done.returncode, done.stderr) == (0, "")


def test_an_executor_is_used_by_one_thread_at_a_time():
    script = BEGIN % ("time.sleep(1)", 0) + """
executor = graph.executor()
errors = []
def use():
    for _ in range(4):
        try: executor.run(feeds)
        except RuntimeError as e: errors.append(str(e))
threads = [threading.Thread(target=use) for _ in range(4)]
[t.start() for t in threads]; [t.join() for t in threads]
assert set(errors) <= {"Executor: a run goes on in another thread; expected one call at a time"}, errors
"""
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=False, timeout=120)
    assert done.returncode == 0, done.stderr


def test_first_calls_of_threads_do_not_wait_for_each_other():
    script = """
import threading, numpy as np, softamp
x, go = np.zeros(4, np.float32), threading.Barrier(8)
def first():
    go.wait()
    softamp.round(x, "fp16")
threads = [threading.Thread(target=first) for _ in range(8)]
[t.start() for t in threads]; [t.join() for t in threads]
"""
    for _ in range(3):
        subprocess.run([sys.executable, "-c", script], check=True, timeout=60)
