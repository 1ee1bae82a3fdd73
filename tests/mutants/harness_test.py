#!/usr/bin/env python3
"""The generator of mutants on a source of its own: what it changes, that each change acts, and that no mutant changes nothing."""

import pathlib
import subprocess
import sys
import tempfile
import unittest

sys.dont_write_bytecode = True
sys.path.insert(0, str(pathlib.Path(__file__).parent))
import mutants  # noqa: E402
import sites  # noqa: E402
import tree  # noqa: E402

COMPILER = sys.argv.pop(1) if len(sys.argv) > 1 else "c++"
SOURCE = """
enum class Way { kUp, kDown };
int taken = 0;
int add(int a, int b) { return a + b; }
int less(int a, int b) { return a < b; }
int shifted(unsigned a) { return a << 3; }
int both(bool a, bool b) { return a && b ? 5 : 6; }
int one(bool a) {
  if (a) return 7;
  return 8;
}
void take(int x) { taken = x; }
int way(Way way) { return way == Way::kUp; }
int difference(int a, int b) { return a - b; }
int swapped(int a, int b) { return difference(a, b); }
bool same(std::span<const int> x, int y) { return std::is_same_v<int, int> && x.empty() && y; }
int fixed() {
  constexpr int kOne = 1, kTwo = int{2};
  static_assert(kOne + 1 == kTwo);
  return kOne;
}
long ends(long n) {
  while (n > 0) n -= 1;
  return n;
}
"""
MAIN = """
int main() {
  take(4);
  std::printf("%d %d %d %d %d %d %d %d %d %d %d %d %ld\\n", add(5, 2), less(3, 3), shifted(1), both(true, false), one(true), one(false), taken,
              way(Way::kUp), difference(9, 4), swapped(1, 3), same({}, 1), fixed(), ends(3));
}
"""


class Mutants(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.temporary = tempfile.TemporaryDirectory()
        folder = pathlib.Path(cls.temporary.name)
        root = sites.ROOT
        sites.ROOT = folder
        (folder / "a.cpp").write_text(SOURCE)
        cls.found = list(sites.Finder("a.cpp", sites.named_values([SOURCE])).sites())
        sites.ROOT = root
        cls.by_number = {}
        for site in cls.found:
            if all(tree.apart(site, other) for other in cls.by_number.values()):
                cls.by_number[len(cls.by_number) + 1] = site
        text = tree.instrumented(SOURCE, list(cls.by_number.items()))
        cls.program = folder / "program"
        (folder / "b.cpp").write_text(f"#include <cstdio>\n#include <span>\n{text}{MAIN}")
        subprocess.run([COMPILER, "-std=c++20", "-O1", "-w", "-include", root / "tests/mutants/mutant.h", folder / "b.cpp", "-o", cls.program],
                       check=True)

    @classmethod
    def tearDownClass(cls):
        cls.temporary.cleanup()

    def said(self, number, seen=None):
        settings = {"SOFTAMP_MUTANT": str(number)} | ({"SOFTAMP_MUTANTS_SEEN": str(seen)} if seen else {})
        return mutants.execute([str(self.program)], settings, 1, None)

    def test_every_kind_is_found(self):
        self.assertEqual({site.kind for site in self.found}, {"operator", "condition", "number", "statement", "arguments", "named value"})

    def test_what_the_compiler_decides_is_left(self):
        self.assertFalse([site for site in self.found if site.function == "fixed"])

    def test_without_a_mutant_nothing_changes(self):
        self.assertEqual(self.said(0), (0, "7 0 8 6 7 8 4 1 5 -2 1 1 0\n"))

    def test_each_change_acts(self):
        whole = self.said(0)
        for number, site in self.by_number.items():
            with self.subTest(says=site.says):
                if site.function in ("both", "same") and site.kind in ("number", "condition"):
                    continue  # this main program does not see all of these
                if site.function == "ends" and "n > 0" in site.says:
                    continue
                self.assertNotEqual(self.said(number), whole)

    def test_a_mutant_that_hangs_is_ended(self):
        dropped = [number for number, site in self.by_number.items() if site.function == "ends" and site.kind in ("statement", "number")]
        outcomes = [mutants.execute([str(self.program)], {"SOFTAMP_MUTANT": str(number)}, 0.5, None)[0] for number in dropped]
        self.assertIn(None, outcomes)

    def test_places_that_are_come_to_are_told(self):
        seen = pathlib.Path(self.temporary.name) / "seen"
        self.said(0, seen)
        told = set(map(int, seen.read_text().split()[1:]))
        self.assertEqual(told & set(self.by_number), told)
        self.assertIn(next(number for number, site in self.by_number.items() if site.function == "add"), told)

    def test_the_draw_is_the_seed_s(self):
        first, again, other = (tree.drawn(50, seed, ["src/tensor"]) for seed in (1, 1, 2))
        self.assertEqual(first, again)
        self.assertNotEqual(first, other)

    def test_what_does_not_compile_is_named_by_number_or_line(self):
        with tempfile.TemporaryDirectory() as folder:
            copy = tree.Tree(pathlib.Path(folder), {number: site._replace(file="src/a.cpp") for number, site in self.by_number.items()})
            by_number = copy.refused("FAILED: a.o\nx.h:1:2: error: no [with int kPlace = 3; T = int]\n")
            line = self.by_number[1].line
            by_line = copy.refused(f"FAILED: a.o\n{copy.source}/src/a.cpp:{line}:7: error: expected ';'\n")
            self.assertEqual(by_number, {3})
            self.assertEqual(by_line, {number for number, site in self.by_number.items() if site.line == line})


if __name__ == "__main__":
    unittest.main()
