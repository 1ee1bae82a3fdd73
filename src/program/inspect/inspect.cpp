// softamp inspect: one number, taken apart.
#include "src/program/inspect/inspect_report.h"

#include "softamp/report/number_text.h"

#include <iostream>
#include <vector>

namespace softamp::program {
namespace {

struct InspectOptions {
  std::string text;
  FloatFormat format = kFp16;
  RoundingOptions rounding;
  bool json = false;
};

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

int run_inspect(const InspectOptions& o) {
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
              throw UsageError(std::to_string(values.size()) +
                               " values: expected one number or code; see `softamp inspect --help`");
            o->text = values.front();
            return run_inspect(*o);
          }};
}

}  // namespace softamp::program
