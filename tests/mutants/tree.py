"""A copy of the sources with drawn mutants in it, and its build, in which those that do not compile are left out."""

import json
import os
import pathlib
import random
import re
import subprocess

from equivalent import Table
from sites import ROOT, all_sites

PLACES = 1 << 15  # of mutant.h
PLACE = re.compile(r"(?:^|\bat )(/\S+?|\.\S+?):(\d+):\d+(?::\s+(?:error|required|from)|[,:]?$)", re.MULTILINE)
INSTRUCTIONS = {"avx512": "avx512f", "avx512fp16": "avx512_fp16", "avx2": "avx2"}  # in the names of units; in those of /proc/cpuinfo
NUMBERED = re.compile(r"\bkPlace = (\d+)")


def folder_of(file):
    """include/softamp/numerics, src/train, emu: what the shares are counted for."""
    parts = file.split("/")
    return "/".join(parts[: {"include": 3, "src": 2}.get(parts[0], 1)][: len(parts) - 1])


def drawn(count, seed, folders=()):
    """`count` sites, of each folder a share by its number of sites; those of one statement that cross each other are not both drawn."""
    sites = all_sites(Table().kinds, folders)
    random.Random(seed).shuffle(sites)
    taken, chosen = {}, []
    for site in sites:
        others = taken.setdefault(site.file, [])
        if all(apart(site, other) for other in others):
            others.append(site)
            chosen.append(site)
            if len(chosen) == count:
                break
    return chosen


def apart(one, other):
    if one.end <= other.first or other.end <= one.first:
        return True
    inner, outer = sorted((one, other), key=lambda site: site.end - site.first)
    return outer.first < inner.first and inner.end < outer.end and outer.kind in ("statement", "condition")


class Tree:
    def __init__(self, folder, chosen):
        """`chosen`: sites by the number of their place, from 1."""
        self.folder = folder
        self.source, self.build = folder / "source", folder / "build"
        self.sites = chosen
        kept = folder / "left_out.json"
        self.left_out = set(json.loads(kept.read_text())) if kept.is_file() else set()  # numbers of those that do not compile

    def write(self):
        """The whole tree; a file whose text did not change keeps its time."""
        names = subprocess.run(["git", "ls-files"], cwd=ROOT, check=True, capture_output=True, text=True).stdout.split("\n")
        by_file = {}
        for number, site in self.sites.items():
            if number not in self.left_out:
                by_file.setdefault(site.file, []).append((number, site))
        for name in filter(None, names):
            if not (ROOT / name).is_file():
                continue
            data = (ROOT / name).read_bytes()
            if name in by_file:
                data = instrumented(data.decode(), by_file[name]).encode()
            if name == "tests/main.cpp":
                data = f'#include "{ROOT}/tests/mutants/cases.h"\n'.encode() + data
            target = self.source / name
            if not target.is_file() or target.read_bytes() != data:
                target.parent.mkdir(parents=True, exist_ok=True)
                target.write_bytes(data)
                target.chmod((ROOT / name).stat().st_mode & 0o777)

    def _keep(self):
        (self.folder / "left_out.json").write_text(json.dumps(sorted(self.left_out)))

    def configure(self):
        flags = f"-std=c++20 -include {ROOT}/tests/mutants/mutant.h -w -Wno-narrowing"
        self._run(["cmake", "-S", self.source, "-B", self.build, "-G", "Ninja", "-DCMAKE_BUILD_TYPE=Release", "-DSOFTAMP_CUDA=OFF",
                   "-DSOFTAMP_BUILD_EXAMPLES=OFF", f"-DCMAKE_CXX_FLAGS={flags}"], "configure.log")

    def _run(self, command, log):
        with open(self.folder / log, "w", encoding="utf-8") as out:
            code = subprocess.run([str(word) for word in command], stdout=out, stderr=subprocess.STDOUT).returncode
        if code:
            raise SystemExit(f"mutants: {command[0]} failed; its log: {self.folder / log}")

    def make(self, targets, jobs):
        """Builds; what the compiler refuses is left out, and the rest built again. Returns whether anything was built."""
        for attempt in range(40):
            self.write()
            run = subprocess.run(["ninja", "-C", str(self.build), "-k", "0", "-j", str(jobs), *targets], capture_output=True, text=True)
            (self.folder / "build.log").write_text(run.stdout)
            if run.returncode == 0:
                return attempt > 0 or "no work to do" not in run.stdout
            refused = self.refused(run.stdout)
            print(f"mutants: build {attempt}: {len(refused)} do not compile", flush=True)
            if not refused:
                raise SystemExit(f"mutants: the build failed for another reason; its log: {self.folder / 'build.log'}")
            self.left_out |= refused
            self._keep()
        raise SystemExit("mutants: the build does not come to an end")

    def refused(self, said):
        """The numbers in what the compiler said; where it says none, those on the lines that it names."""
        lines = {}
        for number, site in self.sites.items():
            lines.setdefault((site.file, site.line), set()).add(number)
        found = set()
        for part in re.split(r"^FAILED: ", said, flags=re.MULTILINE)[1:]:
            named = {int(number) for number in NUMBERED.findall(part)} - self.left_out
            found |= named
            if named:
                continue
            for match in PLACE.finditer(part):
                path = pathlib.Path(match.group(1))
                path = path if path.is_absolute() else self.build / path
                path = pathlib.Path(os.path.normpath(path))
                if path.is_relative_to(self.source):
                    file, line = str(path.relative_to(self.source)), int(match.group(2))
                    # A statement may have begun some lines before the one that is named, or end behind it.
                    near = [lines.get((file, at), set()) - self.left_out for at in [*range(line, line - 6, -1), line + 1, line + 2]]
                    found |= next(filter(None, near), set())
        return found

    def programs(self):
        """The programs of GoogleTest's, one a folder of tests."""
        said = subprocess.run(["ninja", "-C", self.build, "-t", "targets", "all"], check=True, capture_output=True, text=True).stdout
        return re.findall(r"^(tests/test_\w+): CXX_EXECUTABLE", said, re.MULTILINE)

    def decided_at_run_time(self, programs):
        """The places whose code is in these programs; the others are constants of the compiler."""
        return set().union(*map(self._places_in, programs))

    def of_other_processors(self, flags):
        """The places that only units of the library have which are for instructions that no flag of the processor names."""
        here, elsewhere = set(), set()
        lacking = [name for name, flag in INSTRUCTIONS.items() if flag not in flags]
        for compiled in self.build.rglob("*.o"):
            (elsewhere if any(name in compiled.name for name in lacking) else here).update(self._places_in(compiled))
        return elsewhere - here

    def _places_in(self, compiled):
        dump = self.folder / "places"
        dump.unlink(missing_ok=True)
        subprocess.run(["objcopy", "--dump-section", f".mutants={dump}", compiled, "/dev/null"], stderr=subprocess.DEVNULL)
        data = dump.read_bytes() if dump.is_file() else b""
        return {int.from_bytes(data[at : at + 4], "little") for at in range(0, len(data), 4)}

    def tests(self):
        """ctest's entries that are tests of GoogleTest's: name, command, environment, limit."""
        said = subprocess.run(["ctest", "--show-only=json-v1"], cwd=self.build, check=True, capture_output=True, text=True).stdout
        for test in json.loads(said)["tests"]:
            properties = {item["name"]: item["value"] for item in test["properties"]}
            command = test.get("command")
            if command and len(command) == 2 and command[1].startswith("--file=") and "nightly" not in properties.get("LABELS", []):
                yield test["name"], command, dict(item.split("=", 1) for item in properties.get("ENVIRONMENT", []) if "=" in item)


def instrumented(text, numbered):
    edits = []
    for number, site in numbered:
        for order, (position, put) in enumerate(site.edits):
            opens = order % 2 == 0 and len(site.edits) > 1
            # At one position what closes comes before what opens; outer ones open first and close last.
            edits.append((position, 1 if opens else 0, -(site.end - site.first) if opens else site.end - site.first, put.format(number)))
    pieces, at = [], 0
    for position, _, _, put in sorted(edits):
        pieces += [text[at:position], put]
        at = position
    return "".join([*pieces, text[at:]])
