#!/usr/bin/env bash
# Stands for Slurm's srun in tests: srun --ntasks=N COMMAND..., all on this machine.
set -euo pipefail
[[ ${1:-} =~ ^--ntasks=([0-9]+)$ ]] || { echo "srun: '${1:-}': expected --ntasks=N" >&2; exit 2; }
tasks=${BASH_REMATCH[1]}
shift
export SLURM_JOB_ID=4711 SLURM_STEP_ID=0 SLURM_NTASKS=$tasks SLURM_NTASKS_PER_NODE=$tasks
processes=()
for ((task = 0; task < tasks; ++task)); do
  SLURM_PROCID=$task "$@" &
  processes+=($!)
done
code=0
for process in "${processes[@]}"; do wait "$process" || code=$?; done
exit "$code"
