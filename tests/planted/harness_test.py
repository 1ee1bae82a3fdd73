#!/usr/bin/env python3
"""Plants faults in tables and options of the harness: `harness_test.py PYTHON planted.py @OPTIONS`."""

import contextlib
import io
import json
import pathlib
import subprocess
import sys
import tempfile
from unittest import mock

sys.dont_write_bytecode = True

import anchors  # noqa: E402
import planted  # noqa: E402
from tables import Bug  # noqa: E402
from tokens import tokens_of  # noqa: E402

GOOD = {"id": "a_bug", "stands_for": "status", "at": "FpStatus::merge", "change": "flags | $1.flags", "to": "$1.flags",
        "test": "Status.MergesInAnyOrder", "why": "Merging in the other order gives the same flags."}

# name, changes to the good bug, exit code, what the output must say
MISFITS = [
    ("an anchor that is not there", {"at": "FpStatus::mergd"}, 1,
     "a_bug: no function, class or variable is called 'FpStatus::mergd'; the nearest: FpStatus::merge"),
    ("a text that is not there", {"change": "flags & $1.flags"}, 1,
     "'flags & $1.flags' is not in FpStatus::merge (include/softamp/numerics/status.h); the nearest: flags | other . flags"),
    ("a text that is there twice", {"change": "first_index[$1]"}, 1, "occurs 4 times in FpStatus::merge, expected once"),
    ("a name that stands for none", {"to": "$2.flags"}, 1, "$2 of '$2.flags' is not in 'flags | $1.flags'"),
    ("a test that is not there", {"test": "Status.MergesInAnyOrders"}, 1,
     "there is no test Status.MergesInAnyOrders; the nearest: Status.MergesInAnyOrder"),
    ("tests of two files", {"test": "Status.*:Buffers.*:BufferPlan.*"}, 1, "selects tests of several files"),
    ("a header that the test does not include", {"test": "BufferPlan.*"}, 1,
     "sources include include/softamp/numerics/status.h, and tests/engine/buffer_plan_test.cpp does not"),
    ("a source that does not include it", {"test": "BufferPlan.*", "used_by": ["shell_word"]}, 1,
     "none of tests/engine/buffer_plan_test.cpp, src/text/shell_word.cpp includes include/softamp/numerics/status.h"),
    ("a user that is not there", {"used_by": ["shell_words"]}, 1, "no function, class or variable is called 'shell_words'"),
    ("a test and a case", {"parity": "casts"}, 1, "expected either test or parity"),
    ("a field that is not known", {"colour": "red"}, 1, "unknown ['colour']"),
    ("a field that is missing", {"why": None}, 1, "missing ['why']"),
    ("an order that is not known", {"order": "sideways"}, 1, "expected forwards or backwards"),
    ("a signal that no trap is", {"signal": "SIGINT"}, 1, "expected SIGILL or SIGSEGV"),
    ("an instruction set that is not known", {"instruction_set": "avx9"}, 1, "expected avx512f"),
    ("a bug that is caught", {}, 0, "caught by Status.MergesInAnyOrder"),
]
# id, changes to the good bug, what the line of this bug must say; all are run together
RUNS = [
    ("caught", {}, "caught by Status.MergesInAnyOrder"),
    ("changes_nothing", {"to": "$1.flags | flags"}, "NOT CAUGHT"),
    ("unseen_by_its_test", {"test": "Status.RegisterBits"}, "NOT CAUGHT"),
    ("fails_without_its_trap", {"signal": "SIGILL"}, "NOT CAUGHT"),
    ("does_not_compile", {"to": "$1."}, "does not compile"),
    ("compiles", {"compile_error": "static assertion failed"}, "it compiles"),
    ("other_error", {"to": "$1.", "compile_error": "static assertion failed"}, "otherwise"),
]
# name, changes to the good bug, the library that is left out, what --links must say
LINKS = [
    ("all libraries", {}, None, "0 problems"),
    ("a test without the library", {"test": "Math.*"}, "libsoftamp.a", "tests/numerics/math_test.cpp: it does not link"),
    ("a command without the experiments", {"test": "Compute.*"}, "libsoftamp_reproduce.a",
     "src/program/: the command does not link"),
    ("a filter without a case", {"at": "main_of", "change": "$1 || $2 == 0", "to": "$1", "test": "", "parity": "casts Nothing"},
     None, "a_bug: tests/serial_grid/parity.cpp has no test casts Nothing"),
]
# What may be done to a source without a change to the tables: its path, the file's name afterwards, and its text.
STATUS = "include/softamp/numerics/status.h"
EDITS = [
    ("a local name", STATUS, lambda text: text.replace("other", "another")),
    ("lines and comments", STATUS, lambda text: text.replace("flags | other.flags", "flags  // of both\n | other . flags")),
    ("a function before it", STATUS, lambda text: text.replace("struct FpStatus", "inline int merge() { return 0; }\nstruct FpStatus")),
    ("another file", "include/softamp/numerics/state.h", lambda text: text),
]


class Harness:
    def __init__(self, folder, command):
        self.table = pathlib.Path(folder) / "table.json"
        self.options = pathlib.Path(folder) / "options"
        self.command = command
        self.failed = 0

    def run(self, bugs, *arguments, without=None, as_process=False):
        """The harness's exit code and output; `without` is a library that is not linked. Without a process of its own the sources
        are read once for all runs."""
        self.table.write_text(json.dumps([{key: value for key, value in bug.items() if value is not None} for bug in bugs]))
        *command, options = self.command
        lines = pathlib.Path(options[1:]).read_text().splitlines()
        kept = [line for line in lines if not (without and line.endswith("/" + without))]
        if without and len(kept) == len(lines):
            return 0, f"{options} has no {without}"
        self.options.write_text("\n".join(kept) + "\n")
        arguments = [f"@{self.options}", "--tables", str(self.table), *arguments]
        if as_process:
            done = subprocess.run([*command, *arguments], capture_output=True, text=True)
            return done.returncode, done.stdout + done.stderr
        with contextlib.redirect_stdout(io.StringIO()) as out, contextlib.redirect_stderr(out):
            code = planted.main(arguments)
        return code, out.getvalue()

    def expect(self, name, good, told):
        self.failed += not good
        print(f"{name}: as expected" if good else f"{name}: {told}")


def planted_after(path, edit):
    """Whether the good bug changes the same in a source that was edited and moved to `path`."""
    def forget():
        anchors.tokens_in.cache_clear()
        anchors.definitions.cache_clear()

    forget()
    text, (_, wanted) = anchors.text_of(STATUS), anchors.mutated(Bug(**GOOD))
    with mock.patch.multiple(anchors, files=lambda: [path], text_of=lambda name: edit(text)):
        forget()
        file, got = anchors.mutated(Bug(**GOOD))
    forget()
    return file == path and [token.text for token in tokens_of(got)] == [token.text for token in tokens_of(edit(wanted))]


def main(command):
    for name, path, edit in EDITS:
        assert planted_after(path, edit), f"the bug is not planted as before after a change of {name}"
    with tempfile.TemporaryDirectory() as folder:
        harness = Harness(folder, command)
        for name, changes, expected, words in MISFITS:
            code, said = harness.run([GOOD | changes])
            good = code == expected and words in said
            harness.expect(name, good, f"exit code {code}, expected {expected} and {words!r}: {said}")
        for name, changes, without, words in LINKS:
            code, said = harness.run([GOOD | changes], "--links", without=without)
            harness.expect(name, words in said, f"expected {words!r}: {said}")
        code, said = harness.run([GOOD | changes | {"id": name} for name, changes, _ in RUNS], as_process=True)
        harness.expect("a table with wrong bugs", code == 1, f"{code}: {said}")
        for name, _, words in RUNS:
            lines = [line for line in said.splitlines() if line.startswith(f"planted   {name} ")]
            harness.expect(name, len(lines) == 1 and words in lines[0], f"expected {words!r}: {lines or said}")
    return 1 if harness.failed else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
