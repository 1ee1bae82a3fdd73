"""What tests of the module share: the command that it is held against, and where tests are left out."""

import json
import os
import pathlib
import signal
import subprocess

import numpy as np
import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]


def pytest_collection_modifyitems(config, items):
    if os.environ.get("SOFTAMP_NIGHTLY"):
        return
    leave_out = pytest.mark.skip(reason="nightly: SOFTAMP_NIGHTLY is not set")
    for item in items:
        if "nightly" in item.keywords:
            item.add_marker(leave_out)


SLICE = os.environ.get("SOFTAMP_SLICE")


def of_slice(cases, parts):
    """Those of one of so many parts, by SOFTAMP_SLICE; without it all."""
    return cases[int(SLICE) % parts :: parts] if SLICE else cases


def pytest_terminal_summary(terminalreporter):
    if SLICE:
        terminalreporter.write_line(f"SOFTAMP_SLICE={SLICE}: what has parts (of_slice) was run in that one")


class Program:
    """The command softamp, in a folder of its own."""

    def __init__(self, path, folder):
        self.path, self.folder = path, folder

    def __call__(self, *arguments, text=None):
        done = subprocess.run(
            [self.path, *map(str, arguments)], cwd=self.folder, input=text, capture_output=True, text=True, check=False
        )
        assert done.returncode == 0, f"softamp {' '.join(map(str, arguments))}: {done.stderr}"
        return done.stdout

    def json(self, *arguments):
        document = json.loads(self(*arguments, "--json"))
        document.pop("provenance", None)
        return document

    def fails(self, *arguments):
        done = subprocess.run([self.path, *map(str, arguments)], cwd=self.folder, capture_output=True, text=True, check=False)
        assert done.returncode != 0
        return done.stderr

    def save(self, name, array):
        np.save(self.folder / name, array)
        return name

    def load(self, name):
        return np.load(self.folder / name)


@pytest.fixture
def program(tmp_path):
    path = os.environ.get("SOFTAMP_PROGRAM", ROOT / "build" / "softamp")
    if not os.access(path, os.X_OK):
        pytest.skip(f"the command {path} is not built; SOFTAMP_PROGRAM names another")
    return Program(str(path), tmp_path)


@pytest.fixture
def ctrl_c():
    """Python's own handler, which it has not where its parent ignores the signal, as a shell does for what runs behind it."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


@pytest.fixture
def random():
    return np.random.default_rng(20)


def special_floats(dtype):
    """Numbers of every kind: zeros, ties of fp16, limits of formats, subnormals, infinities, NaN, and random ones."""
    generator = np.random.default_rng(1)
    kinds = [0.0, -0.0, 1.0, 1 + 2.0**-11, 1 + 3 * 2.0**-11, 65504.0, 65519.0, 65520.0, -65536.0, 2.0**-24, 2.0**-25, 3e-8]
    kinds += [np.inf, -np.inf, np.nan, 448.0, 464.0, 465.0, 3e38, 1e-45]
    spread = generator.standard_normal(1000) * 2.0 ** generator.integers(-30, 20, 1000)
    return np.concatenate([kinds, spread]).astype(dtype)
