#!/usr/bin/env bash
# Builds with other compilers, with warnings as errors, and compares the pinned digests:
#   bash tests/compilers.sh                  with all compilers of tests/packages.txt that this system's archive has
#   bash tests/compilers.sh COMPILER...      with these
#   bash tests/compilers.sh --all COMPILER   builds and runs all tests, too
# Of clang++ once more with libc++, where that is: the minimal build, since other packages are built with libstdc++. Each builds
# in build/compilers/NAME (SOFTAMP_BUILD_DIR [=build]); ends with a line for each.
# tests: N63
set -uo pipefail
cd "$(dirname "$0")/.."

all=
if [ "${1:-}" = --all ]; then
  all=yes
  shift
fi
compilers=("$@")
if [ ${#compilers[@]} -eq 0 ]; then
  bash tests/setup.sh compilers || exit 1
  for compiler in $(awk '$1 == "compilers" && $2 != "-" { print $2 }' tests/packages.txt); do
    if command -v "$compiler" >/dev/null; then compilers+=("$compiler"); fi
  done
fi
folder=${SOFTAMP_BUILD_DIR:-build}/compilers
mkdir -p "$folder"
summary= failed=0

# only_links_failed LOG: whether every source was compiled, but the system's libraries, which a newer compiler made, do not
# link with this one's library of C++.
only_links_failed() {
  local failed_steps
  failed_steps=$(sed -n 's/^FAILED: //p' "$1")
  [ -n "$failed_steps" ] && ! grep -q '\.o\b' <<<"$failed_steps"
}

# tried NAME OPTION...: configures with these options, builds what $targets names, and runs the tests that $tests matches.
tried() {
  local name=$1 start=$SECONDS result=passed log=$folder/$1.log
  local ctest=(ctest --test-dir "$folder/$1" --output-on-failure --no-tests=error --parallel "$(nproc)" -LE 'exhaustive|nightly')
  shift
  if ! cmake -S . -B "$folder/$name" -G Ninja -DCMAKE_BUILD_TYPE=Release -DSOFTAMP_WERROR=ON -DSOFTAMP_CUDA=OFF "$@" >"$log" 2>&1; then
    result=FAILED
  elif cmake --build "$folder/$name" --parallel "$(nproc)" ${targets:+--target $targets} -- -k 0 >>"$log" 2>&1; then
    "${ctest[@]}" -R "$tests" >>"$log" 2>&1 || result=FAILED
  elif only_links_failed "$log" && "${ctest[@]}" -R '^backend\.(numerics|kernel)_digest' >>"$log" 2>&1; then
    result='compiles, with the digests of numerics and kernels, and does not link with the libraries of this system'
  else
    result=FAILED
  fi
  [ "$result" != FAILED ] || { failed=1 && tail -n 40 "$log"; }
  summary+="compilers: $name: $result ($((SECONDS - start)) s; $log)"$'\n'
}

for compiler in "${compilers[@]}"; do
  targets='softamp_program numerics_digest kernel_digest graph_digest' tests='^backend\.(numerics|kernel|graph)_digest'
  [ -z "$all" ] || targets= tests=.
  tried "$compiler" "-DCMAKE_CXX_COMPILER=$compiler"
  if [ -z "$all" ] && echo '#include <version>' | "$compiler" -stdlib=libc++ -Werror -x c++ -fsyntax-only - 2>/dev/null; then
    targets= tests='^backend\.'
    tried "$compiler-libc++" "-DCMAKE_CXX_COMPILER=$compiler" -DCMAKE_CXX_FLAGS=-stdlib=libc++ -DSOFTAMP_MINIMAL=ON
  fi
done
printf '%s' "$summary"
exit "$failed"
