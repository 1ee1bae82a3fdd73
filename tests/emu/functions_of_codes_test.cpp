// Functions of long 16-bit tensors, whose results are looked up, against their bodies: every code, values, flags and
// lowest indices.
#include <gtest/gtest.h>

#include <cmath>

#include "tests/emu/element_check.h"
#include "tests/ops/element_rows.h"
#include "tests/slice.h"

namespace softamp {
namespace {

using namespace softamp::test;

/// Longer than a table is worth, not by whole groups: a few codes over and over, then every code in another order.
constexpr int64_t kFew = 64, kRepeated = int64_t{3} << 16, kLong = (int64_t{1} << 18) + 37;
Tensor every_code(DType t, uint32_t factor, int64_t repeated = kRepeated) {
  Tensor x(t, Shape{kLong - kRepeated + repeated});
  for (int64_t i = 0; i < x.elements(); ++i)
    x.as<uint16_t>()[static_cast<size_t>(i)] =
        static_cast<uint16_t>(i < repeated ? 0x3C00 + i % kFew : (i - repeated) * factor);
  return x;
}

/// What the bodies give for every_code(t, factor): they compute the few codes once.
ElementResult bodies_of_long(const ElementRow& f, DType t, uint32_t factor, const RunOptions& o) {
  const Tensor x = every_code(t, factor, kFew);
  const ElementResult once = body_of({f.op, {&x}, {t, x.shape()}, f.attributes}, o);
  ElementResult all{Tensor(t, Shape{kLong}), once.status};
  for (int64_t i = 0; i < kLong; ++i)
    all.out.as<uint16_t>()[static_cast<size_t>(i)] =
        once.out.as<uint16_t>()[static_cast<size_t>(i < kRepeated ? i % kFew : i - kRepeated + kFew)];
  for (uint64_t& index : all.status.first_index)
    if (index != FpStatus::kNever && index >= kFew) index += kRepeated - kFew;
  return all;
}

void expect_same_everywhere(const ElementCase& e, const ElementResult& expected, RunOptions o,
                            const std::string& what) {
  for (const InstructionSet isa : machine_sets()) {
    o.isa = isa;
    o.threads = 4 - o.threads;  // 3 and 1 by turns
    expect_same(e, expected, o, what);
  }
}

void expect_body_of_long(const ElementRow& f, DType t, uint32_t factor, const Named& policy) {
  const Tensor x = every_code(t, factor);
  const ElementCase e{f.op, {&x}, {x.dtype(), x.shape()}, f.attributes};
  RunOptions o;
  o.semantics = policy.semantics;
  expect_same_everywhere(e, bodies_of_long(f, t, factor, o), o, policy.name);
}

TEST(FunctionsOfCodes, EveryCodeOfLongTensors) {
  Slice slice(4);
  for (const DType t : {DType::kFloat16, DType::kBFloat16}) {
    // Raising codes come early and all kinds soon, or late and one after another.
    constexpr uint32_t mixed = 40503, ordered = 1;
    for (const ElementRow& f : function_rows()) {
      if (f.operands() != 1 || !slice.takes()) continue;
      for (const Named& policy : usual_policies()) {
        if (policy.semantics.draws(format_of(t))) continue;
        expect_body_of_long(f, t, mixed, policy);
        if (policy.name != "ipu nanoo") expect_body_of_long(f, t, ordered, policy);
        if (HasFailure()) return;
      }
    }
    for (const Named& policy : unusual_policies()) {
      if (policy.semantics.draws(format_of(t))) continue;
      for (const char* op : {"Exp", "Log", "Sin"})
        if (slice.takes()) expect_body_of_long(*element_row(op, {}), t, mixed, policy);
      if (HasFailure()) return;
    }
  }
}

TEST(FunctionsOfCodes, StochasticRoundingOfLongTensorsIsComputed) {
  const Tensor x = every_code(DType::kFloat16, 40503);
  for (const char* op : {"Exp", "Log"})
    for (const Named& policy : usual_policies()) {
      if (!policy.semantics.draws(kFp16)) continue;
      const ElementCase e{op, {&x}, {x.dtype(), x.shape()}};
      RunOptions o;
      o.semantics = policy.semantics;
      expect_same_everywhere(e, body_of(e, o), o, policy.name);
    }
}

/// Results too long for the caches are written past them.
TEST(FunctionsOfCodes, TensorsPastTheCache) {
  Tensor x(DType::kFloat16, Shape{(int64_t{5} << 20) + 37});
  for (size_t i = 0; i < static_cast<size_t>(x.elements()); ++i)
    x.as<uint16_t>()[i] = static_cast<uint16_t>(i * 40503u);
  const ElementCase e{"Log", {&x}, {DType::kFloat16, x.shape()}};
  RunOptions o;
  o.semantics = Semantics::ipu();
  o.reference = true;
  const ElementResult expected = run_case(e, o);
  o.reference = false;
  for (const InstructionSet isa : machine_sets())
    for (const bool flags : {false, true}) {
      o.isa = isa, o.flags = flags, o.threads = 2;
      expect_same(e, expected, o, "ipu");
    }
}

}  // namespace
}  // namespace softamp
