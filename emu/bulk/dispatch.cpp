#include "emu/bulk/dispatch.h"

#include <stdexcept>
#include <string>

#include "emu/bulk/instruction_set.h"

#if defined(__x86_64__)
#include <cpuid.h>
#endif

namespace softamp::bulk {
namespace {

#if defined(__x86_64__)
/// CPUID 7, EDX bit 23; compilers' names for it differ. The registers' state is that of AVX-512. Executed once: in a
/// virtual machine the instruction costs more than a small array.
bool has_avx512fp16() {
  static const bool has = [] {
    unsigned a = 0, b = 0, c = 0, d = 0;
    return __get_cpuid_count(7, 0, &a, &b, &c, &d) && (d >> 23 & 1);
  }();
  return has;
}
#endif

bool machine_has(InstructionSet set) {
#if defined(__x86_64__)
  switch (set) {
    case InstructionSet::kAvx2:
      return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") && __builtin_cpu_supports("bmi2");
    case InstructionSet::kAvx512:
      return machine_has(InstructionSet::kAvx2) && __builtin_cpu_supports("avx512f") &&
             __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512dq") &&
             __builtin_cpu_supports("avx512vl") && __builtin_cpu_supports("avx512vbmi") &&
             __builtin_cpu_supports("avx512vbmi2");
    case InstructionSet::kAvx512Fp16: return machine_has(InstructionSet::kAvx512) && has_avx512fp16();
    default: break;
  }
#elif defined(__aarch64__)
  if (set == InstructionSet::kNeon) return true;
#endif
  return set == InstructionSet::kPortable;
}

/// This build's kernels for a set; null if it has none.
const emu::KernelTable* built(InstructionSet set) {
  switch (set) {
    case InstructionSet::kAvx2: return SOFTAMP_IF_AVX2(&emu::kAvx2Kernels);
    case InstructionSet::kAvx512: return SOFTAMP_IF_AVX512(&emu::kAvx512Kernels);
    case InstructionSet::kAvx512Fp16: return SOFTAMP_IF_AVX512FP16(&emu::kAvx512Fp16Kernels);
    case InstructionSet::kNeon: return SOFTAMP_IF_NEON(&emu::kNeonKernels);
    case InstructionSet::kPortable: return &emu::kPortableKernels;
    default: return nullptr;
  }
}

}  // namespace

std::span<const InstructionSet> instruction_sets() {
  struct Sets {
    InstructionSet set[5];
    size_t count = 0;
  };
  static const Sets usable = [] {
    Sets sets;
    for (const InstructionSet set : {InstructionSet::kPortable, InstructionSet::kAvx2, InstructionSet::kAvx512,
                                     InstructionSet::kAvx512Fp16, InstructionSet::kNeon})
      if (built(set) && machine_has(set)) sets.set[sets.count++] = set;
    return sets;
  }();
  return {usable.set, usable.count};
}

// implements: N86
InstructionSet best_instruction_set() { return instruction_sets().back(); }

const char* name(InstructionSet set) {
  switch (set) {
    case InstructionSet::kAuto: return "auto";
    case InstructionSet::kPortable: return "portable";
    case InstructionSet::kAvx2: return "avx2";
    case InstructionSet::kAvx512: return "avx512";
    case InstructionSet::kAvx512Fp16: return "avx512fp16";
    case InstructionSet::kNeon: return "neon";
  }
  return "unknown";
}

}  // namespace softamp::bulk

namespace softamp::emu {

const KernelTable& kernels_of(bulk::InstructionSet set) {
  using bulk::InstructionSet;
  if (set == InstructionSet::kAuto) set = bulk::best_instruction_set();
  const KernelTable* table = bulk::built(set);
  const auto refuse = [&](const char* reason) {
    throw std::invalid_argument(std::string("instruction set ") + bulk::name(set) + ": " + reason +
                                "; the best one here is " + bulk::name(bulk::best_instruction_set()));
  };
  if (!table) refuse("this build has no code for it");
  if (!bulk::machine_has(set)) refuse("this machine does not have it");
  return *table;
}

}  // namespace softamp::emu
