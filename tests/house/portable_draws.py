#!/usr/bin/env python3
"""Refuses draws that differ between standard libraries, and generators by hand: `portable_draws.py ROOT | --self-test`.

The standard says every bit of std::mt19937, but of no distribution and no shuffle: what such a draw gives with one library, its seed
does not give with another. A linear congruential generator is known by its multiplier, and fine as std::linear_congruential_engine.
Looked at is every C++ source, without its comments.
"""

import pathlib
import re
import sys
import tempfile

import file_kinds

SUFFIXES = (".cpp", ".h", ".hpp", ".cu", ".cuh")
DRAW = re.compile(r"\bstd\s*::\s*(?:ranges\s*::\s*)?"
                  r"(\w+_distribution|generate_canonical|default_random_engine|(?:random_)?shuffle|sample)\b")
BY_HAND = re.compile(r"\*\s*(1664525|1103515245|69069|22695477|6364136223846793005|2862933555777941757)(?:u|ul|ull)?\b", re.I)
COMMENT = re.compile(r"//[^\n]*|/\*.*?\*/", re.DOTALL)
INSTEAD = {"default_random_engine": "boost::random::mt19937_64", "sample": "test::shuffle of tests/shuffle.h and the first elements",
           "shuffle": "test::shuffle of tests/shuffle.h", "random_shuffle": "test::shuffle of tests/shuffle.h"}
# That our generators serve std's distributions, too, is what is tested there.
ALLOWED = {"tests/numerics/random_generator_test.cpp": {"normal_distribution"}}


def faults_of(name, text):
    text = COMMENT.sub(lambda comment: "\n" * comment[0].count("\n"), text)
    found = [(match, f"{match[0]} differs between standard libraries; expected {INSTEAD.get(match[1], 'boost::random::' + match[1])}")
             for match in DRAW.finditer(text) if match[1] not in ALLOWED.get(name, ())]
    found += [(match, f"{match[1]} multiplies a generator by hand; expected std::mt19937") for match in BY_HAND.finditer(text)]
    return [f"{name}:{text.count(chr(10), 0, match.start()) + 1}: {fault}" for match, fault in found]


def faults(root):
    names = [name for name in sorted(file_kinds.tracked(root) or file_kinds.lying(root)) if name.endswith(SUFFIXES)]
    return len(names), [fault for name in names for fault in faults_of(name, (root / name).read_text(errors="replace"))]


def self_test():
    bad = {"bench/a.cpp": "/* one\n line */\nstd::normal_distribution<float> x;\n", "tests/b.h": "std::shuffle(a, b, c);\n",
           "src/c.cpp": "x = std :: ranges::sample(a, b, 3, g);\n", "emu/d.cpp": "std::default_random_engine e;\n",
           "tests/j.cpp": "\nx = x * 1664525u + 1013904223u;\n",
           "examples/e.cpp": "// a comment\nstd::generate_canonical<double, 53>(g);\n",
           "tests/numerics/random_generator_test.cpp": "std::normal_distribution<double>();\nstd::uniform_int_distribution<int>();\n"}
    good = {"src/f.cpp": "std::mt19937 e; boost::random::normal_distribution<> n; test::shuffle(a, e); std::sampler s;\n",
            "include/g.h": "// as std::shuffle does\n", "docs/H.md": "std::shuffle\n",
            "tests/k.h": "std::linear_congruential_engine<uint32_t, 1664525u, 1013904223u, 0> e;\n"}
    expected = ["bench/a.cpp:3", "emu/d.cpp:1", "examples/e.cpp:2", "src/c.cpp:1", "tests/b.h:1", "tests/j.cpp:2",
                "tests/numerics/random_generator_test.cpp:2"]
    with tempfile.TemporaryDirectory() as folder:
        root = pathlib.Path(folder)
        for name, text in (bad | good).items():
            (root / name).parent.mkdir(parents=True, exist_ok=True)
            (root / name).write_text(text)
        found = faults(root)[1]
    assert [":".join(line.split(":")[:2]) for line in found] == expected, (found, expected)
    assert "expected boost::random::normal_distribution" in found[0], found[0]
    return len(expected)


def main(arguments):
    if arguments == ["--self-test"]:
        print(f"portable_draws: {self_test()} planted faults are seen")
        return 0
    if len(arguments) != 1:
        raise SystemExit(__doc__)
    count, found = faults(pathlib.Path(arguments[0]))
    print("\n".join([*found, f"portable_draws: {count} sources, {len(found)} faults"]))
    return 1 if found or count == 0 else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
