#!/usr/bin/env bash
# The same with GNU parallel, on this machine or, with its --sshlogin, on others that see the folder: four shards, two at
# a time. The last one to end prints the table.
#   bash examples/cluster/parallel.sh [folder of runs, =runs]
set -euo pipefail
softamp=${SOFTAMP:-build/softamp}
parallel --jobs 2 "$softamp" study examples/cluster/study.json --quiet --jobs 1 --out "${1:-runs}" --shard {}/4 ::: 1 2 3 4
"$softamp" study examples/cluster/study.json --out "${1:-runs}" --collect --csv "${1:-runs}.csv"
