"""What docs/PYTHON.md and README.md show is what Python prints."""

import doctest
import os
import re
import shlex
import subprocess
import sys

import pytest
import softamp  # noqa: F401
from conftest import ROOT


def test_the_sessions_of_the_page(monkeypatch):
    pytest.importorskip("ml_dtypes")
    monkeypatch.chdir(ROOT)
    found = doctest.testfile(os.fspath(ROOT / "docs" / "PYTHON.md"), module_relative=False)
    assert found.attempted > 20 and found.failed == 0


def test_the_lines_of_the_readme():
    lines = re.findall(r"^\$ python -c ('.*')\n((?:[^$`].*\n)+)", (ROOT / "README.md").read_text(), re.MULTILINE)
    assert len(lines) == 2
    for code, printed in lines:
        done = subprocess.run(
            [sys.executable, "-c", *shlex.split(code)], capture_output=True, text=True, check=False, cwd=ROOT
        )
        assert (done.stdout, done.stderr) == (printed, "")
