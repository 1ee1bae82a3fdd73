#!/usr/bin/env bash
# Table and plot of what the tasks have done. Exit code 1: some runs are missing, and named.
#   sbatch examples/cluster/collect.sh [folder of runs, =runs]
#SBATCH --job-name=study-table
#SBATCH --time=00:05:00
#SBATCH --output=study-table.log
set -euo pipefail
softamp=${SOFTAMP:-build/softamp}
"$softamp" study examples/cluster/study.json --out "${1:-runs}" --collect --csv "${1:-runs}.csv"
