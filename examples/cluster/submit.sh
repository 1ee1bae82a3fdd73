#!/usr/bin/env bash
# A study on a cluster with Slurm, from the folder of the repository: an array of tasks, and a job that waits for it.
#   bash examples/cluster/submit.sh [folder of runs, =runs]
set -euo pipefail
here=$(dirname "$0")
array=$(sbatch --parsable "$here/array_task.sh" "${1:-runs}")
sbatch --dependency="afterany:${array%%;*}" "$here/collect.sh" "${1:-runs}"
