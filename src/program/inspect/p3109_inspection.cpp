#include "src/program/inspect/p3109_inspection.h"

#include "src/program/format_choice.h"
#include "src/text/counted.h"
#include "src/text/hexadecimal.h"

#include <nlohmann/json.hpp>

#include <iomanip>
#include <ostream>

namespace softamp::program {
namespace {

using p3109::Format;
using p3109::Saturation;

constexpr RoundingMode kP3109Modes[] = {RoundingMode::kNearestEven, RoundingMode::kNearestAway,
                                        RoundingMode::kTowardZero,  RoundingMode::kUp,
                                        RoundingMode::kDown,        RoundingMode::kOdd};
constexpr StochasticVariant kP3109Variants[] = {StochasticVariant::kCarry, StochasticVariant::kHalf,
                                                StochasticVariant::kRne};
constexpr std::pair<const char*, Saturation> kP3109Saturations[] = {
    {"none", Saturation::kNone}, {"finite", Saturation::kFinite}, {"propagate", Saturation::kPropagate}};

uint64_t p3109_projected(const P3109Inspection& s, const RoundingPolicy& p, Saturation saturation,
                         uint32_t random = 0) {
  const ParsedNumber& number = *s.number;
  switch (number.kind) {
    case ParsedNumber::Kind::kNan: return s.format.nan_code();
    case ParsedNumber::Kind::kInfinity: return p3109::project_infinity(s.format, number.value.negative, saturation);
    default: return p3109::project(s.format, number.value, p, saturation, random);
  }
}

std::string p3109_code(const Format& f, uint64_t code) { return "0x" + hexadecimal(code, (f.width + 3) / 4); }
std::string p3109_value_and_code(const Format& f, uint64_t code) {
  return value_text(f, code) + " (" + p3109_code(f, code) + ")";
}

/// "0 1001 000": sign where there is one, exponent, trailing significand.
std::string p3109_fields(const Format& f, uint64_t code) {
  std::string text;
  for (int bit = f.width; bit-- > 0;) {
    text += code >> bit & 1 ? '1' : '0';
    if (bit > 0 && (bit == f.precision - 1 || (f.has_sign && bit == f.width - 1))) text += ' ';
  }
  return text;
}

std::string p3109_class(const Format& f, uint64_t code) {
  if (f.is_nan(code)) return "NaN";
  if (f.is_infinity(code)) return "infinity";
  const Exact x = p3109::exact(f, code);
  if (x.significand == 0) return "zero";
  return x.significand >> (f.precision - 1) == 0 ? "subnormal" : "normal";
}

RoundingPolicy p3109_stochastic(const P3109Inspection& s, StochasticVariant variant) {
  RoundingPolicy p = RoundingPolicy::stochastic_carry(s.bits);
  p.variant = variant;
  return p;
}

/// Of the 2^bits random numbers those that change the result, which is monotone in R.
struct P3109Outcomes {
  uint64_t ups, numbers, stays, goes_up;
};
P3109Outcomes p3109_outcomes(const P3109Inspection& s, StochasticVariant variant) {
  const RoundingPolicy p = p3109_stochastic(s, variant);
  const uint64_t numbers = uint64_t{1} << s.bits;
  const auto result = [&](uint64_t r) { return p3109_projected(s, p, Saturation::kNone, static_cast<uint32_t>(r)); };
  const uint64_t stays = result(0), goes_up = result(numbers - 1);
  uint64_t low = 0, high = numbers - 1;  // result(low) stays, result(high) goes up
  if (stays == goes_up) return {0, numbers, stays, goes_up};
  while (high - low > 1) {
    const uint64_t middle = low + (high - low) / 2;
    (result(middle) == stays ? low : high) = middle;
  }
  return {numbers - high, numbers, stays, goes_up};
}

uint64_t p3109_code_shown(const P3109Inspection& s) {
  return s.code ? *s.code : p3109_projected(s, RoundingPolicy{}, Saturation::kNone);
}

}  // namespace

void print_p3109(const P3109Inspection& s, std::ostream& out) {
  const Format& f = s.format;
  const uint64_t code = p3109_code_shown(s);
  out << s.text << " in " << p3109_name(f) << " (" << f.width << " bits, precision " << f.precision << ", bias "
      << f.bias() << ", " << (f.has_sign ? "signed" : "unsigned") << ", " << (f.extended ? "with" : "without")
      << " infinities)\n\n"
      << "class        " << p3109_class(f, code) << '\n'
      << "code         " << p3109_code(f, code) << " = " << p3109_fields(f, code) << '\n'
      << "value        " << value_text(f, code) << '\n'
      << "largest      " << p3109_value_and_code(f, f.max_finite_code()) << '\n'
      << "smallest     " << p3109_value_and_code(f, 1) << '\n'
      << "NaN          " << p3109_code(f, f.nan_code()) << '\n';
  if (!s.number) return;
  out << "\nEvery rounding of " << s.text << ", stochastic with " << counted(s.bits, "random bit")
      << ", saturation none\n";
  for (const RoundingMode mode : kP3109Modes)
    out << std::left << std::setw(21) << name_of(mode)
        << p3109_value_and_code(f, p3109_projected(s, RoundingPolicy::ieee(mode), Saturation::kNone)) << '\n';
  for (const StochasticVariant variant : kP3109Variants) {
    const P3109Outcomes o = p3109_outcomes(s, variant);
    out << std::left << std::setw(21) << "stochastic " + name_of(variant);
    if (o.stays == o.goes_up)
      out << p3109_value_and_code(f, o.stays) << "; whatever the random bits\n";
    else
      out << p3109_code(f, o.goes_up) << " with probability " << o.ups << "/" << o.numbers << " = "
          << static_cast<double>(o.ups) / static_cast<double>(o.numbers) << ", else " << p3109_code(f, o.stays) << '\n';
  }
  out << "\nTo nearest, under each saturation\n";
  for (const auto& [name, saturation] : kP3109Saturations)
    out << std::left << std::setw(21) << name
        << p3109_value_and_code(f, p3109_projected(s, RoundingPolicy{}, saturation)) << '\n';
}

Json p3109_json(const P3109Inspection& s) {
  const Format& f = s.format;
  const uint64_t code = p3109_code_shown(s);
  const auto entry = [&f](uint64_t c) { return Json{{"code", p3109_code(f, c)}, {"exact", value_text(f, c)}}; };
  Json json;
  json["verb"] = "inspect";
  json["input"] = s.text;
  json["format"] = p3109_name(f);
  json.update(entry(code));
  json["class"] = p3109_class(f, code);
  json["fields"] = p3109_fields(f, code);
  json["bias"] = f.bias();
  json["largest"] = entry(f.max_finite_code());
  json["smallest"] = entry(1);
  json["nan_code"] = p3109_code(f, f.nan_code());
  if (!s.number) return json;
  for (const RoundingMode mode : kP3109Modes)
    json["roundings"][name_of(mode)] = entry(p3109_projected(s, RoundingPolicy::ieee(mode), Saturation::kNone));
  for (const StochasticVariant variant : kP3109Variants) {
    const P3109Outcomes o = p3109_outcomes(s, variant);
    json["roundings"]["stochastic"][name_of(variant)] = {
        {"ups", o.ups},
        {"of", o.numbers},
        {"up", o.goes_up == o.stays ? Json() : Json(p3109_code(f, o.goes_up))},
        {"else", p3109_code(f, o.stays)}};
  }
  for (const auto& [name, saturation] : kP3109Saturations)
    json["saturations"][name] = entry(p3109_projected(s, RoundingPolicy{}, saturation));
  return json;
}

}  // namespace softamp::program
