// softamp inspect: one number, taken apart.
#include "src/program/inspect/inspect_chips.h"
#include "src/program/inspect/inspect_report.h"

#include "softamp/numerics/operand.h"
#include "softamp/report/number_text.h"

#include <iostream>
#include <vector>

namespace softamp::program {
namespace {

struct InspectOptions {
  std::string text;
  FloatFormat format = kFp16;
  RoundingOptions rounding;
  std::vector<Chip> chips;
  bool json = false;
};

constexpr const char* kAllChips = "all";

void add_chip(InspectOptions& o, const std::string& name) {
  try {
    o.chips.push_back(chip_from_name(name));
  } catch (const UnknownName& e) {
    throw UsageError(std::string("--chip: ") + e.what() + ", or all");
  }
}

bool is_code(const std::string& text) {
  return text.size() > 2 && text[0] == '0' && (text[1] == 'x' || text[1] == 'X') &&
         text.find_first_of("pP") == std::string::npos;
}

uint64_t code_from(const std::string& text, const FloatFormat& format) {
  try {
    return parse_whole("code", text, 0, format.code_mask());
  } catch (const UsageError&) {
    throw UsageError("'" + text + "': expected a code of " + format_name(format) + " in " + code_text(format, 0) +
                     ".." + code_text(format, format.code_mask()));
  }
}

Inspection inspection_from(const InspectOptions& o) {
  const RoundingPolicy base = o.rounding.policy(o.format);
  if (is_code(o.text)) return {o.text, o.format, code_from(o.text, o.format), std::nullopt, base};
  const ParsedNumber number = number_from_text(o.text);
  Inspection inspection{o.text, o.format, to_code(o.format, number, base).code, std::nullopt, base};
  if (number.kind == ParsedNumber::Kind::kFinite && number.value.significand != 0)
    inspection.placement.emplace(o.format, number.value);
  return inspection;
}

/// The number that a code stands for.
ParsedNumber number_of(const FloatFormat& f, uint64_t code) {
  using Kind = ParsedNumber::Kind;
  const bool negative = (code & f.sign_mask()) != 0;
  if (f.is_nan(code)) return {Kind::kNan, {negative, 0, 0}};
  if (f.is_infinity(code)) return {Kind::kInfinity, {negative, 0, 0}};
  return {Kind::kFinite, detail::unpack_finite(f, code)};
}

int run_chips_inspection(const InspectOptions& o) {
  ChipInspection inspection;
  inspection.text = o.text;
  inspection.number = is_code(o.text) ? number_of(o.format, code_from(o.text, o.format)) : number_from_text(o.text);
  inspection.format = o.format;
  inspection.chips = o.chips;
  inspection.overflow = o.rounding.chip_overflow();
  inspection.bits = o.rounding.bits;
  try {
    if (o.chips.size() == 1)  // of several, those without the format are left out
      require_chip_rounding(o.chips[0], o.format, inspection.overflow, inspection.bits);
    if (o.json)
      print_json(chip_inspection_json(inspection));
    else
      print_chip_inspection(inspection, std::cout);
  } catch (const std::invalid_argument& e) {
    throw UsageError(std::string("--chip: ") + e.what());
  }
  return kSuccess;
}

int run_inspect(const InspectOptions& o) {
  if (!o.chips.empty()) return run_chips_inspection(o);
  const Inspection inspection = inspection_from(o);
  if (o.json)
    print_json(inspection_json(inspection));
  else
    print_inspection(inspection, std::cout);
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
  app->add_option_function<std::vector<std::string>>(
         "--chip",
         [o](const std::vector<std::string>& names) {
           for (const std::string& name : names) {
             if (name != kAllChips) {
               add_chip(*o, name);
               continue;
             }
             for (const ChipFacts& f : chip_facts()) o->chips.push_back(f.chip);
           }
         },
         "what this chip makes of it, see `softamp chips`: probability of going up, results, special cases; all: every "
         "chip; may be repeated")
      ->type_name("WORD")
      ->allow_extra_args(false);
  offer(*app, "--chip", [] {
    Words words = names_of_all<Chip>();
    words.emplace_back(kAllChips);
    return words;
  });
  app->add_flag("--json", o->json, "print one JSON document");
  app->allow_extras();  // -inf and -nan look like options
  app->footer(
      "Examples:\n"
      "  softamp inspect 0.1 --format fp16\n"
      "  softamp inspect 0.1 --chip all\n"
      "  softamp inspect 0x7bff --format fp16 --json");
  return {app, [app, o] {
            std::vector<std::string> values = app->remaining();
            std::erase(values, "--");
            if (!o->text.empty()) values.insert(values.begin(), o->text);
            if (values.size() != 1)
              throw UsageError(std::to_string(values.size()) +
                               " values: expected one number or code; see `softamp inspect --help`");
            o->text = values.front();
            return run_inspect(*o);
          }};
}

}  // namespace softamp::program
