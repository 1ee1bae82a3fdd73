#!/usr/bin/env python3
"""The generator of mutants on a source of its own: what it changes, that each change acts, and that no mutant changes nothing. The
table of equivalent mutants: what it leaves out, what of it is wrong, and that each of its rows is of a place in today's sources."""

import contextlib
import io
import pathlib
import subprocess
import sys
import tempfile
import unittest
from types import SimpleNamespace
from unittest import mock

sys.dont_write_bytecode = True
sys.path.insert(0, str(pathlib.Path(__file__).parent))
import equivalent  # noqa: E402
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

    def test_places_of_another_processor(self):
        with tempfile.TemporaryDirectory() as folder:
            copy = tree.Tree(pathlib.Path(folder), {})
            copy.build.mkdir()
            compiled = [COMPILER, "-std=c++20", "-O1", "-w", "-include", sites.ROOT / "tests/mutants/mutant.h", "-c", "-x", "c++", "-"]
            for name, numbers in (("plain", (1, 2)), ("sums_avx512", (2, 3)), ("sums_avx512fp16", (4,))):
                text = "".join(f"bool at{number}() {{ return mutant::changes<{number}>(); }}\n" for number in numbers)
                subprocess.run([*compiled, "-o", copy.build / f"{name}.cpp.o"], input=text, text=True, check=True)
            self.assertEqual(copy.of_other_processors({"avx2"}), {3, 4})
            self.assertEqual(copy.of_other_processors({"avx2", "avx512f"}), {4})
            self.assertEqual(copy.of_other_processors({"avx2", "avx512f", "avx512_fp16"}), set())
        self.assertIn("fpu", mutants.processor_flags())

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


ROW = {"function": "add", "change": "a + b: -", "why": "It is so."}
# Changes to the row, and what must be said of it; nothing where it fits.
MISFITS = [
    ({}, ""),
    ({"in": "a.cpp", "at": "return a + b"}, ""),
    ({"function": "ad"}, "no function with a mutant is called 'ad'; the nearest: 'add'"),
    ({"in": "b.cpp"}, "no function with a mutant is called 'add' in b.cpp; the nearest: 'add'"),
    ({"change": "a + c: -"}, "'a + c: -' is no mutant of add; the nearest: 'a + b: -'"),
    ({"change": ["a + b: -", "a + b: *"]}, "'a + b: *' is no mutant of add; the nearest: 'a + b: -'"),
    ({"at": "a - b"}, "'a + b: -' on a line with 'a - b' is no mutant of add"),
    ({"function": "kinds", "change": "n + 4: -"}, ""),
    ({"function": "kinds", "change": ", 1: 0"}, "', 1: 0' is no mutant of kinds; the nearest: "),
    ({"function": "kinds", "change": "n > 2: 2 + 1"}, ""),
    ({"function": "kinds", "change": "n + 5: -"}, "'n + 5: -' of kinds fits 2 places (a.cpp:7, a.cpp:8); expected one"),
]
KINDS = """int kinds(std::vector<int> v, int n) {
  if (n > 2) __builtin_prefetch(v.data() + 3);
  v.reserve(n + 4);
  int grain = std::max<size_t>(grain, 1);
  int width = 5, grain_ = std::max<size_t>(grain_, 1) / 6;
  for (int i = 0; i < n; ++i) { check.after(n * 7); }
  float* of_its_own = buffer.reserve(n + 5);
  return n + 5;
}
int add(int a, int b) { return a + b; }
"""


class Equivalent(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        with tempfile.TemporaryDirectory() as folder, mock.patch.object(sites, "ROOT", pathlib.Path(folder)):
            (sites.ROOT / "a.cpp").write_text(KINDS)
            cls.found = list(sites.Finder("a.cpp", {}).sites())
            emu = [equivalent.Kind(vars(kind) | {"pattern": kind.pattern.pattern, "in": "", "unless": kind.unless.pattern})
                   for kind in equivalent.Table().kinds]
            cls.drawn = list(sites.Finder("a.cpp", {}, emu).sites())

    def lines(self, _):
        return KINDS.splitlines()

    def test_kinds_are_left_out(self):
        kept = {(site.line, site.says) for site in self.drawn}
        self.assertEqual({line for line, _ in kept}, {3, 4, 5, 6, 7, 8, 10})
        self.assertEqual({says for line, says in kept if line in (4, 5, 6)},
                         {"grain, 1: 0", "width = 5: 5 + 1", "i = 0: 0 + 1", "i < n: <=", "n * 7: /", "check.after(n * 7);: dropped"})
        self.assertEqual({says for line, says in kept if line == 3}, {"n + 4: -"})

    def test_a_row_fits_one_place(self):
        for change, said in MISFITS:
            with self.subTest(change=change):
                problems = equivalent.Table({"kinds": [], "rows": [ROW | change]}).problems(self.found, self.lines)
                self.assertEqual([problem[: len(said)] for problem in problems], [said] if said else [])

    def test_fields_are_known(self):
        for row in ({"colour": "red"}, {"why": None}):
            entry = {key: value for key, value in (ROW | row).items() if value}
            with self.assertRaisesRegex(SystemExit, "expected the fields"):
                equivalent.Table({"kinds": [], "rows": [entry]})

    def test_they_count_apart(self):
        table = equivalent.Table({"kinds": [], "rows": [ROW]})
        places = [(1, "survives", "a + b: -"), (2, "survives", "a + b: *"), (3, "killed", "a: b"),
                  (4, "of another processor", "a + b: /")]
        entries = [{"place": place, "verdict": verdict, "by": "T.One", "file": "emu/a.cpp", "line": 9, "function": "add", "says": says}
                   for place, verdict, says in places]
        for wrong, share, code in ((False, 0.5, 0), (False, 0.6, 1), (True, 0.5, 1)):
            if wrong:
                entries[0]["verdict"] = "killed"
            with mock.patch.object(mutants, "Table", lambda: table), mock.patch.object(mutants, "lines_of", self.lines), \
                    contextlib.redirect_stdout(io.StringIO()) as out:
                self.assertEqual(mutants.told(entries, SimpleNamespace(share=share)), code)
            self.assertIn("    2 survives       emu/a.cpp:9 add: a + b: *  [T.One]", out.getvalue())
            self.assertIn("4 run, 0 equivalent" if wrong else
                          "4 run, 1 equivalent, 1 of another processor,   50.0% of the others killed, 1 survive", out.getvalue())
            self.assertEqual("a row of equivalent.json is wrong: emu/a.cpp:9 add: a + b: -: 'It is so.'; it is killed by T.One" in out.getvalue(),
                             wrong)

    def test_every_row_is_of_today_s_sources(self):
        table = equivalent.Table()
        self.assertEqual(table.problems(sites.all_sites(table.kinds), sites.lines_of), [])


if __name__ == "__main__":
    unittest.main()
