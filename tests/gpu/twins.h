// Every function that has a body of its own for a device, as a row: the same operands on both sides must give the same
// bits. twins.cu runs the rows on a GPU; tests/house/device_branches_test.cpp holds kBranches against the sources, so
// that no new branch is left out.
#pragma once

#include "cuda/casts/cvt_rs.h"
#include "cuda/optimizers/update_math.h"
#include "cuda/primitives.h"
#include "softamp/kernel/elementwise.h"
#include "softamp/kernel/optimizers.h"
#include "softamp/numerics/integer_math.h"
#include "softamp/numerics/math.h"
#include "softamp/numerics/semantics.h"

namespace softamp::twins {

/// What the operands of a row are: codes of fp32, pairs of halves' codes, codes of binary64, any words.
enum class Operands : uint8_t { kFloats, kHalves, kDoubles, kWords };

// X(name, operands, expression): f(a), d(a), w(a) are operand a as a float, a double, a 32-bit word.
#define SOFTAMP_TWINS(X)                                                                                         \
  /* cuda/primitives.h */                                                                                        \
  X(add_rn, kFloats, cuda::add_rn(f(a), f(b)))                                                                   \
  X(sqrt_rn, kFloats, cuda::sqrt_rn(f(a)))                                                                       \
  X(sub_rn, kFloats, cuda::sub_rn(f(a), f(b)))                                                                   \
  X(mul_rn, kFloats, cuda::mul_rn(f(a), f(b)))                                                                   \
  X(div_rn, kFloats, cuda::div_rn(f(a), f(b)))                                                                   \
  X(fma_rn, kFloats, cuda::fma_rn(f(a), f(b), f(c)))                                                             \
  /* toward zero; down, up, to odd */                                                                            \
  X(add_rz, kFloats, cuda::add_rz(f(a), f(b)))                                                                   \
  X(sub_rz, kFloats, cuda::sub_rz(f(a), f(b)))                                                                   \
  X(mul_rz, kFloats, cuda::mul_rz(f(a), f(b)))                                                                   \
  X(div_rz, kFloats, cuda::div_rz(f(a), f(b)))                                                                   \
  X(sqrt_rz, kFloats, cuda::sqrt_rz(f(a)))                                                                       \
  X(fma_rz, kFloats, cuda::fma_rz(f(a), f(b), f(c)))                                                             \
  X(fma_rd, kFloats, cuda::fma_rd(f(a), f(b), f(c)))                                                             \
  X(fma_ru, kFloats, cuda::fma_ru(f(a), f(b), f(c)))                                                             \
  X(fma_odd, kFloats, cuda::fma_odd(f(a), f(b), f(c)))                                                           \
  /* halves, bf16, integers */                                                                                   \
  X(half_of_rn, kFloats, cuda::half_of_rn(f(a)))                                                                 \
  X(half_of_rz, kFloats, cuda::half_of_rz(f(a)))                                                                 \
  X(halves_of_rn, kFloats, cuda::halves_of_rn(f(a), f(b)))                                                       \
  X(halves_of_rz, kFloats, cuda::halves_of_rz(f(a), f(b)))                                                       \
  X(float_of_half, kHalves, cuda::float_of_half(w(a) & 0xFFFFu))                                                 \
  X(halves_add_rn, kHalves, cuda::halves_add_rn(w(a), w(b)))                                                     \
  X(halves_mul_rn, kHalves, cuda::halves_mul_rn(w(a), w(b)))                                                     \
  X(halves_fma_rn, kHalves, cuda::halves_fma_rn(w(a), w(b), w(c)))                                               \
  X(bf16s_of_rn, kFloats, number(f(a)) && number(f(b)) ? cuda::bf16s_of_rn(f(a), f(b)) : 0u)                     \
  X(wide_product, kWords, joined(cuda::wide_product(w(a), w(b))))                                                \
  /* cuda/casts/cvt_rs.h: the instruction where compiled for 100a, 103a */                                       \
  X(cvt_rs_f16x2, kFloats, packed<CvtRsType::kF16x2>(w(a), w(b), w(c)))                                          \
  X(cvt_rs_bf16x2, kFloats, packed<CvtRsType::kBf16x2>(w(a), w(b), w(c)))                                        \
  X(cvt_rs_e4m3x4, kFloats, packed<CvtRsType::kE4m3x4>(w(a), w(b), w(c)))                                        \
  X(cvt_rs_e5m2x4, kFloats, packed<CvtRsType::kE5m2x4>(w(a), w(b), w(c)))                                        \
  /* cuda/optimizers/update_math.h */                                                                            \
  X(update_root, kDoubles, root(cuda::UpdateLane{d(a)}).v)                                                       \
  X(sum_to_odd, kDoubles, cuda::sum_to_odd(d(a), d(b)))                                                          \
  X(left_nearest, kDoubles, cuda::left_of(d(a), cuda::SumLeaves::kNearest))                                      \
  X(left_truncated, kDoubles, cuda::left_of(d(a), cuda::SumLeaves::kTruncated))                                  \
  X(left_odd, kDoubles, cuda::left_of(d(a), cuda::SumLeaves::kOdd))                                              \
  /* include/softamp/numerics/platform.h, integer_math.h */                                                      \
  X(countl_zero, kWords, static_cast<uint32_t>(softamp::detail::countl_zero(a | 1)))                             \
  X(countl_zero_of_large, kWords, static_cast<uint32_t>(softamp::detail::countl_zero(a >> (b & 63) | 1)))        \
  X(convert_nearest, kFloats, joined(fp::convert(kFp32, kFp16, w(a), Semantics::ieee())))                        \
  X(convert_stochastic, kFloats,                                                                                 \
    joined(fp::convert(kFp32, kFp16, w(a), Semantics::ieee(RoundingPolicy::stochastic_carry(13)), w(b))))        \
  X(root_of_64_bits, kWords, softamp::detail::root_of_64_bits(a | uint64_t{1} << (62 + (b & 1))))                \
  /* include/softamp/numerics/math_lane.h */                                                                     \
  X(float_sum, kFloats, (math::Float(f(a)) + math::Float(f(b))).value)                                           \
  X(float_difference, kFloats, (math::Float(f(a)) - math::Float(f(b))).value)                                    \
  X(float_product, kFloats, (math::Float(f(a)) * math::Float(f(b))).value)                                       \
  X(float_quotient, kFloats, (math::Float(f(a)) / math::Float(f(b))).value)                                      \
  X(float_fma, kFloats, fma(math::Float(f(a)), math::Float(f(b)), math::Float(f(c))).value)                      \
  X(float_sqrt, kFloats, sqrt(math::Float(f(a))).value)                                                          \
  X(float_from_signed, kWords, math::Float::from_signed(w(a)).value)                                             \
  X(float_from_unsigned, kWords, math::Float::from_unsigned(w(a)).value)                                         \
  X(double_sum, kDoubles, (math::Double(d(a)) + math::Double(d(b))).value)                                       \
  X(double_difference, kDoubles, (math::Double(d(a)) - math::Double(d(b))).value)                                \
  X(double_product, kDoubles, (math::Double(d(a)) * math::Double(d(b))).value)                                   \
  X(double_quotient, kDoubles, (math::Double(d(a)) / math::Double(d(b))).value)                                  \
  /* include/softamp/numerics/math.h, math_sin.h */                                                              \
  X(pow, kFloats, math::pow(math::Float(f(a)), math::Float(f(b))).value)                                         \
  X(reduce_large, kFloats, joined(math::detail::reduce_large(large(f(a)))))                                      \
  /* include/softamp/kernel/elementwise.h, optimizers.h */                                                       \
  X(binary64_root, kDoubles,                                                                                     \
    joined(kernel::arithmetic(kernel::Elementwise::kSqrt, FloatFormat::binary64(), a, 0, Semantics::ieee(), 0))) \
  X(noted_root, kDoubles, noted_root(d(a)))

enum Row : int {
#define SOFTAMP_TWIN(name, operands, expression) k_##name,
  SOFTAMP_TWINS(SOFTAMP_TWIN)
#undef SOFTAMP_TWIN
      kRows
};

struct RowInfo {
  const char* name;
  Operands operands;
};
inline constexpr RowInfo kRowInfo[] = {
#define SOFTAMP_TWIN(name, operands, expression) {#name, Operands::operands},
    SOFTAMP_TWINS(SOFTAMP_TWIN)
#undef SOFTAMP_TWIN
};

/// How many `#if`s about __CUDA_ARCH__ and __CUDA_ARCH_FEAT_... a file has, and what judges them beside the rows.
struct Branches {
  const char* file;
  int count;
  const char* judged_by;
};
inline constexpr Branches kBranches[] = {
    {"include/softamp/numerics/platform.h", 4, "two choose markers; convert_*: the host's short way; countl_zero"},
    {"include/softamp/numerics/integer_math.h", 1, "root_of_64_bits"},
    {"include/softamp/numerics/math.h", 1, "pow"},
    {"include/softamp/numerics/math_lane.h", 3, "float_*, double_*; one leaves out a host's function"},
    {"include/softamp/numerics/math_sin.h", 1, "reduce_large"},
    {"include/softamp/kernel/elementwise.h", 1, "binary64_root"},
    {"include/softamp/kernel/optimizers.h", 1, "it chooses a marker"},
    {"include/softamp/kernel/reductions.h", 1, "noted_root"},
    {"cuda/primitives.h", 5, "the rows from add_rn to wide_product"},
    {"cuda/optimizers/update_math.h", 3, "update_root, sum_to_odd, left_*"},
    {"cuda/optimizers/all_finite.cu", 1, "atomics: check_atomics, and parity of AllFinite"},
    {"cuda/quantization/quantization.cu", 1, "atomics: parity of FakeQuantize"},
    {"cuda/casts/cvt_rs.h", 3, "cvt_rs_*; one says what the code is compiled for"},
    {"cuda/async_copy.h", 3, "check_copies"},
    {"cuda/op_kernel.h", 1, "atomics: check_atomics"},
    {"cuda/status.h", 1, "atomics: check_atomics"},
    {"cuda/products/product_problem.h", 1, "it chooses a marker"},
    {"cuda/grid.h", 1, "the block of a launch: every kernel"},
};

namespace detail {

SOFTAMP_HD inline float f(uint64_t x) { return __builtin_bit_cast(float, static_cast<uint32_t>(x)); }
SOFTAMP_HD inline double d(uint64_t x) { return __builtin_bit_cast(double, x); }
SOFTAMP_HD inline uint32_t w(uint64_t x) { return static_cast<uint32_t>(x); }
SOFTAMP_HD inline bool number(float x) { return x == x; }

// Results as words; all NaNs are one, since the bits of a NaN are unspecified.
SOFTAMP_HD inline uint64_t word(float x) { return x == x ? __builtin_bit_cast(uint32_t, x) : 0x7FC00000u; }
SOFTAMP_HD inline uint64_t word(double x) { return x == x ? __builtin_bit_cast(uint64_t, x) : 0x7FF8000000000000u; }
SOFTAMP_HD inline uint64_t word(uint32_t x) { return x; }
SOFTAMP_HD inline uint64_t word(uint64_t x) { return x; }

SOFTAMP_HD inline uint64_t joined(const cuda::WideProduct& p) { return uint64_t{p.high} << 32 | p.low; }
SOFTAMP_HD inline uint64_t joined(const Rounded& r) {
  return r.code ^ uint64_t { r.flags } << 40;
}
SOFTAMP_HD inline uint64_t joined(const math::detail::LargeAngle& l) {
  return word(l.r) << 32 ^ word(l.r_low) ^ uint64_t { l.quadrant & 3u } << 30;
}
/// |x| in 2^16 .. 2^127, which reduce_large takes.
SOFTAMP_HD inline float large(float x) {
  const uint32_t u = __builtin_bit_cast(uint32_t, x);
  return __builtin_bit_cast(float, (u & 0x807FFFFFu) | (143 + (u >> 23 & 0xFF) % 111) << 23);
}
SOFTAMP_HD inline uint64_t noted_root(double x) {
  kernel::Steps steps;
  const double r = root(kernel::detail::NotedLane{x, &steps}).v;
  return word(r) ^ uint64_t { steps.flags } << 40;
}

/// splitmix64.
SOFTAMP_HD inline uint64_t mixed(uint64_t z) {
  z += 0x9E3779B97F4A7C15u;
  z = (z ^ z >> 30) * 0xBF58476D1CE4E5B9u;
  z = (z ^ z >> 27) * 0x94D049BB133111EBu;
  return z ^ z >> 31;
}

/// The packed conversion of a, b, c and a number near 1 under both presets: sm_100's in the low word.
template <CvtRsType kType>
SOFTAMP_HD inline uint64_t packed(uint32_t a, uint32_t b, uint32_t c) {
  const uint32_t random = static_cast<uint32_t>(mixed(uint64_t{a} << 32 | b));
  const float x[4] = {f(a), f(b), f(c), f(0x3F800000u ^ random >> 9 ^ (random & 1) << 31)};
  return uint64_t{cuda::cvt_rs_satfinite<kType>(Chip::kNvidiaSm103, x, random)} << 32 |
         cuda::cvt_rs_satfinite<kType>(Chip::kNvidiaSm100, x, random);
}

/// A code of an IEEE format of this many bits and digits: an edge of it or of fp16, at most two last places off; a
/// moderate number with few bits, so that sums and products tie and cancel; or any.
SOFTAMP_HD inline uint64_t code(uint64_t hash, int bits, int digits) {
  const int fraction = digits - 1;
  const uint64_t most = (uint64_t{1} << (bits - 1)) - 1, one = (uint64_t{1} << fraction) - 1, bias = most >> digits;
  const uint64_t sign = (hash & 1) << (bits - 1), random = mixed(hash);
  const auto number = [&](int exponent, uint64_t tenths) {  // 2^exponent (1 + tenths 2^-10)
    return (bias + static_cast<uint64_t>(exponent)) << fraction | tenths << (fraction - 10);
  };
  switch (hash >> 1 & 3) {
    case 0: return random & (sign | most | uint64_t{1} << (bits - 1));
    case 1: return sign | number(static_cast<int>(hash >> 3 & 15) - 8, random & 1023);
    default: break;
  }
  uint64_t edge = 0;  // 0
  switch (hash >> 3 & 15) {
    case 0: edge = one + 1; break;                       // the least normal number
    case 1: edge = most - one; break;                    // infinity
    case 2: edge = most; break;                          // NaN
    case 3: edge = most - one - 1; break;                // the greatest number
    case 4: edge = number(0, 0); break;                  // 1
    case 5: edge = number(15, 1023); break;              // 65504
    case 6: edge = number(15, 1023) | one >> 11; break;  // below 65520
    case 7: edge = (number(15, 1023) | one >> 11) + 1; break;
    case 8: edge = number(-14, 0); break;  // fp16's least normal number
    case 9: edge = number(-14, 1023); break;
    case 10: edge = bits == 16 ? 1 : number(-24, 0); break;  // its least one, and half of that
    case 11: edge = bits == 16 ? 2 : number(-25, 0); break;
    case 12: edge = number(static_cast<int>(random >> 32 & 15) - 14, 512); break;
    default: break;
  }
  const uint64_t moved = edge + random % 5;
  return sign | ((moved < 2 ? 0 : moved - 2) & most);
}

}  // namespace detail

/// Operand `which` (0 .. 2) of trial i of a row.
SOFTAMP_HD inline uint64_t operand(Operands kind, uint64_t i, unsigned which) {
  const uint64_t hash = detail::mixed(i * 3 + which);
  switch (kind) {
    case Operands::kFloats: return detail::code(hash, 32, 24);
    case Operands::kDoubles: return detail::code(hash, 64, 53);
    case Operands::kHalves: return detail::code(hash, 16, 11) | detail::code(detail::mixed(hash), 16, 11) << 16;
    default: return hash & 1 ? hash : hash >> (hash >> 1 & 63);
  }
}

/// The result of a row, as a word.
SOFTAMP_HD inline uint64_t result(int row, uint64_t a, uint64_t b, uint64_t c) {
  using namespace detail;
  switch (row) {
#define SOFTAMP_TWIN(name, operands, expression) \
  case k_##name: return word(expression);
    SOFTAMP_TWINS(SOFTAMP_TWIN)
#undef SOFTAMP_TWIN
    default: return 0;
  }
}

}  // namespace softamp::twins
