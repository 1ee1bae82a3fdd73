#!/usr/bin/env python3
"""Tries each word of each option that a verb has in capitals, and with '_' for '-' and back: it has to give what the word gives.

    python3 words.py PROGRAM [VERB...]         one of 12 parts of the words, in seconds
    python3 words.py PROGRAM --all [VERB...]   all of them

The words are those that completions offer, so an option that takes words is walked without being named here; one whose value help
calls WORD, WORDS or LIST has to offer them, or is in GRAMMARS. The commands are those of ../outputs/VERB.txt: an option is added to
the first that takes it with the word; where none does, all spellings are refused alike. Exit codes: 0, 1 a word is read with regard to case, or cannot be tried.
"""

import argparse
import collections
import concurrent.futures
import pathlib
import re
import subprocess
import sys
import zlib

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "outputs"))
import outputs  # noqa: E402

PARTS = 12
MOST_TRIALS = 20  # commands in which a word is tried
GRAMMARS = {"--fixed-format"}  # q<I>.<F>
# Words that no kept command takes on every machine: GPUs, instruction sets, a scheduler's task.
ELSEWHERE = {"cuda", "avx2", "avx512", "avx512fp16", "neon"}
# What an option needs beside it, and only with this command; else it is tried alone.
BESIDE = {
    ("round", "--scale-rule"): ["--format mxfp4", "--format nvfp4", "--format e4m3_1x128"], ("round", "--saturation"): ["--format Binary8p4se"],
    ("train", "--dtype"): ["--level O2", "--tensorflow"], ("rewrite", "--dtype"): ["--level O2", "--tensorflow"],
    ("rewrite", "--regex"): ["--recipe full"], ("rewrite", "--kernels"): ["--level O2"], ("*", "--variant"): ["--rounding stochastic", "--behaviour esr"],
    ("*", "--random"): ["--rounding stochastic", "--behaviour esr"], ("run", "--inner"): ["--partials half --block 1"],
    ("run", "--block"): ["--partials half"], ("run", "--chip"): ["--behaviour esr"], ("run", "--tensor-core-operands"): ["--accumulator ampere"],
    ("compute", "--behaviour"): ["--preset ipu"], ("vectors", "--behaviour"): ["--preset ipu"], ("*", "--chip"): ["--format fp16", "--format tf32"],
}


def options_of(program, verb):
    """Option, or "" for the positional -> its words, in the spelling of completions."""
    script = subprocess.run([program, "completions", "fish"], capture_output=True, text=True, check=True).stdout
    found = {}
    for line in script.splitlines():
        words = re.search(r" -a '([^'(]+)'", line)
        if f"from {verb}'" in line and words:
            name = re.search(r" -l (\S+)", line)
            # "key=" begins a value, and completions of a key are no words of a list.
            if offered := [word for word in words[1].split() if not word.endswith("=")]:
                found["--" + name[1] if name else ""] = offered
    return found


def without_words(program, verb, options):
    """Options whose value help calls a word, and that offer none."""
    text = subprocess.run([program, verb, "--help"], capture_output=True, text=True, check=True).stdout
    names = re.findall(r"^ +(--[a-z0-9-]+) (?:WORDS?|LIST)(?![=\w])", text, flags=re.MULTILINE)
    return [name for name in names if name not in options and name not in GRAMMARS]


def others(word):
    """Other spellings of a word: capitals, and the other dash."""
    swapped = word.translate(str.maketrans("-_", "_-"))
    return sorted({word.upper(), swapped, swapped.upper()} - {word})


class Walk(outputs.Session):
    """A kept session whose commands are also run with the words of options."""

    def __init__(self, program, file, every):
        super().__init__(program, file)
        self.verb, self.every = file.stem, every
        self.options = options_of(program, self.verb)
        self.wrong = [f"{self.verb} {name}: takes a word, and completions offer none" for name in without_words(program, self.verb, self.options)]
        self.left = {option: [word for word in words if self.is_mine(option, word)] for option, words in self.options.items() if option}
        self.positional = set(self.options.get("", []))
        self.tried, self.refused, self.failed = 0, {}, collections.Counter()

    def is_mine(self, option, word):
        return word not in ELSEWHERE and (self.every or zlib.crc32(f"{self.verb} {option} {word}".encode()) % PARTS == 0)

    def is_done(self):
        open_words = (self.failed[option, word] < MOST_TRIALS for option, words in self.left.items() for word in words)
        return not any(open_words) and not any(self.is_mine("", word) for word in self.positional)

    def give(self, lines):
        if self.is_done():
            return outputs.Shown()
        line = " ".join(lines)
        if len(lines) == 1 and (where := re.search(rf"\bsoftamp {self.verb}\b(?! --help)", line)) and line.count("softamp ") == 1:
            self.try_words(line, where.end())
            self.try_positional(line, where.end())
        return super().give(lines)

    def compare(self, option, word, base, command):
        """command: the command with a spelling of the word."""
        for other in others(word):
            self.tried += 1
            outcome = self.trial(command(other))
            outcome[1][1] = outcome[1][1].replace(other, word)  # a message repeats what was typed
            if outcome != base:
                self.wrong.append(f"{self.verb} {option} {other}: not as {word} in: {command(word)}\n    {outcome[1][1].strip()[:200]}")

    def try_words(self, line, at):
        for option, words in self.left.items():
            given = re.search(rf"{option}[ =](\S+)", line[at:])
            ways = [""] if given else ["", *BESIDE.get((self.verb, option), []), *BESIDE.get(("*", option), [])]
            for way in ways:
                if way and re.search(rf"{way.split()[0]}(?![\w-])", line):
                    continue
                joined = "=" if option == "--tensorflow" else " "
                if given:
                    begin, end = line[: at + given.start(1)], line[at + given.end(1) :]
                else:
                    begin, end = f"{line[:at]} {way} {option}{joined}", line[at:]
                command = lambda word: begin + word + end  # noqa: B023, E731
                for word in [word for word in words if self.failed[option, word] < MOST_TRIALS]:
                    base = self.trial(command(word))
                    if base[0] == 0:
                        words.remove(word)
                        self.refused.pop((option, word), None)
                        self.compare(option, word, base, command)
                        continue
                    self.failed[option, word] += 1
                    if (option, word) not in self.refused:
                        self.refused[option, word] = [base, command(word), *((other, self.trial(command(other))) for other in others(word))]

    def check_refused(self):
        """A word that no command takes is refused in all its spellings for the same reason."""
        for (option, word), (base, command, *spellings) in self.refused.items():
            for other, outcome in spellings:
                self.tried += 1
                said, wanted = outcome[1][1].replace(other, word), base[1][1]
                if said != wanted:
                    self.wrong.append(f"{self.verb} {option} {other}: refused otherwise than {word} in: {command}\n    {said.strip()[:200]}")

    def try_positional(self, line, at):
        for word in list(self.positional):
            found = re.search(rf"(?<= ){re.escape(word)}(?![\w-])", line[at:])
            if found is None or not self.is_mine("", word):
                continue
            begin, end = at + found.start(), at + found.end()
            command = lambda w: line[:begin] + w + line[end:]  # noqa: B023, E731
            base = self.trial(line)
            if base[0] == 0:
                self.positional.remove(word)
                self.compare("", word, base, command)


def main():
    parser = argparse.ArgumentParser(usage="words.py PROGRAM [--all] [VERB...]")
    parser.add_argument("program")
    parser.add_argument("verbs", nargs="*")
    parser.add_argument("--all", action="store_true")
    given = parser.parse_intermixed_args()
    program = pathlib.Path(given.program).resolve()
    files = [f for f in (HERE.parent / "outputs").glob("*.txt") if f.stem != "softamp" and (not given.verbs or f.stem in given.verbs)]
    files.sort(key=lambda file: -file.stat().st_size)
    walks = [Walk(program, file, given.all) for file in files]
    with concurrent.futures.ThreadPoolExecutor(2) as pool:
        list(pool.map(Walk.run, walks))
    wrong = []
    for walk in sorted(walks, key=lambda walk: walk.verb):
        walk.check_refused()
        wrong += walk.wrong
        left = [(option, word) for option, words in walk.left.items() for word in words if (option, word) not in walk.refused]
        wrong += [f"{walk.verb} {option} {word}: no kept command is there to try it" for option, word in left]
    print("\n".join([*wrong, f"{sum(walk.tried for walk in walks)} spellings tried, {len(wrong)} faults"]))
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
