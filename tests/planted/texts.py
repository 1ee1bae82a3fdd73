"""What the sources say, without a compiler: who includes what, which tests a file holds."""

import difflib
import fnmatch
import functools
import pathlib
import re

ROOT = pathlib.Path(__file__).resolve().parents[2]
INCLUDE = re.compile(r'^\s*#\s*include\s*(["<])([^">]+)[">]', re.MULTILINE)
FAMILIES = "emu/families.cmake"
TEST = re.compile(r"^TEST\((\w+),\s*(\w+)\)\s*\{", re.MULTILINE)
ANY_TEST = re.compile(r"^(?:TYPED_)?TEST(?:_[FP])?\((\w+),\s*(\w+)\)", re.MULTILINE)


class Wrong(Exception):
    """A bug that was not caught, a table that does not fit the sources, or a test that fails by itself."""


@functools.cache
def written():
    """The sources that emu/families.cmake writes into the build folder, by the names that they would have here, with their texts."""
    rows = re.findall(r"^softamp_family\((\S+) (\S+) (.*?)\)$", (ROOT / FAMILIES).read_text(), re.MULTILINE | re.DOTALL)
    found = {}
    for file, header, rest in rows:
        every = ("portable", "avx2", "avx512", "neon")
        sets = every if rest.endswith("${every_set}") else [word for word in rest.split() if word in every]
        found |= {f"emu/{file}_{name}.cpp": f'#include "emu/{header}"\n' for name in sets}
    return found


@functools.cache
def text_of(name):
    """The text of a file of the repository, by its path from the root."""
    if name in written():
        return written()[name]
    if not (ROOT / name).is_file():
        raise Wrong(f"there is no file {name}")
    return (ROOT / name).read_text()


@functools.cache
def included(name):
    """The files of the repository that a file includes by itself."""
    found = []
    for quote, path in INCLUDE.findall(text_of(name)):
        beside = [pathlib.Path(name).parent / path] if quote == '"' else []
        places = [*beside, pathlib.Path("include") / path, pathlib.Path(path)]
        found += [str(place) for place in places if (ROOT / place).is_file()][:1]
    return found


@functools.cache
def closure(name):
    """A file and all files of the repository that it includes, those of others too."""
    found, waiting = {name}, [name]
    while waiting:
        new = set(included(waiting.pop())) - found
        found |= new
        waiting += new
    return frozenset(found)


def is_parity(test):
    """Whether a test is the parity suite on the serial grid. Its filter is a family and, behind a blank, a part of its
    cases' names; it is no gtest."""
    return "tests/backend/parity_main.h" in closure(test)


def runs_the_command(test):
    return any("SOFTAMP_PROGRAM" in text_of(name) for name in closure(test))


@functools.cache
def tests():
    """The file of every test of gtest, by its name without parameters."""
    paths = [str(path.relative_to(ROOT)) for path in sorted((ROOT / "tests").rglob("*.cpp"))]
    return {f"{suite}.{name}": path for path in paths for suite, name in ANY_TEST.findall(text_of(path))}


def file_of_tests(gtest_filter):
    """The one file that has the tests of a filter."""
    # Of "Sizes/Suite.Name/7" and "Suite/0.Name" the text has "Suite.Name".
    plain = re.sub(r"(^|:)\w+/(?=\w+\.)|/[^.:]*", r"\1", gtest_filter)
    found = sorted({tests()[name] for pattern in plain.split(":") for name in matching(tests(), pattern)})
    if len(found) == 1:
        return found[0]
    if found:
        raise Wrong(f"{gtest_filter} selects tests of several files: {', '.join(found)}")
    nearest = difflib.get_close_matches(plain, tests(), 3) or ["none is like it"]
    raise Wrong(f"there is no test {gtest_filter}; the nearest: {', '.join(nearest)}")


def matching(names, pattern):
    """Those of the names that a pattern selects; one without wildcards is no more than a name."""
    return fnmatch.filter(names, pattern) if re.search(r"[*?[]", pattern) else {pattern} & names.keys()


def selected(name, gtest_filter):
    """Whether a filter without negative patterns selects the test of this name."""
    return any(fnmatch.fnmatchcase(name, pattern) for pattern in gtest_filter.split(":"))


def trimmed(test, gtest_filter):
    """The text of a test file without the plain tests that the filter leaves out.

    Each becomes a template that nobody uses. So its text is read and nothing is made of it, which is most of the work.
    """
    if "-" in gtest_filter:
        return text_of(test)

    def keep_or_drop(match):
        suite, name = match.groups()
        kept = selected(f"{suite}.{name}", gtest_filter)
        if kept:
            return match.group()
        left_out = f"left_out_{suite}_{name}"
        return (f"template <int> struct {left_out} : ::testing::Test {{ void TestBody() override; }}; "
                f"template <int unused> void {left_out}<unused>::TestBody() {{")

    return f'#line 1 "{ROOT / test}"\n' + TEST.sub(keep_or_drop, text_of(test))
