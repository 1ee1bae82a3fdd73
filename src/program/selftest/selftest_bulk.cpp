// Bulk operations against the scalar ones on every instruction set of this machine: a spot check of what the tests
// prove.
#include "src/program/selftest/selftest_checks.h"
#include "src/text/joined.h"

#include "softamp/names/names.h"
#include "softamp/numerics/operations.h"
#include "softamp/numerics/random.h"
#include "softamp/tensor/bulk.h"

#include <bit>

namespace softamp::program {
namespace {

using bulk::InstructionSet;

constexpr size_t kCount = 65536 + 13;  // every half, and a tail shorter than a vector

/// The seven policies of the check, by name of mode.
std::vector<RoundingPolicy> policies() {
  std::vector<RoundingPolicy> all;
  for (const RoundingMode mode :
       {RoundingMode::kNearestEven, RoundingMode::kNearestAway, RoundingMode::kTowardZero, RoundingMode::kUp,
        RoundingMode::kDown, RoundingMode::kOdd, RoundingMode::kStochastic})
    all.push_back(RoundingPolicy::ieee(mode));
  return all;
}

uint32_t random_word(const RoundingPolicy& policy, size_t i) {
  return policy.stochastic() ? RandomBits{1}.bits(0, 0, i, policy.random_bits) : 0;
}

std::string place(InstructionSet set, const RoundingPolicy& policy, const char* operation, size_t i) {
  return std::string(bulk::name(set)) + ", " + name_of(policy.mode) + ", " + operation + ", element " +
         std::to_string(i);
}

/// Floats over all exponents, most of them inexact in fp16.
std::vector<float> float_samples() {
  std::vector<float> samples(kCount);
  for (size_t i = 0; i < kCount; ++i) samples[i] = std::bit_cast<float>(static_cast<uint32_t>(i * 65521 + (i << 13)));
  return samples;
}

std::string check_conversions() {
  const std::vector<float> in = float_samples();
  std::vector<uint16_t> out(kCount);
  for (const InstructionSet set : bulk::instruction_sets())
    for (const RoundingPolicy& policy : policies()) {
      const Semantics semantics = Semantics::ieee(policy);
      FpStatus status, expected_status;
      bulk::BulkOptions options;
      options.random.seed = 1;
      options.isa = set;
      options.status = &status;
      bulk::round(in, kFp16, out, semantics, options);
      for (size_t i = 0; i < kCount; ++i) {
        const Rounded r = fp::convert(kFp32, kFp16, std::bit_cast<uint32_t>(in[i]), semantics, random_word(policy, i));
        if (out[i] != r.code) return difference(place(set, policy, "fp32 to fp16", i), out[i], r.code);
        expected_status.raise(r.flags, i);
      }
      if (!(status == expected_status))
        return difference(place(set, policy, "flags", 0), status.flags, expected_status.flags) + " (or a first index)";
    }
  return "";
}

std::string check_arithmetic() {
  std::vector<uint16_t> a(kCount), b(kCount), sum(kCount), product(kCount);
  for (size_t i = 0; i < kCount; ++i) {
    a[i] = static_cast<uint16_t>(i);
    b[i] = static_cast<uint16_t>(i * 40503 + 12345);
  }
  for (const InstructionSet set : bulk::instruction_sets())
    for (const RoundingPolicy& policy : policies()) {
      const Semantics semantics = Semantics::ieee(policy);
      bulk::BulkOptions options;
      options.random.seed = 1;
      options.isa = set;
      bulk::add(a, b, sum, semantics, options);
      bulk::mul(a, b, product, semantics, options);
      for (size_t i = 0; i < kCount; ++i) {
        const uint32_t random = random_word(policy, i);
        const uint64_t expected_sum = fp::add(kFp16, a[i], b[i], semantics, random).code;
        const uint64_t expected_product = fp::mul(kFp16, a[i], b[i], semantics, random).code;
        if (sum[i] != expected_sum) return difference(place(set, policy, "add", i), sum[i], expected_sum);
        if (product[i] != expected_product)
          return difference(place(set, policy, "mul", i), product[i], expected_product);
      }
    }
  return "";
}

}  // namespace

std::vector<SelftestCheck> instruction_set_checks() {
  return {
      {"bulk conversion to fp16 equals scalar, codes and flags, seven modes, each instruction set", check_conversions},
      {"bulk fp16 addition and product equal scalar, seven modes, each instruction set", check_arithmetic}};
}

std::string instruction_sets_seen() { return joined(bulk::instruction_sets(), ", ", bulk::name); }

}  // namespace softamp::program
