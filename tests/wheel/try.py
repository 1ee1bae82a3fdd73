#!/usr/bin/env python3
"""Installs a wheel as a user would, and holds what it does against README: `python3 tests/wheel/try.py FILE.whl`.

In a fresh virtual environment, with no variable set but those of pip: `pip install FILE`, `pip check`, README's lines of
Python and of `softamp sum`, whose output must be README's; then how the command ends, and what it says without gnuplot and
under mpirun. Installing and README's lines may take 20 s of processor time together (--seconds N); the clock, which the
network and other work delay, is only printed. Exit codes: 0, 1 a fault (all are listed), 2 usage, 77 pip found no NumPy.
"""

import argparse
import os
import pathlib
import re
import resource
import signal
import subprocess
import sys
import tempfile
import time
import venv

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.dont_write_bytecode = True
sys.path.insert(0, str(ROOT / "tests" / "house"))
from readme_pages import blocks_of, shows  # noqa: E402


class Trial:
    def __init__(self, folder):
        self.folder, self.faults = folder, []
        self.environment = {name: value for name, value in os.environ.items() if name.startswith("PIP_")}
        self.environment["PATH"] = str(folder / "venv" / "bin")

    def run(self, *command, text=None, **more):
        environment = self.environment | more
        return subprocess.run(command, cwd=self.folder, env=environment, input=text, capture_output=True, text=True, check=False)

    def expect(self, what, done, code, printed):
        """printed: a part of what standard output and error have together."""
        both = done.stdout + done.stderr
        if done.returncode != code or printed not in both:
            self.faults.append(f"{what}: code {done.returncode}, expected {code} and {printed!r}; it prints: {both.strip()[:2000]}")

    def readme(self):
        """Runs README's lines, and returns how many there are."""
        lines = 0
        for block in blocks_of("README.md", (ROOT / "README.md").read_text(encoding="utf-8")):
            for command, shown in block.commands():
                command = re.sub(r"^build/| --plot \S+", "", command)
                if re.match(r"python -c |softamp sum ", command):
                    lines += 1
                    done = self.run("/bin/sh", "-c", command)
                    wrong = shows(shown, done.stdout.splitlines(), block.shortened)
                    if done.returncode != 0 or wrong is not None:
                        printed = (done.stdout + done.stderr).strip()
                        self.faults.append(f"{block.place}: `{command}` does not print {wrong!r}, but: {printed}")
        return lines

    def command(self):
        """What passes through the entry on PATH to the program: streams, codes, signals."""
        self.expect("--version", self.run("softamp", "--version"), 0, "softamp ")
        self.expect("a pipe", self.run("softamp", "compute", "f16_add", text="3C00 3C01\n"), 0, "3C00 3C01 4000 01\n")
        self.expect("bad usage", self.run("softamp", "summ"), 2, "summ")
        sum_plot = ("softamp", "sum", "--value", "0.0001", "--count", "100", "--plot", "sum.svg")
        self.expect("a plot", self.run(*sum_plot), 2, "install it (Debian: gnuplot-nox)")
        plot = "import softamp; softamp.reproduce('harmonic-series', brief=True, figures=True)"
        self.expect("a plot of Python's", self.run("python", "-c", plot), 1, "install it (Debian: gnuplot-nox)")
        ranks = {"OMPI_COMM_WORLD_SIZE": "2", "OMPI_COMM_WORLD_RANK": "0"}
        self.expect("mpirun", self.run("softamp", "train", **ranks), 2, "with the CMake option SOFTAMP_MPI=ON")
        waits = [str(self.folder / "venv/bin/softamp"), "compute", "f16_add"]
        waiting = subprocess.Popen(  # where the parent ignores the signal, as a shell does for what runs behind it, it does not
            waits, env=self.environment, stdin=subprocess.PIPE, preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL)
        )
        time.sleep(0.5)
        waiting.send_signal(signal.SIGINT)
        try:
            code = waiting.wait(timeout=20)
        except subprocess.TimeoutExpired:
            waiting.kill()
            code = waiting.wait()
        if code != -signal.SIGINT:
            self.faults.append(f"Ctrl-C: code {code}, expected {-signal.SIGINT}, the signal's")


def processor_seconds():
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def size_of(folder):
    return sum(file.stat().st_size for file in folder.rglob("*") if file.is_file())


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("wheel", type=pathlib.Path)
    parser.add_argument("--seconds", type=float, default=20)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="softamp wheel ") as name:
        folder = pathlib.Path(name)
        venv.create(folder / "venv", with_pip=True)
        trial = Trial(folder)
        begin, used = time.monotonic(), processor_seconds()
        pip = ("python", "-m", "pip", "--disable-pip-version-check", "--no-cache-dir")
        done = trial.run(*pip, "install", "-q", str(options.wheel.resolve()))
        if done.returncode != 0:
            print(f"wheel: {options.wheel.name}: pip: {done.stderr.strip().splitlines()[-1]}", file=sys.stderr)
            return 77 if "numpy" in done.stderr else 1
        installed = time.monotonic() - begin
        lines = trial.readme()
        seconds, used = time.monotonic() - begin, processor_seconds() - used
        trial.expect("pip check", trial.run(*pip, "check"), 0, "No broken requirements found.")
        trial.command()
        packages = next((folder / "venv/lib").glob("python*/site-packages"))
        sizes = {package: size_of(packages / package) for package in ("softamp", "softamp.libs", "numpy", "numpy.libs")}
        if lines < 4:
            trial.faults.append(f"README.md has {lines} lines of Python and `softamp sum`; expected at least 4")
        if used > options.seconds:
            trial.faults.append(f"installing and README's lines took {used:.1f} s of processor time; expected at most {options.seconds:g}")
    for fault in trial.faults:
        print(f"wheel: {fault}")
    megabytes = ", ".join(f"{package} {size / 1e6:.1f}" for package, size in sizes.items())
    print(f"wheel: {options.wheel.name}: {options.wheel.stat().st_size / 1e6:.1f} MB, installed {megabytes} MB; Python "
          f"{sys.version.split()[0]}; pip install {installed:.1f} s, {lines} lines of README {seconds - installed:.1f} s, processor {used:.1f} s; "
          f"{len(trial.faults)} faults")
    return 1 if trial.faults else 0


if __name__ == "__main__":
    sys.exit(main())
