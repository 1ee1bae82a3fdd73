#!/usr/bin/env python3
"""Adds each option that a verb has to commands of that verb, and lists the options that exit 0 and change nothing.

    python3 idle.py PROGRAM [VERB...]              tries one of 48 parts of the pairs of command and option, in seconds
    python3 idle.py PROGRAM --part 7 [VERB...]     another part, 0 to 11 [=0]
    python3 idle.py PROGRAM --all [VERB...]        all of them, in minutes; says which lines of accepted.txt fit none
    python3 idle.py PROGRAM --every [VERB...]      lists accepted pairs, too

The commands are those of ../outputs/VERB.txt that succeed. An option is tried with several values; it is idle if the command
takes one of them, and all that it takes leave standard output, standard error and files as they are without it. What the settings repeat of
an option is no effect. accepted.txt says which idle pairs stay, and why. Exit codes: 0, 1 an idle pair is not accepted.
"""

import argparse
import concurrent.futures
import json
import pathlib
import re
import subprocess
import sys
import tempfile
import zlib

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "outputs"))
import outputs  # noqa: E402

PARTS = 48  # of all pairs of command and option; the test tries the first part

# Values for options whose words the completions do not list.
VALUES = {
    "--value": ["0.3"], "--count": ["7"], "--start": ["0.5"], "--bits": ["5", "2"], "--replicas": ["3"], "--seed": ["11", "5"], "--step": ["9"],
    "--plot": ["idle.svg"], "--csv": ["idle.csv"], "--latex": ["idle.tex"], "--block": ["4", "1", "8"], "--rows": ["2"],
    "--axis": ["0"], "--amax": ["3.5"],
    "--shape": ["2,3"], "--threads": ["1", "2"], "--block-index": ["1"], "--word": ["0x1fff1fff"], "--lane": ["1"], "--input": ["0.3"],
    "--level": ["2", "O2", "O1"], "--behaviour": ["nanoo", "esr", "oflo", "inv", "div0", "all"], "--steps": ["2", "3"], "--first-step": ["3"],
    "--trace": ["idle.jsonl"], "--tiles": ["16"], "--memory-per-tile": ["1000000"], "--out": ["idle.out", "idle.json", "idle.html", "idle.pbtxt"],
    "--log": ["idle.log"], "--checkpoint": ["idle.npz"], "--checkpoint-every": ["1"], "--histograms": ["idle.json"], "--histogram-every": ["1"],
    "--sample": ["5"], "--sample-from": ["a"], "--temperature": ["0.5"], "--sample-seed": ["3"], "--write-initial": ["idle0.npz"],
    "--write-batches": ["idle1.npz"], "--compare-weights": ["3"], "--seeds": ["2"], "--jobs": ["1"], "--shard": ["1/2"], "--runs-csv": ["idle2.csv"],
    "--steps-csv": ["idle3.csv"], "--report": ["idle.html", "table", "json", "csv", "dot"], "--top": ["1"], "--tolerance": ["0.5"], "--batch": ["2"],
    "--output-report": ["idle.txt"], "--gpu-capability": ["6.0"], "--policy": ["mixed_bfloat16"], "--dtype": ["fp16", "bf16"], "--samples": ["3"],
    "--markdown": ["idle.md"], "--fixed-format": ["q4.12"], "--outfeed": ["idle4.npz"], "--isa": ["portable"], "--backend": ["auto"],
    "--precision": ["float16", "float32"], "--mechanism": ["level=O2", "tensorflow=2019"], "--recipe-fp8": ["mxfp8"], "--recipe": ["full", "basic"],
    "--tensorflow": [None], "--mechanisms": ["none,level=O2"], "--print-network": ["lenet5"], "--network": ["resnet8"],
    "--print-recipe-fp8": ["mxfp8"], "--print": ["text", "loss"], "--kernels": ["float16"], "--regex": ["search"], "--add": ["deny=MatMul"],
    "--remove": ["allow=MatMul"], "--cpu": [None], "--partials": ["half"], "--scales": ["idle5.npy"],
}
PER_VERB = {("train", "--set"): ["learning_rate=0.011"], ("study", "--set"): ["learning_rate=0.011"],
            ("run", "--set"): ["norms.use_stable_statistics=true"],
            ("train", "--dtype"): ["bf16"], ("compute", "--level"): []}
NO_EFFECT = {"--help"}


def options_of(program, verb):
    """The options of a verb, and values of each: its words, where the completions list them; None for a flag."""
    script = subprocess.run([program, "completions", "fish"], capture_output=True, text=True, check=True).stdout
    found = {}
    for line in script.splitlines():
        if f"from {verb}'" not in line or not (name := re.search(r" -l (\S+)", line)):
            continue
        option = "--" + name[1]
        words = re.search(r" -a '([^']*)'", line)
        if option in NO_EFFECT:
            continue
        if (verb, option) in PER_VERB:
            found[option] = PER_VERB[verb, option]
        elif option in VALUES and VALUES[option] != [None]:
            found[option] = VALUES[option]
        elif words and " -r" in line:
            found[option] = words[1].split()[:12]
        elif " -r" not in line:
            found[option] = [None]
    return found


def without_settings(text, verb):
    """What a command gives, but for the settings that it repeats."""
    text = re.sub(rf"^softamp {verb}: (.*; )?(the defaults|[\w.]+=.*)$", "SETTINGS", text, flags=re.MULTILINE)
    lines = []
    for line in text.splitlines():
        if line.startswith('{"'):
            try:
                document = json.loads(line)
                document.pop("settings", None)
                line = json.dumps(document)
            except ValueError:
                pass
        lines.append(line)
    text = "\n".join(lines)
    try:
        document = json.loads(text)
    except ValueError:
        return text
    for part in [document, *document.get("cases", [])] if isinstance(document, dict) else []:
        if isinstance(part, dict):
            part.pop("settings", None)
    return json.dumps(document)


class Trial(outputs.Session):
    """A kept session whose commands are also run with one more option each."""

    def __init__(self, program, file, part):
        super().__init__(program, file)
        self.verb, self.part = file.stem, part  # None: all
        self.options = options_of(program, self.verb)
        self.found, self.tried = [], 0

    def outcome(self, line):
        """Exit code and all that the command gives, but for the settings that it repeats."""
        code, texts, files = self.trial(line)
        plain = {name: without_settings(data, self.verb) if isinstance(data, str) else data for name, data in files.items()}
        return code, ([without_settings(text, self.verb) for text in texts], plain)

    def give(self, lines):
        line = " ".join(lines)
        if len(lines) == 1 and (where := re.search(rf"\bsoftamp {self.verb}\b(?! --help)", line)) and line.count("softamp ") == 1:
            self.try_options(line, where.end())
        return super().give(lines)

    def try_options(self, line, at):
        options = {o: v for o, v in self.options.items() if not re.search(rf"{o}(?![\w-])", line)}
        if self.part is not None:
            options = {o: v for o, v in options.items() if zlib.crc32((line + o).encode()) % PARTS == self.part}
        if not options:
            return
        code, base = self.outcome(line)
        if code != 0:
            return
        for option, values in options.items():
            idle = []
            for value in values:
                added = option if value is None else f"{option} '{value}'"
                code, outcome = self.outcome(f"{line[:at]} {added}{line[at:]}")
                self.tried += 1
                if code == 0 and outcome != base:
                    idle = []
                    break
                if code == 0:
                    idle.append(added)
            if idle:
                self.found.append((option, idle, line))


class Accepted:
    """accepted.txt: verbs, options, a pattern that the command has, a reason."""

    def __init__(self):
        self.rows, self.used = [], set()
        for line in (HERE / "accepted.txt").read_text(encoding="utf-8").splitlines():
            if line and not line.startswith("#"):
                verbs, options, pattern, reason = re.split(r"  +", line, maxsplit=3)
                self.rows.append((verbs.split(","), options.split(","), re.compile(pattern), reason))

    def reason(self, verb, option, line):
        for number, (verbs, options, pattern, reason) in enumerate(self.rows):
            if (verb in verbs or verbs == ["*"]) and option in options and pattern.search(line):
                self.used.add(number)
                return reason
        return None

    def unused(self, verbs):
        return [" ".join((",".join(row[0]), ",".join(row[1]), row[2].pattern)) for number, row in enumerate(self.rows)
                if number not in self.used and (row[0] == ["*"] or set(row[0]) & set(verbs))]


def main():
    parser = argparse.ArgumentParser(usage="idle.py PROGRAM [--all | --part N] [--every] [VERB...]")
    parser.add_argument("program")
    parser.add_argument("verbs", nargs="*")
    parser.add_argument("--all", action="store_true")
    parser.add_argument("--part", type=int, default=0, choices=range(PARTS))
    parser.add_argument("--every", action="store_true")
    given = parser.parse_intermixed_args()
    program = pathlib.Path(given.program).resolve()
    files = [f for f in (HERE.parent / "outputs").glob("*.txt") if f.stem != "softamp" and (not given.verbs or f.stem in given.verbs)]
    files.sort(key=lambda file: -file.stat().st_size)
    trials = [Trial(program, file, None if given.all else given.part) for file in files]
    with concurrent.futures.ThreadPoolExecutor(2) as pool:
        list(pool.map(Trial.run, trials))
    accepted, bad = Accepted(), 0
    for trial in sorted(trials, key=lambda trial: trial.verb):
        for option, idle, line in trial.found:
            reason = accepted.reason(trial.verb, option, line)
            bad += reason is None
            if reason is None or given.every:
                print(f"{trial.verb} {option}: {'; '.join(idle)}: nothing changes in: {line}" + (f"  ({reason})" if reason else ""))
    if given.all:
        for row in accepted.unused([trial.verb for trial in trials]):
            print("accepted.txt: fits no idle option: " + row)
    print(f"{sum(t.tried for t in trials)} commands tried, {sum(len(t.found) for t in trials)} options idle, {bad} of them not accepted")
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
