"""Whether everything links and every filter selects a test, without compiling: the build's own objects of the tests, with
what the harness links."""

import tempfile

from texts import Wrong, is_parity, runs_the_command, selected
from workshop import PROGRAM, Workshop, sources_of


def tried(link, *arguments):
    try:
        link(*arguments)
    except Wrong as problem:
        lines = str(problem).splitlines()
        told = [line for line in lines[1:] if "undefined" in line or "cannot find" in line or "no such" in line]
        return ": ".join(lines[:1] + told[:1])
    return None


def names_in(workshop, program, parity):
    """The names of a program's tests; of the parity suite's cases, each behind its family."""
    lines = workshop.execute([program, "--names" if parity else "--gtest_list_tests"])[1].splitlines()
    if parity:
        return lines
    suite, names = "", []
    for line in lines:
        if line.startswith("  "):
            names.append(suite + line.split()[0])
        else:
            suite = line.split(" ")[0]
    return names


def selects(test_filter, name, parity):
    if not parity:
        return selected(name, test_filter)
    family, _, part = test_filter.partition(" ")
    return name.startswith(family + " ") and part in name[len(family) + 1 :]


def without_test(workshop, bugs, program, parity):
    """The bugs whose filters select nothing of their tests' program."""
    names = names_in(workshop, program, parity)
    for bug in bugs:
        if not any(selects(bug.filter, name, parity) for name in names):
            yield f"{bug.id}: {bug.tester} has no test {bug.filter}"


def problems(bugs, options):
    with tempfile.TemporaryDirectory(prefix="softamp-planted-") as folder:
        workshop = Workshop(folder, options)
        found = [f"{bug.id}: {wrong}" for bug in bugs if (wrong := tried(workshop.compiled, bug.sources))]
        objects = {}
        for test in sorted({bug.tester for bug in bugs}):
            units = {workshop.units[source] for source in sources_of(test, workshop.units)}
            if not units:
                found.append(f"the build does not compile {test}")
            elif not all(unit.object.is_file() for unit in units):
                found.append(f"{test} is not built; build all targets first")
            else:
                objects[test] = [unit.object for unit in units]
        for parity in (False, True):
            group = {test: testers for test, testers in objects.items() if is_parity(test) == parity}
            if not group:
                continue
            filtered = [bug for bug in bugs if bug.tester in group and not bug.compile_error]
            # All at once, since that is quick; one by one only to say which it is. Tests may use the same names.
            name, everything = f"all_{parity}", sorted(set().union(*group.values()))
            if not tried(workshop.link_test, name, everything):
                found += without_test(workshop, filtered, workshop.program(name), parity)
                continue
            for test, testers in group.items():
                wrong = tried(workshop.link_test, "one", testers)
                found += [f"{test}: {wrong}"] if wrong else without_test(
                    workshop, [bug for bug in filtered if bug.tester == test], workshop.program("one"), parity)
        if any(runs_the_command(test) for test in objects):
            wrong = tried(workshop.link_command, "all")
            found += [f"{PROGRAM}: {wrong}"] if wrong else []
        return found
