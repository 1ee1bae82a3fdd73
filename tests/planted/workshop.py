"""Compiles and links tests in a temporary folder, against the repository with one file changed, and runs them."""

import functools
import itertools
import json
import os
import pathlib
import re
import shlex
import shutil
import signal
import subprocess
import threading

from texts import FAMILIES, ROOT, Wrong, closure, is_parity, trimmed, written

FLAGS = ["-std=c++20", "-O1", "-ffp-contract=off", "-fno-fast-math", "-w"]
# Compiled once for all: gtest's headers, and those of the standard library that take longest.
PRELUDE = ["gtest/gtest.h", "algorithm", "charconv", "cmath", "filesystem", "fstream", "functional", "map", "memory",
           "numeric", "optional", "random", "set", "span", "sstream", "string", "variant", "vector"]
LIMIT_SECONDS = 600  # of one compilation and of one run
PROGRAM = "src/program/"
UNIT_PART = re.compile(r'^#include "(\S+\.(?:cpp|cu))"', re.MULTILINE)


class Unit:
    """One compilation of the build: a source, or a batch that includes several."""

    def __init__(self, entry):
        self.path = pathlib.Path(entry["directory"]) / entry["file"]
        words = entry.get("arguments") or shlex.split(entry["command"])
        self.object = pathlib.Path(entry["directory"]) / words[words.index("-o") + 1]
        # Definitions, instruction sets and foreign include folders.
        self.sets = [word for word in words if word.startswith("-m")]
        self.flags = [word for word in words if word.startswith("-D")]
        # The kernels, compiled for the host; they have traps of their own.
        self.serial_grid = "-Dcuda=serial_grid" in words
        if self.serial_grid:
            self.sets += [word for word in words if word.startswith("-fsanitize")]
        self.for_gpu = "cu" in words[words.index("-x") + 1 :][:1] if "-x" in words else False
        self.interposable = "-fPIC" in words
        # The command of a minimal build, of the same sources with headers of its own.
        self.minimal = any(word.endswith("/src/minimal/packages") for word in words)
        for option, value in zip(words, words[1:]):
            if option == "-isystem":
                self.flags += [option, value]

    def itself(self):
        return of_repository([self.path])

    def parts(self):
        """The sources that it includes, as a batch does."""
        text = self.path.read_text() if self.path.is_file() else ""
        return of_repository(ROOT / part for part in UNIT_PART.findall(text))


def sources_of(test, units):
    """The sources of a test: its own, and all files of the parity suite."""
    suite = [source for source in units if source.startswith("tests/backend/parity")] if is_parity(test) else []
    return [source for source in [test, *suite] if source in units]


def changed_at(file):
    return (ROOT / (FAMILIES if file in written() else file)).stat().st_mtime


def name_of(path):
    """From the root; a source that is written into the build folder has the name that it would have here; else None."""
    own = next((name for name in written() if str(path).endswith(f"/{name}")), None)
    return own or (str(path.relative_to(ROOT)) if path.is_relative_to(ROOT) else None)


def of_repository(paths):
    return [name for name in map(name_of, paths) if name]


@functools.cache
def processor_sets():
    """What this processor has, by the names of the compiler's options."""
    said = pathlib.Path("/proc/cpuinfo").read_text() if os.path.exists("/proc/cpuinfo") else ""
    return {word.replace("_", "") for line in said.splitlines() if line.startswith("flags") for word in line.split()}


class Workshop:
    def __init__(self, folder, options):
        self.folder = pathlib.Path(folder)
        self.compiler = options.compiler
        self.spent = threading.local()  # processor seconds of this thread's children
        # Without the slice: a test that takes a part of its cases by it takes all of them.
        self.environment = {name: value for name, value in os.environ.items() if name != "SOFTAMP_SLICE"}
        self.clang = "clang" in self.execute([self.compiler, "--version"])[1]
        self.link_inputs = ["-Wl,-z,muldefs", "-Wl,--start-group", *options.link, "-Wl,--end-group", "-pthread"]
        self.prelude = ()
        commands = options.build / "compile_commands.json"
        if not commands.is_file():
            raise Wrong(f"there is no {commands}; expected a build folder configured with tests")
        self.units = {}  # by source
        units = map(Unit, json.loads(commands.read_text()))
        units = [unit for unit in units if not unit.minimal and not unit.for_gpu]
        # What tests can run of cuda/ goes first; the compilation of a file by itself goes before a batch.
        for of_grid, parts_of in itertools.product((True, False), (Unit.itself, Unit.parts)):
            for unit in units:
                for part in parts_of(unit) if unit.serial_grid == of_grid else ():
                    self.units.setdefault(part, unit)

    def unit_of(self, source):
        if source not in self.units:
            raise Wrong(f"the build does not compile {source}")
        return self.units[source]

    def compiled(self, sources):
        """Those of them that the build compiles: not those of another machine's instructions."""
        known = [source for source in sources if source in self.units]
        if sources and not known:
            raise Wrong(f"the build does not compile {', '.join(sources)}")
        return known

    def lacking(self, bug):
        """The instruction sets without which nothing runs what the bug changes, and that this processor lacks."""
        needed = {bug.instruction_set} - {""}
        sets = [{word[2:] for word in self.units[source].sets} for source in bug.sources if source in self.units]
        needed |= set.intersection(*sets) if sets else set()
        return sorted(name for name in needed if name.startswith("avx512") and name not in processor_sets())

    def execute(self, command, until=None, settings=()):
        """Runs a command to its end, or to the first line of which until(line) holds: exit code, output, that line.
        `settings`: of its environment."""
        lines, stopped = [], None
        with subprocess.Popen([str(word) for word in command], stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                              text=True, errors="replace", start_new_session=True,
                              env=self.environment | dict(settings)) as run:
            late = threading.Event()

            def stop():
                late.set()
                os.killpg(run.pid, signal.SIGKILL)

            limit = threading.Timer(LIMIT_SECONDS, stop)
            limit.start()
            for line in run.stdout:
                lines.append(line)
                if until and until(line):
                    stopped = line
                    os.killpg(run.pid, signal.SIGKILL)
                    break
            limit.cancel()
            _, status, used = os.wait4(run.pid, 0)
            run.returncode = os.waitstatus_to_exitcode(status)
        self.spent.seconds = self.spent_here() + used.ru_utime + used.ru_stime
        if late.is_set():
            raise Wrong(f"it ran for more than {LIMIT_SECONDS} s: {shlex.join(map(str, command))}")
        return run.returncode, "".join(lines), stopped

    def spent_here(self):
        return getattr(self.spent, "seconds", 0)

    def check(self, command, what):
        code, said, _ = self.execute(command)
        if code != 0:
            raise Wrong(f"{what}:\n{said[-3000:]}\n{shlex.join(map(str, command))}")

    def precompile(self, test):
        """Compiles the headers with the definitions of this test; they serve only what has the same ones."""
        unit = self.unit_of(test)
        path = self.folder / "prelude.h"
        path.write_text("".join(f"#include <{header}>\n" for header in PRELUDE))
        compiled = self.folder / ("prelude.h.pch" if self.clang else "prelude.h.gch")
        self.check([self.compiler, *FLAGS, *unit.flags, "-x", "c++-header", path, "-o", compiled],
                   "the headers do not compile")
        self.prelude = [*unit.flags, *(["-include-pch", compiled] if self.clang else ["-include", path])]

    def overlay(self, name):
        """The folder of one bug, first on the include path. What is in it stands for files of the repository."""
        folder = self.folder / name
        folder.mkdir(parents=True, exist_ok=True)
        return folder

    def put(self, name, file, text):
        target = self.overlay(name) / file
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(text)
        return target

    def forget(self, name):
        shutil.rmtree(self.overlay(name))

    def compile(self, name, source, path, flags=()):
        """Compiles `path`, which stands for `source`, and returns the object; Wrong with what the compiler said."""
        overlay = self.overlay(name)
        unit = self.unit_of(source)
        folders = [f"-I{folder}" for base in (overlay, ROOT) for folder in (base / "include", base)]
        prelude = () if unit.sets else self.prelude  # it would not fit with other instruction sets
        target = overlay / f"{len(list(overlay.glob('*.o')))}.o"
        options = [*FLAGS, *prelude, *unit.flags, *unit.sets, *folders, *flags]
        self.check([self.compiler, *options, "-x", "c++", "-c", path, "-o", target], f"{source} does not compile")
        return target

    def compile_source(self, name, source):
        """A source of the library or the command, changed or not.

        In a batch, g++ leaves calls of other functions to the linker where the object may be put into a shared library;
        the linker takes the first definition, which is the changed one. Else the whole batch is compiled.
        """
        changed = self.folder / name / source
        unit = self.unit_of(source)
        path = changed if changed.is_file() else unit.path if source in written() else ROOT / source
        if source not in written() and unit.path != ROOT / source and (self.clang or not unit.interposable):
            text = unit.path.read_text().replace(f'"{ROOT / source}"', f'"{path}"').replace(f'"{source}"', f'"{path}"')
            path = self.put(name, f"batch_{unit.path.name}", text)
        return self.compile(name, source, path)

    def tester(self, name, test, gtest_filter, flags=()):
        """The object of a test, with no more than the filter selects."""
        return self.compile(name, test, self.put(name, test, trimmed(test, gtest_filter)), flags)

    def built(self, unit):
        """Whether the object that the build made of a unit is there, and nothing is newer."""
        parts = unit.itself() + unit.parts()
        files = frozenset().union(*map(closure, parts))
        return unit.object.is_file() and unit.object.stat().st_mtime >= max(map(changed_at, files))

    def built_testers(self, test):
        """The objects that the build made of a test; None if there are none, or something is newer."""
        units = {self.units[source] for source in sources_of(test, self.units)}
        return [unit.object for unit in units] if units and all(map(self.built, units)) else None

    def program(self, name):
        return self.overlay(name) / "test"

    def link_test(self, name, objects, options=()):
        program = self.program(name)
        self.check([self.compiler, *options, *objects, *self.link_inputs, "-o", program], "it does not link")
        return program

    def link_command(self, name, sources=(), changed=()):
        """The command `softamp`, with the objects `changed` instead of those of `sources`."""
        command = self.overlay(name) / "softamp"
        # Of a batch that was compiled for one source alone, the linker takes all others.
        left_out = {unit.object for unit in map(self.unit_of, sources) if self.clang or not unit.interposable or not unit.parts()}
        others = {unit.object for source, unit in self.units.items() if source.startswith(PROGRAM)} - left_out
        self.check([self.compiler, *changed, *sorted(others), *self.link_inputs, "-o", command],
                   "the command does not link")
        return command

    def first_failure(self, command, settings, ends_by):
        """The name of the first test that fails; nothing is run after it. `ends_by`: the signal that must end the test,
        or None."""
        running = []

        def fails(line):
            if line.startswith("[ RUN "):
                running.append(line.split()[-1])
            if line.startswith("DIFFERS "):  # the parity suite
                running.append(line[len("DIFFERS ") :].split(":")[0])
                return True
            return bool(running) and line.endswith(": Failure\n")

        code, said, failure = self.execute(command, fails, settings)
        if ends_by and code == -signal.Signals[ends_by]:
            return ends_by
        if failure is None or ends_by:
            raise Wrong(f"NOT CAUGHT, exit code {code}:\n" + "".join(said.splitlines(True)[-20:]))
        return running[-1]
