#!/usr/bin/env bash
# Names every C++ file that is not as .clang-format wants it (clang-format 14); `bash tests/format.sh --fix` rewrites them.
set -euo pipefail
cd "$(dirname "$0")/.."

formatter=$(command -v clang-format-14 || command -v clang-format || true)
if [ -z "$formatter" ] || ! "$formatter" --version | grep -q 'version 14\.'; then
  echo "format: clang-format 14 is not here; not checked"
  exit 0
fi
folders=()
for folder in include src emu cuda tests bench examples; do
  [ -d "$folder" ] && folders+=("$folder")
done
unformatted=0
while read -r file; do
  if ! "$formatter" --dry-run -Werror "$file" 2>/dev/null; then
    unformatted=$((unformatted + 1))
    echo "format: $file"
    [ "${1:-}" != --fix ] || "$formatter" -i "$file"
  fi
done < <(find "${folders[@]}" -name '*.h' -o -name '*.cpp' -o -name '*.cu' | sort)
if [ "${1:-}" = --fix ]; then
  echo "format: $unformatted files rewritten"
else
  echo "format: $unformatted files differ"
  [ "$unformatted" -eq 0 ]
fi
