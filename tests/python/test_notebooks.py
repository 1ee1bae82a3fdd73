"""The notebooks of examples/notebooks/ run from their plain text, hold what they assert, and draw a small picture: one of them
by SOFTAMP_SLICE, without it all."""

import os
import pathlib
import subprocess
import sys

import pytest
from conftest import ROOT, of_slice

NOTEBOOKS = sorted((ROOT / "examples" / "notebooks").glob("*.py"))
MOST_BYTES = 60_000  # of a picture


def test_there_are_three():
    assert [path.stem for path in NOTEBOOKS] == ["random_bits", "swamping", "will_it_train"]


@pytest.mark.parametrize("path", of_slice(NOTEBOOKS, len(NOTEBOOKS)), ids=lambda path: path.stem)
def test_notebook(path: pathlib.Path, tmp_path):
    pytest.importorskip("matplotlib")
    done = subprocess.run(
        [sys.executable, os.fspath(path)],
        cwd=tmp_path,
        env=dict(os.environ, MPLBACKEND="Agg"),
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stdout
    picture = (tmp_path / f"{path.stem}.png").read_bytes()
    assert picture.startswith(b"\x89PNG") and len(picture) < MOST_BYTES
