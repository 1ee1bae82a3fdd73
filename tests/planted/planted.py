#!/usr/bin/env python3
"""Plants bugs, one at a time, and requires that the named test of each fails.

    python3 tests/planted/planted.py                       every bug of the tables, on all cores
    python3 tests/planted/planted.py --list                what they are, and whether their texts are there
    python3 tests/planted/planted.py --links               whether each links and selects a test; compiles nothing
    python3 tests/planted/planted.py --only ID             one of them, with the end of the output
    python3 tests/planted/planted.py --parts 32            one of 32 parts of them, by the environment's SOFTAMP_SLICE [=0]

The build folder must be configured and built with tests. CMake writes the compiler, that folder and all that a test
links to into BUILD/tests/planted/options; another BUILD than build/ is named by `@BUILD/tests/planted/options`.

A table bugs/*.json is a list of objects:
    id             unique
    stands_for     the rule or header of which this bug is the specimen
    file           the file to change, from the root of the repository
    find, replace  text; `find` must occur exactly once, any run of blanks in it matches any other
    test, filter   the source file of the test, and the gtest filter that must fail; *: all tests of the file
    why            one sentence: how the test notices
    sources        optional, for a header: sources of the library that are compiled with the changed header. A changed
                   .cpp or .cu is always compiled, and a test that includes the header is so in any case
    compile_error  optional: the bug must not compile, and this text is in what the compiler says
    order          optional: "backwards", the order in which the serial grid runs blocks and threads [=forwards]
    signal         optional: the kernel must end the program by it: SIGILL (a trap), SIGSEGV

A .cu is compiled by itself as tests/serial_grid compiles it, and linked before that library. Its test is one of that
folder; or tests/serial_grid/parity.cpp, whose filter is a family and, behind a blank, a part of its cases' names.

The changed file alone is written to a folder that comes first on the include path. What is compiled is linked before
the libraries; a test that runs the command gets a command that is linked in the same way. Each test must also pass
without any bug, and every header of include/softamp/numerics/ must have a bug: both are checked here.
Exit codes: 0, 1 a bug was not caught (or a table is wrong), 2 usage.
"""

import argparse
import os
import pathlib
import resource
import sys
import time

sys.dont_write_bytecode = True  # nothing is left in the source folder

import links  # noqa: E402
from planting import run_all  # noqa: E402
from tables import headers_without_bug, load, misfit, part_of  # noqa: E402
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


def wrong_of(bugs, options, whole):
    """Does what the options ask for, and returns how many bugs were run and what is wrong."""
    problems = [f"{bug['id']}: {reason}" for bug in bugs if (reason := misfit(bug))]
    if whole:
        problems += [f"{header} has no bug; add one to a table" for header in headers_without_bug(bugs)]
    if options.list:
        for bug in bugs:
            print(f"{bug['id']:<44} {bug['stands_for']:<40} {pathlib.Path(bug['file']).name}: {bug['why']}")
    if problems or options.list:
        return 0, problems
    if options.only:
        chosen = [bug for bug in bugs if bug["id"] in options.only]
    else:
        chosen = part_of(bugs, int(os.environ.get("SOFTAMP_SLICE") or 0), options.parts)
    if options.links:
        return len(chosen), links.problems(chosen, options)
    return len(chosen), [f"{name} is not as it should be" for name in run_all(chosen, options)]


def main(arguments):
    options = parse_options(arguments)
    start = time.time()
    whole = options.tables.is_dir()
    bugs, done = [], 0
    try:
        bugs = load(sorted(options.tables.glob("*.json")) if whole else [options.tables])
        unknown = sorted(set(options.only or ()) - {bug["id"] for bug in bugs})
        if unknown:
            print(f"planted: no bug is called {', '.join(unknown)}; --list names them all", file=sys.stderr)
            return 2
        done, problems = wrong_of(bugs, options, whole)
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
