#include "src/program/chips/chips_report.h"

#include "softamp/numbers/number_text.h"

#include <nlohmann/json.hpp>

#include <ostream>

#include "src/results/text.h"
#include "src/text/columns.h"

namespace softamp::program {
namespace {

const std::vector<results::Column> kColumns = {{"chip"},
                                               {"to"},
                                               {"from"},
                                               {"bits"},
                                               {"random_slice", "R is"},
                                               {"variant", "decides"},
                                               {"alignment", "R lies on"},
                                               {"subnormals", "subnormal"},
                                               {"overflow", "too large"},
                                               {"infinity", "inf gives"},
                                               {"nan"},
                                               {"minus_zero", "-0"},
                                               {"bias", "mean bias"},
                                               {"bias_subnormal", "bias, subnormal"},
                                               {"evidence"}};

results::Row cells(const ChipRow& r) {
  return {name_of(r.chip),
          format_name(r.to),
          format_name(r.from),
          r.bits,
          r.slice,
          r.variant,
          r.alignment,
          r.subnormals,
          r.overflow,
          r.infinity,
          r.nan,
          r.minus_zero,
          dyadic_text(r.bias),
          dyadic_text(r.subnormal_bias),
          name_of(r.evidence)};
}

Json row_json(const ChipRow& r) {
  const auto dyadic = [](const Dyadic& d) {
    Json json;
    json["numerator"] = d.numerator;
    json["denominator_log2"] = d.exponent;
    json["text"] = dyadic_text(d);
    return json;
  };
  Json json;
  json["chip"] = name_of(r.chip);
  json["to"] = format_name(r.to);
  json["from"] = format_name(r.from);
  json["bits"] = r.bits;
  json["random_slice"] = r.slice;
  json["variant"] = r.variant;
  json["alignment"] = r.alignment;
  json["subnormals"] = r.subnormals;
  json["overflow"] = r.overflow;
  json["infinity"] = r.infinity;
  json["nan"] = r.nan;
  json["minus_zero"] = r.minus_zero;
  json["bias"] = dyadic(r.bias);
  json["bias_subnormal"] = dyadic(r.subnormal_bias);
  json["evidence"] = name_of(r.evidence);
  return json;
}

Json facts_json(const ChipFacts& f, int bits) {
  Json json;
  json["name"] = f.name;
  json["title"] = f.title;
  json["instruction"] = f.instruction;
  json["notes"] = f.notes;
  json["evidence"] = Json::array();
  for (const ChipEvidence& e : f.evidence)
    json["evidence"].push_back({{"kind", name_of(e.kind)}, {"what", e.what}, {"source", e.source}});
  json["conversions"] = Json::array();
  for (const ChipRow& row : chip_rows(f.chip, bits)) json["conversions"].push_back(row_json(row));
  return json;
}

}  // namespace

results::Table chip_table(const std::vector<Chip>& chips, int bits) {
  results::Table table{.title = "chips that round stochastically", .columns = kColumns};
  for (const Chip chip : chips)
    for (const ChipRow& row : chip_rows(chip, bits)) table.rows.push_back(cells(row));
  return table;
}

void print_chip_table(const std::vector<Chip>& chips, int bits, bool tensor_cores, ChipsForm form, std::ostream& out) {
  if (form == ChipsForm::kJson) {
    Json document;
    document["verb"] = "chips";
    document["chips"] = Json::array();
    for (const Chip chip : chips) document["chips"].push_back(facts_json(chip_facts(chip), bits));
    if (tensor_cores) document["tensor_cores"] = tensor_cores_json();
    return print_json(document);
  }
  out << results::text(chip_table(chips, bits));
  out << "\n"
         "bits: r, the number of random bits of one value; they make the number R. R is: the bits of the random word "
         "that R takes, i\n"
         "the lane of the value in the packed result (0 lowest), r: bit-reversed. R lies on: the top of what a "
         "subnormal result\n"
         "discards, or bit 0 of the source. too large, inf gives: the usual result first. mean bias: in quanta of the "
         "result,\n"
         "exact, over all discarded bits and all R; subnormal: in the first binade below the smallest normal number. "
         "evidence:\n"
         "the weakest for results of numbers and infinities; `softamp chips NAME` gives it case by case, and what the "
         "digests\n"
         "cover.\n"
         "No preset for AWS Trainium, Intel Gaudi, Google TPU: how they round stochastically is not public.\n";
  if (!tensor_cores) return;
  out << "\nTensor cores: how their products are summed\n\n";
  print_tensor_cores(form, out);
}

void print_chip(Chip chip, int bits, ChipsForm form, std::ostream& out) {
  if (form != ChipsForm::kText) return print_chip_table({chip}, bits, false, form, out);
  const ChipFacts& f = chip_facts(chip);
  out << f.name << ": " << f.title << "\ninstruction  " << f.instruction << "\n\n";
  results::Table table = chip_table({chip}, bits);
  table.columns[0].shown = results::Shown::kToPrograms;
  out << results::text(table);
  out << '\n';
  for (const std::string& note : f.notes) out << "- " << note << '\n';
  out << "\nevidence\n";
  std::vector<std::vector<std::string>> evidence;
  for (const ChipEvidence& e : f.evidence) evidence.push_back({"  " + name_of(e.kind), e.what, "[" + e.source + "]"});
  out << in_columns(evidence);
}

}  // namespace softamp::program
