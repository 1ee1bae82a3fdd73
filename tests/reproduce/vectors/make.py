"""Writes the made-up results of tensor cores that tests/reproduce/tensor_core_vectors_test.cpp reads.

    python3 tests/reproduce/vectors/make.py FOLDER

Each set has eight lines: six are results of the rules (N326, N476, N477), computed here by integers of any length; in
the last two one bit of the result is wrong. Files of one set are gzipped, those of the others are not.
"""

import gzip
import pathlib
import random
import sys

# GPU, operands, result, products of a line, F, products of a group (None: pairs), mantissa bits and least exponent
SETS = [
    ("V100", "fp16", "fp32", 4, 23, 4, 10, -14),
    ("A2", "tf32", "fp32", 8, 24, 4, 10, -126),
    ("Ada", "E4M3", "fp32", 32, 13, 16, 3, -6),
    ("H100", "E4M3", "fp32", 32, 13, 32, 3, -6),
    ("H100", "E5M2", "fp16", 32, 25, None, 2, -14),
    ("B200", "E4M3", "fp32", 64, 25, None, 3, -6),
]
# The exponent below which no group is aligned (N326).
FLOORS = {("V100", "fp32"): -131, ("A2", "fp32"): -132, ("Ada", "fp32"): -132, ("H100", "fp32"): -133,
          ("H100", "fp16"): -21, ("B200", "fp32"): -133}
GZIPPED = "Ada"
LINES, RIGHT = 8, 6


def top(number):
    """floor(log2 |x|) of (integer, exponent), x not zero."""
    return abs(number[0]).bit_length() - 1 + number[1]


def cut(number, quantum):
    """|x| / 2^quantum without its fraction, with the sign of x."""
    integer, exponent = number
    shift = exponent - quantum
    moved = abs(integer) << shift if shift >= 0 else abs(integer) >> -shift
    return -moved if integer < 0 else moved


def rounded(number, precision, least, nearest):
    """The number with so many bits, toward zero or to nearest even."""
    if number[0] == 0:
        return (0, 0)
    quantum = max(top(number), least) - (precision - 1)
    kept = abs(cut(number, quantum))
    shift = quantum - number[1]
    if nearest and shift > 0:
        rest = abs(number[0]) - (kept << shift)
        kept += rest > 1 << shift - 1 or (rest == 1 << shift - 1 and kept % 2 == 1)
    return (-kept if number[0] < 0 else kept, quantum)


def code(number):
    """The fp32 code of a number that has one; normal, or zero."""
    if number[0] == 0:
        return 0
    field = top(number) + 127
    fraction = abs(cut(number, top(number) - 23)) - (1 << 23)
    return (number[0] < 0) << 31 | field << 23 | fraction


def plus(x, y):
    exponent = min(x[1], y[1])
    return (x[0] << x[1] - exponent) + (y[0] << y[1] - exponent), exponent


def group(products, c, bits, result, least, floor):
    """Products come with the sum of their operands' exponents; c with its own."""
    terms = products + ([(c, max(top(c), least))] if c[0] else [])
    greatest = max([floor] + [exponent for term, exponent in terms if term[0]])
    quantum = greatest - bits
    total = (sum(cut(term, quantum) for term, _ in terms), quantum)
    if result == "fp16":
        return rounded(total, 11, -14, True)
    return rounded(total, 14 if bits == 13 else 24, -126, False)


def result_of(a, b, c, bits, length, result, without_c, least_operand, floor):
    exponent = lambda x: max(top(x), least_operand)
    products = [((x[0] * y[0], x[1] + y[1]), exponent(x) + exponent(y)) for x, y in zip(a, b)]
    least = -14 if result == "fp16" else -126
    total = (0, 0) if without_c else rounded(c, 11, -14, True) if result == "fp16" else c
    for first in range(0, len(products), length or 32):
        if length:
            total = group(products[first : first + length], total, bits, result, least, floor)
            continue
        step = (0, 0)
        for rest in ((0, 1), (2, 3)):
            chosen = [p for i, p in enumerate(products[first : first + 32]) if i % 4 in rest]
            step = group(chosen, step, bits, result, least, floor)
        total = rounded(plus(step, total), *((11, -14) if result == "fp16" else (24, -126)), True)
    return total


def main():
    folder = pathlib.Path(sys.argv[1])
    draw = random.Random(20261126)
    for gpu, operands, result, k, bits, length, mantissa, least in SETS:
        texts = {name: [] for name in "abcd"}
        for line in range(LINES):
            number = lambda: (draw.choice([-1, 1]) * (1 << mantissa | draw.getrandbits(mantissa)),
                              draw.randint(max(least, -9), 2) - mantissa)
            a, b = [number() for _ in range(k)], [number() for _ in range(k)]
            c = (draw.choice([-1, 1]) * (1 << 23 | draw.getrandbits(23)), draw.randint(-6, 5) - 23)
            without_c = gpu == "H100" and result == "fp32"
            d = code(result_of(a, b, c, bits, length, result, without_c, least, FLOORS[gpu, result]))
            if line >= RIGHT:
                d ^= 1 << 13 if result == "fp16" else 1 << 10
            for name, row in (("a", a), ("b", b)):
                texts[name].append(" ".join(f"{code(x):08x}" for x in row) + " ")
            texts["c"].append(f"{code(c):032b}")
            texts["d"].append(f"{d:032b}")
        place = folder / gpu / operands
        place.mkdir(parents=True, exist_ok=True)
        for name, rows in texts.items():
            last = {"c": "fp32", "d": result}.get(name, operands)
            data = ("\n".join(rows) + "\n").encode()
            file = place / f"{name}_{gpu}_{last}.txt"
            if gpu == GZIPPED:
                pathlib.Path(f"{file}.gz").write_bytes(gzip.compress(data, mtime=0))
            else:
                file.write_bytes(data)


if __name__ == "__main__":
    main()
