#!/usr/bin/env python3
"""Refuses files of the repository that are of no known kind: `file_kinds.py ROOT`, or `file_kinds.py --self-test`.

What git tracks; without git, what lies in the folder, build folders left out. A text has a known name or suffix, is
UTF-8 without NUL bytes, and not large; what need not be text is listed with its greatest size. A new kind of file is a
line here.
"""

import fnmatch
import os
import pathlib
import subprocess
import sys
import tempfile

SUFFIXES = set(""".bash .cmake .cpp .cu .expected .h .hpp .in .json .md .npy .pb .pbtxt .png .proto .ptx .py .pyi .sh
                  .supp .toml .txt .typed .zsh""".split())
NAMES = set(""".ci/run .clang-format .clang-tidy .gitignore CITATION.cff Containerfile Containerfile.dockerignore""".split())
MOST_BYTES = 100_000  # of a text
ANY_BYTES = {  # what need not be text, and how many bytes of it
    "docs/*.png": 150_000,  # plots
    "tests/reproduce/vectors/*.txt.gz": 20_000,  # packed as those of real tensor cores are
    "examples/graphs/*.npy": 1_000,  # feeds
    "tests/fuzz/corpus/*/*": 4_000,  # inputs, under any name
}
NOT_OURS = {".git", "__pycache__", "CMakeUserPresets.json"}  # beside build folders


def fault_of(root, name):
    """What is wrong with a file; None where nothing is."""
    path = root / name
    if path.is_symlink() or not path.is_file():
        return "is no plain file"
    size = path.stat().st_size
    most = next((most for pattern, most in ANY_BYTES.items() if fnmatch.fnmatch(name, pattern)), None)
    if most is None and path.suffix not in SUFFIXES and not {name, path.name} & NAMES:
        return "is of no known kind; if it belongs here, add its kind to tests/house/file_kinds.py"
    if size > (most or MOST_BYTES):
        return f"has {size} bytes; expected at most {most or MOST_BYTES}"
    if most is not None:
        return None
    data = path.read_bytes()
    if b"\0" in data:
        return f"has a NUL byte at {data.index(0)}; expected a text"
    try:
        data.decode()
    except UnicodeDecodeError as error:
        return f"is no UTF-8 from byte {error.start} on; expected a text"
    return None


def tracked(root):
    """The names that git tracks; none where there is no repository."""
    if not (root / ".git").exists():
        return []
    try:
        done = subprocess.run(["git", "-C", str(root), "ls-files", "-z"], capture_output=True, check=True)
    except (OSError, subprocess.CalledProcessError):
        return []
    return [name for name in done.stdout.decode().split("\0") if name and os.path.lexists(root / name)]


def lying(root):
    found = []
    for folder, folders, files in os.walk(root):
        here = pathlib.Path(folder)
        folders[:] = [name for name in folders if name not in NOT_OURS and not (here / name / "CMakeCache.txt").exists()
                      and name != "build" and not name.startswith("build-")]
        links = [name for name in folders if (here / name).is_symlink()]
        found += [(here / name).relative_to(root).as_posix() for name in files + links if name not in NOT_OURS]
    return found


def faults(root):
    names = sorted(tracked(root) or lying(root))
    found = [(name, fault_of(root, name)) for name in names]
    return len(names), [f"{name} {fault}" for name, fault in found if fault]


def self_test():
    good = {"a/b.cpp": b"x\n", ".ci/run": b"", "docs/plot.png": b"\x89PNG\0" + bytes(MOST_BYTES), "build/a.o": b"\0",
            "tests/fuzz/corpus/npy/0a1b": b"\0\xff", "other/CMakeCache.txt": b"", "other/x.whl": b"",
            "a/e.md": "é".encode()}
    bad = {"tests/wheel.whl": b"PK", "a/run.exe": b"", "a/name": b"", "a/wheel.txt": b"PK\0", "a/latin.md": b"\xe9",
           "src/large.json": bytes([32]) * (MOST_BYTES + 1), "a/plot.png": b"\x89PNG\0",
           "tests/fuzz/corpus/npy/large": bytes(5_000), "docs/large.png": bytes(200_000)}

    def seen(root):
        return [line.split()[0] for line in faults(root)[1]]

    with tempfile.TemporaryDirectory() as folder:
        root = pathlib.Path(folder)
        for name, data in (good | bad).items():
            (root / name).parent.mkdir(parents=True, exist_ok=True)
            (root / name).write_bytes(data)
        (root / "a/link.md").symlink_to("e.md")
        expected = sorted([*bad, "a/link.md"])
        assert seen(root) == expected, (seen(root), expected)
        git = ["git", "-C", folder]
        try:
            subprocess.run([*git, "init", "-q"], check=True, capture_output=True)
        except (OSError, subprocess.CalledProcessError):
            return len(expected)
        subprocess.run([*git, "add", "--", "a/b.cpp", "tests/wheel.whl", "a/name"], check=True, capture_output=True)
        (root / "a/name").unlink()
        assert seen(root) == ["tests/wheel.whl"], seen(root)  # what is not tracked is not looked at
    return len(expected)


def main(arguments):
    if arguments == ["--self-test"]:
        print(f"file_kinds: {self_test()} planted faults seen")
        return 0
    if len(arguments) != 1:
        raise SystemExit(__doc__)
    count, found = faults(pathlib.Path(arguments[0]))
    for line in found:
        print(line)
    print(f"file_kinds: {count} files, {len(found)} faults")
    return 1 if found or count == 0 else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
