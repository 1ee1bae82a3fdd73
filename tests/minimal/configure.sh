#!/usr/bin/env bash
# configure.sh SOURCE_DIR: SOFTAMP_MINIMAL=ON in a fresh folder looks for no package, refuses what needs one, and builds.
# Of the build the numerics' digest alone: the rest is linked by tests/minimal/CMakeLists.txt.
set -euo pipefail

source_dir=$1
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

configure() { # FOLDER OPTION...
  local folder=$work/$1
  shift
  # Packages that are looked for in spite of all are not found.
  cmake -S "$source_dir" -B "$folder" -DSOFTAMP_MINIMAL=ON -DSOFTAMP_CUDA=OFF -DCMAKE_BUILD_TYPE=Release "-DCMAKE_CXX_FLAGS_RELEASE=-O1" \
    -DCMAKE_FIND_USE_CMAKE_SYSTEM_PATH=OFF "$@" >"$folder.log" 2>&1
}

configure build || { cat "$work/build.log"; echo "minimal: does not configure"; exit 1; }
for name in TBB_DIR Boost_DIR nlohmann_json_DIR GTest_DIR XXHASH_INCLUDE_DIR XXHASH_LIBRARY RE2_LIBRARY Protobuf_INCLUDE_DIR LibArchive_LIBRARY PNG_PNG_INCLUDE_DIR; do
  if grep -q "^$name:" "$work/build/CMakeCache.txt"; then
    echo "minimal: $name was looked for"
    exit 1
  fi
done
cmake --build "$work/build" --target numerics_digest >"$work/make.log" 2>&1 || { cat "$work/make.log"; exit 1; }
cmake -DSECTION=numerics -P "$source_dir/cmake/pinned_digests.cmake" >"$work/pinned"
"$work/build/tests/gpu/numerics_digest" | diff -u "$work/pinned" -
echo "minimal: configures, and the numerics have the pinned digest"

for option in SOFTAMP_BUILD_TESTS SOFTAMP_BUILD_PROGRAM SOFTAMP_FUZZ; do
  if configure refused "-D$option=ON"; then
    echo "minimal: $option=ON is taken"
    exit 1
  fi
  # CMake breaks lines where it likes.
  tr -s ' \n' ' ' <"$work/refused.log" | grep -q "$option=ON needs packages that SOFTAMP_MINIMAL=ON does without" || {
    cat "$work/refused.log"
    exit 1
  }
  rm -rf "$work/refused"
done
echo "minimal: what needs packages is refused"
