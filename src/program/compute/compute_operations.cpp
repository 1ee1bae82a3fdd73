#include "src/program/compute/compute_operations.h"

#include "src/program/program.h"

#include "softamp/numerics/operations.h"
#include "softamp/report/names.h"

#include <algorithm>

namespace softamp::program {
namespace {

using Setting = ComputeSetting;

/// Calls `body` for each case. fp16 and fp32 are constants here, so that the operation is compiled for that format.
template <typename Body>
void for_each_case(const FloatFormat& format, CaseBlock& block, Body body) {
  const auto loop = [&](const FloatFormat& f) __attribute__((always_inline)) {
    for (size_t i = 0; i < block.count; ++i) {
      const Rounded r = body(f, block.operand[0][i], block.operand[1][i], block.operand[2][i], block.random[i]);
      block.result[i] = r.code;
      block.flags[i] = r.flags;
    }
  };
  if (format == kFp16) return loop(FloatFormat::fp16());
  if (format == kFp32) return loop(FloatFormat::fp32());
  loop(format);
}

Rounded as_rounded(const fp::Compared& c) { return {c.value ? uint64_t{1} : uint64_t{0}, c.flags}; }

/// A run function whose result is the expression, over format f, semantics s, operands a b c, random word r and
/// `exact`.
#define SOFTAMP_RUN(expression)                                                                                  \
  [](const ComputeOperation& operation, const Setting& setting, CaseBlock& block) {                              \
    for_each_case(                                                                                               \
        operation.from, block,                                                                                   \
        [ s = setting.semantics, to = operation.to, exact = setting.exact ](                                     \
            const FloatFormat& f, uint64_t a, uint64_t b, uint64_t c, uint32_t r) __attribute__((always_inline)) \
            ->Rounded {                                                                                          \
              (void)b, (void)c, (void)r, (void)to, (void)exact;                                                  \
              return expression;                                                                                 \
            });                                                                                                  \
  }

struct Row {
  const char* suffix;
  int operands;
  decltype(ComputeOperation::run) run;
};

const Row kArithmetic[] = {
    {"_add", 2, SOFTAMP_RUN(fp::add(f, a, b, s, r))},
    {"_sub", 2, SOFTAMP_RUN(fp::sub(f, a, b, s, r))},
    {"_mul", 2, SOFTAMP_RUN(fp::mul(f, a, b, s, r))},
    {"_div", 2, SOFTAMP_RUN(fp::div(f, a, b, s, r))},
    {"_rem", 2, SOFTAMP_RUN(fp::rem(f, a, b, s, r))},
    {"_sqrt", 1, SOFTAMP_RUN(fp::sqrt(f, a, s, r))},
    {"_mulAdd", 3, SOFTAMP_RUN(fp::fma(f, a, b, c, s, r))},
    {"_min", 2, SOFTAMP_RUN(fp::minimum(f, a, b, s))},
    {"_max", 2, SOFTAMP_RUN(fp::maximum(f, a, b, s))},
    {"_roundToInt", 1, SOFTAMP_RUN(fp::round_to_integral(f, a, s, exact, r))},
};
const Row kComparisons[] = {
    {"_eq", 2, SOFTAMP_RUN(as_rounded(fp::equal(f, a, b, s)))},
    {"_le", 2, SOFTAMP_RUN(as_rounded(fp::less_equal(f, a, b, s)))},
    {"_lt", 2, SOFTAMP_RUN(as_rounded(fp::less(f, a, b, s)))},
    {"_eq_signaling", 2, SOFTAMP_RUN(as_rounded(fp::equal_signaling(f, a, b, s)))},
    {"_le_quiet", 2, SOFTAMP_RUN(as_rounded(fp::less_equal_quiet(f, a, b, s)))},
    {"_lt_quiet", 2, SOFTAMP_RUN(as_rounded(fp::less_quiet(f, a, b, s)))},
};
const Row kConvert = {"_to_", 1, SOFTAMP_RUN(fp::convert(f, to, a, s, r))};
const Row kToInt = {"_to_i32", 1, SOFTAMP_RUN(fp::to_int32(f, a, s, exact, r))};
const Row kFromInt = {"i32_to_", 1,
                      SOFTAMP_RUN(fp::from_int32(static_cast<int32_t>(static_cast<uint32_t>(a)), f, s, r))};
#undef SOFTAMP_RUN

struct Named {
  const char* name;
  FloatFormat format;
  int digits() const { return (format.storage_bits() + 3) / 4; }
};
constexpr Named kFormats[] = {{"f16", kFp16},  {"bf16", kBf16}, {"f32", kFp32},  {"e4m3", kE4m3},
                              {"e5m2", kE5m2}, {"f143", kF143}, {"f152", kF152}, {"f64", kBinary64}};
constexpr int kIntDigits = 8, kTruthDigits = 1;

std::vector<ComputeOperation> make_operations() {
  std::vector<ComputeOperation> all;
  for (const Named& t : kFormats) {
    const std::string name = t.name;
    const auto shape = [&](int operands, int result) {
      return LineShape{std::vector<int>(static_cast<size_t>(operands), t.digits()), result};
    };
    for (const Named& to : kFormats)
      if (!(to.format == t.format))
        all.push_back({name + "_to_" + to.name, t.format, to.format, false, shape(1, to.digits()), kConvert.run});
    if (t.format == kBinary64) continue;
    for (const Row& row : kArithmetic)
      all.push_back({name + row.suffix, t.format, t.format, false, shape(row.operands, t.digits()), row.run});
    for (const Row& row : kComparisons)
      all.push_back({name + row.suffix, t.format, t.format, false, shape(row.operands, kTruthDigits), row.run});
    all.push_back({name + "_to_i32", t.format, t.format, false, shape(1, kIntDigits), kToInt.run});
    all.push_back({"i32_to_" + name, t.format, t.format, true, {{kIntDigits}, t.digits()}, kFromInt.run});
  }
  std::sort(all.begin(), all.end(), [](const auto& a, const auto& b) { return a.name < b.name; });
  return all;
}

}  // namespace

const std::vector<ComputeOperation>& compute_operations() {
  static const std::vector<ComputeOperation> operations = make_operations();
  return operations;
}

const ComputeOperation& find_compute_operation(const std::string& name) {
  std::vector<std::string> known;
  for (const ComputeOperation& operation : compute_operations()) {
    if (operation.name == name) return operation;
    known.push_back(operation.name);
  }
  // The message keeps the nearest name; instead of all 200 names it explains how they are formed.
  std::string message = unknown_name_message("operation", name, known);
  message.resize(message.find("; known: "));
  throw UsageError(
      message +
      "; known: T_add, T_sub, T_mul, T_div, T_rem, T_sqrt, T_mulAdd, T_min, T_max, T_roundToInt, T_eq, T_le, "
      "T_lt, T_eq_signaling, T_le_quiet, T_lt_quiet, T_to_T, T_to_i32, i32_to_T with T one of f16, bf16, "
      "f32, e4m3, e5m2, f143, f152; f64 only in T_to_T");
}

}  // namespace softamp::program
