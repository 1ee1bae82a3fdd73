#!/usr/bin/env python3
"""Plants bugs, one at a time, and requires that the named test of each fails.

    python3 tests/planted/planted.py                       every bug of the tables, on all cores
    python3 tests/planted/planted.py --list                what they are, and whether their texts are there
    python3 tests/planted/planted.py --links               whether each links and selects a test; compiles nothing
    python3 tests/planted/planted.py --only ID             one of them, with the end of the output
    python3 tests/planted/planted.py --parts 64            one of 64 parts of them, by the environment's SOFTAMP_SLICE [=0]

The build folder must be configured and built with tests. CMake writes the compiler, that folder and all that a test
links to into BUILD/tests/planted/options; another BUILD than build/ is named by `@BUILD/tests/planted/options`.

A table bugs/*.json is a list of objects:
    id             unique
    stands_for     the rule or part of which this bug is the specimen
    at             the function that is changed, with its class where there are several of the name: "Semantics::ipu"; what
                   lies in no function is named by its variable, table or class. The harness finds the file
    change, to     what is changed in it. `change` must be there exactly once, in all functions that are called so. It is
                   C++ whose blanks and comments mean nothing; local names are $1, $2, ..., and $... are tokens between
    test           the gtest filter that must fail. The harness finds the file
    parity         instead of it, for a kernel: a family of the parity suite and, behind a blank, a part of its cases' names
    why            one sentence: how the test notices
    used_by        optional, for a header: functions of the library whose sources are compiled with the changed header. A
                   changed .cpp or .cu is always compiled, the sources of a header that few include are, and a test that
                   includes the header is so in any case
    compile_error  optional: the bug must not compile, and this text is in what the compiler says
    order          optional: "backwards", the order in which the serial grid runs blocks and threads [=forwards]
    signal         optional: the kernel must end the program by it: SIGILL (a trap), SIGSEGV
    instruction_set  optional: avx512f; the bug is left out where the processor lacks it, and so are those of sources that are
                   compiled for such a set alone

Here stands what has a story: several places, an algorithm that is almost right, an order, a barrier, a file. What changes
one operator, constant or statement is made by a generator of mutants.

A .cu is compiled by itself as tests/serial_grid compiles it, and linked before that library. Its test is one of that folder.

The changed file alone is written to a folder that comes first on the include path. What is compiled is linked before
the libraries; a test that runs the command gets a command that is linked in the same way. Each test must also pass
without any bug.
Exit codes: 0, 1 a bug was not caught (or a table is wrong), 2 usage.
"""

import argparse
import gc
import os
import pathlib
import resource
import sys
import time

sys.dont_write_bytecode = True  # nothing is left in the source folder

import links  # noqa: E402
from planting import run_all  # noqa: E402
from tables import load, part_of  # noqa: E402
from texts import ROOT, Wrong  # noqa: E402

OPTIONS_FILE = ROOT / "build/tests/planted/options"


def parse_options(arguments):
    if not any(argument.startswith("@") for argument in arguments) and OPTIONS_FILE.is_file():
        arguments = [f"@{OPTIONS_FILE}", *arguments]
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0], fromfile_prefix_chars="@")
    parser.add_argument("--compiler", default=os.environ.get("CXX", "c++"))
    parser.add_argument("--build", type=pathlib.Path, help="a build folder with compile_commands.json")
    parser.add_argument("--link", action="append", default=[], help="a library or an option that every test gets")
    parser.add_argument("--jobs", type=int, default=os.cpu_count())
    parser.add_argument("--tables", type=pathlib.Path, default=ROOT / "tests/planted/bugs", help="folder or file")
    parser.add_argument("--only", action="append", metavar="ID")
    parser.add_argument("--parts", type=int, default=1)
    parser.add_argument("--list", action="store_true")
    parser.add_argument("--links", action="store_true")
    options = parser.parse_args(arguments)
    if not options.build and not options.list:
        parser.error(f"there is no {OPTIONS_FILE}; expected @BUILD/tests/planted/options of a build with tests")
    return options


def wrong_of(bugs, options):
    """Does what the options ask for, and returns how many bugs were run and what is wrong."""
    problems = [f"{bug.id}: {reason}" for bug in bugs if (reason := bug.misfit())]
    if options.list:
        for bug in bugs:
            print(f"{bug.id:<44} {bug.stands_for:<40} {bug.at}: {bug.why}")
    if problems or options.list:
        return 0, problems
    if options.only:
        chosen = [bug for bug in bugs if bug.id in options.only]
    else:
        chosen = part_of(bugs, int(os.environ.get("SOFTAMP_SLICE") or 0), options.parts)
    if options.links:
        return len(chosen), links.problems(chosen, options)
    return len(chosen), [f"{name} is not as it should be" for name in run_all(chosen, options)]


def main(arguments):
    options = parse_options(arguments)
    gc.disable()  # a million tokens stay to the end: looking for those that do not was a quarter of the time
    start = time.time()
    bugs, done = [], 0
    try:
        bugs = load(sorted(options.tables.glob("*.json")) if options.tables.is_dir() else [options.tables])
        unknown = sorted(set(options.only or ()) - {bug.id for bug in bugs})
        if unknown:
            print(f"planted: no bug is called {', '.join(unknown)}; --list names them all", file=sys.stderr)
            return 2
        done, problems = wrong_of(bugs, options)
    except Wrong as problem:
        problems = [str(problem)]
    for problem in problems:
        print(f"planted: {problem}")
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    print(f"planted: {done} of {len(bugs)} bugs, {len(problems)} problems ({time.time() - start:.0f} s, "
          f"{used.ru_utime + used.ru_stime:.0f} s of processor time)")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
