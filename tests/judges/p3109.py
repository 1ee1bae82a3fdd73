#!/usr/bin/env python3
"""p3109.py SOFTAMP [--count N] [--every N]: the formats of P3109 with 3 to 15 bits against gfloat.

Of each format with any precision, signed and unsigned, with and without infinities: all codes to values; all float16
and N random float32 to codes, in every rounding mode that gfloat has, under the saturations finite, none and propagate; of those above 8 bits
an eleventh of all that, and no values where float32 lacks them.
--every: only every so many conversions (a number without 2 and 3, so that it meets all) and the codes of a quarter of the formats,
which ones by SOFTAMP_SLICE. gfloat does not say what becomes of numbers below an unsigned
range; that is derived here from the signed format of the same values. Exit codes as in elements.py.
"""
import argparse
import os
import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
import packages  # noqa: E402

if __name__ == "__main__":
    packages.find("gfloat", "numpy")

import gfloat  # noqa: E402
import gfloat.formats  # noqa: E402
import numpy as np  # noqa: E402
from gfloat.types import Domain, Signedness  # noqa: E402

MODES = [("nearest", "TiesToEven"), ("nearest-away", "TiesToAway"), ("zero", "TowardZero"), ("up", "TowardPositive"),
         ("down", "TowardNegative"), ("carry", "StochasticFastest"), ("half", "StochasticFast"), ("rne", "Stochastic")]
# tests: N473
FINITE_OVERFLOW = "beyond a format without infinities, saturation none: NaN in gfloat, the last number in P3109 (N464)"


def formats():
    for k in range(3, 16):
        for signed in (True, False):
            for p in range(1, k + (0 if signed else 1)):
                for extended in (True, False):
                    name = f"Binary{k}p{p}{'s' if signed else 'u'}{'e' if extended else 'f'}"
                    yield name, k, p, signed, extended


def format_info(k, p, signed, extended):
    return gfloat.formats.format_info_p3109(k, p, Signedness.Signed if signed else Signedness.Unsigned,
                                            Domain.Extended if extended else Domain.Finite)


def within_float32(f):
    return f.bias + f.precision - 2 <= 149 and greatest(f) < 2.0**128


def greatest(f):
    """The largest number, by its code: gfloat's own property refuses the smallest formats."""
    return float(gfloat.decode_ndarray(f, np.array([f.code_of_max]))[0])


def rounded(f, x, mode, sat, r, count):
    return gfloat.round_ndarray(f, x.astype(np.float64), gfloat.RoundMode[mode], sat=sat, srbits=r, srnumbits=count)


def expected(f, k, p, signed, extended, x, mode, saturation, r, count):
    """Values, and where gfloat's differ by a known rule."""
    sat = saturation != "none"
    v = rounded(f, x, mode, sat, r, count)
    most = greatest(f)
    if saturation == "propagate" and extended:
        v = np.where(np.isinf(x), x, v)
    lost = np.zeros(x.shape, bool)
    if saturation == "none" and not extended:
        lost = ~np.isnan(x) & np.isnan(v)
        v = np.where(lost, np.copysign(most, x.astype(np.float64)), v)
    if not signed:
        wide = format_info(k + 1, p, True, extended)  # the same magnitudes, with a sign
        below = np.where(x < 0, rounded(wide, np.where(x < 0, x, 0), mode, True, r, count), 0)
        v = np.where(x < 0, np.where((below == 0) | sat, 0.0, np.nan), v)
        lost &= x >= 0
    return v, lost


def codes_of(f, v):
    codes = gfloat.encode_ndarray(f, np.where(np.isnan(v), 0.0, v))
    return np.where(np.isnan(v), f.code_of_nan, codes).astype(np.uint8 if f.k <= 8 else np.uint16)


def judge_codes(softamp, verdict, name, f):
    codes = np.arange(1 << f.k, dtype=np.uint8 if f.k <= 8 else np.uint16)
    values = softamp.round(codes, ["--format", name, "--dequantize"])
    with np.errstate(all="ignore"):
        decoded = gfloat.decode_ndarray(f, codes.astype(np.int64)).astype(np.float32)
    verdict.compare(f"codes of {name}", codes, packages.bits(values), packages.bits(decoded))


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("softamp")
    parser.add_argument("--count", type=int, default=20000)
    parser.add_argument("--every", type=int, default=1)
    arguments = parser.parse_args()
    softamp, verdict = packages.Softamp(arguments.softamp), packages.Verdict()
    g = np.random.default_rng(17)
    if arguments.every == 1:
        verdict.expect(FINITE_OVERFLOW)
    slice_ = int(os.environ.get("SOFTAMP_SLICE") or 0)
    if arguments.every > 1:
        print(f"SOFTAMP_SLICE={slice_}: conversions {slice_ % arguments.every} of every {arguments.every}")
    turn = 0
    for number, (name, k, p, signed, extended) in enumerate(formats()):
        f = format_info(k, p, signed, extended)
        if not within_float32(f) and f.bias > 1000:
            continue  # beyond float64, in which gfloat computes
        if within_float32(f) and (arguments.every == 1 or (number + slice_) % 4 == 0):
            judge_codes(softamp, verdict, name, f)
        span = max(2, min(130, f.bias + p + 1))
        x = np.concatenate([packages.all_halves(), packages.random_singles(arguments.count, turn, -span, span)])
        if arguments.every > 1:
            x = x[turn % 7::7]
        for word, mode in MODES:
            for saturation in ("none", "finite", "propagate"):
                turn += 1
                if (turn + slice_) % (arguments.every * (1 if k <= 8 else 11)):
                    continue
                count = (1, 5, 8, 13, 24)[turn % 5]
                r = g.integers(0, 1 << count, x.size, dtype=np.uint64).astype(np.uint32)
                stochastic = "Stochastic" in mode
                options = ["--format", name, "--saturation", saturation]
                options += ["--rounding", "stochastic", "--variant", word, "--bits", str(count)] if stochastic else [
                    "--rounding", word]
                with np.errstate(all="ignore"):
                    v, lost = expected(f, k, p, signed, extended, x, mode, saturation, r.astype(np.int64), count)
                    theirs = codes_of(f, v)
                if lost.any():
                    verdict.known[FINITE_OVERFLOW] = verdict.known.get(FINITE_OVERFLOW, 0) + int(lost.sum())
                got = softamp.round(x, options, r if stochastic else None)
                verdict.compare(f"{name} {word} {saturation} ({count} bits)", x, got, theirs)
    verdict.end()


if __name__ == "__main__":
    main()
