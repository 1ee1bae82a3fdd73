"""Bad input: Python exceptions whose messages name the value and what was expected; and exceptions that stop."""

import threading

import numpy as np
import pytest
import softamp

X = np.float32([0.1, 0.2])


@pytest.mark.parametrize(
    "call, error, message",
    [
        (lambda: softamp.round(X, "fp61"), ValueError, "unknown format 'fp61'; nearest: fp16"),
        (lambda: softamp.round(X, "e9p3"), ValueError, "expected e<E>p<P> with 2 to 8 exponent bits"),
        (lambda: softamp.round(X, "fp64"), ValueError, "format: 'fp64': expected a format of at most 24 bits"),
        (lambda: softamp.round(X, 16), TypeError, "format: expected a name"),
        (lambda: softamp.round(X, None), TypeError, "format: expected a name"),
        (lambda: softamp.round(X, "fp16", rounding="nearset"), ValueError, "rounding: unknown rounding"),
        (lambda: softamp.round(X, "fp16", rounding=3), TypeError, "rounding: expected a word, not 3"),
        (lambda: softamp.round(X, "fp16", bits=0), ValueError, "bits: 0: expected 1 to 32"),
        (lambda: softamp.round(X, "fp16", bits=33), ValueError, "bits: 33: expected 1 to 32"),
        (lambda: softamp.round(X, "fp16", bits=1.5), TypeError, "bits: 1.5: expected a whole number"),
        (lambda: softamp.round(X, "fp16", seed=float("nan")), TypeError, "seed: nan: expected a whole number"),
        (lambda: softamp.round(X, "fp16", seed=-1), ValueError, "seed: -1: expected 0 to 18446744073709551615"),
        (lambda: softamp.round(X, "fp16", seed=2**64), ValueError, "seed: 18446744073709551616: expected 0 to"),
        (lambda: softamp.round(X, "fp16", step=2**32), ValueError, "step: 4294967296: expected 0 to 4294967295"),
        (lambda: softamp.round(X, "fp16", operation=2**24), ValueError, "operation: 16777216: expected 0 to 16777215"),
        (lambda: softamp.round(X, "fp16", threads=2000), ValueError, "threads: 2000: expected 0 to 1024"),
        (lambda: softamp.round([[0.1], [0.2]], "fp16"), TypeError, "x: expected an array of NumPy, .* not list"),
        (lambda: softamp.round("0.1.2", "fp16"), ValueError, "x: '0.1.2' is not a number"),
        (lambda: softamp.round(True, "fp16"), TypeError, "x: expected an array of NumPy, .* not bool"),
        (lambda: softamp.round(1, "e4m3", chip="b200"), TypeError, "x: is one number; expected an array of float32"),
        (lambda: softamp.running_sum(10**400, 2), ValueError, "value: expected a finite number of fp16"),
        (lambda: softamp.running_sum(1, 2, start="nan"), ValueError, "start: expected a finite number of fp16"),
        (lambda: softamp.running_sum([1], 2), TypeError, "value: expected a number or a text"),
        (lambda: softamp.running_sum("one", 2), ValueError, "value: 'one' is not a number"),
        (lambda: softamp.sum(X, start=1j), TypeError, "start: expected a number or a text"),
        (lambda: softamp.round(None, "fp16"), TypeError, "x: expected an array of NumPy, .* not NoneType"),
        (lambda: softamp.round(X.astype(">f4"), "fp16"), TypeError, "big-endian.*expected the machine's own byte order"),
        (lambda: softamp.round(np.array([1, None]), "fp16"), TypeError, "x: has elements of type object"),
        (lambda: softamp.round(np.array(["a"]), "fp16"), TypeError, "x: has elements of type <U1"),
        (lambda: softamp.round(np.complex64([1]), "fp16"), TypeError, "x: has elements of type complex64"),
        (lambda: softamp.round(np.array([1, 2]), "fp16"), TypeError, "expected float32, float64, float16"),
        (lambda: softamp.round(b"bytes", "fp16"), TypeError, "expected float32, float64, float16"),
        (lambda: softamp.round(np.longdouble([1]), "fp16"), TypeError, "x: has elements of type"),
        (lambda: softamp.round(np.zeros(2, [("a", "f4")]), "fp16"), TypeError, "x: has elements of type"),
        (lambda: softamp.round(X, "fp16", random_words=X), ValueError, "random_words: no rounding is stochastic; expected rounding="),
        (
            lambda: softamp.round(X, "fp16", rounding="stochastic", random_words=np.uint32([1])),
            ValueError,
            "random_words: has 1 words; expected 2",
        ),
        (
            lambda: softamp.round(X, "fp16", rounding="stochastic", random_words=X),
            TypeError,
            "random_words: has elements of type f; expected uint8",
        ),
        (
            lambda: softamp.round(X, "fp16", rounding="stochastic", random="xoroshiro128aox"),
            ValueError,
            "expected philox or philox7",
        ),
        (lambda: softamp.round(X, "fp16", packed=True), ValueError, "packed: expected chip beside it"),
        (lambda: softamp.round(X, "fp16", chip="b200", packed=1), TypeError, "packed: expected True or False"),
        (lambda: softamp.round(X, "fp16", chip="b300x"), ValueError, "chip: unknown chip 'b300x'"),
        (lambda: softamp.round(X, "e2m1", chip="b200"), ValueError, "chip: chip nvidia_sm100 does not round to e2m1"),
        (lambda: softamp.round(X, "fp16", chip="b200", rounding="up"), ValueError, "chip: expected no rounding"),
        (lambda: softamp.round(X.astype("f8"), "fp16", chip="b200"), TypeError, "expected float32, which chips round"),
        (lambda: softamp.round(X, "fp16", preset="ipu", rounding="up"), ValueError, "expected nearest or stochastic"),
        (lambda: softamp.round(X, "fp16", result="both"), ValueError, "unknown result 'both'"),
        (lambda: softamp.round(X, "fp16", out=np.empty(3, "f4")), ValueError, r"out: has the shape \(3,\); expected .*\(2,\)"),
        (lambda: softamp.round(X, "fp16", out=np.empty(2, "f8")), TypeError, "out: .*expected float32 for values, or uint16"),
        (lambda: softamp.round(X, "fp16", out=np.empty(2, "u1")), TypeError, "out: .*expected float32 for values, or uint16"),
        (lambda: softamp.round(X, "fp16", out=np.empty(4, "f4")[::2]), ValueError, "out is not dense and in C order"),
        (lambda: softamp.round(X, "fp16", out=read_only(X)), ValueError, "out is read-only"),
        (lambda: softamp.round(X, "fp16", out=[1, 2]), TypeError, "out: expected an array"),
        (lambda: overlapping(), ValueError, "overlap"),
        (lambda: softamp.add(X, X.astype("f2")), TypeError, "expected codes of fp32; nothing is promoted"),
        (lambda: softamp.add(X, X[:1]), ValueError, "b: has the shape"),
        (lambda: softamp.add(np.uint16([1]), np.uint16([1])), TypeError, "expected the format that they are codes of"),
        (lambda: softamp.add(np.uint8([1]), np.uint8([1]), "fp16"), TypeError, "expected uint16 for codes of fp16"),
        (lambda: softamp.add(X, X, chip="b200"), ValueError, "chip: expected none"),
        (lambda: softamp.add(X, X, axis=1), TypeError, r"add\(\) has no argument 'axis'"),
        (lambda: add_in_place(), ValueError, "out overlaps a"),
        (lambda: softamp.quantize(X, "mxfp5"), ValueError, "unknown"),
        (lambda: softamp.quantize(X, "mxfp4", axis=3), ValueError, "axis"),
        (lambda: softamp.quantize(X.astype("f8"), "mxfp4"), TypeError, "expected float32, float16"),
        (lambda: softamp.quantize(X, "nvfp4", amax=-1.0), ValueError, "amax: -1.0: expected a magnitude"),
        (lambda: softamp.quantize(X, "nvfp4", amax="1"), TypeError, "amax: expected a magnitude"),
        (lambda: softamp.dequantize(np.uint8([200]), np.uint8([1]), "mxfp4"), ValueError, "codes: element 0 is 200"),
        (lambda: softamp.dequantize(np.uint8([1]), np.uint8([1, 2]), "mxfp4"), ValueError, "scales: has 2 elements; expected 1"),
        (lambda: softamp.running_sum(1.0, 0), ValueError, "count: 0: expected 1 to"),
        (lambda: softamp.running_sum(1e9, 1), ValueError, "value: expected a finite number of fp16"),
        (lambda: softamp.running_sum(1.0, 1, replicas=0), ValueError, "replicas: 0: expected 1 to"),
        (lambda: softamp.sum(X, order="any"), ValueError, "unknown order 'any'; known: ascending, device"),
        (lambda: softamp.sum(np.array([1, 2])), TypeError, "expected floating-point numbers"),
        (lambda: softamp.dot(X, X[:1]), ValueError, "b: has 1 elements; expected 2"),
        (lambda: softamp.matmul(np.ones((2, 3)), np.ones((2, 3))), ValueError, "MatMul"),
        (lambda: softamp.matmul(X, X), ValueError, r"a: has the shape \(2,\); expected a matrix"),
        (lambda: softamp.matmul(np.ones((2, 2)), np.ones((2, 2)), "e4m3"), ValueError, "expected fp16, bf16 or fp32"),
        (lambda: softamp.matmul(np.ones((2, 2)), np.ones((2, 2)), accumulator="abacus"), ValueError, "accumulator: unknown"),
        (lambda: softamp.matmul(np.ones((2, 2)), np.ones((2, 2)), blocks=3), TypeError, "no argument 'blocks'"),
        (lambda: softamp.inspect("1.2.3"), ValueError, "is not a number"),
        (lambda: softamp.inspect("0x123456"), ValueError, "expected a code of fp16"),
        (lambda: softamp.inspect(None), TypeError, "value: expected a number or a text"),
        (lambda: softamp.Format("fp61"), ValueError, "unknown format"),
        (lambda: softamp.Chip("b9"), ValueError, "chip: unknown chip"),
        (lambda: softamp.behaviour(nan=True), TypeError, "no argument 'nan'; it has inv"),
        (lambda: softamp.behaviour(True), TypeError, "by name"),
        (lambda: softamp.behaviour(esr=1), TypeError, "esr: expected True or False, not 1"),
        (lambda: softamp.Format(None), TypeError, "format: expected a name"),
        (lambda: softamp.quantize(np.ones(32, "f4"), "mxfp4", axis=None), TypeError, "axis: None: expected a whole number"),
        (lambda: softamp.quantize(np.ones(32, "f4"), "nvfp4", amax=10**400), ValueError, "amax: 10"),
        (lambda: softamp.round(np.ones(2), "fp16", flags=None), TypeError, "flags: expected True or False"),
        (lambda: softamp.widen(np.float16([1]), wide=3), TypeError, "wide: expected True or False, not 3"),
        (lambda: softamp.running_sum(0.1, None), TypeError, "count: None: expected a whole number"),
        (lambda: softamp.train({"lerning_rate": 1}), ValueError, "'lerning_rate' is not a setting"),
        (lambda: softamp.train({"steps": -1}), ValueError, "steps"),
        (lambda: softamp.reproduce("harmonic"), ValueError, "unknown experiment 'harmonic'"),
        (lambda: softamp.Graph("{}"), ValueError, "graph: "),
        (lambda: softamp.Graph("{"), ValueError, "graph: "),
        (lambda: softamp.widen(np.uint16([1])), TypeError, "expected a dtype with a format"),
        (lambda: softamp.widen(np.float16([1]), "bf16"), TypeError, "expected unsigned integers, or the format's own dtype"),
    ],
)
def test_bad_input(call, error, message):
    with pytest.raises(error, match=message):
        call()


def read_only(x):
    y = x.copy()
    y.flags.writeable = False
    return y


def overlapping():
    x = np.zeros(5, np.float32)
    softamp.round(x[:4], "fp16", out=x[1:])


def add_in_place():
    a = np.zeros(4, np.float16)
    softamp.add(a, a.copy(), out=a)


def test_behaviour_stops_with_the_report():
    with softamp.behaviour(inv=True, nanoo=True):
        with pytest.raises(softamp.FloatingPointException) as caught:
            softamp.add(np.float16([1, 60000]), np.float16([1, 60000]))
    e = caught.value
    assert isinstance(e, FloatingPointError)
    assert (e.kinds, e.operation, e.index, e.operands, e.format) == ("invalid", "add", 1, [0x7B53, 0x7B53], "fp16")
    assert "$FP_STS: OFLO: 0x1 DIV0: 0x0 INV: 0x1" in str(e)


def test_behaviour_is_the_default_within_its_block_alone():
    a = np.float16([60000])
    assert np.isinf(softamp.add(a, a)[0])
    with softamp.behaviour():
        assert softamp.add(a, a)[0] == 65504
        with softamp.behaviour(nanoo=True):
            assert np.isnan(softamp.add(a, a)[0])
            assert np.isinf(softamp.add(a, a, preset="ieee")[0])
        assert softamp.add(a, a)[0] == 65504
        seen = []
        thread = threading.Thread(target=lambda: seen.append(softamp.add(a, a)[0]))
        thread.start()
        thread.join()
        assert np.isinf(seen[0])
    assert np.isinf(softamp.add(a, a)[0])
    with pytest.raises(ZeroDivisionError):
        with softamp.behaviour():
            1 / 0
    assert np.isinf(softamp.add(a, a)[0])


def test_behaviour_with_esr_rounds_stochastically():
    x = np.full(4000, 0.1, np.float32)
    with softamp.behaviour(esr=True):
        rounded = softamp.round(x, "fp16", seed=5)
    assert np.array_equal(rounded, softamp.round(x, "fp16", preset="ipu", rounding="stochastic", seed=5))
    assert len(np.unique(rounded)) == 2


def test_behaviour_objects():
    b = softamp.behaviour(inv=True, nanoo=True)
    assert b.inv and b.nanoo and not b.oflo
    assert b == softamp.behaviour(nanoo=True, inv=True) and b != softamp.behaviour()
    assert repr(b) == "softamp.behaviour(inv=True, nanoo=True)"
