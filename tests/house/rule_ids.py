#!/usr/bin/env python3
"""rule_ids.py [ROOT] | --self-test: every id that the tree cites is defined by a page of docs/, once, and the tests that
a row names say its id.

What is defined. A table whose first column is called `rule`, `row` or `trap` defines the ids in that column. A rule
(N14) is cited by its id alone. A row or trap (T05, X3) is cited after the name of its page, MIXED_PRECISION T05, or
several at once, TUTORIAL G01, G05 to G07 and X3; on its own page the id is enough. A rule has four columns; the third
holds a word of certainty (CERTAINTY), the fourth places like `numerics/round.h: rounds_up, threshold`: each file must
be there, from the root or below include/softamp, and hold each name outside its comments (`Suite.Name`: that test).
Rules stand in ascending order on their page. The last column of a row or trap names what shows it, as `file` or
`file: Suite.Name, Suite.Other`: each source and each test named there has the id in its own text, in the test's name
(Suite.K01Names) or in a comment. A test's text is the macro with its body, and the comment lines right above it. The
ends of a range, K01 to K05, do not count: a test says which rows it shows.

Where ids are looked for. Comments of C++, CUDA, Python, shell and CMake files; Markdown outside fenced blocks; what
the tables of planted bugs say in stands_for and why; string literals of C++, for a program may say them, of tests/
those after << alone: the others are data. In a literal a rule, too, needs the name of its page. What stands in
backticks is code, and a literal of one word is a name: neither cites anything.

What an id looks like: one capital letter and a number from 1 to 999, G05 for 5, standing alone, not after - . / $ or
before a decimal point. Four shapes of that kind are words of the field and never ids (WORDS): O1 to O3 (levels of
compilers and of MindSpore), V2 (a version), F16, I32, C64 (types by their width), and a letter with a whole number of
hundreds (A100, B200: products), but for the letters of rules.

Also refused: a page of docs/ that is not there, and "rule 3", which has no page at all.
"""
import bisect
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

ID = re.compile(r"(?<![\w.$/+-])[A-Z](?:0[1-9]|[1-9][0-9]{0,2})(?!\w|\.[0-9])")
WORDS = re.compile(r"O[1-3]|V[1-9]|[FIU](?:4|8|16|32|64)|C64|[A-Z][1-9]00|T4|L40?|A(?:2|10|16|30|40)")
BETWEEN = re.compile(r"(?:,|;| and|, and| to| or)?(?:\s|//+|#)+")
PAGE_BEFORE = re.compile(r"\b([A-Z][A-Z_]+)(?:\s|//+|#)+$")
PAGE_NAMED = re.compile(r"\bdocs/([A-Z_]+\.md)\b")
BARE_RULE = re.compile(r"\b[Rr]ules? [0-9]+\b")
CPP = re.compile(r'//[^\n]*|/\*.*?\*/|R"(\w*)\(.*?\)\1"|"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])+\'', re.S)
HASH = re.compile(r"(?m)(?:^|(?<=\s))#.*$")
BACKTICKS = re.compile(r"`[^`\n]*`")
FENCED = re.compile(r"(?ms)^```.*?^```")
BUG_TEXT = re.compile(r'"(?:stands_for|why)":\s*"((?:\\.|[^"\\])*)"')
CERTAINTY = re.compile(r"standard|verified|vendor document|third part|inferred|proven|computed|assumed|open|ours")
PLACE = re.compile(r"`([^`:]+): ([^`]+)`")
REFERENCE = re.compile(r"`([^`:]+)(?:: ([^`]+))?`")
TEST_MACRO = re.compile(r"^(?:TYPED_)?TEST(?:_F|_P)?\(\s*(\w+)\s*,\s*(\w+)\s*\)", re.M)
RANGE = re.compile(r"[A-Z][0-9]{1,3} to (?:[A-Z_]+ )?[A-Z][0-9]{1,3}")
IDS_OF_NAME = re.compile(r"(?:[A-Z][0-9]{1,3}_?)+(?![0-9a-z])")
QUOTE_IN_NUMBER = re.compile(r"(?<=[0-9a-fA-F])'(?=[0-9a-fA-F])")


def blank(match):
    return re.sub(r"[^\n]", " ", match.group())


def files_of(root):
    """Tracked and new files; where there is no git, all but build folders and hidden ones."""
    names = []
    if (root / ".git").exists() and shutil.which("git"):
        listed = subprocess.run(["git", "-C", str(root), "ls-files", "-co", "--exclude-standard"], capture_output=True)
        names = listed.stdout.decode().splitlines()
    if not names:
        paths = (path.relative_to(root) for path in root.rglob("*") if path.is_file())
        names = [str(path) for path in paths if not re.match(r"build|\.(?!ci/)", str(path))]
    return [name for name in sorted(names) if (root / name).is_file()]


def is_cpp(name):
    return name.endswith((".h", ".cpp", ".cu"))


def is_hash(name):
    return name.endswith((".py", ".sh", ".cmake", ".yml")) or name.endswith("CMakeLists.txt") or name == ".ci/run"


def cited_text(name, text):
    """The file with everything blank that cites nothing, and the spans that are string literals."""
    literals = []
    if is_cpp(name):
        shown = []
        for match in CPP.finditer(text):
            is_comment = match.group().startswith("/")
            is_name = match.group().startswith("'") or not re.search(r"\s", match.group())
            is_data = name.startswith("tests/") and not text[max(0, match.start() - 200) : match.start()].rstrip().endswith("<<")
            if is_comment or not (is_name or is_data):
                shown.append(match.span())
                if not is_comment:
                    literals.append(match.span())
    elif name.endswith(".md"):
        text = FENCED.sub(blank, text)
        shown = [(0, len(text))]
    elif is_hash(name):
        shown = [match.span() for match in HASH.finditer(text) if "noqa:" not in match.group()]
    elif name.startswith("tests/planted/") and name.endswith(".json"):
        shown = [match.span(1) for match in BUG_TEXT.finditer(text)]
    else:
        return None, []
    pieces, end = [], 0
    for first, last in shown:
        pieces += [re.sub(r"[^\n]", " ", text[end:first]), BACKTICKS.sub(blank, text[first:last])]
        end = last
    return "".join(pieces + [re.sub(r"[^\n]", " ", text[end:])]), literals


class Definition:
    def __init__(self, page, line, kind, cells):
        self.page, self.line, self.kind, self.cells = page, line, kind, cells

    @property
    def stem(self):
        return pathlib.Path(self.page).stem


def definitions(root, names, faults):
    """Id -> Definition, from the tables of docs/; definitions that are twice there or out of order are faults."""
    found = {}
    for page in names:
        if not re.fullmatch(r"docs/[A-Z_]+\.md", page):
            continue
        kind, last = None, 0
        for number, line in enumerate((root / page).read_text().splitlines(), 1):
            cells = [cell.strip() for cell in re.split(r"(?<!\\)\|", line)[1:-1]]
            if not cells:
                kind = None
            elif cells[0] in ("rule", "row", "trap"):
                kind = cells[0]
            elif kind and ID.fullmatch(cells[0]):
                place = f"{page}:{number}"
                if cells[0] in found:
                    before = found[cells[0]]
                    faults.append(f"{place}: {cells[0]} is defined twice; first in {before.page}:{before.line}")
                found[cells[0]] = Definition(page, number, kind, cells)
                if kind == "rule":
                    if int(cells[0][1:]) < last:
                        faults.append(f"{place}: {cells[0]} stands after {cells[0][0]}{last}; expected ascending order")
                    last = int(cells[0][1:])
    return found


def code_of(path):
    """The text of a file without its comments."""
    text = path.read_text(errors="replace")
    if is_cpp(path.name):
        return CPP.sub(lambda m: " " if m.group().startswith("/") else m.group(), text)
    return HASH.sub(" ", text) if is_hash(path.name) else text


def holds(code, symbol):
    test = re.fullmatch(r"(\w+)\.(\w+)", symbol)
    if test:
        return re.search(rf"\(\s*{test[1]},\s*{test[2]}\s*\)", code) is not None
    return re.search(rf"(?<!\w){re.escape(symbol)}(?!\w)", code) is not None


def check_rules(root, found, faults):
    """Certainty and places of every rule."""
    codes = {}
    for name, rule in found.items():
        if rule.kind != "rule":
            continue
        place = f"{rule.page}:{rule.line}: {name}"
        if len(rule.cells) != 4:
            faults.append(f"{place} has {len(rule.cells)} columns; expected rule, text, source, carried out by")
            continue
        if not CERTAINTY.search(rule.cells[2]):
            faults.append(f"{place}: no word of certainty in '{rule.cells[2]}'")
        places = PLACE.findall(rule.cells[3])
        if not places or PLACE.sub("", rule.cells[3]).strip():
            faults.append(f"{place}: '{rule.cells[3]}' is not a list of `file: name, name`")
        for file, symbols in places:
            path = next((p for p in (root / file, root / "include/softamp" / file) if p.is_file()), None)
            if path is None:
                faults.append(f"{place}: there is no file {file}")
                continue
            if path not in codes:
                codes[path] = code_of(path)
            for symbol in symbols.split(", "):
                if not holds(codes[path], symbol):
                    faults.append(f"{place}: {file} has no {symbol}")


def cited_ids(shown):
    return set(ID.findall(RANGE.sub("", shown)))


def ids_of_tests(name, text):
    """Suite.Name -> the ids that each test of a file says."""
    shown = cited_text(name, text)[0]
    code = CPP.sub(blank, QUOTE_IN_NUMBER.sub("_", text))
    ids = {}
    for macro in TEST_MACRO.finditer(code):
        first, end, depth = macro.start(), macro.end(), 0
        while (above := text.rfind("\n", 0, max(0, first - 1)) + 1) < first and text[above:first].lstrip().startswith("//"):
            first = above
        for brace in re.finditer(r"[{}]", code[macro.end() :]):
            depth += 1 if brace.group() == "{" else -1
            if depth == 0:
                end += brace.end()
                break
        said = IDS_OF_NAME.match(macro[2])
        of_name = set(re.findall(r"[A-Z][0-9]+", said.group())) if said else set()
        ids.setdefault(f"{macro[1]}.{macro[2]}", set()).update(cited_ids(shown[first:end]) | of_name)
    return ids


def check_rows(root, found, faults):
    """What shows a row says the row's id."""
    files = {}
    for name, row in found.items():
        if row.kind == "rule":
            continue
        for file, tests in REFERENCE.findall(row.cells[-1]):
            place = f"{row.page}:{row.line}: {name}: {file}"
            if not (root / file).is_file():
                faults.append(f"{place} is no file")
                continue
            if file not in files:
                text = (root / file).read_text()
                whole = cited_text(file, text)[0] if is_cpp(file) or is_hash(file) else None
                said = None if whole is None else cited_ids(whole)
                files[file] = (said, ids_of_tests(file, text) if is_cpp(file) else {})
            whole, ids = files[file]
            if not tests and whole is not None and name not in whole:
                faults.append(f"{place} does not say {row.stem} {name}")
            for test in tests.split(", ") if tests else []:
                if test not in ids:
                    faults.append(f"{place} has no test {test}")
                elif name not in ids[test]:
                    faults.append(f"{place}: the text of {test} does not say {row.stem} {name}")


def check_citations(name, text, found, faults, pages):
    """Every id in one file; returns how many there are."""
    shown, literals = cited_text(name, text)
    rules = {rule[0] for rule, definition in found.items() if definition.kind == "rule"}
    if shown is None:
        return 0
    starts = [0] + [match.end() for match in re.finditer("\n", shown)]
    count, end, page = 0, None, None

    def fault(at, words):
        faults.append(f"{name}:{bisect.bisect_right(starts, at)}: {words}")

    for match in ID.finditer(shown):
        cited, at = match.group(), match.start()
        if WORDS.fullmatch(cited) and cited[0] not in rules:
            continue
        count += 1
        before = PAGE_BEFORE.search(shown, max(0, at - 60), at)
        if before:
            page = before[1]
        elif end is None or not BETWEEN.fullmatch(shown, end, at):
            page = None
        end = match.end()
        definition = found.get(cited)
        if definition is None:
            fault(at, f"{cited} is defined by no page of docs/")
        elif definition.kind == "rule":
            literal = next((text[a:b] for a, b in literals if a <= at < b), None)
            if literal is not None and definition.stem not in literal:
                fault(at, f"{cited} in what a program says, without its page {definition.stem}")
        elif page != definition.stem and name != definition.page:
            said = f"after {page}" if page else "without a page"
            fault(at, f"{cited} {said}; expected {definition.stem} {cited}")
    for match in PAGE_NAMED.finditer(shown):
        if match.group() not in pages:
            fault(match.start(), f"there is no page {match.group()}")
    for match in BARE_RULE.finditer(shown):
        fault(match.start(), f"'{match.group()}' is a number without a page")
    return count


def check(root):
    """All faults of a tree, and a line that says how much was read."""
    faults, names = [], files_of(root)
    found = definitions(root, names, faults)
    check_rules(root, found, faults)
    check_rows(root, found, faults)
    citations = read = 0
    for name in names:
        try:
            text = (root / name).read_text()
        except UnicodeDecodeError:
            continue
        citations += check_citations(name, text, found, faults, set(names))
        read += 1
    rules = sum(definition.kind == "rule" for definition in found.values())
    if rules == 0 or rules == len(found) or citations == 0:
        faults.append("docs/: expected rules, rows, and citations of them")
    return faults, f"{rules} rules, {len(found) - rules} rows, {citations} citations in {read} files"


SOUND = {
    "docs/NUMERICS.md": "N2 is cited.\n\n| rule | | source, certainty | carried out by |\n|---|---|---|---|\n"
    "| N1 | words | IEEE; standard | `numerics/a.h: one` |\n| N2 | as `Q39` says; TABLE T01 | ours |"
    " `numerics/a.h: one, kTwo` `tests/a_test.cpp: Suite.Name` |\n",
    "docs/TABLE.md": "| row | |\n|---|---|\n| T01 | words, T02 |\n| T02 | words |\n",
    "include/softamp/numerics/a.h": "// N1; TABLE T01, T02 and N2. At O2 on an H100: U64.\n"
    'int one();  // see\n// TABLE\n// T02\nconstexpr int kTwo = 2;\nauto t = "Q39", u = "N2 of NUMERICS.md";\n',
    "tests/a_test.cpp": 'TEST(Suite, Name) { f("not an id: Q39", K7) << "see TABLE T01"; }\n',
    "tests/run.sh": "# N2\necho Q39\n",
    "docs/SHOWN.md": "| row | | |\n|---|---|---|\n"
    "| K01 | words | `tests/b_test.cpp: Suite.K01Name, Suite.Other, Typed.Name` `examples/a.cpp` `examples/a.json` |\n"
    "| K02 | words | `tests/b_test.cpp: Suite.Other, Suite.P` |\n",
    "tests/b_test.cpp": "TEST(Suite, K01Name) {\n  f('{', \"}\", 10'000);\n}\n\n// SHOWN K01,\n// K02\nTEST_F(Suite, Other) {}\n"
    "TYPED_TEST(Typed, Name) {\n  int K02;  // SHOWN K01\n}\n"
    "TEST_P(Suite,\n       P) {\n  if (a) {\n    b();\n  }\n  // SHOWN K02\n}\n",
    "examples/a.cpp": "// SHOWN K01\n",
    "examples/a.json": "{}\n",
}
PLANTED = [  # file, text, what stands there instead, the fault that is expected
    ("tests/run.sh", "# N2", "# Q39", "tests/run.sh:1: Q39 is defined by no page of docs/"),
    ("tests/run.sh", "# N2", "# N200", "tests/run.sh:1: N200 is defined by no page of docs/"),
    ("tests/run.sh", "# N2", "# rule 3", "tests/run.sh:1: 'rule 3' is a number without a page"),
    ("tests/run.sh", "# N2", "# docs/OLD.md", "tests/run.sh:1: there is no page docs/OLD.md"),
    ("tests/run.sh", "# N2", "# T01", "tests/run.sh:1: T01 without a page; expected TABLE T01"),
    ("tests/run.sh", "# N2", "# NUMERICS T01", "tests/run.sh:1: T01 after NUMERICS; expected TABLE T01"),
    ("tests/run.sh", "# N2", "# TABLE T01. T02", "tests/run.sh:1: T02 without a page; expected TABLE T02"),
    ("tests/a_test.cpp", "TEST(", "/* T03 */ TEST(", "tests/a_test.cpp:1: T03 is defined by no page of docs/"),
    ("tests/a_test.cpp", "see TABLE", "see", "tests/a_test.cpp:1: T01 without a page; expected TABLE T01"),
    ("tests/a_test.cpp", "Suite, Name", "Suite, Other", "docs/NUMERICS.md:6: N2: tests/a_test.cpp has no Suite.Name"),
    (
        "include/softamp/numerics/a.h",
        "N2 of NUMERICS.md",
        "N2 of old",
        "include/softamp/numerics/a.h:6: N2 in what a program says, without its page NUMERICS",
    ),
    (
        "include/softamp/numerics/a.h",
        "int one()",
        "int two()  // one",
        "docs/NUMERICS.md:5: N1: numerics/a.h has no one",
    ),
    ("docs/NUMERICS.md", "a.h: one` |\n", "b.h: one` |\n", "docs/NUMERICS.md:5: N1: there is no file numerics/b.h"),
    ("docs/NUMERICS.md", "| N2 |", "| N1 |", "docs/NUMERICS.md:6: N1 is defined twice; first in docs/NUMERICS.md:5"),
    ("docs/TABLE.md", "| T02 |", "| T01 |", "docs/TABLE.md:4: T01 is defined twice; first in docs/TABLE.md:3"),
    ("docs/NUMERICS.md", "| N1 |", "| N3 |", "docs/NUMERICS.md:6: N2 stands after N3; expected ascending order"),
    ("docs/NUMERICS.md", "IEEE; standard", "IEEE", "docs/NUMERICS.md:5: N1: no word of certainty in 'IEEE'"),
    (
        "docs/NUMERICS.md",
        "`numerics/a.h: one` |",
        "the header |",
        "docs/NUMERICS.md:5: N1: 'the header' is not a list of `file: name, name`",
    ),
    (
        "docs/NUMERICS.md",
        "| IEEE; standard |",
        "| |",
        "docs/NUMERICS.md:5: N1: no word of certainty in ''",
    ),
    (
        "tests/b_test.cpp",
        "K01,\n// K02\n",
        "K01 to K02\n",
        "docs/SHOWN.md:3: K01: tests/b_test.cpp: the text of Suite.Other does not say SHOWN K01",
    ),
    (
        "tests/b_test.cpp",
        "K02\nTEST_F",
        "K02\n\nTEST_F",
        "docs/SHOWN.md:4: K02: tests/b_test.cpp: the text of Suite.Other does not say SHOWN K02",
    ),
    (
        "tests/b_test.cpp",
        "  // SHOWN K02\n}\n",
        "}\n// SHOWN K02\n",
        "docs/SHOWN.md:4: K02: tests/b_test.cpp: the text of Suite.P does not say SHOWN K02",
    ),
    (
        "tests/b_test.cpp",
        "int K02;  // SHOWN K01",
        "int K01;  // SHOWN K02",
        "docs/SHOWN.md:3: K01: tests/b_test.cpp: the text of Typed.Name does not say SHOWN K01",
    ),
    (
        "docs/SHOWN.md",
        "Suite.Other, Suite.P",
        "Suite.K01Name",
        "docs/SHOWN.md:4: K02: tests/b_test.cpp: the text of Suite.K01Name does not say SHOWN K02",
    ),
    ("docs/SHOWN.md", "Suite.P", "Suite.Q", "docs/SHOWN.md:4: K02: tests/b_test.cpp has no test Suite.Q"),
    ("docs/SHOWN.md", "a.json", "b.json", "docs/SHOWN.md:3: K01: examples/b.json is no file"),
    ("examples/a.cpp", "K01", "K02", "docs/SHOWN.md:3: K01: examples/a.cpp does not say SHOWN K01"),
]


def faults_of(tree):
    with tempfile.TemporaryDirectory() as folder:
        root = pathlib.Path(folder)
        for name, text in tree.items():
            (root / name).parent.mkdir(parents=True, exist_ok=True)
            (root / name).write_text(text)
        return check(root)[0]


def self_test():
    """A sound tree has no fault, and each planted one is seen."""
    failed = [f"a sound tree: {fault}" for fault in faults_of(SOUND)]
    for file, text, planted, expected in PLANTED:
        assert text in SOUND[file], (file, text)
        faults = faults_of(SOUND | {file: SOUND[file].replace(text, planted, 1)})
        if expected not in faults:
            failed.append(f"{file}, '{planted}' for '{text}': expected '{expected}', found {faults}")
    print("\n".join(failed + [f"rule_ids: {len(PLANTED)} faults planted, {len(failed)} not as expected"]))
    return 1 if failed else 0


def main():
    if sys.argv[1:] == ["--self-test"]:
        return self_test()
    root = pathlib.Path(sys.argv[1]) if len(sys.argv) > 1 else pathlib.Path(__file__).resolve().parents[2]
    faults, summary = check(root)
    print("\n".join(faults + [f"rule_ids: {len(faults)} faults; {summary}"]))
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
