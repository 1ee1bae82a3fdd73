"""Random calls, good and bad: exceptions of the right kinds, no crash, inputs as they were. In a process of their own."""

import pathlib
import subprocess
import sys

import pytest

SCRIPT = pathlib.Path(__file__).with_name("random_calls.py")


def run(count, seed):
    done = subprocess.run([sys.executable, SCRIPT, str(count), str(seed)], capture_output=True, text=True, check=False)
    assert done.returncode == 0, (done.stdout[-300:], done.stderr[-3000:])


@pytest.mark.parametrize("seed", [1, 2])
def test_a_few_thousand(seed):
    run(1500, seed)


@pytest.mark.nightly
def test_a_hundred_thousand():
    run(100_000, 3)
