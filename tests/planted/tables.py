"""The tables of bugs: read, compared with the sources, and dealt out in parts."""

import json
import pathlib
import re

from texts import ROOT, Wrong, closure, is_parity, mutated, runs_the_command

NUMERICS = "include/softamp/numerics"
UMBRELLAS = {"operations.h", "math.h", "version.h"}  # nothing but #include lines; a number that backend.arithmetic_history holds
REQUIRED = ("id", "stands_for", "file", "find", "replace", "test", "filter", "why")
OPTIONAL = ("sources", "compile_error", "order", "signal")
CHOICES = {"order": ("forwards", "backwards"), "signal": ("SIGILL", "SIGSEGV")}
COMPILED = (".cpp", ".cu")


def load(tables):
    bugs = []
    for table in tables:
        for bug in json.loads(table.read_text()):
            name = f"{table.name}: {bug.get('id', '(no id)')}"
            missing = [key for key in REQUIRED if key not in bug]
            unknown = [key for key in bug if key not in REQUIRED + OPTIONAL]
            if missing or unknown:
                raise Wrong(f"{name}: missing {missing}, unknown {unknown}; known are {REQUIRED + OPTIONAL}")
            if bug["file"].endswith(COMPILED):
                bug["sources"] = [bug["file"], *bug.get("sources", ())]
            bugs.append(bug)
    names = [bug["id"] for bug in bugs]
    repeated = sorted({name for name in names if names.count(name) > 1})
    if repeated:
        raise Wrong(f"ids used twice: {', '.join(repeated)}")
    return bugs


def headers_without_bug(bugs):
    headers = {path.name for path in (ROOT / NUMERICS).glob("*.h")} - UMBRELLAS
    headers -= {pathlib.Path(bug["file"]).name for bug in bugs if bug["file"].startswith(NUMERICS)}
    return sorted(f"{NUMERICS}/{header}" for header in headers)


def misfit(bug):
    """Why a bug cannot be planted, or its test cannot notice; None if all is well."""
    try:
        mutated(bug)
        for key, choices in CHOICES.items():
            if bug.get(key, choices[0]) not in choices:
                return f"{key} is '{bug[key]}'; expected {' or '.join(choices)}"
        compiled = [bug["test"], *bug.get("sources", ())]
        if not any(bug["file"] in closure(source) for source in compiled):
            return f"none of {', '.join(compiled)} includes {bug['file']}"
    except Wrong as problem:
        return str(problem)
    return None


class Plan:
    """The bugs of one test that are compiled and run alike: with sources of the library, or the test alone."""

    def __init__(self, bugs):
        self.bugs = bugs
        self.test = bugs[0]["test"]
        self.with_sources = bool(bugs[0].get("sources"))
        self.command = self.with_sources and runs_the_command(self.test)
        self.filter = ":".join(sorted({bug["filter"] for bug in self.runs()}))
        self.order = bugs[0].get("order", "forwards")  # of the serial grid's threads
        self.testers = []  # the objects of the test that serve all of sharing()

    def runs(self):
        return [bug for bug in self.bugs if "compile_error" not in bug]

    def sharing(self):
        """The bugs that change nothing of what the test itself is compiled from."""
        return [] if self.command else [bug for bug in self.runs() if bug["file"] not in closure(self.test)]

    def name(self):
        alone = f" {self.filter} {self.order}" if is_parity(self.test) else ""
        return re.sub(r"\W", "_", self.test + alone) + ("_with_sources" if self.with_sources else "")


def plans_of(bugs):
    plans = {}
    for bug in bugs:
        # A case of the parity suite is run alone: nothing of that suite is compiled.
        alone = bug["filter"] if is_parity(bug["test"]) else None
        key = (bug["test"], bool(bug.get("sources")), bug.get("order"), alone)
        plans.setdefault(key, []).append(bug)
    return sorted(map(Plan, plans.values()), key=lambda plan: (-len(plan.bugs), plan.name(), plan.filter))


def part_of(bugs, number, parts):
    """One of several equal parts; bugs of one test stand beside each other, that few tests are compiled. Kernels, which
    compile for long, are dealt one by one."""
    ordered = [bug for plan in plans_of(bugs) for bug in plan.bugs]
    kernels = [bug for bug in ordered if bug["file"].startswith("cuda/")]
    others = [bug for bug in ordered if not bug["file"].startswith("cuda/")]
    first, end = ((number % parts + step) * len(others) // parts for step in (0, 1))
    return others[first:end] + kernels[number % parts :: parts]
