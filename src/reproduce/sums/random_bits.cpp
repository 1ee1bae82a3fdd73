// Stochastic rounding with few random bits: the bias of four variants, its effect on a long sum, and the bound that
// holds with enough bits.
//
// Bias is counted over all positions and all random numbers (random_bits_enumeration.cpp), the long sum is the
// tutorial's, 10,000 times 0.0001 in fp16 (random_bits_sum.cpp), the bound that of Connolly, Higham and Mary
// (random_bits_dots.cpp).
#include "softamp/names/names.h"
#include "src/numbers/decimal_text.h"
#include "src/reproduce/checks.h"
#include "src/reproduce/shelf.h"
#include "src/reproduce/sums/random_bits_parts.h"
#include "src/reproduce/sums/sum_cases.h"
#include "src/reproduce/survey.h"

#include <tbb/parallel_for.h>

#include <algorithm>
#include <cmath>
#include <stdexcept>

namespace softamp::reproduce::random_bits {
namespace {

using namespace few_bits;
using namespace survey;

const char* const kName = "random-bits";
constexpr uint64_t kPaths = 20'000;
constexpr uint64_t kBriefPaths = 128;
constexpr double kRoundingsPerSecond = 1e8;  // of the enumeration; measured, two cores
constexpr double kAdditionsPerSecond = 5e8;  // of the long sums; measured, two cores

std::vector<int> positions(bool brief) { return brief ? std::vector<int>{6, 8} : std::vector<int>{8, 9, 10, 11, 12}; }
std::vector<int> sum_bits(bool brief) {
  if (brief) return {4, 8, 10, 16};
  return {4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16};
}

/// All requested paths for the published variant, a quarter for the others.
uint64_t paths_of(StochasticVariant variant, uint64_t paths) {
  return variant == StochasticVariant::kCarry ? paths : std::max<uint64_t>(2, paths / 4);
}

double roundings(bool brief) {
  double total = 0;
  for (const int d : positions(brief))
    for (int r = 1; r <= d; ++r) total += std::ldexp(d == 8 ? 16 : 4, d + r);
  return total;
}

std::vector<Bias> enumerate(bool brief, Watch& watch) {
  std::vector<Bias> all;
  for (const int d : positions(brief))
    for (const StochasticVariant variant : kVariants)
      for (int r = 1; r <= d; ++r) all.push_back({variant, d, r, 0, true});
  // Costs double with each bit: in rounds of equal size from the far end, the most expensive first.
  constexpr size_t kRound = 12;
  double done = 0;
  for (size_t left = all.size(); left > 0;) {
    const size_t count = std::min(kRound, left);
    left -= count;
    tbb::parallel_for(left, left + count,
                      [&](size_t i) { all[i] = bias_of(all[i].variant, all[i].position_bits, all[i].random_bits); });
    for (size_t i = left; i < left + count; ++i)
      done += std::ldexp(all[i].position_bits == 8 ? 4 : 1, all[i].position_bits + all[i].random_bits);
    watch.at(0.1 * done, roundings(brief));
  }
  return all;
}

void check_biases(const std::vector<Bias>& all, std::vector<Check>& checks) {
  for (const StochasticVariant variant : kVariants) {
    size_t cases = 0, agreeing = 0, none = 0;
    bool everywhere = true;
    for (const Bias& b : all) {
      if (b.variant != variant) continue;
      everywhere = everywhere && b.everywhere;
      none += b.numerator == 0;
      const std::optional<int64_t> published = published_bias(b);
      if (published) ++cases;
      if (published && *published == b.numerator) ++agreeing;
    }
    const std::string name = name_of(variant);
    const char* formula = variant == StochasticVariant::kCarry  ? "2^-(D+1) - 2^-(r+1)"
                          : variant == StochasticVariant::kHalf ? "2^-(D+1) where D > r"
                                                                : "0";
    if (variant != StochasticVariant::kOdd)
      checks.push_back(judged(name + ": bias over all positions of D bits and all random numbers of r",
                              Against::kFigure,
                              std::to_string(agreeing) + " of " + std::to_string(cases) + " (D, r) equal " + formula,
                              "all", cases > 0 && agreeing == cases));
    else
      checks.push_back(recorded(name + ": bias over all positions of D bits and all random numbers of r",
                                "0 in " + std::to_string(none) + " (D, r)"));
    // The rule sees d alone, so the count is the same above even and odd numbers, below zero and among subnormals.
    checks.push_back(holds(name + ": same bias above odd, for negative and for subnormal results", Against::kBound,
                           everywhere, "the same", "not the same"));
  }
}

std::vector<LongSum> sums_of(bool brief, uint64_t paths, uint64_t seed, Watch& watch) {
  std::vector<LongSum> all;
  const std::vector<int> bits = sum_bits(brief);
  const double total = static_cast<double>(std::size(kVariants) * bits.size());
  for (const StochasticVariant variant : kVariants)
    for (const int r : bits) {
      const auto tell = [&](uint64_t additions) {
        const double share = static_cast<double>(additions) / static_cast<double>(kAdditions);
        watch.at(0.1 + 0.8 * (static_cast<double>(all.size()) + share) / total, 1);
      };
      tell(0);
      all.push_back(long_sum(variant, r, paths_of(variant, paths), seed, tell));
    }
  return all;
}

/// The mean of P independent sums lies within five standard errors sd / sqrt(P) of the exact one, but for once in 1.7
/// million; their standard deviation within 5 sd / sqrt(2 (P - 1)), the sums being nearly normal.
void check_sums(const std::vector<LongSum>& all, std::vector<Check>& checks) {
  for (const StochasticVariant variant : kVariants) {
    double off = 0, spread = 0;
    bool many = true;
    for (const LongSum& s : all) {
      if (s.variant != variant) continue;
      many = many && s.paths >= kFewSamples;
      const double count = static_cast<double>(s.paths);
      off = std::max(off, std::abs(s.mean - s.exact_mean) / (s.exact_sd / std::sqrt(count)));
      spread = std::max(spread, std::abs(s.sd / s.exact_sd - 1) * std::sqrt(2 * (count - 1)));
    }
    checks.push_back(few_standard_errors(
        name_of(variant) + ": means of the long sum against its exact distribution, the worst r", off));
    // Nearly normal as the sums are, a standard deviation of a few of them is not.
    checks.push_back(judged_if(
        many, few_standard_errors(name_of(variant) + ": standard deviations of the long sum, the worst r", spread)));
  }
  for (const LongSum& s : all)
    for (const ComputedMean& computed : kComputedMeans) {
      if (s.variant != StochasticVariant::kCarry || s.random_bits != computed.random_bits) continue;
      const double count = static_cast<double>(s.paths), mean = number_of_decimal(computed.mean).value();
      const double theirs = 5 * s.exact_sd / std::sqrt(kComputedSums) + kComputedHalfDigit;
      const double both = 5 * s.exact_sd * std::sqrt(1 / count + 1 / kComputedSums) + kComputedHalfDigit;
      checks.push_back(judged(
          "carry, r = " + std::to_string(s.random_bits) + ": mean of the long sum, against 20,000 " + "computed apart",
          Against::kBound, six_digits(s.mean) + " (exact " + six_digits(s.exact_mean) + ")",
          six_digits(mean) + " +- " + six_digits(both) + " (exact +- " + six_digits(theirs) + ")",
          std::abs(s.mean - mean) <= both && std::abs(s.exact_mean - mean) <= theirs));
    }
}

void check_dots(const std::vector<DotErrors>& all, std::vector<Check>& checks) {
  for (const FloatFormat& f : {kFp16, kBf16}) {
    double worst = 0, off = 0;
    for (const DotErrors& d : all) {
      if (d.format != f) continue;
      worst = std::max(worst, d.worst);
      off = std::max(off, std::abs(d.mean) / (d.sd / std::sqrt(static_cast<double>(kDots))));
    }
    checks.push_back(judged(format_name(f) + ": error of 1000 stochastic dot products over sqrt(n) u, the greatest",
                            Against::kBound, six_digits(worst), "below lambda = 4", worst < 4));
    checks.push_back(
        few_standard_errors(format_name(f) + ": mean error of 1000 stochastic dot products, the worst n", off));
  }
}

Plot bias_plot(const std::vector<Bias>& all, int position_bits) {
  Plot plot;
  plot.title = "Bias of stochastic rounding with few random bits";
  plot.subtitle =
      "mean of rounded - exact over all positions of " + std::to_string(position_bits) + " bits and all random numbers";
  plot.x_label = "random bits r";
  plot.y_label = "|bias| (quanta of the result)";
  plot.y_log = 2;
  for (const StochasticVariant variant : {StochasticVariant::kCarry, StochasticVariant::kHalf}) {
    Curve curve{name_of(variant) + (variant == StochasticVariant::kCarry ? ", toward zero" : ", away from zero"),
                CurveStyle::kBold,
                {},
                {}};
    for (const Bias& b : all) {
      if (b.variant != variant || b.position_bits != position_bits || b.numerator == 0) continue;
      curve.x.push_back(b.random_bits);
      curve.y.push_back(std::abs(b.value()));
    }
    plot.curves.push_back(curve);
  }
  Curve formula{"2^-(r+1)", CurveStyle::kReference, {}, {}};
  for (int r = 1; r <= position_bits; ++r) {
    formula.x.push_back(r);
    formula.y.push_back(std::ldexp(1.0, -r - 1));
  }
  plot.curves.push_back(formula);
  return plot;
}

Plot sum_plot(const std::vector<LongSum>& all, uint64_t paths) {
  Plot plot;
  plot.title = "10,000 times 0.0001 in fp16 with few random bits";
  plot.subtitle = "mean of " + std::to_string(paths) + " stochastic sums (carry), of a quarter of that (others)";
  plot.x_label = "random bits r";
  plot.y_label = "mean of the sum";
  for (const StochasticVariant variant : kVariants) {
    Curve curve{name_of(variant), CurveStyle::kBold, {}, {}};
    for (const LongSum& s : all) {
      if (s.variant != variant) continue;
      curve.x.push_back(s.random_bits);
      curve.y.push_back(s.mean);
    }
    plot.curves.push_back(curve);
  }
  const double exact = std::ldexp(1678.0 * kAdditions, -24);
  plot.curves.push_back({"exact", CurveStyle::kReference, {4, 16}, {exact, exact}});
  return plot;
}

Outcome run(const Request& request, Watch& watch) {
  const uint64_t paths = request.samples.value_or(request.brief ? kBriefPaths : kPaths);
  if (paths < 2 || paths > uint64_t{1} << 20)
    throw std::invalid_argument(std::string(kName) + ": " + std::to_string(paths) +
                                " sums (--samples): expected 2..1048576");
  const std::vector<Bias> biases = enumerate(request.brief, watch);
  const std::vector<LongSum> sums = sums_of(request.brief, paths, request.seed, watch);
  const std::vector<DotErrors> dots = dot_errors(request.seed, request.brief ? 1000 : 10000);

  Outcome o;
  Json variants = Json::array();
  for (const StochasticVariant v : kVariants) variants.push_back(name_of(v));
  o.settings = {{"formats", {"fp16", "bf16"}},
                {"variants", variants},
                {"position bits", positions(request.brief)},
                {"random bits of the sums", sum_bits(request.brief)},
                {"sums", paths},
                {"additions", kAdditions},
                {"dot products", kDots},
                {"random bits of the dot products", 16},
                {"seed", request.seed}};
  Table bias{"bias",
             "Bias in quanta over all positions of D bits and all random numbers of r bits",
             {"variant", "D", "r", "bias", "bias, decimal", "published"},
             {}};
  for (const Bias& b : biases) {
    Bias published = b;
    published.numerator = published_bias(b).value_or(0);
    bias.rows.push_back({name_of(b.variant), b.position_bits, b.random_bits, b.text(), b.value(),
                         published_bias(b) ? Json(published.text()) : Json()});
  }
  Table sum{"sums",
            "10,000 times 0.0001 in fp16: mean and standard deviation of the sum",
            {"variant", "r", "sums", "mean", "sd", "exact mean", "exact sd"},
            {}};
  for (const LongSum& s : sums)
    sum.rows.push_back({name_of(s.variant), s.random_bits, s.paths, s.mean, s.sd, s.exact_mean, s.exact_sd});
  Table dot{"dots",
            "Relative error of 1000 stochastic dot products of n numbers in [1/2, 1)",
            {"format", "n", "greatest, over sqrt(n) u", "mean", "sd"},
            {}};
  for (const DotErrors& d : dots) dot.rows.push_back({format_name(d.format), d.n, d.worst, d.mean, d.sd});
  o.tables = {bias, sum, dot};

  check_biases(biases, o.checks);
  check_sums(sums, o.checks);
  check_dots(dots, o.checks);
  o.figures.push_back({"bias", bias_plot(biases, positions(request.brief).back()),
                       "Bias against the number of random bits. The variants rne and odd have none and no curve."});
  o.figures.push_back({"sums", sum_plot(sums, paths), "Mean of the long sum against the number of random bits."});
  o.seen =
      "A stochastic rounding with r random bits can distinguish only 2^r places between two neighbouring numbers. The "
      "variant carry, which the IPU and NVIDIA's conversion use, drops the digits below these, and so rounds toward "
      "zero by 2^-(r+1) of a quantum on average; the variant half adds half a place, and rne and odd first round the "
      "place to nearest, which takes the bias away. A bias of a fraction of a quantum is small in one operation, but "
      "it has the same sign in each: over 10,000 additions with four random bits a sum of 1 loses six percent under "
      "carry. Being right on average over all places is not the same as being right at each: one number added again "
      "and again falls on the same places, so here the other variants err as well with few bits, by about three "
      "percent, up or down. With 13 bits and more nothing is dropped in this sum and the four variants agree. The dot "
      "products show what remains when there is no bias: errors that cancel, and stay below a small multiple of "
      "sqrt(n) u.";
  return o;
}

double seconds(const Request& r) {
  const double paths = static_cast<double>(r.samples.value_or(r.brief ? kBriefPaths : kPaths));
  const double sums = 1.75 * static_cast<double>(sum_bits(r.brief).size());
  return roundings(r.brief) / kRoundingsPerSecond +
         sums * paths * static_cast<double>(kAdditions) / kAdditionsPerSecond;
}

}  // namespace

Experiment experiment() {
  return {
      kName,
      "bias of four stochastic variants against the number of random bits, exactly and in a long sum",
      "A. Fitzgibbon, S. Felix, \"On stochastic rounding with few random bits\", 2025, ARITH 2025; the bound: "
      "M. P. Connolly, N. J. Higham, T. Mary, \"Stochastic rounding and its probabilistic backward error analysis\", "
      "2021, SIAM J. Sci. Comput. 43(1)",
      kSeed | kSamples,
      "long sums per number of bits of the variant carry, a quarter of that of the others [=20000]",
      seconds,
      run};
}

}  // namespace softamp::reproduce::random_bits
