#include "src/inspection/inspection.h"

#include "src/numbers/decimal_text.h"
#include "src/text/counted.h"

#include "softamp/names/names.h"
#include "softamp/numbers/number_text.h"
#include "softamp/numerics/operand.h"

#include <charconv>
#include <cmath>
#include <iomanip>
#include <ostream>
#include <span>

namespace softamp::detail {
namespace {

using Json = nlohmann::ordered_json;

constexpr RoundingMode kDeterministic[] = {RoundingMode::kNearestEven, RoundingMode::kNearestAway,
                                           RoundingMode::kTowardZero,  RoundingMode::kUp,
                                           RoundingMode::kDown,        RoundingMode::kOdd};
constexpr StochasticVariant kVariants[] = {StochasticVariant::kCarry, StochasticVariant::kHalf, StochasticVariant::kRne,
                                           StochasticVariant::kOdd};

/// Parsing keeps 63 bits of a text: enough for 32 bits of d in every format except binary64.
std::span<const StochasticVariant> stochastic_variants(const FloatFormat& f) {
  return f == kBinary64 ? std::span<const StochasticVariant>{} : kVariants;
}

std::string class_of(const FloatFormat& f, uint64_t code) {
  if (f.is_nan(code)) return f.is_signaling_nan(code) ? "signalling NaN" : "NaN";
  if (f.is_infinity(code)) return "infinity";
  if (f.is_zero(code)) return "zero";
  return f.is_subnormal(code) ? "subnormal" : "normal";
}

/// The next number of the format below (-1) or above (+1); both zeros count as one place.
std::optional<uint64_t> neighbour(const FloatFormat& f, uint64_t code, int direction) {
  if (f.is_nan(code)) return std::nullopt;
  const uint64_t magnitude = code & f.magnitude_mask();
  const bool negative = (code & f.sign_mask()) != 0;
  if (magnitude == 0) return signed_code(f, direction < 0, f.min_subnormal_code());
  const bool outward = negative == (direction < 0);
  const uint64_t greatest = f.has_infinity() ? f.infinity_code() : f.max_finite_code();
  if (outward && magnitude == greatest) return std::nullopt;
  return signed_code(f, negative, outward ? magnitude + 1 : magnitude - 1);
}

/// "1.0101010101": the significand in binary, hidden bit first.
std::string significand_text(const FloatFormat& f, uint64_t code) {
  const uint64_t significand = unpack_finite(f, code).significand;
  std::string text;
  for (int bit = f.precision; bit-- > 0;) text += significand >> bit & 1 ? '1' : '0';
  return text.insert(1, ".");
}

RoundingPolicy with(RoundingPolicy policy, RoundingMode mode) {
  policy.mode = mode;
  return policy;
}
RoundingPolicy with(RoundingPolicy policy, StochasticVariant variant) {
  policy.mode = RoundingMode::kStochastic;
  policy.variant = variant;
  return policy;
}

/// The results of a stochastic rounding for R = 0 and R = 2^r - 1, and how many R give the second where they differ:
/// above the largest number both may be that one.
struct Outcomes {
  uint64_t ups, numbers;
  Rounded stays, goes_up;

  bool by_chance() const { return stays.code != goes_up.code; }
};
Outcomes outcomes(const Placement& p, const RoundingPolicy& policy) {
  Outcomes o{0, uint64_t{1} << policy.random_bits, round_and_pack(p.format, p.value, policy, 0),
             round_and_pack(p.format, p.value, policy, ~uint32_t{0})};
  if (o.by_chance()) o.ups = p.ups(policy);
  return o;
}

std::string exact_and_code(const FloatFormat& f, uint64_t code) {
  return exact_decimal(f, code) + " (" + code_text(f, code) + ")";
}

void print_number(const Inspection& s, std::ostream& out) {
  const FloatFormat& f = s.format;
  out << "class        " << class_of(f, s.code) << '\n'
      << "code         " << code_text(f, s.code) << " = " << code_fields(f, s.code) << '\n'
      << "sign         " << (s.code & f.sign_mask() ? "1 (-)" : "0 (+)") << '\n';
  const uint64_t field = (s.code & f.magnitude_mask()) >> f.mantissa_bits();
  out << "exponent     field " << field << ", bias " << f.bias;
  if (f.is_finite(s.code)) {
    const int exponent = unpack_finite(f, s.code).exponent;
    out << ": " << power_of_two(exponent + f.mantissa_bits()) << '\n'
        << "significand  " << significand_text(f, s.code) << " (binary)\n"
        << "value        " << exact_decimal(f, s.code) << '\n'
        << "shortest     " << shortest_decimal(f, s.code) << '\n'
        << "hexadecimal  " << hex_float(f, s.code) << '\n'
        << "ulp          " << power_of_two(exponent) << '\n';
  } else {
    out << '\n' << "value        " << exact_decimal(f, s.code) << '\n';
  }
  for (const int direction : {-1, 1}) {
    const auto next = neighbour(f, s.code, direction);
    out << (direction < 0 ? "below        " : "above        ") << (next ? exact_and_code(f, *next) : "none") << '\n';
  }
}

void print_roundings(const Placement& p, const RoundingPolicy& base, std::ostream& out) {
  const FloatFormat& f = p.format;
  if (p.out_of_range() || p.above_the_largest())
    out << "The value lies above the largest number, " << shortest_decimal(f, f.max_finite_code()) << ".\n";
  if (p.far_out() && p.value.exponent > 0)
    out << "|x| > 2^1300.\n";
  else
    out << "|x| = (k + d) * " << power_of_two(p.quantum) << ", k = " << p.split.kept << ", d = " << p.fraction()
        << '\n';
  out << "\nrounding             result\n";
  for (const RoundingMode mode : kDeterministic) {
    const RoundingPolicy policy = with(base, mode);
    out << std::left << std::setw(21) << name_of(mode) << exact_and_code(f, p.rounded(policy).code) << "; "
        << p.reason(policy) << '\n';
  }
  for (const StochasticVariant variant : stochastic_variants(f)) {
    const Outcomes o = outcomes(p, with(base, variant));
    out << std::left << std::setw(21) << "stochastic " + name_of(variant);
    if (!o.by_chance()) {
      out << exact_and_code(f, o.stays.code) << "; whatever the random bits\n";
      continue;
    }
    out << code_text(f, o.goes_up.code) << " with probability " << o.ups << "/" << o.numbers << " = "
        << static_cast<double>(o.ups) / static_cast<double>(o.numbers) << ", else " << code_text(f, o.stays.code)
        << '\n';
  }
}

Json exact_json(const FloatFormat& f, uint64_t code) {
  Json json;
  json["value"] = value_of(f, code);
  json["exact"] = exact_decimal(f, code);
  json["code"] = code_text(f, code);
  return json;
}

Json roundings_json(const Placement& p, const RoundingPolicy& base) {
  Json json;
  for (const RoundingMode mode : kDeterministic) {
    const RoundingPolicy policy = with(base, mode);
    const Rounded rounded = p.rounded(policy);
    Json entry = exact_json(p.format, rounded.code);
    entry["flags"] = flag_names(rounded.flags);
    entry["why"] = p.reason(policy);
    json[name_of(mode)] = std::move(entry);
  }
  for (const StochasticVariant variant : stochastic_variants(p.format)) {
    const Outcomes o = outcomes(p, with(base, variant));
    Json entry;
    entry["ups"] = o.ups;
    entry["of"] = o.numbers;
    entry["probability"] = static_cast<double>(o.ups) / static_cast<double>(o.numbers);
    entry["up"] = o.by_chance() ? Json(code_text(p.format, o.goes_up.code)) : Json();
    entry["else"] = code_text(p.format, o.stays.code);
    json["stochastic"][name_of(variant)] = std::move(entry);
  }
  return json;
}

}  // namespace

bool is_code_text(const std::string& text) {
  return text.size() > 2 && text[0] == '0' && (text[1] == 'x' || text[1] == 'X') &&
         text.find_first_of("pP") == std::string::npos;
}

Inspection inspection_of(const std::string& text, const FloatFormat& format, const RoundingPolicy& base) {
  if (is_code_text(text)) {
    uint64_t code = 0;
    const char* const end = text.data() + text.size();
    const auto read = std::from_chars(text.data() + 2, end, code, 16);
    if (read.ec != std::errc{} || read.ptr != end || code > format.code_mask())
      throw std::invalid_argument("'" + text + "': expected a code of " + format_name(format) + " in " +
                                  code_text(format, 0) + ".." + code_text(format, format.code_mask()));
    return {text, format, code, std::nullopt, base};
  }
  const ParsedNumber number = number_from_text(text);
  Inspection inspection{text, format, to_code(format, number, base).code, std::nullopt, base};
  if (number.kind == ParsedNumber::Kind::kFinite && number.value.significand != 0)
    inspection.placement.emplace(format, number.value);
  return inspection;
}

void print_inspection(const Inspection& s, std::ostream& out) {
  const FloatFormat& f = s.format;
  out << s.text << " in " << format_name(f) << " (" << f.exponent_bits << " exponent bits, precision " << f.precision
      << ")\n";
  if (s.inexact())
    out << "Not representable. To nearest even, overflow " << name_of(s.base.overflow) << ", it becomes:\n";
  else if (s.placement)
    out << "Representable: every rounding gives it.\n";
  out << '\n';
  print_number(s, out);
  if (!s.inexact()) return;
  out << "\nEvery rounding of " << s.text << ", stochastic with " << counted(s.base.random_bits, "random bit") << '\n';
  print_roundings(*s.placement, s.base, out);
}

Json inspection_json(const Inspection& s) {
  const FloatFormat& f = s.format;
  Json json;
  json["verb"] = "inspect";
  json["input"] = s.text;
  json["format"] = format_name(f);
  json.update(exact_json(f, s.code));
  json["class"] = class_of(f, s.code);
  json["fields"] = code_fields(f, s.code);
  json["sign"] = s.code & f.sign_mask() ? 1 : 0;
  if (f.is_finite(s.code)) {
    const int exponent = unpack_finite(f, s.code).exponent;
    json["exponent"] = exponent + f.mantissa_bits();
    json["significand"] = significand_text(f, s.code);
    json["shortest"] = shortest_decimal(f, s.code);
    json["hexadecimal"] = hex_float(f, s.code);
    json["ulp"] = std::ldexp(1.0, exponent);
  }
  for (const int direction : {-1, 1}) {
    const auto next = neighbour(f, s.code, direction);
    json[direction < 0 ? "below" : "above"] = next ? exact_json(f, *next) : Json();
  }
  if (!s.placement) return json;
  json["representable"] = s.placement->representable();
  if (!s.inexact()) return json;
  json["settings"] = {{"bits", s.base.random_bits}, {"overflow", name_of(s.base.overflow)}, {"preset", "ieee"}};
  const bool unknown = s.placement->far_out() && s.placement->value.exponent > 0;
  json["quantum_exponent"] = unknown ? Json() : Json(s.placement->quantum);
  json["k"] = unknown ? Json() : Json(s.placement->split.kept);
  json["d"] = unknown ? Json() : Json(s.placement->fraction());
  json["roundings"] = roundings_json(*s.placement, s.base);
  return json;
}

}  // namespace softamp::detail
