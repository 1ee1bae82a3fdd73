#!/usr/bin/env bash
# script_test.sh SOURCE_DIR PARITY BENCH: tests/gpu.sh without a GPU. First with the programs as they are on the host (PARITY,
# BENCH), then with stand-ins that fail, take too long or come to no end: verdict, exit code and JSON.
# tests: N427
set -euo pipefail

script=$1/tests/gpu.sh
parity=$2
bench=$3
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
mkdir "$work/bin" "$work/programs"
PATH=$work/bin:$PATH
export SOFTAMP_GPU_DRY=$work/programs

program() { # FILE TEXT: a program of the text
  printf '#!/usr/bin/env bash\n%s\n' "$2" >"$1"
  chmod +x "$1"
}
failed() {
  echo "gpu script: $1"
  cat "$work/out" "$work/v.json" || true
  exit 1
}
# expect NAME CODE TEXT... -- ARGUMENT...: the script's exit code, and texts that its verdict must have.
expect() {
  local name=$1 code=$2 found=0 texts=() text
  shift 2
  while [ "$1" != -- ]; do texts+=("$1") && shift; done
  shift
  rm -f "$work/v.json"
  bash "$script" --out "$work/v.json" "$@" >"$work/out" 2>&1 || found=$?
  [ "$found" -eq "$code" ] || failed "$name: exit code $found; expected $code"
  for text in "${texts[@]}"; do
    grep -qF -- "$text" "$work/v.json" || failed "$name: the verdict lacks $text"
  done
  if [ -f "$work/v.json" ] && command -v python3 >/dev/null; then
    python3 -m json.tool "$work/v.json" >"$work/tidy" || failed "$name: no JSON"
  fi
  echo "gpu script: $name: as expected"
}

program "$work/programs/gpu_twins" 'echo "{\"differing\": \"\"}" >"$2"'
program "$work/programs/gpu_numerics" 'echo equal'
program "$work/programs/softamp" '[ "$1 ${*: -6}" = "train --backend cuda --compare emu --steps 20" ] && echo all equal'
# Instead of all families a quick one: tests/serial_grid has the others. The sanitizers ask for "rows".
program "$work/programs/gpu_parity" "case \" \$* \" in *' rows '*) exec '$parity' \"\$@\" ;; esac; exec '$parity' \"\$@\" --small structure"
program "$work/programs/gpu_bench" "exec '$bench' \"\$@\" --small"
# One of the four runs the program, the others say that all is well.
program "$work/bin/compute-sanitizer" '[ "$2" = racecheck ] || exit 0
while [ "${1#--}" != "$1" ]; do case $1 in --tool | --error-exitcode) shift 2 ;; *) shift ;; esac; done; exec "$@"'
expect 'the programs on the host' 0 '"verdict": "passed"' '"parity": {"state": "passed"' '"structure": {"cases": ' \
  '"differ": 0' '"racecheck": {"state": "passed"' '"train_compare": {"state": "passed"' '"bench": {"state": "passed"' 'training_step' \
  '"goals_missed": "matmul_' '"reason": "no cuBLAS was found' 'goals missed: matmul_' 'layer_norm' 'adam_fp32' --

mkdir -p "$work/toolkit/bin" "$work/toolkit/lib64"
: >"$work/toolkit/lib64/libcublas.so.13"
program "$work/toolkit/bin/nvcc" 'echo "release 13.0, V13.0.1"'
program "$work/programs/gpu_bench" 'echo "ERROR it has $SOFTAMP_CUBLAS"; exit 1'
program "$work/programs/gpu_parity" 'echo "DIFFERS \"AddV2\" float16"; exit 1'
expect 'a difference, and cuBLAS beside the toolkit' 1 '"verdict": "failed"' '"parity": {"state": "failed"' \
  'exit code 1: DIFFERS \"AddV2\" float16' '"numerics": {"state": "passed"' 'ERROR it has ' '/toolkit/lib64/libcublas.so.13' \
  -- --nvcc "$work/toolkit/bin/nvcc"
program "$work/programs/gpu_bench" 'echo \"none\"; exit 0'

program "$work/programs/softamp" 'echo "step 3: loss: cuda has 1 (0x3ff0), emu has 2 (0x4000)"; echo "compared cuda with emu"; exit 1'
expect 'a training step that differs' 1 '"train_compare": {"state": "failed"' 'exit code 1: step 3: loss: cuda has 1 (0x3ff0), emu has 2' -- --quick
program "$work/programs/softamp" 'echo all equal'

cut='while [ $# -gt 0 ]; do [ "$1" = --json ] && echo "{\"cut\": \"graphs training\", \"differ\": 0}" >"$2"; shift; done'
program "$work/programs/gpu_parity" "$cut"
expect 'families without a turn' 1 '"verdict": "incomplete"' 'what ran was equal; without a turn for all parts: graphs training' --

program "$work/programs/gpu_parity" 'exit 0'
program "$work/bin/compute-sanitizer" 'echo "========= Device not supported"; exit 1'
expect 'a sanitizer that cannot' 0 '"memcheck": {"state": "skipped"' -- --quick
grep -qF '"bench"' "$work/v.json" && failed 'quick: benchmarks ran'
program "$work/bin/compute-sanitizer" 'echo "========= Error: a race"; exit 9'
expect 'a sanitizer that finds one' 1 '"racecheck": {"state": "failed"' 'exit code 9: ========= Error: a race' -- --quick
program "$work/programs/gpu_numerics" 'echo "no GPU: no NVIDIA driver is loaded"; exit 77'
expect 'a device that is gone' 1 '"numerics": {"state": "failed"' 'no GPU: no NVIDIA driver' -- --quick

program "$work/programs/gpu_numerics" 'sleep 60'
SOFTAMP_GPU_SECONDS=2 expect 'no time' 1 '"verdict": "incomplete"' '"numerics": {"state": "timeout"' \
  '"parity": {"state": "cut"' -- --quick

unset SOFTAMP_GPU_DRY
program "$work/bin/nvidia-smi" 'echo "No devices were found"; exit 6'
expect 'no GPU' 0 '"verdict": "skipped"' '"reason": "no GPU: nvidia-smi lists no device"' --
grep -qx 'skipped: no GPU (nvidia-smi lists no device)' "$work/out" || failed 'no GPU: not said'
expect 'a word that is not known' 2 -- --fast
