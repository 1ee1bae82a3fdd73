#!/usr/bin/env bash
# The package as others get it: a source distribution; a wheel of what that holds alone; the tests, with the wheel's module and
# command in an environment of its own. Ends with 77 where PyPI does not give what that needs.
set -euo pipefail
cd "$(dirname "$0")/../.."

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
python=$folder/venv/bin/python
if ! "$python" -m pip install -q --disable-pip-version-check build numpy ml_dtypes matplotlib mypy pytest; then
  echo "python package: SKIPPED: PyPI did not give build, numpy, ml_dtypes, matplotlib, mypy and pytest"
  exit 77
fi
unset SOFTAMP_BUILD_DIR PYTHONPATH
"$python" -m build --outdir "$folder" .
"$python" -m pip install -q --disable-pip-version-check --no-index "$folder"/softamp-*.whl
(cd "$folder" && SOFTAMP_NIGHTLY=1 SOFTAMP_PROGRAM="$folder/venv/bin/softamp" "$python" -m pytest -q -p no:cacheprovider "$OLDPWD/tests/python")
