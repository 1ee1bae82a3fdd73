#include "src/program/compute/compute_operations.h"

#include "src/program/program.h"
#include "src/text/word.h"

#include "softamp/names/names.h"
#include "softamp/numerics/operations.h"

#include <algorithm>
#include <optional>
#include <string_view>

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
  Rounds rounds;
  decltype(ComputeOperation::run) run;
};

constexpr Rounds kResult = Rounds::kToFormat, kNever = Rounds::kNever, kInteger = Rounds::kToInteger;
const Row kArithmetic[] = {
    {"add", 2, kResult, SOFTAMP_RUN(fp::add(f, a, b, s, r))},
    {"sub", 2, kResult, SOFTAMP_RUN(fp::sub(f, a, b, s, r))},
    {"mul", 2, kResult, SOFTAMP_RUN(fp::mul(f, a, b, s, r))},
    {"div", 2, kResult, SOFTAMP_RUN(fp::div(f, a, b, s, r))},
    {"rem", 2, kResult, SOFTAMP_RUN(fp::rem(f, a, b, s, r))},
    {"sqrt", 1, kResult, SOFTAMP_RUN(fp::sqrt(f, a, s, r))},
    {"mulAdd", 3, kResult, SOFTAMP_RUN(fp::fma(f, a, b, c, s, r))},
    {"min", 2, kNever, SOFTAMP_RUN(fp::minimum(f, a, b, s))},
    {"max", 2, kNever, SOFTAMP_RUN(fp::maximum(f, a, b, s))},
    {"roundToInt", 1, kInteger, SOFTAMP_RUN(fp::round_to_integral(f, a, s, exact, r))},
};
const Row kComparisons[] = {
    {"eq", 2, kNever, SOFTAMP_RUN(as_rounded(fp::equal(f, a, b, s)))},
    {"le", 2, kNever, SOFTAMP_RUN(as_rounded(fp::less_equal(f, a, b, s)))},
    {"lt", 2, kNever, SOFTAMP_RUN(as_rounded(fp::less(f, a, b, s)))},
    {"eq_signaling", 2, kNever, SOFTAMP_RUN(as_rounded(fp::equal_signaling(f, a, b, s)))},
    {"le_quiet", 2, kNever, SOFTAMP_RUN(as_rounded(fp::less_equal_quiet(f, a, b, s)))},
    {"lt_quiet", 2, kNever, SOFTAMP_RUN(as_rounded(fp::less_quiet(f, a, b, s)))},
};
const Row kConvert = {"to", 1, kResult, SOFTAMP_RUN(fp::convert(f, to, a, s, r))};
const Row kToInt = {"to_i32", 1, kInteger, SOFTAMP_RUN(fp::to_int32(f, a, s, exact, r))};
const Row kFromInt = {"i32_to", 1, kResult,
                      SOFTAMP_RUN(fp::from_int32(static_cast<int32_t>(static_cast<uint32_t>(a)), f, s, r))};
#undef SOFTAMP_RUN

/// The suite's names of formats; of others ours.
struct Named {
  const char* name;
  FloatFormat format;
};
constexpr Named kFormats[] = {{"f16", kFp16},  {"bf16", kBf16}, {"tf32", kTf32}, {"f32", kFp32},
                              {"e4m3", kE4m3}, {"e5m2", kE5m2}, {"f143", kF143}, {"f152", kF152},
                              {"e2m1", kE2m1}, {"e2m3", kE2m3}, {"e3m2", kE3m2}, {"f64", kBinary64}};
constexpr int kIntBits = 32, kTruthBits = 1;

std::string suite_name(const FloatFormat& f) {
  for (const Named& named : kFormats)
    if (named.format == f) return named.name;
  return format_name(f);
}

std::optional<FloatFormat> format_called(std::string_view name) {
  try {
    return format_from_name(name);
  } catch (const UnknownName&) {
    return std::nullopt;
  }
}

ComputeOperation made(const Row& row, const FloatFormat& from, const FloatFormat& to, int result_bits) {
  const LineShape shape{row.operands, from.storage_bits(), 0, result_bits};
  return {suite_name(from) + "_" + row.suffix, row.suffix, from, to, false, row.rounds, shape, row.run};
}
ComputeOperation conversion(const FloatFormat& from, const FloatFormat& to) {
  ComputeOperation all = made(kConvert, from, to, to.storage_bits());
  all.name += "_" + suite_name(to);
  return all;
}
ComputeOperation from_int(const FloatFormat& to) {
  const LineShape shape{1, kIntBits, 0, to.storage_bits()};
  return {"i32_to_" + suite_name(to), kFromInt.suffix, to, to, true, kFromInt.rounds, shape, kFromInt.run};
}

/// The operations on one format; binary64 has none.
std::vector<ComputeOperation> operations_of(const FloatFormat& f) {
  std::vector<ComputeOperation> all;
  if (f == kBinary64) return all;
  for (const Row& row : kArithmetic) all.push_back(made(row, f, f, f.storage_bits()));
  for (const Row& row : kComparisons) all.push_back(made(row, f, f, kTruthBits));
  all.push_back(made(kToInt, f, f, kIntBits));
  all.push_back(from_int(f));
  return all;
}

/// A format's name, which may hold '_', then '_' and what is done.
std::optional<ComputeOperation> operation_called(const std::string& name) {
  if (same_word(std::string_view(name).substr(0, 7), "i32_to_")) {
    const auto to = format_called(std::string_view(name).substr(7));
    return to && !(*to == kBinary64) ? std::optional(from_int(*to)) : std::nullopt;
  }
  for (size_t at = name.find_first_of("_-"); at != std::string::npos; at = name.find_first_of("_-", at + 1)) {
    const auto from = format_called(std::string_view(name).substr(0, at));
    if (!from) continue;
    const std::string rest = name.substr(at + 1);
    for (const ComputeOperation& operation : operations_of(*from))
      if (same_word(operation.kind, rest)) return operation;
    if (!same_word(std::string_view(rest).substr(0, 3), "to_")) continue;
    const auto to = format_called(std::string_view(rest).substr(3));
    if (to && !(*to == *from)) return conversion(*from, *to);
  }
  return std::nullopt;
}

}  // namespace

std::vector<std::string> compute_operation_names() {
  std::vector<std::string> names;
  for (const Named& t : kFormats) {
    for (const ComputeOperation& operation : operations_of(t.format)) names.push_back(operation.name);
    for (const Named& to : kFormats)
      if (!(to.format == t.format)) names.push_back(conversion(t.format, to.format).name);
  }
  std::sort(names.begin(), names.end());
  return names;
}

ComputeOperation find_compute_operation(const std::string& name) {
  if (auto operation = operation_called(name)) return *operation;
  // The message keeps the nearest name; instead of all 200 names it explains how they are formed.
  std::string message = unknown_name_message("operation", name, compute_operation_names());
  message.resize(message.find("; known: "));
  throw UsageError(
      message +
      "; known: T_add, T_sub, T_mul, T_div, T_rem, T_sqrt, T_mulAdd, T_min, T_max, T_roundToInt, T_eq, T_le, "
      "T_lt, T_eq_signaling, T_le_quiet, T_lt_quiet, T_to_T, T_to_i32, i32_to_T with T a format, f16, bf16, tf32, f32, "
      "e4m3, e5m2, f143, f152, e2m1, e2m3, e3m2, e<E>p<P>; f64 only in T_to_T");
}

}  // namespace softamp::program
