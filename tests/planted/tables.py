"""The tables of bugs: read, compared with the sources, and dealt out in parts."""

import dataclasses
import functools
import json
import re

from anchors import defining, files, mutated
from texts import Wrong, closure, file_of_tests, is_parity, runs_the_command, written

CHOICES = {"order": ("forwards", "backwards"), "signal": ("", "SIGILL", "SIGSEGV"), "instruction_set": ("", "avx512f")}
COMPILED = (".cpp", ".cu")
FEW = 4  # so many sources that include a changed header are all compiled
PARITY = "tests/serial_grid/parity.cpp"


@dataclasses.dataclass(eq=False)
class Bug:
    """One bug of a table; planted.py says what its fields mean."""

    id: str
    stands_for: str
    at: str
    change: str
    to: str
    why: str
    test: str = ""
    parity: str = ""
    used_by: list = ()
    compile_error: str = ""
    order: str = "forwards"
    signal: str = ""
    instruction_set: str = ""

    @property
    def filter(self):
        return self.test or self.parity

    @functools.cached_property
    def tester(self):
        """The source of its test."""
        return PARITY if self.parity else file_of_tests(self.test)

    @functools.cached_property
    def changed(self):
        """The file that it changes, and the text with the bug."""
        return mutated(self)

    @property
    def file(self):
        return self.changed[0]

    @functools.cached_property
    def sources(self):
        """The sources of the library that are compiled with it, as far as the build compiles them."""
        own = [self.file] if self.file.endswith(COMPILED) else []
        if self.used_by or own:
            return sorted({*own, *(source for name in self.used_by for source in defining(name, COMPILED))})
        users = [name for name in (*files(), *written()) if name.endswith(COMPILED) and self.file in closure(name)
                 and (not name.startswith("src/program/") or runs_the_command(self.tester))]
        if len(users) <= FEW:
            return users
        if self.file in closure(self.tester):
            return []
        raise Wrong(f"{len(users)} sources include {self.file}, and {self.tester} does not; name some of their functions in used_by")

    def misfit(self):
        """Why it cannot be planted, or its test cannot notice; None if all is well."""
        try:
            for key, choices in CHOICES.items():
                if getattr(self, key) not in choices:
                    return f"{key} is '{getattr(self, key)}'; expected {' or '.join(filter(None, choices))}"
            if bool(self.test) == bool(self.parity):
                return "expected either test or parity"
            compiled = [self.tester, *self.sources]
            if not any(self.file in closure(source) for source in compiled):
                return f"none of {', '.join(compiled)} includes {self.file}"
        except Wrong as problem:
            return str(problem)
        return None


FIELDS = [field.name for field in dataclasses.fields(Bug)]
REQUIRED = [field.name for field in dataclasses.fields(Bug) if field.default is dataclasses.MISSING]


def load(tables):
    bugs = []
    for table in tables:
        for entry in json.loads(table.read_text()):
            missing, unknown = [[key for key in some if key not in others] for some, others in ((REQUIRED, entry), (entry, FIELDS))]
            if missing or unknown:
                raise Wrong(f"{table.name}: {entry.get('id', '(no id)')}: missing {missing}, unknown {unknown}; known are {FIELDS}")
            bugs.append(Bug(**entry))
    names = [bug.id for bug in bugs]
    repeated = sorted({name for name in names if names.count(name) > 1})
    if repeated:
        raise Wrong(f"ids used twice: {', '.join(repeated)}")
    return bugs


class Plan:
    """The bugs of one test that are compiled and run alike: with sources of the library, or the test alone."""

    def __init__(self, bugs):
        self.bugs = bugs
        self.test = bugs[0].tester
        self.with_sources = bool(bugs[0].sources)
        self.command = self.with_sources and runs_the_command(self.test)
        self.filter = ":".join(sorted({bug.filter for bug in self.runs()}))
        self.order = bugs[0].order  # of the serial grid's threads
        self.testers = []  # the objects of the test that serve all of sharing()

    def runs(self):
        return [bug for bug in self.bugs if not bug.compile_error]

    def sharing(self):
        """The bugs that change nothing of what the test itself is compiled from."""
        return [] if self.command else [bug for bug in self.runs() if bug.file not in closure(self.test)]

    def name(self):
        alone = f" {self.filter} {self.order}" if is_parity(self.test) else ""
        return re.sub(r"\W", "_", self.test + alone) + ("_with_sources" if self.with_sources else "")


def plans_of(bugs):
    plans = {}
    for bug in bugs:
        # A case of the parity suite is run alone: nothing of that suite is compiled.
        plans.setdefault((bug.tester, bool(bug.sources), bug.order, bug.parity), []).append(bug)
    return sorted(map(Plan, plans.values()), key=lambda plan: (-len(plan.bugs), plan.name(), plan.filter))


def part_of(bugs, number, parts):
    """One of several equal parts; bugs of one test stand beside each other, that few tests are compiled. Kernels, which
    compile for long, are dealt one by one."""
    ordered = [bug for plan in plans_of(bugs) for bug in plan.bugs]
    kernels = [bug for bug in ordered if bug.file.startswith("cuda/")]
    others = [bug for bug in ordered if not bug.file.startswith("cuda/")]
    first, end = ((number % parts + step) * len(others) // parts for step in (0, 1))
    return others[first:end] + kernels[number % parts :: parts]
