"""Where a bug is, by the function that it is in: files may move, and lines and local names may change.

A pattern is C++ whose blanks mean nothing. `$1`, `$2`, ... stand for names, different numbers for different ones;
`$...` stands for any tokens, as few as possible.
"""

import bisect
import difflib
import functools
import itertools
import pathlib
import re
import sys
from typing import NamedTuple

from texts import ROOT, Wrong, text_of

sys.path.insert(0, str(ROOT / "tests/code"))

from functions import Source  # noqa: E402
from tokens import tokens_of  # noqa: E402

ROOTS = ("include", "src", "emu", "cuda", "tests/backend")
ENDS = (".h", ".cpp", ".cu")
END = "\0"  # of a token, in the text that patterns are searched in
VARIABLE = re.compile(r"\$(\d+|\.\.\.)")


class Found(NamedTuple):
    file: str
    start: int  # in the file's text
    end: int
    names: dict  # what the pattern's variables stand for: {"1": "sum"}
    gaps: list  # and its `$...`


class Tokens:
    """A file's definitions, and its tokens as a text."""

    def __init__(self, name):
        self.name = name
        self.source = Source(text_of(name))
        self.starts = list(itertools.accumulate((len(token.text) + 1 for token in self.source.tokens), initial=0))
        self.text = "".join(token.text + END for token in self.source.tokens)
        self.defined = {}  # the definitions, by the last part of their names
        for definition in self.source.definitions:
            self.defined.setdefault(last_part(definition.name), []).append(definition)

    def text_between(self, first, end):
        """The source of the tokens that begin at these places of `text`."""
        first, end = (bisect.bisect_left(self.starts, place) for place in (first, end))
        tokens = self.source.tokens[first:end]
        return (tokens[0].start, tokens[-1].end) if tokens else (0, 0)

    def matches(self, pattern, definition):
        for match in pattern.finditer(self.text, self.starts[definition.first], self.starts[definition.last + 1]):
            spans = {name: self.text_between(*match.span(name)) for name in match.groupdict() if name[0] == "g"}
            names = {name[1:]: text[:-1] for name, text in match.groupdict().items() if name[0] == "v"}
            yield Found(self.name, *self.text_between(*match.span("all")), names,
                        [self.source.text[start:end] for start, end in spans.values()])


@functools.cache
def files():
    paths = [path for root in ROOTS for path in sorted((ROOT / root).rglob("*")) if path.suffix in ENDS]
    return [str(path.relative_to(ROOT)) for path in paths]


@functools.cache
def tokens_in(name):
    return Tokens(name)


def last_part(name):
    return name.rsplit("::", 1)[-1]


def is_called(definition, anchor):
    return f"::{definition.name}".endswith(f"::{anchor}")


@functools.cache
def definitions(anchor):
    """All that is called so, with or without the names of its classes: pairs of a file's tokens and a definition."""
    anchor = anchor.replace(" ", "")
    last = last_part(anchor)
    word = re.search(r"\w*\W*$", last).group().removeprefix("operator").strip("~")
    return [(tokens_in(name), definition) for name in files() if word in text_of(name)
            for definition in tokens_in(name).defined.get(last, ()) if is_called(definition, anchor)]


def defining(anchor, ends):
    """The files, ending so, that define what is called so."""
    found = sorted({tokens.name for tokens, _ in definitions(anchor) if tokens.name.endswith(ends)})
    if not found:
        raise unknown(anchor)
    return found


def compiled(change):
    """The regular expression of a pattern."""
    parts, gaps, seen = [], 0, set()
    for word in re.split(r"(\$(?:\d+|\.\.\.))", change):
        if word == "$...":
            gaps += 1
            parts.append(f"(?P<g{gaps}>(?:[^{END}]*{END})*?)")
        elif VARIABLE.fullmatch(word):
            name = f"v{word[1:]}"
            others = "".join(f"(?!(?P={other}))" for other in sorted(seen - {name}))
            parts.append(f"(?P={name})" if name in seen else rf"{others}(?P<{name}>[A-Za-z_]\w*{END})")
            seen.add(name)
        else:
            parts += [re.escape(token.text + END) for token in tokens_of(word)]
    return re.compile(f"(?<![^{END}])(?=(?P<all>{''.join(parts)}))", re.DOTALL)


def found(anchor, change):
    """Every place of a pattern in what is called so."""
    pattern = compiled(change)
    places = [place for tokens, definition in definitions(anchor) for place in tokens.matches(pattern, definition)]
    return list({place[:3]: place for place in places}.values())


def line_of(place):
    return text_of(place.file).count("\n", 0, place.start) + 1


def nearest_names(anchor):
    names = {definition.name for name in files() for definition in tokens_in(name).source.definitions}
    last = anchor.split("::")[-1]
    same = sorted(name for name in names if name.split("::")[-1] == last)
    return (same + difflib.get_close_matches(anchor, names, 3, 0.5))[:3] or ["none is like it"]


def unknown(anchor):
    return Wrong(f"no function, class or variable is called '{anchor}'; the nearest: {', '.join(nearest_names(anchor))}")


def nearest_text(anchor, change):
    """What is most like the pattern, of as many tokens."""
    wanted = [token.text for token in tokens_of(VARIABLE.sub(" _ ", change))]
    best = (0.0, "")
    for tokens, definition in definitions(anchor):
        words = [token.text for token in tokens.source.tokens[definition.first : definition.last + 1]]
        for start in range(max(1, len(words) - len(wanted) + 1)):
            part = words[start : start + len(wanted)]
            best = max(best, (sum(map(str.__eq__, part, wanted)) / len(wanted), " ".join(part)))
    return best[1]


def place_of(bug):
    """The one place that a bug changes."""
    anchor, change = bug.at, bug.change
    if not definitions(anchor):
        raise unknown(anchor)
    places = found(anchor, change)
    if len(places) > 1:
        lines = ", ".join(f"{place.file}:{line_of(place)}" for place in places)
        raise Wrong(f"'{change}' occurs {len(places)} times in {anchor}, expected once: {lines}")
    if not places:
        where = ", ".join(sorted({tokens.name for tokens, _ in definitions(anchor)}))
        raise Wrong(f"'{change}' is not in {anchor} ({where}); the nearest: {nearest_text(anchor, change)}")
    return places[0]


def mutated(bug):
    """The file that a bug changes, and its text with the bug in it."""
    place = place_of(bug)
    gaps = iter(place.gaps)

    def filled(match):
        known = next(gaps, None) if match.group(1) == "..." else place.names.get(match.group(1))
        if known is None:
            raise Wrong(f"{match.group()} of '{bug.to}' is not in '{bug.change}'")
        return known

    text = text_of(place.file)
    return place.file, text[: place.start] + VARIABLE.sub(filled, bug.to) + text[place.end :]
