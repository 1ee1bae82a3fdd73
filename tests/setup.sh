#!/usr/bin/env bash
# Makes this machine able to build softamp: `bash tests/setup.sh [program|tests|python|aarch64]` [=tests]. aarch64: what the preset
# of that name needs, a compiler for 64-bit Arm and qemu; no other purpose installs them. python: what the module of Python does.
#
# On Debian and its relatives the missing packages are installed with apt-get (through sudo where needed); nothing is
# touched when all are there. Elsewhere every missing tool and library is named at once, and the exit code is 1.
set -euo pipefail

purpose=${1:-tests}
program_packages=(g++ cmake ninja-build libtbb-dev libboost-dev libcli11-dev nlohmann-json3-dev libxxhash-dev
  libarchive-dev libpng-dev libprotobuf-dev protobuf-compiler libre2-dev gnuplot-nox)
test_packages=(libgtest-dev libgmock-dev libbenchmark-dev libmpfr-dev python3 clang libclang-rt-dev lld
  git make groff-base pkgconf zsh fish openmpi-bin libopenmpi-dev mpich libmpich-dev)
# The sources of GoogleTest are in /usr/src with libgtest-dev.
aarch64_packages=(g++-aarch64-linux-gnu qemu-user cmake ninja-build libgtest-dev)
python_packages=("${program_packages[@]}" python3-dev python3-venv)
case $purpose in
  python) packages=("${python_packages[@]}") ;;
  aarch64) packages=("${aarch64_packages[@]}") ;;
  program) packages=("${program_packages[@]}") ;;
  tests) packages=("${program_packages[@]}" "${test_packages[@]}") ;;
  *)
    echo "setup.sh: '$purpose' is not known; expected program, tests, python or aarch64" >&2
    exit 2
    ;;
esac

installed() { [ "$(dpkg-query -W -f '${db:Status-Status}' "$1" 2>/dev/null || true)" = installed ]; }

install_with_apt() {
  local missing=() package
  for package in "${packages[@]}"; do
    installed "$package" || missing+=("$package")
  done
  if [ ${#missing[@]} -eq 0 ]; then
    echo "setup: all ${#packages[@]} packages are installed"
    return
  fi
  local as_root=()
  if [ "$(id -u)" -ne 0 ]; then
    if ! command -v sudo >/dev/null; then
      echo "setup: missing packages: ${missing[*]}" >&2
      echo "setup: install them as root: apt-get install --no-install-recommends ${missing[*]}" >&2
      exit 1
    fi
    as_root=(sudo)
  fi
  echo "setup: installing ${missing[*]}"
  local options=(-y -qq --no-install-recommends -o DPkg::Lock::Timeout=300)
  # Lists that cannot be fetched again may still do.
  local log
  log=$("${as_root[@]}" apt-get update -qq 2>&1) || true
  local install=("${as_root[@]}" env DEBIAN_FRONTEND=noninteractive apt-get install "${options[@]}" "${missing[@]}")
  if ! log+=$("${install[@]}" 2>&1 >/dev/null); then
    echo "setup: apt-get did not install ${missing[*]}: $(grep '^E:' <<<"$log" | head -n 1 | cut -c 4-);" \
      "expected a network and the archive of Debian, or these packages installed by hand" >&2
    exit 1
  fi
}

# A header is there when the compiler can include it.
has_header() { echo "#include <$1>" | c++ -std=c++20 -x c++ -fsyntax-only - 2>/dev/null; }

name_what_is_missing() {
  local missing=() tool header
  local tools=(c++ cmake protoc) headers=(oneapi/tbb.h boost/version.hpp CLI/CLI.hpp nlohmann/json.hpp xxhash.h archive.h
    png.h google/protobuf/message.h re2/re2.h)
  if [ "$purpose" = aarch64 ]; then
    tools=(aarch64-linux-gnu-g++-12 qemu-aarch64-static cmake) headers=()
  elif [ "$purpose" = tests ]; then
    tools+=(python3)
    headers+=(gtest/gtest.h benchmark/benchmark.h mpfr.h)
  fi
  for tool in "${tools[@]}"; do
    command -v "$tool" >/dev/null || missing+=("the command $tool")
  done
  command -v ninja >/dev/null || command -v make >/dev/null || missing+=("the command ninja or make")
  [ "$purpose" = aarch64 ] || command -v gnuplot >/dev/null || missing+=("the command gnuplot")
  for header in "${headers[@]}"; do
    has_header "$header" || missing+=("the C++ header <$header>")
  done
  if [ ${#missing[@]} -gt 0 ]; then
    echo "setup: this is not a Debian system, and it lacks:" >&2
    printf '  %s\n' "${missing[@]}" >&2
    echo "setup: install them; on Debian 12 they are in: ${packages[*]}" >&2
    exit 1
  fi
  echo "setup: everything needed is here"
}

if command -v apt-get >/dev/null && command -v dpkg-query >/dev/null; then
  install_with_apt
else
  name_what_is_missing
fi

version=$(cmake --version | sed -n '1s/.* //p')
if [ "$(printf '3.25.1\n%s\n' "$version" | sort -V | head -n 1)" != 3.25.1 ]; then
  echo "setup: cmake $version is too old; expected 3.25.1 or newer" >&2
  exit 1
fi
