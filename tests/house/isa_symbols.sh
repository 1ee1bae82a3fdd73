#!/usr/bin/env bash
# isa_symbols.sh ARCHIVE: no object of one instruction set (*_avx2, *_avx512, *_avx512fp16, *_neon) may define a weak function
# outside of a namespace of that name. The linker keeps one copy of a weak function; were it the AVX-512 one, a baseline
# caller would run it on a machine without AVX-512.
# tests: N86
set -euo pipefail

archive=$1
bad=$(nm --demangle --print-file-name --defined-only "$archive" |
  grep -E '_(avx(2|512|512fp16)|neon)\.cpp\.o:' |
  grep -E ':[0-9a-f]* *[Wi] ' |
  grep -vE '(::|^| )(avx(2|512|512fp16)|neon)::' || true)
if [ -n "$bad" ]; then
  echo "weak functions that could replace the baseline's:"
  echo "$bad"
  exit 1
fi
echo "no weak function leaves its instruction set in $archive"
