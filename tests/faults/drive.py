#!/usr/bin/env python3
"""Faults at every call: each verb that writes is run with the n-th open, write, fsync ... failing, or killed there.

    drive.py PROGRAM LIBRARY                 every fault, every verb
    drive.py PROGRAM LIBRARY --cases 2000    so many of them, by the environment's SOFTAMP_SLICE [=0]
    drive.py PROGRAM LIBRARY --kills 12      instead: verbs that can go on, each killed at so many moments
    drive.py PROGRAM LIBRARY --quick         with one of these: no verb that takes seconds
    drive.py PROGRAM LIBRARY --verb train --fault write:3:ENOSPC
                                             one of them, with the message; --keep leaves its folder
    drive.py PROGRAM LIBRARY --list          the verbs, with the number of their calls and faults

LIBRARY is faults.cpp, built. A verb is run without a fault first: that counts its calls and gives the right results.
After a fault each file must be whole, the old one or the new one; nothing else may be left; the message must name the
file or the option and the reason; the exit code must be 2. A fault may also do no harm: then everything must be right.
After a kill the same command must give everything, and leave nothing over.
Exit codes: 0, 1 something is wrong, 2 usage.
"""

import argparse
import collections
import concurrent.futures
import os
import random
import shutil
import sys
import time

sys.dont_write_bytecode = True  # nothing is left in the source folder

from judge import complete, judge  # noqa: E402
from trial import Fault, Workplace, contents  # noqa: E402
from verbs import VERBS  # noqa: E402

# What each kind of call can say; + is from then on.
ERRORS = {
    "open": ["EIO", "EACCES", "EMFILE"],
    "create": ["ENOSPC", "EACCES", "EROFS"],
    "read": ["EIO", "EINTR", "SHORT"],
    "write": ["ENOSPC", "+ENOSPC", "EIO", "EINTR", "SHORT"],
    "sync": ["EIO", "ENOSPC"],
    "rename": ["EIO", "ENOSPC", "EACCES"],
    "close": ["EIO", "EINTR"],
    "map": ["ENOMEM", "+ENOMEM"],
    "thread": ["EAGAIN", "+EAGAIN"],
    "truncate": ["EIO", "ENOSPC"],
    "mkdir": ["ENOSPC", "EACCES"],
    "remove": ["EIO", "EACCES"],
    "lock": ["ENOLCK", "EINTR"],
    "spawn": ["EAGAIN", "ENOMEM"],
}


class Subject:
    """A verb with the folder it begins with and its right results."""

    def __init__(self, workplace, verb):
        self.workplace, self.verb = workplace, verb
        self.template = workplace.prepare(verb)
        self.before = contents(self.template / "work")
        folder = workplace.new(self.template)
        began = time.monotonic()
        self.right = workplace.run(folder, verb)
        self.seconds = time.monotonic() - began
        if self.right.code != 0:
            raise RuntimeError(f"{verb.name}: ended with {self.right.code} without a fault: {self.right.err}")

    def faults(self):
        calls = collections.Counter(kind for _, kind, _, _ in self.right.calls)
        for kind, most in sorted(calls.items()):
            for n in range(1, most + 1):
                for what in ERRORS[kind]:
                    yield Fault(kind, n, what.lstrip("+"), what.startswith("+"))
        for n in range(1, sum(calls.values()) + 1):
            yield Fault("any", n, "KILL")
        changed = [data for name, data in self.right.files.items() if self.before.get(name) != data]
        most = max((len(data) for data in changed + [self.right.out]), default=0) // 512
        for n in sorted({0, 1, 2, 8, most // 4, most // 2, most}):
            if n <= most and not self.verb.child:
                yield Fault("size", n, "LIMIT")

    def go_on(self, folder):
        """What is wrong after the same command once more, as its user would go on with it."""
        verb = self.verb
        state = folder / "work" / verb.state
        on = verb.goes_on if verb.state and state.exists() and state.read_bytes() != verb.files.get(verb.state) else ()
        again = self.workplace.run(folder, verb, arguments=verb.arguments + on)
        return [f"gone on with: {text}" for text in complete(self.right, again, printed=not on)]

    def attempt(self, fault):
        folder = self.workplace.new(self.template)
        result = self.workplace.run(folder, self.verb, fault)
        wrong = judge(self.verb, fault, self.before, self.right, result)
        if result.code != 0 and (fault.what == "KILL" or self.verb.state or self.verb.keeps):
            wrong += self.go_on(folder)
        return folder, result, wrong


def round_robin(groups, generator, most):
    """`most` of the faults, from all groups alike, in an order by chance."""
    for group in groups:
        generator.shuffle(group)
    generator.shuffle(groups)
    chosen = []
    for turn in range(max(map(len, groups), default=0)):
        for group in groups:
            if turn < len(group):
                chosen.append(group[turn])
    return chosen[:most]


def chosen_faults(subjects, options, generator):
    groups = collections.defaultdict(list)
    for subject in subjects:
        for fault in subject.faults():
            groups[subject.verb.name, fault.kind].append((subject, fault))
    count = sum(map(len, groups.values()))
    return round_robin(list(groups.values()), generator, options.cases or count), count


def kill_and_go_on(subject, moment):
    """Killed at a moment in 0..1 of the run: at a call, or at a time."""
    folder = subject.workplace.new(subject.template)
    calls = len(subject.right.calls)
    if moment < 0.5:
        fault = Fault("any", 1 + int(2 * moment * calls), "KILL")
        result = subject.workplace.run(folder, subject.verb, fault)
        where = fault.text()
    else:
        seconds = max(0.001, (2 * moment - 1) * subject.seconds)
        result = subject.workplace.run(folder, subject.verb, seconds=seconds)
        where = f"killed after {seconds:.4f} s"
    wrong = [] if result.code in (-9, 0) else [f"ended with {result.code}: {result.err.strip()[-300:]}"]
    return folder, result, [f"{where}: {text}" for text in wrong + subject.go_on(folder)]


def parse_options(arguments):
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("program")
    parser.add_argument("library")
    parser.add_argument("--cases", type=int, default=0)
    parser.add_argument("--kills", type=int, default=0)
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--verb", action="append", choices=[verb.name for verb in VERBS])
    parser.add_argument("--fault", action="append", type=Fault.of, default=[], metavar="KIND:N:WHAT")
    parser.add_argument("--keep", action="store_true")
    parser.add_argument("--list", action="store_true")
    parser.add_argument("--most", type=int, default=40, help="findings that are printed [=%(default)s]")
    return parser.parse_args(arguments)


def prepare(workplace, options):
    verbs = [verb for verb in VERBS if (not options.verb or verb.name in options.verb)
             and not (verb.child and shutil.which(verb.child) is None)]
    if options.kills:
        verbs = [verb for verb in verbs if verb.goes_on or verb.keeps]
    elif not options.verb:
        verbs = [verb for verb in verbs if not verb.for_kills]
    if options.quick:
        verbs = [verb for verb in verbs if not verb.long]
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        return list(pool.map(lambda verb: Subject(workplace, verb), verbs))


def show(result):
    """A run in full: what it called, and what it said."""
    for failed, kind, n, place in result.calls:
        print(f"{'!' if failed else ' '} {kind} {n} {place}")
    print(f"exit code {result.code}\n{result.err}", end="")


def main(arguments):
    options = parse_options(arguments)
    began = time.monotonic()
    generator = random.Random(int(os.environ.get("SOFTAMP_SLICE") or 0))
    with Workplace(options.program, options.library, options.keep) as workplace:
        subjects = prepare(workplace, options)
        if options.list:
            for subject in subjects:
                print(f"{subject.verb.name:16} {len(subject.right.calls):5} calls "
                      f"{sum(1 for _ in subject.faults()):6} faults {subject.seconds:7.3f} s")
            return 0
        if options.kills:
            items = [(kill_and_go_on, subject, generator.random())
                     for subject in subjects for _ in range(options.kills)]
            total = len(items)
        elif options.fault:
            items = [(Subject.attempt, subject, fault) for subject in subjects for fault in options.fault]
            total = len(items)
        else:
            chosen, total = chosen_faults(subjects, options, generator)
            items = [(Subject.attempt, subject, fault) for subject, fault in chosen]

        def run(item):
            task, subject, fault = item
            folder, result, wrong = task(subject, fault)
            if not options.keep:
                shutil.rmtree(folder, ignore_errors=True)
            return folder, result, wrong

        findings = collections.Counter()
        with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
            for (_, subject, fault), (folder, result, wrong) in zip(items, pool.map(run, items)):
                where = f"{subject.verb.name} {fault.text() if isinstance(fault, Fault) else ''}".strip()
                if options.fault:
                    show(result)
                    print(f"{where}: {'; '.join(wrong) or 'right'}" + (f" ({folder})" if options.keep else ""))
                elif wrong and sum(findings.values()) < options.most:
                    print(f"{where}: {'; '.join(wrong)}", flush=True)
                findings[subject.verb.name] += bool(wrong)
    count = sum(findings.values())
    what = "kills" if options.kills else "faults"
    if count:
        print("wrong: " + ", ".join(f"{name} {n}" for name, n in findings.most_common() if n))
    print(f"{what}: {len(items)} of {total} tried on {len(subjects)} verbs, {count} wrong, "
          f"{time.monotonic() - began:.0f} s")
    return 1 if count else 0


if __name__ == "__main__":
    try:
        sys.exit(main(sys.argv[1:]))
    except (RuntimeError, OSError, ValueError) as error:
        print(f"drive.py: {error}", file=sys.stderr)
        sys.exit(2)
