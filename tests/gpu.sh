#!/usr/bin/env bash
# Everything that a machine with a GPU can show (N427):
#   bash tests/gpu.sh [--quick] [--seconds N] [--nvcc FILE] [--out FILE.json]
# Builds a minimal Release build (SOFTAMP_MINIMAL) for this GPU in build-gpu/ and runs, what tells the most first: functions
# with a body of their own for a device, the numerics sweep, 20 steps of training beside the CPU engine's, the benchmarks, the
# parity suite against the CPU engine, and memcheck, racecheck, initcheck and synccheck of compute-sanitizer (where it is
# installed). Writes one JSON verdict [=build-gpu/verdict.json], anew after every part, so that a stop loses nothing.
#   --seconds N  for all together [=600 with 16 or more cores, else 1200]
#   --quick      smaller cases, no benchmarks: 90 s after the build
#   --nvcc FILE  the compiler [=CUDACXX, nvcc on PATH, CUDA_HOME, the newest /usr/local/cuda*]
# SOFTAMP_CUBLAS=FILE: cuBLAS, for a figure beside ours [=beside nvcc, in Python's nvidia/*/lib, where the loader looks].
#
# Exit code 0: passed, or "skipped: no GPU"; 1: failed, or incomplete: something ran out of its time (what ran was equal); 2: usage.
# Needs bash, CMake (3.25.1 or newer), a C++20 compiler and nvcc; no network, no other package.
set -uo pipefail

usage() {
  echo "gpu.sh: $1; expected [--quick] [--seconds N] [--nvcc FILE] [--out FILE.json]" >&2
  exit 2
}
quick= out= seconds=${SOFTAMP_GPU_SECONDS:-} nvcc=
while [ $# -gt 0 ]; do
  case $1 in
    --quick) quick=1 ;;
    --seconds | --nvcc | --out)
      [ $# -ge 2 ] || usage "$1 needs a value"
      case $1 in
        --seconds) seconds=$2 ;;
        --nvcc) nvcc=$2 ;;
        *) case $2 in /*) out=$2 ;; *) out=$PWD/$2 ;; esac ;;
      esac
      shift
      ;;
    *) usage "'$1' is not known" ;;
  esac
  shift
done
case $seconds in
  '') if [ "$(nproc)" -ge 16 ]; then seconds=600; else seconds=1200; fi ;;
  *[!0-9]*) usage "--seconds '$seconds' is no whole number" ;;
esac
if [ -n "$nvcc" ] && ! [ -x "$nvcc" ]; then
  usage "--nvcc '$nvcc' is no program"
fi
if [ -n "$out" ] && { [ -d "$out" ] || ! : >>"$out"; } 2>/dev/null; then
  echo "gpu.sh: --out $out cannot be written; expected a file in a folder that is there" >&2
  exit 2
fi
cd "$(dirname "$0")/.." || exit 1
for place in "${CUDACXX:-}" "$(command -v nvcc)" "${CUDA_HOME:-}/bin/nvcc" /usr/local/cuda/bin/nvcc \
  $(printf '%s\n' /usr/local/cuda-*/bin/nvcc | sort -rV); do
  [ -n "$nvcc" ] || { [ -x "$place" ] && nvcc=$place; }
done
[ -n "$nvcc" ] && PATH=$PATH:$(dirname "$nvcc")
export nvcc
# cuBLAS, which the benchmarks of products are held against: SOFTAMP_CUBLAS, beside the toolkit, among Python's packages, or
# where the loader finds it.
if [ -z "${SOFTAMP_CUBLAS:-}" ]; then
  toolkit_root=
  [ -n "$nvcc" ] && toolkit_root=$(dirname "$(dirname "$(readlink -f "$nvcc")")")
  python_root=$(python3 -c 'import sysconfig; print(sysconfig.get_path("purelib"))' 2>/dev/null)
  for place in ${toolkit_root:+"$toolkit_root"/lib64/libcublas.so* "$toolkit_root"/targets/*/lib/libcublas.so*} \
    ${python_root:+"$python_root"/nvidia/*/lib/libcublas.so*}; do
    [ -e "$place" ] && [ -z "${SOFTAMP_CUBLAS:-}" ] && SOFTAMP_CUBLAS=$place
  done
fi
export SOFTAMP_CUBLAS=${SOFTAMP_CUBLAS:-}
# The device that nvidia-smi names first is CUDA's first.
export CUDA_DEVICE_ORDER=PCI_BUS_ID

# For the test of this script: a folder with programs to run in the place of those that it would build.
dry=${SOFTAMP_GPU_DRY:-}
total=$seconds
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

toolkit=
[ -n "$nvcc" ] && toolkit=$("$nvcc" --version 2>/dev/null | sed -n 's/.*release \([0-9.]*\), V\(.*\)/\2/p')
revision=$(git rev-parse HEAD 2>/dev/null || echo unknown)
[ -z "$(git status --porcelain 2>/dev/null | head -n 1)" ] || revision="$revision, with changes"
verdict=passed missed=
parts=

# The verdict so far, with this word.
verdict_of() {
  printf '%s' "{
  \"verdict\": \"$1\",
  \"date\": \"$(date -u +%Y-%m-%dT%H:%M:%SZ)\",
  \"device\": $(quoted "$device"),
  \"compute_capability\": $(quoted "$capability"),
  \"driver\": $(quoted "$driver"),
  \"toolkit\": $(quoted "${toolkit:-none}"),
  \"revision\": $(quoted "$revision"),
  \"quick\": $([ -n "$quick" ] && echo true || echo false),
  \"seconds\": $SECONDS,
  \"goals_missed\": $(quoted "$missed"),
  \"parts\": {$parts
  }
}"
}
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
  write_verdict "$(verdict_of running)"
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
    77) state=failed reason=$(tail -n 1 "$folder/$name.log") ;;  # "no GPU: ..."
    124) state=timeout reason="stopped after $most s" ;;
    137) state=timeout reason="killed: it did not end after $most s, or memory ran out" ;;
    *) state=failed reason="exit code $code: $(grep -m 1 -E 'DIFFERS|ERROR|rror|, emu has ' "$folder/$name.log" || tail -n 1 "$folder/$name.log")" ;;
  esac
  # Of compute-sanitizer: no fault of the program's.
  if [ $state = failed ] && [[ $name = *check ]] && grep -q 'Device not supported' "$folder/$name.log"; then
    # implements: N427
    state=skipped reason='compute-sanitizer does not support this device'
  fi
  case $result in
    *'"cut": ""'*) ;;
    *'"cut": "'*) [ $state = passed ] && state=cut reason="what ran was equal; without a turn for all parts: $(sed 's/.*"cut": "\([^"]*\)".*/\1/' <<<"$result")" ;;
  esac
  # Of the benchmarks: no failure, and in the verdict all the same.
  case $result in
    *'cuBLAS sgemm, which is not here'*) reason="${reason:+$reason; }no cuBLAS was found (SOFTAMP_CUBLAS names one): no goal for the fp32 chain" ;;
  esac
  case $result in
    *'"missed": ""'*) ;;
    *'"missed": "'*) missed=$(sed 's/.*"missed": "\([^"]*\)".*/\1/' <<<"$result") && reason="${reason:+$reason; }goals missed: $missed" ;;
  esac
  note "$name" $state $((SECONDS - start)) "$reason" "$result"
  [ $state = failed ] && tail -n 20 "$folder/$name.log"
  [ $state = passed ]
}

build() {
  local generator=() architecture=${capability/./}
  case $architecture in 100 | 103) architecture+=a ;; esac  # with what only these have (N330)
  command -v ninja >/dev/null && [ ! -f build-gpu/CMakeCache.txt ] && generator=(-G Ninja)
  cmake -S . -B build-gpu "${generator[@]}" ${nvcc:+"-DCMAKE_CUDA_COMPILER=$nvcc"} -DSOFTAMP_MINIMAL=ON -DSOFTAMP_CUDA=ON -DCMAKE_BUILD_TYPE=Release \
    "-DCMAKE_CUDA_ARCHITECTURES=$architecture-real" && cmake --build build-gpu --parallel "$(nproc)"
}

# compute-sanitizer finds no fault where every kernel is launched on little (the family rows).
sanitize() {
  local tool=$1 most=$2
  if ! command -v compute-sanitizer >/dev/null; then
    note "$tool" skipped 0 'compute-sanitizer is not installed' ''
    return
  fi
  part "$tool" "$most" compute-sanitizer --tool "$tool" --error-exitcode 9 "$programs/gpu_parity" --small \
    --budget $((most * 2 / 3)) --json "$folder/$tool.json" rows
}

programs=build-gpu/tests/gpu softamp=build-gpu/softamp
built=1
if [ -n "$dry" ]; then
  programs=$dry softamp=$dry/softamp
else
  version=$(cmake --version 2>/dev/null | sed -n '1s/.* //p')
  if [ -z "$version" ] || [ "$(printf '3.25.1\n%s\n' "$version" | sort -V | head -n 1)" != 3.25.1 ]; then
    note build failed 0 "CMake is ${version:-not there}; expected 3.25.1 or newer" ''
    built=
  else
    export -f build
    export capability
    part build "$total" bash -c build || built=
    [ -n "$quick" ] && total=$((SECONDS + 90))
  fi
fi

if [ -n "$built" ]; then
  # Of the time that is left: a minute at most for each of the first three, a sixth for the benchmarks, a minute at most for each
  # sanitizer, the rest for parity.
  size=--full check=$(($(left) / 10))
  [ -n "$quick" ] && size=
  [ $check -lt 60 ] || check=60
  [ $check -gt 10 ] || check=10
  part twins 30 "$programs/gpu_twins" --json "$folder/twins.json"
  part numerics 60 "$programs/gpu_numerics"
  part train_compare 60 "$softamp" train --set generated=true --set precision=mixed --set stochastic_rounding=on \
    --set partials=half --backend cuda --compare emu --steps 20
  [ -n "$quick" ] || part bench $(($(left) / 6)) "$programs/gpu_bench" --json "$folder/bench.json"
  most=$(($(left) - 4 * check - 15))
  [ "$most" -gt 10 ] || most=10
  # shellcheck disable=SC2086 # no word where there is no size
  part parity $((most + 15)) "$programs/gpu_parity" $size --budget $((most * 2 / 3)) --json "$folder/parity.json"
  for tool in memcheck racecheck initcheck synccheck; do sanitize $tool $check; done
fi

write_verdict "$(verdict_of "$verdict")"
echo "gpu: $verdict ($SECONDS s)${missed:+, goals missed: $missed}; $out"
[ "$verdict" = passed ]
