#!/usr/bin/env bash
# Walks the slices of all that is tested in parts (ctest's label slice), in the build that is there: what a week of commits does.
#   bash tests/slices.sh               slices 0 to 63, after which everything that has at most 64 parts has been
#   bash tests/slices.sh FIRST LAST    these
# Prints a line for each slice, and what failed; exit code 1 if anything did. The proofs have more parts: `-L exhaustive` is all.
set -uo pipefail
cd "$(dirname "$0")/.."

first=${1:-0} last=${2:-63}
build=${SOFTAMP_BUILD_DIR:-build}
if ! [[ $first =~ ^[0-9]+$ && $last =~ ^[0-9]+$ ]] || [ $# -eq 1 ] || [ $# -gt 2 ]; then
  echo "slices.sh: '$*': expected two whole numbers, FIRST and LAST, or nothing" >&2
  exit 2
fi
failed=0
for ((slice = first; slice <= last; ++slice)); do
  log=$build/slice-$slice.log
  if SOFTAMP_SLICE=$slice ctest --test-dir "$build" --output-on-failure --no-tests=error --parallel "$(nproc)" -L '^slice$' >"$log" 2>&1; then
    rm "$log"
    echo "slices: $slice: passed"
  else
    failed=1
    echo "slices: $slice: FAILED: $log"
    grep -A20 '^The following tests FAILED' "$log"
  fi
done
exit "$failed"
