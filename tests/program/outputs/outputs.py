#!/usr/bin/env python3
"""Runs the commands that VERB.txt here has, and compares all that they give with what is kept behind each.

    python3 outputs.py PROGRAM [VERB...]            compares; says as a diff what differs
    python3 outputs.py PROGRAM --write [VERB...]    keeps anew

A kept file is a session: a new command is a line `$ command` in it, continued by `> `, and --write puts the rest behind it:

    $ softamp sum --value 1 --count x --csv out.csv
      a line of standard output, or of a file
    ! a line of standard error
    = 2                        the exit code, where it is not 0
    @ out.csv                  a file that the command wrote or changed; its lines follow
      # 12 lines 1a2b3c4d: the first words of so many lines of a long text, and their digest

All commands of a file run in one folder, one after the other, by sh. `npy FILE DTYPE SHAPE ELEMENT...` makes an array of
elements, which repeat; `npz FILE ARRAY...` packs such files; `examples` is the project's. JSON is kept without its line breaks.
Whoever asks gnuplot for a picture gets back the script. Exit codes: 0, 1 something differs.
"""

import argparse
import ast
import concurrent.futures
import csv
import difflib
import hashlib
import io
import json
import os
import pathlib
import re
import shlex
import struct
import subprocess
import sys
import tempfile
import zipfile

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parents[2]
LONG_TEXT = 14, 640  # lines and characters; of a longer text digests are kept
LONG_LINE = 200  # characters
WIDE = 140  # characters of a line of JSON
MOST_SECONDS = 60  # of processor time, of a command

# What is not the same on every machine and in every build: why, pattern, what is kept in its place.
RULES = [
    ("CLI11's own sentences", r"^(softamp[a-z ]*: )(?:(?:[A-Z-]+|A subcommand) is required|\S+ requires \S+|\S+ [0-9] required \S+ missing)(; see )",
     r"\1CLI11 refuses it\2"),
    ("times", r'("(?:seconds|images_per_second|relative_speed)": ?)[0-9][0-9.e+]*', r"\g<1>0"),
    ("times", r"(time so far|throughput) [0-9.]+", r"\1 S"),
    ("times, in the table of a study", r"( [0-9]+\.[0-9]) +[0-9]+( +[0-9.]+)?( +[0-9]+  [a-z])", r"\1  S\3"),
    ("the build", r'("program": ?")[0-9a-f]{32}"', r'\1B"'),
    ("the checksum of times and build", r'("checksum": ?")[0-9a-f]{64}"', r'\1C"'),
]
# How CLI11 lays out help has changed with 2.5 and 2.6; what an option excludes comes in the order of addresses.
HELP = [(r"^Usage: | +$", ""), (r"^  (-\w), ?(\S+(?: \S+)?) {2,}", r"  \1,\2  "), (r"(?<= Excludes: )--.*", lambda found: " ".join(sorted(found[0].split()))),
        (r"^(OPTIONS|POSITIONALS|SUBCOMMANDS):$", lambda found: found[1].capitalize() + ":"), (r"^\n", "")]
TIMES = {"images_per_second", "relative_speed"}  # columns of CSV

GNUPLOT = """#!/bin/sh
# Gives back its script as if that were the picture; GNUPLOT says what else happens.
case "$GNUPLOT" in
  fails) echo 'line 7: cannot draw' >&2; exit 1 ;;
  dies) kill -9 $$ ;;
  empty) exit 0 ;;
  mute) echo '<svg></svg>'; exit 0 ;;
esac
echo '<svg>'
cat
echo 'IEND</svg>'
echo 'softamp axes 1 2 3 4 100 900 50 500' >&2
"""


def sample(dtype):
    """The letter of `struct` for a type of NumPy, and its size."""
    letter = {"f2": "e", "f4": "f", "f8": "d", "u1": "B", "u2": "H", "u4": "I", "u8": "Q", "i1": "b", "i2": "h", "i4": "i",
              "i8": "q", "b1": "?"}[dtype[1:]]
    return (">" if dtype[0] == ">" else "<") + letter


def make_npy(folder, name, dtype, shape, *elements):
    shape = ast.literal_eval(shape)
    count = 1
    for extent in shape:
        count *= extent
    form = sample(dtype)
    read = (lambda text: int(text, 0)) if form[1] in "BHIQbhiq?" else float
    values = [read(elements[i % len(elements)]) for i in range(count)]
    head = repr({"descr": dtype, "fortran_order": False, "shape": shape}).encode()
    head += b" " * (-(len(head) + 11) % 64) + b"\n"
    data = b"".join(struct.pack(form, value) for value in values)
    (folder / name).write_bytes(b"\x93NUMPY\x01\x00" + struct.pack("<H", len(head)) + head + data)


def make_npz(folder, name, *members):
    with zipfile.ZipFile(folder / name, "w") as packed:
        for member in members:
            packed.writestr(zipfile.ZipInfo(member), (folder / member).read_bytes())


MADE = {"npy ": make_npy, "npz ": make_npz}


def hexadecimal(data, size):
    """Elements in hexadecimal, sixteen a line; of many the first line and a digest of all."""
    items = [data[i:i + size][::-1].hex() for i in range(0, len(data), size)]
    lines = [" ".join(items[i:i + 16]) for i in range(0, len(items), 16)]
    return lines if len(lines) <= 3 else lines[:1] + [f"and {len(items) - 16} more, {digest(lines)}"]


def lines_of_npy(data):
    length = struct.unpack("<H", data[8:10])[0]
    head = ast.literal_eval(data[10:10 + length].decode())
    size = int(head["descr"][2:]) if isinstance(head["descr"], str) else 1
    return [f"npy {head['descr']} {head['shape']}"] + hexadecimal(data[10 + length:], size)


def lines_of_safetensors(data):
    length = struct.unpack("<Q", data[:8])[0]
    return [data[8:8 + length].decode().rstrip()] + hexadecimal(data[8 + length:], 1)


# What tells of the program, the machine and the command (program.provenance looks at it).
PROVENANCE = re.compile(r',\n  "provenance": \{\n(?:    .*\n)*  \}(?=\n\}\n$)|, "provenance": \{.*\}(?=\}\n$)')


def without_command(text):
    """Of a document or a table for LaTeX."""
    return re.sub(r"^% softamp .*", "% softamp", PROVENANCE.sub("", text) if text[:1] == "{" else text)


def fold(text):
    """JSON as it is printed, two blanks a level, in longer lines; as it is where it is printed otherwise."""
    try:
        json.loads(text)
    except ValueError:
        return text.splitlines()
    folded, depth = [""], 0
    for line in text.splitlines():
        bare = line.lstrip(" ")
        depth -= bare[0] in "]}" if bare else 0
        if len(line) - len(bare) != 2 * depth:
            return text.splitlines()
        depth += bare[-1] in "[{"
        if folded[-1] and len(folded[-1]) + len(bare) > WIDE:
            folded.append("")
        folded[-1] += (" " if folded[-1] and folded[-1][-1] == "," else "") + bare
    return folded


def lines_of_text(text):
    text = PROVENANCE.sub("", text) if text[:1] == "{" else text
    lines = fold(text) if text[:1] in "{[" and text.count("\n") > 1 else text.split("\n")
    if lines and not lines[-1]:
        lines.pop()
    elif text and not text.endswith("\n"):
        lines.append("\\ no line break at the end")
    return lines


def lines_of_bytes(name, data):
    if data.startswith(b"\x93NUMPY"):
        return lines_of_npy(data)
    if name.endswith(".safetensors") and len(data) > 8:
        return lines_of_safetensors(data)
    if data.startswith(b"PK"):
        with zipfile.ZipFile(io.BytesIO(data)) as packed:
            return [line for member in packed.namelist() for line in [member] + lines_of_bytes(member, packed.read(member))]
    try:
        return lines_of_text(data.decode())
    except UnicodeDecodeError:
        return hexadecimal(data, 1)


def without_times(text):
    """A table of CSV without its columns of times."""
    columns = text.split("\n", 1)[0].split(",")
    if not TIMES & set(columns):
        return text
    rows = list(csv.reader(io.StringIO(text)))
    times = [i for i, column in enumerate(rows[0]) if column in TIMES]
    for row in rows[1:]:
        for i in times:
            row[i] = "S"
    out = io.StringIO()
    csv.writer(out, lineterminator="\n").writerows(rows)
    return out.getvalue()


def digest(lines):
    return hashlib.sha256("\n".join(lines).encode()).hexdigest()[:8]


class Shown:
    """Lines as they are kept, and of each digest what it stands for."""

    def __init__(self):
        self.lines, self.whole = [], {}

    def put(self, mark, lines):
        if len(lines) > LONG_TEXT[0] or len(lines) > 3 and sum(map(len, lines)) > LONG_TEXT[1]:
            lines = self.chunks(lines)
        for line in lines:
            if len(line) > LONG_LINE:
                short = f"# {len(line)} characters {digest([line])}: {line[:80]}"
                self.whole[short] = [line]
                line = short
            line = "".join(c if c.isprintable() or c == "\t" else repr(c)[1:-1] for c in line)
            self.lines.append((mark + line).rstrip(" ") if line.strip() else mark.rstrip(" "))

    def chunks(self, lines):
        """A chunk ends behind a line that its own digest chooses: lines that come or go move no other chunk."""
        chunks, usual = [[]], 12
        while 12 * usual < len(lines):
            usual *= 2
        for line in lines:
            chunks[-1].append(line)
            if int(digest([line]), 16) % usual == 0 or len(chunks[-1]) == 3 * usual:
                chunks.append([])
        kept = []
        for chunk in filter(None, chunks):
            first = next((line.strip() for line in chunk if line.strip()), "")
            kept.append(f"# {len(chunk)} lines {digest(chunk)}: {first[:60]}".rstrip())
            self.whole[kept[-1]] = chunk
        return kept


class Session:
    """The commands of one file, in a folder of their own."""

    def __init__(self, program, file):
        self.program, self.file = program, file
        self.commands = []  # its lines, and what is kept behind them
        for line in file.read_text(encoding="utf-8").splitlines():
            if line.startswith("$ "):
                self.commands.append(([line], []))
            elif line.startswith("> ") and not self.commands[-1][1]:
                self.commands[-1][0].append(line)
            else:
                self.commands[-1][1].append(line)
        self.shown = []

    def run(self):
        with tempfile.TemporaryDirectory() as name:
            self.folder = pathlib.Path(name).resolve() / "here"
            tools = self.folder.parent / "bin"
            for folder in (self.folder, tools):
                folder.mkdir()
            (tools / "softamp").symlink_to(self.program)
            (tools / "gnuplot").write_text(GNUPLOT, encoding="utf-8")
            (tools / "gnuplot").chmod(0o755)
            (self.folder / "examples").symlink_to(ROOT / "examples")
            self.environment = {"PATH": f"{tools}:/usr/bin:/bin", "LC_ALL": "C", "HOME": str(self.folder)}
            self.environment |= {name: value for name, value in os.environ.items() if name.startswith(("SOFTAMP_MUTANT", "ASAN_", "TSAN_"))}
            self.shown = [self.give([line[2:] for line in lines]) for lines, _ in self.commands]
        return self

    def files(self):
        found = {}
        for folder, folders, names in os.walk(self.folder):
            for name in names + [name for name in folders if (pathlib.Path(folder) / name).is_symlink()]:
                path = pathlib.Path(folder) / name
                if path.is_file() and not path.is_symlink():
                    found[path.relative_to(self.folder).as_posix()] = path.read_bytes()
        return found

    def plain(self, text):
        for _, pattern, instead in RULES:
            text = re.sub(pattern, instead, text, flags=re.MULTILINE)
        text = without_times(text)
        return text.replace(str(self.folder), "HERE")

    def trial(self, line):
        """Exit code, standard output and error, and the files that a command writes; the folder is as before afterwards."""
        before = self.files()
        done = subprocess.run(["sh", "-c", f"ulimit -t {MOST_SECONDS}\n{line}"], cwd=self.folder, env=self.environment,
                              stdin=subprocess.DEVNULL, capture_output=True, check=False)
        after = self.files()
        changed = {name: data for name, data in after.items() if before.get(name) != data}
        for name in changed:
            if name in before:
                (self.folder / name).write_bytes(before[name])
            else:
                (self.folder / name).unlink()
        for name in before.keys() - after.keys():
            (self.folder / name).write_bytes(before[name])
        texts = [without_command(self.plain(text.decode(errors="backslashreplace"))) for text in (done.stdout, done.stderr)]
        files = {}
        for name, data in changed.items():
            try:
                files[name] = without_command(self.plain(data.decode()))
            except UnicodeDecodeError:
                files[name] = data
        return done.returncode, texts, files

    def give(self, lines):
        """What a command gives, as it is kept."""
        shown = Shown()
        if make := MADE.get(lines[0][:4]):
            make(self.folder, *shlex.split(lines[0])[1:])
            return shown
        before = self.files()
        done = subprocess.run(["sh", "-c", f"ulimit -t {MOST_SECONDS}\n" + "\n".join(lines)], cwd=self.folder, env=self.environment,
                              stdin=subprocess.DEVNULL, capture_output=True, check=False)
        printed = self.plain(done.stdout.decode(errors="surrogateescape"))
        for pattern, instead in HELP if "--help" in lines[0] else []:
            printed = re.sub(pattern, instead, printed, flags=re.MULTILINE)
        shown.put("  ", lines_of_bytes("", printed.encode(errors="surrogateescape")))
        shown.put("! ", lines_of_text(self.plain(done.stderr.decode(errors="backslashreplace"))))
        if done.returncode:
            shown.lines.append(f"= {done.returncode}")
        if "softamp " not in lines[0]:
            return shown
        after = self.files()
        for name in sorted(before.keys() | after.keys()):
            if name not in after:
                shown.lines.append(f"@ {name} is gone")
            elif after[name] != before.get(name):
                shown.lines.append(f"@ {name}")
                shown.put("  ", self.kept_file(name, after[name]))
        return shown

    def kept_file(self, name, data):
        try:
            return lines_of_bytes(name, self.plain(data.decode()).encode())
        except UnicodeDecodeError:
            return lines_of_bytes(name, data)

    def text(self):
        return "".join(line + "\n" for (lines, _), shown in zip(self.commands, self.shown) for line in lines + shown.lines)

    def differences(self):
        said = []
        for (lines, kept), shown in zip(self.commands, self.shown):
            if kept == shown.lines:
                continue
            said += ["", *lines]
            for line in list(difflib.unified_diff(kept, shown.lines, lineterm="", n=2))[2:]:
                said.append(line)
                whole = shown.whole.get(line[3:]) if line.startswith("+") else None
                said += ["       now: " + text for text in (whole or [])[:60]]
        return said


def main():
    parser = argparse.ArgumentParser(usage="outputs.py PROGRAM [--write] [VERB...]")
    parser.add_argument("program")
    parser.add_argument("verbs", nargs="*")
    parser.add_argument("--write", action="store_true")
    given = parser.parse_intermixed_args()
    files = sorted(HERE.glob("*.txt"))
    if unknown := set(given.verbs) - {file.stem for file in files}:
        parser.error(f"no {', '.join(sorted(unknown))} here; there are: {', '.join(file.stem for file in files)}")
    program = pathlib.Path(given.program).resolve()
    sessions = [Session(program, file) for file in files if not given.verbs or file.stem in given.verbs]
    # Long ones first, so that none is left at the end.
    sessions.sort(key=lambda session: -session.file.stat().st_size)
    with concurrent.futures.ThreadPoolExecutor(2) as pool:
        list(pool.map(Session.run, sessions))
    differing = 0
    for session in sorted(sessions, key=lambda session: session.file):
        if given.write:
            session.file.write_text(session.text(), encoding="utf-8")
        elif said := session.differences():
            differing += 1
            print(f"tests/program/outputs/{session.file.name}:", *said, sep="\n")
    if differing:
        print(f"\nIf that is meant: python3 tests/program/outputs/outputs.py {given.program} --write, and read the diff.")
    print(f"{sum(len(session.commands) for session in sessions)} commands of {len(sessions)} files, {differing} differ")
    return 1 if differing else 0


if __name__ == "__main__":
    sys.exit(main())
