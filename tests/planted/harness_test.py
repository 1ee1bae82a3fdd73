#!/usr/bin/env python3
"""Plants faults in tables and options of the harness: `harness_test.py PYTHON planted.py @OPTIONS`."""

import json
import pathlib
import subprocess
import sys
import tempfile

GOOD = {"id": "a_bug", "stands_for": "status.h", "file": "include/softamp/numerics/status.h",
        "find": "kInv = 1,  kDiv0 = 2", "replace": "kInv = 2, kDiv0 = 1", "test": "tests/numerics/status_test.cpp",
        "filter": "Status.RegisterBits", "why": "INV is bit 0."}

# name, changes to the good bug, exit code, what the output must say
MISFITS = [
    ("a text that is not there", {"find": "kInv = 77"}, 1, "occurs 0 times"),
    ("a text that is there twice", {"find": "first_index"}, 1, "expected once"),
    ("a file that is not there", {"file": "include/softamp/numerics/nothing.h"}, 1, "nothing.h"),
    ("a test that is not there", {"test": "tests/numerics/nothing_test.cpp"}, 1, "nothing_test.cpp"),
    ("a header that the test does not include", {"test": "tests/engine/buffer_plan_test.cpp"}, 1,
     "none of tests/engine/buffer_plan_test.cpp includes include/softamp/numerics/status.h"),
    ("a field that is not known", {"colour": "red"}, 1, "unknown ['colour']"),
    ("an order that is not known", {"order": "sideways"}, 1, "expected forwards or backwards"),
    ("a signal that no trap is", {"signal": "SIGINT"}, 1, "expected SIGILL or SIGSEGV"),
    ("a bug that is caught", {}, 0, "caught by Status.RegisterBits"),
]
# id, changes to the good bug, what the line of this bug must say; all are run together
RUNS = [
    ("caught", {}, "caught by Status.RegisterBits"),
    ("changes_nothing", {"replace": "kInv = 1, kDiv0 = 2"}, "NOT CAUGHT"),
    ("unseen_by_its_test", {"filter": "Status.MergesInAnyOrder"}, "NOT CAUGHT"),
    ("fails_without_its_trap", {"signal": "SIGILL"}, "NOT CAUGHT"),
    ("no_such_test", {"filter": "Status.Nothing"}, "NOT CAUGHT"),
    ("does_not_compile", {"replace": "kInv = , kDiv0 = 2"}, "does not compile"),
    ("compiles", {"compile_error": "static assertion failed"}, "it compiles"),
    ("other_error", {"replace": "kInv = , kDiv0 = 2", "compile_error": "static assertion failed"}, "otherwise"),
]
# name, changes to the good bug, the library that is left out, what --links must say
LINKS = [
    ("all libraries", {}, None, "0 problems"),
    ("a test without the library", {"test": "tests/numerics/math_test.cpp"}, "libsoftamp.a",
     "tests/numerics/math_test.cpp: it does not link"),
    ("a command without the experiments", {"test": "tests/program/compute_test.cpp"}, "libsoftamp_reproduce.a",
     "src/program/: the command does not link"),
    ("a filter without a test", {"filter": "Status.Nothing"}, None,
     "a_bug: tests/numerics/status_test.cpp has no test Status.Nothing"),
    ("a filter without a case", {"file": "tests/backend/parity_main.h", "find": "failed || cases == 0", "replace": "failed",
                                 "test": "tests/serial_grid/parity.cpp", "filter": "casts Nothing"}, None,
     "a_bug: tests/serial_grid/parity.cpp has no test casts Nothing"),
    ("a test that is not built", {"test": "tests/oracle/cases.h"}, None,
     "the build does not compile tests/oracle/cases.h"),
]


class Harness:
    def __init__(self, folder, command):
        self.table = pathlib.Path(folder) / "table.json"
        self.options = pathlib.Path(folder) / "options"
        self.command = command
        self.failed = 0

    def run(self, bugs, *arguments, without=None):
        """The harness's exit code and output; `without` is a library that is not linked."""
        self.table.write_text(json.dumps(bugs))
        *command, options = self.command
        lines = pathlib.Path(options[1:]).read_text().splitlines()
        kept = [line for line in lines if not (without and line.endswith("/" + without))]
        if without and len(kept) == len(lines):
            return 0, f"{options} has no {without}"
        self.options.write_text("\n".join(kept) + "\n")
        done = subprocess.run([*command, f"@{self.options}", "--tables", str(self.table), *arguments],
                              capture_output=True, text=True)
        return done.returncode, done.stdout + done.stderr

    def expect(self, name, good, told):
        self.failed += not good
        print(f"{name}: as expected" if good else f"{name}: {told}")


def main(command):
    with tempfile.TemporaryDirectory() as folder:
        harness = Harness(folder, command)
        for name, changes, expected, words in MISFITS:
            code, said = harness.run([GOOD | changes])
            good = code == expected and words in said
            harness.expect(name, good, f"exit code {code}, expected {expected} and {words!r}: {said}")
        for name, changes, without, words in LINKS:
            code, said = harness.run([GOOD | changes], "--links", without=without)
            harness.expect(name, words in said, f"expected {words!r}: {said}")
        code, said = harness.run([GOOD | changes | {"id": name} for name, changes, _ in RUNS])
        harness.expect("a table with wrong bugs", code == 1 and "has no test Status.Nothing" in said, f"{code}: {said}")
        for name, _, words in RUNS:
            lines = [line for line in said.splitlines() if line.startswith(f"planted   {name} ")]
            harness.expect(name, len(lines) == 1 and words in lines[0], f"expected {words!r}: {lines or said}")
    return 1 if harness.failed else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
