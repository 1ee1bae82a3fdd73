#!/usr/bin/env bash
# bench/compare.sh OLD NEW [FILTER] [ROUNDS]: how much faster the benchmarks of one build are than those of another. OLD and
# NEW are folders that bench/run.sh has built, of two states of the sources; FILTER [=.] is Google Benchmark's; every program
# that both have runs ROUNDS [=5] times in each, in turns, and they change who is first. Prints for each benchmark the
# median of the rounds' ratios OLD / NEW in time, above 1 where NEW is faster, and the least and the greatest of them.
# Exit code 0: compared; 1: a program failed, or nothing was compared; 2: usage.
set -euo pipefail
usage() {
  echo "compare.sh: $1; expected OLD NEW [FILTER] [ROUNDS]" >&2
  exit 2
}
[ $# -ge 2 ] && [ $# -le 4 ] || usage "$# arguments"
old=$1 new=$2 filter=${3:-.} rounds=${4:-5}
for folder in "$old" "$new"; do
  compgen -G "$folder/bench/bench_*" >/dev/null || usage "'$folder' has no bench/bench_*"
done
[[ $rounds =~ ^[1-9][0-9]*$ ]] || usage "ROUNDS is '$rounds'"
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

run() { # BUILD PROGRAM FILE
  "$1/bench/$2" --benchmark_filter="$filter" --benchmark_out="$3" --benchmark_out_format=json >"$work/log" 2>&1 || {
    echo "compare.sh: $1/bench/$2 failed:" >&2
    tail -n 5 "$work/log" >&2
    exit 1
  }
}
for program in "$old"/bench/bench_*; do
  name=$(basename "$program")
  [ -x "$program" ] && [ -x "$new/bench/$name" ] || continue
  for round in $(seq "$rounds"); do
    echo "compare.sh: $name, round $round of $rounds" >&2
    if ((round % 2)); then
      run "$old" "$name" "$work/$name.$round.old"
      run "$new" "$name" "$work/$name.$round.new"
    else
      run "$new" "$name" "$work/$name.$round.new"
      run "$old" "$name" "$work/$name.$round.old"
    fi
  done
done

python3 - "$work" <<'END'
import collections, json, pathlib, statistics, sys

def times(file):
    text = file.read_text() if file.exists() else ""
    return {b["name"]: b["real_time"] for b in json.loads(text)["benchmarks"]} if text else {}

ratios = collections.defaultdict(list)
for before in sorted(pathlib.Path(sys.argv[1]).glob("*.old")):
    after = times(before.with_suffix(".new"))
    for name, time in times(before).items():
        if after.get(name):
            ratios[name].append(time / after[name])
print("| what | old / new | least | greatest |\n|---|---|---|---|")
for name, all_of_it in ratios.items():
    print(f"| {name} | {statistics.median(all_of_it):.2f} | {min(all_of_it):.2f} | {max(all_of_it):.2f} |")
sys.exit(0 if ratios else "compare.sh: no benchmark of this name is in both")
END
