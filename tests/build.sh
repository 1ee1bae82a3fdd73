#!/usr/bin/env bash
# Configures a build folder and builds in it:
#   bash tests/build.sh program [-DOPTION=...]...  the command alone, at build/softamp
#   bash tests/build.sh tests TARGET...            the command and these targets of the tests; CUDA as before [=none]
#   bash tests/build.sh all [-DOPTION=...]...      the library, the command, the tests, the examples; CUDA where nvcc is
# SOFTAMP_BUILD_DIR: the build folder, seen from the source tree [=build]. SOFTAMP_CMAKE_OPTIONS: more options.
set -euo pipefail

fail() {
  echo "build.sh: $1" >&2
  exit "${2:-1}"
}

target=${1:-}
case $target in
  program | tests | all) shift ;;
  *) fail "'$target' is not known; expected program, tests or all" 2 ;;
esac
targets=(softamp_program)
if [ "$target" = tests ]; then
  targets+=("$@")
  set --
fi
cd "$(dirname "$0")/.."
build=${SOFTAMP_BUILD_DIR:-build}
read -ra more <<<"${SOFTAMP_CMAKE_OPTIONS:-}"
set -- "${more[@]}" "$@"

# What CMake would say in many lines, or after part of the work.
if ! problem=$({ mkdir -p "$build" && : >"$build/configure.log"; } 2>&1); then
  fail "$build: ${problem##*: }; expected a folder that can be written: name another in SOFTAMP_BUILD_DIR"
fi
other='remove it, or name another in SOFTAMP_BUILD_DIR'
cached() { sed -n "s/^$1:[A-Z]*=//p" "$build/CMakeCache.txt"; }
first=yes
if [ -f "$build/CMakeCache.txt" ]; then
  first=
  source=$(cached CMAKE_HOME_DIRECTORY)
  [ -d "$source" ] && [ "$source" -ef . ] ||
    fail "$build was configured for $source; expected $PWD: $other"
  [ "$(cached CMAKE_CACHEFILE_DIR)" -ef "$build" ] ||
    fail "$build was configured at $(cached CMAKE_CACHEFILE_DIR), and moved; $other"
  [ "$(cached SOFTAMP_MINIMAL)" != ON ] ||
    fail "$build was configured with SOFTAMP_MINIMAL=ON, without the command; $other"
fi

options=(-DSOFTAMP_BUILD_LIBRARY=ON -DSOFTAMP_BUILD_PROGRAM=ON)
if [ "$target" = all ]; then
  options+=(-DSOFTAMP_BUILD_TESTS=ON -DSOFTAMP_BUILD_EXAMPLES=ON -DSOFTAMP_CUDA=AUTO)
elif [ "$target" = tests ]; then
  options+=(-DSOFTAMP_BUILD_TESTS=ON)
  [ -z "$first" ] || options+=(-DSOFTAMP_BUILD_EXAMPLES=OFF -DSOFTAMP_CUDA=OFF)
elif [ -n "$first" ]; then
  # What the command does not need is not looked for.
  options+=(-DSOFTAMP_BUILD_TESTS=OFF -DSOFTAMP_BUILD_EXAMPLES=OFF -DSOFTAMP_CUDA=OFF)
fi
if [ -n "$first" ] && command -v ninja >/dev/null; then
  options+=(-G Ninja)
fi
if ! cmake -S . -B "$build" "${options[@]}" "$@" >"$build/configure.log" 2>&1; then
  # CMake's message as one line, without those around it.
  message=$(sed -n '/^CMake Error/,/^Call Stack\|^-- /{/^CMake Error\|^Call Stack\|^-- /!p}' "$build/configure.log" |
    tr -s ' \n' ' ' | sed 's/ $//')
  # A first try that failed leaves nothing that the next one would have to agree with.
  [ -z "$first" ] || rm -rf "$build/CMakeCache.txt" "$build/CMakeFiles"
  fail "cmake:${message:- failed}; the whole log: $build/configure.log"
fi
if [ "$target" = all ]; then
  sed -n 's/^-- \(CUDA: .*\)/\1/p' "$build/configure.log"
  cmake --build "$build" --parallel "$(nproc)"
else
  cmake --build "$build" --target "${targets[@]}" --parallel "$(nproc)"
fi
