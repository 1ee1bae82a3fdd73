// softamp chips: the chips that round stochastically, side by side, and tensor cores.
#include "src/program/chips/chips_report.h"

#include "softamp/numbers/number_text.h"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <iostream>

#include "src/program/table_files.h"
#include "src/text/joined.h"

namespace softamp::program {
namespace {

/// The halves and bytes of this word differ so much that the chips, each reading its own part, disagree.
constexpr uint32_t kDefaultWord = 0x5A5A1234;

struct ChipsOptions {
  std::vector<std::string> names, inputs;
  std::vector<FloatFormat> formats;
  uint32_t word = kDefaultWord;
  int lane = 0;
  int bits = 0;
  bool compare = false, tensor_cores = false, json = false;
  TableOptions files;
};

std::vector<Chip> chosen(const ChipsOptions& o) {
  std::vector<Chip> chips;
  for (const std::string& name : o.names) chips.push_back(chip_from_name(name));
  if (chips.empty())
    for (const ChipFacts& f : chip_facts()) chips.push_back(f.chip);
  return chips;
}

/// The fp32 value of a text, rounded to nearest.
ChipInput input_from(const std::string& text) {
  try {
    return {static_cast<uint32_t>(to_code(kFp32, number_from_text(text)).code), "given"};
  } catch (const std::invalid_argument& e) {
    throw UsageError(std::string("--input: ") + e.what());
  }
}

/// The formats asked for; else fp16 and bf16, or the formats of the named chips if they have neither.
std::vector<FloatFormat> compared_formats(const ChipsOptions& o, const std::vector<Chip>& chips) {
  const auto has = [&chips](const FloatFormat& f) {
    for (const Chip chip : chips)
      if (chip_rounding(chip, f).exists) return true;
    return false;
  };
  for (const FloatFormat& f : o.formats) {
    if (has(f)) continue;
    if (chips.size() == 1) require_chip_rounding(chips.front(), f);  // throws, naming the formats that it has
    std::vector<std::string> known;
    for (const Chip chip : chips)
      for (const FloatFormat& known_format : chip_facts(chip).formats)
        if (const std::string name = format_name(known_format);
            std::find(known.begin(), known.end(), name) == known.end())
          known.push_back(name);
    throw UsageError("--format: '" + format_name(f) + "': no chip that is compared rounds to it; expected " +
                     joined(known, ", "));
  }
  if (!o.formats.empty()) return o.formats;
  std::vector<FloatFormat> formats;
  for (const FloatFormat& f : {kFp16, kBf16})
    if (has(f)) formats.push_back(f);
  return formats.empty() ? chip_facts(chips.front()).formats : formats;
}

/// Refuses options that have no effect, and options that contradict each other.
void check_options(const ChipsOptions& o, const cli::App& app, const std::vector<Chip>& chips) {
  if (o.tensor_cores)
    for (const char* option : {"NAME", "--compare", "--input", "--word", "--lane", "--format", "--bits"})
      if (app.option(option).count() > 0)
        throw UsageError(std::string(option) + ": expected no --tensor-cores beside it");
  std::string free;
  for (const ChipFacts& f : chip_facts())
    if (chip_bits_are_free(f.chip)) free += (free.empty() ? "" : ", ") + f.name;
  bool any_free = false;
  for (size_t i = 0; i < chips.size(); ++i) {
    any_free = any_free || chip_bits_are_free(chips[i]);
    for (size_t k = 0; k < i; ++k)
      if (chips[k] == chips[i]) throw UsageError("NAME: '" + name_of(chips[i]) + "' twice: expected each chip once");
  }
  if (o.bits != 0 && !any_free)
    throw UsageError("--bits: '" + std::to_string(o.bits) + "': the number is fixed for " + name_of(chips[0]) +
                     (chips.size() > 1 ? " and the others named" : "") + ": expected one of " + free);
  if (o.compare || !o.inputs.empty()) return;
  for (const char* option : {"--word", "--lane", "--format"})
    if (app.option(option).count() > 0) throw UsageError(std::string(option) + ": expected --compare beside it");
}

/// The lane must exist in every chip that packs several values, and there must be such a chip.
void check_lane(const ChipComparison& c) {
  std::string single;
  bool counts = c.lane == 0;
  for (const Chip chip : c.chips) {
    const ChipRounding rounding = chip_rounding(chip, c.format);
    if (!rounding.exists) continue;
    const int lanes = rounding.lanes();
    if (lanes == 1) single += (single.empty() ? "" : ", ") + name_of(chip);
    if (lanes == 1) continue;
    if (c.lane >= lanes)
      throw UsageError("--lane: '" + std::to_string(c.lane) + "': one word of " + name_of(chip) + " serves " +
                       std::to_string(lanes) + " values of " + format_name(c.format) + ": expected 0.." +
                       std::to_string(lanes - 1));
    counts = true;
  }
  if (!counts)
    throw UsageError("--lane: '" + std::to_string(c.lane) + "': a word serves one value of " + format_name(c.format) +
                     " (" + single + "): expected 0");
}

/// The table of a comparison has one format.
void write_comparison(TableFiles& files, const ChipComparison& c) {
  if (!left_out(c).empty())
    std::cerr << "not compared, no rounding to " << format_name(c.format) << ": " << left_out(c) << '\n';
  files.write(comparison_table(c));
}

void compare(const ChipsOptions& o, const std::vector<Chip>& chips, ChipsForm form, std::ostream& out) {
  std::vector<ChipInput> given;
  for (const std::string& text : o.inputs) given.push_back(input_from(text));
  std::vector<ChipComparison> comparisons;
  for (const FloatFormat& f : compared_formats(o, chips))
    comparisons.push_back({chips, f, given.empty() ? telling_inputs(f) : given, o.word, o.lane, o.bits});
  if (o.files.any() && o.formats.size() > 1)
    throw UsageError(std::string(o.files.csv.empty() ? "--latex" : "--csv") + ": expected one --format");
  for (const ChipComparison& c : comparisons) check_lane(c);
  TableFiles files(o.files);
  print_chip_comparison(comparisons, form, out);
  if (o.files.any()) write_comparison(files, comparisons[0]);
}

int run_chips(const ChipsOptions& o, const cli::App& app) {
  const ChipsForm form = o.json ? ChipsForm::kJson : ChipsForm::kText;
  const std::vector<Chip> chips = chosen(o);
  check_options(o, app, chips);
  files::RunFiles run;
  o.files.list(run, o.json);
  run.check();
  std::ostream& out = o.files.take_standard_output() ? std::cerr : std::cout;
  if (o.compare || !o.inputs.empty()) {
    compare(o, chips, form, out);
    return kSuccess;
  }
  TableFiles files(o.files);
  if (o.tensor_cores)
    print_tensor_cores(form, out);
  else if (o.names.size() == 1)
    print_chip(chips[0], o.bits, form, out);
  else
    print_chip_table(chips, o.bits, o.names.empty(), form, out);
  files.write(o.tensor_cores ? tensor_core_table() : chip_table(chips, o.bits));
  return kSuccess;
}

}  // namespace

Verb add_chips(const cli::App& program) {
  cli::App app = program.add_subcommand("chips",
                                        "Chips that round stochastically, side by side, and tensor cores, with the "
                                        "evidence");
  const auto o = std::make_shared<ChipsOptions>();
  app.add_option("NAME", o->names, "the chips, each once [=all]; a single one: in detail, with all its evidence");
  app.add_flag("--tensor-cores", o->tensor_cores, "only how tensor cores sum products: models, GPUs, evidence");
  app.add_flag("--compare", o->compare, "compare the chips' results for the same inputs and the same random word");
  app.add_option_function(
         "--input",
         [o](const std::vector<std::string>& texts) { o->inputs.insert(o->inputs.end(), texts.begin(), texts.end()); },
         "compare: a number, rounded to fp32 first; may be repeated [=sixteen that tell the chips apart]")
      .type_name("X")
      .allow_extra_args(false);
  add_whole(app, "--word", o->word, 0, 0xFFFFFFFF, "compare: the random word, 32 bits [=0x5a5a1234]");
  add_whole(
      app, "--lane", o->lane, 0, 3,
      "compare: the value's lane in a packed result, 0 lowest; no effect on chips that take one word per value [=0]");
  app.add_option_function(
         "--format",
         [o](const std::vector<std::string>& names) {
           for (const std::string& name : names) try {
               o->formats.push_back(format_from_name(name));
             } catch (const UnknownName& e) {
               throw UsageError(std::string("--format: ") + e.what());
             }
         },
         "compare: a target, see `softamp formats`; may be repeated [=fp16 and bf16]")
      .type_name("WORD")
      .allow_extra_args(false);
  add_whole(app, "--bits", o->bits, 1, 32, "random bits of the p3109 presets, whose number is free [=8]");
  app.add_flag("--json", o->json, "print one JSON document");
  o->files.add(app, "a conversion; of a comparison an input, of one format (fp16)");
  offer(app, "NAME", names_of_all<Chip>);
  offer(app, "--format", names_of_compute_formats);
  app.footer(
      "Examples:\n"
      "  softamp chips\n"
      "  softamp chips intel_xe\n"
      "  softamp chips --tensor-cores --latex cores.tex\n"
      "  softamp chips --compare --word 0x1fff1fff\n"
      "  softamp chips nvidia_sm100 nvidia_sm103 --compare --format e4m3 --lane 1\n"
      "  softamp chips --input 0.1 --input -65519.9 --format fp16\n"
      "  softamp round in.npy out.npy --chip amd_cdna4 --format e4m3 --overflow saturate");
  return {app, [o, app] { return run_chips(*o, app); }};
}

}  // namespace softamp::program
