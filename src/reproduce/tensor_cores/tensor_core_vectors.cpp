// The experiment `tensor-core-vectors`: results that real tensor cores gave, case by case, against our models of them.
//
// Each set of files (vector_files.h) is computed by the model of its instruction, and equal results are counted. Models
// that differ in one trait are counted beside it: where one of them has as many equal results, the data do not show
// that trait.
#include <algorithm>
#include <set>
#include <tuple>

#include "softamp/names/names.h"
#include "src/reproduce/shelf.h"
#include "src/reproduce/tensor_cores/vector_files.h"

namespace softamp::reproduce::tensor_core_vectors {
namespace {

using namespace matrix_units;

constexpr size_t kBriefLines = 250;
constexpr double kSecondsPerSet = 0.15;
constexpr int kUsualSets = 24;

/// A model, and how it takes C.
struct Model {
  TensorCore core;
  bool without_c = false;
  bool c_first = false;  ///< of pairs: C is what the first group begins with
};

/// D of one case, an fp32 code; of an fp16 result that of the same number.
uint32_t result_of(const Model& m, const uint32_t* a, const uint32_t* b, size_t k, uint32_t c) {
  const bool halves = m.core.result == TensorCoreResult::kHalf;
  uint32_t sum = m.without_c ? 0 : halves ? tensor_core_half(c) : c;
  TensorCore core = m.core;
  std::vector<size_t> order(k);
  for (size_t i = 0; i < k; ++i) order[i] = i;
  if (m.c_first) {  // the same groups, chained
    core.order = TensorCoreOrder::kChain;
    for (size_t i = 0; i < k; ++i) order[i / 32 * 32 + (i >> 1 & 1) * 16 + (i % 32 >> 2) * 2 + (i & 1)] = i;
  }
  const auto step = static_cast<size_t>(core.step());
  for (size_t first = 0; first < k; first += step) {
    FusedGroup group;
    for (size_t i = first; i < std::min(k, first + step); ++i) group.add(core, a[order[i]], b[order[i]]);
    sum = static_cast<uint32_t>(group.round(core, sum, Semantics::ieee()).code);
  }
  return halves ? tensor_core_single(sum) : sum;
}

/// Whether a case has the result that the model gives; of NaNs, whose bits the files do not tell, each is any other.
bool is_equal(const Model& m, const Vectors& v, size_t line) {
  const uint32_t d = result_of(m, v.a.data() + line * v.k, v.b.data() + line * v.k, v.k, v.c[line]);
  return d == v.d[line] || (kFp32.is_nan(d) && kFp32.is_nan(v.d[line]));
}

struct Count {
  size_t equal = 0, lines = 0;
  size_t first_unequal = 0;  ///< number of the line; 0: none
};
Count count_equal(const Model& m, const Vectors& v, size_t lines) {
  Count count;
  count.lines = std::min(lines, v.lines);
  for (size_t i = 0; i < count.lines; ++i) {
    const bool equal = is_equal(m, v, i);
    count.equal += equal;
    if (!equal && count.first_unequal == 0) count.first_unequal = i + 1;
  }
  return count;
}

/// The least and the greatest F with which every line is equal, among those that the integers of fused_sum hold.
// implements: N475
std::pair<int, int> as_good(Model model, const Vectors& v, size_t lines) {
  constexpr int kMostBits = 29;
  const auto all_equal = [&](int fraction_bits) {
    model.core.fraction_bits = fraction_bits;
    for (size_t i = 0; i < std::min(lines, v.lines); ++i)
      if (!is_equal(model, v, i)) return false;
    return true;
  };
  const int f = model.core.fraction_bits;
  std::pair<int, int> range{f, f};
  while (range.first > 2 * model.core.operand.mantissa_bits() && all_equal(range.first - 1)) --range.first;
  while (range.second < kMostBits && all_equal(range.second + 1)) ++range.second;
  return range;
}

/// The model with another trait.
struct Alternative {
  const char* column;
  bool exists;
  Model model;
};
// implements: N475
std::vector<Alternative> alternatives_of(const Model& model, size_t k) {
  const auto other = [&](auto change) {
    Model m = model;
    change(m);
    return m;
  };
  const bool pairs = model.core.order == TensorCoreOrder::kPairs;
  return {{"F - 1", true, other([](Model& m) { --m.core.fraction_bits; })},
          {"F + 1", true, other([](Model& m) { ++m.core.fraction_bits; })},
          {"half the group", !pairs && k > static_cast<size_t>(model.core.group) / 2,
           other([](Model& m) { m.core.group /= 2; })},
          {"twice the group", !pairs && k > static_cast<size_t>(model.core.group),
           other([](Model& m) { m.core.group *= 2; })},
          {"one chain of k", pairs, other([](Model& m) { m.core.order = TensorCoreOrder::kChain; })},
          {"C first", pairs, other([](Model& m) { m.c_first = true; })}};
}

const char* name_of(TensorCoreResult result) {
  return result == TensorCoreResult::kHalf ? "fp16" : result == TensorCoreResult::kSingle ? "fp32" : "e8m13";
}

Outcome without_data() {
  Outcome o;
  o.skipped =
      "no results of tensor cores: expected --data DIR with a folder for each GPU, or with a folder tensor_cores that "
      "has them (north-numerical-computing/MATLAB-tensor-core, model_validation)";
  return o;
}

// implements: N475
Outcome run(const Request& request, Watch& watch) {
  if (request.data.empty()) return without_data();
  const std::vector<VectorSet> sets = vector_sets(request.data);
  const size_t most = request.brief ? kBriefLines : ~size_t{0};
  Outcome o;
  Table t{"sets",
          "Results of real tensor cores, and how many of ours are equal",
          {"GPU", "operands", "result", "k", "model", "instruction", "F", "group", "sum becomes", "lines", "equal",
           "first unequal line", "SHA-256 of a, b, c, d"},
          {}};
  Table others{"alternatives",
               "Equal results of models that differ in one trait: where they are as many, the data do not show it",
               {"GPU", "operands", "result", "lines", "the model", "least F as good", "greatest F as good"},
               {}};
  size_t all = 0;
  std::set<std::string> distinct;
  for (const VectorSet& set : sets) {
    const Vectors v = read_vectors(set);
    const VectorModel by = model_of(set);
    const Model model{tensor_core(by.accumulator, set.operand, set.halves), by.without_c};
    const Count count = count_equal(model, v, most);
    const std::string operands = format_name(set.operand), result = set.halves ? "fp16" : "fp32";
    t.rows.push_back({set.gpu, operands, result, v.k, softamp::name_of(by.accumulator), by.instruction,
                      model.core.fraction_bits, model.core.group, name_of(model.core.result), count.lines, count.equal,
                      count.first_unequal == 0 ? Json() : Json(count.first_unequal), v.digest});
    std::vector<Json> row = {set.gpu, operands, result, count.lines, count.equal, {}, {}};
    if (count.equal == count.lines) std::tie(row[5], row[6]) = as_good(model, v, most);
    for (const Alternative& a : alternatives_of(model, v.k)) {
      if (others.rows.empty()) others.columns.emplace_back(a.column);
      row.push_back(a.exists ? Json(count_equal(a.model, v, most).equal) : Json());
    }
    others.rows.push_back(row);
    const std::string of_all = " of " + std::to_string(count.lines) + " equal";
    o.checks.push_back({set.gpu + ", " + operands + " to " + result, Against::kFigure,
                        std::to_string(count.equal) + of_all, std::to_string(count.lines) + of_all,
                        count.equal == count.lines && count.lines > 0});
    all += count.lines;
    distinct.insert(v.digest);
    watch.at(static_cast<double>(t.rows.size()), static_cast<double>(sets.size()));
  }
  o.settings["sets"] = sets.size();
  o.settings["different_sets"] = distinct.size();
  o.settings["lines"] = all;
  o.settings["most_lines_of_a_set"] = request.brief ? Json(kBriefLines) : Json();
  o.tables = {t, others};
  o.seen =
      "Each line of these files is what a real GPU made of K products and an accumulator. A model is the way in which "
      "one instruction adds: how many bits are kept below the largest term, how many products are added at once, what "
      "the sum becomes. Where every result is equal, the model is what that GPU does for such numbers: finite ones of "
      "ordinary size, without NaN, infinities, overflows and subnormal results. The second table says what they "
      "cannot tell: results of fp16, and sums of 8-bit products in 25 bits, keep so little that neighbours of F give "
      "the same ones. Sets with one digest are one set of bytes under the names of two GPUs. 8-bit "
      "operands on Hopper and Blackwell go two ways: wgmma adds 32 products in 13 bits, mma.sync takes two groups "
      "of 16 in 25 bits, as for fp16, and adds C last, to nearest.";
  if (request.brief) o.deviations = "Only the first " + std::to_string(kBriefLines) + " lines of each set.";
  return o;
}

double seconds(const Request& request) {
  if (request.data.empty()) return 0;
  return kSecondsPerSet * kUsualSets / (request.brief ? 10 : 1);
}

}  // namespace

Experiment experiment() {
  return {"tensor-core-vectors",
          "results of real tensor cores, from V100 to B200, against the models of them",
          "F. A. Khattak, M. Mikaitis: Accurate Models of NVIDIA Tensor Cores, 2025, arXiv 2512.07004; results in its "
          "MATLAB-tensor-core (commit b12b5a7), model_validation",
          kData,
          "",
          seconds,
          run,
          vector_files};
}

}  // namespace softamp::reproduce::tensor_core_vectors
