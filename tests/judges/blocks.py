#!/usr/bin/env python3
"""blocks.py SOFTAMP [--blocks N] [--parts N]: N blocks of each format of blocks against models from the definitions
(block_models.py) and against gfloat's elements.

Every MX format with every scale rule and rounding mode, stochastic ones by Philox of its own; NVFP4 by its three rules,
1x16 and 16x16; FP8 with scales of fp32 by its three rules, by blocks, rows and tensors. Codes, scales and values are
compared, packed codes and the way back from files, too. --parts: one part of so many, by SOFTAMP_SLICE. Exit codes as in
elements.py.
"""
import argparse
import json
import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
import packages  # noqa: E402

if __name__ == "__main__":
    packages.find("gfloat", "numpy")

import block_models as models  # noqa: E402
import gfloat  # noqa: E402
import gfloat.formats  # noqa: E402
import numpy as np  # noqa: E402

PIECE = 1 << 17  # blocks in a file
RULES = ("floor", "ceil", "even", "rceil", "microxcaling")
INT8_LEAST = "gfloat's INT8 goes down to -2, softamp's to -127/64 (N446)"


def blocks_of(count, n, seed, extremes=True):
    """Magnitudes around one power of two a block, with ties, zeros, powers of two and their neighbours; some blocks of
    subnormals, of the largest numbers, and some with an infinity or a NaN."""
    g = np.random.default_rng(seed)
    center = g.integers(-20, 20, (count, 1)).astype(np.float64)
    wide = g.random((count, 1)) < 0.1
    center = np.where(wide, g.integers(-148, 126, (count, 1)), center)
    x = g.standard_normal((count, n)) * 2.0**center
    with np.errstate(all="ignore"):
        x = x.astype(np.float32)
    few = x.view(np.uint32) & g.choice(np.array([0xFFE00000, 0xFFF00000, 0xFFF80000, 0xFFFC0000], np.uint32), x.shape)
    x = np.where(g.random((count, n)) < 0.3, few, x.view(np.uint32)).view(np.float32)
    x = np.where(g.random((count, n)) < 0.05, np.float32(0), x)
    x = np.where(g.random((count, n)) < 0.02, np.float32(-0.0), x)
    top = (g.random(count) < 0.3)
    corner = (2.0 ** center[:, 0] * g.choice([1, 1.75, 1.875, 1.9375, 1.5, -1.998, 1.25], count)).astype(np.float32)
    step = g.integers(-1, 2, count).astype(np.int32)
    x[top, 0] = (corner.view(np.int32) + step).view(np.float32)[top]
    x[:8] = 0
    if extremes and count >= 64:
        x[8, 3], x[9, 0], x[10, n - 1] = np.inf, np.nan, -np.inf
        x[11], x[12, 1], x[13] = 2.0**-149, np.finfo(np.float32).max, -(2.0**-126)
    return x


def compare_all(verdict, what, x, got, expected):
    codes, scales, values = expected
    verdict.compare(f"{what}: codes", x, got[0], codes.reshape(got[0].shape))
    verdict.compare(f"{what}: scales", np.asarray(scales), packages.bits(got[1]) if got[1].dtype == np.float32 else got[1],
                    packages.bits(scales).reshape(got[1].shape) if got[1].dtype == np.float32
                    else np.asarray(scales).reshape(got[1].shape))
    verdict.compare(f"{what}: values", x, packages.bits(got[2]), packages.bits(values).reshape(got[2].shape))


def ours(softamp, x, options, extra=()):
    """codes, scales and the values of --values, which have to be those that come back from the files."""
    codes, scales = softamp.round(x, [*options, "--json"], results=("out", "scales"))
    report = json.loads(softamp.output)
    values = softamp.round(x, [*options, "--values"])
    amax = ["--amax", report["tensor"]["amax_code"]] if "tensor" in report else []
    back = softamp.round(codes, [*options[:2], *amax, "--dequantize", *extra], scales=scales)
    if not np.array_equal(packages.bits(back), packages.bits(values)):
        sys.exit(f"{options}: --dequantize and --values differ")
    return codes, scales, values


# tests: N473
def judge_mx(softamp, verdict, slice_, count, first):
    for name, e in models.ELEMENTS.items():
        x = blocks_of(count, 32, first + e.top)
        for rule in RULES:
            for rounding in ("nearest", "nearest-away", "zero", "up", "down", "stochastic"):
                if rule not in ("floor", "rceil") and rounding not in ("nearest", "nearest-away"):
                    continue
                text, random, r = f"{name}:scale_rule={rule},rounding={rounding}", None, 8
                if rule == "microxcaling" and rounding != "nearest-away":
                    continue
                if first > 0 and rule != "microxcaling" and rounding not in ("nearest", "stochastic"):
                    continue  # one piece of a million has every mode
                if not slice_.takes():
                    continue
                options = ["--format", text]
                if rounding == "stochastic":
                    r = 8 if rule == "floor" else 20
                    random = models.philox_bits(7, 3, np.arange(x.size, dtype=np.uint64), r).reshape(x.shape)
                    options = ["--format", text + f",bits={r}", "--seed", "7", "--step", "3"]
                with np.errstate(all="ignore"):
                    byte, codes, values = models.mx(e, x, rule, rounding, random=random, r=r)
                got = ours(softamp, x, options)
                if rule == "microxcaling":  # its elements have no -0: softamp's rule is of the scale alone
                    zero = (got[0] & (e.sign - 1 if e.sign else 0xFF)) == 0
                    got = (np.where(zero, 0, got[0]).astype(np.uint8), got[1], np.where(got[2] == 0, np.float32(0), got[2]))
                    values = np.where(values == 0, np.float32(0), values)
                compare_all(verdict, text, x, got, (codes, byte, values))
    x = blocks_of(count, 32, first + 5)
    with np.errstate(all="ignore"):
        byte, codes, values = models.mx(models.E4M3, x, "rceil", saturating=True)
    # TransformerEngine: infinity gives FE, and the infinity itself the largest number.
    compare_all(verdict, "mxfp8, infinity saturates", x,
                ours(softamp, x, ["--format", "mxfp8:scale_rule=rceil,infinity=saturate"]), (codes, byte, values))
    r, random = 8, models.philox_bits(0, 0, np.arange(x.size, dtype=np.uint64), 8).reshape(x.shape)
    with np.errstate(all="ignore"):
        byte, codes, _ = models.mx(models.E2M1, x, "floor", "stochastic", random=random, r=r, three_quarters=True)
    got = softamp.round(x, ["--format", "mxfp4:rounding=stochastic,bits=8,three_quarters=on"], results=("out", "scales"))
    verdict.compare("mxfp4, three quarters: codes", x, got[0], codes)
    verdict.compare("mxfp4, three quarters: scales", byte, got[1].reshape(-1), byte)
    # Another axis, blocks of another size, the last one shorter.
    x = blocks_of(48, 50, first + 6)
    with np.errstate(all="ignore"):
        padded = np.zeros((50, 64), np.float32)
        padded[:, :48] = x.T
        byte, codes, values = models.mx(models.E2M1, padded.reshape(-1, 32), "rceil")
    got = ours(softamp, x, ["--format", "mxfp4:scale_rule=rceil", "--axis", "0"], extra=("--axis", "0"))
    compare_all(verdict, "mxfp4 along axis 0", x, got, (codes.reshape(50, 64)[:, :48].T, byte.reshape(50, 2).T,
                                                        values.reshape(50, 64)[:, :48].T))


def judge_packing(softamp, verdict, seed):
    for shape in ((6, 33), (4, 64), (1, 5)):
        x = blocks_of(shape[0], shape[1], seed, extremes=False)
        for name in ("mxfp4", "nvfp4"):
            codes, scales = softamp.round(x, ["--format", name], results=("out", "scales"))
            packed, same = softamp.round(x, ["--format", name, "--packed", "--json"], results=("out", "scales"))
            flat = np.append(codes.reshape(-1), np.zeros(codes.size % 2, np.uint8))
            verdict.compare(f"{name} packed {shape}", flat[::2], packed.reshape(-1), flat[::2] | flat[1::2] << 4)
            verdict.compare(f"{name} packed {shape}: scales", scales, same, scales)
            amax = ["--amax", json.loads(softamp.output)["amax_code"]] if name == "nvfp4" else []
            back = softamp.round(packed, ["--format", name, "--packed", *amax, "--shape", ",".join(map(str, shape)),
                                          "--dequantize"], scales=scales)
            verdict.compare(f"{name} unpacked {shape}", x, packages.bits(back),
                            packages.bits(softamp.round(x, ["--format", name, "--values"])))


def judge_nvfp4(softamp, verdict, slice_, count, seed):
    x = blocks_of(count, 16, seed, extremes=False).reshape(-1, 64)
    x[np.abs(x) > 1e30] = 1
    for rule in ("transformer_engine", "torchao", "one_level"):
        for name, rows in (("nvfp4", 1), ("nvfp4_16x16", 16)):
            if rows == 16 and rule != "transformer_engine":
                continue
            height = x.shape[0] // rows * rows
            for scaled in (1, 2.0**-100):  # with a tiny tensor most scales are subnormal, or 0
                if not slice_.takes():
                    continue
                y = (x[:height] * np.float32(scaled)).astype(np.float32)
                scales, codes, values, _ = models.nvfp4(y, rule, rows)
                got = ours(softamp, y, ["--format", f"{name}:scale_rule={rule}"])
                compare_all(verdict, f"{name} {rule} {scaled}", y, got, (codes, scales, values))


def judge_four_over_six(softamp, verdict, slice_, count, seed):
    x = blocks_of(count, 16, seed, extremes=False).reshape(-1, 64)
    x[np.abs(x) > 1e30] = 1
    x[:, ::16][np.abs(x[:, ::16]) < 1e-30] = 1  # no block of zeros
    for errors in ("mae", "mse"):
        for bound in (256, 448):
            if not slice_.takes():
                continue
            scales, codes, values = models.four_over_six(x, errors, bound)
            got = ours(softamp, x, ["--format", f"nvfp4:4over6={errors},e4m3_max={bound}"])
            compare_all(verdict, f"nvfp4 4over6 {errors} {bound}", x, got, (codes, scales, values))


def judge_fp8(softamp, verdict, slice_, count, seed):
    for name, e in (("e4m3", models.E4M3), ("e5m2", models.E5M2)):
        x = blocks_of(max(1, count // 4), 128, seed, extremes=False)
        for rule in ("transformer_engine", "deepseek", "deepgemm"):
            for powers in (False, True):
                if not slice_.takes():
                    continue
                text = f"scale_rule={rule},powers_of_two={'on' if powers else 'off'}"
                scales, codes, values = models.fp8(e, x, rule, powers)
                for kind in ("1x128", "row"):
                    got = ours(softamp, x, ["--format", f"{name}_{kind}:{text}"])
                    compare_all(verdict, f"{name}_{kind} {text}", x, got, (codes, scales, values))
                whole = x[:1024].reshape(1, -1)
                scales, codes, values = models.fp8(e, whole, rule, powers)
                got = ours(softamp, x[:1024], ["--format", f"{name}_tensor:{text}"])
                compare_all(verdict, f"{name}_tensor {text}", x[:1024], got, (codes, scales, values))
                tiles = x[: x.shape[0] // 128 * 128].reshape(-1, 128 * 128)
                if tiles.size:
                    scales, codes, values = models.fp8(e, tiles, rule, powers)
                    y = x[: x.shape[0] // 128 * 128]
                    got = ours(softamp, y, ["--format", f"{name}_128x128:{text}"])
                    compare_all(verdict, f"{name}_128x128 {text}", y, got, (codes, scales, values))


def judge_gfloat(softamp, verdict, slice_, count, seed):
    """gfloat's block formats: the scale of compute_scale_amax, its elements; quantize_block itself on a few blocks."""
    for f in gfloat.formats.all_block_formats:
        if not slice_.takes():
            continue
        name = "mxfp4" if f.name.startswith("mxfp4") else f.name
        e = models.ELEMENTS[name]
        x = blocks_of(count, 32, seed, extremes=False)
        x = x[np.isfinite(x).all(axis=1) & (np.abs(x).max(axis=1) > 0)]
        wide = x.astype(np.float64)
        with np.errstate(all="ignore"):
            exponent = np.clip(np.floor(np.log2(np.abs(wide).max(axis=1))) - e.emax, -127, 127)
            y = wide / 2.0 ** exponent[:, None]
            v = gfloat.round_ndarray(f.etype, y, gfloat.RoundMode.TiesToEven, sat=True)
        few = 300
        one_by_one = np.stack([gfloat.quantize_block(f, b, lambda _, vals: gfloat.compute_scale_amax(e.emax, vals))
                               for b in wide[:few]])
        known = []
        if e.integer:
            known = [(INT8_LEAST, v < -127 / 64, np.float32(-127 / 64))]
            verdict.expect(INT8_LEAST)
        got = softamp.round(x, ["--format", name, "--values"])
        for what, judge, ours_, rows in (("elements", v * 2.0 ** exponent[:, None], got, slice(None)),
                                         ("quantize_block", one_by_one, got[:few], slice(0, few))):
            theirs = judge.astype(np.float32)
            masks = [(n, m[rows], packages.bits((value * 2.0 ** exponent[rows][:, None]) * np.ones((1, 32))))
                     for n, m, value in known]
            verdict.compare(f"{name} of gfloat: {what}", x[rows], packages.bits(ours_), packages.bits(theirs), masks)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("softamp")
    parser.add_argument("--blocks", type=int, default=4000)
    parser.add_argument("--parts", type=int, default=1)
    arguments = parser.parse_args()
    softamp, verdict, slice_ = packages.Softamp(arguments.softamp), packages.Verdict(), packages.Slice(arguments.parts)
    for first in range(0, arguments.blocks, PIECE):
        count = min(PIECE, arguments.blocks - first)
        judge_mx(softamp, verdict, slice_, count, first)
        judge_nvfp4(softamp, verdict, slice_, count, first + 1)
        judge_four_over_six(softamp, verdict, slice_, count, first + 1)
        judge_fp8(softamp, verdict, slice_, count, first + 2)
        judge_gfloat(softamp, verdict, slice_, count, first + 3)
        print(f"{first + count} blocks of each format done", flush=True)
    judge_packing(softamp, verdict, 4)
    verdict.end()


if __name__ == "__main__":
    main()
