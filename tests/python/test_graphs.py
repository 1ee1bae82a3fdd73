"""Graph and Executor against the command, and what they promise."""

import json
import signal
import threading
import time

import numpy as np
import pytest
import softamp
from conftest import ROOT

GRAPHS = ROOT / "examples" / "graphs"


def test_runs_are_those_of_the_command(program):
    x = np.load(GRAPHS / "x.npy")
    program.save("x.npy", x)
    for behaviour, seed in ((None, 0), (softamp.behaviour(esr=True, nanoo=True), 5)):
        words = ["--behaviour", "esr,nanoo", "--seed", seed] if behaviour else []
        program("run", GRAPHS / "dense.json", "--feed", "x=x.npy", "--out", "results", "--partials", "half", *words)
        run = softamp.Graph.load(GRAPHS / "dense.json").run({"x": x}, behaviour=behaviour, seed=seed, partials="half")
        assert list(run) == ["dense/hidden", "dense/probabilities"]
        for name, value in run.items():
            theirs = program.load(f"results/{name.replace('/', '_')}.npy")
            assert value.dtype == theirs.dtype and np.array_equal(value, theirs)


def test_an_exception_stops_with_the_commands_report(program):
    x = np.load(GRAPHS / "large.npy")
    program.save("x.npy", x)
    report = program.fails("run", GRAPHS / "dense.json", "--feed", "x=x.npy", "--behaviour", "nanoo,inv", "--quiet")
    with pytest.raises(softamp.FloatingPointException) as caught:
        softamp.Graph.load(GRAPHS / "dense.json").run({"x": x}, behaviour=softamp.behaviour(nanoo=True, inv=True))
    assert str(caught.value) in report


def test_a_config_keeps_its_behaviour():
    x = {"x": np.load(GRAPHS / "large.npy")}
    dense = softamp.Graph.load(GRAPHS / "dense.json")
    config = lambda **flags: json.dumps({"floating_point_behaviour": flags})
    saturated = dense.run(x)["dense/hidden"]
    assert np.isfinite(saturated).all() and (saturated == 65504).any()
    with pytest.raises(softamp.FloatingPointException):
        dense.run(x, config=config(oflo=True))
    assert np.isnan(dense.run(x, config=config(nanoo=True))["dense/hidden"]).any()
    esr = dense.run(x, config=config(esr=True), seed=3)
    assert all(np.array_equal(esr[n], v) for n, v in dense.run(x, behaviour=softamp.behaviour(esr=True), seed=3).items())
    with softamp.behaviour(inv=True):  # the call's own goes first
        dense.run(x, config=config(nanoo=True))
        with pytest.raises(softamp.FloatingPointException):
            dense.run(x, config=config(oflo=True))
    with pytest.raises(softamp.FloatingPointException):
        dense.run(x, config=config(nanoo=True), behaviour=softamp.behaviour(oflo=True))


def test_presets():
    x = {"x": np.load(GRAPHS / "large.npy")}
    dense = softamp.Graph.load(GRAPHS / "dense.json")
    assert np.isinf(dense.run(x, preset="ieee")["dense/hidden"]).any()
    assert np.array_equal(dense.run(x, preset="ipu")["dense/hidden"], dense.run(x)["dense/hidden"])
    with pytest.raises(ValueError, match="preset ieee and floating_point_behaviour.nanoo exclude each other"):
        dense.run(x, preset="ieee", behaviour=softamp.behaviour(nanoo=True))
    with pytest.raises(ValueError, match="nearest: ieee"):
        dense.run(x, preset="iee")
    own = json.loads(dense.json())
    own["preset"] = "ieee"
    assert np.isinf(softamp.Graph(own).run(x)["dense/hidden"]).any()


def test_what_a_config_cannot_do_is_said():
    one = graph([placeholder("x", "float16", [1]), {"name": "y", "op": "Relu", "inputs": ["x"]}], ["y"])
    executor = one.executor(config='{"matmuls": {"clear_pass_type": true}}')
    assert [w.split(",")[0] for w in executor.warnings] == ["matmuls.clear_pass_type is True"]
    with pytest.raises(ValueError, match="ipu_model.version is 'foo'; expected 'ipu2' or 'ipu21'"):
        one.run({"x": np.float16([1])}, config='{"ipu_model": {"version": "foo"}}')


def graph(nodes, outputs):
    return softamp.Graph({"softamp_graph": 1, "nodes": nodes, "outputs": outputs})


def placeholder(name, dtype, shape):
    return {"name": name, "op": "Placeholder", "attributes": {"dtype": dtype, "shape": shape}}


def test_nodes_outputs_and_json():
    g = graph([placeholder("x", "float16", [2]), {"name": "y", "op": "Relu", "inputs": ["x"]}], ["y"])
    assert [n["name"] for n in g.nodes] == ["x", "y"]
    assert g.nodes[1] == {"name": "y", "op": "Relu", "inputs": ["x"], "outputs": [{"dtype": "float16", "shape": [2]}]}
    assert g.outputs == ["y"]
    assert softamp.Graph(g.json()).json() == g.json()
    assert "Relu(x)" in str(g)


def test_dtypes_go_in_and_come_out():
    dtypes = ["float16", "float32", "float64", "int32", "int64", "uint8", "bool"]
    g = graph([n for d in dtypes for n in (placeholder(d, d, [3]), {"name": f"{d}_out", "op": "Identity", "inputs": [d]})], [])
    feeds = {d: np.array([0, 1, 1], d) for d in dtypes}
    run = g.run(feeds, [f"{d}_out" for d in dtypes])
    for d in dtypes:
        assert run[f"{d}_out"].dtype == np.dtype(d) and np.array_equal(run[f"{d}_out"], feeds[d])
    bf16 = graph([placeholder("x", "bfloat16", [2]), {"name": "y", "op": "Identity", "inputs": ["x"]}], ["y"])
    codes = np.uint16([0x3F80, 0x4000])
    ml_dtypes = pytest.importorskip("ml_dtypes")
    for feed in (codes, codes.view(ml_dtypes.bfloat16)):
        assert np.array_equal(bf16.run({"x": feed})["y"].view(np.uint16), codes)


def test_variables_and_steps():
    nodes = [
        {"name": "w", "op": "VariableV2", "attributes": {"dtype": "float16", "shape": [400]}},
        placeholder("x", "float16", [400]),
        {"name": "y", "op": "AddV2", "inputs": ["w", "x"]},
    ]
    executor = graph(nodes, ["y"]).executor(behaviour=softamp.behaviour(esr=True), seed=1)
    executor.set_variable("w", np.full(400, 1, np.float16))
    assert np.array_equal(executor.variable("w"), np.ones(400))
    x = np.full(400, 2.0**-12, np.float16)
    first, second = executor.run({"x": x}), executor.run({"x": x})
    assert (first.step, second.step, executor.step) == (0, 1, 2)
    assert not np.array_equal(first["y"], second["y"])
    executor.step = 0
    assert np.array_equal(executor.run({"x": x})["y"], first["y"])


def test_status_and_statistics():
    g = graph([placeholder("x", "float16", [2]), {"name": "y", "op": "Reciprocal", "inputs": ["x"]}], ["y"])
    run = g.run({"x": np.float16([1, 0])}, status=True, statistics=True)
    assert [o["name"] for o in run.operations] == ["y"]
    assert run.operations[0]["status"].first_index == {"divide_by_zero": 1}
    assert run.statistics["y"]["elements"] == 2


@pytest.mark.parametrize(
    "call, error, message",
    [
        (lambda g: g.run({}), ValueError, "x"),
        (lambda g: g.run({"z": np.float16([1, 2])}), ValueError, "z"),
        (lambda g: g.run({"x": np.float32([1, 2])}), ValueError, "float16"),
        (lambda g: g.run({"x": np.float16([1])}), ValueError, r"\[1\]"),
        (lambda g: g.run({"x": [1, 2]}), TypeError, "x: expected an array"),
        (lambda g: g.run({"x": np.array([None])}), TypeError, "object"),
        (lambda g: g.run({3: np.float16([1, 2])}), TypeError, "feeds: expected a word"),
        (lambda g: g.run({"x": np.float16([1, 2])}, ["q"]), ValueError, "the graph has no node 'q'"),
        (lambda g: g.run({"x": np.float16([1, 2])}, behaviour=True), TypeError, "behaviour: expected softamp.behaviour"),
        (lambda g: g.run({"x": np.float16([1, 2])}, parts=1), TypeError, "unknown option 'parts'; known: accumulator"),
        (lambda g: g.run({"x": np.float16([1, 2])}, partials="quarter"), ValueError, "partialsType"),
        (lambda g: g.run({"x": np.float16([1, 2])}, block=3), ValueError, "amp_block"),
        (lambda g: g.run({"x": np.float16([1, 2])}, status=1), TypeError, "status: expected True or False"),
        (lambda g: g.run({"x": np.float16([1, 2])}, backend="tpu"), ValueError, "tpu"),
        (lambda g: g.run({"x": np.float16([1, 2])}, config="{"), ValueError, ""),
        (lambda g: g.executor().variable("x"), ValueError, "x"),
        (lambda g: softamp.Graph.load("/nowhere/graph.json"), ValueError, "/nowhere/graph.json"),
        (lambda g: softamp.Graph.load("/nowhere/graph.pb").run({}), ValueError, "/nowhere/graph.pb"),
    ],
)
def test_bad_input(call, error, message):
    g = graph([placeholder("x", "float16", [2]), {"name": "y", "op": "Relu", "inputs": ["x"]}], ["y"])
    with pytest.raises(error, match=message or None):
        call(g)


def test_a_graph_def_runs_as_by_the_command(program, random):
    file = GRAPHS / "conv_norm.pbtxt"
    x = random.standard_normal((2, 2, 6, 6)).astype(np.float32)
    program.save("x.npy", x)
    program("run", file, "--feed", "x=x.npy", "--out", "results", "--quiet")
    run = softamp.Graph.load(file).run({"x": x})
    assert run
    for name, value in run.items():
        theirs = program.load(f"results/{name.replace('/', '_').replace(':', '_')}.npy")
        assert value.dtype == theirs.dtype and np.array_equal(value, theirs)


def test_a_graph_def_says_what_it_lacks():
    with pytest.raises(ValueError, match="node 'x' .*its shape is not known"):
        softamp.Graph.load(GRAPHS / "conv_norm.pbtxt").run({})
    with pytest.raises(ValueError, match="the variable 'dense/bias' has no value"):
        softamp.Graph.load(GRAPHS / "two_dense_layers.pbtxt").run({}, ["dense/BiasAdd/ReadVariableOp"])
    with pytest.raises(ValueError, match="'z' is given a value, but it is no node"):
        softamp.Graph.load(GRAPHS / "conv_norm.pbtxt").run({"z": np.float32([1])})
    with pytest.raises(ValueError, match="when it runs"):
        softamp.Graph.load(GRAPHS / "conv_norm.pbtxt").nodes


def test_ctrl_c_ends_a_long_run(ctrl_c):
    """A product of some seconds; the handler of Python's own is asked, and the run ends long before the product does."""
    n = 1500
    g = graph(
        [placeholder("x", "float32", [n, n]), {"name": "y", "op": "MatMul", "inputs": ["x", "x"]}], ["y"]
    )
    x = np.ones((n, n), np.float32)
    begun = time.monotonic()
    threading.Timer(0.3, lambda: signal.raise_signal(signal.SIGINT)).start()
    with pytest.raises(KeyboardInterrupt):
        g.run({"x": x}, reference=True, memory_per_tile=0, threads=1)
    assert time.monotonic() - begun < 10


def test_the_lock_is_released_during_work():
    """Another thread counts while a product is computed."""
    g = graph([placeholder("x", "float32", [240, 240]), {"name": "y", "op": "MatMul", "inputs": ["x", "x"]}], ["y"])
    counted, done = [0], threading.Event()

    def count():
        while not done.is_set():
            counted[0] += 1
            time.sleep(0.001)

    thread = threading.Thread(target=count)
    thread.start()
    time.sleep(0.02)
    before = counted[0]
    g.run({"x": np.ones((240, 240), np.float32)}, reference=True, memory_per_tile=0)
    during = counted[0] - before
    done.set()
    thread.join()
    assert during >= 3
