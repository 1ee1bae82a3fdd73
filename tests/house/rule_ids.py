#!/usr/bin/env python3
"""rule_ids.py [ROOT] | --list [ID] | --self-test: every id that the tree cites is defined by a page of docs/, once, and
markers in the code say what carries it out and which tests hold it. --list prints, for one id or all, what is marked.

What is defined. A table whose first column is called `rule`, `row` or `trap` defines the ids in that column; the second
says what it is. A rule (N14) is cited by its id alone. A row or trap (T05, X3) is cited after the name of its page,
MIXED_PRECISION T05, or several at once, TUTORIAL G01, G05 to G07 and X3; on its own page the id is enough. A rule has
three columns, the third with a word of certainty (CERTAINTY). Rules stand in ascending order on their page, rows and
traps without a gap.

What is marked. A comment line `// implements: N12, N13` or `// tests: N12` (# where a file has such comments) directly
before a function, class, table or test says that this carries out the rule, or tests it; in the comment that a file
begins with it speaks of the whole file. Ids of rows need no page there. A rule has markers of both kinds, a row or trap
of the kind `tests`. Where nothing in the code carries out a rule, or no test can hold it, its last column says so:
`no code: REASON`, `no test: REASON`. Tests are in tests/, bench/ and examples/.

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
import difflib
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
MARKER = re.compile(r"(?m)^[ \t]*(?://+|#+)[ \t]*(implements|tests)[ \t]*:[ \t]*(.*)$")
IDS = re.compile(r"[A-Z][0-9]{1,3}(?:, [A-Z][0-9]{1,3})*")
NONE = {kind: re.compile(rf"(?:^|; )no {word}: [^;]*\w") for kind, word in (("implements", "code"), ("tests", "test"))}
TEST_FOLDERS = ("tests/", "bench/", "examples/")
TEST_MACRO = re.compile(r"(?:TYPED_)?TEST(?:_F|_P)?\(\s*(\w+)\s*,\s*(\w+)\s*\)")
DEFINE = re.compile(r"#\s*define\s+(\w+)")
OPERATOR = re.compile(r"operator[^\s\w(]+")
SPECIFIERS = re.compile(r"\b(?:template|constexpr|inline|static|explicit|alignas\([^)]*\)|SOFTAMP_[A-Z_]+|__\w+__)(?:\s+|$)")
NAMES = (  # of what follows a marker, in C++ and elsewhere
    re.compile(r"^(?:class|struct|union|enum(?: class| struct)?|using|concept) (\w+)"),
    re.compile(r"((?:[\w~]+ ?::)*[\w~]+) ?\("),
    re.compile(r"(\w+)(?: ?\[[^\]]*\])*$"),
)
NAMES_ELSEWHERE = (
    re.compile(r"(?:async\s+)?(?:def|class)\s+(\w+)"),
    re.compile(r"add_test\(\s*NAME\s+([\w.]+)"),
    re.compile(r"(?:function|macro|set)\(\s*(\w+)"),
    re.compile(r"(\w+)(?:\(\)|=|\s*=\s)"),
)


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
    if is_cpp(name) or is_hash(name):
        text = MARKER.sub(blank, text)
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
        kind, last, rows = None, 0, {}
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
                elif int(cells[0][1:]) != rows.get(cells[0][0], 0) + 1:
                    expected = f"{cells[0][0]}{rows.get(cells[0][0], 0) + 1}"
                    faults.append(f"{place}: {cells[0]} stands where {expected} was expected: rows have no gap")
                if kind != "rule":
                    rows[cells[0][0]] = int(cells[0][1:])
                if len(cells) < 2 or not cells[1]:
                    faults.append(f"{place}: {cells[0]} does not say what it is")
    return found


def check_rules(found, faults):
    """Columns and certainty of every rule."""
    for name, rule in found.items():
        if rule.kind != "rule":
            continue
        place = f"{rule.page}:{rule.line}: {name}"
        if len(rule.cells) != 3:
            faults.append(f"{place} has {len(rule.cells)} columns; expected rule, text, source with its certainty")
        elif not CERTAINTY.search(rule.cells[2]):
            faults.append(f"{place}: no word of certainty in '{rule.cells[2]}'")


def name_of(name, below):
    """What stands below a marker: Suite.Name, a function, a type, a constant, else its line; '' at the head of a file."""
    code = re.sub(r"(?m)^[ \t]*(?://|#(?!\s*define)).*\n", "", below) if is_cpp(name) else below
    first = code.split("\n", 1)[0].strip()
    if not below.strip(" ") or below.startswith("\n") or re.match(r"\s*#\s*(?:include|pragma)", below):
        return ""
    if not is_cpp(name):
        return next((match[1] for pattern in NAMES_ELSEWHERE if (match := pattern.match(first))), first)
    test = TEST_MACRO.match(code)
    if test:
        return f"{test[1]}.{test[2]}"
    define = DEFINE.match(code)
    if define:
        return define[1]
    head = re.split(r"[;{]", OPERATOR.sub("operator", code), maxsplit=1)[0]
    previous = None
    while previous != head:  # template <...>, with templates in it
        previous, head = head, re.sub(r"<[^<>]*>", " ", head)
    head = " ".join(SPECIFIERS.sub("", head.split("=")[0]).split())
    return next((match[1] for pattern in NAMES if (match := pattern.search(head))), first)


class Mark:
    def __init__(self, kind, file, line, name):
        self.kind, self.file, self.line, self.name = kind, file, line, name

    def __str__(self):
        return f"{self.file}: {self.name}" if self.name else self.file


def nearest(cited, found):
    """The id that a wrong one may stand for."""
    alike = [name for name in found if name[0] == cited[0]]
    if alike:
        return min(alike, key=lambda name: (abs(int(name[1:]) - int(cited[1:])), name))
    return (difflib.get_close_matches(cited, found, 1, 0) or ["none"])[0]


def marks_of(name, text, found, faults):
    """Id -> the markers of one file, in its order."""
    marks = {}
    if not is_cpp(name) and not is_hash(name):
        return marks
    opening = re.match(r"(?:(?://|#(?!\s*(?:include|define|pragma|if))).*\n)*", text).end()
    for match in MARKER.finditer(text):
        line = text.count("\n", 0, match.start()) + 1
        place, kind = f"{name}:{line}", match[1]
        if not IDS.fullmatch(match[2]):
            faults.append(f"{place}: '{match.group().strip()}' is no marker; expected '{kind}: N12' or '{kind}: N12, N13'")
            continue
        if kind == "tests" and not name.startswith(TEST_FOLDERS):
            faults.append(f"{place}: '{match.group().strip()}' is in none of {', '.join(TEST_FOLDERS)}")
        below = MARKER.sub("", text[match.end() + 1 :]).lstrip("\n") if re.match(r"\n[ \t]*(?://|#)", text[match.end() :]) else text[match.end() + 1 :]
        if (not below.strip() or below.startswith("\n")) and match.start() >= opening:
            faults.append(f"{place}: '{match.group().strip()}' stands before nothing")
        ids = match[2].split(", ")
        for cited in ids:
            if cited not in found:
                near = nearest(cited, found)
                faults.append(f"{place}: '{kind}: {cited}', but no page of docs/ defines {cited}; the nearest is {near}")
            elif ids.count(cited) > 1:
                faults.append(f"{place}: '{match.group().strip()}' names {cited} twice")
            marks.setdefault(cited, []).append(Mark(kind, name, line, name_of(name, below)))
    return marks


def check_marks(found, marks, faults):
    """What is to be marked, is."""
    for name, definition in found.items():
        place = f"{definition.page}:{definition.line}: {name}"
        is_rule = definition.kind == "rule"
        excused = [kind for kind in NONE if is_rule and NONE[kind].search(definition.cells[-1])]
        wanted = [kind for kind in (("implements", "tests") if is_rule else ("tests",)) if kind not in excused]
        of_kind = {kind: [mark for mark in marks.get(name, ()) if mark.kind == kind] for kind in NONE}
        missing = [kind for kind in wanted if not of_kind[kind]]
        if missing and not marks.get(name):
            faults.append(f"{place} is marked nowhere; expected a line " + " and one ".join(f"'{k}: {name}'" for k in missing))
            missing = []
        for kind in missing:
            word = "code" if kind == "implements" else "test"
            excuse = f", or 'no {word}: REASON' in its last column" if is_rule else ""
            faults.append(f"{place} has no marker '{kind}: {name}'; expected one in the code{excuse}")
        for kind in excused:
            for mark in of_kind[kind]:
                faults.append(f"{place} says that there is none, but {mark.file}:{mark.line} has '{kind}: {name}'")


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


def read(root, faults):
    """Names of files, their texts where they are texts, definitions, and the markers of all files."""
    names = files_of(root)
    found = definitions(root, names, faults)
    texts, marks = {}, {}
    for name in names:
        try:
            texts[name] = (root / name).read_text()
        except UnicodeDecodeError:
            continue
        for cited, some in marks_of(name, texts[name], found, faults).items():
            marks.setdefault(cited, []).extend(some)
    return names, texts, found, marks


def check(root):
    """All faults of a tree, and a line that says how much was read."""
    faults = []
    names, texts, found, marks = read(root, faults)
    check_rules(found, faults)
    check_marks(found, marks, faults)
    pages = set(names)
    citations = sum(check_citations(name, text, found, faults, pages) for name, text in texts.items())
    rules = sum(definition.kind == "rule" for definition in found.values())
    if rules == 0 or rules == len(found) or citations == 0:
        faults.append("docs/: expected rules, rows, and citations of them")
    marked = sum(map(len, marks.values()))
    return faults, f"{rules} rules, {len(found) - rules} rows, {marked} marks, {citations} citations in {len(texts)} files"


def print_list(root, wanted):
    """What is marked, of one id or of all."""
    _, _, found, marks = read(root, [])
    if wanted and wanted not in found:
        print(f"rule_ids: no page of docs/ defines {wanted}; the nearest is {nearest(wanted, found)}"
              if ID.fullmatch(wanted) else f"rule_ids: {wanted} is no id; expected one like N12 or T05", file=sys.stderr)
        return 1
    for name in [wanted] if wanted else found:
        print(f"{name} {found[name].page}:{found[name].line}")
        for kind in NONE:
            for mark in marks.get(name, ()):
                if mark.kind == kind:
                    print(f"  {kind:10} {mark}")
            excuse = NONE[kind].search(found[name].cells[-1]) if found[name].kind == "rule" else None
            if excuse:
                print(f"  {kind:10} {excuse.group().removeprefix('; ')}")
    return 0


SOUND = {
    "docs/NUMERICS.md": "N2 is cited.\n\n| rule | what it says | source, certainty |\n|---|---|---|\n"
    "| N1 | words | IEEE; standard |\n| N2 | as `Q39` says; TABLE T01 | ours |\n"
    "| N5 | words | ours; no code: of others |\n| N6 | words | ours; no test: not modelled |\n",
    "docs/TABLE.md": "| row | what it is |\n|---|---|\n| T01 | words, T02 |\n| T02 | words |\n",
    "include/softamp/numerics/a.h": "// N1; TABLE T01, T02 and N2. At O2 on an H100: U64.\n"
    "int one();  // see\n// TABLE\n// T02\n"
    'constexpr int kTwo = 2;\nauto t = "Q39", u = "N2 of NUMERICS.md";\n'
    "// implements: N1, N2\n// implements: N6\nint two();\n",
    "tests/a_test.cpp": '// tests: N1, N2, T01\nTEST(Suite, Name) { f("not an id: Q39", K7) << "see TABLE T01"; }\n',
    "tests/run.sh": "# N2\n# tests: N5, T02\n\necho Q39\n",
}
MARKS = "include/softamp/numerics/a.h"
PLANTED = [  # file, text, what stands there instead, the fault that is expected
    ("tests/run.sh", "# N2", "# Q39", "tests/run.sh:1: Q39 is defined by no page of docs/"),
    ("tests/run.sh", "# N2", "# N200", "tests/run.sh:1: N200 is defined by no page of docs/"),
    ("tests/run.sh", "# N2", "# rule 3", "tests/run.sh:1: 'rule 3' is a number without a page"),
    ("tests/run.sh", "# N2", "# docs/OLD.md", "tests/run.sh:1: there is no page docs/OLD.md"),
    ("tests/run.sh", "# N2", "# T01", "tests/run.sh:1: T01 without a page; expected TABLE T01"),
    ("tests/run.sh", "# N2", "# NUMERICS T01", "tests/run.sh:1: T01 after NUMERICS; expected TABLE T01"),
    ("tests/run.sh", "# N2", "# TABLE T01. T02", "tests/run.sh:1: T02 without a page; expected TABLE T02"),
    ("tests/a_test.cpp", "TEST(", "/* T03 */ TEST(", "tests/a_test.cpp:2: T03 is defined by no page of docs/"),
    ("tests/a_test.cpp", "see TABLE", "see", "tests/a_test.cpp:2: T01 without a page; expected TABLE T01"),
    (MARKS, "N2 of NUMERICS.md", "N2 of old", f"{MARKS}:6: N2 in what a program says, without its page NUMERICS"),
    ("docs/NUMERICS.md", "| N2 |", "| N1 |", "docs/NUMERICS.md:6: N1 is defined twice; first in docs/NUMERICS.md:5"),
    ("docs/TABLE.md", "| T02 |", "| T01 |", "docs/TABLE.md:4: T01 is defined twice; first in docs/TABLE.md:3"),
    ("docs/TABLE.md", "| T02 |", "| T03 |", "docs/TABLE.md:4: T03 stands where T2 was expected: rows have no gap"),
    ("docs/TABLE.md", "| words |", "| |", "docs/TABLE.md:4: T02 does not say what it is"),
    ("docs/NUMERICS.md", "| N1 |", "| N3 |", "docs/NUMERICS.md:6: N2 stands after N3; expected ascending order"),
    ("docs/NUMERICS.md", "IEEE; standard", "IEEE", "docs/NUMERICS.md:5: N1: no word of certainty in 'IEEE'"),
    ("docs/NUMERICS.md", "IEEE; standard", "", "docs/NUMERICS.md:5: N1: no word of certainty in ''"),
    (
        "docs/NUMERICS.md",
        "standard |\n",
        "standard | `numerics/a.h: one` |\n",
        "docs/NUMERICS.md:5: N1 has 4 columns; expected rule, text, source with its certainty",
    ),
    (
        MARKS,
        "implements: N1, N2",
        "implements: N1, N2, N9",
        f"{MARKS}:7: 'implements: N9', but no page of docs/ defines N9; the nearest is N6",
    ),
    (
        "tests/a_test.cpp",
        "tests: N1,",
        "tests: N1, Z1,",
        "tests/a_test.cpp:1: 'tests: Z1', but no page of docs/ defines Z1; the nearest is N1",
    ),
    (
        "tests/run.sh",
        "tests: N5, T02",
        "tests: N5, T12, T02",
        "tests/run.sh:2: 'tests: T12', but no page of docs/ defines T12; the nearest is T02",
    ),
    (
        MARKS,
        "implements: N1, N2",
        "implements: N2",
        "docs/NUMERICS.md:5: N1 has no marker 'implements: N1'; expected one in the code,"
        " or 'no code: REASON' in its last column",
    ),
    (
        "tests/a_test.cpp",
        "N1, N2",
        "N1",
        "docs/NUMERICS.md:6: N2 has no marker 'tests: N2'; expected one in the code, or 'no test: REASON' in its last column",
    ),
    (
        "docs/NUMERICS.md",
        "| N6 |",
        "| N3 | words | ours |\n| N6 |",
        "docs/NUMERICS.md:8: N3 is marked nowhere; expected a line 'implements: N3' and one 'tests: N3'",
    ),
    (
        "docs/NUMERICS.md",
        "no code: of others",
        "no code: ",
        "docs/NUMERICS.md:7: N5 has no marker 'implements: N5'; expected one in the code,"
        " or 'no code: REASON' in its last column",
    ),
    (
        "tests/run.sh",
        "N5, T02",
        "N5",
        "docs/TABLE.md:4: T02 is marked nowhere; expected a line 'tests: T02'",
    ),
    (
        MARKS,
        "// implements: N6",
        "// implements: N5, N6",
        f"docs/NUMERICS.md:7: N5 says that there is none, but {MARKS}:8 has 'implements: N5'",
    ),
    (MARKS, "// implements: N6", "// tests: N6", f"{MARKS}:8: '// tests: N6' is in none of tests/, bench/, examples/"),
    (MARKS, "// implements: N6\n", "// implements: N6\n\n", f"{MARKS}:8: '// implements: N6' stands before nothing"),
    (MARKS, "N1, N2\n", "N1, N2, N1\n", f"{MARKS}:7: '// implements: N1, N2, N1' names N1 twice"),
    (
        MARKS,
        "implements: N6",
        "implements: N6 and N1",
        f"{MARKS}:8: '// implements: N6 and N1' is no marker; expected 'implements: N12' or 'implements: N12, N13'",
    ),
]
NAMED = [  # file, what stands below a marker, its name
    ("a.cpp", "TEST_F(Suite,\n       Name) {", "Suite.Name"),
    ("a.h", "template <class T, class U = std::less<T>>\nSOFTAMP_INLINE std::pair<T, U> a::f<T>(T x = g(1)) {", "a::f"),
    ("a.h", "enum class Mode : uint8_t {", "Mode"),
    ("a.h", "inline constexpr Row<int> kRows[] = {", "kRows"),
    ("a.h", "#define SOFTAMP_X inline", "SOFTAMP_X"),
    ("a.h", "// implements: N2\nint f();", "f"),
    ("a.h", "bool A::operator==(const A& a) {", "A::operator"),
    ("a.h", "#include <x>\n", ""),
    ("a.h", "\nint f();", ""),
    ("a.py", "def f(x):", "f"),
    ("a.py", "TABLE = 3", "TABLE"),
    ("a.sh", "part() {", "part"),
    ("CMakeLists.txt", "add_test(NAME house.x COMMAND y)", "house.x"),
    ("CMakeLists.txt", "  target_link_libraries(a b)", "target_link_libraries(a b)"),
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
    for file, below, expected in NAMED:
        if name_of(file, below) != expected:
            failed.append(f"the name of '{below}' in {file}: expected '{expected}', found '{name_of(file, below)}'")
    print("\n".join(failed + [f"rule_ids: {len(PLANTED)} faults planted, {len(failed)} not as expected"]))
    return 1 if failed else 0


def main():
    if sys.argv[1:] == ["--self-test"]:
        return self_test()
    here = pathlib.Path(__file__).resolve().parents[2]
    if sys.argv[1:2] == ["--list"]:
        return print_list(here, sys.argv[2] if len(sys.argv) > 2 else None)
    root = pathlib.Path(sys.argv[1]) if len(sys.argv) > 1 else here
    faults, summary = check(root)
    print("\n".join(faults + [f"rule_ids: {len(faults)} faults; {summary}"]))
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
