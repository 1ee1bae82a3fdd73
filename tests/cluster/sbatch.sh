#!/usr/bin/env bash
# Stands for Slurm's sbatch in tests: runs the job at once, each task of an array as a process of its own with
# the variables that Slurm sets. Knows --parsable, --dependency, and the lines #SBATCH --array=FIRST-LAST[:STEP] and
# --cpus-per-task=N of the script.
set -euo pipefail
parsable=
while [[ ${1:-} == --* ]]; do
  case $1 in
    --parsable) parsable=yes ;;
    --dependency=afterany:[0-9]*) ;;
    *) echo "sbatch: $1 is not known" >&2; exit 2 ;;
  esac
  shift
done
script=$1
array=$(sed -nE 's/^#SBATCH --array=//p' "$script")
export SLURM_JOB_ID=4711 SLURM_PROCID=0 SLURM_NTASKS=1
SLURM_CPUS_PER_TASK=$(sed -nE 's/^#SBATCH --cpus-per-task=//p' "$script")
export SLURM_CPUS_PER_TASK
if [ -n "$parsable" ]; then
  echo "$SLURM_JOB_ID;cluster"
else
  echo "Submitted batch job $SLURM_JOB_ID"
fi
logs=${SBATCH_LOGS:?the folder for what the jobs print}
if [ -z "$array" ]; then
  bash "$@" > "$logs/job.out" 2> "$logs/job.err" || echo "$?" > "$logs/job.code"
  exit 0
fi
[[ $array =~ ^([0-9]+)-([0-9]+)(:([0-9]+))?$ ]] || { echo "sbatch: --array=$array is not known" >&2; exit 2; }
first=${BASH_REMATCH[1]} last=${BASH_REMATCH[2]} step=${BASH_REMATCH[4]:-1}
export SLURM_ARRAY_JOB_ID=$SLURM_JOB_ID SLURM_ARRAY_TASK_MIN=$first SLURM_ARRAY_TASK_MAX=$last SLURM_ARRAY_TASK_STEP=$step
export SLURM_ARRAY_TASK_COUNT=$(((last - first) / step + 1))
for ((task = first; task <= last; task += step)); do
  SLURM_ARRAY_TASK_ID=$task bash "$@" > "$logs/$task.out" 2> "$logs/$task.err" || echo "$?" > "$logs/$task.code" &
done
wait
