#!/usr/bin/env bash
# run.sh SOURCE_DIR BUILD_DIR: installs the build into a fresh prefix and builds another project against it, with
# adverse flags: always with g++, and one of four ways more, by SOFTAMP_SLICE: with clang++; by pkg-config; by FetchContent from the
# sources; a kernel by nvcc. Without it all four. All digests must equal the pinned ones, fast-math must not compile, and
# softamp::numerics must look for no package.
set -euo pipefail

way() { [ -z "${SOFTAMP_SLICE:-}" ] || [ $((SOFTAMP_SLICE % 4)) = "$1" ]; }

source_dir=$1
build_dir=$2
here=$source_dir/tests/consumer
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
expected=$work/pinned
cmake -DSECTION=numerics -P "$source_dir/cmake/pinned_digests.cmake" >"$expected"

cmake --install "$build_dir" --prefix "$work/prefix" >"$work/install.log"

# flags_arrive NAME PROGRAM: it was compiled without contraction, whatever else its builder said.
flags_arrive() {
  [ "$("$2")" = "as written, 1 + 1 is code 4000" ] || { "$2"; echo "consumer: $1: the flags of softamp::numerics do not arrive"; exit 1; }
}

# check NAME COMPILER FLAGS: the library's digest is pinned by the first build, the numerics' (by the headers, which bear
# the caller's flags) by tests/backend/arithmetic.json.
check() {
  local name=$1 compiler=$2 flags=$3 dir=$work/$1
  cmake -S "$here/project" -B "$dir" -DCMAKE_BUILD_TYPE=Release -DCMAKE_CXX_COMPILER="$compiler" \
    -DCMAKE_CXX_FLAGS="$flags" -DCMAKE_PREFIX_PATH="$work/prefix" -DSWEEP_DIR="$source_dir/tests/backend" >"$dir.log" 2>&1 &&
    cmake --build "$dir" >>"$dir.log" 2>&1 || { cat "$dir.log"; echo "consumer: $name does not build"; exit 1; }
  "$dir/headers_only" | diff -u "$expected" - || { echo "consumer: $name: another digest"; exit 1; }
  flags_arrive "$name" "$dir/with_target"
  echo "consumer: $name: without the target: $("$dir/without_target")"
  "$dir/with_library" >"$dir.with_library"
  [ -f "$work/library" ] || cp "$dir.with_library" "$work/library"
  diff -u "$work/library" "$dir.with_library" || { echo "consumer: $name, with_library: another digest"; exit 1; }
  if [ -x "$dir/assertions" ]; then
    "$dir/assertions" >"$dir.assertions" && { echo "consumer: $name: a test that must fail passes"; exit 1; }
    grep -q "1 FAILED TEST" "$dir.assertions" &&
      grep -q "is not 1.0000002f within 1 ulp: 1 of 1 elements differ, the first at \[\]: 0x3f800000 (1), expected 0x3f800002 (1.0000002); ulps: 2 x 1" "$dir.assertions" ||
      { cat "$dir.assertions"; echo "consumer: $name: softamp/findings/gtest.h does not say that"; exit 1; }
  fi
  echo "consumer: $name: equal digests"
}

adverse="-O3 -march=native -ffp-contract=fast"
check gcc_adverse g++ "$adverse"
if grep -qw fma /proc/cpuinfo && "$work/gcc_adverse/without_target" | grep -q 'as written'; then
  echo "consumer: a program that must be contracted is not: the check above cannot fail"
  exit 1
fi
if ! way 0; then
  echo "consumer: clang++: in another slice"
elif command -v clang++ >/dev/null; then
  check clang_adverse clang++ "$adverse"
else
  echo "consumer: clang++ is not here; not checked"
fi

# By pkg-config, no CMake.
if ! way 1; then
  echo "consumer: pkg-config: in another slice"
elif command -v pkg-config >/dev/null; then
  PKG_CONFIG_PATH=$(dirname "$(find "$work/prefix" -name softamp.pc)")
  export PKG_CONFIG_PATH
  compile=(g++ -std=c++20 -O1 -fexpensive-optimizations -march=native -ffp-contract=fast -I "$source_dir/tests/backend")
  read -ra flags <<<"$(pkg-config --cflags softamp-numerics)"
  "${compile[@]}" "${flags[@]}" "$here/project/contraction.cpp" -o "$work/contraction"
  flags_arrive softamp-numerics.pc "$work/contraction"
  read -ra flags <<<"$(pkg-config --cflags softamp)"
  read -ra libraries <<<"$(pkg-config --libs softamp)"
  "${compile[@]}" "${flags[@]}" "$here/project/library.cpp" "${libraries[@]}" -o "$work/library_digest"
  "$work/library_digest" | diff -u "$work/library" - || { echo "consumer: softamp.pc: another digest"; exit 1; }
  echo "consumer: pkg-config: equal digests"
else
  echo "consumer: pkg-config is not here; not checked"
fi

# A project that needs softamp::numerics alone: no package is there, neither for the installed softamp nor for its sources.
by_fetch_content() {
  local no_packages=() package fetch targets
  for package in Threads TBB Boost nlohmann_json LibArchive PNG Protobuf CLI11 GTest benchmark CUDAToolkit; do
    no_packages+=("-DCMAKE_DISABLE_FIND_PACKAGE_$package=ON")
  done
  cat >"$work/CMakeLists.txt" <<'END'
cmake_minimum_required(VERSION 3.25.1)
project(softamp_numerics_alone LANGUAGES CXX)
find_package(softamp 0.1 REQUIRED COMPONENTS numerics)
END
  cmake -S "$work" -B "$work/alone" -DCMAKE_PREFIX_PATH="$work/prefix" "${no_packages[@]}" >"$work/alone.log" 2>&1 ||
    { cat "$work/alone.log"; echo "consumer: COMPONENTS numerics asks for a package"; exit 1; }
  fetch=(-S "$here/fetch_content" "-DCMAKE_CXX_FLAGS=$adverse" -DSOFTAMP_SOURCE="$source_dir" -DSWEEP_DIR="$source_dir/tests/backend")
  { cmake "${fetch[@]}" -B "$work/fetch" "${no_packages[@]}" && cmake --build "$work/fetch"; } >"$work/fetch.log" 2>&1 ||
    { cat "$work/fetch.log"; echo "consumer: FetchContent of softamp::numerics does not build"; exit 1; }
  flags_arrive FetchContent "$work/fetch/with_target"
  targets=$(cmake --build "$work/fetch" --target help)
  if grep -E 'softamp_(softamp|program|reproduce)|test_|bench_' <<<"$targets"; then
    echo "consumer: FetchContent builds more than was asked for"
    exit 1
  fi
  # With the library: that it configures, packages and all; and that CMake says what to set where it was not asked for.
  cmake "${fetch[@]}" -B "$work/fetch_library" -DWITH_LIBRARY=ON -DSOFTAMP_BUILD_LIBRARY=ON -DSOFTAMP_CUDA=OFF >"$work/fetch.log" 2>&1 ||
    { cat "$work/fetch.log"; echo "consumer: FetchContent of softamp::softamp does not configure"; exit 1; }
  if cmake "${fetch[@]}" -B "$work/fetch" -DWITH_LIBRARY=ON >"$work/fetch.log" 2>&1 ||
    ! grep -q needs_SOFTAMP_BUILD_LIBRARY_ON "$work/fetch.log"; then
    cat "$work/fetch.log"
    echo "consumer: CMake does not say that SOFTAMP_BUILD_LIBRARY=ON is missing"
    exit 1
  fi
  echo "consumer: FetchContent: its flags arrive, no package for softamp::numerics"
}
if way 2; then by_fetch_content; else echo "consumer: FetchContent: in another slice"; fi

# A kernel of another project: compiled by nvcc with what the target says; the host's build of the same source is the judge.
nvcc=$(command -v nvcc || ls /usr/local/cuda/bin/nvcc 2>/dev/null || true)
if ! way 3; then
  echo "consumer: nvcc: in another slice"
elif [ -n "$nvcc" ]; then
  { cmake -S "$source_dir/examples/cuda" -B "$work/cuda" -DCMAKE_CUDA_COMPILER="$nvcc" -DCMAKE_PREFIX_PATH="$work/prefix" &&
    cmake --build "$work/cuda"; } >"$work/cuda.log" 2>&1 || { cat "$work/cuda.log"; echo "consumer: examples/cuda does not build"; exit 1; }
  "$work/cuda/swamping_host" | diff -u "$source_dir/examples/cuda/swamping.expected" -
  code=0
  "$work/cuda/swamping" >"$work/swamping" 2>"$work/swamping.said" || code=$?
  diff -u "$source_dir/examples/cuda/swamping.expected" "$work/swamping"
  [ $code = 0 ] || [ $code = 77 ] || { cat "$work/swamping.said"; echo "consumer: examples/cuda: exit code $code"; exit 1; }
  echo "consumer: examples/cuda: equal digests; $(cat "$work/swamping.said")"
else
  echo "consumer: nvcc is not here; examples/cuda is not checked"
fi

# Must not compile, and must say why.
# tests: N82, N85
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
  bash "$here/installed_pages.sh" "$work/prefix"
fi
