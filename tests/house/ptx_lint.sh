#!/usr/bin/env bash
# ptx_lint.sh FILE.ptx...: fails on every PTX instruction whose result is not a function of its operands alone (D65):
# flushed, approximate, fusable or order-dependent arithmetic.
set -euo pipefail

float='(f32|f64|f16|f16x2|bf16|bf16x2)'
forbidden=(
  '\.ftz\b|\.approx\b|\bdiv\.full\b'
  "\\b(add|sub|mul|mad|fma)\\.(sat\\.)?$float\\b"                       # no rounding modifier: may be fused
  "\\b(min|max)(\\.[A-Za-z.]+)?\\.$float\\b"                            # D17
  "\\b(atom|red)\\.[a-z0-9_.:]*\\.$float\\b"                            # D18
  '\b(ex2|lg2|sin|cos|tanh|rsqrt)\.|\b(mma|wmma|wgmma|tcgen05)\.'       # D15, D63
)
hits=0
for file in "$@"; do
  [ -s "$file" ] || { echo "ptx_lint: $file is empty or missing"; exit 1; }
  for pattern in "${forbidden[@]}"; do
    count=$(grep -cE "$pattern" "$file" || true)
    if [ "$count" -gt 0 ]; then
      grep -nE "$pattern" "$file" | head -n 5
      hits=$((hits + count))
    fi
  done
done
echo "ptx_lint: $hits forbidden instructions in $# files"
[ "$hits" -eq 0 ]
