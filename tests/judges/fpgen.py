#!/usr/bin/env python3
"""fpgen.py SOFTAMP [FOLDER]: `softamp compute` of fp32 against IBM's FPgen vectors, with flags.

FOLDER: where files .fptest or .fptest.gz lie [=fpgen in SOFTAMP_DATA, or in ../shared/data beside the project]. Underflow
is tiny before rounding there. Left out are other operations than + - * / square root, fused
multiply-add, minNum and maxNum of numbers, and cases whose trap is taken, which have another result. Exit code 1: a
difference that is not the one named below. 77: no such folder.
"""
import gzip
import os
import pathlib
import re
import subprocess
import sys

OPERATIONS = {"b32+": "add", "b32-": "sub", "b32*": "mul", "b32/": "div", "b32V": "sqrt", "b32*+": "mulAdd",
              "b32<C": "min", "b32>C": "max"}  # fmt: skip
ROUNDINGS = {"=0": "nearest", "=^": "nearest-away", "0": "zero", ">": "up", "<": "down"}
FLAGS = {"x": 1, "u": 2, "o": 4, "z": 8, "i": 16}  # as TestFloat has them
WORDS = {"+Inf": 0x7F800000, "-Inf": 0xFF800000, "+Zero": 0, "-Zero": 0x80000000, "Q": 0x7FC00000, "S": 0x7F800001}
# Sums and square roots are exact where they are tiny.
TININESS = {operation: ("--tininess", "before") for operation in ("mul", "div", "mulAdd")}
LEAST = 80000  # cases that have to be found

# IEEE 754, 6.2 and 7.2: any signalling operand raises invalid. In these vectors a quiet one before it hides it.
QUIET_FIRST = "a quiet NaN before a signalling one: no invalid in FPgen"


def code(word):
    if word in WORDS:
        return WORDS[word]
    sign, integer, fraction, exponent = re.fullmatch(r"([+-])([01])\.([0-9A-F]{6})P(-?\d+)", word).groups()
    field = int(exponent) + 127 if integer == "1" else 0
    return (sign == "-") << 31 | field << 23 | int(fraction, 16)


def cases(folder):
    """Operation, rounding, operands, result (None: a NaN), flags, and whether a quiet NaN stands before another kind."""
    for file in sorted(folder.glob("*.fptest*")):
        with (gzip.open if file.suffix == ".gz" else open)(file, "rt") as lines:
            for line in lines:
                fields = line.split()
                if len(fields) < 4 or fields[0] not in OPERATIONS or "->" not in fields:
                    continue
                arrow = fields.index("->")
                operands, result, raised = fields[2:arrow], fields[arrow + 1], "".join(fields[arrow + 2:])
                traps = operands.pop(0) if re.fullmatch("[xuozi]+", operands[0]) else ""
                if result == "#" and raised != "i" or set(traps) & set(raised) & set("uoz"):
                    continue
                nan = result in ("Q", "S", "#")
                if fields[0][3:] in ("<C", ">C") and (nan or "Q" in operands or "S" in operands):
                    continue
                quiet_first = "S" in operands and "Q" in operands and operands.index("Q") < operands.index("S")
                yield ((OPERATIONS[fields[0]], ROUNDINGS[fields[1]]), [code(word) for word in operands],
                       None if nan else code(result), sum(FLAGS[letter] for letter in set(raised)), quiet_first, line.strip())


def main():
    program = sys.argv[1]
    data = os.environ.get("SOFTAMP_DATA") or pathlib.Path(__file__).resolve().parents[2] / "../shared/data"
    folder = pathlib.Path(sys.argv[2]) if len(sys.argv) > 2 else pathlib.Path(data) / "fpgen"
    if not any(folder.glob("*.fptest*")):
        print(f"skipped: no files .fptest in {folder}")
        sys.exit(77)
    groups = {}
    for key, *case in cases(folder):
        groups.setdefault(key, []).append(case)
    compared, known, failed = 0, 0, 0
    for (operation, rounding), all_cases in groups.items():
        text = "".join(" ".join(f"{x:08X}" for x in operands) + "\n" for operands, *_ in all_cases)
        options = () if operation in ("min", "max") else ("--rounding", rounding, *TININESS.get(operation, ()))
        done = subprocess.run([program, "compute", "f32_" + operation, *options], input=text, capture_output=True, text=True)
        if done.returncode != 0:
            sys.exit(f"compute f32_{operation} --rounding {rounding}: exit code {done.returncode}\n{done.stderr}")
        for (_, result, flags, quiet_first, line), ours in zip(all_cases, done.stdout.splitlines(), strict=True):
            value, raised = (int(word, 16) for word in ours.split()[-2:])
            compared += 1
            is_nan = value & 0x7FFFFFFF > 0x7F800000
            if (is_nan if result is None else value == result) and raised == flags:
                continue
            if quiet_first and is_nan and flags == 0 and raised == FLAGS["i"]:
                known += 1
                continue
            failed += 1
            if failed <= 10:
                print(f"{line}: softamp {value:08X} {raised:02X}")
    print(f"{compared} results compared; {failed} differ\nknown difference, {known} times: {QUIET_FIRST}")
    sys.exit(1 if failed or not known or compared < LEAST else 0)


if __name__ == "__main__":
    main()
