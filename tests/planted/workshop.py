"""Compiles and runs tests in a temporary folder, against the repository with one file changed."""

import json
import pathlib
import re
import shlex
import subprocess
import threading

ROOT = pathlib.Path(__file__).resolve().parents[2]
FLAGS = ["-std=c++20", "-O1", "-ffp-contract=off", "-fno-fast-math", "-w"]
CAPTURED = {"stdout": subprocess.PIPE, "stderr": subprocess.STDOUT, "text": True, "errors": "replace"}
LIMIT_SECONDS = 600  # of one compilation and of one run
PROGRAM = "src/program/"


def cuda_libraries(build):
    """What an archive with the CUDA engine in it needs beside the others."""
    cache = build / "CMakeCache.txt" if build else None
    if not cache or not cache.is_file():
        return []
    runtime = [line.split("=", 1)[1] for line in cache.read_text().splitlines()
               if line.startswith("CUDA_cudart_static_LIBRARY:") and "NOTFOUND" not in line]
    return [*runtime, "-ldl", "-lrt", "-lpthread"] if runtime else []


class Wrong(Exception):
    """A bug that was not caught, a table that does not fit the sources, or a test that fails by itself."""


class Workshop:
    def __init__(self, folder, compiler, gtest, build):
        self.folder = pathlib.Path(folder)
        self.compiler = compiler
        self.gtest = gtest
        self.archive = build / "libsoftamp.a" if build else None
        self.libraries = ["-ltbb", "-larchive", "-lprotobuf", "-lre2", *cuda_libraries(build)]
        self.commands = {}  # of each source file that the build compiles, by its path from the root
        self.objects = {}
        for entry in json.loads((build / "compile_commands.json").read_text()) if build else ():
            source = pathlib.Path(entry["file"])
            if source.is_relative_to(ROOT):
                words = entry.get("arguments") or shlex.split(entry["command"])
                name = str(source.relative_to(ROOT))
                self.commands[name] = words
                self.objects[name] = pathlib.Path(entry["directory"]) / words[words.index("-o") + 1]
        self.prelude = self.precompile()

    def precompile(self):
        """gtest's headers, compiled once for all."""
        prelude = self.folder / "prelude.h"
        prelude.write_text("#include <gtest/gtest.h>\n")
        clang = "clang" in self.run([self.compiler, "--version"]).stdout
        compiled = self.folder / ("prelude.h.pch" if clang else "prelude.h.gch")
        self.check([self.compiler, *FLAGS, "-x", "c++-header", prelude, "-o", compiled], "a header with gtest")
        return ["-include-pch", compiled] if clang else ["-include", prelude]

    def run(self, command):
        return subprocess.run([str(word) for word in command], timeout=LIMIT_SECONDS, **CAPTURED)

    def check(self, command, what):
        done = self.run(command)
        if done.returncode != 0:
            raise Wrong(f"{what} does not compile:\n{done.stdout[-3000:]}\n{shlex.join(map(str, command))}")

    def flags_of(self, source):
        """Definitions, instruction sets and foreign include folders that the build gives a source."""
        words = self.commands.get(source, [])
        kept = [word for word in words if re.match("-D|-m", word)]
        for option, value in zip(words, words[1:]):
            if option == "-isystem":
                kept += [option, value]
        return kept

    def compile(self, name, source, target, flags=()):
        """Compiles a source to folder/name/target. Returns what the compiler said, or None if it succeeded."""
        overlay = self.folder / name
        overlay.mkdir(exist_ok=True)
        path = overlay / source if (overlay / source).exists() else ROOT / source
        folders = [f"-I{folder}" for base in (overlay, ROOT) for folder in (base / "include", base)]
        prelude = self.prelude if source.startswith("tests/") else ()
        done = self.run([self.compiler, *FLAGS, *self.flags_of(source), *folders, *prelude, *flags, "-c", path,
                         "-o", overlay / target])
        return None if done.returncode == 0 else done.stdout

    def build(self, name, test, sources, with_library, with_program):
        """The test's program, with `sources` instead of the library's own; Wrong if it does not compile."""
        overlay = self.folder / name
        overlay.mkdir(exist_ok=True)
        if (with_library or with_program) and not (self.archive and self.archive.is_file()):
            raise Wrong("it needs the library: give --build, a folder in which libsoftamp.a is built")
        library = [self.archive, *self.libraries] if with_library or with_program else []
        objects = []
        for source in sources:
            objects.append(overlay / f"{len(objects) + 1}.o")
            said = self.compile(name, source, objects[-1].name)
            if said is not None:
                raise Wrong(f"{source} does not compile:\n{said[-3000:]}")
        flags = []
        if with_program:
            others = [self.objects[s] for s in self.objects if s.startswith(PROGRAM) and s not in sources]
            command = overlay / "softamp"
            self.check([self.compiler, *objects, *others, *library, "-pthread", "-o", command], "the command")
            flags = ["-USOFTAMP_PROGRAM", f'-DSOFTAMP_PROGRAM="{command}"']
            objects = []
        tester = None if with_program else self.as_built(overlay, test)
        if tester is None:
            tester = overlay / "0.o"
            said = self.compile(name, test, tester.name, flags)
            if said is not None:
                raise Wrong(f"{test} does not compile:\n{said[-3000:]}")
        program = overlay / "test"
        self.check([self.compiler, tester, *objects, *self.gtest, *library, "-pthread", "-o", program], test)
        return program

    def as_built(self, overlay, test):
        """The object that the build made of the test, where no header is changed and it is not older than the test."""
        built = self.objects.get(test)
        if built is None or any(overlay.rglob("*.h")) or (overlay / test).exists() or not built.is_file():
            return None
        return built if built.stat().st_mtime >= (ROOT / test).stat().st_mtime else None

    def first_failure(self, command):
        """The name of the first test that fails; nothing is run after it."""
        running, last = None, []
        with subprocess.Popen(command, **CAPTURED) as run:
            limit = threading.Timer(LIMIT_SECONDS, run.kill)
            limit.start()
            try:
                for line in run.stdout:
                    last = last[-19:] + [line]
                    if line.startswith("[ RUN "):
                        running = line.split()[-1]
                    elif running and line.endswith(": Failure\n"):
                        run.kill()
                        return running
            finally:
                limit.cancel()
        raise Wrong(f"NOT CAUGHT, exit code {run.returncode}:\n{''.join(last)}")
