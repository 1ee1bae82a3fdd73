#!/usr/bin/env bash
# The same as one job of several processes: they share the runs, whatever each takes, and the first prints the table.
#   bash examples/cluster/launched.sh FOLDER mpirun -n 4
#   bash examples/cluster/launched.sh FOLDER srun --ntasks=4
set -euo pipefail
softamp=${SOFTAMP:-build/softamp}
runs=$1
shift
"$@" "$softamp" study examples/cluster/study.json --out "$runs" --csv "$runs.csv"
