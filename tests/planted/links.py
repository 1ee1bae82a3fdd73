"""Whether everything links, without compiling: the build's own objects of the tests, with what the harness links."""

import tempfile

from texts import Wrong, runs_the_command
from workshop import PROGRAM, Workshop, sources_of


def tried(link, *arguments):
    try:
        link(*arguments)
    except Wrong as problem:
        lines = str(problem).splitlines()
        told = [line for line in lines[1:] if "undefined" in line or "cannot find" in line or "no such" in line]
        return ": ".join(lines[:1] + told[:1])
    return None


def problems(bugs, options):
    with tempfile.TemporaryDirectory(prefix="softamp-planted-") as folder:
        workshop = Workshop(folder, options)
        found = []
        for source in sorted({source for bug in bugs for source in bug.get("sources", ())}):
            if source not in workshop.units:
                found.append(f"the build does not compile {source}")
        objects = {}
        for test in sorted({bug["test"] for bug in bugs}):
            units = {workshop.units[source] for source in sources_of(test, workshop.units)}
            if not units:
                found.append(f"the build does not compile {test}")
            elif not all(unit.object.is_file() for unit in units):
                found.append(f"{test} is not built; build all targets first")
            else:
                objects[test] = [unit.object for unit in units]
        # All at once, since that is quick; one by one only to say which it is. Tests may use the same names.
        if tried(workshop.link_test, "all", sorted(set().union(*objects.values()))):
            for test, testers in objects.items():
                wrong = tried(workshop.link_test, "one", testers)
                found += [f"{test}: {wrong}"] if wrong else []
        if any(runs_the_command(test) for test in objects):
            wrong = tried(workshop.link_command, "all")
            found += [f"{PROGRAM}: {wrong}"] if wrong else []
        return found
