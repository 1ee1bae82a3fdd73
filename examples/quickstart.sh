#!/usr/bin/env bash
# From a bare Debian 12 to the first results: installs what is missing, builds the program into build/, and adds 0.0001
# ten thousand times in fp16, once rounding to nearest and twenty times stochastically. Then, for about a minute, trains a
# small network with its weights in float16 at a small learning rate: to nearest its updates vanish, stochastically not.
# Ends with how long each part took. SOFTAMP_BUILD_DIR: the build folder, seen from the source tree [=build].
set -euo pipefail
cd "$(dirname "$0")/.."
build=${SOFTAMP_BUILD_DIR:-build}
out=$build/quickstart
export LC_NUMERIC=C

# part NAME COMMAND...: runs the command, and notes its seconds by the clock and of all processors together.
times=
part() {
  local name=$1 TIMEFORMAT='%1R %1U %1S' taken
  shift
  { taken=$({ time "$@" >&3 2>&4; } 2>&1); } 3>&1 4>&2
  times+=$(awk -v name="$name" '{ printf "%-28s%8.1f s%12.1f s", name, $1, $2 + $3 }' <<<"$taken")$'\n'
}
show() {
  printf '\n$'
  printf ' %q' "$@"
  printf '\n'
  "$@"
}

part setup bash tests/setup.sh program
part build bash tests/build.sh program

mkdir -p "$out"
job=("$build/softamp" sum --value 0.0001 --count 10000 --format fp16)
part 'sum, nearest' show "${job[@]}" --rounding nearest
part 'sum, stochastic' show "${job[@]}" --rounding stochastic --replicas 20 --plot "$out/sum.svg"
"${job[@]}" --rounding stochastic --replicas 20 --plot "$out/sum.png" --json >"$out/sum.json"
"${job[@]}" --rounding nearest --json >"$out/nearest.json"
part training show "$build/softamp" study examples/training/swamping_study.json \
  --plot "$out/training.svg" --plot "$out/training.png"

printf '\nPlots: %s and %s, each also as .png\nJSON: %s and %s\n' \
  "$out/sum.svg" "$out/training.svg" "$out/sum.json" "$out/nearest.json"
printf '\n%-28s%10s%14s\n%s' 'took' 'clock' 'processors' "$times"

nvcc=$(command -v "${CUDACXX:-nvcc}" || command -v /usr/local/cuda/bin/nvcc || true)
if [ -n "$nvcc" ] && "$build/softamp" --version | grep -qx 'CUDA: no'; then
  printf '\nThis build has no CUDA, but %s is here. For --backend cuda:\n  %s\n' "$nvcc" \
    'bash tests/build.sh program -DSOFTAMP_CUDA=ON'
fi
