#!/usr/bin/env python3
"""elements.py SOFTAMP [--count N] [--parts N] [--torch]: formats of 4 to 8 bits against ml_dtypes and gfloat, both ways,
and ONNX's casts.

All codes to values; all float16 and N random float32 to codes. gfloat: every rounding mode that it has, the stochastic
ones with random bits that are given, saturating and not; of these one of --parts parts, by SOFTAMP_SLICE. --torch:
against PyTorch's casts to float8 alone. Exit code 1: a difference that docs/NUMERICS_BLOCKS.md does not name. 77: no Python with the packages was found.
"""
import argparse
import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
import packages  # noqa: E402

if __name__ == "__main__":
    packages.find("ml_dtypes", "gfloat", "numpy", "torch" if "--torch" in sys.argv else "onnx")

import gfloat  # noqa: E402
import gfloat.formats  # noqa: E402
import ml_dtypes  # noqa: E402
import numpy as np  # noqa: E402

# Ours, ml_dtypes', gfloat's, exponents of the random inputs.
FORMATS = [("e4m3", "float8_e4m3fn", "ocp_e4m3", -12, 11), ("e5m2", "float8_e5m2", "ocp_e5m2", -19, 18),
           ("f143", "float8_e4m3fnuz", "k8p4sf", -13, 10), ("f152", "float8_e5m2fnuz", "k8p3sf", -20, 18),
           ("e2m1", "float4_e2m1fn", "ocp_e2m1", -4, 5), ("e2m3", "float6_e2m3fn", "ocp_e2m3", -6, 5),
           ("e3m2", "float6_e3m2fn", "ocp_e3m2", -7, 7)]
MODES = [("nearest", "TiesToEven"), ("nearest-away", "TiesToAway"), ("zero", "TowardZero"), ("up", "TowardPositive"),
         ("down", "TowardNegative")]
VARIANTS = [("carry", "StochasticFastest"), ("half", "StochasticFast"), ("rne", "Stochastic"), ("odd", "StochasticOdd")]

NAN_SIGN = "a NaN, and what overflows to it: ml_dtypes keeps the sign, softamp's is positive"
NO_NAN = "NaN to 4 and 6 bits: -0 in ml_dtypes, the largest number in softamp (N443)"
ZERO_SCALE = "zero to e8m0: NaN in ml_dtypes, 00 in softamp, torch and ONNX (N445)"
SIGNED_SCALE = "a number below zero to e8m0: NaN in ml_dtypes, its magnitude in softamp (N445)"
INFINITE_SCALE = "an infinity to e8m0, saturating: FF in ONNX's reference, FE in softamp (N472)"
INWARD = ("what overflows under a mode that rounds inward: the largest number in gfloat, NaN under --overflow nan, which "
          "knows no direction")
NAN_CODE = "gfloat encodes a NaN as the last code, softamp as its quiet one"
INFINITY_STAYS = "infinities where finite numbers saturate: gfloat's sat takes them too, --overflow saturate leaves them"


def special(f):
    """Whether a format has infinity, NaN."""
    return f in ("e5m2",), f in ("e4m3", "e5m2", "f143", "f152")


# tests: N444
def judge_ml_dtypes(softamp, verdict, inputs_of, _):
    for ours, theirs, _, low, high in FORMATS:
        dtype = np.dtype(getattr(ml_dtypes, theirs))
        width = int(ml_dtypes.finfo(dtype).bits)
        codes = np.arange(1 << width, dtype=np.uint8)
        values = softamp.round(codes, ["--format", ours, "--dequantize"])
        verdict.compare(f"codes of {ours}", codes, packages.bits(values), packages.bits(codes.view(dtype).astype(np.float32)))
        x = inputs_of(low, high)
        with np.errstate(all="ignore"):
            expected = x.astype(dtype).view(np.uint8)
        mask = (1 << width) - 1
        expected = expected & mask
        infinity, nan = special(ours)
        known = []
        if nan:
            quiet = {"e4m3": 0x7F, "e5m2": 0x7E}.get(ours, 0x80)
            known = [(NAN_SIGN, np.isnan(expected.view(dtype).astype(np.float32)), quiet)]
            verdict.expect(NAN_SIGN)
        else:
            known = [(NO_NAN, np.isnan(x), mask >> 1)]
            verdict.expect(NO_NAN)
        verdict.compare(f"{ours} of ml_dtypes", x, softamp.round(x, ["--format", ours]), expected, known)
        if nan:
            verdict.compare(f"{ours} --cast ml_dtypes", x, softamp.round(x, ["--format", ours, "--cast", "ml_dtypes"]), expected)
    e8m0 = np.dtype(ml_dtypes.float8_e8m0fnu)
    codes = np.arange(256, dtype=np.uint8)
    values = softamp.round(codes, ["--format", "e8m0", "--dequantize"])
    verdict.compare("codes of e8m0", codes, packages.bits(values), packages.bits(codes.view(e8m0).astype(np.float32)))
    x = inputs_of(-140, 127)
    with np.errstate(all="ignore"):
        expected = x.astype(e8m0).view(np.uint8)
        magnitude = np.abs(x).astype(e8m0).view(np.uint8)
    number = ~np.isnan(x)
    verdict.compare("e8m0 of ml_dtypes", x, softamp.round(x, ["--format", "e8m0", "--rounding", "nearest-away"]), expected,
                    [(SIGNED_SCALE, number & (x < 0), magnitude), (ZERO_SCALE, x == 0, 0)])
    verdict.expect(SIGNED_SCALE, ZERO_SCALE)


def gfloat_format(name):
    if name[0] == "k":
        return gfloat.formats.format_info_p3109(8, int(name[3]), gfloat.types.Signedness.Signed, gfloat.types.Domain.Finite)
    return getattr(gfloat.formats, "format_info_" + name)


# tests: N473
def judge_gfloat(softamp, verdict, inputs_of, slice_):
    g = np.random.default_rng(11)
    for ours, _, theirs, low, high in FORMATS:
        f = gfloat_format(theirs)
        codes = np.arange(1 << f.k, dtype=np.uint8)
        values = softamp.round(codes, ["--format", ours, "--dequantize"])
        with np.errstate(all="ignore"):
            decoded = gfloat.decode_ndarray(f, codes.astype(np.int64)).astype(np.float32)
        verdict.compare(f"codes of {ours}", codes, packages.bits(values), packages.bits(decoded))
        infinity, nan = special(ours)
        x = inputs_of(low, high)
        if not nan:
            x = x[~np.isnan(x)]
        for saturate in (True, False) if nan else (True,):
            options = ["--format", ours, "--overflow", "saturate" if saturate else "infinity" if infinity else "nan"]
            for word, mode in MODES:
                expected = gfloat.encode_ndarray(f, gfloat.round_ndarray(
                    f, x.astype(np.float64), gfloat.RoundMode[mode], sat=saturate)).astype(np.uint8)
                judge(verdict, f"{ours} {word} {saturate}", x, softamp.round(x, [*options, "--rounding", word]), expected, f,
                      saturate, nan, word)
            for word, mode in VARIANTS:
                for count in (1, 8, 13, 24):
                    r = g.integers(0, 1 << count, x.size, dtype=np.uint64).astype(np.uint32)
                    if not slice_.takes():
                        continue
                    rounded = gfloat.round_ndarray(f, x.astype(np.float64), gfloat.RoundMode[mode], sat=saturate,
                                                   srbits=r.astype(np.int64), srnumbits=count)
                    expected = gfloat.encode_ndarray(f, rounded).astype(np.uint8)
                    got = softamp.round(x, [*options, "--rounding", "stochastic", "--variant", word, "--bits", str(count)], r)
                    judge(verdict, f"{ours} {word} of {count} bits {saturate}", x, got, expected, f, saturate, nan)


def judge(verdict, what, x, got, expected, f, saturate, nan, word="stochastic"):
    """gfloat has one code for NaN; it lets infinities saturate, and other modes round inward at the end of the range."""
    known = []
    if nan:
        quiet = {"ocp_e4m3": 0x7F, "ocp_e5m2": 0x7E}.get(f.name, 0x80)
        is_nan = np.isnan(gfloat.decode_ndarray(f, expected.astype(np.int64)))
        known = [(NAN_CODE, is_nan, quiet)]
        if not saturate and f.name != "ocp_e5m2":
            inward = {"zero": x != 0, "up": x < 0, "down": x > 0}.get(word, False)
            known.append((INWARD, inward & np.isfinite(x) & (np.abs(x) >= first_beyond(f)), quiet))
        if saturate:
            signed = np.where(x < 0, 0x80, 0) | 0x7C
            known.append((INFINITY_STAYS, np.isinf(x), signed if f.name == "ocp_e5m2" else quiet))
    verdict.compare(f"{what} of gfloat", x, got, expected, known)


def first_beyond(f):
    """The least magnitude that overflows under a mode that rounds inward: the first number that the format lacks."""
    return 2 * float(f.max) - float(gfloat.decode_ndarray(f, np.array([f.code_of_max - 1]))[0])


# tests: N444
def judge_onnx(softamp, verdict, inputs_of, _):
    """Cast with both values of saturate to 8 bits; scales, of which infinities are FF there under saturate, too."""
    import onnx
    from onnx.reference import ReferenceEvaluator
    types = {"e4m3": "FLOAT8E4M3FN", "e5m2": "FLOAT8E5M2", "f143": "FLOAT8E4M3FNUZ", "f152": "FLOAT8E5M2FNUZ"}
    for ours, _, _, low, high in FORMATS[:4]:
        x = inputs_of(low, high)
        for saturate in (0, 1):
            to = getattr(onnx.TensorProto, types[ours])
            node = onnx.helper.make_node("Cast", ["x"], ["y"], to=to, saturate=saturate)
            ports = [onnx.helper.make_tensor_value_info(name, t, [x.size]) for name, t in (("x", onnx.TensorProto.FLOAT), ("y", to))]
            model = onnx.helper.make_model(onnx.helper.make_graph([node], "g", ports[:1], ports[1:]),
                                           opset_imports=[onnx.helper.make_opsetid("", 24)])
            expected = np.asarray(ReferenceEvaluator(model).run(None, {"x": x})[0]).view(np.uint8)
            cast = "onnx_saturate" if saturate else "onnx"
            verdict.compare(f"{ours} --cast {cast}", x, softamp.round(x, ["--format", ours, "--cast", cast]), expected)
    x = inputs_of(-140, 128)
    for saturate in (False, True):
        for mode, theirs in (("nearest-away", "nearest"), ("down", "down")):
            expected = onnx.numpy_helper.to_float8e8m0(x, saturate=saturate, round_mode=theirs).view(np.uint8)
            options = ["--format", "e8m0", "--rounding", mode, "--overflow", "saturate" if saturate else "nan"]
            known = [(INFINITE_SCALE, np.isinf(x), 0xFE)] if saturate else []
            verdict.compare(f"e8m0 {mode} {saturate} of ONNX", x, softamp.round(x, options), expected, known)
    verdict.expect(INFINITE_SCALE)


def judge_torch(softamp, verdict, inputs_of, _):
    """Only numbers within the range: what becomes of the others differs between versions of PyTorch."""
    import torch
    for ours, theirs, _, low, high in FORMATS[:4]:
        dtype = getattr(torch, theirs)
        x = inputs_of(low, high)
        largest = float(torch.finfo(dtype).max)
        x = x[np.abs(x) <= largest]
        expected = torch.from_numpy(x.copy()).to(dtype).view(torch.uint8).numpy()
        verdict.compare(f"{ours} of PyTorch", x, softamp.round(x, ["--format", ours]), expected)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("softamp")
    parser.add_argument("--count", type=int, default=20000)
    parser.add_argument("--parts", type=int, default=1)
    parser.add_argument("--torch", action="store_true")
    arguments = parser.parse_args()
    softamp, verdict, slice_ = packages.Softamp(arguments.softamp), packages.Verdict(), packages.Slice(arguments.parts)

    def inputs_of(low, high):
        return np.concatenate([packages.all_halves(), packages.random_singles(arguments.count, 5, low, high)])

    with np.errstate(invalid="ignore"):
        for judge in (judge_torch,) if arguments.torch else (judge_ml_dtypes, judge_gfloat, judge_onnx):
            judge(softamp, verdict, inputs_of, slice_)
    verdict.end()


if __name__ == "__main__":
    main()
