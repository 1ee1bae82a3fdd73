#!/usr/bin/env python3
"""Refuses names of packages with a version in them outside tests/packages.txt: `package_names.py ROOT | --self-test`.

A name like that of Debian's g++-12 or libboost1.74-dev is in one release of Debian alone, and a script that asks for it fails on
all others. Looked at is what runs: scripts, CMake files, Python, container recipes, and what pages show in fenced blocks.
A version that is a variable's, as in g++-$version, is none.
"""

import pathlib
import re
import sys
import tempfile

import file_kinds

TABLE = "tests/packages.txt"
TOOLS = r"(?:g\+\+|gcc|cpp|gfortran|clang(?:\+\+|-format|-tidy|-tools)?|clangd|lldb?|llvm|libclang-rt|libc\+\+(?:abi)?|libstdc\+\+|libgcc|openjdk|postgresql)"
VERSIONED = re.compile(
    rf"(?<![\w/.$-]){TOOLS}-[0-9]+(?:\.[0-9]+)*(?:-[a-z0-9-]+)?(?![\w.])"  # g++-12, libclang-rt-14-dev, g++-12-aarch64-linux-gnu
    r"|(?<![\w/.$-])(?:lib)?python3\.[0-9]+-[a-z]+"  # python3.11-dev
    r"|(?<![\w/.$-])lib[a-z+-]+[0-9]+\.[0-9]+(?:-dev)?(?![\w.])")  # libboost1.74-dev
INSTALLED = re.compile(r"\bapt(?:-get)? .*?(?<![\w/.$-])(lib[a-z+-]+[0-9]+(?:-[0-9]+)?(?:t64)?)(?![\w.-])")  # libtbb12
RUN = (".sh", ".bash", ".zsh", ".cmake", ".py", ".toml")


def runs(name):
    return name.endswith(RUN) or name == ".ci/run" or name.endswith(("CMakeLists.txt", "Containerfile", ".md"))


def faults_of(name, text):
    lines = text.splitlines()
    fenced = False
    for number, line in enumerate(lines, 1):
        if name.endswith(".md"):
            if line.startswith("```"):
                fenced = not fenced
            if not fenced:
                continue
        for match in [*VERSIONED.finditer(line), *INSTALLED.finditer(line)]:
            yield f"{name}:{number}: {match[match.lastindex or 0]} has a version in its name; expected it in {TABLE} alone"


def faults(root):
    return [fault for name in sorted(file_kinds.tracked(root) or file_kinds.lying(root))
            if runs(name) and name not in (TABLE, "tests/house/package_names.py")
            for fault in faults_of(name, (root / name).read_text(errors="replace"))]


def self_test():
    bad = {"a.sh": "apt-get install g++-12\npackages=(libclang-rt-14-dev lld)\n",
           "b/CMakeLists.txt": "find_program(X NAMES clang-format-14)\n", "Containerfile": "RUN apt-get install python3.11-venv\n",
           ".ci/run": "apt-get install g++-12-aarch64-linux-gnu\n", "docs/A.md": "```\napt install libtbb12\n```\n",
           "c.py": "x = ['libboost1.74-dev']\n", "tests/build.sh": "apt-get install clang-16\n"}
    good = {"tests/packages.txt": "compilers g++-12 g++-12\n", "d.sh": "apt-get install g++ libpng-dev python3-venv \"g++-$version\"\n",
            "docs/B.md": "g++-12 is one\n", "build/x.sh": "g++-12\n", "e.cpp": "// g++-12\n",
            "f.cmake": "set(x lib64 /usr/lib/gcc-12/x libfoo_9.so libre2-dev libpng16)\n"}
    expected = ["a.sh:1", "a.sh:2", "b/CMakeLists.txt:1", "Containerfile:1", ".ci/run:1", "docs/A.md:2", "c.py:1", "tests/build.sh:1"]
    with tempfile.TemporaryDirectory() as folder:
        root = pathlib.Path(folder)
        for name, text in (bad | good).items():
            (root / name).parent.mkdir(parents=True, exist_ok=True)
            (root / name).write_text(text)
        seen = sorted(":".join(line.split(":")[:2]) for line in faults(root))
    assert seen == sorted(expected), (seen, sorted(expected))
    return len(expected)


def main(arguments):
    if arguments == ["--self-test"]:
        print(f"package_names: {self_test()} planted faults are seen")
        return 0
    if len(arguments) != 1 or not (pathlib.Path(arguments[0]) / TABLE).is_file():
        print(f"package_names.py: expected the project's folder, with {TABLE} in it, or --self-test", file=sys.stderr)
        return 2
    found = faults(pathlib.Path(arguments[0]))
    print("\n".join([*found, f"package_names: {len(found)} names with a version"]))
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
