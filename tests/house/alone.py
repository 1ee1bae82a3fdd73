#!/usr/bin/env python3
"""Each header compiles alone, and twice in a row; each source compiles alone, though the build compiles them in units.

    python3 tests/house/alone.py --compiler c++ --system DIR --parts 12 ROOT

Reads syntax only. --parts N takes one part of N [=1], chosen by the environment's SOFTAMP_SLICE [=0]. --system: a folder
with generated headers, may be repeated. Exit codes: 0; 1 something does not compile; 2 usage.
"""

import argparse
import concurrent.futures
import os
import pathlib
import subprocess
import sys

FLAGS = ["-std=c++20", "-fsyntax-only", "-DSOFTAMP_OUT_OF_LINE", "-DSOFTAMP_VERSION=\"0\"",
         "-DSOFTAMP_LIBDIR_FROM_BINDIR=\"../lib\"", "-Wall", "-Wextra", "-Werror", "-Wno-restrict"]
# Files of one instruction set need its flags, which are the build's business, and that of an MPI needs its command; they
# are never part of a unit either.
LEFT_OUT = ("_avx2.cpp", "_avx512.cpp", "_avx512fp16.cpp", "_neon.cpp", "_plugin.cpp")


def texts(root):
    """(name, text to compile) of everything, in a fixed order."""
    for header in sorted((root / "include").rglob("*.h")):
        name = header.relative_to(root / "include").as_posix()
        yield f"include/{name}", f'#include "{name}"\n#include "{name}"\n'
    for folder in ("src", "emu"):
        for source in sorted((root / folder).rglob("*.cpp")):
            name = source.relative_to(root).as_posix()
            # The module of Python needs headers of packages that are not here for sure.
            if not source.name.endswith(LEFT_OUT) and not name.startswith("src/python/"):
                yield name, f'#include "{name}"\n'


def main():
    arguments = argparse.ArgumentParser()
    arguments.add_argument("--compiler", required=True)
    arguments.add_argument("--system", action="append", default=[])
    arguments.add_argument("--parts", type=int, default=1)
    arguments.add_argument("root", type=pathlib.Path)
    options = arguments.parse_args()
    root = options.root.resolve()
    part = int(os.environ.get("SOFTAMP_SLICE", "0")) % options.parts
    chosen = list(texts(root))[part::options.parts]
    folders = [f"-I{root / 'include'}", f"-I{root}"]
    for folder in options.system:
        folders += ["-isystem", folder]

    def compile(item):
        name, text = item
        # A minimal build finds its own headers in the place of packages.
        first = [f"-I{root / 'src/minimal/packages'}"] if name.startswith("src/minimal/") else []
        done = subprocess.run([options.compiler, *FLAGS, *first, *folders, "-x", "c++", "-"], input=text, text=True,
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
        return None if done.returncode == 0 else f"{name} does not compile alone:\n{done.stdout[:1500]}"

    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        faults = [fault for fault in pool.map(compile, chosen) if fault]
    print("\n".join(faults))
    print(f"alone: {len(chosen)} files compiled, {len(faults)} faults (part {part} of {options.parts})")
    return 1 if faults or not chosen else 0


if __name__ == "__main__":
    sys.exit(main())
