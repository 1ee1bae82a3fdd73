"""Mutants that change nothing that a test could see, by the table equivalent.json.

`kinds`: places that the generator leaves out. `pattern` is a regular expression over a statement whose tokens stand apart by one
blank; a place inside its match, or inside its group `here`, is left out, unless what is said of it matches `unless`. `in` begins
the path.
`rows`: single places. `function` and `change` are as mutants.py names them (`change` may be a list), `in` ends the path, `at` is
a part of the place's line; both stand only where the others fit several places.
`why` is the reason.
"""

import difflib
import json
import pathlib
import re

TABLE = pathlib.Path(__file__).with_name("equivalent.json")
FIELDS = {"kinds": {"pattern", "why"}, "rows": {"function", "change", "why"}}
MORE_FIELDS = {"kinds": {"in", "unless"}, "rows": {"in", "at"}}


class Kind:
    def __init__(self, entry):
        self.pattern, self.why = re.compile(entry["pattern"]), entry["why"]
        self.folder, self.unless = entry.get("in", ""), re.compile(entry.get("unless", r"(?!)"))

    def spans(self, statement, text):
        """Where in the source it matches; `text` is that of the statement's tokens, with blanks between them."""
        for match in self.pattern.finditer(text):
            start, end = match.span("here" if "here" in self.pattern.groupindex else 0)
            inside, at = [], 0
            for token in statement:
                if start <= at and at + len(token.text) <= end:
                    inside.append(token)
                at += len(token.text) + 1
            if inside:
                yield inside[0].start, inside[-1].end


def statements(tokens, open_, close):
    """Runs of tokens that end by a semicolon outside of brackets, or at a brace."""
    run, depths = [], [0]
    for token in tokens[open_ + 1 : close]:
        run.append(token)
        depths[-1] += {"(": 1, "[": 1, ")": -1, "]": -1}.get(token.text, 0)
        if token.text == "{":
            depths.append(0)
        elif token.text == "}" and len(depths) > 1:
            depths.pop()
        if token.text in "{}" or (token.text == ";" and depths[-1] == 0):
            yield run
            run = []


class LeftOut:
    """The places of one function that kinds leave out."""

    def __init__(self, kinds, file, tokens, function):
        self.spans = []
        kinds = [kind for kind in kinds if file.startswith(kind.folder)]
        for statement in statements(tokens, function.open, function.close) if kinds else ():
            text = " ".join(token.text for token in statement)
            self.spans += [(kind, span) for kind in kinds for span in kind.spans(statement, text)]

    def __contains__(self, site):
        return any(first <= site.first and site.end <= end and not kind.unless.search(site.says) for kind, (first, end) in self.spans)


class Row:
    def __init__(self, entry):
        self.function, self.why = entry["function"], entry["why"]
        self.changes = [entry["change"]] if isinstance(entry["change"], str) else entry["change"]
        self.file, self.at = entry.get("in", ""), entry.get("at", "")

    def is_of(self, place, lines):
        """`place`: an object with file, function, line and says."""
        return (place.says in self.changes and place.function == self.function and place.file.endswith(self.file)
                and self.at in lines(place.file)[place.line - 1])

    def problems(self, sites, lines):
        """Why it fits no place, or too many; `sites` are all there are, by function."""
        named = [site for site in sites.get(self.function, []) if site.file.endswith(self.file)]
        if not named:
            yield f"no function with a mutant is called '{self.function}'{self._where()}; the nearest: {_nearest(self.function, sites)}"
            return
        for change in self.changes:
            found = [site for site in named if site.says == change and self.at in lines(site.file)[site.line - 1]]
            if not found:
                yield (f"'{change}'{f' on a line with {self.at!r}' if self.at else ''} is no mutant of {self.function}{self._where()}; "
                       f"the nearest: {_nearest(change, [site.says for site in named])}")
            elif len(found) > 1:
                places = ", ".join(f"{site.file}:{site.line}" for site in found)
                yield f"'{change}' of {self.function} fits {len(found)} places ({places}); expected one, told apart by `in` and `at`"

    def _where(self):
        return f" in {self.file}" if self.file else ""


def _nearest(word, others):
    return ", ".join(f"'{other}'" for other in difflib.get_close_matches(word, others, 3, 0.4)) or "none is like it"


class Table:
    def __init__(self, entries=None):
        entries = json.loads(TABLE.read_text()) if entries is None else entries
        for part, fields in FIELDS.items():
            for entry in entries[part]:
                if fields - set(entry) or set(entry) - fields - MORE_FIELDS[part]:
                    raise SystemExit(f"{TABLE.name}: {part}: {entry}: expected the fields {sorted(fields)}, and maybe {sorted(MORE_FIELDS[part])}")
        self.kinds = [Kind(entry) for entry in entries["kinds"]]
        self.rows = [Row(entry) for entry in entries["rows"]]

    def problems(self, sites, lines):
        by_function = {}
        for site in sites:
            by_function.setdefault(site.function, []).append(site)
        return [problem for row in self.rows for problem in row.problems(by_function, lines)]

    def reason(self, place, lines):
        """Why a place changes nothing; None if no row says so."""
        return next((row.why for row in self.rows if row.is_of(place, lines)), None)
