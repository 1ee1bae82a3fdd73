#!/usr/bin/env bash
# A task of a job array of Slurm: it does its share of a study's runs, and keeps them in a folder that all tasks see.
#   sbatch examples/cluster/array_task.sh [folder of runs, =runs]
# A task that was ended too early is queued again: it goes on where it was.
#SBATCH --job-name=study
#SBATCH --array=1-4
#SBATCH --cpus-per-task=2
#SBATCH --time=00:10:00
#SBATCH --requeue
#SBATCH --output=study-%A-%a.log
set -euo pipefail
softamp=${SOFTAMP:-build/softamp}
"$softamp" study examples/cluster/study.json --out "${1:-runs}" --shard slurm --jobs "${SLURM_CPUS_PER_TASK:-0}"
