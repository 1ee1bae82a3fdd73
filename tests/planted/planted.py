#!/usr/bin/env python3
"""Plants bugs, one at a time, and requires that the named test of each fails.

    python3 tests/planted/planted.py                       every bug of the tables, on all cores
    python3 tests/planted/planted.py --list                what they are, and whether their texts are there
    python3 tests/planted/planted.py --only ID             one of them, with the end of the output
    python3 tests/planted/planted.py --parts 6             a sixth of them, by the environment's SOFTAMP_SLICE [=0]

A table bugs/*.json is a list of objects:
    id             unique
    stands_for     the rule or header of which this bug is the specimen
    file           the file to change, from the root of the repository
    find, replace  text; `find` must occur exactly once, any run of blanks in it matches any other
    test, filter   the source file of the test, and the gtest filter that must fail
    why            one sentence: how the test notices
    sources        optional: sources of the library that contain the changed text; they are compiled with the test and
                   linked before the library's archive. Needs --build
    program        optional, true: the test runs the command, which is linked anew with `sources`. Needs --build
    compile_error  optional: the bug must not compile, and this text is in what the compiler says

The changed file alone is written to a folder that comes first on the include path. Each test must also pass without any
bug, and every header of include/softamp/numerics/ must have a bug: both are checked here.
Exit codes: 0, 1 a bug was not caught (or a table is wrong), 2 usage.
"""

import argparse
import concurrent.futures
import fnmatch
import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import time

sys.dont_write_bytecode = True  # nothing is left in the source folder

from workshop import ROOT, Workshop, Wrong  # noqa: E402

NUMERICS = "include/softamp/numerics"
UMBRELLAS = {"operations.h", "math.h"}  # nothing in them but #include lines
REQUIRED = ("id", "stands_for", "file", "find", "replace", "test", "filter", "why")
OPTIONAL = ("sources", "program", "compile_error")


def load(tables):
    bugs = []
    for table in tables:
        for bug in json.loads(table.read_text()):
            name = f"{table.name}: {bug.get('id', '(no id)')}"
            missing = [key for key in REQUIRED if key not in bug]
            unknown = [key for key in bug if key not in REQUIRED + OPTIONAL]
            if missing or unknown:
                raise Wrong(f"{name}: missing {missing}, unknown {unknown}; known are {REQUIRED + OPTIONAL}")
            bugs.append(bug)
    names = [bug["id"] for bug in bugs]
    repeated = sorted({name for name in names if names.count(name) > 1})
    if repeated:
        raise Wrong(f"ids used twice: {', '.join(repeated)}")
    return bugs


def headers_without_bug(bugs):
    headers = {path.name for path in (ROOT / NUMERICS).glob("*.h")} - UMBRELLAS
    return sorted(headers - {pathlib.Path(bug["file"]).name for bug in bugs if bug["file"].startswith(NUMERICS)})


def mutated(bug):
    """The text of the bug's file with the bug in it."""
    for path in (bug["file"], bug["test"]):
        if not (ROOT / path).is_file():
            raise Wrong(f"there is no file {path}")
    text = (ROOT / bug["file"]).read_text()
    pattern = r"\s+".join(re.escape(word) for word in bug["find"].split())
    places = list(re.finditer(pattern, text))
    if len(places) != 1:
        raise Wrong(f"its text occurs {len(places)} times in {bug['file']}, expected once: {bug['find']!r}")
    return text[: places[0].start()] + bug["replace"] + text[places[0].end() :]


def misfits(bugs):
    """Bugs whose text or files are not there, each with the reason."""
    found = []
    for bug in bugs:
        try:
            mutated(bug)
        except Wrong as problem:
            found.append(f"{bug['id']}: {problem}")
    return found


def passes(workshop, number, test, bugs):
    """Requires that the test passes without a bug, and that every filter selects something."""
    with_library = any(bug.get("sources") for bug in bugs)
    with_program = any(bug.get("program") for bug in bugs)
    program = workshop.build(f"unchanged{number}", test, (), with_library, with_program)
    filters = sorted({bug["filter"] for bug in bugs})
    done = workshop.run([program, "--gtest_filter=" + ":".join(filters)])
    if done.returncode != 0:
        raise Wrong(f"{test} fails without any bug:\n{done.stdout[-3000:]}")
    ran = re.findall(r"^\[ RUN      \] (\S+)", done.stdout, re.MULTILINE)
    for pattern in filters:
        if not any(fnmatch.fnmatchcase(name, part) for name in ran for part in pattern.split(":")):
            raise Wrong(f"{test} has no test {pattern}")
    return f"passes {len(ran)} tests"


def catches(workshop, bug):
    """Plants the bug and returns what caught it."""
    target = workshop.folder / bug["id"] / bug["file"]
    target.parent.mkdir(parents=True)
    target.write_text(mutated(bug))
    sources = bug.get("sources", ())
    expected = bug.get("compile_error")
    if expected:
        said = workshop.compile(bug["id"], bug["test"], "0.o")
        if said is None or expected not in said:
            raise Wrong(f"it {'compiles' if said is None else 'fails to compile otherwise'}, expected {expected!r}")
        return "caught by the compiler"
    program = workshop.build(bug["id"], bug["test"], sources, bool(sources), bug.get("program", False))
    return f"caught by {workshop.first_failure([program, '--gtest_filter=' + bug['filter']])}"


def report(kind, name, brief, function, *arguments):
    """Runs one piece of work and prints a line; returns the name if something is wrong."""
    start = time.time()
    try:
        text, failed = function(*arguments), False
    except (Wrong, subprocess.TimeoutExpired) as problem:
        lines = str(problem).splitlines()
        errors = [line for line in lines[1:] if "error" in line]
        text, failed = "WRONG: " + ("\n".join(lines[:1] + errors[:1]) if brief else str(problem)), True
    print(f"{kind:<9} {name:<44} {text} ({time.time() - start:.0f} s)", flush=True)
    return name if failed else None


def run_all(bugs, options):
    tests = {}
    for bug in bugs:
        if "compile_error" not in bug:
            tests.setdefault(bug["test"], []).append(bug)
    brief = not options.only
    with tempfile.TemporaryDirectory(prefix="softamp-planted-") as folder:
        workshop = Workshop(folder, options.compiler, options.gtest, options.build)
        with concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
            work = [pool.submit(report, "unchanged", test, brief, passes, workshop, number, test, of_test)
                    for number, (test, of_test) in enumerate(tests.items())]
            work += [pool.submit(report, "planted", bug["id"], brief, catches, workshop, bug) for bug in bugs]
            return [piece.result() for piece in work if piece.result()]


def parse_options(arguments):
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--compiler", default=os.environ.get("CXX", "c++"))
    parser.add_argument("--build", type=pathlib.Path, help="a build folder with libsoftamp.a and compile_commands.json")
    parser.add_argument("--gtest", nargs="+", default=["-lgtest_main", "-lgtest"], help="gtest's libraries")
    parser.add_argument("--jobs", type=int, default=os.cpu_count())
    parser.add_argument("--tables", type=pathlib.Path, default=ROOT / "tests/planted/bugs", help="folder or file")
    parser.add_argument("--only", action="append", metavar="ID")
    parser.add_argument("--parts", type=int, default=1)
    parser.add_argument("--list", action="store_true")
    return parser.parse_args(arguments)


def choose(bugs, options):
    if options.only:
        return [bug for bug in bugs if bug["id"] in options.only]
    part = int(os.environ.get("SOFTAMP_SLICE") or 0) % options.parts
    return [bug for i, bug in enumerate(bugs) if i % options.parts == part]


def main(arguments):
    options = parse_options(arguments)
    start = time.time()
    whole = options.tables.is_dir()
    try:
        bugs = load(sorted(options.tables.glob("*.json")) if whole else [options.tables])
        unknown = sorted(set(options.only or ()) - {bug["id"] for bug in bugs})
        if unknown:
            print(f"planted: no bug is called {', '.join(unknown)}; --list names them all", file=sys.stderr)
            return 2
        problems = misfits(bugs)
        if whole:
            problems += [f"{NUMERICS}/{header} has no bug; add one to a table" for header in headers_without_bug(bugs)]
        chosen = [] if problems or options.list else choose(bugs, options)
        for bug in bugs if options.list else ():
            print(f"{bug['id']:<44} {bug['stands_for']:<40} {pathlib.Path(bug['file']).name}: {bug['why']}")
        problems += [f"{name} is not as it should be" for name in (run_all(chosen, options) if chosen else ())]
    except Wrong as problem:
        problems, chosen, bugs = [str(problem)], [], []
    for problem in problems:
        print(f"planted: {problem}")
    print(f"planted: {len(chosen)} of {len(bugs)} bugs, {len(problems)} problems ({time.time() - start:.0f} s)")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
