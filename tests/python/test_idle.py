"""No setting without effect: each keyword of each function, in several modes of a call, changes the result, is refused, or has its
reason below. The walk calls with and without the keyword and compares; it knows no rule of what belongs together."""

import fnmatch
import inspect
import warnings

import numpy as np
import pytest
import softamp

RANDOM = np.random.default_rng(7)


def spread(count, low, high):
    return RANDOM.standard_normal(count) * 2.0 ** RANDOM.integers(low, high, count)


X = np.concatenate([spread(400, -28, 20), [70000, -70000, 1e-8, -0.0, np.inf, 600, 7e37, 3.4e38]]).astype(np.float32)
WIDE = np.concatenate([spread(400, -140, 120), [1e39, -1e39]])
A, B, C = (np.concatenate([spread(300, -12, 13), [60000]]).astype(np.float16) for _ in range(3))
SMALL = np.abs(spread(3000, -9, 0)).astype(np.float32)
LARGE = (300 * SMALL + 100).astype(np.float32)
# Products that cancel, for what happens to sums of float32, and a row that is beyond fp16.
HALF, COLUMNS = spread((16 * 48), -3, 6).reshape(16, 48), spread(48 * 16, -3, 6).reshape(48, 16)
ROWS = np.concatenate([HALF, 2.0**-9 - HALF[:, ::-1]], 1).astype(np.float16)
COLUMNS = np.concatenate([COLUMNS, COLUMNS[::-1]]).astype(np.float16)
ROWS[0] = 3000 * np.sign(COLUMNS[:, 0])
WORDS = {count: RANDOM.integers(0, 2**32, count, dtype=np.uint32) for count in (X.size, A.size)}
ESR = softamp.behaviour(esr=True)


def graph(dtype, *nodes):
    shapes = [
        {"name": name, "op": "Placeholder", "attributes": {"dtype": dtype, "shape": shape}}
        for name, shape in (("x", [16, 96]), ("w", [96, 16]))
    ]
    return softamp.Graph({"softamp_graph": 1, "nodes": [*shapes, *nodes], "outputs": [nodes[-1]["name"]]})


PRODUCT = graph("float16", {"name": "y", "op": "MatMul", "inputs": ["x", "w"]})
PLAIN = graph("float32", {"name": "y", "op": "Exp", "inputs": ["x"]})
DRAWN = graph("float32", {"name": "y", "op": "RandomUniform", "attributes": {"dtype": "float32", "shape": [30]}})

HOW = dict(rounding=["stochastic", "zero"], bits=[3], variant=["at-least"], overflow=["saturate", "nan"], preset=["ipu"],
           random=["philox7"], chip=["b200"])  # fmt: skip
ADDRESS = dict(seed=[5], step=[2], operation=[3], first_index=[77])
SUMS = dict(HOW, preset=["ipu", "ieee"], format=["bf16"], start=[0.5], replicas=[2], seed=[5], operation=[3], report=[True])
ENGINE = dict(partials=["half"], block=[4, 1], inner=["rn32_each", "exact_dot4"], accumulator=["tensorcore_ampere", "fp32_chain"],
              tensor_core_operands=["bf16"], behaviour=[softamp.behaviour(inv=True), ESR], threads=[1], reference=[True])  # fmt: skip
MODES = [{}, {"rounding": "stochastic"}, {"rounding": "up"}, {"preset": "ipu"}, {"preset": "ipu", "rounding": "stochastic"}]
PRODUCTS = [{}, {"rounding": "stochastic"}, {"behaviour": ESR}, {"partials": "half"}, {"partials": "half", "block": 1},
            {"inner": "exact_dot4"}, {"inner": "rn32_each", "partials": "half", "block": 1}, {"accumulator": "tensorcore_ampere"},
            {"accumulator": "fp32_chain"}, {"format": "bf16"}, {"format": "fp32"}]  # fmt: skip


def modes(*modes, **operands):
    return [dict(operands, **mode) for mode in modes]


def each(function, *operands):
    """The function of each of these operands, for what one of them alone does not show."""
    return lambda **settings: [function(**one, **settings) for one in operands]


class Walk:
    """A function: its name, itself, the modes in which it is called, and for each keyword values that are not its default."""

    def __init__(self, name, function, calls, settings):
        self.name, self.function, self.calls, self.settings = name, function, calls, settings


def arithmetic(name):
    operands = dict(zip("abc"[: {"sqrt": 1, "fma": 3}.get(name, 2)], (A if name != "sqrt" else abs(A), B, C)))
    large = {key: np.full(2, 60000 if name != "div" else 60000 * 4.0 ** -12 ** i, np.float16) for i, key in enumerate(operands)}
    if name == "sub":
        large["b"] = -large["b"]
    both = {key: np.concatenate([one, large[key]]) for key, one in operands.items()}
    words = np.concatenate([WORDS[A.size], WORDS[A.size][:2]])
    settings = dict(HOW, **ADDRESS, random_words=[words], format=["fp16"], out=[np.empty_like(both["a"])], flags=[True], threads=[1])
    calls = modes(*MODES, {"rounding": "stochastic", "random_words": words}, **both)
    return Walk(name, getattr(softamp, name), calls, settings)


def walks():
    words = {"rounding": "stochastic", "random_words": WORDS[X.size]}
    rounding = dict(HOW, **ADDRESS, cast=["ocp_saturate"], random_words=[WORDS[X.size]], out=[np.empty_like(X)], result=["codes", "values"],
                    flags=[True], threads=[1], packed=[True])  # fmt: skip
    calls = [call for format in ("fp16", "e4m3", "bf16") for call in modes(*MODES, words, x=X, format=format)]
    calls += modes({"format": "e5m2", "chip": "b200"}, {"format": "e5m2", "chip": "b200", "packed": True}, {"format": "e4m3", "cast": "ocp"}, x=X)
    calls += modes(*MODES[:4], x=WIDE, format="fp32")
    yield Walk("round", softamp.round, calls, rounding)
    numbers = [{"x": x} for x in [*map(float, WIDE[::9]), *map(str, X[:-5:9]), 70000]]
    yield Walk("round of numbers", each(softamp.round, *numbers), MODES, rounding)
    codes = modes({"codes": A}, {"codes": A.view(np.uint16), "format": "fp16"})
    yield Walk("widen", softamp.widen, codes, dict(format=["fp16"], wide=[True], out=[np.empty(A.size)], threads=[1]))
    yield from map(arithmetic, ("add", "sub", "mul", "div", "fma", "sqrt"))
    formats = ("mxfp4", "nvfp4", "e4m3_tensor", "e4m3_1x128", "e4m3", "nvfp4:rounding=stochastic", "e5m2_tensor:rounding=stochastic,bits=4")
    matrix = ROWS[1:].astype(np.float32)
    blocks = [dict(x=matrix, format=format) for format in formats]
    settings = dict(axis=[0], **ADDRESS, random=["philox7"], threads=[1])
    yield Walk("quantize", softamp.quantize, blocks, dict(settings, amax=[30000.0]))
    yield Walk("fake_quantize", softamp.fake_quantize, blocks, dict(settings, out=[np.empty_like(matrix)]))
    quantized = [softamp.quantize(matrix, format) for format in formats[:5]]
    calls = [dict(codes=q.codes, scales=q.scales, format=q.format) for q in quantized]
    yield Walk("dequantize", softamp.dequantize, calls, dict(axis=[0], amax=[30000.0], threads=[1]))
    arrays = [{"x": LARGE}, {"x": np.float32([(2 - 2.0**-7) * 2.0**127, 2.0**119])}, *({"x": SMALL[i:]} for i in range(20))]
    of_device = [dict(mode, order="device") for mode in ({}, {"rounding": "stochastic"}, {"behaviour": ESR}, {"format": "bf16"})]
    calls = modes(*MODES, {"replicas": 2, "rounding": "stochastic"}, *of_device)
    yield Walk("sum", each(softamp.sum, *arrays), calls, dict(SUMS, **ENGINE, order=["device"]))
    codes = modes({}, {"rounding": "up"}, x=B.view(np.uint16) & 0x3FFF, codes="fp16")
    yield Walk("sum of codes", softamp.sum, codes, dict(rounding=["zero"], codes=["bf16"], start=[0.5], order=["device"]))
    pairs = [{"a": LARGE, "b": LARGE}, *({"a": SMALL[i:], "b": SMALL[i:][::-1].copy()} for i in range(20)),
             *({"a": row, "b": column.copy()} for row, column in zip(ROWS, COLUMNS.T))]  # fmt: skip
    yield Walk("dot", each(softamp.dot, *pairs), [*MODES, *PRODUCTS[3:9]], dict(SUMS, **ENGINE, products=["rounded"]))
    two = {"a": B.view(np.uint16)[:60] & 0x3FFF, "b": C.view(np.uint16)[:60] & 0x3FFF, "codes": "fp16"}
    yield Walk("dot of codes", softamp.dot, [two], dict(rounding=["zero"], codes=["bf16"], start=[0.5]))
    values = [{"value": 0.0003, "count": 9000}, {"value": 0.001, "count": 300}, {"value": 30.1, "count": 9000}]
    calls = [*MODES, {"report": True}, {"rounding": "stochastic", "replicas": 2}]
    yield Walk("running_sum", each(softamp.running_sum, *values), calls, dict(SUMS, trace_points=[10]))
    settings = {**{key: SUMS[key] for key in HOW if key != "chip"}, **ENGINE, "format": ["bf16", "fp32"], "seed": [5], "c": [np.ones(16, np.float32)]}
    # A sum that only rounding to bf16 makes too large; one that is subnormal in fp32; and sums of numbers of many magnitudes.
    large = {"a": np.zeros((16, 16), np.float32), "b": np.zeros((16, 16), np.float32)}
    large["a"][:, :2], large["b"][:2] = [2.0**64, 2.0**60], [[(2 - 2.0**-7) * 2.0**63], [2.0**59]]
    tiny = np.full((16, 16), 1e-20, np.float32)
    mixed = {"a": spread(16 * 64, -9, 10).reshape(16, 64), "b": spread(64 * 16, -9, 10).reshape(64, 16)}
    operands = [{"a": ROWS, "b": COLUMNS}, large, {"a": tiny, "b": tiny}, mixed]
    yield Walk("matmul", each(softamp.matmul, *operands), PRODUCTS, settings)
    square = modes({}, {"format": "fp32"}, a=ROWS[:, :16].copy(), b=COLUMNS[:16])
    yield Walk("matmul of squares", softamp.matmul, square, dict(transpose_a=[True], transpose_b=[True]))
    calls = modes({}, {"format": "e4m3"}, {"format": "fp32"}, value="3.5e38")
    yield Walk("inspect", softamp.inspect, calls, dict(format=["bf16"], bits=[3], overflow=["saturate"]))
    options = dict(ENGINE, preset=["ieee"], seed=[5], bits=[3], variant=["at-least"], random=["philox7"], replica=[3],
                   config=['{"floating_point_behaviour.esr": true}'], status=[True], statistics=[True], backend=["auto"], tiles=[5],
                   memory_per_tile=[10**6], fetches=["x"])  # fmt: skip
    graphs = ({}, {"behaviour": ESR}, {"partials": "half"}, {"partials": "half", "block": 1}, {"accumulator": "tensorcore_ampere"})
    yield Walk("Graph.run", PRODUCT.run, modes(*graphs, feeds={"x": ROWS, "w": COLUMNS}), options)
    fed = ROWS.astype(np.float32)
    fed[1] = -95  # whose exponential is subnormal
    yield Walk("Graph.run of no product", PLAIN.run, modes({}, {"behaviour": ESR}, feeds={"x": fed}), options)
    settings = {key: options[key] for key in ("seed", "replica", "random", "bits", "variant", "partials", "block", "inner", "accumulator")}
    yield Walk("Graph.run of numbers that are drawn", DRAWN.run, [{}], settings)


# (function, keyword=value, call): why the result may stay as it is. "*" is any text.
REASONS = [
    ("*", "threads=*", "*", "results do not depend on threads"),
    ("*", "reference=*", "*", "every element by its definition, to compare with: the same bits"),
    ("*", "backend=*", "*", "all backends give the same bits"),
    ("*", "out=*", "*", "where the same result goes"),
    ("*", "format=fp16", "*", "a dtype that says it already is checked against it"),
    ("*", "behaviour=softamp.behaviour(inv=True)", "*", "it stops where an exception is raised, and none is"),
    ("*", "behaviour=softamp.behaviour(esr=True)", "*format=fp32*", "the registers of a device, whatever is then computed"),
    ("*", "overflow=*", "*preset=ipu*", "what the preset does with an overflow"),
    ("round", "overflow=saturate", "*chip=b200*", "what the chip does with an overflow"),
    ("*", "preset=ieee", "*rounding=up*", "the default here, and the only one that rounds so"),
    ("dot", "inner=*", "*partials=half block=1*", "a second rounding, which these few sums do not show; those of matmul do"),
    ("matmul", "accumulator=*", "*format=bf16*", "sums that differ in their last bits are one number of bf16"),
    ("sqrt", "overflow=*", "*", "no square root overflows; it has the settings of the other operations"),
    ("sqrt", "preset=*", "*", "of these numbers the way by fp32 gives the same square roots"),
    ("Graph.run*", "behaviour=*", "*", "the registers of a device, whatever then runs on it"),
    ("Graph.run*", "config=*", "*", "the registers of a device; behaviour goes before them"),
    ("Graph.run*", "tiles=*", "*", "a limit of memory"),
    ("Graph.run*", "memory_per_tile=*", "*", "a limit of memory"),
]


def plain(value):
    """What can be compared: arrays by their bytes."""
    if isinstance(value, np.ndarray):
        return str(value.dtype), value.shape, value.tobytes()
    if isinstance(value, (float, np.floating)):
        return str(type(value)), np.float64(value).tobytes()
    if isinstance(value, softamp.Run):
        return plain(dict(value)), repr(value.operations), repr(value.statistics)
    if isinstance(value, softamp.Quantized):
        return plain([value.codes, value.scales, value.format, value.amax, repr(value.status)])
    if isinstance(value, dict):
        return [(key, plain(one)) for key, one in value.items()]
    return [plain(one) for one in value] if isinstance(value, (list, tuple)) else repr(value)


def result(function, arguments):
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return plain(function(**arguments))
    except (ValueError, TypeError, softamp.FloatingPointException):
        return None


def text(arguments):
    return " ".join(f"{key}={'data' if isinstance(value, (np.ndarray, dict)) else value}" for key, value in arguments.items())


def has_reason(walk, setting, call):
    return any(
        fnmatch.fnmatchcase(walk.name, function) and fnmatch.fnmatchcase(setting, key) and fnmatch.fnmatchcase(call, where)
        for function, key, where, _ in REASONS
    )


def idle_settings(walk):
    found = []
    for arguments in walk.calls:
        without = result(walk.function, arguments)
        assert without is not None, f"{walk.name}({text(arguments)}) is refused"
        for key, values in walk.settings.items():
            taken = [(value, r) for value in values if key not in arguments and (r := result(walk.function, {**arguments, key: value}))]
            if taken and all(r == without and not has_reason(walk, text({key: value}), text(arguments)) for value, r in taken):
                found.append(f"{walk.name}({text(arguments)}) is the same with {key}")
    return found


ALL = list(walks())


@pytest.mark.parametrize("walk", ALL, ids=lambda walk: walk.name)
def test_no_setting_is_without_effect(walk):
    assert idle_settings(walk) == []


@pytest.mark.parametrize("walk", ALL, ids=lambda walk: walk.name)
def test_every_keyword_is_walked(walk):
    function = getattr(softamp, walk.name, walk.function)
    named = {p.name for p in inspect.signature(function).parameters.values() if p.kind is not p.VAR_KEYWORD}
    walked = set().union(*(set(other.settings).union(*other.calls) for other in ALL if other.name.split(" ")[0] == walk.name.split(" ")[0]))
    assert named <= walked | {"a", "b", "x", "value", "count", "settings", "random_bits"}  # the last is an old name


def test_every_function_is_walked():
    walked = {walk.name for walk in ALL} | {"block_formats", "chips", "experiments", "formats"}
    functions = {name for name in softamp.__all__ if inspect.isroutine(getattr(softamp, name))}
    assert functions - walked == {"reproduce", "study", "train"}  # test_idle_training.py; published choices
