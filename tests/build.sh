#!/usr/bin/env bash
# Configures build/ and builds in it:
#   bash tests/build.sh program                the command alone, at build/softamp
#   bash tests/build.sh all [-DOPTION=...]...  the library, the command, the tests, the examples; CUDA where nvcc is found
# More options may stand in SOFTAMP_CMAKE_OPTIONS.
set -euo pipefail
cd "$(dirname "$0")/.."

target=$1
shift
read -ra more <<<"${SOFTAMP_CMAKE_OPTIONS:-}"
set -- "${more[@]}" "$@"
options=("$@")
if [ "$target" = all ]; then
  options=(-DSOFTAMP_BUILD_TESTS=ON -DSOFTAMP_BUILD_EXAMPLES=ON -DSOFTAMP_CUDA=AUTO "$@")
elif [ ! -f build/CMakeCache.txt ]; then
  # What the command does not need is not looked for.
  options=(-DSOFTAMP_BUILD_TESTS=OFF -DSOFTAMP_BUILD_EXAMPLES=OFF -DSOFTAMP_CUDA=OFF "$@")
fi
if [ ! -f build/CMakeCache.txt ] && command -v ninja >/dev/null; then
  options+=(-G Ninja)
fi
mkdir -p build
if ! cmake -S . -B build "${options[@]}" >build/configure.log 2>&1; then
  cat build/configure.log >&2
  exit 1
fi
if [ "$target" = all ]; then
  sed -n 's/^-- \(CUDA: .*\)/\1/p' build/configure.log
  cmake --build build --parallel "$(nproc)"
else
  cmake --build build --target softamp_program --parallel "$(nproc)"
fi
