#!/usr/bin/env bash
# The examples of a cluster, run: their table is that of the same study without help, every run is there, and nothing else.
#   examples.sh PROGRAM array | parallel | srun | mpirun.openmpi | mpirun.mpich
# sbatch and srun are those of this folder, and parallel where it is not installed. Exit code 77: no such mpirun.
set -euo pipefail
program=$(realpath "$1")
kind=$2
here=$(cd "$(dirname "$0")" && pwd)
root=$(cd "$here/../.." && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
mkdir "$work/bin"
stand_in() { printf '#!/bin/sh\nexec bash "%s" "$@"\n' "$here/$1.sh" > "$work/bin/$1" && chmod +x "$work/bin/$1"; }
stand_in sbatch  # a real one would ask a cluster
stand_in srun
command -v parallel > /dev/null || stand_in parallel
export PATH="$work/bin:$PATH" SOFTAMP=$program SBATCH_LOGS=$work
cd "$root"

fail() {
  echo "cluster: $kind: $*"
  exit 1
}

runs=$work/runs
case $kind in
  array)
    bash examples/cluster/submit.sh "$runs" > "$work/said"
    [ "$(wc -l < "$work/said")" = 1 ] || fail "sbatch says $(cat "$work/said")"
    for code in "$work"/*.code; do [ ! -e "$code" ] || fail "$code: $(cat "$code" "${code%code}err")"; done
    for task in 1 2 3 4; do
      grep -q "^softamp study: shard $task/4: 5 of 5 runs finished; \|^precision" "$work/$task.err" "$work/$task.out" ||
        fail "task $task says $(cat "$work/$task.err")"
    done
    grep -q 'final loss' "$work/job.out" || fail "the last job prints no table: $(cat "$work/job.err")"
    ;;
  parallel)
    bash examples/cluster/parallel.sh "$runs" > "$work/said" 2> "$work/err" || fail "$(cat "$work/err")"
    grep -q 'final loss' "$work/said" || fail "no table is printed"
    ;;
  srun | mpirun.*)
    launcher=(srun --ntasks=3)
    if [ "$kind" != srun ]; then
      command -v "$kind" > /dev/null || { echo "cluster: skipped: $kind is not installed"; exit 77; }
      launcher=("$kind" -n 3)
      # Open MPI counts cores, and runs for root only if told to.
      if [ "$kind" = mpirun.openmpi ]; then launcher=("$kind" --allow-run-as-root --oversubscribe -n 3); fi
    fi
    bash examples/cluster/launched.sh "$runs" "${launcher[@]}" > "$work/said" 2> "$work/err" || fail "$(cat "$work/err")"
    [ "$(grep -c 'final loss  ' "$work/said")" = 1 ] || fail "expected one table: $(cat "$work/said")"
    [ "$(grep -c '4 settings, 5 seeds, 20 runs' "$work/err")" = 1 ] || fail "expected one line of settings: $(cat "$work/err")"
    ;;
  *) echo "examples.sh: '$kind': expected array, parallel, srun, mpirun.openmpi or mpirun.mpich" >&2; exit 2 ;;
esac

"$program" study examples/cluster/study.json --quiet --csv "$work/alone.csv" > /dev/null
cmp -s "$work/alone.csv" "$runs.csv" || fail "another table: $(diff "$work/alone.csv" "$runs.csv")"
[ "$(find "$runs" -name '*.json' | wc -l)" = 20 ] || fail "$(find "$runs" -name '*.json' | wc -l) runs are kept; expected 20"
[ -z "$(find "$runs" -mindepth 1 ! -name '*.json')" ] || fail "left over: $(find "$runs" -mindepth 1 ! -name '*.json')"
echo "cluster: $kind: passed"
