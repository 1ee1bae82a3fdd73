#!/usr/bin/env bash
# Names every C++ file that is not as .clang-format wants it (clang-format 14); `bash tests/format.sh --fix` rewrites them.
set -euo pipefail
cd "$(dirname "$0")/.."

formatter=
for command in $(compgen -c clang-format | sort -u); do
  ! "$command" --version 2>/dev/null | grep -q 'clang-format version 14\.' || formatter=$command
done
if [ -z "$formatter" ]; then
  echo "format: clang-format 14 is not here; not checked"
  exit 0
fi
folders=()
for folder in include src emu cuda tests bench examples; do
  [ -d "$folder" ] && folders+=("$folder")
done
# Many files a call: starting the formatter takes longer than formatting.
unformatted=$(find "${folders[@]}" -name '*.h' -o -name '*.cpp' -o -name '*.cu' |
  xargs -P "$(nproc)" -n 64 "$formatter" --dry-run 2>&1 | sed -n 's/:[0-9]*:[0-9]*: warning: code should be clang-formatted.*//p' | sort -u)
count=$(grep -c . <<<"$unformatted" || true)
sed '/./s/^/format: /;/^$/d' <<<"$unformatted"
if [ "${1:-}" = --fix ]; then
  [ "$count" -eq 0 ] || xargs "$formatter" -i <<<"$unformatted"
  echo "format: $count files rewritten"
else
  echo "format: $count files differ"
  [ "$count" -eq 0 ]
fi
