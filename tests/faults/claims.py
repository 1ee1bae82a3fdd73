#!/usr/bin/env python3
"""Processes that share the runs of one study, killed again and again.

    claims.py PROGRAM [--kills 100] [--processes 4] [--runs 240]
                              kill -9 of one by chance, at moments by chance, from the environment's SOFTAMP_SLICE [=0];
                              each that was killed is started again
    claims.py PROGRAM --stop  instead: one is stopped for as long as the others take to find it dead (a minute), and woken

An undisturbed study gives the right results first. Then: every process ends well and prints the right table, no run is
lost, each has the right losses bit for bit, and no claim, lock or part of a file is left.
Exit codes: 0, 1 something is wrong, 2 usage.
"""

import argparse
import json
import os
import pathlib
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import time

SECONDS = 300  # after which a study hangs


class Study:
    def __init__(self, program, folder, runs, images):
        settings = dict(generated="true", train_images=images, test_images=16, batch_size=8, epochs=1)
        self.line = [program, "study", "--json", "--quiet", "--jobs", "1",
                     "--grid", "precision=float16,float32", "--grid", "stochastic_rounding=off,on",
                     "--seeds", str(max(1, runs // 4))]
        for key, value in settings.items():
            self.line += ["--set", f"{key}={value}"]
        self.folder = folder

    def start(self, name, number):
        """A process; what it prints goes into files of its own."""
        with open(self.folder / f"{number}.out", "wb") as out, open(self.folder / f"{number}.err", "wb") as err:
            return subprocess.Popen(self.line + ["--out", str(self.folder / name)], stdin=subprocess.DEVNULL,
                                    stdout=out, stderr=err)

    def printed(self, number):
        """The document that a process printed, without its command."""
        document = json.loads((self.folder / f"{number}.out").read_text())
        del document["provenance"]
        return document

    def said(self, number):
        return (self.folder / f"{number}.err").read_text(errors="replace").strip()[-500:]

    def results(self, name):
        """What is kept, by name, and the names of all else."""
        kept, others = {}, []
        for path in sorted((self.folder / name).iterdir()):
            if path.suffix != ".json" or path.name.startswith("."):
                others.append(path.name)
                continue
            kept[path.name] = json.loads(path.read_text())
            for time_taken in ("seconds", "images_per_second", "checksum"):
                del kept[path.name][time_taken]
        return kept, others


def end_of(process):
    try:
        return process.wait(SECONDS)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()
        return "none: it hangs"


def what_is_wrong(study, right, right_table, name, numbers):
    wrong = []
    kept, others = study.results(name)
    wrong += [f"{file} is lost" for file in right if file not in kept]
    wrong += [f"{file}: other bits" for file in kept if right.get(file) != kept[file]]
    wrong += [f"{file} is left over" for file in others]
    for number in numbers:
        if study.printed(number) != right_table:
            wrong.append(f"process {number} prints another table")
    return wrong


def one_round(study, processes, kills, generator, pause):
    """Kills until there were `kills`, or all work is done: how many, the processes at the end, and what is wrong."""
    running = {number: study.start("shared", number) for number in range(processes)}
    done, next_number, wrong = 0, processes, []
    while done < kills and any(process.poll() is None for process in running.values()):
        time.sleep(generator.uniform(0, 2 * pause))
        number = generator.choice(sorted(running))
        process = running[number]
        if process.poll() is not None:
            continue
        process.send_signal(signal.SIGKILL)
        if end_of(process) == -signal.SIGKILL:
            done += 1
            del running[number]
            running[next_number] = study.start("shared", next_number)
            next_number += 1
    for number, process in running.items():
        code = end_of(process)
        if code != 0:
            wrong.append(f"process {number} ends with {code}: {study.said(number)}")
    return done, sorted(running), wrong


def killed(study, right, right_table, options):
    generator = random.Random(int(os.environ.get("SOFTAMP_SLICE") or 0))
    done = rounds = 0
    while done < options.kills:
        rounds += 1
        killed_now, numbers, wrong = one_round(study, options.processes, options.kills - done, generator, options.pause)
        done += killed_now
        wrong = wrong or what_is_wrong(study, right, right_table, "shared", numbers)
        if wrong:
            return wrong, f"{done} kills in {rounds} studies"
        shutil.rmtree(study.folder / "shared")
    return [], f"{done} kills in {rounds} studies of {len(right)} runs by {options.processes} processes"


def stopped(study, right, right_table, options):
    """One is stopped while it has a claim; the others end the study without it, and then it wakes."""
    first = study.start("shared", 0)
    folder, deadline = study.folder / "shared", time.monotonic() + 60
    while not (folder.is_dir() and any(".claim." in path.name for path in folder.iterdir())):
        if time.monotonic() > deadline:
            return ["no claim is made"], ""
        time.sleep(0.001)
    first.send_signal(signal.SIGSTOP)
    held = [path.name for path in folder.iterdir() if ".claim." in path.name]
    began = time.monotonic()
    others = {number: study.start("shared", number) for number in range(1, options.processes)}
    wrong = [f"process {number} ends with {code}: {study.said(number)}" for number, process in others.items()
             if (code := end_of(process)) != 0]
    seconds = time.monotonic() - began
    first.send_signal(signal.SIGCONT)
    if (code := end_of(first)) != 0:
        wrong.append(f"the one that was stopped ends with {code}: {study.said(0)}")
    if held and seconds < 60:
        wrong.append(f"the others waited {seconds:.1f} s for the one that was stopped; expected a minute")
    wrong = wrong or what_is_wrong(study, right, right_table, "shared", range(options.processes))
    return wrong, f"one stopped with {len(held)} claim, the others done after {seconds:.0f} s"


def main(arguments):
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("program")
    parser.add_argument("--kills", type=int, default=100)
    parser.add_argument("--processes", type=int, default=4)
    parser.add_argument("--runs", type=int, default=240)
    parser.add_argument("--images", type=int, default=256, help="of a run: how long it takes [=%(default)s]")
    parser.add_argument("--pause", type=float, default=0.15, help="between kills, the mean in seconds [=%(default)s]")
    parser.add_argument("--stop", action="store_true")
    options = parser.parse_args(arguments)
    memory = pathlib.Path("/dev/shm")
    began = time.monotonic()
    with tempfile.TemporaryDirectory(prefix="softamp_claims_",
                                     dir=memory if os.access(memory, os.W_OK | os.X_OK) else None) as folder:
        study = Study(str(pathlib.Path(options.program).resolve()), pathlib.Path(folder), options.runs, options.images)
        if (code := end_of(study.start("alone", "alone"))) != 0:
            raise RuntimeError(f"the undisturbed study ends with {code}: {study.said('alone')}")
        right, others = study.results("alone")
        if others:
            raise RuntimeError(f"the undisturbed study leaves {others}")
        task = stopped if options.stop else killed
        wrong, what = task(study, right, study.printed("alone"), options)
    for text in wrong[:20]:
        print(text)
    print(f"claims: {what}, {len(wrong)} wrong, {time.monotonic() - began:.0f} s")
    return 1 if wrong else 0


if __name__ == "__main__":
    try:
        sys.exit(main(sys.argv[1:]))
    except (RuntimeError, OSError, ValueError) as error:
        print(f"claims.py: {error}", file=sys.stderr)
        sys.exit(2)
