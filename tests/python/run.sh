#!/usr/bin/env bash
# Makes the module of Python in the build folder (SOFTAMP_BUILD_DIR [=build]) and runs its tests; what they need of PyPI goes
# into an environment of their own there. Ends with 77 where PyPI does not give it.
set -euo pipefail
cd "$(dirname "$0")/../.."

build=${SOFTAMP_BUILD_DIR:-build}
mkdir -p "$build"
build=$(cd "$build" && pwd)
bash tests/setup.sh python
[ -x "$build/venv/bin/python" ] || python3 -m venv "$build/venv"
if ! "$build/venv/bin/python" -m pip install -q --disable-pip-version-check nanobind numpy ml_dtypes mypy pytest matplotlib; then
  echo "python tests: SKIPPED: PyPI did not give nanobind, numpy, ml_dtypes, mypy, pytest and matplotlib"
  exit 77
fi
bash tests/build.sh program -DSOFTAMP_BUILD_PYTHON=ON -DPython_EXECUTABLE="$build/venv/bin/python"
cmake --build "$build" --target softamp_python_module softamp_python_verbs --parallel "$(nproc)"
ctest --test-dir "$build" --output-on-failure --no-tests=error -L python -LE nightly
