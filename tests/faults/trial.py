"""One run of the command in a folder of its own, with or without a fault, and what it left."""

import dataclasses
import os
import pathlib
import re
import shutil
import subprocess
import tempfile

from verbs import without_times

SECONDS = 120  # after which a run hangs


@dataclasses.dataclass(frozen=True)
class Fault:
    kind: str
    n: int
    what: str           # ENOSPC, SHORT, KILL ...; LIMIT: no file grows beyond n blocks of 512 bytes
    lasting: bool = False

    def text(self):
        return f"{self.kind}:{self.n}{'+' if self.lasting else ''}:{self.what}"

    @staticmethod
    def of(text):
        kind, n, what = text.split(":")
        return Fault(kind, int(n.rstrip("+")), what, n.endswith("+"))


@dataclasses.dataclass
class Result:
    code: int           # negative: a signal; None: it had to be stopped
    out: bytes
    err: str
    files: dict         # name -> bytes, without times
    calls: list         # of (whether it failed, kind, n, place)

    def failed_calls(self):
        return [call for call in self.calls if call[0]]


class Workplace:
    """Folders for runs: in memory where the system has that, so that a run costs no disk."""

    def __init__(self, program, library, keep=False):
        self.keep = keep
        self.program, self.library = pathlib.Path(program).resolve(), pathlib.Path(library).resolve()
        memory = pathlib.Path("/dev/shm")
        above = memory if os.access(memory, os.W_OK | os.X_OK) else None
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="softamp_faults_", dir=above))
        self.made = 0

    def __enter__(self):
        return self

    def __exit__(self, *_):
        if not self.keep:
            shutil.rmtree(self.folder, ignore_errors=True)

    def new(self, template=None):
        self.made += 1  # only to make names differ: two threads at once may get the same number
        folder = pathlib.Path(tempfile.mkdtemp(prefix=f"{self.made}_", dir=self.folder))
        if template:
            shutil.copytree(template / "work", folder / "work", symlinks=True)
        else:
            (folder / "work").mkdir()
        return folder

    def prepare(self, verb):
        """What lies in the folder before a run of the verb."""
        folder = self.new()
        for name, data in verb.files.items():
            (folder / "work" / name).parent.mkdir(parents=True, exist_ok=True)
            (folder / "work" / name).write_bytes(data)
        if verb.before:
            result = self.run(folder, verb, arguments=verb.before)
            if result.code != 0:
                raise RuntimeError(f"{verb.name}: the run before ended with {result.code}: {result.err}")
        for name in contents(folder / "work"):
            if verb.forget and re.fullmatch(verb.forget, name):
                (folder / "work" / name).unlink()
        return folder

    def run(self, folder, verb, fault=None, arguments=None, seconds=None):
        """seconds: when it is killed from outside."""
        environment = {key: value for key, value in os.environ.items() if not key.startswith("SOFTAMP_")}
        environment["LC_ALL"] = "C.UTF-8"
        command = [str(self.program), *(arguments or verb.arguments)]
        log = folder / "log"
        log.unlink(missing_ok=True)
        if fault and fault.what == "LIMIT":
            # Of the system, so that it holds for what the C library writes within itself, and for other programs.
            command = ["sh", "-c", 'trap "" XFSZ; ulimit -f "$0"; exec "$@"', str(fault.n), *command]
        else:
            environment |= {"LD_PRELOAD": str(self.library), "SOFTAMP_FAULT_LOG": str(log),
                            "SOFTAMP_FAULT_PROGRAM": verb.child or self.program.name}
            if fault:
                environment["SOFTAMP_FAULT"] = fault.text()
        (folder / "stdin").write_bytes(verb.stdin)
        # Messages go into a pipe, which no limit holds for.
        with open(folder / "stdin", "rb") as stdin, open(folder / "stdout", "wb") as out:
            process = subprocess.Popen(command, cwd=folder / "work", env=environment, stdin=stdin, stdout=out,
                                       stderr=subprocess.PIPE)
        try:
            _, err = process.communicate(timeout=seconds or SECONDS)
            code = process.returncode
        except subprocess.TimeoutExpired:
            process.kill()
            _, err = process.communicate()
            code = process.returncode if seconds else None
        calls = []
        for line in log.read_text(errors="replace").splitlines() if log.exists() else []:
            failed = line.startswith("! ")
            kind, n, place = line.removeprefix("! ").split(" ", 2)
            calls.append((failed, kind, int(n), place))
        return Result(code, without_times("stdout", (folder / "stdout").read_bytes()),
                      err.decode(errors="replace"), contents(folder / "work"), calls)


def contents(folder):
    """Every file in the folder by its name, with its bytes; times are left out."""
    return {str(path.relative_to(folder)): without_times(path.name, path.read_bytes())
            for path in sorted(folder.rglob("*")) if path.is_file()}
