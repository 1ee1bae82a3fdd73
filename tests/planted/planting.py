"""Compiles, links and runs the tests of bugs, and says of each what caught it."""

import concurrent.futures
import re
import tempfile

from tables import plans_of
from texts import ROOT, Wrong, is_parity, selected
from workshop import Workshop

FEW = 3  # so many bugs are planted sooner without precompiled headers


def build(workshop, plan, name, gtest_filter, sources=(), testers=()):
    """The test's program, with `sources` compiled anew."""
    changed = [workshop.compile_source(name, source) for source in sources]
    flags = []
    if plan.command:
        command = workshop.link_command(name, sources, changed)
        flags, changed = ["-USOFTAMP_PROGRAM", f'-DSOFTAMP_PROGRAM="{command}"'], []
    testers = testers or [workshop.tester(name, plan.test, gtest_filter, flags)]
    return workshop.link_test(name, [*changed, *testers])


def command_of(plan, program, test_filter):
    """How a test is run: the command, and its environment."""
    if is_parity(plan.test):
        family, _, cases = test_filter.partition(" ")
        return [program, family, cases], {"SOFTAMP_SERIAL_GRID": plan.order}
    return [program, f"--gtest_filter={test_filter}"], {}


def passes(workshop, plan):
    """Requires that the test passes without a bug, and that every filter selects something."""
    if plan.sharing():
        plan.testers = workshop.built_testers(plan.test)
        if is_parity(plan.test) and not plan.testers:
            raise Wrong(f"{plan.test} is not built, or older than its sources; build all targets first")
        plan.testers = plan.testers or [workshop.tester(plan.name(), plan.test, plan.filter)]
    program = build(workshop, plan, plan.name(), plan.filter, testers=plan.testers)
    command, settings = command_of(plan, program, plan.filter)
    code, said, _ = workshop.execute(command, settings=settings)
    if code != 0:
        raise Wrong(f"{plan.test} fails without any bug:\n{said[-3000:]}")
    if is_parity(plan.test):
        return f"passes {plan.filter}"
    ran = re.findall(r"^\[ RUN      \] (\S+)", said, re.MULTILINE)
    for pattern in {bug.filter for bug in plan.runs()}:
        if not any(selected(name, pattern) for name in ran):
            raise Wrong(f"{plan.test} has no test {pattern}")
    return f"passes {len(ran)} tests"


def catches(workshop, plan, bug):
    """Plants the bug and returns what caught it."""
    name = bug.id
    workshop.put(name, *bug.changed)
    if lacking := workshop.lacking(bug):
        return f"left out: this processor has no {', '.join(lacking)}"
    if bug.compile_error:
        try:
            workshop.compile(name, bug.tester, ROOT / bug.tester, ["-fsyntax-only"])
        except Wrong as problem:
            if bug.compile_error in str(problem):
                return "caught by the compiler"
            raise Wrong(f"it fails to compile otherwise, expected {bug.compile_error!r}:\n{problem}") from problem
        raise Wrong(f"it compiles, expected {bug.compile_error!r}")
    testers = plan.testers if bug in plan.sharing() else ()
    program = build(workshop, plan, name, bug.filter, workshop.compiled(bug.sources), testers)
    command, settings = command_of(plan, program, bug.filter)
    return f"caught by {workshop.first_failure(command, settings, bug.signal)}"


def report(workshop, kind, name, brief, function, *arguments):
    """Runs one piece of work and prints a line; returns the names of what is wrong."""
    before = workshop.spent_here()
    try:
        text, failed = function(workshop, *arguments), False
    except Wrong as problem:
        lines = str(problem).splitlines()
        errors = [line for line in lines[1:] if "error" in line or "undefined" in line]
        text, failed = "WRONG: " + ("\n".join(lines[:1] + errors[:1]) if brief else str(problem)), True
    print(f"{kind:<9} {name:<44} {text} ({workshop.spent_here() - before:.1f} s)", flush=True)
    return [name] if failed else []


def run_plan(workshop, plan, brief):
    wrong = report(workshop, "unchanged", plan.test, brief, passes, plan) if plan.runs() else []
    for bug in plan.bugs:
        wrong += report(workshop, "planted", bug.id, brief, catches, plan, bug)
        workshop.forget(bug.id)
    return wrong


def run_all(bugs, options):
    with tempfile.TemporaryDirectory(prefix="softamp-planted-") as folder:
        workshop = Workshop(folder, options)
        if len(bugs) > FEW:
            workshop.precompile(bugs[0].tester)
        with concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
            work = [pool.submit(run_plan, workshop, plan, not options.only) for plan in plans_of(bugs)]
            return [name for piece in work for name in piece.result()]
