#!/usr/bin/env bash
# From a bare Debian 12 to the first result: installs what is missing, builds the program into build/, and adds 0.0001
# ten thousand times in fp16, once rounding to nearest and twenty times stochastically.
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

printf '\nPlot: %s and %s\nJSON: %s and %s\n' "$out/sum.svg" "$out/sum.png" "$out/sum.json" "$out/nearest.json"
