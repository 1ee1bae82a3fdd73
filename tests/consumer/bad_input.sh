#!/usr/bin/env bash
# bad_input.sh SOURCE_DIR: what the scripts and CMake say where they cannot work: exit code 1 or 2, one line that names the
# value, the place and what was expected, and no build begun. And that a path with a space is none of these.
set -euo pipefail

source_dir=$1
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$source_dir"
build=$work/build
export SOFTAMP_BUILD_DIR=$build
unset SOFTAMP_CMAKE_OPTIONS

# refused CODE PATTERN COMMAND...: the command ends with the code, and its last line on standard error, the only one, matches.
refused() {
  local expected=$1 pattern=$2 code=0
  shift 2
  "$@" >/dev/null 2>"$work/error" || code=$?
  if [ "$code" -ne "$expected" ] || [ "$(wc -l <"$work/error")" -ne 1 ] || ! grep -qE "$pattern" "$work/error"; then
    echo "bad_input: '$*' ended with $code, expected $expected and one line that matches '$pattern':"
    cat "$work/error"
    exit 1
  fi
  if [ -e "$build/CMakeCache.txt" ]; then
    echo "bad_input: '$*' left a configured build folder behind"
    exit 1
  fi
}
build() { bash tests/build.sh program "$@"; }

refused 2 "^build.sh: 'programm' is not known; expected program, tests or all" bash tests/build.sh programm
refused 2 "^setup.sh: 'test' is not known; expected program, tests, python, all, wheel, aarch64, compilers or pytorch" bash tests/setup.sh test
refused 2 "^venv.sh: 'jax' is not known; expected torch, or nothing" bash tests/venv.sh jax

# A compiler that is too old, and none at all.
printf '#!/bin/sh\nexec c++ -U__GNUC__ -D__GNUC__=9 -U__clang_major__ -D__clang_major__=9 "$@"\n' >"$work/old-c++"
chmod +x "$work/old-c++"
refused 1 "old-c\+\+ is (GNU|Clang) 9\..*; expected g\+\+ 12, clang\+\+ 14 or newer" build "-DCMAKE_CXX_COMPILER=$work/old-c++"
refused 1 "^build.sh: cmake: .*$work/none" build "-DCMAKE_CXX_COMPILER=$work/none"

# Packages that are not there: all named at once.
refused 1 "CMake did not find: TBB \(Debian package libtbb-dev\), CLI11 \(Debian package libcli11-dev\)\." \
  build -DCMAKE_DISABLE_FIND_PACKAGE_CLI11=ON -DCMAKE_DISABLE_FIND_PACKAGE_TBB=ON

# Options that are not known, or do not go together.
refused 1 "SOFTAMP_NCCL is not known; known are SOFTAMP_BUILD_BENCH, SOFTAMP_" build -DSOFTAMP_NCCL=ON
refused 1 "SOFTAMP_SANITIZE=adress is not known; known are OFF, address, " build -DSOFTAMP_SANITIZE=adress
refused 1 "SOFTAMP_BUILD_PROGRAM=ON needs packages that SOFTAMP_MINIMAL=ON does without" build -DSOFTAMP_MINIMAL=ON
refused 1 "SOFTAMP_BUILD_PROGRAM=ON needs the library; expected SOFTAMP_BUILD_LIBRARY=ON" build -DSOFTAMP_BUILD_LIBRARY=OFF

# A build folder that is a file, that cannot be written (as in a source tree that is read-only), or that was made for
# another tree, from another place, or for something else.
touch "$work/file"
SOFTAMP_BUILD_DIR=$work/file refused 1 "^build.sh: $work/file: .*; expected a folder that can be written" build
SOFTAMP_BUILD_DIR=/proc/softamp refused 1 "^build.sh: /proc/softamp: .*; expected a folder that can be written" build
configured() {
  mkdir -p "$work/$1"
  printf 'CMAKE_HOME_DIRECTORY:INTERNAL=%s\nCMAKE_CACHEFILE_DIR:INTERNAL=%s\nSOFTAMP_MINIMAL:BOOL=%s\n' "$2" "$3" "$4" \
    >"$work/$1/CMakeCache.txt"
  SOFTAMP_BUILD_DIR=$work/$1 refused 1 "^build.sh: $work/$1 was configured $5.*name another in SOFTAMP_BUILD_DIR" build
}
configured other_tree "$work" "$work/other_tree" OFF "for $work; expected $PWD: remove it"
configured gone_tree "$work/gone" "$work/gone_tree" OFF "for $work/gone"
configured moved "$PWD" "$work/elsewhere" OFF "at $work/elsewhere, and moved"
configured minimal "$PWD" "$work/minimal" ON "with SOFTAMP_MINIMAL=ON, without the command"

# What setup.sh says of a machine: commands in $work/bin stand for its own. told LINE...: it ends with code 1 and these lines,
# as extended regular expressions, and no other.
mkdir "$work/bin"
stand_in() { printf '#!/bin/sh\n%s\n' "$2" >"$work/bin/$1" && chmod +x "$work/bin/$1"; }
told() {
  local code=0 line
  PATH=$work/bin:$PATH bash tests/setup.sh program >/dev/null 2>"$work/error" || code=$?
  for line in "$@"; do
    grep -qE "^setup: $line" "$work/error" || code=$code-
  done
  [ "$code" = 1 ] && [ "$(wc -l <"$work/error")" -eq $# ] && return
  echo "bad_input: setup.sh ended with $code, expected 1 and the lines: $*:"
  cat "$work/error"
  exit 1
}
stand_in dpkg-query 'exit 1'
stand_in sudo 'exec "$@"'
stand_in apt-cache 'echo "  Candidate: 4:13.2.0-1"'
# No network, with and without lists of packages.
stand_in apt-get 'case $* in *install*) echo "E: Temporary failure resolving a name" >&2; exit 100 ;; esac'
told "apt-get did not install g\+\+ .*: Temporary failure .*; expected a network"
stand_in apt-get 'case $* in *install*) echo "E: Unable to locate package cmake" >&2; exit 100 ;; *) echo "W: Temporary failure" ;; esac'
told "the archive of this system has no package cmake$" "its lists may be old: apt-get update: W: Temporary failure; expected a network"
# A system that is too old, of which nothing is installed: all at once.
stand_in apt-get 'case $* in *--simulate*) echo "E: Unable to locate package libre2-dev" ;; *install*) touch "$0.installed" ;; esac'
stand_in apt-cache 'echo "  Candidate: 4:3.18.4-2"'
told "the archive of this system has no package libre2-dev$" "cmake 3.18.4 is too old; expected 3.25.1 or newer" \
  "g\+\+ 3.18.4 is too old; expected 12 or newer"
# No root.
stand_in apt-cache 'echo "  Candidate: 4:13.2.0-1"'
stand_in id 'echo 1000'
rm "$work/bin/sudo"
if ! command -v sudo >/dev/null; then
  told "the archive .*" "missing packages: g\+\+ .*" "install them as root: apt-get install .*"
fi
[ ! -e "$work/bin/apt-get.installed" ] || { echo "bad_input: setup.sh installs although something is missing"; exit 1; }
# All packages are there, and the tools are old.
stand_in dpkg-query 'echo installed'
stand_in cmake 'echo cmake version 3.18.4'
export CXX=$work/old-c++
told "(g\+\+|clang\+\+) 9\..* is too old; expected 1[24] or newer" "cmake 3.18.4 is too old; expected 3.25.1 or newer"
unset CXX

# A path with a space, of the sources and of the build.
mkdir "$work/a tree"
cp -r CMakeLists.txt cmake include "$work/a tree"
cmake -S tests/consumer/fetch_content -B "$work/a build" "-DSOFTAMP_SOURCE=$work/a tree" >"$work/log" 2>&1 &&
  cmake --build "$work/a build" >>"$work/log" 2>&1 && "$work/a build/with_target" | grep -q 'as written' ||
  { cat "$work/log"; echo "bad_input: a path with a space does not build"; exit 1; }
echo "bad_input: each is refused by one line"
