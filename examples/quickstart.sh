#!/usr/bin/env bash
# From a bare Debian 12 to the first results: installs what is missing, builds the program into build/, and adds 0.0001
# ten thousand times in fp16, once rounding to nearest and twenty times stochastically. Then, for about a minute, trains a
# small network with its weights in float16 at a small learning rate: to nearest its updates vanish, stochastically not.
set -euo pipefail
cd "$(dirname "$0")/.."

bash tests/setup.sh program
bash tests/build.sh program

out=build/quickstart
mkdir -p "$out"
job=(build/softamp sum --value 0.0001 --count 10000 --format fp16)
show() {
  printf '\n$'
  printf ' %q' "$@"
  printf '\n'
  "$@"
}

show "${job[@]}" --rounding nearest
show "${job[@]}" --rounding stochastic --replicas 20 --plot "$out/sum.svg"
"${job[@]}" --rounding stochastic --replicas 20 --plot "$out/sum.png" --json >"$out/sum.json"
"${job[@]}" --rounding nearest --json >"$out/nearest.json"

show build/softamp study examples/training/swamping_study.json --plot "$out/training.svg" --plot "$out/training.png"

printf '\nPlots: %s and %s, each also as .png\nJSON: %s and %s\n' \
  "$out/sum.svg" "$out/training.svg" "$out/sum.json" "$out/nearest.json"
