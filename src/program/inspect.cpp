// softamp inspect: one number, taken apart.
#include "src/program/options.h"
#include "src/program/placement.h"

#include "softamp/numerics/operand.h"
#include "softamp/report/number_text.h"

#include <cmath>
#include <iomanip>
#include <iostream>
#include <optional>
#include <span>
#include <vector>

namespace softamp::program {
namespace {

constexpr RoundingMode kDeterministic[] = {RoundingMode::kNearestEven, RoundingMode::kNearestAway,
                                           RoundingMode::kTowardZero, RoundingMode::kUp, RoundingMode::kDown};
constexpr StochasticVariant kVariants[] = {StochasticVariant::kCarry, StochasticVariant::kHalf, StochasticVariant::kRne,
                                           StochasticVariant::kOdd};

/// Parsing keeps 63 bits of a text: enough to tell d to 32 bits in every format but binary64.
std::span<const StochasticVariant> stochastic_variants(const FloatFormat& f) {
  return f == kBinary64 ? std::span<const StochasticVariant>{} : kVariants;
}

struct InspectOptions {
  std::string text;
  FloatFormat format = kFp16;
  RoundingOptions rounding;
  bool json = false;
};

/// What is looked at: a code, and the value it was rounded from where one was typed.
struct Subject {
  FloatFormat format;
  uint64_t code;
  std::optional<Placement> placement;  ///< of a typed finite value that is not zero
};

bool is_code(const std::string& text) {
  return text.size() > 2 && text[0] == '0' && (text[1] == 'x' || text[1] == 'X') &&
         text.find_first_of("pP") == std::string::npos;
}

Subject subject_from(const InspectOptions& o, const RoundingPolicy& policy) {
  if (is_code(o.text)) {
    try {
      return {o.format, parse_whole("code", o.text, 0, o.format.code_mask()), std::nullopt};
    } catch (const UsageError&) {
      throw UsageError("'" + o.text + "': expected a code of " + format_name(o.format) + " in " + code_text(o.format, 0) +
                       ".." + code_text(o.format, o.format.code_mask()));
    }
  }
  const ParsedNumber number = number_from_text(o.text);
  Subject subject{o.format, to_code(o.format, number, policy).code, std::nullopt};
  if (number.kind == ParsedNumber::Kind::kFinite && number.value.significand != 0)
    subject.placement.emplace(o.format, number.value);
  return subject;
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
  if (magnitude == 0) return detail::signed_code(f, direction < 0, f.min_subnormal_code());
  const bool outward = negative == (direction < 0);
  const uint64_t greatest = f.has_infinity() ? f.infinity_code() : f.max_finite_code();
  if (outward && magnitude == greatest) return std::nullopt;
  return detail::signed_code(f, negative, outward ? magnitude + 1 : magnitude - 1);
}

/// "1.0101010101": the significand in binary, hidden bit first.
std::string significand_text(const FloatFormat& f, uint64_t code) {
  const uint64_t significand = detail::unpack_finite(f, code).significand;
  std::string text;
  for (int bit = f.precision; bit-- > 0;) text += significand >> bit & 1 ? '1' : '0';
  return text.insert(1, ".");
}

std::string power_of_two(int exponent) { return "2^" + std::to_string(exponent); }

RoundingPolicy with(RoundingPolicy policy, RoundingMode mode) {
  policy.mode = mode;
  return policy;
}
RoundingPolicy with(RoundingPolicy policy, StochasticVariant variant) {
  policy.mode = RoundingMode::kStochastic;
  policy.variant = variant;
  return policy;
}

/// What a stochastic rounding gives at the two ends: R = 0 and R = 2^r - 1.
struct Outcomes {
  uint64_t ups, numbers;
  Rounded stays, goes_up;
};
Outcomes outcomes(const Placement& p, const RoundingPolicy& policy) {
  return {p.ups(policy), uint64_t{1} << policy.random_bits, round_and_pack(p.format, p.value, policy, 0),
          round_and_pack(p.format, p.value, policy, ~uint32_t{0})};
}

std::string code_and_value(const FloatFormat& f, uint64_t code) {
  return exact_decimal(f, code) + " (" + code_text(f, code) + ")";
}

void print_number(const Subject& s, std::ostream& out) {
  const FloatFormat& f = s.format;
  out << "class        " << class_of(f, s.code) << '\n'
      << "code         " << code_text(f, s.code) << " = " << code_fields(f, s.code) << '\n'
      << "sign         " << (s.code & f.sign_mask() ? "1 (-)" : "0 (+)") << '\n';
  const uint64_t field = (s.code & f.magnitude_mask()) >> f.mantissa_bits();
  out << "exponent     field " << field << ", bias " << f.bias;
  if (f.is_finite(s.code)) {
    const int exponent = detail::unpack_finite(f, s.code).exponent;
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
    out << (direction < 0 ? "below        " : "above        ") << (next ? code_and_value(f, *next) : "none") << '\n';
  }
}

void print_roundings(const Placement& p, const RoundingPolicy& base, std::ostream& out) {
  const FloatFormat& f = p.format;
  if (p.out_of_range() || p.above_the_largest())
    out << "The value lies above the largest number, " << shortest_decimal(f, f.max_finite_code()) << ".\n";
  out << "|x| = (k + d) * " << power_of_two(p.quantum) << ", k = " << p.split.kept << ", d = " << p.fraction() << "\n\n"
      << "rounding             result\n";
  for (const RoundingMode mode : kDeterministic) {
    const RoundingPolicy policy = with(base, mode);
    out << std::left << std::setw(21) << name_of(mode) << code_and_value(f, p.rounded(policy).code) << "; "
        << p.reason(policy) << '\n';
  }
  for (const StochasticVariant variant : stochastic_variants(f)) {
    const Outcomes o = outcomes(p, with(base, variant));
    out << std::left << std::setw(21) << "stochastic " + name_of(variant);
    if (o.stays.code == o.goes_up.code) {
      out << code_and_value(f, o.stays.code) << "; whatever the random bits\n";
      continue;
    }
    out << code_text(f, o.goes_up.code) << " with probability " << o.ups << "/" << o.numbers << " = "
        << static_cast<double>(o.ups) / static_cast<double>(o.numbers) << ", else " << code_text(f, o.stays.code)
        << '\n';
  }
}

void print_inspection(const InspectOptions& o, const Subject& s, const RoundingPolicy& base, std::ostream& out) {
  const FloatFormat& f = s.format;
  out << o.text << " in " << format_name(f) << " (" << f.exponent_bits << " exponent bits, precision " << f.precision
      << ")\n";
  const bool inexact = s.placement && !s.placement->representable();
  if (inexact)
    out << "Not representable. To nearest even, overflow " << name_of(base.overflow) << ", it becomes:\n";
  else if (s.placement)
    out << "Representable: every rounding gives it.\n";
  out << '\n';
  print_number(s, out);
  if (!inexact) return;
  out << "\nEvery rounding of " << o.text << ", stochastic with " << base.random_bits << " random bits\n";
  print_roundings(*s.placement, base, out);
}

Json code_json(const FloatFormat& f, uint64_t code) {
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
    Json entry = code_json(p.format, rounded.code);
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
    entry["up"] = code_text(p.format, o.goes_up.code);
    entry["else"] = code_text(p.format, o.stays.code);
    json["stochastic"][name_of(variant)] = std::move(entry);
  }
  return json;
}

Json inspection_json(const InspectOptions& o, const Subject& s, const RoundingPolicy& base) {
  const FloatFormat& f = s.format;
  Json json;
  json["verb"] = "inspect";
  json["input"] = o.text;
  json["format"] = format_name(f);
  json.update(code_json(f, s.code));
  json["class"] = class_of(f, s.code);
  json["fields"] = code_fields(f, s.code);
  json["sign"] = s.code & f.sign_mask() ? 1 : 0;
  if (f.is_finite(s.code)) {
    const int exponent = detail::unpack_finite(f, s.code).exponent;
    json["exponent"] = exponent + f.mantissa_bits();
    json["significand"] = significand_text(f, s.code);
    json["shortest"] = shortest_decimal(f, s.code);
    json["hexadecimal"] = hex_float(f, s.code);
    json["ulp"] = std::ldexp(1.0, exponent);
  }
  for (const int direction : {-1, 1}) {
    const auto next = neighbour(f, s.code, direction);
    json[direction < 0 ? "below" : "above"] = next ? code_json(f, *next) : Json();
  }
  if (!s.placement) return json;
  json["representable"] = s.placement->representable();
  if (s.placement->representable()) return json;
  json["settings"] = {{"bits", base.random_bits}, {"overflow", name_of(base.overflow)}, {"preset", "ieee"}};
  json["quantum_exponent"] = s.placement->quantum;
  json["k"] = s.placement->split.kept;
  json["d"] = s.placement->fraction();
  json["roundings"] = roundings_json(*s.placement, base);
  return json;
}

int run_inspect(const InspectOptions& o) {
  const RoundingPolicy base = o.rounding.policy(o.format);
  const Subject subject = subject_from(o, base);
  if (o.json)
    print_json(inspection_json(o, subject, base));
  else
    print_inspection(o, subject, base, std::cout);
  return kSuccess;
}

}  // namespace

Verb add_inspect(CLI::App& program) {
  CLI::App* app = program.add_subcommand("inspect", "Take one number apart and show what each rounding makes of it");
  const auto o = std::make_shared<InspectOptions>();
  app->add_option("VALUE", o->text,
                  "a number (0.1, -2.5e-8, 0x1.8p-3, inf, nan), read exactly, or the code of one (0x3c00)")
      ->type_name("");
  add_word(*app, "--format", o->format, format_from_name, "format, see `softamp formats` [=fp16]");
  add_whole(*app, "--bits", o->rounding.bits, 1, 32, "random bits of the stochastic roundings, 1..32 [=13]");
  o->rounding.add_overflow(*app);
  app->add_flag("--json", o->json, "print one JSON document");
  app->allow_extras();  // -inf and -nan look like options
  app->footer(
      "Examples:\n"
      "  softamp inspect 0.1 --format fp16\n"
      "  softamp inspect 0x7bff --format fp16 --json");
  return {app, [app, o] {
            std::vector<std::string> values = app->remaining();
            std::erase(values, "--");
            if (!o->text.empty()) values.insert(values.begin(), o->text);
            if (values.size() != 1)
              throw UsageError(std::to_string(values.size()) + " values: expected one number or code; see `softamp "
                               "inspect --help`");
            o->text = values.front();
            return run_inspect(*o);
          }};
}

}  // namespace softamp::program
