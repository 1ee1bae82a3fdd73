// The checks of `softamp selftest`: known answers, each found outside this program (docs/VECTORS.md names the
// sources).
#pragma once

#include <string>
#include <vector>

namespace softamp::program {

struct SelftestCheck {
  std::string name;
  /// Returns an empty text if all is well, else the first difference: what was computed, found and expected.
  std::string (*run)();
};

/// Random bits, roundings, the unit, running sums, and the conversions of every half.
std::vector<SelftestCheck> known_answer_checks();

/// Bulk operations against the scalar ones, on each instruction set that this machine has.
std::vector<SelftestCheck> instruction_set_checks();

/// "portable, avx2, avx512": the sets that both this machine and this build support.
std::string instruction_sets_seen();

/// "what: found, expected ..." where the two differ, in hexadecimal; empty if they are equal.
std::string difference(const std::string& what, unsigned long long found, unsigned long long expected);

}  // namespace softamp::program
