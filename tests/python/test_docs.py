"""What docs/PYTHON.md shows is what Python prints."""

import doctest
import os

import pytest
import softamp  # noqa: F401
from conftest import ROOT


def test_the_sessions_of_the_page(monkeypatch):
    pytest.importorskip("ml_dtypes")
    monkeypatch.chdir(ROOT)
    found = doctest.testfile(os.fspath(ROOT / "docs" / "PYTHON.md"), module_relative=False)
    assert found.attempted > 20 and found.failed == 0
