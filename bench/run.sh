#!/usr/bin/env bash
# bench/run.sh [BUILD] [FILTER]: builds the benchmarks in BUILD [=build-bench] and runs those whose name has FILTER [=all].
# Run it on a quiet machine: the figures are ratios within one run, but two busy neighbours still show.
set -euo pipefail
cd "$(dirname "$0")/.."
build=${1:-build-bench}
filter=${2:-.}
cmake -S . -B "$build" -DCMAKE_BUILD_TYPE=Release -DSOFTAMP_BUILD_BENCH=ON -DSOFTAMP_BUILD_TESTS=OFF \
  -DSOFTAMP_BUILD_EXAMPLES=OFF -DSOFTAMP_BUILD_PROGRAM=OFF -DSOFTAMP_CUDA=OFF >/dev/null
cmake --build "$build" --parallel "$(nproc)" >/dev/null
grep -m1 'model name' /proc/cpuinfo || true
for program in "$build"/bench/bench_*; do
  [ -x "$program" ] || continue
  echo "== $(basename "$program")"
  "$program" --benchmark_filter="$filter"
done
