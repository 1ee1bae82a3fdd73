// The tensor cores in `softamp chips`.
#include <nlohmann/json.hpp>
#include <ostream>

#include "softamp/chips/tensor_core_table.h"
#include "softamp/numbers/number_text.h"
#include "src/program/chips/chips_report.h"
#include "src/results/text.h"
#include "src/text/columns.h"

namespace softamp::program {
namespace {

std::string sum_text(const TensorCoreRow& r) {
  switch (r.model.result) {
    case TensorCoreResult::kHalf: return "fp16";
    case TensorCoreResult::kE8m13: return "fp32, 13 bits";
    case TensorCoreResult::kSingle: break;
  }
  return "fp32";
}

std::string order_text(const TensorCore& t) {
  return t.order == TensorCoreOrder::kPairs ? "two groups, C last" : "C first";
}

std::vector<std::vector<std::string>> core_parts() {
  std::vector<std::vector<std::string>> lines = {{"accumulator", "results of", "taken to be alike"}};
  for (const TensorCoreParts& p : tensor_core_parts()) lines.push_back({name_of(p.accumulator), p.confirmed, p.others});
  return lines;
}

}  // namespace

results::Table tensor_core_table() {
  results::Table table{.title = "tensor cores: how their products are summed",
                       .columns = {{"accumulator"},
                                   {"operands"},
                                   {"accumulator_format", "to"},
                                   {"fraction_bits", "F"},
                                   {"group"},
                                   {"order"},
                                   {"sum_becomes", "sum becomes"},
                                   {"instruction"},
                                   {"evidence"},
                                   {"equal_results", "results"},
                                   {"results_of", "of"},
                                   {"rests_on", "rests on"}}};
  for (const TensorCoreParts& parts : tensor_core_parts())
    for (const TensorCoreRow& r : tensor_core_rows(parts.accumulator))
      table.rows.push_back({name_of(r.accumulator), format_name(r.operand), r.halves ? "fp16" : "fp32",
                            r.model.fraction_bits, r.model.group, order_text(r.model), sum_text(r), r.instruction,
                            name_of(r.evidence), r.results == 0 ? results::Cell() : results::Cell(r.results), r.gpus,
                            r.why});
  return table;
}

Json tensor_cores_json() {
  Json all = Json::array();
  for (const TensorCoreParts& parts : tensor_core_parts()) {
    Json core;
    core["accumulator"] = name_of(parts.accumulator);
    core["confirmed"] = parts.confirmed;
    core["taken_to_be_alike"] = parts.others;
    core["instructions"] = Json::array();
    for (const TensorCoreRow& r : tensor_core_rows(parts.accumulator)) {
      Json row;
      row["operands"] = format_name(r.operand);
      row["accumulator_format"] = r.halves ? "fp16" : "fp32";
      row["instruction"] = r.instruction;
      row["fraction_bits"] = r.model.fraction_bits;
      row["group"] = r.model.group;
      row["order"] = order_text(r.model);
      row["sum_becomes"] = sum_text(r);
      row["evidence"] = name_of(r.evidence);
      row["equal_results"] = r.results;
      row["results_of"] = r.gpus;
      row["rests_on"] = r.why;
      core["instructions"].push_back(std::move(row));
    }
    all.push_back(std::move(core));
  }
  return all;
}

void print_tensor_cores(ChipsForm form, std::ostream& out) {
  if (form == ChipsForm::kJson) {
    Json document;
    document["verb"] = "chips";
    document["tensor_cores"] = tensor_cores_json();
    return print_json(document);
  }
  out << results::text(tensor_core_table());
  out << '\n';
  out << in_columns(core_parts());
  out << "\n"
         "F: fraction bits that alignment keeps; group: products that are added at once. results: of real chips, each "
         "equal to\n"
         "ours, of finite numbers of ordinary size; `softamp reproduce tensor-core-vectors` counts them. inferred: "
         "from another\n"
         "instruction of the same unit, or by third parties' tests. Instructions that _mma does not list are its "
         "family's.\n"
         "`softamp run --accumulator tensorcore_ada` sums so; --partials half is the fp16 accumulator, "
         "--tensor-core-operands e4m3\n"
         "feeds it 8 bits.\n";
}

}  // namespace softamp::program
