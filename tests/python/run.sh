#!/usr/bin/env bash
# Makes the module of Python in the build folder (SOFTAMP_BUILD_DIR [=build]) and runs its tests alone; `bash tests/run.sh --all`
# does so, too. Ends with 77 where PyPI does not give what they need (tests/venv.sh).
set -euo pipefail
cd "$(dirname "$0")/../.."

build=${SOFTAMP_BUILD_DIR:-build}
bash tests/setup.sh python
bash tests/venv.sh
build=$(cd "$build" && pwd)
bash tests/build.sh program -DSOFTAMP_BUILD_PYTHON=ON -DPython_EXECUTABLE="$build/venv/bin/python"
cmake --build "$build" --target softamp_python_module softamp_python_verbs --parallel "$(nproc)"
ctest --test-dir "$build" --output-on-failure --no-tests=error -L python -LE nightly
