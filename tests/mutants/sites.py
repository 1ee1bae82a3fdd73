"""Where a source can be changed, and into what: the sites of mutants, by the tokens of functions' bodies."""

import functools
import pathlib
import re
import sys
from typing import NamedTuple

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests/code"))
from equivalent import LeftOut  # noqa: E402
from functions import Source  # noqa: E402
from tokens import OPENING  # noqa: E402

FOLDERS = ("include/softamp", "src", "emu")
# What no test of C++ runs: the module of Python, and what stands for packages.
LEFT_OUT = ("src/python/", "src/minimal/packages/")

NAMES = {"+": "kPlus", "-": "kMinus", "*": "kTimes", "/": "kOver", "<<": "kLeft", ">>": "kRight", "&": "kAnd",
         "|": "kOr", "<": "kLess", "<=": "kLessEqual", ">": "kGreater", ">=": "kGreaterEqual", "==": "kEqual",
         "!=": "kUnequal"}
OTHERS = {"+": "-", "-": "+", "*": "/", "/": "*", "%": "/", "<<": ">>", ">>": "<<", "&": "|", "|": "&", "^": "|", "<": "<=",
          "<=": "<", ">": ">=", ">=": ">", "==": "!=", "!=": "=="}
ASSIGNING = {"=", "+=", "-=", "*=", "/=", "%=", "|=", "&=", "^=", "<<="}
NO_STATEMENTS = {"return", "throw", "using", "static_assert", "delete", "break", "continue", "case", "default", "goto", "public",
                 "private", "protected", "if", "for", "while", "switch", "do", "else", "try", "co_return", "asm", "typedef", "template",
                 "const", "constexpr", "static", "auto", "struct", "class", "enum", "extern", "inline", "thread_local"}
NUMBER = re.compile(r"(0x[\da-fA-F']+|\d[\d']*)(u|U|ull|ULL|ll|l|L)?|\d[\d']*\.\d*(?:e[+-]?\d+)?(f)?")


class Site(NamedTuple):
    kind: str
    file: str
    function: str
    line: int
    first: int  # where in the text it begins and ends
    end: int
    edits: tuple  # (position, text to put there) with {} for the number of the place
    says: str  # "a < b" -> "a <= b"


def named_values(texts):
    """For each enumerator and named constant of a class's type the next of its kind."""
    following = {}
    for text in texts:
        for match in re.finditer(r"\benum\s+(?:class\s+)?(\w+)[^{;]*\{([^}]*)\}", text):
            body = re.sub(r"//[^\n]*", "", match.group(2))
            names = [word.split("=")[0].strip() for word in body.split(",") if word.strip()]
            if len(names) > 1:
                for name, other in zip(names, names[1:] + names[:1]):
                    following[f"{match.group(1)}::{name}"] = f"{match.group(1)}::{other}"
        constants = {}
        for kind, name in re.findall(r"^(?:inline )?constexpr (?:\w+::)*([A-Z]\w+) (k\w+)\b", text, re.MULTILINE):
            constants.setdefault(kind, []).append(name)
        for names in constants.values():
            if len(names) > 1:
                following.update(zip(names, names[1:] + names[:1]))
    return following


class Finder:
    def __init__(self, file, following, kinds=()):
        """`kinds`: of the table of equivalent mutants."""
        self.file, self.kinds = file, kinds
        self.source = Source((ROOT / file).read_text())
        self.text, self.tokens, self.partners = self.source.text, self.source.tokens, self.source.partners
        self.following = following
        self.function = None

    def sites(self):
        for function in self.source.functions:
            self.function = function.name
            left_out = LeftOut(self.kinds, self.file, self.tokens, function)
            yield from (site for site in self._in_body(function.open, function.close) if site not in left_out)

    def _site(self, kind, first, end, edits, says):
        line = self.text.count("\n", 0, first) + 1
        return Site(kind, self.file, self.function, line, first, end, tuple(edits), says)

    def _behind(self, index):
        """The index behind this token, or behind all that stands in the brackets or the list of a template that it opens."""
        if self.tokens[index].text in "([{" and self.partners[index]:
            return self.partners[index] + 1
        if self.tokens[index].text == "<" and not self._spaced(index):
            depth, at = 0, index
            while at < len(self.tokens) and self.tokens[at].text not in (";", "{"):
                depth += {"<": 1, ">": -1}.get(self.tokens[at].text, 0)
                if depth == 0:
                    return at + 1
                at += 1
        return index + 1

    def _said(self, first, end):
        return " ".join(self.text[first:end].split())

    def _in_body(self, open_, close):
        constant = self._constant_tokens(open_, close)
        for index in range(open_ + 1, close):
            if index in constant:
                continue
            token = self.tokens[index]
            if token.kind == "sign":
                yield from self._operator(index)
                yield from self._logical(index, close)
            elif token.kind == "number":
                yield from self._number(index)
            elif token.kind == "word":
                yield from self._condition(index)
                yield from self._named(index)
                yield from self._swapped(index)
            yield from self._statement(index, close)

    def _constant_tokens(self, open_, close):
        """The tokens of what the compiler decides: static_assert, constexpr variables, labels, attributes."""
        found, index = set(), open_ + 1
        while index < close:
            text = self.tokens[index].text
            if text in ("static_assert", "constexpr", "case", "using", "template", "asm"):
                if text == "constexpr" and self.tokens[index - 1].text == "if":
                    end = self.partners[index + 1]
                else:
                    end = index
                    while end < close and self.tokens[end].text not in ((":",) if text == "case" else (";", "}")):
                        end = self._behind(end)
                found.update(range(index, end + 1))
                index = end
            index += 1
        return found

    def _spaced(self, index, width=1):
        """Whether blanks are on both sides, as they are about operators of two operands, and of no other sign."""
        before, after = self.tokens[index].start - 1, self.tokens[index + width - 1].end
        return self.text[before].isspace() and self.text[after].isspace()

    def _operator(self, index):
        sign, width = self.tokens[index].text, 1
        if sign == ">" and self.tokens[index + 1].text == ">" and self.tokens[index].end == self.tokens[index + 1].start:
            sign, width = ">>", 2
        if sign not in OTHERS or not self._spaced(index, width) or self.tokens[index - 1].text == "operator":
            return
        if sign in ("<<", ">>") and self._is_stream(index):
            return
        if self.tokens[index - 1].kind == "text" or self.tokens[index + width].kind == "text":
            return
        first, end = self.tokens[index].start, self.tokens[index + width - 1].end
        put = f" ::mutant::Binary<{{}}, ::mutant::{NAMES[OTHERS[sign]]}>{{{{}}}} {sign}"
        near = self._said(self.tokens[index - 1].start, self.tokens[index + width].end)
        yield self._site("operator", first, end, [(end, put)], f"{near}: {OTHERS[sign]}")

    def _is_stream(self, index):
        """Whether the statement about this shift writes a text."""
        for step in (-1, 1):
            at = index
            while 0 < at < len(self.tokens) - 1 and self.tokens[at].text not in (";", "{", "}"):
                if self.tokens[at].kind == "text":
                    return True
                at += step
        return False

    def _logical(self, index, close):
        sign = self.tokens[index].text
        if sign not in ("&&", "||") or not self._spaced(index):
            return
        end = index + 1
        while end < close and self.tokens[end].text not in ("&&", "||", "?", ":", ",", ";", ")", "]", "}"):
            if self.tokens[end].text in ("=", "{", "return", "requires"):
                return
            end = self._behind(end)
        first, last = self.tokens[index + 1].start, self.tokens[end - 1].end
        ahead = "(::mutant::changes<{}>() || (" if sign == "&&" else "(::mutant::keeps<{}>() && ("
        yield self._site("condition", first, last, [(first, ahead), (last, "))")],
                         f"{sign} {self._said(first, last)}: dropped")

    def _number(self, index):
        token, before = self.tokens[index], self.tokens[index - 1].text
        match = NUMBER.fullmatch(token.text)
        if not match or (before == "<" and not self._spaced(index - 1)):
            return
        digits = token.text.replace("'", "")
        whole = match.group(1) is not None
        if whole:
            one = re.fullmatch(r"0*1|0x0*1", match.group(1))
            other = token.text.replace("1", "0") if one else f"{token.text} + 1"
        else:
            other = f"{token.text} * 2" if float(digits.rstrip("fF")) else f"{token.text} + 1"
        yield self._site("number", token.start, token.end, [(token.start, "::mutant::value<{}>("), (token.end, f", {other})")],
                         f"{self._said(self.tokens[max(index - 2, 0)].start, token.end)}: {other}")

    def _condition(self, index):
        if self.tokens[index].text != "if" or self.tokens[index + 1].text != "(":
            return
        open_, close = index + 1, self.partners[index + 1]
        inner = range(open_ + 1, close)
        if any(self.tokens[at].text in (";", "=") for at in inner):
            return
        first, end = self.tokens[open_].end, self.tokens[close].start
        yield self._site("condition", first, end, [(first, "::mutant::turned<{}>("), (end, ")")], f"if ({self._said(first, end)}): turned")

    def _named(self, index):
        tokens = self.tokens
        after, before = tokens[index + 1].text, tokens[index - 1].text
        first, name = index, tokens[index].text
        if before == "::" and tokens[index - 2].kind == "word":
            first, name = index - 2, f"{tokens[index - 2].text}::{name}"
        elif before in (".", "->", "::"):
            return
        other = self.following.get(name)
        if not other or after in ("::", "(", "{") or (tokens[first - 1].text in ("<", "::") and not self._spaced(first - 1)):
            return
        start, end = tokens[first].start, tokens[index].end
        yield self._site("named value", start, end, [(start, "::mutant::value<{}>("), (end, f", {other})")], f"{name}: {other}")

    def _simple(self, first, end):
        """Whether these tokens are a variable, or a member of one: what can be read twice."""
        words = [token.text for token in self.tokens[first:end]]
        return bool(re.fullmatch(r"\w+( (\.|->|::) \w+)*", " ".join(words))) and self.tokens[first].kind == "word"

    def _swapped(self, index):
        """Two arguments that stand beside each other."""
        if self.tokens[index + 1].text != "(" or self.tokens[index].text in NO_STATEMENTS | {"sizeof", "decltype", "noexcept", "defined"}:
            return
        open_, close = index + 1, self.partners[index + 1]
        if self.tokens[close + 1].text == "{" or self.tokens[close + 1].text == "->":
            return
        parts, at = [open_ + 1], open_ + 1
        while at < close:
            if self.tokens[at].text == ",":
                parts.append(at + 1)
            at = self._behind(at)
        ends = [part - 1 for part in parts[1:]] + [close]
        for (a, a_end), (b, b_end) in zip(zip(parts, ends), list(zip(parts, ends))[1:]):
            if self._simple(a, a_end) and self._simple(b, b_end):
                x, y = (self.text[self.tokens[f].start : self.tokens[e - 1].end] for f, e in ((a, a_end), (b, b_end)))
                if x != y:
                    edits = [(self.tokens[a].start, "::mutant::either<{}>("), (self.tokens[a_end - 1].end, f", {y})"),
                             (self.tokens[b].start, "::mutant::either<{}>("), (self.tokens[b_end - 1].end, f", {x})")]
                    yield self._site("arguments", self.tokens[a].start, self.tokens[b_end - 1].end, edits,
                                     f"{self.tokens[index].text}(.. {x}, {y} ..): swapped")

    def _statement(self, index, close):
        """A statement that can be dropped: an assignment, a call, a step."""
        before = self.tokens[index - 1].text
        if before not in (";", "{", "}", "else", ")") or self.tokens[index].text in NO_STATEMENTS:
            return
        if before == ")" and self.tokens[(self.partners[index - 1] or 1) - 1].text not in ("if", "for", "while"):
            return
        end, assigned = index, None
        while end < close and self.tokens[end].text != ";":
            if self.tokens[end].text in "{}":
                return
            if self.tokens[end].text in ASSIGNING and assigned is None:
                assigned = end
            end = self._behind(end)
        if end >= close or end == index:
            return
        left = " ".join(self._flat(index, end if assigned is None else assigned))
        chain = r"(\* )*\w+( (\.|->|::) \w+| \[\]| \(\))*"
        if assigned is None and not re.fullmatch(chain + r" \(\)|(\+\+|--) " + chain + "|" + chain + r" (\+\+|--)", left):
            return
        if assigned is not None and not re.fullmatch(chain, left):
            return
        first, last = self.tokens[index].start, self.tokens[end].end
        yield self._site("statement", first, last, [(first, "{{ if (::mutant::keeps<{}>()) "), (last, " }}")],
                         f"{self._said(first, last)[:90]}: dropped")

    def _flat(self, first, end):
        """The tokens, with () and [] for what stands in brackets."""
        at = first
        while at < end:
            text = self.tokens[at].text
            if text in "([" and self.partners[at]:
                yield text + OPENING[text]
                at = self.partners[at]
            else:
                yield text
            at += 1


def sources():
    for folder in FOLDERS:
        for path in sorted((ROOT / folder).rglob("*")):
            name = str(path.relative_to(ROOT))
            if path.suffix in (".h", ".cpp") and not name.startswith(LEFT_OUT):
                yield name


@functools.cache
def lines_of(file):
    return (ROOT / file).read_text().splitlines()


def all_sites(kinds, folders=()):
    """Those of all sources, or of the ones below these folders, without the kinds of equivalent ones."""
    files = list(sources())
    following = named_values((ROOT / file).read_text() for file in files)
    return [site for file in files if not folders or file.startswith(tuple(folders)) for site in Finder(file, following, kinds).sites()]
