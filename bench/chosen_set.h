// The instruction set that a benchmark is asked for by the environment: SOFTAMP_BENCH_ISA=avx2.
#pragma once

#include <cstdio>
#include <cstdlib>
#include <string_view>

#include "softamp/tensor/bulk.h"

namespace softamp::bench {

/// The best one where none is named; ends the program for a name that is none.
inline bulk::InstructionSet chosen_set() {
  using enum bulk::InstructionSet;
  const char* const text = std::getenv("SOFTAMP_BENCH_ISA");
  if (!text) return kAuto;
  for (const bulk::InstructionSet set : {kPortable, kAvx2, kAvx512, kAvx512Fp16})
    if (std::string_view(text) == bulk::name(set)) return set;
  std::fprintf(stderr, "SOFTAMP_BENCH_ISA is '%s'; expected portable, avx2, avx512 or avx512fp16\n", text);
  std::exit(2);
}

}  // namespace softamp::bench
