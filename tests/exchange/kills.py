#!/usr/bin/env python3
"""Kills processes of a training that four share, at random moments, and judges what is left.

kills.py PROGRAM [--kills N] [--seed S] [--mpi openmpi|mpich]

A run is started by mpirun again and again, with --resume wherever a checkpoint is there. In each turn one of its
processes, and the moment, are drawn from the seed, and the process gets SIGKILL. Then all others must have ended within
30 seconds: with exit code 4 and the name of the lost rank, or by mpirun, which ends what is left of a job. The checkpoint
must be one that the next turn reads. At the end a turn without a kill brings the run to its end: log and checkpoint must
be those of one process that nobody killed, byte for byte.

Exit code 77 where this mpirun, or the program's module for it, is not there."""

import argparse
import os
import random
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time

LAUNCH = {
    "openmpi": ["mpirun.openmpi", "--allow-run-as-root", "--oversubscribe", "--bind-to", "none", "-n", "4"],
    "mpich": ["mpirun.mpich", "-n", "4"],
}
# In every second turn Open MPI is told to let survivors be, so that their codes and words can be seen. It then lets them wait
# forever in MPI_Init for one that is killed before all have met; so there the kill comes later.
# From Open MPI 5 on a survivor that ends with its code would be the end of the others, too.
RECOVER = ["--enable-recovery"]
RECOVER_5 = ["--runtime-options", "error-nonzero-status=false"]
RANK = {"openmpi": "OMPI_COMM_WORLD_RANK", "mpich": "PMI_RANK"}
SETTINGS = ["train", "--set", "generated=true", "--set", "train_images=256", "--set", "test_images=16", "--set", "batch_size=2",
            "--set", "epochs=6", "--set", "replicas=4", "--set", "precision=float16", "--set", "stochastic_rounding=on",
            "--checkpoint-every", "3"]


def fail(text):
    sys.exit("kills: " + text)


def contents(path):
    with open(path, "rb") as file:
        return file.read()


class Turn:
    """One start of the run; its processes write number and exit code to files."""

    def __init__(self, program, mpi, folder, resume, recover):
        self.mpi, self.folder, self.words = mpi, folder, os.path.join(folder, "words")
        for name in os.listdir(folder):
            if name.startswith(("pid.", "code.")):
                os.unlink(os.path.join(folder, name))
        command = [program, *SETTINGS, "--log", folder + "/run.jsonl", "--checkpoint", folder + "/run.npz"]
        if resume:
            command += ["--resume", folder + "/run.npz"]
        # The shell stays between mpirun and the program, so that it can tell the exit code. MPICH's mpirun would not notice then
        # that a process is lost before all have met.
        script = f'echo $$ > "{folder}/pid.${RANK[mpi]}"; exec "$@"' if mpi == "mpich" else \
                 f'"$@" & echo $! > "{folder}/pid.${RANK[mpi]}.new"; mv "{folder}/pid.${RANK[mpi]}.new" "{folder}/pid.${RANK[mpi]}"; ' \
                 f'wait $!; code=$?; echo $code > "{folder}/code.${RANK[mpi]}"; exit $code'
        with open(self.words, "wb") as words:
            self.process = subprocess.Popen(LAUNCH[mpi][:-2] + RECOVER * recover + LAUNCH[mpi][-2:] + ["bash", "-c", script, "run", *command], stdout=subprocess.DEVNULL,
                                            stderr=words, start_new_session=True)

    def wait_until_met(self):
        end = time.monotonic() + 30
        while b" used: " not in contents(self.words) and self.process.poll() is None:
            if time.monotonic() > end:
                fail("the processes have not met within 30 s:\n" + contents(self.words).decode(errors="replace"))
            time.sleep(0.005)

    def number(self, rank):
        end = time.monotonic() + 30
        while time.monotonic() < end:
            try:
                return int(contents(f"{self.folder}/pid.{rank}"))
            except (FileNotFoundError, ValueError):
                if self.process.poll() is not None:
                    return None
                time.sleep(0.005)
        fail("rank %d has not begun within 30 s" % rank)

    def code(self, rank):
        if self.mpi == "mpich":
            return self.process.returncode if self.process.returncode in (0, 2) else None
        try:
            return int(contents(f"{self.folder}/code.{rank}"))
        except (FileNotFoundError, ValueError):
            return None  # mpirun has ended the shell, too


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("program")
    parser.add_argument("--kills", type=int, default=6)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--mpi", choices=sorted(LAUNCH), default="openmpi")
    o = parser.parse_args()
    module = os.path.join(os.path.dirname(os.path.abspath(o.program)), f"libsoftamp_mpi_{o.mpi}.so")
    if shutil.which(LAUNCH[o.mpi][0]) is None or not os.path.exists(module):
        print(f"kills: {LAUNCH[o.mpi][0]} or {module} is not there")
        sys.exit(77)
    if o.mpi == "openmpi":
        version = re.search(r"\((?:Open MPI|OpenRTE)\) (\d+)", subprocess.run([LAUNCH[o.mpi][0], "--version"], capture_output=True, text=True).stdout)
        if not version:
            fail("mpirun --version names no version of Open MPI")
        if int(version[1]) > 4:
            RECOVER.extend(RECOVER_5)
    draw = random.Random(o.seed)
    with tempfile.TemporaryDirectory() as folder:
        one = folder + "/one"
        os.mkdir(one)
        start = time.monotonic()
        subprocess.run([o.program, *SETTINGS, "--log", one + "/run.jsonl", "--checkpoint", one + "/run.npz", "--quiet"], check=True)
        kills, told, longest, turns, whole = 0, 0, 0.0, 0, 2.0
        while True:
            turns += 1
            resume = os.path.exists(folder + "/run.npz")
            begun = time.monotonic()
            recover = o.mpi == "openmpi" and kills < o.kills and draw.random() < 0.5
            turn = Turn(o.program, o.mpi, folder, resume, recover)
            if kills < o.kills:
                victim = draw.randrange(4)
                number = turn.number(victim)
                if recover:
                    turn.wait_until_met()
                # From the first instant of a process to some time after the run is over.
                time.sleep(draw.random() * whole)
                killed = False
                try:
                    if number is not None:
                        os.kill(number, signal.SIGKILL)
                        killed = True
                except ProcessLookupError:
                    pass
                kills += killed
            at = time.monotonic()
            try:
                turn.process.wait(30)
            except subprocess.TimeoutExpired:
                if kills < o.kills or killed:
                    os.killpg(turn.process.pid, signal.SIGKILL)
                    fail("30 s after rank %d was killed the others have not ended:\n%s" % (victim, contents(turn.words).decode(errors="replace")))
                turn.process.wait()
            words = contents(turn.words).decode(errors="replace")
            codes = [turn.code(rank) for rank in range(4)]
            if kills < o.kills or killed:
                longest = max(longest, time.monotonic() - at)
                for rank, code in enumerate(codes):
                    # 4: it has seen the loss. 0: the run was over. 143, 137, 134, none: mpirun ended it, or the MPI itself.
                    if rank != victim and code not in ((0, 4) if recover else (0, 4, None, 137, 143, 134)):
                        fail("rank %d ended with %s after rank %d was killed:\n%s" % (rank, code, victim, words))
                if recover and 4 in codes:
                    told += 1
                    if not re.search(rf"rank {victim} \(.*, process {number}\) has ended without a word", words):
                        fail("exit code 4 without the name of the lost rank:\n" + words)
                if codes[0] == 0 and not killed:
                    whole = time.monotonic() - begun
            killed = False
            if kills >= o.kills and codes == [0, 0, 0, 0]:
                break
            if codes == [0, 0, 0, 0]:  # too late for a kill: once more from the start
                check(folder, one)
                os.unlink(folder + "/run.npz")
                os.unlink(folder + "/run.jsonl")
            elif kills >= o.kills and 2 in codes:
                fail("the run does not go on:\n" + words)
            elif 2 in codes:
                fail("a turn was refused:\n" + words)
        check(folder, one)
        print(f"kills: {o.mpi}: {kills} kills in {turns} turns, seed {o.seed}: log and checkpoint are those of one process; survivors "
              f"told of the loss in {told} turns, all had ended within {longest:.1f} s; {time.monotonic() - start:.0f} s")


def check(folder, one):
    for name in ("run.jsonl", "run.npz"):
        if contents(f"{folder}/{name}") != contents(f"{one}/{name}"):
            kept = tempfile.mkdtemp(prefix="kills")
            shutil.copytree(folder, kept, dirs_exist_ok=True)
            fail(f"{name} differs from that of one process; both are kept in {kept}")


main()
