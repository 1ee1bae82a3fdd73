#!/usr/bin/env bash
# run.sh SOURCE_DIR BUILD_DIR: installs the build into a fresh prefix and builds a stranger's project against it, with
# ordinary and with adverse flags, with each compiler there is. All digests must equal the pinned ones, and fast-math
# must not compile.
set -euo pipefail

source_dir=$1
build_dir=$2
here=$source_dir/tests/consumer
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
expected=$work/pinned
cmake -DSECTION=numerics -P "$source_dir/cmake/pinned_digests.cmake" >"$expected"

cmake --install "$build_dir" --prefix "$work/prefix" >"$work/install.log"

# The library's digest is pinned by the first build, the numerics' by tests/backend/arithmetic.json.
check() {
  local name=$1 compiler=$2 flags=$3 dir=$work/$1 program
  cmake -S "$here/project" -B "$dir" -DCMAKE_BUILD_TYPE=Release -DCMAKE_CXX_COMPILER="$compiler" \
    -DCMAKE_CXX_FLAGS="$flags" -DCMAKE_PREFIX_PATH="$work/prefix" -DSWEEP_DIR="$source_dir/tests/backend" >"$dir.log" 2>&1 &&
    cmake --build "$dir" >>"$dir.log" 2>&1 || { cat "$dir.log"; echo "consumer: $name does not build"; exit 1; }
  for program in with_target headers_only; do
    "$dir/$program" >"$dir.$program"
    diff -u "$expected" "$dir.$program" || { echo "consumer: $name, $program: another digest"; exit 1; }
  done
  "$dir/with_library" >"$dir.with_library"
  [ -f "$work/library" ] || cp "$dir.with_library" "$work/library"
  diff -u "$work/library" "$dir.with_library" || { echo "consumer: $name, with_library: another digest"; exit 1; }
  echo "consumer: $name: equal digests"
}

adverse="-O3 -march=native -ffp-contract=fast"
check gcc g++ ""
check gcc_adverse g++ "$adverse"
if command -v clang++ >/dev/null; then
  check clang_adverse clang++ "$adverse"
else
  echo "consumer: clang++ is not here; not checked"
fi

# Must not compile, and must say why.
for flag in -ffast-math -Ofast -ffinite-math-only; do
  if echo '#include "softamp/numerics/format.h"' |
    g++ -std=c++20 "$flag" -I "$work/prefix/include" -x c++ -fsyntax-only - 2>"$work/error"; then
    echo "consumer: $flag compiles, and must not"
    exit 1
  fi
  grep -q 'softamp: results must depend on the input alone' "$work/error" || {
    cat "$work/error"
    echo "consumer: $flag fails for another reason"
    exit 1
  }
  echo "consumer: $flag is refused"
done

# The installed program runs from its new place.
if [ -x "$work/prefix/bin/softamp" ]; then
  "$work/prefix/bin/softamp" --version
fi
