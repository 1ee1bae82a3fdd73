// The experiment `tensor-cores`: the results of several generations of matrix units for the same products.
//
// Small sums first, each made to show one trait of a model: how many bits are kept below the greatest term, how many
// products are summed at once, how the sum is rounded. Then dot products of k random fp16 numbers in (0, 1], summed by
// each unit into fp32 and held against the exact sum, which integers hold.
#include "src/reproduce/shelf.h"
#include "src/reproduce/tensor_cores/tensor_core_cases.h"

#include "softamp/numerics/operations.h"
#include "softamp/numerics/random.h"
#include "src/numbers/decimal_text.h"

#include <algorithm>
#include <cmath>
#include <stdexcept>

#include <tbb/parallel_for.h>

namespace softamp::reproduce::tensor_cores {
namespace {

using namespace matrix_units;

constexpr uint64_t kUsualSamples = 32, kMostSamples = 4096;
constexpr uint32_t kLeastK = 16, kMostK = 65536, kBriefMostK = 2048;
constexpr uint64_t kBriefSamples = 6;
constexpr double kProductsPerSecond = 2.5e7;  ///< all units, on two cores

/// The units of the dot products: those that differ for fp16 operands.
constexpr Unit kDrawn[] = {Unit::kIpuHalf, Unit::kVolta, Unit::kTuring, Unit::kHopper, Unit::kFp32Chain};
constexpr size_t kDrawnUnits = std::size(kDrawn);
const char* const kDrawnTitles[] = {"IPU, half partials", "Volta", "Turing, Ampere, Ada", "Hopper, Blackwell",
                                    "fp32 chain"};

struct Size {
  uint64_t samples;
  uint32_t most_k;
};

Size size_of(const Request& request) {
  if (request.samples && (*request.samples < 2 || *request.samples > kMostSamples))
    throw std::invalid_argument("tensor-cores: samples " + std::to_string(*request.samples) + ": expected 2.." +
                                std::to_string(kMostSamples));
  return {request.samples.value_or(request.brief ? kBriefSamples : kUsualSamples),
          request.brief ? kBriefMostK : kMostK};
}

/// Relative errors of the dot products, signed: [unit][sample][size], the sizes 16, 32, 64, ...
using Errors = std::vector<std::vector<std::vector<double>>>;

/// Errors of one pair of vectors: number i of vector v (0, 1) of pair p is (R + 1) / 2048, R the 11 random bits at
/// (seed, step p, operation v, index i).
void measure(uint64_t seed, uint32_t sample, uint32_t most_k, Errors& errors) {
  RandomBits random;
  random.seed = seed;
  std::vector<uint16_t> codes[2];
  std::vector<int64_t> exact(most_k + 1, 0);  // in units of 2^-22
  for (uint32_t i = 0; i < most_k; ++i) {
    int64_t product = 1;
    for (uint32_t v = 0; v < 2; ++v) {
      const int64_t n = int64_t{random.bits(sample, v, i, 11)} + 1;
      codes[v].push_back(static_cast<uint16_t>(fp::from_double(kFp16, static_cast<double>(n) / 2048)));
      product *= n;
    }
    exact[i + 1] = exact[i] + product;
  }
  for (size_t u = 0; u < kDrawnUnits; ++u) {
    Sum sum(kDrawn[u]);
    for (uint32_t i = 0, next = kLeastK; i < most_k; ++i) {
      sum.add(codes[0][i], codes[1][i]);
      if (i + 1 != next) continue;
      next *= 2;
      const double right = static_cast<double>(exact[i + 1]) * 0x1p-22;
      errors[u][sample].push_back((static_cast<double>(sum.value()) - right) / right);
    }
  }
}

Errors measure_all(const Size& size, uint64_t seed, Watch& watch) {
  Errors errors(kDrawnUnits, std::vector<std::vector<double>>(size.samples));
  constexpr uint64_t kWave = 4;
  for (uint64_t first = 0; first < size.samples; first += kWave) {
    watch.at(static_cast<double>(first), static_cast<double>(size.samples));
    tbb::parallel_for(first, std::min(size.samples, first + kWave),
                      [&](uint64_t sample) { measure(seed, static_cast<uint32_t>(sample), size.most_k, errors); });
  }
  return errors;
}

double mean_magnitude(const std::vector<std::vector<double>>& samples, size_t at) {
  double sum = 0;
  for (const auto& s : samples) sum += std::abs(s[at]);
  return sum / static_cast<double>(samples.size());
}

/// Bounds. All numbers are positive and normal, so a group's greatest exponent E is at most the sum's, and sum >= 2^E.
/// Truncating its g products and C loses less than (g + 1) 2^(E - F), truncating the sum to fp32 less than 2^-23 of it;
/// so each of the n = ceil(k / g) groups loses less than d = (g + 1) 2^-F + 2^-23 of what it has, and never gains: the
/// relative error lies in (-n d, 0]. The fp32 chain rounds k times to nearest: its lies within (1 + 2^-24)^k - 1.
void check_bounds(const Errors& errors, std::vector<Check>& checks) {
  for (size_t u = 0; u < kDrawnUnits; ++u) {
    if (kDrawn[u] == Unit::kIpuHalf) continue;
    const TensorCore core = tensor_core(accumulator_of(kDrawn[u]), kFp16);
    double most = -1e300, nearest = 0;
    for (const auto& sample : errors[u])
      for (size_t at = 0; at < sample.size(); ++at) {
        const double k = std::ldexp(static_cast<double>(kLeastK), static_cast<int>(at));
        const double step = std::ldexp(core.group + 1.0, -core.fraction_bits) + 0x1p-23;
        const double bound = core.exists() ? k / core.group * step : std::expm1(k * std::log1p(0x1p-24));
        nearest = std::max(nearest, std::abs(sample[at]) / bound);
        most = std::max(most, sample[at]);
      }
    const bool one_sided = core.exists();
    checks.push_back(
        {std::string("dot products, ") + kDrawnTitles[u] + ": error over its bound, at most", Against::kBound,
         significant_digits(nearest, 3) + (one_sided ? most <= 0 ? ", no sum too large" : ", sums too large" : ""),
         one_sided ? "below 1, no sum too large" : "at most 1", nearest <= 1 && (!one_sided || most <= 0)});
  }
}

void check_order(const Errors& errors, std::vector<Check>& checks) {
  const size_t last = errors[0][0].size() - 1;
  std::string ours;
  bool falls = true;
  for (size_t u = 0; u < kDrawnUnits; ++u) {
    const double mean = mean_magnitude(errors[u], last);
    if (u > 0) falls = falls && mean < mean_magnitude(errors[u - 1], last);
    ours += (u ? " > " : "") + significant_digits(mean, 3);
  }
  checks.push_back(
      {"dot products: mean error at the greatest k, IPU with half partials, Volta, Turing, Hopper, fp32 chain",
       Against::kShape, ours, "falls with the number of roundings and the bits kept", falls});
}

Table error_table(const Errors& errors) {
  Table t{"errors", "Mean relative error of a dot product of k fp16 numbers in (0, 1]", {"k"}, {}};
  for (const char* title : kDrawnTitles) t.columns.push_back(title);
  for (size_t at = 0; at < errors[0][0].size(); ++at) {
    std::vector<Json> row = {kLeastK << at};
    for (const auto& unit : errors) row.push_back(mean_magnitude(unit, at));
    t.rows.push_back(row);
  }
  return t;
}

Figure error_figure(const Errors& errors, const Size& size) {
  Figure f;
  f.name = "errors";
  f.plot.title = "Error of a dot product of k fp16 numbers, by accumulator";
  f.plot.subtitle = "numbers uniform in (0, 1], mean of " + std::to_string(size.samples) + " pairs of vectors";
  f.plot.x_label = "k (products)";
  f.plot.y_label = "mean relative error";
  f.plot.x_log = 2;
  f.plot.y_log = 10;
  for (size_t u = 0; u < kDrawnUnits; ++u) {
    Curve c{kDrawnTitles[u], CurveStyle::kBold, {}, {}};
    for (size_t at = 0; at < errors[u][0].size(); ++at) {
      c.x.push_back(kLeastK << at);
      c.y.push_back(mean_magnitude(errors[u], at));
    }
    f.plot.curves.push_back(c);
  }
  f.caption =
      "Tensor cores truncate once per group: the loss always has the same sign and grows in proportion to k. Rounding "
      "to nearest after every product (fp32 chain) errs to both sides and mostly cancels. Half partials keep 11 bits.";
  return f;
}

Outcome run(const Request& request, Watch& watch) {
  const Size size = size_of(request);
  Outcome o;
  o.settings["operands"] = "fp16";
  o.settings["accumulator"] = "fp32";
  o.settings["dot_products"] = {{"numbers", "(R + 1) / 2048, R of 11 random bits"},
                                {"k", {kLeastK, size.most_k}},
                                {"pairs", size.samples},
                                {"seed", request.seed}};
  o.settings["ipu_half_partials"] = {{"amp_block", 16}, {"rounding", "nearest-even"}};
  o.settings["evidence"] = "vendor behaviour, reverse engineered: MMA-Sim (arXiv 2511.10909)";
  small_sums(o);
  quarter_sums(o);
  falling_sums(o);
  const Errors errors = measure_all(size, request.seed, watch);
  o.tables.push_back(error_table(errors));
  o.figures.push_back(error_figure(errors, size));
  check_bounds(errors, o.checks);
  check_order(errors, o.checks);
  o.seen =
      "The same products give different sums on different chips. A tensor core adds a whole group of products and the "
      "accumulator at once: it lines all of them up with the largest, cuts off what lies too far below, and truncates "
      "the result. Volta keeps 23 bits below the largest term and takes 4 products at a time, Turing, Ampere and Ada "
      "24 "
      "and 8, Hopper and Blackwell 25 and 16; so a tiny product beside two large ones that cancel is lost on one chip "
      "and kept on the next, and a sum can even fall as one of its terms grows. Because truncation always errs to the "
      "same side, the error of a long sum of positive numbers grows in proportion to its length; in fp32 with rounding "
      "to nearest it mostly cancels. None of this is documented by the vendor: these are models that others found by "
      "experiments.";
  watch.at(1, 1);
  return o;
}

double seconds(const Request& request) {
  const Size size = size_of(request);
  return static_cast<double>(size.samples) * size.most_k * static_cast<double>(kDrawnUnits) / kProductsPerSecond;
}

}  // namespace

Experiment experiment() {
  return {"tensor-cores",
          "small products that tell generations of tensor cores apart, and the error of long ones",
          "Fasi, Higham, Mikaitis, Pranesh, Numerical behavior of NVIDIA tensor cores, 2021, PeerJ CS 330; FTTN, 2024, "
          "arXiv "
          "2403.00232; MMA-Sim, 2025, arXiv 2511.10909",
          kSeed | kSamples,
          "pairs of random vectors [=32]",
          seconds,
          run};
}

}  // namespace softamp::reproduce::tensor_cores
