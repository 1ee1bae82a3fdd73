"""What the module needs of a machine: no library but those that docs/PYTHON.md names and the system's own."""

import re
import shutil
import subprocess

import pytest
from conftest import ROOT
from softamp import _softamp

SYSTEM = {"libc", "libm", "libgcc_s", "libstdc++", "ld-linux-x86-64", "ld-linux-aarch64"}
NAMED = {"oneTBB": "libtbb", "libarchive": "libarchive", "libpng": "libpng16", "protobuf": "libprotobuf", "RE2": "libre2",
         "xxHash": "libxxhash"}


def test_no_foreign_library():
    if not shutil.which("readelf"):
        pytest.skip("there is no readelf")
    said = subprocess.run(["readelf", "-d", _softamp.__file__], capture_output=True, text=True, check=True).stdout
    needed = {re.sub(r"-[0-9a-f]{8}$", "", name.split(".so")[0]) for name in re.findall(r"\(NEEDED\).*\[(.*)\]", said)}
    paths = re.findall(r"\((?:RPATH|RUNPATH)\).*\[(.*)\]", said)
    if "$ORIGIN/../softamp.libs" in paths:  # of tests/wheel/build.sh: libarchive is in the module, the others lie beside it
        assert paths == ["$ORIGIN/../softamp.libs"]
        assert needed - SYSTEM == {*NAMED.values(), "libz"} - {"libarchive"}
        return
    assert needed - SYSTEM == set(NAMED.values())
    page = (ROOT / "docs" / "PYTHON.md").read_text()
    assert all(name in page for name in NAMED)
    # Found where the system has them, nowhere in the folder that it was built in.
    assert not paths
