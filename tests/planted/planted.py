#!/usr/bin/env python3
"""Plants bugs, one at a time, and requires that the named test of each fails.

    python3 tests/planted/planted.py                       every bug of the tables, on all cores
    python3 tests/planted/planted.py --list                what they are
    python3 tests/planted/planted.py --only ID             one of them, with the end of the output
    python3 tests/planted/planted.py --parts 3             a third of them, chosen by the environment's SOFTAMP_SLICE [=0]

A table bugs/*.json is a list of objects:
    id             unique
    stands_for     the rule or header of which this bug is the specimen
    file           the file to change, from the root of the repository
    find, replace  text; `find` must occur exactly once, any run of blanks in it matches any other
    test, filter   the source file of the test, and the gtest filter that must fail
    why            one sentence: how the test notices
    sources        optional: sources of the library or the command that contain the changed text; they are compiled too and
                   linked before the archive. Needs --build
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
import shlex
import subprocess
import sys
import tempfile
import threading
import time

ROOT = pathlib.Path(__file__).resolve().parents[2]
NUMERICS = "include/softamp/numerics"
UMBRELLAS = {"operations.h"}  # nothing in them but #include lines
FLAGS = ["-std=c++20", "-O1", "-ffp-contract=off", "-fno-fast-math", "-w"]
REQUIRED = ("id", "stands_for", "file", "find", "replace", "test", "filter", "why")
OPTIONAL = ("sources", "compile_error")
LIMIT_SECONDS = 600  # of one compilation and of one run


class Wrong(Exception):
    """A bug that was not caught, a table that does not fit the sources, or a test that fails by itself."""


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
    text = (ROOT / bug["file"]).read_text()
    pattern = r"\s+".join(re.escape(word) for word in bug["find"].split())
    places = list(re.finditer(pattern, text))
    if len(places) != 1:
        raise Wrong(f"its text occurs {len(places)} times in {bug['file']}, expected once: {bug['find']!r}")
    return text[: places[0].start()] + bug["replace"] + text[places[0].end() :]


class Workshop:
    """Compiles and runs tests in a temporary folder."""

    def __init__(self, folder, options):
        self.folder = pathlib.Path(folder)
        self.options = options
        self.commands = {}
        if options.build:
            for entry in json.loads((options.build / "compile_commands.json").read_text()):
                arguments = entry.get("arguments") or shlex.split(entry["command"])
                self.commands[os.path.relpath(entry["file"], ROOT)] = arguments
        self.prelude = self.precompile()

    def precompile(self):
        """gtest's headers, compiled once for all."""
        prelude = self.folder / "prelude.h"
        prelude.write_text("#include <gtest/gtest.h>\n")
        version = subprocess.run([self.options.compiler, "--version"], capture_output=True, text=True, check=True).stdout
        clang = "clang" in version
        compiled = self.folder / ("prelude.h.pch" if clang else "prelude.h.gch")
        self.check([self.options.compiler, *FLAGS, "-x", "c++-header", prelude, "-o", compiled], "the gtest headers")
        return ["-include-pch", compiled] if clang else ["-include", prelude]

    def check(self, command, what):
        done = self.run([str(word) for word in command])
        if done.returncode != 0:
            raise Wrong(f"{what} does not compile: {shlex.join(map(str, command))}\n{done.stdout[-3000:]}")

    def run(self, command):
        return subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, errors="replace",
                              timeout=LIMIT_SECONDS)

    def flags_of(self, source):
        """Definitions, instruction sets and foreign include folders that the build gives a source."""
        words = self.commands.get(source, [])
        kept = [word for word in words if re.match(r"-D|-m", word)]
        for option, value in zip(words, words[1:]):
            if option == "-isystem":
                kept += [option, value]
        return kept

    def compile(self, overlay, source, target, prelude=()):
        """Returns what the compiler said, or None if it succeeded."""
        path = overlay / source if (overlay / source).exists() else ROOT / source
        folders = [f"-I{folder}" for base in (overlay, ROOT) for folder in (base / "include", base)]
        command = [self.options.compiler, *FLAGS, *self.flags_of(source), *folders, *prelude, "-c", path, "-o", target]
        done = self.run([str(word) for word in command])
        return None if done.returncode == 0 else done.stdout

    def build(self, overlay, test, sources):
        """The test's program; Wrong with the compiler's words if there is none."""
        overlay.mkdir(exist_ok=True)
        program = overlay / "test"
        objects = []
        for source, prelude in [(test, self.prelude)] + [(source, ()) for source in sources]:
            objects.append(overlay / f"{len(objects)}.o")
            said = self.compile(overlay, source, objects[-1], prelude)
            if said is not None:
                raise Wrong(f"{source} does not compile:\n{said[-3000:]}")
        archive = [self.options.build / "libsoftamp.a", "-ltbb"] if self.options.build else []
        self.check([self.options.compiler, *objects, *self.options.gtest, *archive, "-pthread", "-o", program], test)
        return program

    def passes(self, test, filters, number):
        """Requires that the test passes without a bug, and that every filter selects something."""
        program = self.build(self.folder / f"unchanged{number}", test, ())
        done = self.run([program, "--gtest_filter=" + ":".join(filters)])
        if done.returncode != 0:
            raise Wrong(f"{test} fails without any bug:\n{done.stdout[-3000:]}")
        ran = re.findall(r"^\[ RUN      \] (\S+)", done.stdout, re.MULTILINE)
        for pattern in filters:
            if not any(fnmatch.fnmatchcase(name, part) for name in ran for part in pattern.split(":")):
                raise Wrong(f"{test} has no test {pattern}")

    def catches(self, bug):
        """Returns what caught the bug."""
        overlay = self.folder / bug["id"]
        target = overlay / bug["file"]
        target.parent.mkdir(parents=True)
        target.write_text(mutated(bug))
        sources = bug.get("sources", ())
        if sources and not self.options.build:
            raise Wrong("it needs the library: give --build")
        expected = bug.get("compile_error")
        if expected:
            said = self.compile(overlay, bug["test"], overlay / "0.o", self.prelude)
            if said is None or expected not in said:
                raise Wrong(f"it {'compiles' if said is None else 'fails to compile otherwise'}, expected {expected!r}")
            return "the compiler"
        return self.first_failure([self.build(overlay, bug["test"], sources), "--gtest_filter=" + bug["filter"]])

    def first_failure(self, command):
        """The name of the first test that fails; nothing is run after it."""
        running, last = "(none)", []
        with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, errors="replace") as run:
            limit = threading.Timer(LIMIT_SECONDS, run.kill)
            limit.start()
            for line in run.stdout:
                last = last[-19:] + [line]
                if line.startswith("[ RUN "):
                    running = line.split()[-1]
                elif line.endswith(": Failure\n") and running != "(none)":
                    limit.cancel()
                    run.kill()
                    return running
            limit.cancel()
        raise Wrong(f"NOT CAUGHT, exit code {run.returncode}:\n{''.join(last)}")


def report(kind, name, result, seconds, quiet):
    try:
        text, failed = result(), None
    except (Wrong, subprocess.TimeoutExpired) as problem:
        text, failed = str(problem) if not quiet else str(problem).splitlines()[0], str(problem)
    print(f"{kind:<10} {name:<44} {'WRONG: ' if failed else ''}{text} ({time.time() - seconds:.0f} s)", flush=True)
    return name if failed else None


def run_all(bugs, options):
    with tempfile.TemporaryDirectory(prefix="softamp-planted-") as folder:
        workshop = Workshop(folder, options)
        quiet = not options.only
        tests = {}
        for bug in bugs:
            if "compile_error" not in bug:
                tests.setdefault(bug["test"], []).append(bug["filter"])
        jobs = [("unchanged", test, lambda test=test, filters=filters, number=number:
                 f"passes: {workshop.passes(test, sorted(set(filters)), number) or len(set(filters))} filters")
                for number, (test, filters) in enumerate(tests.items())]
        jobs += [("planted", bug["id"], lambda bug=bug: f"caught by {workshop.catches(bug)}") for bug in bugs]
        with concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
            results = [pool.submit(lambda job=job: report(*job, time.time(), quiet)) for job in jobs]
            return [result.result() for result in results if result.result()]


def parse_options(arguments):
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--compiler", default=os.environ.get("CXX", "c++"))
    parser.add_argument("--build", type=pathlib.Path, help="a build folder with libsoftamp.a and compile_commands.json")
    parser.add_argument("--gtest", nargs="+", default=["-lgtest_main", "-lgtest"], help="gtest's libraries, for the linker")
    parser.add_argument("--jobs", type=int, default=os.cpu_count())
    parser.add_argument("--tables", type=pathlib.Path, default=pathlib.Path(__file__).parent / "bugs", help="folder or file")
    parser.add_argument("--only", action="append", metavar="ID")
    parser.add_argument("--parts", type=int, default=1)
    parser.add_argument("--list", action="store_true")
    return parser.parse_args(arguments)


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
        if options.list:
            for bug in bugs:
                print(f"{bug['id']:<44} {bug['stands_for']:<28} {pathlib.Path(bug['file']).name}: {bug['why']}")
            return 0
        bare = headers_without_bug(bugs) if whole else []
        part = int(os.environ.get("SOFTAMP_SLICE") or 0) % options.parts
        chosen = [bug for i, bug in enumerate(bugs) if i % options.parts == part]
        if options.only:
            chosen = [bug for bug in bugs if bug["id"] in options.only]
        wrong = run_all(chosen, options)
    except Wrong as problem:
        print(f"planted: {problem}", file=sys.stderr)
        return 1
    for header in bare:
        print(f"planted: {NUMERICS}/{header} has no planted bug; add one to a table in {options.tables}")
    for name in wrong:
        print(f"planted: {name} is not as it should be")
    print(f"planted: {len(chosen)} of {len(bugs)} bugs planted, {len(wrong)} problems ({time.time() - start:.0f} s)")
    return 1 if wrong or bare else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
