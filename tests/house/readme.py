#!/usr/bin/env python3
"""Reads README.md and all other pages as a user would, and says what is not true in them.

    python3 tests/house/readme.py SOURCE_DIR PROGRAM            what is checked every day
    python3 tests/house/readme.py SOURCE_DIR PROGRAM --long     README's commands that take long, and nothing else

README.md has at most 150 lines. Commands that begin with `$` in a fenced block are run by bash, one after the other, in
a temporary folder that looks like the root of the repository; what they print must be what the page shows. Where "..."
stands, or the page says "shortened", lines may be missing; "..." at the end of a line stands for the rest of it.
Commands without `$` have placeholders or take long: verb and options must exist, or script, preset and CMake option.
Snippets of C++ must be parts of an example, links, pictures and the glossary's files must be there, and the quickstart
must run what README says it does. Exit codes: 0, 1 something is not true (all faults are listed), 2 usage.
"""

import functools
import json
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import textwrap

from readme_pages import anchors_of, blocks_of, contains, lines_without_margin, shows

MOST_LINES = 150
# Lines that tests/python/test_docs.py runs, where there is the module.
PYTHON = "python -c "
# Run with --long alone: a minute of two cores.
LONG = ("build/softamp study examples/training/swamping_study.json",)
# Exit codes other than 0, by the line that a page shows.
EXIT_CODES = {"floating-point exception": 3, "first difference": 1}
# Pages that are read first: a command of their own builds what they name.
FIRST_PAGES = ("README.md", "docs/TUTORIAL.md", "docs/WORKFLOWS.md")
# What a command puts into build/.
BUILDERS = {"bash examples/quickstart.sh": ("build/softamp",), "bash tests/build.sh program": ("build/softamp",),
            "bash tests/wheel/build.sh": ("build/wheels",),
            "bash tests/build.sh all": ("build/softamp", "build/examples", "build/tests"),
            "-DSOFTAMP_BUILD_BENCH=ON": ("build/bench",), "-DSOFTAMP_BUILD_PYTHON=ON": ("build/python",)}
WRITTEN = re.compile(r"(?:--plot|--trace|--out|-o|--csv) (\S+\.\w+)")


class Reader:
    def __init__(self, source, program):
        self.source, self.program = pathlib.Path(source).resolve(), pathlib.Path(program).resolve()
        self.faults = []
        files = [file for folder in (".", "docs", "bench") for file in sorted((self.source / folder).glob("*.md"))]
        self.pages = {str(file.relative_to(self.source)): file.read_text(encoding="utf-8") for file in files}
        self.blocks = {page: blocks_of(page, text) for page, text in self.pages.items()}

    def fault(self, place, text):
        self.faults.append(f"{place}: {text}")

    def text_of(self, file):
        return (self.source / file).read_text(encoding="utf-8")

    # ------------------------------------------------------------------ what the program says of itself

    @functools.cached_property
    def help_text(self):
        return self.run_program("--help")

    @functools.cached_property
    def verbs(self):
        # CLI11 from version 2.4 on writes headings in capitals.
        listed = re.split("subcommands:", self.help_text, flags=re.I)[1].split("Exit codes:")[0]
        return set(re.findall(r"^  ([a-z]+) {2,}", listed, re.M))

    @functools.lru_cache(maxsize=None)
    def options(self, verb):
        return set(re.findall(r"(?<![\w-])--?[a-z][a-z0-9-]*", self.run_program(verb, "--help")))

    def run_program(self, *arguments):
        return subprocess.run([self.program, *arguments], capture_output=True, text=True, check=True).stdout

    # ------------------------------------------------------------------ pages

    def check_readme(self):
        text = self.pages["README.md"]
        if len(text.splitlines()) > MOST_LINES:
            self.fault("README.md", f"{len(text.splitlines())} lines; expected at most {MOST_LINES}")
        for token in re.findall(r"@\w+@", text):
            self.fault("README.md", f"{token} waits for its figure")
        named = set(re.findall(r"^\| `softamp ([a-z]+)", text, re.M))
        for verb in sorted(named ^ self.verbs):
            self.fault("README.md", f"the verb {verb} is {'not a verb of the program' if verb in named else 'missing'}")
        for script in ("examples/quickstart.sh", "tests/run.sh"):
            if not re.search(rf"^bash {re.escape(script)}( |$)", text, re.M):
                self.fault("README.md", f"`bash {script}` is not among its commands")
        if "bash tests/run.sh" not in self.text_of(".ci/run"):
            self.fault(".ci/run", "does not run README's second command, bash tests/run.sh")

    def check_links(self):
        for page, text in self.pages.items():
            for target in re.findall(r"\]\(([^)\s]+)\)", text):
                if re.match(r"\w+:", target):
                    continue
                file, _, anchor = target.partition("#")
                path = (self.source / page).parent / file if file else self.source / page
                if not path.exists():
                    self.fault(page, f"link to {target}: there is no such file")
                elif anchor and anchor not in anchors_of(path.read_text(encoding="utf-8")):
                    self.fault(page, f"link to {target}: there is no such heading")

    def check_snippets(self):
        files = sorted((self.source / "examples").glob("*.cpp"))
        examples = [lines_without_margin(file.read_text(encoding="utf-8")) for file in files]
        consumer = self.text_of("tests/consumer/project/CMakeLists.txt")
        for block in (block for blocks in self.blocks.values() for block in blocks):
            if block.language == "cpp":
                part = lines_without_margin("\n".join(block.lines))
                if not any(contains(example, part) for example in examples):
                    self.fault(block.place, "this C++ is not, word for word, a part of a file of examples/")
            if block.language == "cmake":
                for call in re.findall(r"find_package\(.*?\)|softamp::\w+", "\n".join(block.lines)):
                    if call not in consumer:
                        self.fault(block.place, f"{call} is not in tests/consumer/project/CMakeLists.txt")

    def check_glossary(self):
        """Files and folders that the glossary names are there, below the root or below include/softamp/."""
        page = "docs/GLOSSARY.md"
        for span in re.findall(r"`([\w./-]+/[\w./-]*)`", self.pages[page]):
            if not any((self.source / below / span).exists() for below in (".", "include/softamp")):
                self.fault(page, f"there is no {span}")

    def check_options_of_cmake(self):
        declared = r"^\s*(?:option|set)\((SOFTAMP_\w+) .*(?:CACHE|ON|OFF|\})"
        top = re.sub(r'set\(SOFTAMP_\w+ (?!.*CACHE).*', "", self.text_of("CMakeLists.txt"))
        there = set(re.findall(declared, top, re.M))
        page = "docs/BUILDING.md"
        rows = "".join(re.findall(r"^\| `SOFTAMP[^|]*\|", self.pages[page], re.M))
        named = set(re.findall(r"`(SOFTAMP_\w+)`", rows))
        for name in sorted(named - there):
            self.fault(page, f"CMakeLists.txt has no option {name}")
        for name in sorted(there - named):
            self.fault(page, f"the option {name} of CMakeLists.txt is not in the table")

    # ------------------------------------------------------------------ commands that are not run

    def check_unrun(self):
        """Blocks without `$`, blocks by four blanks, and `softamp ...` in the text."""
        for page, text in self.pages.items():
            for block in self.blocks[page]:
                if block.language == "" and not block.commands():
                    for line in block.plain_commands():
                        self.check_command(block.place, line, page == "README.md")
            indented = "\n".join(re.findall(r"^    .*$", text, re.M)).replace("\\\n", " ")
            for line in indented.splitlines() + re.findall(r"(?<!`)`([^`\n]+)`(?!`)", text):
                self.check_command(page, line.strip().removeprefix("$ "), False)

    def check_command(self, place, line, known):
        """known: it must be one that this function knows."""
        for part in re.split(r"&&|\|", line.split(" #")[0]):
            words = part.split()
            while words and re.match(r"\w+=", words[0]):
                words = words[1:]
            if not words:
                continue
            if words[0] in ("softamp", "build/softamp") and len(words) > 1:
                self.check_program(place, words[1:])
            elif words[0] == "bash" and len(words) > 1:
                if not (self.source / words[1]).is_file():
                    self.fault(place, f"`{part.strip()}`: there is no file {words[1]}")
            elif words[0] in ("cmake", "ctest"):
                self.check_cmake(place, words)
            elif known:
                self.fault(place, f"`{part.strip()}` is no command that this test knows; expected $ before it")

    def check_program(self, place, words):
        verb = words[0]
        if verb.startswith("--") and verb not in self.help_text:
            self.fault(place, f"softamp has no option {verb}")
        if not re.fullmatch(r"[a-z]+", verb):
            return
        if verb not in self.verbs:
            self.fault(place, f"softamp has no verb {verb}")
            return
        for word in words[1:]:
            if re.match(r"--?[a-z]", word) and word.split("=")[0] not in self.options(verb):
                self.fault(place, f"softamp {verb} has no option {word.split('=')[0]}")

    def check_cmake(self, place, words):
        presets = json.loads(self.text_of("CMakePresets.json"))
        kind = "buildPresets" if "--build" in words else "configurePresets"
        kind = "testPresets" if words[0] == "ctest" else kind
        names = [preset["name"] for preset in presets[kind] if not preset.get("hidden")]
        for option, value in zip(words, words[1:]):
            if option == "--preset" and value not in names:
                self.fault(place, f"there is no preset {value} among the {kind}")
            if option == "--install" and value != "build" and value.removeprefix("build-") not in names:
                self.fault(place, f"no preset builds in {value}")

    def check_quickstart(self):
        """Runs examples/quickstart.sh with stand-ins for what it builds and calls: README's commands are its own."""
        with tempfile.TemporaryDirectory(prefix="softamp quickstart ") as name:
            folder = pathlib.Path(name)
            for entry in ("examples", "tests", "build"):
                (folder / entry).mkdir()
            shutil.copy(self.source / "examples/quickstart.sh", folder / "examples")
            for script in ("tests/setup.sh", "tests/build.sh"):
                (folder / script).write_text("true\n")
            (folder / "build/softamp").write_text(f'#!/bin/bash\necho "build/softamp $*" >>"{folder}/called"\n')
            (folder / "build/softamp").chmod(0o755)
            done = subprocess.run(["bash", "examples/quickstart.sh"], cwd=folder, capture_output=True, text=True)
            called = (folder / "called").read_text().splitlines() if (folder / "called").is_file() else []
        if done.returncode != 0:
            self.fault("examples/quickstart.sh", f"ends with code {done.returncode}: {done.stderr.strip()}")
        for block in self.blocks["README.md"]:
            for command, _ in block.commands():
                ours = re.match(r"build/softamp (sum|study) ", command)
                if ours and not any(line.startswith(command) for line in called):
                    self.fault(block.place, f"examples/quickstart.sh does not run `{command}`")

    def check_builds(self):
        """What a page calls in build/ is built by a command before it, there or on a page to which it has a link before it,
        and there is a source of it."""
        for page, text in self.pages.items():
            built = ()
            for line in text.splitlines():
                linked = re.findall(r"\]\(([\w./]+\.md)[#)]", line) if page not in FIRST_PAGES else []
                named = [line] + [self.text_of_link(page, target) for target in linked]
                for builder, what in BUILDERS.items():
                    if any(builder in part for part in named):
                        built += what
                for path in re.findall(r"(?<![\w./-])build/(?:softamp\b|(?:examples|tests|bench|python|wheels)(?:/[\w./]*\w)?)", line):
                    if not path.startswith(built):
                        self.fault(page, f"{path}: no command before it on the page builds it")
                    name = path.rsplit("/", 1)[-1]
                    source = path.removeprefix("build/").replace("/example_", "/")
                    there = (self.source / source).is_dir() or (self.source / f"{source}.cpp").is_file()
                    if path.startswith("build/examples/") and not there:
                        self.fault(page, f"{name}: there is no {source}.cpp")

    def text_of_link(self, page, target):
        path = (self.source / page).parent / target
        return path.read_text(encoding="utf-8") if path.is_file() else ""

    # ------------------------------------------------------------------ commands that are run

    def run_commands(self, pages, long):
        with tempfile.TemporaryDirectory(prefix="softamp readme ") as name:
            folder = pathlib.Path(name)
            (folder / "build/quickstart").mkdir(parents=True)
            (folder / "build/softamp").symlink_to(self.program)
            for entry in ("examples", "docs", "tests", "bench", "README.md"):
                (folder / entry).symlink_to(self.source / entry)
            for block in (block for page in pages for block in self.blocks[page]):
                for command, shown in block.commands():
                    if command.startswith(PYTHON):
                        continue
                    if command.startswith(LONG) == long:
                        self.run_command(folder, block, command, shown)
                    else:
                        self.check_command(block.place, command, True)

    def run_command(self, folder, block, command, shown):
        expected = next((code for text, code in EXIT_CODES.items() if any(s.startswith(text) for s in shown)), 0)
        line = ["bash", "-c", "set -o pipefail; " + command]
        done = subprocess.run(line, cwd=folder, capture_output=True, text=True)
        if done.returncode != expected:
            ends = f"`{command}` ends with code {done.returncode}; expected {expected}"
            self.fault(block.place, f"{ends}; it says: {done.stderr.strip()}")
            return
        # Standard error has settings and remarks, which begin with the command's name and which a page may leave out,
        # and reports, which a page shows before or after the results.
        out, error = done.stdout.splitlines(), done.stderr.splitlines()
        reports = [line for line in error if not line.startswith("softamp ")]
        wrong = [shows(shown, lines, block.shortened) for lines in (out, reports + out, out + reports, error + out)]
        if None not in wrong:
            printed = textwrap.indent("\n".join((error + out)[:60]), "    ")
            self.fault(block.place, f"`{command}` does not print what is shown: {wrong[1]}; it prints:\n{printed}")
        for file in WRITTEN.findall(command):
            if not (folder / file).is_file():
                self.fault(block.place, f"`{command}` does not write {file}")

    def check_all(self):
        self.check_readme()
        self.check_links()
        self.check_snippets()
        self.check_glossary()
        self.check_options_of_cmake()
        self.check_unrun()
        self.check_quickstart()
        self.check_builds()
        self.run_commands(self.pages, False)


def main(arguments):
    if len(arguments) not in (2, 3) or arguments[2:] not in ([], ["--long"]):
        print(__doc__, file=sys.stderr)
        return 2
    reader = Reader(arguments[0], arguments[1])
    if arguments[2:]:
        reader.run_commands(["README.md"], True)
    else:
        reader.check_all()
    for fault in reader.faults:
        print(fault)
    commands = sum(len(block.commands()) for blocks in reader.blocks.values() for block in blocks)
    print(f"readme: {len(reader.pages)} pages, {commands} commands with their output, {len(reader.faults)} faults")
    return 1 if reader.faults else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
