// softamp formats: the table of formats and their limits, all derived from FloatFormat and FixedFormat.
#include "src/program/options.h"

#include "src/numbers/decimal_text.h"
#include "src/program/format_choice.h"
#include "src/program/table_files.h"
#include "src/results/text.h"
#include "src/text/joined.h"

#include "softamp/names/block_format_names.h"
#include "softamp/numbers/number_text.h"
#include "softamp/numerics/round.h"

#include <nlohmann/json.hpp>

#include <cmath>
#include <iomanip>
#include <iostream>
#include <span>
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

/// Powers of two are texts for people, and numbers for programs.
results::Table format_table() {
  using results::Shown;
  results::Table table{.title = "formats and their limits",
                       .columns = {{"name", "format"},
                                   {.key = "bits", .right = true},
                                   {.key = "exponent_bits", .head = "e", .right = true},
                                   {.key = "precision", .head = "p", .right = true},
                                   {.key = "bias", .right = true},
                                   {.key = "max", .right = true}}};
  for (const auto& [key, head] :
       {std::pair{"min_normal", "min normal"}, {"min_subnormal", "min subnormal"}, {"epsilon", ""}}) {
    table.columns.push_back({.key = key, .shown = Shown::kToPrograms});
    table.columns.push_back(
        {.key = std::string(key) + "_power", .head = *head ? head : key, .right = true, .shown = Shown::kToPeople});
  }
  for (const auto& [key, head] : {std::pair{"infinity", "inf"},
                                  {"negative_zero", "-0"},
                                  {"nan_codes", "NaN codes"},
                                  {"other_names", "also called"}})
    table.columns.push_back({key, head});
  for (const NamedFormat& named : named_formats()) {
    const FloatFormat& f = named.format;
    results::Row& row =
        table.rows.emplace_back(results::Row{named.names.front(), f.storage_bits(), f.exponent_bits, f.precision,
                                             f.bias, shortest_decimal(f, f.max_finite_code())});
    for (const int power : {f.min_exponent(), f.min_quantum(), -f.mantissa_bits()})
      row.insert(row.end(), {std::ldexp(1.0, power), power_of_two(power)});
    row.insert(row.end(),
               {f.has_infinity(), f.has_negative_zero(), nan_codes(f), joined(std::span(named.names).subspan(1))});
  }
  return table;
}

constexpr const char* kP3109Examples[] = {"Binary8p4se", "Binary8p3se", "Binary6p3sf", "Binary4p2sf", "Binary8p1uf"};

bool has_block_scale(const NamedBlockFormat& f) { return f.format.family != block::BlockFamily::kPlain; }

Json block_format_json(const NamedBlockFormat& named) {
  const block::BlockFormat& f = named.format;
  Json json;
  json["name"] = named.names.front();
  json["other_names"] = std::vector<std::string>(named.names.begin() + 1, named.names.end());
  json["about"] = named.about;
  json["element"] = f.element.integer ? "int8" : format_name(f.element.format);
  json["bits"] = f.element.storage_bits();
  json["block"] = f.size;
  json["rows"] = f.rows;
  json["scale_bytes"] = f.scale_bytes();
  return json;
}

Json p3109_example_json(const char* name) {
  const p3109::Format f = *p3109::format_from_name(name);
  Json json;
  json["name"] = name;
  json["bits"] = f.width;
  json["precision"] = f.precision;
  json["bias"] = f.bias();
  json["signed"] = f.has_sign;
  json["infinity"] = f.extended;
  json["max"] = value_text(f, f.max_finite_code());
  json["min"] = value_text(f, 1);
  json["nan_code"] = f.nan_code();
  return json;
}

void print_blocks(std::ostream& out) {
  out << "\nFormats of blocks, for round and inspect; NAME:OPTION=VALUE,... changes how they are made:\n";
  size_t width = 0;
  for (const NamedBlockFormat& f : named_block_formats())
    if (has_block_scale(f)) width = std::max(width, f.names.front().size());
  for (const NamedBlockFormat& f : named_block_formats())
    if (has_block_scale(f))
      out << "  " << std::left << std::setw(static_cast<int>(width)) << f.names.front() << "  " << f.about << '\n';
  out << "Options: scale_rule, block, rows, rounding, variant, bits, nan (poison, skip), infinity (nan, saturate), "
         "three_quarters, 4over6 (none, mae, mse),\ne4m3_max, powers_of_two.\ne8m0 names the scale of OCP's formats, a "
         "power of two.\n";
}

void print_p3109_examples(std::ostream& out) {
  out << "\nBinary<K>p<P><s|u><e|f> names a format of IEEE P3109's draft, for round and inspect: K bits, 3 to 16, a "
         "precision of P, 1 to K - 1\n(unsigned: to K), signed or unsigned, e with infinities or f without:\n";
  for (const char* name : kP3109Examples) {
    const p3109::Format f = *p3109::format_from_name(name);
    out << "  " << std::left << std::setw(12) << name << " largest " << value_text(f, f.max_finite_code())
        << ", smallest " << value_text(f, 1) << '\n';
  }
}

void print_table(std::ostream& out) {
  out << results::text(format_table());
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
  print_p3109_examples(out);
  print_blocks(out);
}

}  // namespace

Verb add_formats(const cli::App& program) {
  cli::App app = program.add_subcommand("formats", "The formats, their names and limits");
  struct Options {
    bool json = false;
    TableOptions files;
  };
  const auto o = std::make_shared<Options>();
  o->files.add(app, "a format of numbers");
  app.add_flag("--json", o->json, "print one JSON document");
  app.footer(
      "Examples:\n"
      "  softamp formats --json\n"
      "  softamp formats --latex formats.tex");
  return {app, [o] {
            files::RunFiles run;
            o->files.list(run, o->json);
            run.check();
            TableFiles files(o->files);
            if (o->json) {
              Json document;
              document["verb"] = "formats";
              for (const NamedFormat& named : named_formats()) document["formats"].push_back(format_json(named));
              for (const char* name : kFixedExamples) document["fixed_point_examples"].push_back(fixed_json(name));
              for (const NamedBlockFormat& f : named_block_formats())
                if (has_block_scale(f)) document["block_formats"].push_back(block_format_json(f));
              for (const char* name : kP3109Examples) document["p3109_examples"].push_back(p3109_example_json(name));
              print_json(document);
            } else {
              print_table(o->files.take_standard_output() ? std::cerr : std::cout);
            }
            files.write(format_table());
            return static_cast<int>(kSuccess);
          }};
}

}  // namespace softamp::program
