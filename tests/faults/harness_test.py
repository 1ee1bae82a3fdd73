#!/usr/bin/env python3
"""The judges of drive.py against a program with one fault at a time: `harness_test.py WRITER LIBRARY`."""

import collections
import sys

sys.dont_write_bytecode = True  # nothing is left in the source folder

from drive import Subject  # noqa: E402
from trial import Workplace  # noqa: E402
from verbs import OLD, Verb  # noqa: E402

# The writer's own fault, and what a judge must say of it in some run; nothing is said of the first.
FAULTS = {
    "none": "",
    "in_place": "neither the old ones",
    "ignores_errors": "exit code 0: out: other bytes",
    "wants_whole_writes": "a short write is no failure",
    "trusts_fsync": "not synchronised, and nothing is said",
    "leaves_part": ".out.part: left over",
    "part_of_pid": "gone on with: .out",
    "says_nothing": "no message",
    "hides_name": "names neither the file nor the option",
    "hides_reason": "does not say 'No space left on device'",
    "exit_code_1": "exit code 1; expected 2",
    "aborts": "ended by signal 6",
}
CALLS = {"create": 1, "write": 3, "sync": 1, "close": 1, "rename": 1}


def main(writer, library):
    failed = 0
    with Workplace(writer, library) as workplace:
        for fault, words in FAULTS.items():
            subject = Subject(workplace, Verb(fault, (fault, "out"), {"out": OLD}))
            counted = dict(collections.Counter(kind for _, kind, _, _ in subject.right.calls))
            texts = [text for chosen in subject.faults() for text in subject.attempt(chosen)[2]]
            seen = any(words in text for text in texts) if words else not texts
            if counted | {"rename": 1} != CALLS or not seen:
                failed += 1
                print(f"{fault}: {counted} calls; expected '{words or 'nothing'}' among {sorted(set(texts))}")
    print(f"{len(FAULTS) - failed} of {len(FAULTS)} writers judged as expected")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
