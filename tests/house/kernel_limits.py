#!/usr/bin/env python3
"""kernel_limits.py TABLE PTXAS OBJECT... [--all] | --self-test: what ptxas gives the fast kernels stays within limits.

OBJECT: PTX, or an object that nvcc made with --no-compress, whose PTX is read out of it. Only the kernels that the table
names are translated to machine code, for 9.0 (PTX for another architecture: exit code 77); nothing is run.

TABLE: lines of
  pattern  registers  stack  shared  [instructions]
that is, what is the most for each kernel whose name matches (* and ? as in names of files): registers of a thread, bytes
of its stack, frames of what it calls included, bytes of shared memory that are not the launch's, and instructions of the
kernel itself. No kernel of the table may spill a register. # begins a comment.

A name is the kernel's type without spaces, softamp::cuda:: and (anonymous namespace)::, as --all prints it, with figures,
for every kernel of the table or, without one (-), of the objects. A pattern that no kernel matches is an error; where
several match, each holds.
"""
import fnmatch
import os
import re
import struct
import subprocess
import sys
import tempfile

ARCHITECTURE = b"sm_90"
PTX = re.compile(rb"\.version [0-9]+\.[0-9]+\s+\.target (sm_[0-9]+[a-z]?)[^\0]*")
ENTRY = re.compile(r"\.entry\s+(\w+)")
USED = re.compile(r"Used (\d+) registers")
FRAME = re.compile(r"(\d+) bytes stack frame, (\d+) bytes spill stores, (\d+) bytes spill loads")
INSTRUCTION_BYTES, NOP = 16, 0x918


def short(name):
    """run_block<X>(...) to X, as the table has it."""
    name = name.replace("softamp::", "").replace("cuda::", "").replace("(anonymous namespace)::", "").replace(" ", "")
    at = name.find("run_block<")
    if at < 0:
        return name.split("(")[0]
    begin = end = at + len("run_block<")
    depth = 1
    while depth:
        depth += {"<": 1, ">": -1}.get(name[end], 0)
        end += 1
    return name[begin : end - 1]


def demangled(names):
    if not names:
        return {}
    out = subprocess.run(["c++filt"], input="\n".join(names), capture_output=True, text=True, check=True).stdout
    return {name: short(text) for name, text in zip(names, out.splitlines())}


def read_table(text, place):
    rows = []
    for number, line in enumerate(text.splitlines(), 1):
        words = line.split("#")[0].split()
        if not words:
            continue
        if len(words) not in (4, 5) or not all(re.fullmatch(r"\d+", word) for word in words[1:]):
            raise SystemExit(f"{place}:{number}: '{line.strip()}'; expected: pattern registers stack shared [instructions]")
        rows.append((words[0], [int(word) for word in words[1:]]))
    return rows


def sections(image):
    """Name and contents of each section of a 64-bit ELF file."""
    (start,) = struct.unpack_from("<Q", image, 40)
    size, count, names = struct.unpack_from("<HHH", image, 58)
    headers = [struct.unpack_from("<IIQQQQ", image, start + i * size) for i in range(count)]
    for name, _, _, _, offset, length in headers:
        begin = headers[names][4] + name
        yield image[begin : image.index(b"\0", begin)].decode(), image[offset : offset + length]


def instructions(image):
    counts = {}
    for name, code in sections(image):
        if name.startswith(".text."):
            words = struct.iter_unpack("<QQ", code[: len(code) // INSTRUCTION_BYTES * INSTRUCTION_BYTES])
            # The last instruction but padding is a branch to itself behind the end.
            counts[name[6:]] = sum(word & 0xFFF != NOP for word, _ in words) - 1
    return counts


def read_report(text):
    """ptxas -v: figures of each kernel {registers, stack, shared, spills}, of those that have all of them."""
    found, kernel, function = {}, None, None
    for line in text.splitlines():
        if match := re.search(r"Compiling entry function '(\w+)'", line):
            kernel = match[1]
            found[kernel] = {"spills": 0}
        elif match := re.search(r"Function properties for (\w+)", line):
            function = match[1]
        elif kernel and (match := FRAME.search(line)):
            # Of a function that the kernel calls, too: its registers are the kernel's.
            found[kernel]["spills"] += int(match[2]) + int(match[3])
            if function == kernel:
                found[kernel]["stack"] = int(match[1])
        elif kernel and (match := USED.search(line)):
            found[kernel]["registers"] = int(match[1])
            whole = re.search(r"(\d+) bytes cumulative stack size", line)
            found[kernel]["stack"] = max(found[kernel].get("stack", 0), int(whole[1]) if whole else 0)
            shared = re.search(r"(\d+) bytes smem", line)
            found[kernel]["shared"] = int(shared[1]) if shared else 0
    return {name: figures for name, figures in found.items() if {"registers", "stack"} <= figures.keys()}


def judge(rows, figures, place):
    """Lines of complaint. `figures`: of each kernel, by its short name."""
    wrong = []
    for pattern, limits in rows:
        names = [name for name in figures if fnmatch.fnmatchcase(name, pattern.replace("[", "[[]"))]
        if not names:
            wrong.append(f"{place}: no kernel is called {pattern}")
        for name in names:
            have = figures[name]
            for what, most in zip(("registers", "stack", "shared", "instructions"), limits):
                if have[what] > most:
                    wrong.append(f"{name}: {have[what]} {what}, at most {most} ({pattern})")
            if have["spills"]:
                wrong.append(f"{name}: {have['spills']} bytes of spilled registers, expected none ({pattern})")
    return wrong


def measure(ptxas, ptx, wanted):
    """Figures by mangled name, of the kernels that `wanted` picks."""
    entries = ENTRY.findall(ptx)
    names = demangled(entries)
    picked = [entry for entry in entries if wanted(names[entry])]
    if not picked:
        return {}
    with tempfile.TemporaryDirectory() as folder:
        source, image = os.path.join(folder, "kernels.ptx"), os.path.join(folder, "kernels.cubin")
        with open(source, "w") as file:
            file.write(ptx)
        command = [ptxas, "-v", f"-arch={ARCHITECTURE.decode()}", "--entry", ",".join(picked), source, "-o", image]
        run = subprocess.run(command, capture_output=True, text=True)
        if run.returncode:
            raise SystemExit(f"{ptxas}: exit code {run.returncode}\n{run.stderr[-2000:]}")
        with open(image, "rb") as file:
            counts = instructions(file.read())
    report = read_report(run.stderr)
    lost = [names[entry] for entry in picked if entry not in report or entry not in counts]
    if lost:
        raise SystemExit(f"{ptxas} has said nothing of {', '.join(lost)}")
    return {names[entry]: {**report[entry], "instructions": counts[entry]} for entry in picked}


def main(table, ptxas, objects, everything):
    rows = []
    if table != "-":
        with open(table) as file:
            rows = read_table(file.read(), table)
    patterns = [pattern.replace("[", "[[]") for pattern, _ in rows]
    wanted = lambda name: not rows or any(fnmatch.fnmatchcase(name, pattern) for pattern in patterns)
    figures = {}
    for place in objects:
        with open(place, "rb") as file:
            image = file.read()
        texts = {match[1]: match[0].decode() for match in PTX.finditer(image)}
        if not texts:
            raise SystemExit(f"{place}: no PTX in it; expected PTX, or an object of nvcc --no-compress")
        if ARCHITECTURE not in texts:
            print(f"kernel_limits: {place} has PTX for {b', '.join(texts).decode()} alone; the limits are for 9.0")
            return 77
        figures |= measure(ptxas, texts[ARCHITECTURE], wanted)
    wrong = judge(rows, figures, table)
    for name in sorted(figures) if everything else []:
        have = figures[name]
        print(f"{name}  {have['registers']} {have['stack']} {have['shared']} {have['instructions']}"
              + (f"  spills {have['spills']}" if have["spills"] else ""))
    print("\n".join(wrong + [f"kernel_limits: {len(figures)} kernels, {len(wrong)} over their limits"]))
    return 1 if wrong else 0


PLANTED = """
ptxas info    : Compiling entry function 'tile' for 'sm_90'
ptxas info    : Function properties for tile
    64 bytes stack frame, 0 bytes spill stores, 0 bytes spill loads
ptxas info    : Used 120 registers, used 1 barriers, 144 bytes cumulative stack size, 512 bytes smem, 400 bytes cmem[0]
ptxas info    : Compile time = 10.0 ms
ptxas info    : Function properties for finish
    0 bytes stack frame, {spills} bytes spill stores, 0 bytes spill loads
ptxas info    : Compiling entry function 'plain' for 'sm_90'
ptxas info    : Function properties for plain
    0 bytes stack frame, 0 bytes spill stores, 0 bytes spill loads
ptxas info    : Used 20 registers, used 1 barriers
ptxas info    : Compiling entry function 'lost' for 'sm_90'
"""


def self_test():
    def complaints(table, spills=0):
        figures = read_report(PLANTED.format(spills=spills))
        return judge(read_table(table, "table"), {k: {**v, "instructions": 1000} for k, v in figures.items()}, "table")

    assert list(read_report(PLANTED.format(spills=0))) == ["tile", "plain"]  # and nothing of `lost`
    fits = "tile 120 144 512 1000  # all of it\n\nplain 20 0 0\n"
    assert complaints(fits) == [], complaints(fits)
    seen = [
        complaints(fits, spills=8),
        complaints("tile 119 144 512"),
        complaints("tile 120 143 512"),
        complaints("tile 120 144 511"),
        complaints("t* 120 144 512 999"),
        complaints("tiles 120 144 512"),
        complaints("* 100 144 512"),
    ]
    for number, lines in enumerate(seen):
        assert len(lines) == 1, (number, lines)
    for bad in ("tile 120 144", "tile 120 144 512 9 9", "tile 120 -1 512", "tile many 0 0"):
        try:
            read_table(bad, "table")
        except SystemExit as e:
            assert str(e).startswith("table:1: "), e
        else:
            raise AssertionError(bad)
    name = "void softamp::cuda::detail::run_block<softamp::cuda::K<softamp::cuda::S<8u, 4u>, (softamp::cuda::W)1> >(x, y)"
    assert short(name) == "K<S<8u,4u>,(W)1>", short(name)
    print(f"kernel_limits: {len(seen)} planted faults seen")


if __name__ == "__main__":
    if sys.argv[1:] == ["--self-test"]:
        self_test()
    else:
        words = [word for word in sys.argv[1:] if word != "--all"]
        if len(words) < 3:
            raise SystemExit(__doc__)
        sys.exit(main(words[0], words[1], words[2:], "--all" in sys.argv))
