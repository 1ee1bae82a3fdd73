#!/usr/bin/env python3
"""Draws mutants, changes one of them a run, and says which no test notices.

    python3 tests/mutants/mutants.py --count 3000 --seed 1      draws so many over all folders
    python3 tests/mutants/mutants.py --folder src/train ...     over this one
    python3 tests/mutants/mutants.py --commits 20 ...           over the files that the last 20 commits touched
    python3 tests/mutants/mutants.py --again 17,29              runs these again, and names the tests that come to them

sites.py says where a source can be changed; mutant.h how all changes are in one build, of which a run makes one. Which tests come to
a place is found first, test by test; a mutant is run under those alone, the quickest first, until one fails. One that no test
ends within its limit is killed by time. Those that equivalent.json names change nothing, and count for nothing: kinds are not drawn,
and the rest runs, so that a row whose mutant is killed is found. Nor do those count that are in units for another processor alone. The
folder (--work) keeps what was found: a second call goes on.
Exit codes: 0, 1 if fewer than --share of those that count are killed, or a row is wrong, 2 usage.
"""

import argparse
import concurrent.futures
import hashlib
import json
import os
import pathlib
import re
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections import Counter
from types import SimpleNamespace

sys.dont_write_bytecode = True
sys.path.insert(0, str(pathlib.Path(__file__).parent))
from equivalent import Table  # noqa: E402
from sites import ROOT, Site, lines_of  # noqa: E402
from tree import PLACES, Tree, drawn, folder_of  # noqa: E402


class Case:
    """One test: its program's command, its environment, how long it takes, where it comes to."""

    def __init__(self, name, entry, command, settings, seconds, places):
        self.name, self.entry, self.command, self.settings = name, entry, command, settings
        self.seconds, self.places = seconds, places


def execute(command, settings, limit, folder):
    """Exit code, output; code None where the limit ended it."""
    with tempfile.TemporaryDirectory(prefix="mutants-") as temporary:
        # Without the slice: a test that takes a part of its cases by it takes all of them.
        environment = {name: value for name, value in os.environ.items() if name != "SOFTAMP_SLICE"}
        environment |= {"TMPDIR": temporary, "TEST_TMPDIR": temporary} | settings
        with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, cwd=folder, env=environment, text=True,
                              errors="replace", start_new_session=True) as run:
            try:
                said, _ = run.communicate(timeout=limit)
                return run.returncode, said
            except subprocess.TimeoutExpired:
                os.killpg(run.pid, signal.SIGKILL)
                run.communicate()
                return None, ""


def cases_of(tree, entry, command, settings, limit):
    """The tests of one ctest entry that pass without a mutant, with what each comes to."""
    seen, told = tree.folder / "seen" / entry, tree.folder / "seen" / f"{entry}.part"
    if not seen.is_file():
        told.unlink(missing_ok=True)
        told.touch()
        execute(command, settings | {"SOFTAMP_MUTANTS_SEEN": str(told)}, limit, tree.build)
        told.rename(seen)
    found, places = [], set()
    for line in seen.read_text().splitlines():
        head, *rest = line.split()
        if head == "before":
            places = set()
        elif head == "-":
            places |= set(map(int, rest))
        else:
            milliseconds, outcome = rest[0], rest[1]
            if outcome == "passed":
                found.append(Case(head, entry, command, settings, int(milliseconds) / 1000, places | set(map(int, rest[2:]))))
            places = set()
    return found


class Judge:
    def __init__(self, tree, cases, patience, elsewhere):
        """`elsewhere`: the places that this processor cannot run."""
        self.tree, self.cases, self.patience, self.elsewhere = tree, cases, patience, elsewhere

    def reaching(self, place):
        return sorted((case for case in self.cases if place in case.places), key=lambda case: case.seconds)

    def verdict(self, place):
        """(killed | killed by time | survives | never come to | of another processor, by what)"""
        cases = self.reaching(place)
        if not cases:
            return "of another processor" if place in self.elsewhere else "never come to", ""
        spent = 0.0
        for batch in batches(cases):
            expected = sum(case.seconds for case in batch)
            if spent and spent + expected > self.patience:
                return "survives", f"{len(cases)} tests, the first {spent:.0f} s of them"
            spent += expected
            command = [batch[0].command[0], "--gtest_fail_fast", "--gtest_filter=" + ":".join(case.name for case in batch)]
            code, said = execute(command, batch[0].settings | {"SOFTAMP_MUTANT": str(place)}, 10 + 6 * expected, self.tree.build)
            if code is None:
                return "killed by time", batch[0].name
            if code:
                failed = [line.split()[3] for line in said.splitlines() if line.startswith("[  FAILED  ]") and len(line.split()) > 3]
                return "killed", failed[0].rstrip(",") if failed else f"{batch[0].name} or one behind it, by exit code {code}"
        return "survives", f"{len(cases)} tests"


def batches(cases):
    """Tests of one program in one run, the quickest first; at first one alone, as most mutants fall by it."""
    size, waiting = 1, list(cases)
    while waiting:
        first = waiting[0]
        batch = [case for case in waiting if case.command[0] == first.command[0] and case.settings == first.settings][:size]
        waiting = [case for case in waiting if case not in batch]
        size = min(size * 3, 30)
        yield batch


def parse_options(arguments):
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--count", type=int, default=3000)
    parser.add_argument("--seed", type=int, default=int(os.environ.get("SOFTAMP_SLICE") or 1))
    parser.add_argument("--folder", action="append", default=[], help="or file")
    parser.add_argument("--commits", type=int, default=0)
    parser.add_argument("--work", type=pathlib.Path, default=ROOT / "build/mutants")
    parser.add_argument("--jobs", type=int, default=os.cpu_count())
    parser.add_argument("--limit", type=float, default=60, help="seconds of a ctest entry; what takes longer does not judge")
    parser.add_argument("--patience", type=float, default=60, help="seconds of tests that a mutant must survive")
    parser.add_argument("--share", type=float, default=0)
    parser.add_argument("--again", default="", help="numbers of mutants, with commas between them")
    options = parser.parse_args(arguments)
    if not 0 < options.count < PLACES:
        parser.error(f"--count {options.count}: expected 1 to {PLACES - 1}")
    if options.commits:
        said = subprocess.run(["git", "log", f"-{options.commits}", "--format=", "--name-only"], cwd=ROOT, capture_output=True, text=True)
        options.folder += sorted(set(said.stdout.split()))
    return options


def drawn_now(options):
    sites = drawn(options.count, options.seed, options.folder)
    kept = {"of": [options.count, options.seed, options.folder], "text": text_digest(sites), "sites": sites}
    (options.work / "drawn.json").write_text(json.dumps(kept))
    return dict(enumerate(sites, 1))


def drawn_before(options):
    """What an earlier call drew; None if there was none."""
    kept = options.work / "drawn.json"
    if not kept.is_file():
        return None
    told = json.loads(kept.read_text())
    sites = [Site(*site) for site in told["sites"]]
    if told["of"] != [options.count, options.seed, options.folder] or told["text"] != text_digest(sites):
        sys.exit(f"mutants: {options.work} is of another draw (count, seed, folders: {told['of']}) or of other sources; expected --work "
                 "with another folder")
    return dict(enumerate(sites, 1))


def text_digest(sites):
    files = sorted({site.file for site in sites})
    return hashlib.sha256(b"\n".join((ROOT / file).read_bytes() for file in files)).hexdigest()


def built(options):
    """The tree, built, and the tests' programs. What was drawn is kept with it."""
    options.work.mkdir(parents=True, exist_ok=True)
    (options.work / "seen").mkdir(exist_ok=True)
    tree = Tree(options.work, drawn_before(options) or drawn_now(options))
    tree.write()
    tree.configure()
    programs = tree.programs()
    if tree.make([*programs, "softamp_program"], options.jobs):
        for old in (options.work / "seen").iterdir():
            old.unlink()
    return tree, [tree.build / program for program in [*programs, "softamp"]]


def processor_flags():
    return set(re.findall(r"\w+", " ".join(re.findall(r"^flags\s*: (.*)", pathlib.Path("/proc/cpuinfo").read_text(), re.MULTILINE)[:1])))


def main(arguments):
    options = parse_options(arguments)
    start = time.time()
    tree, programs = built(options)
    places = tree.decided_at_run_time(programs) & set(tree.sites)
    print(f"mutants: seed {options.seed}: {len(tree.sites)} drawn, {len(tree.left_out)} do not compile, {len(places)} are decided at "
          f"run time ({time.time() - start:.0f} s)", flush=True)
    with concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
        work = [pool.submit(cases_of, tree, *test, options.limit) for test in tree.tests()]
        cases = [case for piece in work for case in piece.result()]
    print(f"mutants: {len(cases)} tests come to {len(set().union(*(case.places for case in cases)))} places "
          f"({time.time() - start:.0f} s)", flush=True)
    judge = Judge(tree, cases, options.patience, tree.of_other_processors(processor_flags()))
    return judged(judge, sorted(places), options)


def judged(judge, places, options):
    log = options.work / "verdicts.jsonl"
    verdicts = {entry["place"]: entry for entry in map(json.loads, log.read_text().splitlines())} if log.is_file() else {}
    waiting = [int(number) for number in options.again.split(",")] if options.again else [place for place in places if place not in verdicts]
    writing = threading.Lock()

    def one(place):
        verdict, by = judge.verdict(place)
        site = judge.tree.sites[place]
        entry = {"place": place, "verdict": verdict, "by": by, "kind": site.kind, "file": site.file, "line": site.line,
                 "function": site.function, "says": site.says}
        with writing, open(log, "a", encoding="utf-8") as out:
            out.write(json.dumps(entry) + "\n")
        verdicts[place] = entry
        if options.again:
            print(entry, [(case.entry, case.name, case.seconds) for case in judge.reaching(place)][:8])

    with concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
        for done, _ in enumerate(pool.map(one, waiting), 1):
            if done % 100 == 0:
                print(f"mutants: {done} of {len(waiting)}: {dict(Counter(entry['verdict'] for entry in verdicts.values()))}", flush=True)
    return told(verdicts.values(), options)


def told(entries, options):
    """The survivors, the rows of equivalent ones that are wrong, and the shares by folder."""
    killed, table, wrong, folders = ("killed", "killed by time"), Table(), 0, {}
    for entry in sorted(entries, key=lambda entry: (entry["file"], entry["line"])):
        place = f"{entry['file']}:{entry['line']} {entry['function']}: {entry['says']}"
        verdict, reason = entry["verdict"], table.reason(SimpleNamespace(**entry), lines_of)
        if reason and verdict in killed:
            print(f"mutants: a row of equivalent.json is wrong: {place}: '{reason}'; it is {verdict} by {entry['by']}")
            wrong += 1
        elif reason:
            verdict = "equivalent"
        elif verdict not in (*killed, "of another processor"):
            print(f"{entry['place']:>5} {verdict:<14} {place}  [{entry['by']}]")
        folders.setdefault(folder_of(entry["file"]), Counter())[verdict] += 1
    total = sum(folders.values(), Counter())
    for name, counts in [*sorted(folders.items()), ("all", total)]:
        print(f"mutants: {name:<28} {sum(counts.values()):>5} run, {counts['equivalent']} equivalent, {counts['of another processor']} of another "
              f"processor, {share_killed(counts):7.1%} of the others killed, {counts['survives']} survive, {counts['never come to']} never come to, "
              f"{counts['killed by time']} by time")
    return 1 if wrong or share_killed(total) < options.share else 0


def share_killed(counts):
    count = sum(counts.values()) - counts["equivalent"] - counts["of another processor"]
    return (counts["killed"] + counts["killed by time"]) / count if count else 1.0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
