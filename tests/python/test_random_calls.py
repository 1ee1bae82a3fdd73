"""Random calls, good and bad, each kind in a process of its own: see random_calls.py."""

import pathlib
import subprocess
import sys

import pytest

SCRIPT = pathlib.Path(__file__).with_name("random_calls.py")


def run(mode, count, seed):
    done = subprocess.run([sys.executable, SCRIPT, mode, str(count), str(seed)], capture_output=True, text=True, check=False)
    assert done.returncode == 0, (done.stdout[-300:], done.stderr[-3000:])


@pytest.mark.parametrize("seed", [1, 2])
def test_calls(seed):
    run("calls", 3000, seed)


def test_refusals_keep_no_memory():
    run("refusals", 60_000, 3)


def test_processes_end_while_threads_call():
    run("exits", 4, 4)
