#!/usr/bin/env bash
# Installs what is missing, builds into build/ (or SOFTAMP_BUILD_DIR) and runs tests; further arguments go to ctest:
#   bash tests/run.sh                      what shows that softamp works here (tests/quick.txt)
#   bash tests/run.sh --all                everything but the labels exhaustive and nightly
#   bash tests/run.sh -R numerics          the tests whose name matches; builds everything
#   bash tests/run.sh -L exhaustive        the full proofs, every input (minutes to hours)
# What is too long for every run is done in parts, and SOFTAMP_SLICE chooses the part [=a number of the commit]; tests/slices.sh
# walks them. SOFTAMP_NO_SKIP: an extended regular expression of tests that fail the run where they are skipped; where PyPI does not
# give what tests need of it (tests/venv.sh), none does.
set -euo pipefail
cd "$(dirname "$0")/.."

build=${SOFTAMP_BUILD_DIR:-build}
. tests/slice.sh

# listed WORD: what tests/quick.txt has behind this word.
listed() { awk -v word="$1" '$1 == word { print $2 }' tests/quick.txt; }
if [ $# -eq 0 ]; then
  bash tests/setup.sh tests
  bash tests/build.sh tests $(listed target)
  selection=(-R "$(listed test | paste -sd '|')" -E "$(listed but | paste -sd '|')" -LE 'exhaustive|nightly')
  rest='; bash tests/run.sh --all runs the others'
else
  [ "$1" != --all ] || shift
  bash tests/setup.sh all
  python=()
  if bash tests/venv.sh; then
    python=(-DSOFTAMP_BUILD_PYTHON=ON "-DPython_EXECUTABLE=$(cd "$build" && pwd)/venv/bin/python")
  else
    SOFTAMP_NO_SKIP=
  fi
  bash tests/build.sh all "${python[@]}"
  selection=(-LE 'exhaustive|nightly')
  rest=
fi
for argument in "$@"; do
  case $argument in -L | -LE | --label-regex | --label-exclude) selection=() ;; esac
done
status=0
echo "softamp tests: SOFTAMP_SLICE=$SOFTAMP_SLICE"
# One more than there are cores: what starts processes of an MPI mostly waits.
ctest --test-dir "$build" --output-on-failure --no-tests=error --parallel $(($(nproc) + 1)) "${selection[@]}" "$@" | tee "$build/tests.log" || status=$?
summary=$(grep -E '^[0-9]+% tests passed' "$build/tests.log" || echo 'no test ran')
# By the line in which they say why, and what brings what they need.
skipped=$(sed -nE 's/^.*Test +#[0-9]+: ([^ ]+) \.*\*\*\*Skipped.*/\1/p' "$build/tests.log")
declare -A skipped_for=()
for name in $skipped; do
  reason=$(sed -nE "/^[0-9]+\/[0-9]+ Test(ing)?: ${name//./\\.}\$/,/^<end of output>/{/skip|^no /I{p;q}}" "$build/Testing/Temporary/LastTest.log")
  skipped_for[${reason:-they do not say why}]+=" $name"
done
for reason in "${!skipped_for[@]}"; do
  echo "softamp tests: skipped here:${skipped_for[$reason]}: $reason"
done
refused=$(grep -E "${SOFTAMP_NO_SKIP:-^$}" <<<"$skipped" | paste -sd ' ' || true)
if [ "$status" -eq 0 ] && [ -n "$refused" ]; then
  echo "softamp tests: FAILED ($summary, but skipped $refused, which SOFTAMP_NO_SKIP forbids)"
  status=1
elif [ "$status" -eq 0 ]; then
  echo "softamp tests: OK ($summary$rest)"
else
  echo "softamp tests: FAILED ($summary)"
fi
exit "$status"
