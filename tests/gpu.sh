#!/usr/bin/env bash
# Everything that a machine with a GPU can show, in under ten minutes (N427):
#   bash tests/gpu.sh [--quick] [--out FILE.json]
# Builds a minimal Release build (SOFTAMP_MINIMAL) for this GPU in build-gpu/ and runs: the numerics sweep, the parity
# suite against the CPU engine, memcheck and racecheck of compute-sanitizer (where it is installed), and the benchmarks;
# --quick: smaller cases, no benchmarks. Writes one JSON verdict [=build-gpu/verdict.json].
#
# Exit code 0: passed, or "skipped: no GPU"; 1: failed, or incomplete, because something ran out of its time; 2: usage.
# Needs bash, CMake (3.25.1 or newer), a C++20 compiler and nvcc; no network, no other package.
set -uo pipefail

quick= out=
while [ $# -gt 0 ]; do
  case $1 in
    --quick) quick=1 ;;
    --out)
      [ $# -ge 2 ] || { echo "gpu.sh: --out needs a file" >&2; exit 2; }
      shift
      case $1 in /*) out=$1 ;; *) out=$PWD/$1 ;; esac
      ;;
    *)
      echo "gpu.sh: '$1' is not known; expected [--quick] [--out FILE.json]" >&2
      exit 2
      ;;
  esac
  shift
done
if [ -n "$out" ] && { [ -d "$out" ] || ! : >>"$out"; } 2>/dev/null; then
  echo "gpu.sh: --out $out cannot be written; expected a file in a folder that is there" >&2
  exit 2
fi
cd "$(dirname "$0")/.." || exit 1
# The toolkit's own place; and the device that nvidia-smi names first is CUDA's first.
[ -d /usr/local/cuda/bin ] && PATH=$PATH:/usr/local/cuda/bin
export CUDA_DEVICE_ORDER=PCI_BUS_ID

# For the test of this script: a folder with programs to run in the place of those that it would build, and the seconds
# that all may take.
dry=${SOFTAMP_GPU_DRY:-}
total=${SOFTAMP_GPU_SECONDS:-580}
folder=${dry:+$dry/run}
folder=${folder:-build-gpu}

# Text as a JSON string.
quoted() {
  local text=$1
  text=${text//\\/\\\\}
  text=${text//\"/\\\"}
  text=${text//[[:cntrl:]]/ }
  printf '"%s"' "$text"
}

write_verdict() {
  [ -n "$out" ] || return 0
  printf '%s\n' "$1" >"$out" || { echo "gpu.sh: $out cannot be written" >&2; exit 1; }
}

skip() {
  echo "skipped: no GPU ($1)"
  write_verdict "{\"verdict\": \"skipped\", \"reason\": $(quoted "no GPU: $1")}"
  exit 0
}

device= capability= driver=
if [ -n "$dry" ]; then
  device='none: a dry run of the script' capability=0.0 driver=none
else
  command -v nvidia-smi >/dev/null || skip 'there is no nvidia-smi'
  line=$(timeout 20 nvidia-smi --query-gpu=name,compute_cap,driver_version --format=csv,noheader 2>/dev/null | head -n 1)
  case $line in
    *,*,*) IFS=, read -r device capability driver <<<"$line" ;;
    *) skip 'nvidia-smi lists no device' ;;
  esac
  capability=${capability// /} driver=${driver# }
fi
mkdir -p "$folder" || exit 1
out=${out:-$PWD/$folder/verdict.json}
case $out in /*) ;; *) out=$PWD/$out ;; esac

verdict=passed
parts=
# Notes a part: name, state, seconds, reason, JSON of its own ("" for none). States: passed, failed, timeout, cut (parts of it had no turn), skipped.
note() {
  local name=$1 state=$2 seconds=$3 reason=$4 result=$5
  echo "gpu: $name: $state ($seconds s)${reason:+: $reason}"
  case $state in
    failed) verdict=failed ;;
    timeout | cut) [ "$verdict" = failed ] || verdict=incomplete ;;
  esac
  parts="$parts${parts:+,}
    $(quoted "$name"): {\"state\": \"$state\", \"seconds\": $seconds${reason:+, \"reason\": $(quoted "$reason")}${result:+, \"result\": $result}}"
}

left() { echo $((total - SECONDS)); }

# part NAME MOST COMMAND...: runs it for at most MOST seconds, or what is left of all, and notes what came of it. Its
# output goes to FOLDER/NAME.log and its JSON is expected in FOLDER/NAME.json. True where it passed.
part() {
  local name=$1 most=$2 start=$SECONDS code result= state reason=
  shift 2
  [ "$(left)" -lt "$most" ] && most=$(left)
  if [ "$most" -lt 1 ]; then
    note "$name" cut 0 'no time was left' ''
    return 1
  fi
  rm -f "$folder/$name.json"
  timeout -k 5 "$most" "$@" >"$folder/$name.log" 2>&1
  code=$?
  [ -s "$folder/$name.json" ] && result=$(cat "$folder/$name.json")
  case $code in
    0) state=passed ;;
    77) state=failed reason="no GPU: $(tail -n 1 "$folder/$name.log")" ;;
    124) state=timeout reason="stopped after $most s" ;;
    137) state=timeout reason="killed: it did not end after $most s, or memory ran out" ;;
    *) state=failed reason="exit code $code: $(grep -m 1 -E 'DIFFERS|ERROR|rror' "$folder/$name.log" || tail -n 1 "$folder/$name.log")" ;;
  esac
  # Of compute-sanitizer: no fault of the program's.
  if [ $state = failed ] && [[ $name = *check ]] && grep -q 'Device not supported' "$folder/$name.log"; then
    state=skipped reason='compute-sanitizer does not support this device'
  fi
  case $result in
    *'"cut": ""'*) ;;
    *'"cut": "'*) [ $state = passed ] && state=cut reason="families without a turn: $(sed 's/.*"cut": "\([^"]*\)".*/\1/' <<<"$result")" ;;
  esac
  note "$name" $state $((SECONDS - start)) "$reason" "$result"
  [ $state = failed ] && tail -n 20 "$folder/$name.log"
  [ $state = passed ]
}

build() {
  local generator=() architecture=${capability/./}
  command -v ninja >/dev/null && [ ! -f build-gpu/CMakeCache.txt ] && generator=(-G Ninja)
  cmake -S . -B build-gpu "${generator[@]}" -DSOFTAMP_MINIMAL=ON -DSOFTAMP_CUDA=ON -DCMAKE_BUILD_TYPE=Release \
    "-DCMAKE_CUDA_ARCHITECTURES=$architecture-real" && cmake --build build-gpu --parallel "$(nproc)"
}

# compute-sanitizer finds no fault in small cases.
sanitize() {
  local tool=$1 program=$2 most=$3
  if ! command -v compute-sanitizer >/dev/null; then
    note "$tool" skipped 0 'compute-sanitizer is not installed' ''
    return
  fi
  part "$tool" "$most" compute-sanitizer --tool "$tool" --error-exitcode 9 "$program" --small \
    --budget $((most * 2 / 3)) --json "$folder/$tool.json"
}

programs=build-gpu/tests/gpu
built=1
if [ -n "$dry" ]; then
  programs=$dry
else
  version=$(cmake --version 2>/dev/null | sed -n '1s/.* //p')
  if [ -z "$version" ] || [ "$(printf '3.25.1\n%s\n' "$version" | sort -V | head -n 1)" != 3.25.1 ]; then
    note build failed 0 "CMake is ${version:-not there}; expected 3.25.1 or newer" ''
    built=
  else
    export -f build
    export capability
    part build 300 bash -c build || built=
  fi
fi

if [ -n "$built" ]; then
  size=--full
  [ -n "$quick" ] && size=
  part numerics 60 "$programs/gpu_numerics"
  most=$(($(left) - 150)) # what the parts below take at most; with a minute for them in any case
  [ -n "$quick" ] && most=60
  [ "$most" -gt 10 ] || most=10
  # shellcheck disable=SC2086 # no word where there is no size
  part parity $((most + 15)) "$programs/gpu_parity" $size --budget $((most * 2 / 3)) --json "$folder/parity.json"
  sanitize memcheck "$programs/gpu_parity" 45
  sanitize racecheck "$programs/gpu_parity" 45
  if [ -z "$quick" ]; then
    part bench 60 "$programs/gpu_bench" --json "$folder/bench.json"
  fi
fi

toolkit=$( (nvcc --version 2>/dev/null || true) | sed -n 's/.*release \([0-9.]*\), V\(.*\)/\2/p')
revision=$(git rev-parse HEAD 2>/dev/null || echo unknown)
[ -z "$(git status --porcelain 2>/dev/null | head -n 1)" ] || revision="$revision, with changes"
write_verdict "{
  \"verdict\": \"$verdict\",
  \"date\": \"$(date -u +%Y-%m-%dT%H:%M:%SZ)\",
  \"device\": $(quoted "$device"),
  \"compute_capability\": $(quoted "$capability"),
  \"driver\": $(quoted "$driver"),
  \"toolkit\": $(quoted "${toolkit:-none}"),
  \"revision\": $(quoted "$revision"),
  \"quick\": $([ -n "$quick" ] && echo true || echo false),
  \"seconds\": $SECONDS,
  \"parts\": {$parts
  }
}"
echo "gpu: $verdict ($SECONDS s); $out"
[ "$verdict" = passed ]
