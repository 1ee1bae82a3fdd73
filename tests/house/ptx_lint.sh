#!/usr/bin/env bash
# ptx_lint.sh FILE...: fails on every PTX instruction whose result is not a function of its operands alone (N416):
# flushed, approximate, fusable or order-dependent arithmetic. A FILE is PTX (*.ptx), or an object that nvcc made with
# --no-compress, whose PTX is read out of it.
set -euo pipefail

float='(f32|f64|f16|f16x2|bf16|bf16x2)'
# implements: N62, N412, N416
forbidden=(
  '\.ftz\b|\.approx\b|\bdiv\.full\b'
  "\\b(add|sub|mul|mad|fma)\\.(sat\\.)?$float\\b"                       # no rounding modifier: may be fused
  "\\b(min|max)(\\.[A-Za-z.]+)?\\.$float\\b"                            # N413
  "\\b(atom|red)\\.[a-z0-9_.:]*\\.$float\\b"                            # N414
  # implements: N110
  '\b(ex2|lg2|sin|cos|tanh|rsqrt)\.|\b(mma|wmma|wgmma|tcgen05)\.'       # N412, N110
)
ptx=$(mktemp)
trap 'rm -f "$ptx"' EXIT
hits=0
for file in "$@"; do
  case $file in
    *.ptx) cat "$file" >"$ptx" ;;
    *) grep -azE '\.version [0-9]+\.[0-9]+[[:space:]]+\.target sm_[0-9]+' "$file" | tr '\0' '\n' >"$ptx" || true ;;
  esac
  [ -s "$ptx" ] || { echo "ptx_lint: no PTX in $file, or no such file"; exit 1; }
  for pattern in "${forbidden[@]}"; do
    count=$(grep -cE "$pattern" "$ptx" || true)
    if [ "$count" -gt 0 ]; then
      grep -nE "$pattern" "$ptx" | head -n 5 | sed "s|^|${file##*/}:|"
      hits=$((hits + count))
    fi
  done
done
echo "ptx_lint: $hits forbidden instructions in $# files"
[ "$hits" -eq 0 ]
