#!/usr/bin/env bash
# Stands for GNU parallel where there is none: parallel --jobs N COMMAND with {}... ::: VALUES...
set -euo pipefail
[ "${1:-}" = --jobs ] || { echo "parallel: '${1:-}': expected --jobs N" >&2; exit 2; }
jobs=$2
shift 2
command=()
while [ "$1" != ::: ]; do
  command+=("$1")
  shift
done
shift
failed=0 running=0
for value in "$@"; do
  if ((running == jobs)); then
    wait -n || failed=$((failed + 1))
    running=$((running - 1))
  fi
  "${command[@]//\{\}/$value}" &
  running=$((running + 1))
done
while ((running > 0)); do
  wait -n || failed=$((failed + 1))
  running=$((running - 1))
done
exit "$failed"
