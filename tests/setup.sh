#!/usr/bin/env bash
# Makes this machine able to build softamp: `bash tests/setup.sh [program|tests|python|all|wheel|aarch64|compilers|pytorch]` [=tests].
# all: the tests and the module of Python; wheel: what makes wheels and tries them (tests/wheel/); aarch64: what the preset of that
# name needs, a compiler for 64-bit Arm and qemu; compilers: those that tests/compilers.sh tries; pytorch: what tests/pytorch
# compares with. tests/packages.txt lists what each purpose needs.
#
# On Debian and its relatives the missing packages are installed with apt-get (through sudo where needed); nothing is
# touched when all are there, or when something stands in the way. All that does is named at once, with exit code 1.
set -euo pipefail

purpose=${1:-tests}
case $purpose in
  program | aarch64 | compilers | pytorch) purposes=$purpose ;;
  tests | python) purposes="program $purpose" ;;
  all) purposes="program tests python" ;;
  wheel) purposes="program python wheel" ;;
  *)
    echo "setup.sh: '$purpose' is not known; expected program, tests, python, all, wheel, aarch64, compilers or pytorch" >&2
    exit 2
    ;;
esac
mapfile -t rows < <(awk -v purposes=" $purposes " 'index(purposes, " " $1 " ") { print $2, $3 }' "$(dirname "$0")/packages.txt")
packages=("${rows[@]#* }")

declare -A oldest=([cmake]=3.25.1 [g++]=12 [clang++]=14 [python3]=3.11)
problems=()

# checked NAME VERSION: a problem if it is older than what we need.
checked() {
  [ -z "$2" ] || [ "$(printf '%s\n' "${oldest[$1]}" "$2" | sort -V | head -n 1)" = "${oldest[$1]}" ] ||
    problems+=("$1 $2 is too old; expected ${oldest[$1]} or newer")
}

# The versions of the tools that are here.
check_tools() {
  local kind=g++ tool
  if macros=$("${CXX:-c++}" -dM -E -x c++ /dev/null 2>/dev/null); then
    macro() { sed -n "s/^#define $1 //p" <<<"$macros"; }
    local version
    version=$(macro __GNUC__).$(macro __GNUC_MINOR__)
    grep -q __clang_major__ <<<"$macros" && kind=clang++ version=$(macro __clang_major__).$(macro __clang_minor__)
    checked "$kind" "$version"
  fi
  for tool in cmake python3; do
    [[ " ${packages[*]} " != *" $tool "* ]] ||
      checked "$tool" "$("$tool" --version 2>/dev/null | sed -nE '1s/.* ([0-9][0-9.]*).*/\1/p' || true)"
  done
}

# Ends here if there is a problem; further arguments are lines below them.
no_further() {
  [ ${#problems[@]} -gt 0 ] || return 0
  printf 'setup: %s\n' "${problems[@]}" "$@" >&2
  exit 1
}

installed() { [ "$(dpkg-query -W -f '${db:Status-Status}' "$1" 2>/dev/null || true)" = installed ]; }

install_with_apt() {
  local missing=() package
  for package in "${packages[@]}"; do
    [ "$purpose" != compilers ] || apt-cache show "$package" 2>/dev/null | grep -Fx "Package: $package" >/dev/null || continue
    installed "$package" || missing+=("$package")
  done
  if [ ${#missing[@]} -eq 0 ]; then
    check_tools
    no_further
    echo "setup: all ${#packages[@]} packages are installed"
    return
  fi
  local as_root=() allowed=yes
  if [ "$(id -u)" -ne 0 ]; then
    as_root=(sudo)
    command -v sudo >/dev/null || allowed=
  fi
  # Lists that cannot be fetched again may still do; those that are here say what there is, and how new.
  local log= plan unknown
  [ -z "$allowed" ] || log=$("${as_root[@]}" apt-get update -qq 2>&1) || true
  plan=$(LC_ALL=C apt-get install --simulate --no-install-recommends "${missing[@]}" 2>&1 || true)
  unknown=$(sed -nE "s/^E: Unable to locate package //p; s/^E: Package '(.*)' has no installation candidate/\1/p" <<<"$plan" | xargs)
  if [ -n "$unknown" ]; then
    problems+=("the archive of this system has no package $unknown")
    [ -z "$log" ] || problems+=("its lists may be old: apt-get update: $(grep -m 1 . <<<"$log"); expected a network")
  fi
  for package in cmake g++ python3; do
    [[ " ${missing[*]} " != *" $package "* ]] ||
      checked "$package" "$(apt-cache policy "$package" 2>/dev/null | sed -nE 's/^ *Candidate: ([0-9]+:)?([0-9.]+).*/\2/p')"
  done
  check_tools
  [ -n "$allowed" ] || problems+=("missing packages: ${missing[*]}"
    "install them as root: apt-get install --no-install-recommends ${missing[*]}")
  no_further
  echo "setup: installing ${missing[*]}"
  local options=(-y -qq --no-install-recommends -o DPkg::Lock::Timeout=300)
  local install=("${as_root[@]}" env DEBIAN_FRONTEND=noninteractive apt-get install "${options[@]}" "${missing[@]}")
  if ! log+=$("${install[@]}" 2>&1 >/dev/null); then
    echo "setup: apt-get did not install ${missing[*]}: $(grep '^E:' <<<"$log" | head -n 1 | cut -c 4-);" \
      "expected a network and the archive of Debian, or these packages installed by hand" >&2
    exit 1
  fi
}

# A header is there when the compiler can include it.
has_header() { echo "#include $1" | "${CXX:-c++}" -std=c++20 -x c++ -fsyntax-only - 2>/dev/null; }

name_what_is_missing() {
  local row sign
  for row in "${rows[@]}"; do
    sign=${row% *}
    case $sign in
      -) ;;
      '<Python.h>') python3-config --includes >/dev/null 2>&1 || problems+=("this machine lacks the C++ header $sign") ;;
      '<'*) has_header "$sign" || problems+=("this machine lacks the C++ header $sign") ;;
      *) command -v "${sign%|*}" >/dev/null || command -v "${sign#*|}" >/dev/null ||
        problems+=("this machine lacks the command ${sign/|/ or }") ;;
    esac
  done
  check_tools
  no_further "this is no Debian system; install them by hand. In Debian they are in: ${packages[*]}"
  echo "setup: everything needed is here"
}

if command -v apt-get >/dev/null && command -v dpkg-query >/dev/null; then
  install_with_apt
else
  name_what_is_missing
fi
