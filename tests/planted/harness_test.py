#!/usr/bin/env python3
"""Plants faults in tables of the harness: `harness_test.py COMMAND...`, COMMAND being planted.py and its options."""

import json
import pathlib
import subprocess
import sys
import tempfile

GOOD = {"id": "a_bug", "stands_for": "status.h", "file": "include/softamp/numerics/status.h",
        "find": "kInv = 1,  kDiv0 = 2", "replace": "kInv = 2, kDiv0 = 1", "test": "tests/numerics/status_test.cpp",
        "filter": "Status.RegisterBits", "why": "INV is bit 0."}

# name, changes to the good table, exit code, what the output must say
CASES = [
    ("a bug that is caught", {}, 0, "caught by Status.RegisterBits"),
    ("a bug that changes nothing", {"replace": "kInv = 1, kDiv0 = 2"}, 1, "NOT CAUGHT"),
    ("a test that does not see it", {"filter": "Status.MergesInAnyOrder"}, 1, "NOT CAUGHT"),
    ("a test that is not there", {"filter": "Status.Nothing"}, 1, "has no test Status.Nothing"),
    ("a text that is not there", {"find": "kInv = 77"}, 1, "occurs 0 times"),
    ("a text that is there twice", {"find": "first_index"}, 1, "expected once"),
    ("a bug that does not compile", {"replace": "kInv = , kDiv0 = 2"}, 1, "does not compile"),
    ("a bug that should not compile and does", {"compile_error": "static assertion failed"}, 1, "it compiles"),
    ("a file that is not there", {"file": "include/softamp/numerics/nothing.h"}, 1, "nothing.h"),
    ("a field that is not known", {"colour": "red"}, 1, "unknown ['colour']"),
]


def main(command):
    failed = 0
    with tempfile.TemporaryDirectory() as folder:
        table = pathlib.Path(folder) / "table.json"
        for name, changes, code, words in CASES:
            table.write_text(json.dumps([GOOD | changes]))
            done = subprocess.run([*command, "--tables", str(table)], capture_output=True, text=True)
            said = done.stdout + done.stderr
            good = done.returncode == code and words in said
            failed += not good
            print(f"{name}: as expected" if good else
                  f"{name}: exit code {done.returncode}, expected {code} and {words!r}: {said}")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
