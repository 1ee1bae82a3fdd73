#!/usr/bin/env bash
# Installs what is missing, builds into build/ (or SOFTAMP_BUILD_DIR) and runs the tests; further arguments go to ctest:
#   bash tests/run.sh                      everything but the labels exhaustive and nightly
#   bash tests/run.sh -R numerics          the tests whose name matches
#   bash tests/run.sh -L exhaustive        the full proofs, every input (minutes to hours)
# What is too long for every run is done in parts, and SOFTAMP_SLICE chooses the part [=a number of the commit]; tests/slices.sh
# walks them.
set -euo pipefail
cd "$(dirname "$0")/.."

build=${SOFTAMP_BUILD_DIR:-build}
. tests/slice.sh
bash tests/setup.sh tests
bash tests/build.sh all

selection=(-LE 'exhaustive|nightly')
for argument in "$@"; do
  case $argument in -L | -LE | --label-regex | --label-exclude) selection=() ;; esac
done
status=0
echo "softamp tests: SOFTAMP_SLICE=$SOFTAMP_SLICE"
ctest --test-dir "$build" --output-on-failure --parallel "$(nproc)" "${selection[@]}" "$@" | tee "$build/tests.log" || status=$?
summary=$(grep -E '^[0-9]+% tests passed' "$build/tests.log" || echo 'no test ran')
if [ "$status" -eq 0 ]; then
  echo "softamp tests: OK ($summary)"
else
  echo "softamp tests: FAILED ($summary)"
fi
exit "$status"
