#!/usr/bin/env python3
"""tensor_cores.py SOFTAMP [--count N] [--matrix-cores PROGRAM]: the models of tensor cores against MMA-Sim and mmaemu.

Every instruction that these model, and N cases of three kinds each: ordinary ones, cancelling ones, and such as come
near the floor of the exponents, many of them with zeros. Exit code 1: a difference that docs/CHIPS.md does not name.
77: no Python with the packages was found.
"""
import argparse
import json
import pathlib
import subprocess
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
import packages  # noqa: E402

if __name__ == "__main__":
    packages.find("mmasim", "mmaemu", "ml_dtypes", "torch", "numpy")

import mmaemu.model.chain  # noqa: E402
import mmasim.amd as amd  # noqa: E402
import mmasim.nv_ptx as mmasim  # noqa: E402
import ml_dtypes  # noqa: E402
import numpy as np  # noqa: E402
import torch  # noqa: E402

# Our accumulator; operands; fp16 results; products of an instruction; MMA-Sim's class, architecture and instruction.
INSTRUCTIONS = [
    ("tensorcore_volta", "fp16", False, 4, "MMA", "Volta", "m8n8k4.f32.f16.f16.f32"),
    ("tensorcore_volta", "fp16", True, 4, "MMA", "Volta", "m8n8k4.f16.f16.f16.f16"),
    ("tensorcore_turing", "fp16", False, 8, "MMA", "Turing", "m16n8k8.f32.f16.f16.f32"),
    ("tensorcore_turing", "fp16", True, 8, "MMA", "Turing", "m16n8k8.f16.f16.f16.f16"),
]
for ours, theirs in (("ampere", "Ampere"), ("ada", "Ada Lovelace"), ("hopper", "Hopper"), ("blackwell", "Blackwell")):
    INSTRUCTIONS += [
        ("tensorcore_" + ours, "fp16", False, 16, "MMA", theirs, "m16n8k16.f32.f16.f16.f32"),
        ("tensorcore_" + ours, "fp16", True, 16, "MMA", theirs, "m16n8k16.f16.f16.f16.f16"),
        ("tensorcore_" + ours, "bf16", False, 16, "MMA", theirs, "m16n8k16.f32.bf16.bf16.f32"),
        ("tensorcore_" + ours, "own", False, 8, "MMA", theirs, "m16n8k8.f32.tf32.tf32.f32"),
    ]
for format in ("e4m3", "e5m2"):
    for halves in (False, True):
        d = "f16" if halves else "f32"
        INSTRUCTIONS += [
            ("tensorcore_ada", format, halves, 32, "MMA", "Ada Lovelace", f"m16n8k32.{d}.{format}.{format}.{d}"),
            ("tensorcore_hopper", format, halves, 32, "WGMMA", "Hopper", f"m64n8k32.{d}.{format}.{format}"),
            ("tensorcore_blackwell", format, halves, 32, "TCGen05MMA", "Blackwell",
             f"m64n8k32.kind::f8f6f4.{d}.{format}.{format}"),
        ]
# Blackwell's block-scaled instructions with scales of ue8m0: elements, bits of an element's container, the exponent of
# the greatest one, products of an instruction, MMA-Sim's name.
SCALED = [(element, bits, emax, 32, f"m16n8k32.kind::mxf8f6f4.block32.f32.{element}.{element}.f32.ue8m0")
          for element, bits, emax in (("e4m3", 8, 8), ("e5m2", 8, 15), ("e2m3", 6, 2), ("e3m2", 6, 4))]  # fmt: skip
SCALED += [("e2m1", 4, 2, 64, "m16n8k64.kind::mxf4.block32.f32.e2m1.e2m1.f32.ue8m0")]
# Ours, mmaemu's.
PRESETS = [("tensorcore_ada", "ada"), ("tensorcore_hopper", "hopper"), ("tensorcore_blackwell_mma", "b200_mma_sync")]

TYPES = {"fp16": (np.float16, torch.float16, -14), "bf16": (ml_dtypes.bfloat16, torch.bfloat16, -126),
         "own": (np.float32, torch.float32, -126), "e4m3": (ml_dtypes.float8_e4m3fn, torch.float8_e4m3fn, -6),
         "e5m2": (ml_dtypes.float8_e5m2, torch.float8_e5m2, -14)}  # fmt: skip
ONE_GROUP = "8 bits by mma.sync: 32 products are one group in mmaemu 0.1.0, two of 16 in softamp (N477)"


def cases(random, count, k, operand, halves, kind):
    """Operands and accumulators, float32 numbers of their formats."""
    dtype, _, least = TYPES[operand]
    top = 8 if least >= -14 else 60
    low = {"ordinary": -5, "cancelling": -3, "tiny": least - 3}[kind]
    high = {"ordinary": 5, "cancelling": 3, "tiny": -60 if least < -14 else min(top, least + 5)}[kind]

    def numbers(shape, low, high):
        return np.where(random.random(shape) < 0.5, -1, 1) * np.ldexp(1 + random.random(shape), random.integers(low, high, shape))

    a, b = numbers((count, k), low, high), numbers((count, k), low, high)
    if kind == "tiny" and least < -14:  # products, not factors, near 2^-133
        a, b = numbers((count, k), -72, -62), numbers((count, k), -72, -62)
    if kind == "cancelling":
        a[:, 1::2], b[:, 1::2] = -a[:, ::2], b[:, ::2] * (1 + np.ldexp(random.integers(-2, 3, b[:, ::2].shape), -8))
    c = numbers(count, 2 * low, 2 * high)
    if kind == "tiny":
        for x in (a, b, c):
            x[random.random(x.shape) < 0.5] = 0
    with np.errstate(all="ignore"):
        a, b = (x.astype(np.float32).astype(dtype).astype(np.float32) for x in (a, b))
        c = c.astype(np.float32)
        if halves:
            c = c.astype(np.float16).astype(np.float32)
    return a, b, c


class Products:
    """`softamp run` of many products of a row and a column; without an accumulator by Blackwell's block-scaled instructions,
    of operands that a format of blocks has."""

    def __init__(self, program):
        self.program, self.softamp = program, packages.Softamp(program)

    def run(self, a, b, c, accumulator, operand, halves):
        count, k = a.shape
        shapes = {"a": (count, 1, k), "b": (count, k, 1), "c": (count, 1, 1)}
        nodes = [{"name": n, "op": "Placeholder", "attributes": {"dtype": "float32", "shape": list(s)}} for n, s in shapes.items()]
        node = {"name": "z", "op": "BatchMatMulV2", "inputs": list(shapes)}
        if accumulator is None:
            formats = {"a_format": operand, "b_format": operand, "accumulation": "blackwell"}
            node = {"name": "z", "op": "ScaledMatMul", "inputs": list(shapes), "attributes": formats}
        nodes.append(node)
        place = self.softamp.place
        pathlib.Path(place("g.json")).write_text(json.dumps({"softamp_graph": 1, "nodes": nodes, "outputs": ["z"]}))
        command = [self.program, "run", place("g.json"), "--out", place(""), "--quiet"]
        if accumulator is not None:
            command += ["--accumulator", accumulator]
            command += [] if operand == "own" else ["--tensor-core-operands", operand]
        command += ["--partials", "half"] if halves else []
        for name, x in (("a", a), ("b", b), ("c", c)):
            np.save(place(name + ".npy"), np.ascontiguousarray(x.reshape(shapes[name])))
            command += ["--feed", f"{name}={place(name + '.npy')}"]
        done = subprocess.run(command, capture_output=True, text=True)
        if done.returncode != 0:
            sys.exit(f"{' '.join(command)}: exit code {done.returncode}\n{done.stderr}")
        return np.load(place("z.npy")).reshape(count)


def blocks(random, count, k, element, bits, emax, kind):
    """Codes of elements, the numbers that they stand for, and bytes of scales. Each block has an element of the greatest
    exponent, so that quantising the numbers gives codes and scales back."""
    dtype = np.dtype(getattr(ml_dtypes, {"e4m3": "float8_e4m3fn", "e5m2": "float8_e5m2"}.get(element, f"float{bits}_{element}fn")))
    values = np.arange(1 << bits, dtype=np.uint8).view(dtype).astype(np.float64)
    codes = random.choice(np.flatnonzero(np.isfinite(values)), (count, k // 32, 32))
    top = np.flatnonzero(np.isfinite(values) & (np.abs(values) >= 2.0**emax))
    low, high = {"ordinary": (-6, 7), "cancelling": (-2, 3), "tiny": (-75, -60)}[kind]
    exponents = random.integers(low, high, (count, k // 32))
    if kind == "tiny":  # halves of blocks, and whole ones but for an element, are zero
        for half in (slice(0, 16), slice(16, 32)):
            codes[:, :, half][random.random((count, k // 32)) < 0.5] = 0
    place = random.integers(0, 32, (count, k // 32))
    np.put_along_axis(codes, place[..., None], random.choice(top, (count, k // 32))[..., None], 2)
    scales = (exponents + 127).astype(np.uint8)
    numbers = values[codes] * np.ldexp(1.0, exponents)[..., None]
    return codes.reshape(count, k).astype(np.uint8), numbers.reshape(count, k).astype(np.float32), scales


def nvfp4_blocks(random, count, k, kind):
    """The same of e2m1 in blocks of 16 with scales of ue4m3: each block has a 6, and one the greatest scale, 448, so that the
    scale of the whole array is 1. Of the tiny kind half of the blocks are zero, scales too."""
    dtype = np.dtype(ml_dtypes.float4_e2m1fn)
    values = np.arange(16, dtype=np.uint8).view(dtype).astype(np.float64)
    codes = random.choice(16, (count, k // 16, 16)).astype(np.uint8)
    low, high = {"ordinary": (40, 80), "cancelling": (0x38, 0x39), "tiny": (1, 16)}[kind]
    scales = random.integers(low, high, (count, k // 16)).astype(np.uint8)
    scales[0, 0] = 0x7E
    if kind == "cancelling":
        codes[:, 1::2] = codes[:, ::2] ^ 8
    place = random.integers(0, 16, (count, k // 16))
    np.put_along_axis(codes, place[..., None], random.choice([7, 15], (count, k // 16))[..., None].astype(np.uint8), 2)
    if kind == "tiny":
        zero = random.random((count, k // 16)) < 0.5
        zero[0, 0] = False
        codes[zero], scales[zero] = 0, 0
    numbers = values[codes] * scales.view(ml_dtypes.float8_e4m3fn).astype(np.float64)[..., None]
    return codes.reshape(count, k), numbers.reshape(count, k).astype(np.float32), scales


def as_operand(codes, element, bits):
    """Codes as MMA-Sim takes them: 6 bits in a byte each, two of 4 bits in a byte, the first in its high half."""
    if bits == 8:
        return torch.from_numpy(codes).view(TYPES[element][1])
    return torch.from_numpy(codes if bits == 6 else (codes[:, ::2] << 4 | codes[:, 1::2]).astype(np.uint8))


def judge_scaled(products, verdict, count):
    random = np.random.default_rng(2027)
    for element, bits, emax, k, name in SCALED:
        theirs = mmasim.MMABlockScale("RTX Blackwell", name)
        for kind in ("ordinary", "cancelling", "tiny"):
            (codes_a, a, scales_a), (codes_b, b, scales_b) = (blocks(random, count, k, element, bits, emax, kind) for _ in "ab")
            if kind == "tiny" and bits == 4:  # large scales beside products that are all zero
                a, codes_a = a.copy(), codes_a.copy()
                a[:, :16], codes_a[:, :16] = 0, 0
                a[:, 16], codes_a[:, 16] = 6 * np.ldexp(1.0, scales_a[:, 0].astype(int) - 127), 7
            c = np.where(random.random(count) < 0.5, 0, random.standard_normal(count) * 2.0 ** (-130 if kind == "tiny" else 0))
            c = c.astype(np.float32)
            ours = products.run(a, b, c, None, {8: "mxfp8_", 6: "mxfp6_", 4: "mxfp4_"}[bits] + element, False)
            scale = [torch.from_numpy(s).view(torch.float8_e8m0fnu) for s in (scales_a, scales_b)]
            expected = theirs.dpa(as_operand(codes_a, element, bits), as_operand(codes_b, element, bits), torch.from_numpy(c), *scale)
            verdict.compare(f"blackwell {name} {kind}", np.arange(count), packages.bits(ours), packages.bits(expected.numpy()))


def judge_nvfp4(products, verdict, count):
    random = np.random.default_rng(2028)
    name = "m16n8k64.kind::mxf4nvf4.block16.f32.e2m1.e2m1.f32.ue4m3"
    theirs = mmasim.MMABlockScale("RTX Blackwell", name)
    for kind in ("ordinary", "cancelling", "tiny"):
        (codes_a, a, scales_a), (codes_b, b, scales_b) = (nvfp4_blocks(random, count, 64, kind) for _ in "ab")
        c = np.where(random.random(count) < 0.5, 0, random.standard_normal(count)).astype(np.float32)
        ours = products.run(a, b, c, None, "nvfp4", False)
        scale = [torch.from_numpy(s).view(torch.float8_e4m3fn) for s in (scales_a, scales_b)]
        expected = theirs.dpa(as_operand(codes_a, "e2m1", 4), as_operand(codes_b, "e2m1", 4), torch.from_numpy(c), *scale)
        verdict.compare(f"blackwell {name} {kind}", np.arange(count), packages.bits(ours), packages.bits(expected.numpy()))


def judge(products, verdict, count):
    random = np.random.default_rng(2026)
    for accumulator, operand, halves, k, kind_of, arch, name in INSTRUCTIONS:
        theirs = getattr(mmasim, kind_of)(arch, name)
        dtype = TYPES[operand][1]
        for kind in ("ordinary", "cancelling", "tiny"):
            a, b, c = cases(random, count, k, operand, halves, kind)
            ours = products.run(a, b, c, accumulator, operand, halves)
            x, y = (torch.from_numpy(v).to(dtype) for v in (a, b))
            expected = theirs.dpa(x, y, torch.from_numpy(c).to(torch.float16 if halves else torch.float32))
            verdict.compare(f"{accumulator} {name} {kind}", np.arange(count), packages.bits(ours),
                            packages.bits(expected.float().numpy()))
    for accumulator, preset in PRESETS:
        for operand in ("e4m3", "e5m2"):
            for kind in ("ordinary", "cancelling", "tiny"):
                a, b, c = cases(random, count, 64, operand, False, kind)
                ours = packages.bits(products.run(a, b, c, accumulator, operand, False))
                x, y = (torch.from_numpy(v).to(TYPES[operand][1]) for v in (a, b))
                expected = packages.bits(mmaemu.model.chain.dot(x, y, torch.from_numpy(c), preset=preset).numpy())
                known = [(ONE_GROUP, np.ones(count, bool), ours)] if preset == "b200_mma_sync" else []
                verdict.compare(f"{accumulator} mmaemu {preset} {operand} {kind}", np.arange(count), ours, expected, known)
    verdict.expect(ONE_GROUP)


def judge_amd(program, verdict, count):
    """AMD's matrix units of the experiment tensor-cores, which no option names."""
    random = np.random.default_rng(2029)
    for arch in ("CDNA1", "CDNA2"):
        theirs = amd.MFMA(arch, "f32_16x16x16f16")
        for kind in ("ordinary", "cancelling", "tiny"):
            a, b, _ = cases(random, count, 16, "fp16", True, kind)
            a, b = a.astype(np.float16), b.astype(np.float16)
            pairs = np.stack([a, b], axis=-1).view(np.uint16).reshape(-1)
            done = subprocess.run([program, arch, "16"], input=" ".join(f"{c:x}" for c in pairs), capture_output=True, text=True)
            if done.returncode != 0:
                sys.exit(f"{program} {arch}: exit code {done.returncode}\n{done.stderr}")
            ours = np.array([int(line, 16) for line in done.stdout.split()], dtype=np.uint32)
            expected = theirs.dpa(torch.from_numpy(a), torch.from_numpy(b), torch.zeros(count))
            verdict.compare(f"{arch} {kind}", np.arange(count), ours, packages.bits(expected.numpy()))


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("softamp")
    parser.add_argument("--count", type=int, default=20000)
    parser.add_argument("--matrix-cores", help="the program matrix_core_sums")
    options = parser.parse_args()
    verdict = packages.Verdict()
    judge(Products(options.softamp), verdict, options.count)
    judge_scaled(Products(options.softamp), verdict, options.count)
    judge_nvfp4(Products(options.softamp), verdict, options.count)
    if options.matrix_cores:
        judge_amd(options.matrix_cores, verdict, options.count)
    verdict.end()


if __name__ == "__main__":
    main()
