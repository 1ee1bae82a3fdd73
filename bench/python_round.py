#!/usr/bin/env python3
"""Rounding of arrays from Python: softamp beside its own C++ call, NumPy, ml_dtypes, gfloat and pychop, in one run.

    PYTHONPATH=build/python python3 bench/python_round.py [--count 10000000] [--repeats 7] [--markdown]

Every figure is a median over the repeats, in which all calls are measured in turn, so that a busy neighbour slows all of
them. What is not installed is left out, with a line.
"""

import argparse
import importlib
import statistics
import sys
import time

import numpy as np
import softamp
from softamp import _softamp

NEAREST = (None,) * 7
STOCHASTIC = ("stochastic", 13, None, None, None, None, None)


def optional(name):
    try:
        return importlib.import_module(name)
    except ImportError as error:
        print(f"{name} is left out: {error}", file=sys.stderr)
        return None


def seconds(call):
    begun = time.perf_counter()
    call()
    return time.perf_counter() - begun


def rows_of(x, slow_count):
    """(name, elements, function that returns seconds)."""
    codes = np.empty(x.size, np.uint16)
    where = (0, 0, 0, 0, None, 0)
    few = x[:slow_count]
    rows = []

    def add(name, call, elements=x.size):
        rows.append((name, elements, lambda: seconds(call)))

    for title, how, options in (("nearest", NEAREST, {}), ("stochastic, 13 bits", STOCHASTIC, {"rounding": "stochastic"})):
        rows.append(
            (f"C++ bulk::round, fp16, {title}", x.size, lambda how=how: _softamp.seconds_of_bulk_round(x, codes, "fp16", how, where))
        )
        add(f"softamp.round into out, fp16, {title}", lambda options=options: softamp.round(x, "fp16", out=codes, **options))
        add(f"softamp.round, fp16, {title}", lambda options=options: softamp.round(x, "fp16", **options))
        add(f"softamp.round, e4m3, {title}", lambda options=options: softamp.round(x, "e4m3", **options))
    add("numpy astype(float16)", lambda: x.astype(np.float16))
    if ml_dtypes := optional("ml_dtypes"):
        add("ml_dtypes astype(bfloat16)", lambda: x.astype(ml_dtypes.bfloat16))
        add("ml_dtypes astype(float8_e4m3fn)", lambda: x.astype(ml_dtypes.float8_e4m3fn))
    add("softamp.round, bf16, nearest", lambda: softamp.round(x, "bf16"))
    if gfloat := optional("gfloat"):
        half = importlib.import_module("gfloat.formats").format_info_binary16
        add("gfloat.round_ndarray, fp16, nearest", lambda: gfloat.round_ndarray(half, few.astype(np.float64)), few.size)
        bits = np.random.default_rng(0).integers(0, 2**13, few.size)
        add(
            "gfloat.round_ndarray, fp16, stochastic, 13 bits",
            lambda: gfloat.round_ndarray(
                half, few.astype(np.float64), rnd=gfloat.RoundMode.StochasticFastest, srbits=bits, srnumbits=13
            ),
            few.size,
        )
    if pychop := optional("pychop"):
        for title, mode in (("nearest", 1), ("stochastic", 5)):
            chop = pychop.Chop(5, 10, rmode=mode)
            add(f"pychop.Chop(5, 10), {title}", lambda chop=chop: chop(few), few.size)
    return rows


def call_overhead():
    """Microseconds of a call with one element, the least of many."""
    x, out = np.float32([0.1]), np.empty(1, np.uint16)

    def least(call):
        return min(seconds(lambda: [call() for _ in range(1000)]) for _ in range(200)) * 1e3

    return {
        "softamp.round(x, 'fp16')": least(lambda: softamp.round(x, "fp16")),
        "softamp.round(x, 'fp16', out=out)": least(lambda: softamp.round(x, "fp16", out=out)),
        "softamp.round(x, 'fp16', rounding='stochastic', seed=1)": least(
            lambda: softamp.round(x, "fp16", rounding="stochastic", seed=1)
        ),
        "softamp.round(x, 'e4m3')": least(lambda: softamp.round(x, "e4m3")),
        "x.astype(numpy.float16)": least(lambda: x.astype(np.float16)),
    }


def main():
    arguments = argparse.ArgumentParser()
    arguments.add_argument("--count", type=int, default=10_000_000)
    arguments.add_argument("--slow-count", type=int, default=1_000_000, help="of what is written in Python")
    arguments.add_argument("--repeats", type=int, default=7)
    arguments.add_argument("--markdown", action="store_true")
    o = arguments.parse_args()
    x = np.random.default_rng(0).standard_normal(o.count).astype(np.float32)
    rows = rows_of(x, o.slow_count)
    times = {name: [] for name, _, _ in rows}
    for repeat in range(o.repeats + 1):
        for name, _, measure in rows:
            taken = measure()
            if repeat > 0:  # the first warms up
                times[name].append(taken)
    row = "| {} | {} | {} |" if o.markdown else "{:60} {:>12} {:>12}"
    print(row.format("call", "M elements/s", "ms"))
    if o.markdown:
        print("|---|---|---|")
    for name, elements, _ in rows:
        middle = statistics.median(times[name])
        print(row.format(name, f"{elements / middle / 1e6:.1f}", f"{middle * 1e3:.2f}"))
    print()
    for title in ("nearest", "stochastic, 13 bits"):
        ratios = [
            ours / theirs
            for ours, theirs in zip(times[f"softamp.round into out, fp16, {title}"], times[f"C++ bulk::round, fp16, {title}"])
        ]
        print(f"softamp.round into out, of the C++ call, {title}: {statistics.median(ratios):.3f} of its time (median of ratios)")
    for name, microseconds in call_overhead().items():
        print(f"{name}, one element: {microseconds:.2f} us")


if __name__ == "__main__":
    main()
