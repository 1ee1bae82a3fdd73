// Results do not depend on the caller's MXCSR, and its control bits stay as they were after each call.
#include <gtest/gtest.h>

#include <vector>

#include "softamp/numerics/operations.h"
#include "tests/oracle/cases.h"

#if defined(__x86_64__)
#include <immintrin.h>

namespace {

using namespace softamp;

struct Operands {
  FloatFormat f;
  uint64_t a, b, c;
  uint32_t random;
};

constexpr int kOperations = 14;

/// Never inlined, so that nothing of it moves across the writes of MXCSR.
__attribute__((noinline)) Rounded apply(int operation, const Operands& o, const Semantics& s) {
  asm volatile("" : : : "memory");
  switch (operation) {
    case 0: return fp::add(o.f, o.a, o.b, s, o.random);
    case 1: return fp::sub(o.f, o.a, o.b, s, o.random);
    case 2: return fp::mul(o.f, o.a, o.b, s, o.random);
    case 3: return fp::div(o.f, o.a, o.b, s, o.random);
    case 4: return fp::rem(o.f, o.a, o.b, s, o.random);
    case 5: return fp::fma(o.f, o.a, o.b, o.c, s, o.random);
    case 6: return fp::sqrt(o.f, o.a, s, o.random);
    case 7: return fp::reciprocal_sqrt(o.f, o.a, s, o.random);
    case 8: return fp::minimum(o.f, o.a, o.b, s);
    case 9: return fp::round_to_integral(o.f, o.a, s, true, o.random);
    case 10: return fp::to_int32(o.f, o.a, s, true, o.random);
    case 11: return fp::from_int32(static_cast<int32_t>(o.a), o.f, s, o.random);
    case 12: return fp::convert(o.f, kFp16, o.a, s, o.random);
    default: return {__builtin_bit_cast(uint64_t, fp::to_double(o.f, o.a)), 0};
  }
}

TEST(Mxcsr, SameBitsUnderAnyCallerAndControlBitsUntouched) {
  std::vector<Operands> operands;
  oracle::Cases cases(61);
  for (int i = 0; i < 400; ++i)
    for (const auto& [name, f] : oracle::kNamedFormats) {
      const uint64_t a = cases.code(f);
      operands.push_back({f, a, cases.partner(f, a), cases.partner(f, a), static_cast<uint32_t>(cases.word())});
    }
  const std::vector<Semantics> presets = {Semantics::ieee(), Semantics::ieee(RoundingPolicy::ieee(RoundingMode::kUp)),
                                          Semantics::ieee(RoundingPolicy::stochastic_carry(16)), Semantics::ipu(),
                                          Semantics::ipu(FloatingPointBehaviour{})};
  const auto run = [&](unsigned control, std::vector<uint64_t>* out) {
    const unsigned saved = _mm_getcsr();
    for (const Semantics& s : presets)
      for (const Operands& o : operands)
        for (int operation = 0; operation < kOperations; ++operation) {
          _mm_setcsr(control);
          const Rounded r = apply(operation, o, s);
          const unsigned after = _mm_getcsr();
          _mm_setcsr(saved);
          EXPECT_EQ(after & ~_MM_EXCEPT_MASK, control & ~_MM_EXCEPT_MASK) << "operation " << operation;
          out->push_back(r.code);
          out->push_back(r.flags);
        }
  };
  std::vector<uint64_t> baseline;
  run(_MM_MASK_MASK, &baseline);
  constexpr unsigned kFlushing = 0x8000 | 0x0040;  // FTZ and DAZ
  for (const unsigned bits : {unsigned{_MM_ROUND_UP}, unsigned{_MM_ROUND_DOWN}, unsigned{_MM_ROUND_TOWARD_ZERO},
                              kFlushing, _MM_ROUND_UP | kFlushing}) {
    const unsigned control = _MM_MASK_MASK | bits;
    std::vector<uint64_t> other;
    run(control, &other);
    ASSERT_TRUE(other == baseline) << "MXCSR " << std::hex << control;
  }
}

}  // namespace
#else
TEST(Mxcsr, SameBitsUnderAnyCallerAndControlBitsUntouched) { GTEST_SKIP() << "not x86-64"; }
#endif
