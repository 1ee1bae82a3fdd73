"""round and widen against the command, against NumPy and ml_dtypes, and by their addresses."""

from decimal import Decimal
from fractions import Fraction

import numpy as np
import pytest
import softamp
from conftest import special_floats

FORMATS = ["fp16", "bf16", "tf32", "fp32", "e4m3", "e5m2", "f143", "f152", "e2m1", "e2m3", "e3m2", "e5p9", "e8p20"]
MODES = ["nearest", "nearest-away", "zero", "up", "down", "stochastic", "odd"]


def bits_of(array):
    return array.view({1: np.uint8, 2: np.uint16, 4: np.uint32, 8: np.uint64}[array.dtype.itemsize])


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("format", FORMATS)
def test_codes_are_those_of_the_command(program, format, dtype):
    x = special_floats(dtype)
    program.save("x.npy", x)
    for mode in MODES:
        where = dict(seed=7, step=3) if mode == "stochastic" else {}
        options = [word for name, value in where.items() for word in (f"--{name}", value)]
        report = program.json("round", "x.npy", "out.npy", "--format", format, "--rounding", mode, *options)
        codes, status = softamp.round(x, format, rounding=mode, **where, result="codes", flags=True)
        assert np.array_equal(codes, bits_of(program.load("out.npy"))), mode
        expected = {name.replace("-", "_"): f["first_index"] for name, f in report["flags"].items()}
        assert status.first_index == expected


@pytest.mark.parametrize("chip", [c.name for c in softamp.chips()])
def test_chips_are_those_of_the_command(program, chip):
    x = special_floats(np.float32)
    program.save("x.npy", x)
    words = np.random.default_rng(4).integers(0, 2**32, x.size, dtype=np.uint32)
    program.save("words.npy", words)
    for conversion in softamp.Chip(chip).conversions:
        if str(conversion["from"]) != "fp32":
            continue
        to = str(conversion["to"])
        program("round", "x.npy", "out.npy", "--format", to, "--chip", chip, "--seed", 9)
        codes = softamp.round(x, to, chip=chip, seed=9, result="codes")
        assert np.array_equal(codes, bits_of(program.load("out.npy"))), to
        program("round", "x.npy", "out.npy", "--format", to, "--chip", chip, "--random-bits", "words.npy")
        codes = softamp.round(x, to, chip=softamp.Chip(chip), random_words=words, result="codes")
        assert np.array_equal(codes, bits_of(program.load("out.npy"))), to
        program("round", "x.npy", "out.npy", "--format", to, "--chip", chip, "--packed", "--seed", 9)
        codes = softamp.round(x, to, chip=chip, packed=True, seed=9, result="codes")
        assert np.array_equal(codes, bits_of(program.load("out.npy"))), to


def test_whole_words_of_a_chip(program):
    x = special_floats(np.float32)
    program.save("x.npy", x)
    for to, each in (("fp16", 2), ("e5m2", 4)):
        words = program.load(program.save("words.npy", np.random.default_rng(4).integers(0, 2**32, x.size // each, dtype=np.uint32)))
        program("round", "x.npy", "out.npy", "--format", to, "--chip", "b200", "--packed", "--random-bits", "words.npy")
        options = dict(chip="b200", packed=True, result="codes")
        codes = softamp.round(x, to, random_words=words, **options)
        assert np.array_equal(codes, bits_of(program.load("out.npy"))), to
        with pytest.raises(ValueError, match=f"expected {x.size // each}, one for {each} elements"):
            softamp.round(x, to, random_words=words[1:], **options)
        with pytest.raises(TypeError, match="expected uint32, whole words of the chip"):
            softamp.round(x, to, random_words=words.astype(np.uint16), **options)


def test_values_of_the_command(program):
    x = special_floats(np.float32)
    program.save("x.npy", x)
    program("round", "x.npy", "out.npy", "--format", "bf16", "--values", "--preset", "ipu", "--overflow", "nan")
    values = softamp.round(x, "bf16", result="values", preset="ipu", overflow="nan")
    assert np.array_equal(bits_of(values), bits_of(program.load("out.npy")))


def test_random_bits_of_the_command(program):
    x = special_floats(np.float64)
    program.save("x.npy", x)
    for dtype in (np.uint16, np.uint32):
        words = np.random.default_rng(3).integers(0, 2**16, x.size).astype(dtype)
        program.save("words.npy", words)
        program("round", "x.npy", "out.npy", "--format", "fp16", "--rounding", "stochastic", "--random-bits", "words.npy")
        codes = softamp.round(x, "fp16", rounding="stochastic", random_words=words, result="codes")
        assert np.array_equal(codes, bits_of(program.load("out.npy")))


def test_fp16_as_numpy_rounds_it():
    x = special_floats(np.float32)
    with np.errstate(over="ignore"):
        expected = x.astype(np.float16)
    number = ~np.isnan(x)
    rounded = softamp.round(x, np.float16)
    assert rounded.dtype == np.float16
    assert np.array_equal(bits_of(rounded)[number], bits_of(expected)[number])
    assert np.all(np.isnan(rounded[~number]))


@pytest.mark.parametrize(
    "name", ["bfloat16", "float8_e4m3fn", "float8_e5m2", "float8_e4m3fnuz", "float8_e5m2fnuz", "float8_e4m3", "float8_e3m4",
             "float6_e2m3fn", "float6_e3m2fn", "float4_e2m1fn"]
)
def test_dtypes_of_ml_dtypes(name):
    ml_dtypes = pytest.importorskip("ml_dtypes")
    dtype = np.dtype(getattr(ml_dtypes, name))
    format = softamp.Format(dtype)
    assert format.dtype == name
    codes = np.arange(2**format.bits, dtype=np.uint8 if format.bits <= 8 else np.uint16)
    theirs = codes.view(dtype).astype(np.float32)
    assert np.array_equal(softamp.widen(codes.view(dtype)), theirs, equal_nan=True)
    assert np.array_equal(softamp.widen(codes, format), theirs, equal_nan=True)
    # Every number of the format, and what lies between two of them, goes to the code that ml_dtypes has.
    numbers = np.unique(theirs[np.isfinite(theirs)])
    x = np.concatenate([numbers, numbers[:-1] / 2 + numbers[1:] / 2, numbers[:-1] * 0.3 + numbers[1:] * 0.7])
    ours = softamp.round(x, dtype, overflow="infinity")
    assert ours.dtype == dtype
    assert np.array_equal(bits_of(ours), bits_of(x.astype(dtype)))
    # A value of the dtype is taken as it is, and comes back.
    finite = codes[np.isfinite(theirs)].view(dtype)
    assert np.array_equal(bits_of(softamp.round(finite, dtype)), bits_of(finite))
    assert np.array_equal(softamp.round(finite, "fp32"), finite.astype(np.float32))


def test_strides_are_copied_once_and_give_the_same():
    x = special_floats(np.float32)[:1000].reshape(10, 20, 5)
    options = dict(rounding="stochastic", seed=5)
    for view in (x.T, x[::-1], x[:, ::3, ::-2], x[:, :1], np.broadcast_to(x[0, 0], (3, 5)), x[3:3]):
        expected = softamp.round(np.ascontiguousarray(view), "fp16", **options)
        assert expected.shape == view.shape
        assert np.array_equal(bits_of(softamp.round(view, "fp16", **options)), bits_of(expected))


def test_addresses_are_indices():
    x = np.full(1000, 0.1, np.float32)
    whole = softamp.round(x, "fp16", rounding="stochastic", seed=3, step=2, operation=9, first_index=100)
    part = softamp.round(x[300:400], "fp16", rounding="stochastic", seed=3, step=2, operation=9, first_index=400)
    assert np.array_equal(whole[300:400], part)
    for change in (dict(seed=4), dict(step=3), dict(operation=8), dict(first_index=101)):
        options = dict(dict(seed=3, step=2, operation=9, first_index=100), **change)
        assert not np.array_equal(whole, softamp.round(x, "fp16", rounding="stochastic", **options)), change
    for threads in (1, 2, 3):
        again = softamp.round(
            x, "fp16", rounding="stochastic", seed=3, step=2, operation=9, first_index=100, threads=threads
        )
        assert np.array_equal(whole, again)


def test_a_golden_value():
    # tests of the library pin the same: 0.1 in fp16, to nearest, and up and down beside it.
    assert softamp.round(0.1, "fp16", result="codes") == 0x2E66
    assert softamp.round(0.1, "fp16", rounding="up", result="codes") == 0x2E67
    assert softamp.round(70000, "fp16", result="codes") == 0x7C00
    assert softamp.round(70000, "fp16", overflow="saturate", result="codes") == 0x7BFF


def test_out_in_place_and_of_each_kind():
    x = special_floats(np.float32)
    values = softamp.round(x, "bf16", result="values")
    y = x.copy()
    assert softamp.round(y, "bf16", out=y) is y
    assert np.array_equal(bits_of(y), bits_of(values))
    codes = np.empty(x.size, np.uint16)
    assert softamp.round(x, "bf16", out=codes) is codes
    assert np.array_equal(codes, softamp.round(x, "bf16", result="codes"))
    halves = np.empty(x.size, np.float16)
    softamp.round(x, "fp16", out=halves)
    assert np.array_equal(bits_of(halves), bits_of(softamp.round(x, "fp16")))


def test_dlpack_in_and_out():
    class OnlyDLPack:
        def __init__(self, array):
            self.array = array

        def __dlpack__(self, **arguments):
            return self.array.__dlpack__(**arguments)

        def __dlpack_device__(self):
            return self.array.__dlpack_device__()

    x = special_floats(np.float32).reshape(20, 51)
    expected = softamp.round(x, "fp16")
    assert np.array_equal(bits_of(softamp.round(OnlyDLPack(x), "fp16")), bits_of(expected))
    assert np.array_equal(bits_of(softamp.round(OnlyDLPack(x.T), "fp16")), bits_of(np.ascontiguousarray(expected.T)))
    y = x.copy()
    softamp.round(OnlyDLPack(y), "fp16", out=OnlyDLPack(y))
    assert np.array_equal(bits_of(y), bits_of(softamp.round(x, "fp16", result="values")))
    assert np.array_equal(np.from_dlpack(expected), expected, equal_nan=True)


def test_status():
    _, status = softamp.round(np.float32([1, 0.1, 1e6, 1e-9]), "fp16", flags=True)
    assert status.inexact and status.overflow and status.underflow and not status.invalid
    assert status.first_index == {"inexact": 1, "overflow": 2, "underflow": 3}
    assert status.lowest_index() == 1 and status.lowest_index("overflow", "underflow") == 2
    assert status.lowest_index("invalid") is None
    assert repr(status) == "Status(inexact first at 1, underflow first at 3, overflow first at 2)"
    _, none = softamp.round(np.float32([1]), "fp16", flags=True)
    assert not none and repr(none) == "Status(none)"


def test_numbers_of_python_are_read_exactly():
    def value(x, format="bf16", **options):
        return float(softamp.round(x, format, result="values", **options))

    # By way of binary64 this would be a tie, which goes to 2^53.
    assert value(2**53 + 2**45 + 1) == 2**53 + 2**46
    assert value(-(2**53 + 2**45 + 1)) == -(2**53 + 2**46)
    assert value(2**53 + 2**45) == 2**53
    assert value(Fraction(2**53 + 2**45 + 1)) == value(Decimal(2**53 + 2**45 + 1)) == value(str(2**53 + 2**45 + 1)) == 2**53 + 2**46
    assert value(Fraction(1, 3), "fp32") == np.float32(1) / np.float32(3)
    assert value(Decimal("0.1"), "fp16") == value("0.1", "fp16") == value("0x1.999999999999999999p-4", "fp16") == 0.0999755859375
    tie = Fraction(2049, 2**11)
    for off, nearest in ((0, 1), (Fraction(1, 10**400), 1 + 2**-10), (-Fraction(1, 10**400), 1)):
        assert value(tie + off, "fp16") == nearest
    # Flags are those of the one rounding.
    assert softamp.round(2**53 + 1, "fp32", flags=True)[1].inexact
    assert not softamp.round(2**53, "fp32", flags=True)[1]
    for huge in (10**400, "1e400", Decimal("1e99999999"), Fraction(10**400)):
        code, status = softamp.round(huge, "fp16", flags=True)
        assert np.isinf(code) and status.overflow and code.shape == ()
        assert value(huge, "fp16", overflow="saturate") == 65504
    with pytest.raises(softamp.FloatingPointException), softamp.behaviour(inv=False, div0=False, oflo=True):
        softamp.round(10**400, "fp16")
    # The random bits are those of an array's element.
    for x in (3.3, -1e-6, 70000.0):
        for variant in ("carry", "half", "rne", "odd", "at-least"):
            for seed in range(20):
                options = dict(rounding="stochastic", variant=variant, seed=seed, step=2, operation=3, first_index=9)
                assert value(Fraction(x), "fp16", **options) == float(softamp.round(np.float64([x]), "fp16", result="values", **options)[0])
    out = np.zeros((), np.float32)
    assert softamp.round(3, "fp16", out=out) is out and out == 3
    assert softamp.round(3, "bf16", result="codes").dtype == np.uint16


def test_casts_by_name(program):
    ml_dtypes = pytest.importorskip("ml_dtypes")
    x = special_floats(np.float32)
    program.save("x.npy", x)
    for name, format in (("float8_e4m3fn", "e4m3"), ("float8_e5m2", "e5m2"), ("float8_e4m3fnuz", "f143"), ("bfloat16", "bf16")):
        with np.errstate(all="ignore"):
            expected = bits_of(x.astype(getattr(ml_dtypes, name)))
        assert np.array_equal(softamp.round(x, format, cast="ml_dtypes", result="codes"), expected)
    for cast in ("ocp", "ocp_saturate", "onnx", "onnx_saturate", "nvidia_satfinite", "amd", "amd_saturate"):
        program("round", "x.npy", "out.npy", "--format", "e5m2", "--cast", cast)
        assert np.array_equal(softamp.round(x, "e5m2", cast=cast, result="codes"), program.load("out.npy"))
    with pytest.raises(ValueError, match="cast: 'amd': has no conversion to fp16"):
        softamp.round(x, "fp16", cast="amd")
    with pytest.raises(ValueError, match="cast: expected no rounding"):
        softamp.round(x, "e4m3", cast="onnx", rounding="up")
