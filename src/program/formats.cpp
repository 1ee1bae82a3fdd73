// softamp formats: the table of formats and their limits, all derived from FloatFormat and FixedFormat.
#include "src/program/options.h"

#include "softamp/numerics/round.h"
#include "softamp/report/number_text.h"

#include <cmath>
#include <iomanip>
#include <iostream>
#include <sstream>
#include <vector>

namespace softamp::program {
namespace {

/// "0x7c01..0x7fff and with the sign", "0x7f, 0xff" or "0x80".
std::string nan_codes(const FloatFormat& f) {
  switch (f.specials) {
    case Specials::kIeee: {
      const uint64_t first = f.infinity_code() + 1, last = f.magnitude_mask();
      const std::string range = code_text(f, first) + (first == last ? "" : ".." + code_text(f, last).substr(2));
      const std::string negative = code_text(f, first | f.sign_mask());
      return range + ", " + negative + (first == last ? "" : ".." + code_text(f, last | f.sign_mask()).substr(2));
    }
    case Specials::kNanOnly: return code_text(f, f.magnitude_mask()) + ", " + code_text(f, f.code_mask());
    case Specials::kNone: return "none";
    case Specials::kNegativeZeroNan: break;
  }
  return code_text(f, f.sign_mask());
}

/// Examples of fixed-point formats: those of Gupta et al.
constexpr const char* kFixedExamples[] = {"q2.14", "q4.12", "q6.10", "q8.8"};

double fixed_value(const FixedFormat& f, int64_t code) {
  return std::ldexp(static_cast<double>(code), f.quantum_exponent);
}

std::string joined(const std::vector<std::string>& names, size_t from) {
  std::string text;
  for (size_t i = from; i < names.size(); ++i) text += (i > from ? ", " : "") + names[i];
  return text;
}

Json format_json(const NamedFormat& named) {
  const FloatFormat& f = named.format;
  const auto value = [&f](uint64_t code) { return value_of(f, code); };
  Json json;
  json["name"] = named.names.front();
  json["other_names"] = std::vector<std::string>(named.names.begin() + 1, named.names.end());
  json["origin"] = named.origin;
  json["bits"] = f.storage_bits();
  json["exponent_bits"] = f.exponent_bits;
  json["precision"] = f.precision;
  json["bias"] = f.bias;
  json["max"] = value(f.max_finite_code());
  json["min_normal"] = value(f.min_normal_code());
  json["min_subnormal"] = value(f.min_subnormal_code());
  json["epsilon"] = std::ldexp(1.0, -f.mantissa_bits());
  json["infinity"] = f.has_infinity();
  json["negative_zero"] = f.has_negative_zero();
  json["nan_codes"] = nan_codes(f);
  if (f.has_nan()) json["quiet_nan"] = code_text(f, nan_code(f, NanPattern::kQuiet));
  return json;
}

Json fixed_json(const char* name) {
  const FixedFormat f = fixed_format_from_name(name);
  Json json;
  json["name"] = name;
  json["fraction_bits"] = -f.quantum_exponent;
  json["least"] = fixed_value(f, f.least);
  json["greatest"] = fixed_value(f, f.greatest);
  json["step"] = fixed_value(f, 1);
  return json;
}

std::vector<std::string> table_row(const NamedFormat& named) {
  const FloatFormat& f = named.format;
  return {named.names.front(),
          std::to_string(f.storage_bits()),
          std::to_string(f.exponent_bits),
          std::to_string(f.precision),
          std::to_string(f.bias),
          shortest_decimal(f, f.max_finite_code()),
          power_of_two(f.min_exponent()),
          power_of_two(f.min_quantum()),
          power_of_two(-f.mantissa_bits()),
          f.has_infinity() ? "yes" : "no",
          f.has_negative_zero() ? "yes" : "no",
          nan_codes(f),
          joined(named.names, 1)};
}

void print_table(std::ostream& out) {
  std::vector<std::vector<std::string>> rows = {{"format", "bits", "e", "p", "bias", "max", "min normal",
                                                 "min subnormal", "epsilon", "inf", "-0", "NaN codes", "also called"}};
  for (const NamedFormat& named : named_formats()) rows.push_back(table_row(named));
  std::vector<size_t> widths(rows[0].size(), 0);
  for (const auto& row : rows)
    for (size_t i = 0; i < row.size(); ++i) widths[i] = std::max(widths[i], row[i].size());
  for (const auto& row : rows) {
    std::ostringstream line;
    for (size_t i = 0; i < row.size(); ++i) {
      const bool number = i >= 1 && i <= 8;
      line << (i ? "  " : "") << (number ? std::right : std::left) << std::setw(static_cast<int>(widths[i])) << row[i];
    }
    std::string text = line.str();
    text.erase(text.find_last_not_of(' ') + 1);
    out << text << '\n';
  }
  out << "\ne: exponent bits; p: precision in bits, the hidden one included; epsilon: from 1 to the next number.\n"
         "e<E>p<P> names any other IEEE-like format, 2 to 8 exponent bits E and a precision P of 2 to 24: e5p11 is "
         "fp16.\n"
         "q<I>.<F> names a fixed-point format, I integer bits with the sign and F bits after the point, 2 to 32 "
         "together:\n";
  for (const char* name : kFixedExamples) {
    const FixedFormat f = fixed_format_from_name(name);
    out << "  " << std::left << std::setw(6) << name << std::setprecision(17) << " from " << fixed_value(f, f.least)
        << " to " << fixed_value(f, f.greatest) << " in steps of " << power_of_two(f.quantum_exponent) << '\n';
  }
}

}  // namespace

Verb add_formats(CLI::App& program) {
  CLI::App* app = program.add_subcommand("formats", "The formats, their names and limits");
  const auto json = std::make_shared<bool>(false);
  app->add_flag("--json", *json, "print one JSON document");
  app->footer("Example:\n  softamp formats --json");
  return {app, [json] {
            if (*json) {
              Json document;
              document["verb"] = "formats";
              for (const NamedFormat& named : named_formats()) document["formats"].push_back(format_json(named));
              for (const char* name : kFixedExamples) document["fixed_point_examples"].push_back(fixed_json(name));
              print_json(document);
            } else {
              print_table(std::cout);
            }
            return static_cast<int>(kSuccess);
          }};
}

}  // namespace softamp::program
