#!/usr/bin/env python3
"""Plants bugs in the module of Python, one at a time, and requires that the named test of each fails.

    python3 tests/python/planted.py BUILD            every bug of planted.json
    python3 tests/python/planted.py BUILD --only ID  one of them, with the end of the output

BUILD has the module, by Ninja. A bug is changed as those of tests/planted/planted.py are (at, change, to); its test is a file of
this folder, or of pytest one of its tests, or random_calls.py with its arguments. Without the bug the test must pass.
Exit codes: 0, 1 a bug was not caught, 2 usage.
"""

import json
import os
import pathlib
import shlex
import shutil
import subprocess
import sys
import tempfile
import types

sys.dont_write_bytecode = True
HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "planted"))

import anchors  # noqa: E402

TARGET = "softamp_python_module"


class Module:
    """How the build makes the module, and a folder with a package of its own."""

    def __init__(self, build, folder):
        self.build, self.folder = build, folder
        entries = json.loads((build / "compile_commands.json").read_text(encoding="utf-8"))
        self.units = [entry for entry in entries if f"/{TARGET}.dir/" in entry["command"]]
        commands = subprocess.run(["ninja", "-C", build, "-t", "commands", TARGET], capture_output=True, text=True, check=True)
        link = commands.stdout.strip().splitlines()[-1]
        self.link = shlex.split(link.removeprefix(": && ").removesuffix(" && :"))
        self.made = self.link[self.link.index("-o") + 1]
        shutil.copytree(build / "python", folder / "package")

    def plant(self, bug):
        """The package with the bug in it."""
        overlay = self.folder / "overlay"
        file, text = anchors.mutated(types.SimpleNamespace(**bug))
        changed = overlay / file
        changed.parent.mkdir(parents=True, exist_ok=True)
        changed.write_text(text, encoding="utf-8")
        link = list(self.link)
        link[link.index("-o") + 1] = str(self.folder / "package/softamp" / pathlib.Path(self.made).name)
        for number, unit in enumerate(self.units):
            includes = pathlib.Path(unit["file"]).read_text(encoding="utf-8")
            if changed.suffix == ".cpp" and file not in includes:
                continue
            command = shlex.split(unit["command"])
            at, made = command.index("-o") + 1, str(self.folder / f"{number}.o")
            link[link.index(command[at])] = command[at] = made
            subprocess.run([command[0], f"-I{overlay}", "-w", *command[1:]], cwd=unit["directory"], check=True)
        subprocess.run(link, cwd=self.build, check=True)

    def restore(self):
        shutil.rmtree(self.folder / "overlay")
        shutil.rmtree(self.folder / "package")
        shutil.copytree(self.build / "python", self.folder / "package")

    def test(self, test):
        """Whether it passes, and the end of what it prints."""
        program, *more = shlex.split(test)
        command = [HERE / program, *more] if more else ["-m", "pytest", "-q", "-x", "-p", "no:cacheprovider", HERE / program]
        environment = dict(os.environ, PYTHONPATH=str(self.folder / "package"), SOFTAMP_PROGRAM=str(self.build / "softamp"))
        done = subprocess.run([sys.executable, "-B", *command], env=environment, capture_output=True, text=True, check=False, timeout=600)
        return done.returncode == 0 and " skipped" not in done.stdout, (done.stdout + done.stderr)[-2000:]


def main():
    if len(sys.argv) not in (2, 4):
        print(__doc__, file=sys.stderr)
        return 2
    only = sys.argv[3] if len(sys.argv) == 4 else None
    bugs = json.loads((HERE / "planted.json").read_text(encoding="utf-8"))
    missed = []
    with tempfile.TemporaryDirectory() as folder:
        module = Module(pathlib.Path(sys.argv[1]).resolve(), pathlib.Path(folder))
        for bug in bugs:
            if only not in (None, bug["id"]):
                continue
            passes, said = module.test(bug["test"])
            if not passes:
                missed.append(f"{bug['id']}: {bug['test']} fails, or is skipped, without the bug: {said}")
                continue
            module.plant(bug)
            passes, said = module.test(bug["test"])
            module.restore()
            if passes:
                missed.append(f"{bug['id']}: not caught by {bug['test']}")
            print(f"{bug['id']}: {'NOT CAUGHT' if passes else 'caught'}", flush=True)
            if only:
                print(said)
    print("\n".join(missed) if missed else f"{len(bugs) if only is None else 1} planted, all caught")
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main())
