#include "src/program/description/version.h"

#include "src/program/description/command_line.h"

#include "softamp/numerics/version.h"
#include "softamp/tensor/bulk.h"
#include "src/backend.h"
#include "src/text/joined.h"

#include <nlohmann/json.hpp>

#include <vector>

namespace softamp::program {
namespace {

std::string compiler() {
#if defined(__clang__)
  return "Clang " __clang_version__;
#elif defined(__GNUC__)
  return "GCC " __VERSION__;
#else
  return "unknown";
#endif
}

/// SOFTAMP_HAS_...: cmake/InstructionSets.cmake.
std::vector<std::string> built_sets() {
  std::vector<std::string> names = {bulk::name(bulk::InstructionSet::kPortable)};
#if defined(SOFTAMP_HAS_AVX2)
  names.emplace_back(bulk::name(bulk::InstructionSet::kAvx2));
#endif
#if defined(SOFTAMP_HAS_AVX512)
  names.emplace_back(bulk::name(bulk::InstructionSet::kAvx512));
#endif
#if defined(SOFTAMP_HAS_AVX512FP16)
  names.emplace_back(bulk::name(bulk::InstructionSet::kAvx512Fp16));
#endif
#if defined(SOFTAMP_HAS_NEON)
  names.emplace_back(bulk::name(bulk::InstructionSet::kNeon));
#endif
  return names;
}

}  // namespace

std::string version_text(bool as_json) {
  const std::vector<std::string> built = built_sets(), cuda = cuda_architectures();
  const std::string best = bulk::name(bulk::best_instruction_set());
  if (as_json) {
    const nlohmann::ordered_json json = {
        {"version", SOFTAMP_VERSION}, {"arithmetic", kArithmeticVersion},
        {"compiler", compiler()},     {"instruction_sets", {{"built", built}, {"best_here", best}}},
        {"cuda", !cuda.empty()},      {"cuda_architectures", cuda}};
    return json.dump(2);
  }
  return "softamp " SOFTAMP_VERSION "\narithmetic: version " + std::to_string(kArithmeticVersion) +
         "\ncompiler: " + compiler() + "\ninstruction sets: " + joined(built) +
         "; the best that this machine has: " + best +
         "\nCUDA: " + (cuda.empty() ? "no" : "yes, for compute capability " + joined(cuda));
}

}  // namespace softamp::program
