#include "src/program/vectors/vector_cases.h"

#include "softamp/numbers/number_text.h"
#include "softamp/numerics/convert.h"
#include "softamp/numerics/random.h"

#include <algorithm>
#include <cmath>
#include <utility>

namespace softamp::program {

/// The random words of one case (steps 0, 1, ... of operation 2 at its index; compute's random numbers are operation
/// 0).
class Dice {
 public:
  Dice(uint64_t seed, uint64_t index) : source_{seed}, index_(index) {}

  uint32_t word() {
    if (used_ == 4) {
      words_ = source_.block(step_++, kOperation, index_);
      used_ = 0;
    }
    return words_.word[used_++];
  }
  uint64_t wide() { return uint64_t{word()} << 32 | word(); }
  /// 0 .. n - 1, n far below 2^32.
  uint32_t below(uint32_t n) { return static_cast<uint32_t>(uint64_t{word()} * n >> 32); }
  bool coin() { return (word() >> 31) != 0; }

 private:
  static constexpr uint32_t kOperation = 2;
  RandomBits source_;
  uint64_t index_;
  RandomBlock words_{};
  uint32_t step_ = 0, used_ = 4;
};

namespace {

constexpr uint64_t kMostOfAll = uint64_t{1} << 17;  ///< tuples, where level 2 takes every operand

std::vector<uint64_t> with_both_signs(const FloatFormat& f, std::vector<uint64_t> magnitudes) {
  std::vector<uint64_t> codes;
  for (const uint64_t m : magnitudes) {
    codes.push_back(m & f.magnitude_mask());
    codes.push_back((m & f.magnitude_mask()) | f.sign_mask());
  }
  std::sort(codes.begin(), codes.end());
  codes.erase(std::unique(codes.begin(), codes.end()), codes.end());
  return codes;
}

/// The ends of every kind of number.
// implements: N355
std::vector<uint64_t> few_edges(const FloatFormat& f) {
  const uint64_t normal = f.min_normal_code(), most = f.max_finite_code(), ones = f.magnitude_mask();
  const uint64_t one = static_cast<uint64_t>(f.bias) << f.mantissa_bits();
  return with_both_signs(f, {0, 1, 2, normal - 1, normal, normal + 1, one - 1, one, one + 1, one + f.mantissa_mask(),
                             one + normal, most - 1, most, most + 1, most + 2, ones});
}

/// Exponents at the ends, and about 1 as far as a significand reaches; significands of few and of many ones.
// implements: N355
std::vector<uint64_t> many_edges(const FloatFormat& f) {
  const int most = static_cast<int>(f.exponent_field_max());
  std::vector<uint64_t> magnitudes;
  for (int field = 0; field <= most; ++field) {
    const int from_one = std::abs(field - f.bias);
    const bool at_end = field < 4 || field > most - 4;
    if (!at_end && from_one > 2 && std::abs(from_one - f.precision) > 1) continue;
    const uint64_t exponent = static_cast<uint64_t>(field) << f.mantissa_bits(), all = f.mantissa_mask();
    for (const uint64_t mantissa : {uint64_t{0}, uint64_t{1}, (all + 1) / 2, all - 1, all})
      magnitudes.push_back(exponent | (mantissa & all));
  }
  return with_both_signs(f, magnitudes);
}

std::vector<uint64_t> integer_edges(bool many) {
  std::vector<uint64_t> codes = {0, 0x80000000u, 0x7FFFFFFFu};
  for (int bit = 0; bit < 32; bit += many ? 1 : 5)
    for (const int64_t beside : {-1, 0, 1})
      for (const int64_t sign : {-1, 1}) codes.push_back(static_cast<uint32_t>(sign * ((int64_t{1} << bit) + beside)));
  std::sort(codes.begin(), codes.end());
  codes.erase(std::unique(codes.begin(), codes.end()), codes.end());
  return codes;
}

/// Every code of a format, or every integer, would be too many for level 1 and for wide formats.
std::vector<uint64_t> all_codes(int bits) {
  std::vector<uint64_t> codes(uint64_t{1} << bits);
  for (size_t i = 0; i < codes.size(); ++i) codes[i] = i;
  return codes;
}

/// The code nearest to x; where x lies too far out, infinity or the like.
uint64_t code_near(const FloatFormat& f, double x) { return fp::from_double(f, x); }

double with_sign(double x, bool negative) { return negative ? -x : x; }

/// The code, its neighbour above or that below; magnitudes alone, none below 0.
uint64_t jittered(const FloatFormat& f, uint64_t code, Dice& dice) {
  const uint64_t magnitude = code & f.magnitude_mask();
  switch (dice.below(4)) {
    case 0: return magnitude < f.magnitude_mask() ? code + 1 : code;
    case 1: return magnitude > 0 ? code - 1 : code;
    default: return code;
  }
}

/// 1, 3, 5 or 7, or a significand of any bits, times 2^k, |k| <= reach.
double short_number(const FloatFormat& f, int reach, Dice& dice) {
  const int k = static_cast<int>(dice.below(static_cast<uint32_t>(2 * reach + 1))) - reach;
  const uint32_t small = 2 * dice.below(4) + 1;
  const double significand =
      dice.below(4) != 0 ? small
                         : 1 + static_cast<double>(dice.word() >> (33 - f.precision)) * std::ldexp(1, 1 - f.precision);
  return with_sign(std::ldexp(significand, k), dice.coin());
}

}  // namespace

// implements: N356, N357
VectorCases::VectorCases(const ComputePlan& plan, int level, uint64_t seed) : plan_(plan), seed_(seed) {
  const ComputeOperation& operation = plan.operation;
  const std::pair<const char*, Kind> kinds[] = {
      {"add", Kind::kAdd},        {"sub", Kind::kSub},       {"mul", Kind::kMul},
      {"div", Kind::kDiv},        {"rem", Kind::kRem},       {"sqrt", Kind::kSqrt},
      {"to", Kind::kConvert},     {"mulAdd", Kind::kMulAdd}, {"roundToInt", Kind::kInteger},
      {"i32_to", Kind::kFromInt}, {"to_i32", Kind::kInteger}};
  kind_ = Kind::kOther;
  for (const auto& [name, kind] : kinds)
    if (operation.kind == name) kind_ = kind;

  const LineShape& shape = operation.shape;
  const bool all = level == 2 && shape.operand_bits * shape.operands <= 17;
  const bool many = level == 2 && shape.operands < 3;
  operands_ = all                  ? all_codes(shape.operand_bits)
              : operation.from_int ? integer_edges(many)
              : many               ? many_edges(operation.from)
                                   : few_edges(operation.from);
  for (int i = 0; i < shape.operands; ++i) edges_ *= operands_.size();
}

void VectorCases::put_edge(uint64_t n, size_t row, CaseBlock& block) const {
  for (int i = plan_.operation.shape.operands; i-- > 0; n /= operands_.size())
    block.operand[i][row] = operands_[n % operands_.size()];
}

/// A third each: any bits; few significant bits; a run of ones or zeros.
uint64_t VectorCases::random_code(Dice& dice) const {
  const LineShape& shape = plan_.operation.shape;
  const uint64_t any = dice.wide() & (~uint64_t{0} >> (64 - shape.operand_bits));
  if (plan_.operation.from_int)
    return dice.coin() ? any : static_cast<uint32_t>(static_cast<int32_t>(any) >> dice.below(32));
  const FloatFormat& f = plan_.operation.from;
  const uint64_t head = any & ~f.mantissa_mask();
  const uint32_t place = dice.below(static_cast<uint32_t>(f.precision));
  switch (dice.below(3)) {
    case 0: return any;
    case 1: return head | ((uint64_t{dice.below(4)} << place) & f.mantissa_mask());
    default:
      return head | (dice.coin() ? f.mantissa_mask() >> place : f.mantissa_mask() & (f.mantissa_mask() << place));
  }
}

/// A value at which the result's rounding is decided, or next to it.
double VectorCases::target(Dice& dice) const {
  const FloatFormat& f = plan_.operation.to;
  const auto value = [&f](uint64_t code) { return fp::to_double(f, code); };
  const uint64_t most = f.max_finite_code(), normal = f.min_normal_code();
  const bool negative = dice.coin();
  const double quarters = dice.below(5) / 4.0;
  switch (dice.below(8)) {
    case 0: return with_sign(value(most) + (value(most) - value(most - 1)) * quarters, negative);
    case 1: return with_sign(value(normal) - value(1) * quarters / 2, negative);
    case 2: return with_sign(value(1) * quarters, negative);
    default: break;
  }
  const uint64_t code = dice.wide() % most;
  const double low = value(code), high = value(code + 1);
  const uint32_t where = dice.below(8);
  const double part = where < 5 ? 0.5 : where == 5 ? 0 : static_cast<double>(dice.word()) * 0x1p-32;
  return with_sign(low + (high - low) * part, negative);
}

void VectorCases::put_made(Dice& dice, size_t row, CaseBlock& block) const {
  const FloatFormat& f = plan_.operation.from;
  uint64_t& a = block.operand[0][row];
  uint64_t& b = block.operand[1][row];
  uint64_t& c = block.operand[2][row];
  const auto value = [&f](uint64_t code) { return fp::to_double(f, code); };
  const double t = kind_ == Kind::kInteger ? 0 : target(dice);
  switch (kind_) {
    case Kind::kAdd:
    case Kind::kSub: {
      // Either a number of t's size, so that what is missing to t is a number of the format; or the number below t.
      a = dice.coin() ? code_near(f, t * (0.5 + static_cast<double>(dice.word()) * 0x1p-32))
                      : code_near(f, t) & ~uint64_t{dice.coin()};
      if (!f.is_finite(a)) a = f.max_finite_code();
      const double missing = t - value(a);
      b = jittered(f, code_near(f, kind_ == Kind::kAdd ? missing : -missing), dice);
      if (dice.coin() && kind_ == Kind::kAdd) std::swap(a, b);
      return;
    }
    case Kind::kMul:
      a = code_near(f, short_number(f, f.precision + 2, dice));
      if (f.is_zero(a) || !f.is_finite(a)) a = f.min_normal_code();
      b = jittered(f, code_near(f, t / value(a)), dice);
      if (dice.coin()) std::swap(a, b);
      return;
    case Kind::kDiv:
      b = code_near(f, short_number(f, f.precision + 2, dice));
      if (f.is_zero(b) || !f.is_finite(b)) b = f.min_normal_code();
      a = jittered(f, code_near(f, t * value(b)), dice);
      return;
    case Kind::kRem: {
      b = random_code(dice);
      const double n = dice.below(1u << (f.precision - 1)) + 0.5;
      a = f.is_finite(b) ? jittered(f, code_near(f, value(b) * n), dice) : random_code(dice);
      return;
    }
    case Kind::kSqrt: a = jittered(f, code_near(f, t * t), dice) & f.magnitude_mask(); return;
    case Kind::kMulAdd: {
      a = code_near(f, short_number(f, f.precision + 2, dice));
      if (f.is_zero(a) || !f.is_finite(a)) a = f.min_normal_code();
      b = code_near(f, t * (dice.coin() ? 1 : static_cast<double>(dice.word()) * 0x1p-31) / value(a));
      if (!f.is_finite(b)) b = f.min_normal_code();
      c = jittered(f, code_near(f, t - value(a) * value(b)), dice);
      return;
    }
    case Kind::kInteger: {
      const int bits = static_cast<int>(dice.below(33));
      const double whole = std::floor(std::ldexp(static_cast<double>(dice.word()), bits - 32));
      const double near = dice.below(4) == 0 ? 0x1p31 : whole;
      a = jittered(f, code_near(f, with_sign(near + dice.below(4) / 4.0, dice.coin())), dice);
      return;
    }
    case Kind::kConvert: a = jittered(f, code_near(f, t), dice); return;
    case Kind::kFromInt: {
      const double near = std::clamp(t, -0x1p31, 0x1p31 - 1);
      a = static_cast<uint32_t>(static_cast<int64_t>(near) + dice.below(3) - 1);
      return;
    }
    case Kind::kOther: break;
  }
  a = random_code(dice);
  b = jittered(f, a, dice) ^ (dice.below(4) == 0 ? f.sign_mask() : 0);  // comparisons tell neighbours apart
}

void VectorCases::put_random(Dice& dice, size_t row, CaseBlock& block) const {
  const ComputeOperation& operation = plan_.operation;
  const FloatFormat& f = operation.from;
  for (int i = 0; i < operation.shape.operands; ++i) block.operand[i][row] = random_code(dice);
  if (operation.shape.operands < 2 || dice.coin()) return;
  // The second meets the first: its exponent is near.
  const auto field = [&f](uint64_t code) {
    return static_cast<int64_t>((code & f.magnitude_mask()) >> f.mantissa_bits());
  };
  const int reach = f.precision + 3;
  const int64_t near = field(block.operand[0][row]) + dice.below(static_cast<uint32_t>(2 * reach + 1)) - reach;
  const auto kept = static_cast<uint64_t>(std::clamp<int64_t>(near, 0, static_cast<int64_t>(f.exponent_field_max())));
  uint64_t& b = block.operand[1][row];
  b = (b & (f.sign_mask() | f.mantissa_mask())) | kept << f.mantissa_bits();
}

/// R: 0, all ones, the highest bit, any; and, found by halving, the two between which the result changes.
void VectorCases::choose_numbers(uint64_t first, CaseBlock& block) const {
  const RandomField& random = plan_.random;
  const uint32_t most = ~uint32_t{0} >> (32 - random.number_bits);
  std::vector<uint32_t> low(block.count, 0), high(block.count, most);
  std::vector<uint64_t> at_zero(block.count);
  const auto run = [&](const auto& number) {
    for (size_t i = 0; i < block.count; ++i) block.random[i] = number(i);
    plan_.operation.run(plan_.operation, plan_.setting, block);
  };
  run([](size_t) { return 0u; });
  std::copy_n(block.result, block.count, at_zero.begin());
  const auto middle = [&](size_t i) { return low[i] + (high[i] - low[i]) / 2; };
  for (int halving = 0; halving < random.number_bits; ++halving) {
    run(middle);
    for (size_t i = 0; i < block.count; ++i)
      if (const uint32_t at = middle(i); high[i] - low[i] > 1) (block.result[i] == at_zero[i] ? low[i] : high[i]) = at;
  }
  for (size_t i = 0; i < block.count; ++i) {
    Dice dice(~seed_, first + i);
    const uint32_t any = dice.word() & most;
    const uint32_t choices[] = {0, most, (most >> 1) + 1, low[i], high[i], any, any, any};
    block.random[i] = choices[dice.below(8)];
    block.field[i] = random.field(block.random[i], dice.word());
  }
}

void VectorCases::fill(uint64_t first, size_t count, CaseBlock& block) const {
  block.count = count;
  for (size_t row = 0; row < count; ++row) {
    const uint64_t n = first + row;
    if (n < edges_) {
      put_edge(n, row, block);
      continue;
    }
    Dice dice(seed_, n);
    if (dice.coin())
      put_made(dice, row, block);
    else
      put_random(dice, row, block);
  }
  if (plan_.random.number_bits > 0) choose_numbers(first, block);
  plan_.operation.run(plan_.operation, plan_.setting, block);
}

}  // namespace softamp::program
