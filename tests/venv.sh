#!/usr/bin/env bash
# Makes an environment of Python, venv in the build folder (SOFTAMP_BUILD_DIR [=build]), with what tests need of PyPI:
#   bash tests/venv.sh [torch]     torch: with PyTorch, JAX and what stands on them, too
# tests/packages.txt lists what goes in. Nothing is fetched when all is there. Ends with 77, and one line, where PyPI does not give it.
set -euo pipefail
cd "$(dirname "$0")/.."

case "$*" in
  '' | torch) ;;
  *) echo "venv.sh: '$*' is not known; expected torch, or nothing" >&2 && exit 2 ;;
esac
venv=${SOFTAMP_BUILD_DIR:-build}/venv
mapfile -t rows < <(awk -v purposes=" pypi ${1:+$1 }" 'index(purposes, " " $1 " ") { print $2, $3 }' tests/packages.txt)
packages=("${rows[@]#* }")
if ! "$venv/bin/python" -c 'import importlib.util, sys; sys.exit(not all(map(importlib.util.find_spec, sys.argv[1:])))' \
  "${rows[@]% *}" 2>/dev/null; then
  mkdir -p "${venv%/*}"
  { [ -x "$venv/bin/python" ] || python3 -m venv "$venv"; } >"$venv.log" 2>&1 &&
    "$venv/bin/python" -m pip install -q --disable-pip-version-check --timeout 20 --retries 2 "${packages[@]}" >"$venv.log" 2>&1 || {
    echo "venv: PyPI did not give ${packages[*]}: tests that need these are left out (the log: $venv.log)"
    exit 77
  }
fi
echo "venv: $venv has ${packages[*]}"
