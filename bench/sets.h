// The instruction sets that a benchmark shows: the best one and AVX2's, or what the environment asks for:
// SOFTAMP_BENCH_ISA=avx2.
#pragma once

#include <cstdio>
#include <cstdlib>
#include <string_view>
#include <vector>

#include "softamp/tensor/bulk.h"

namespace softamp::bench {

/// The best one where none is named; ends the program for a name that is none.
inline bulk::InstructionSet chosen_set() {
  using enum bulk::InstructionSet;
  const char* const text = std::getenv("SOFTAMP_BENCH_ISA");
  if (!text) return kAuto;
  for (const bulk::InstructionSet set : bulk::instruction_sets())
    if (std::string_view(text) == bulk::name(set)) return set;
  std::fprintf(stderr,
               "SOFTAMP_BENCH_ISA is '%s'; expected one of this machine's sets, as softamp --version names them\n",
               text);
  std::exit(2);
}

/// kAuto, then AVX2, which is all that most machines have, where this one has more.
inline std::vector<bulk::InstructionSet> shown_sets() {
  using enum bulk::InstructionSet;
  std::vector<bulk::InstructionSet> sets = {kAuto};
  for (const bulk::InstructionSet set : bulk::instruction_sets())
    if (set == kAvx2 && set != bulk::best_instruction_set()) sets.push_back(set);
  return sets;
}

}  // namespace softamp::bench
