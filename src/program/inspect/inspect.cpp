// softamp inspect: one number, or a block of numbers, taken apart.
#include "src/inspection/inspection.h"
#include "src/program/format_choice.h"
#include "src/program/idle_options.h"
#include "src/program/inspect/block_inspection.h"
#include "src/program/inspect/inspect_chips.h"
#include "src/program/inspect/p3109_inspection.h"
#include "src/program/provenance.h"
#include "src/text/word.h"

#include "softamp/names/block_format_names.h"
#include "softamp/numbers/number_text.h"
#include "softamp/numerics/operand.h"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <iostream>
#include <vector>

namespace softamp::program {
namespace {

struct InspectOptions {
  std::string text;
  FormatChoice choice;
  FloatFormat format = kFp16;
  std::string file;          ///< of --file
  uint64_t block_index = 0;  ///< in it
  int axis = -1;
  std::optional<std::string> amax;
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

uint64_t code_from(const std::string& text, const FloatFormat& format) {
  try {
    return parse_whole("code", text, 0, format.code_mask());
  } catch (const UsageError&) {
    throw UsageError("'" + text + "': expected a code of " + format_name(format) + " in " + code_text(format, 0) +
                     ".." + code_text(format, format.code_mask()));
  }
}

detail::Inspection inspection_from(const InspectOptions& o) {
  const RoundingPolicy base = o.rounding.policy(o.format);
  if (detail::is_code_text(o.text)) code_from(o.text, o.format);  // whose error is one of usage
  return detail::inspection_of(o.text, o.format, base);
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
  inspection.number =
      detail::is_code_text(o.text) ? number_of(o.format, code_from(o.text, o.format)) : number_from_text(o.text);
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

/// A number, or an fp32 code where it begins with 0x.
uint32_t fp32_from(const std::string& text) {
  if (detail::is_code_text(text)) return static_cast<uint32_t>(code_from(text, kFp32));
  return static_cast<uint32_t>(to_code(kFp32, number_from_text(text), RoundingPolicy{}).code);
}

BlockInspection block_of_values(const block::BlockFormat& f, const std::vector<std::string>& values) {
  const uint64_t most = f.size == 0 ? values.size() : static_cast<uint64_t>(f.size) * static_cast<uint64_t>(f.rows);
  if (values.empty() || values.size() > most)
    throw UsageError(std::to_string(values.size()) + " values: expected 1.." + std::to_string(most) + ", a block of " +
                     block_format_text(f) + ", or --file");
  BlockInspection b{f, {}, {}, std::to_string(values.size()) + (values.size() == 1 ? " number" : " numbers"), 0};
  for (const std::string& value : values) {
    b.index.push_back(b.x.size());
    b.x.push_back(fp32_from(value));
  }
  b.tensor_amax = block_amax(b);
  return b;
}

int run_block_inspection(const InspectOptions& o, const std::vector<std::string>& values) {
  if (!o.chips.empty()) throw UsageError("--chip: expected a format of numbers, not " + o.choice.blocks);
  if (o.rounding.overflow) throw UsageError("--overflow: expected none: elements of blocks saturate");
  std::string text = o.choice.blocks;
  if (o.rounding.bits != 0)
    text += (text.find(':') == std::string::npos ? ":bits=" : ",bits=") + std::to_string(o.rounding.bits);
  block::BlockFormat f;
  try {
    f = parse_block_format(text);
  } catch (const std::invalid_argument& e) {
    throw UsageError(std::string("--format: ") + e.what());
  }
  if (!o.file.empty() && !values.empty())
    throw UsageError("'" + values.front() + "': expected numbers or --file, not both");
  if (o.json) remember_inputs(files::RunFiles().reads("--file", o.file));
  BlockInspection b = o.file.empty() ? block_of_values(f, values) : block_of_file(f, o.file, o.block_index, o.axis);
  if (o.amax) {
    if (f.family != block::BlockFamily::kNvfp4) throw UsageError("--amax: expected nvfp4, whose scales refer to it");
    b.tensor_amax = fp32_from(*o.amax);
    if (b.tensor_amax > 0x7F800000u)
      throw UsageError("--amax: '" + *o.amax + "': expected a magnitude, 0 or more, or its fp32 code");
  }
  if (o.json)
    print_json(block_json(b));
  else
    print_block(b, std::cout);
  return kSuccess;
}

int run_p3109_inspection(const InspectOptions& o) {
  const std::string name = p3109_name(*o.choice.p3109);
  if (!o.chips.empty()) throw UsageError("--chip: expected a format of ours, not " + name);
  if (o.rounding.overflow) throw UsageError("--overflow: expected none: each saturation of " + name + " is shown");
  P3109Inspection s{o.text, *o.choice.p3109, o.rounding.random_bits(), {}, {}};
  if (detail::is_code_text(o.text)) {
    try {
      s.code = parse_whole("code", o.text, 0, s.format.codes() - 1);
    } catch (const UsageError&) {
      throw UsageError("'" + o.text + "': expected a code of " + name + ", below 2^" + std::to_string(s.format.width));
    }
  } else {
    s.number = number_from_text(o.text);
  }
  if (o.json)
    print_json(p3109_json(s));
  else
    print_p3109(s, std::cout);
  return kSuccess;
}

int run_inspect(const InspectOptions& o, const cli::App& app) {
  if (o.choice.p3109) return run_p3109_inspection(o);
  if (!o.chips.empty()) {
    if (o.chips.size() > 1 && std::none_of(o.chips.begin(), o.chips.end(), chip_bits_are_free))
      refuse_idle(app, "--bits", "the chips have numbers of random bits of their own", "p3109_rne or the like");
    return run_chips_inspection(o);
  }
  const detail::Inspection inspection = inspection_from(o);
  if (o.json)
    print_json(detail::inspection_json(inspection));
  else
    detail::print_inspection(inspection, std::cout);
  return kSuccess;
}

}  // namespace

Verb add_inspect(const cli::App& program) {
  cli::App app = program.add_subcommand(
      "inspect", "Take one number apart, or a block of numbers, and show what each rounding makes of it");
  const auto o = std::make_shared<InspectOptions>();
  app.add_option("VALUE", o->text,
                 "a number (0.1, -2.5e-8, 0x1.8p-3, inf, nan), read exactly, or the code of one (0x3c00)")
      .type_name("");
  add_format_choice(app, o->choice,
                    "format, see `softamp formats`: of numbers, of P3109's (Binary8p4se), or of blocks (mxfp4), whose "
                    "values are the elements of one block [=fp16]");
  app.add_option("--file", o->file, "a format of blocks: the array in this file, float32, in the place of values")
      .type_name("X.npy");
  add_whole(app, "--block-index", o->block_index, 0, std::numeric_limits<uint64_t>::max(),
            "--file: which of its blocks, in the order of their scales [=0]");
  app.add_option("--axis", o->axis, "--file: axis along which blocks lie; -1: the last [=-1]").type_name("N");
  app.add_option("--amax", o->amax,
                 "NVFP4: the greatest magnitude of the array, a number or its fp32 code [=that of the block, or file]")
      .type_name("X");
  add_whole(app, "--bits", o->rounding.bits, 1, 32, "random bits of the stochastic roundings, 1..32 [=13]");
  o->rounding.add_overflow(app);
  app.add_option_function(
         "--chip",
         [o](const std::vector<std::string>& names) {
           for (const std::string& name : names) {
             if (!same_word(name, kAllChips)) {
               add_chip(*o, name);
               continue;
             }
             for (const ChipFacts& f : chip_facts()) o->chips.push_back(f.chip);
           }
         },
         "what this chip makes of it, see `softamp chips`: probability of going up, results, special cases; all: every "
         "chip; may be repeated")
      .type_name("WORD")
      .allow_extra_args(false);
  offer(app, "--chip", [] {
    Words words = names_of_all<Chip>();
    words.emplace_back(kAllChips);
    return words;
  });
  app.add_flag("--json", o->json, "print one JSON document");
  app.allow_extras();  // -inf and -nan look like options
  app.footer(
      "Examples:\n"
      "  softamp inspect 0.1 --format fp16\n"
      "  softamp inspect 0.1 --chip all\n"
      "  softamp inspect 0x7bff --format fp16 --json\n"
      "  softamp inspect 0.1 --format Binary8p4se\n"
      "  softamp inspect 0.1 -0.2 3 7 --format mxfp4:scale_rule=rceil\n"
      "  softamp inspect --file x.npy --block-index 5 --format nvfp4");
  return {app, [app, o] {
            std::vector<std::string> values = app.remaining();
            std::erase(values, "--");
            if (!o->text.empty()) values.insert(values.begin(), o->text);
            if (o->file.empty() && !o->choice.blocks.empty())
              for (const char* option : {"--block-index", "--axis"})
                refuse_idle(app, option, "the values are one block", "--file");
            if (!o->choice.blocks.empty()) return run_block_inspection(*o, values);
            for (const char* option : {"--file", "--block-index", "--axis", "--amax"})
              if (app.option(option).count() > 0)
                throw UsageError(std::string(option) + ": expected a format of blocks, such as mxfp4");
            if (o->choice.e8m0) throw UsageError("--format: 'e8m0': expected a format of numbers or blocks");
            o->format = o->choice.number;
            if (values.size() != 1)
              throw UsageError(std::to_string(values.size()) +
                               " values: expected one number or code; see `softamp inspect --help`");
            o->text = values.front();
            return run_inspect(*o, app);
          }};
}

}  // namespace softamp::program
