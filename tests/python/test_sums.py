"""sum, dot, running_sum and matmul against the command."""

import json
from decimal import Decimal
from fractions import Fraction

import foreign_arrays
import numpy as np
import pytest
import softamp

CASES = [
    ("fp16", "nearest", {}),
    ("bf16", "zero", {}),
    ("fp16", "stochastic", {"bits": 8, "variant": "half"}),
    ("e5m2", "stochastic", {}),
    ("fp32", "up", {}),
    ("fp16", "nearest", {"preset": "ipu"}),
]


def words_of(options):
    return [word for key, value in options.items() for word in (f"--{key}", str(value))]


def options_of(rounding, more):
    return ["--rounding", rounding, *words_of(more)]


def check(report, case):
    replicas = case.get("replicas") or [case.get("final") or case]
    assert [f"{code:#x}" for code in report["codes"].tolist()] == [f"{int(r['code'], 16):#x}" for r in replicas]
    assert report["values"].tolist() == [r["value"] for r in replicas]
    assert report["exact"] == case["exact"]
    first = {name.replace("-", "_"): n for name, n in (case.get("first_addition_with_flag") or {}).items()}
    assert report["first_addition_with_flag"] == first


@pytest.mark.parametrize("format, rounding, more", CASES)
def test_running_sums_are_those_of_the_command(program, format, rounding, more):
    drawn = dict(replicas=5, seed=6) if rounding == "stochastic" else {}
    arguments = ["--value", "0.0625", "--count", 3000, "--format", format, *options_of(rounding, more)]
    document = program.json("sum", *arguments, *words_of(drawn))
    report = softamp.running_sum(0.0625, 3000, format, rounding=rounding, report=True, **drawn, **more)
    check(report, document)
    assert report["exact_text"] == document["exact_text"]


@pytest.mark.parametrize("format, rounding, more", CASES)
def test_sums_and_dots_are_those_of_the_command(program, random, format, rounding, more):
    a, b = (random.standard_normal(700).astype(np.float32) for _ in range(2))
    program.save("a.npy", a), program.save("b.npy", b)
    drawn = dict(replicas=4, seed=2) if rounding == "stochastic" else {}
    shared = ["--format", format, *options_of(rounding, more), *words_of(drawn)]
    options = dict(format=format, rounding=rounding, report=True, **drawn, **more)
    check(softamp.sum(a, **options), program.json("sum", "--values", "a.npy", *shared)["cases"][0])
    for products in ("exact", "rounded"):
        document = program.json("sum", "--dot", "a.npy", "b.npy", "--products", products, *shared)
        check(softamp.dot(a, b, products=products, **options), document["cases"][0])


def test_golden_sums():
    assert softamp.running_sum(0.0001, 10000) == 0.25  # README: nearest stops there
    assert softamp.sum(np.full(10000, 0.0001)) == 0.25
    assert softamp.sum(np.float16([1, 2, 3])) == 6.0
    assert softamp.sum(np.uint16([0x3C00, 0x4000]), codes="fp16") == 3.0
    assert softamp.dot(np.float32([1, 2]), np.float32([3, 4]), "bf16") == 11.0
    assert softamp.sum(np.float32([])) == 0.0


def test_traces():
    report = softamp.running_sum(0.0001, 10000, trace_points=11, report=True)
    assert report["trace_additions"][0] == 0 and report["trace_additions"][-1] == 10000
    assert len(report["traces"]) == 1 and report["traces"][0][-1] == 0.25


def graph_of(op, a, b, dtype):
    nodes = [{"name": n, "op": "Placeholder", "attributes": {"dtype": dtype, "shape": list(x.shape)}} for n, x in (("a", a), ("b", b))]
    return json.dumps({"softamp_graph": 1, "nodes": nodes + [{"name": "result", "op": op, "inputs": ["a", "b"]}], "outputs": ["result"]})


@pytest.mark.parametrize(
    "options, arguments",
    [
        ({}, []),
        ({"partials": "half"}, ["--partials", "half"]),
        ({"partials": "half", "block": 4}, ["--partials", "half", "--block", "4"]),
        ({"partials": "half", "block": 0}, ["--partials", "half", "--block", "k"]),
        ({"inner": "exact_dot4"}, ["--inner", "exact_dot4"]),
        ({"accumulator": "fp32_chain"}, ["--accumulator", "fp32_chain"]),
        ({"accumulator": "tensorcore_hopper"}, ["--accumulator", "tensorcore_hopper"]),
        (
            {"accumulator": "tensorcore_ada", "tensor_core_operands": "e4m3"},
            ["--accumulator", "tensorcore_ada", "--tensor-core-operands", "e4m3"],
        ),
        ({"behaviour": softamp.behaviour(esr=True), "seed": 3, "partials": "half"}, ["--behaviour", "esr", "--seed", 3, "--partials", "half"]),
    ],
)
def test_matrix_products_are_those_of_the_command(program, random, options, arguments):
    a, b = random.standard_normal((5, 70)).astype(np.float16), random.standard_normal((70, 3)).astype(np.float16)
    (program.folder / "graph.json").write_text(graph_of("MatMul", a, b, "float16"))
    program.save("a.npy", a), program.save("b.npy", b)
    program("run", "graph.json", "--feed", "a=a.npy", "--feed", "b=b.npy", "--out", ".", *arguments)
    result = softamp.matmul(a, b, **options)
    assert result.dtype == np.float16
    assert np.array_equal(result, program.load("result.npy"))


def test_matmul_of_batches_and_formats(random):
    a, b = random.standard_normal((2, 4, 5)).astype(np.float32), random.standard_normal((5, 3)).astype(np.float32)
    for format in ("fp16", "bf16", "fp32"):
        batches = softamp.matmul(a, b, format)
        assert batches.shape == (2, 4, 3)
        for i in range(2):
            assert np.array_equal(batches[i], softamp.matmul(a[i], b, format))
            assert np.array_equal(batches[i], softamp.matmul(a[i].T, b.T, format, transpose_a=True, transpose_b=True))


def test_sums_begin_with_c(random):
    a, b = random.integers(-4, 5, (2, 3, 4)).astype(np.float32), random.integers(-4, 5, (4, 5)).astype(np.float32)
    for shape in ((5,), (2, 3, 5)):
        c = random.integers(-100, 101, shape).astype(np.float32)
        assert np.array_equal(softamp.matmul(a, b, "fp32", c=c), a @ b + c)  # small whole numbers: exact
    # From 2048 on fp16 has even numbers alone: each 1 that comes after c is lost, to nearest even.
    ones, start = np.ones((1, 8), np.float16), np.float32([2048])
    assert softamp.matmul(ones, ones.T, partials="half", block=1, c=start)[0, 0] == 2048
    assert softamp.matmul(ones, ones.T, c=start)[0, 0] == 2056
    with pytest.raises(ValueError, match="c"):
        softamp.matmul(a[0], b, c=np.float32([1, 2]))
    with pytest.raises(TypeError, match="c: expected an array"):
        softamp.matmul(a[0], b, c=[1.0, 2.0])


def test_dot_and_sum_by_the_engine(random):
    a, b = (random.standard_normal(300).astype(np.float16) for _ in range(2))
    assert softamp.dot(a, b, partials="half") == softamp.matmul(a[None], b[:, None], partials="half")[0, 0]
    assert softamp.dot(a, b, accumulator="fp32_chain") == float(softamp.matmul(a[None], b[:, None], accumulator="fp32_chain")[0, 0])
    for format in ("fp16", "bf16", "fp32"):
        exact = float(a.astype(np.float64).sum())
        # Sums of 300 terms in fp32, rounded once to the format: within a unit in the last place of it.
        unit = softamp.Format(format).epsilon * 2.0 ** np.ceil(np.log2(abs(exact)))
        terms = softamp.widen(softamp.round(a, format, result="codes"), format, wide=True)
        assert abs(softamp.sum(a, format, order="device") - terms.sum()) <= unit


def test_matmul_stops_under_behaviour():
    with pytest.raises(softamp.FloatingPointException, match="MatMul 'result', element 0"):
        softamp.matmul(np.float16([[60000]]), np.float16([[2]]), behaviour=softamp.behaviour(oflo=True))
    with softamp.behaviour(oflo=True), pytest.raises(softamp.FloatingPointException):
        softamp.matmul(np.float16([[60000]]), np.float16([[2]]))


def test_sums_take_numbers_exactly():
    x = 2**53 + 2**45 + 1
    assert softamp.running_sum(x, 1, "bf16") == 2**53 + 2**46
    assert softamp.running_sum(Fraction(1, 3), 3, "fp32") == softamp.running_sum(float(np.float32(1 / 3)), 3, "fp32")
    assert softamp.running_sum("0.0001", 10000) == softamp.running_sum(0.0001, 10000) == 0.25
    assert softamp.running_sum(1, 1, "bf16", start=x) == softamp.sum(np.float32([1]), "bf16", start=x) == 2**53 + 2**46
    assert softamp.dot(np.float32([1]), np.float32([1]), "bf16", start=Decimal(x)) == 2**53 + 2**46


def test_a_tensor_core_takes_the_arrays_type():
    ml_dtypes = pytest.importorskip("ml_dtypes")
    small = [np.dtype(getattr(ml_dtypes, name)) for name in ("float8_e4m3fn", "float8_e5m2")]
    a, b = np.array([[1, 2**-6]]), np.array([[1], [2**-8]])
    for accumulator in ("tensorcore_hopper", "hopper", "H100"):
        for dtype in small:  # 13 bits below the largest term
            assert softamp.matmul(a.astype(dtype), b.astype(dtype), "fp32", accumulator=accumulator)[0, 0] == 1
            assert softamp.dot(a[0].astype(dtype), b[:, 0].astype(dtype), "fp32", accumulator=accumulator) == 1
        assert softamp.matmul(np.float32(a), np.float32(b), "fp32", accumulator=accumulator)[0, 0] == 1 + 2**-14
    # 16 bfloat16 products are one group, of tf32 two: there each half of 2^-23 is lost by itself.
    a = np.zeros((1, 16), np.float32)
    a[0, [0, 4, 12]] = [1, 2**-24, 2**-24]
    b = np.ones((16, 1), np.float32)
    bf16 = ml_dtypes.bfloat16
    assert softamp.matmul(a.astype(bf16), b.astype(bf16), "fp32", accumulator="tensorcore_hopper")[0, 0] == 1 + 2**-23
    assert softamp.matmul(a, b, "fp32", accumulator="tensorcore_hopper")[0, 0] == 1
    assert softamp.matmul(a.astype(bf16), b.astype(bf16), accumulator="tensorcore_hopper").dtype == bf16
    # As others export them.
    mine, yours = a.astype(half := np.float16), b.astype(half)
    mine[0, [0, 4, 12]] = [1, 2**-11, 2**-24]
    for accumulator in ("tensorcore_hopper", "tensorcore_volta"):
        expected = softamp.matmul(mine, yours, "fp32", accumulator=accumulator)
        for export in (memoryview, foreign_arrays.by_dlpack):
            assert softamp.matmul(export(mine), export(yours), "fp32", accumulator=accumulator) == expected
            assert softamp.dot(export(mine[0]), export(yours[:, 0]), "fp32", accumulator=accumulator) == expected
    e4m3 = small[0]
    for x, y, options, words in (
        (a.astype(bf16), b.astype(half), dict(format="fp32"), "a, b: bfloat16 and float16 with accumulator tensorcore_hopper"),
        (a.astype(e4m3), b, dict(format="fp32"), "a, b: float8_e4m3fn and float32 with"),
        (a.astype(bf16), b.astype(bf16), dict(format="fp16"), "format: 'fp16' does not hold the numbers of bf16"),
        (a.astype(ml_dtypes.float8_e4m3fnuz), b.astype(ml_dtypes.float8_e4m3fnuz), dict(format="fp32"), "a, b: f143: accumulator"),
    ):
        with pytest.raises(ValueError, match=words):
            softamp.matmul(x, y, accumulator="tensorcore_hopper", **options)
        softamp.matmul(x, y, accumulator="tensorcore_hopper", tensor_core_operands="e4m3", **options)
        softamp.matmul(x, y, accumulator="fp32_chain", **options)
    with pytest.raises(ValueError, match="tensorcore_ampere has no operands of e4m3"):
        softamp.matmul(a.astype(e4m3), b.astype(e4m3), "fp32", accumulator="tensorcore_ampere")
