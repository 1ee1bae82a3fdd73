// A dot product with half partials: the engine's own MatMul, with the running sum rounded to fp16 after every 1, 4 or
// 16 products, or once at the end.
//
// The matrix unit multiplies halves exactly and adds in fp32; with partialsType half the partial sum is rounded to fp16
// after a block of products. Two sets of data: x and w uniform in [0, 1) to 11 bits (positive, so that the sum outgrows
// its terms), and ones, for which theory says where the sum stops. One vector w serves for all dot products.
//
// Random bits: data at (seed, step 0), operation 2^23 + 1 (x, index row 2^20 + place) and 2^23 + 2 (w, index place);
// roundings as the executor has it, the same for all blocks and lengths.
#include "softamp/graph/executor.h"
#include "softamp/graph/graph.h"
#include "softamp/numerics/operations.h"
#include "softamp/numerics/random.h"
#include "softamp/sums/running_sum.h"
#include "src/reproduce/checks.h"
#include "src/reproduce/shelf.h"
#include "src/reproduce/survey.h"

#include <algorithm>
#include <cmath>
#include <stdexcept>

namespace softamp::reproduce::half_partials {
namespace {

using namespace survey;

const char* const kName = "half-partials";
constexpr int64_t kDots = 256, kBriefDots = 48;
constexpr int64_t kOnes = 40'000;  // a number of fp16, as are all the sums that theory predicts
constexpr int kUsualBits = 13;
constexpr double kProductsPerSecond = 1.5e8;  // measured, two cores, the data included

struct Setting {
  bool half, stochastic;
  int block;  ///< 0: all of k
};
constexpr int kBlocks[] = {1, 4, 16, 0};
constexpr Setting kSettings[] = {{true, false, 1}, {true, false, 4}, {true, false, 16}, {true, false, 0},
                                 {true, true, 1},  {true, true, 4},  {true, true, 16},  {true, true, 0}};

std::string name_of(const Setting& s) {
  return std::string(s.stochastic ? "stochastic" : "nearest") + ", block " +
         (s.block == 0 ? std::string("k") : std::to_string(s.block));
}

/// Relative errors of all dot products under one setting at one length.
struct Errors {
  Setting setting;
  int64_t length;
  double mean, sd, rms, worst;
  double deviation;  ///< greatest_deviation() of one of them, were it stochastic
};

/// rows x length and length x 1, fp16.
struct Data {
  Tensor x, w;
};

/// softamp's own product of x and w: one fp16 code per row.
std::vector<uint16_t> multiply(const Data& data, const Setting& setting, int bits, uint64_t seed) {
  GraphBuilder builder;
  const Port x = builder.placeholder("x", DType::kFloat16, data.x.shape());
  const Port w = builder.placeholder("w", DType::kFloat16, data.w.shape());
  builder.add("MatMul", {x, w}, {}, "dot");
  ExecutorOptions options;
  options.config.set("matmuls.poplar_options", PoplarOptions{{"partialsType", setting.half ? "half" : "float"}});
  options.config.set("floating_point_behaviour.esr", setting.stochastic);
  options.switches.sr_bits = bits;
  options.amp_block = setting.block;
  options.seed = seed;
  const auto executor = make_executor(builder.build(), options);
  const std::vector<std::string> fetches = {"dot"};
  const std::vector<Feed> feeds = {{"x", &data.x}, {"w", &data.w}};
  const Tensor result = std::move(executor->run(feeds, fetches).values[0]);
  const std::span<const uint16_t> codes = result.as<uint16_t>();
  return {codes.begin(), codes.end()};
}

Data uniform_data(int64_t rows, int64_t length, uint64_t seed) {
  constexpr uint32_t kX = (1u << 23) + 1, kW = (1u << 23) + 2;
  const RandomBits random{seed};
  const auto draw = [&](uint32_t operation, int64_t index) {
    return random.bits(0, operation, static_cast<uint64_t>(index), 11) / 2048.0;
  };
  std::vector<double> x, w;
  for (int64_t i = 0; i < rows; ++i)
    for (int64_t j = 0; j < length; ++j) x.push_back(draw(kX, i << 20 | j));
  for (int64_t j = 0; j < length; ++j) w.push_back(draw(kW, j));
  return {Tensor::from_values(DType::kFloat16, {rows, length}, x),
          Tensor::from_values(DType::kFloat16, {length, 1}, w)};
}

Data ones(int64_t rows) {
  return {Tensor::full(DType::kFloat16, {rows, kOnes}, 1), Tensor::full(DType::kFloat16, {kOnes, 1}, 1)};
}

/// Products of 11-bit numbers are multiples of 2^-22 below 1: up to 2^30 of them add up exactly in binary64.
struct ExactProducts {
  std::vector<double> sums;
  double squares[std::size(kBlocks)] = {};  ///< sum of (partial / sum)^2 at the ends of blocks, mean of all rows
};

ExactProducts exact_products(const Data& data) {
  const std::vector<double> x = data.x.values(), w = data.w.values();
  const int64_t rows = data.x.shape()[0], length = data.x.shape()[1];
  ExactProducts all;
  for (int64_t i = 0; i < rows; ++i) {
    double sum = 0, squares[std::size(kBlocks)] = {};
    for (int64_t j = 0; j < length; ++j) {
      sum += x[static_cast<size_t>(i * length + j)] * w[static_cast<size_t>(j)];
      for (size_t b = 0; b < std::size(kBlocks); ++b)
        if (j + 1 == length || (kBlocks[b] != 0 && (j + 1) % kBlocks[b] == 0)) squares[b] += sum * sum;
    }
    all.sums.push_back(sum);
    for (size_t b = 0; b < std::size(kBlocks); ++b)
      all.squares[b] += squares[b] / (sum * sum) / static_cast<double>(rows);
  }
  return all;
}

/// Standard deviation of a stochastic dot product's relative error, at most. A rounding onto quanta of q has variance
/// q^2/4 or less, and q <= 2^-10 s where s is what is rounded; the mean of s^2 is the exact partial sum's square and,
/// V being the relative variance of the whole, at most V times the exact sum's square more. So with R roundings
/// V <= 2^-22 (squares + R V); and the additions in fp32, k times 2^-48.
double greatest_deviation(double squares, double roundings, double length) {
  return std::sqrt((0x1p-22 * squares + 0x1p-48 * length) / (1 - 0x1p-22 * roundings));
}

double roundings_of(int block, double length) { return block == 0 ? 1 : std::ceil(length / block); }

Errors measure(const Setting& setting, int64_t length, const std::vector<uint16_t>& codes, const ExactProducts& exact) {
  std::vector<double> errors;
  for (size_t i = 0; i < codes.size(); ++i) errors.push_back(fp::to_double(kFp16, codes[i]) / exact.sums[i] - 1);
  const MeanAndDeviation m = mean_and_deviation(errors);
  double squares = 0, worst = 0;
  for (const double e : errors) squares += e * e, worst = std::max(worst, std::abs(e));
  const size_t block = static_cast<size_t>(std::find(kBlocks, std::end(kBlocks), setting.block) - kBlocks);
  const double k = static_cast<double>(length);
  return {setting,
          length,
          m.mean,
          m.sd,
          std::sqrt(squares / static_cast<double>(errors.size())),
          worst,
          greatest_deviation(exact.squares[block], roundings_of(setting.block, k), k)};
}

std::vector<int64_t> lengths(bool brief) {
  std::vector<int64_t> all;
  for (int64_t k = 16; k <= (brief ? 1 << 12 : 1 << 14); k *= 2) all.push_back(k);
  return all;
}

/// The results of a sum of ones.
struct Ones {
  Setting setting;
  double mean, sd;  ///< of all dot products; nearest: all are equal
  double theory;    ///< nearest: where it stops; stochastic: the exact sum
};

/// Nearest: p + B is rounded back to p from p = 2^11 B on, where the next number is 2 B away and p is even: the sum of
/// k ones in blocks of B is the lesser of that and k.
double predicted(const Setting& s) {
  return s.block == 0 || s.stochastic ? double{kOnes} : std::min<double>(kOnes, 2048.0 * s.block);
}

Ones sum_ones(const Setting& setting, const Data& data, int bits, uint64_t seed) {
  std::vector<double> sums;
  for (const uint16_t code : multiply(data, setting, bits, seed)) sums.push_back(fp::to_double(kFp16, code));
  const MeanAndDeviation m = mean_and_deviation(sums);
  return {setting, m.mean, m.sd, predicted(setting)};
}

const Errors& at(const std::vector<Errors>& all, bool stochastic, int block, int64_t length) {
  for (const Errors& e : all)
    if (e.setting.stochastic == stochastic && e.setting.block == block && e.length == length) return e;
  throw std::logic_error("half-partials: a setting is missing");
}

/// Standard deviation of a stochastic sum of ones, at most. Where the sum s falls between two halves q apart, a block
/// of B < q is B/q of the way: its rounding has variance B (q - B), q <= 2^-10 s. As the mean of s is what has been
/// added, t B after t blocks, all k/B of them come to at most B 2^-10 B (1 + ... + k/B).
double deviation_of_ones(int block) {
  if (block == 0) return 0;  // one rounding, of a number of fp16
  const double blocks = std::ceil(static_cast<double>(kOnes) / block);
  return std::sqrt(0x1p-10 * block * block * blocks * (blocks + 1) / 2);
}

/// Random bits that reach all that a sum of ones rounds off: B of 32, the greatest quantum.
int bits_of_ones(int block) { return block == 0 ? 1 : 5 - std::ilogb(block); }

void check_ones(const std::vector<Ones>& all, int64_t dots, int bits, std::vector<Check>& checks) {
  for (const Ones& s : all) {
    const std::string what = name_of(s.setting) + ": " + std::to_string(kOnes) + " ones";
    if (!s.setting.stochastic) {
      const bool agrees = s.mean == s.theory && s.sd == 0;
      checks.push_back(judged(what, Against::kBound, six_digits(s.mean), six_digits(s.theory) + " exactly", agrees));
      continue;
    }
    // With fewer bits what a block adds is cut off, and the sum stops.
    if (bits < bits_of_ones(s.setting.block)) {
      checks.push_back(recorded(what + ", mean", six_digits(s.mean)));
      continue;
    }
    const double error = 5 * deviation_of_ones(s.setting.block) / std::sqrt(static_cast<double>(dots));
    checks.push_back(error == 0
                         ? equal(what + ", mean", Against::kBound, six_digits(s.mean), six_digits(s.theory), " exactly")
                         : within(what + ", mean", s.mean, {s.theory, error}, six_digits, six_digits(error),
                                  " (5 standard errors)"));
  }
}

void check_errors(const std::vector<Errors>& all, int64_t dots, int bits, std::vector<Check>& checks) {
  const int64_t k = all.back().length;
  const std::string at_k = " at k = " + std::to_string(k);
  const double e1 = at(all, false, 1, k).rms, e4 = at(all, false, 4, k).rms, e16 = at(all, false, 16, k).rms,
               all_k = at(all, false, 0, k).rms;
  checks.push_back(judged("nearest: error" + at_k + ", blocks 1, 4, 16, k", Against::kShape,
                          six_digits(e1) + ", " + six_digits(e4) + ", " + six_digits(e16) + ", " + six_digits(all_k),
                          "falling with the block", e1 > e4 && e4 > e16 && e16 > all_k));
  const double s1 = at(all, true, 1, k).rms;
  // With fewer bits than that what is cut off adds up, to more than nearest loses.
  checks.push_back(judged_if(bits >= kUsualBits, below("block 1: error" + at_k + ", stochastic and nearest", s1, e1,
                                                       "stochastic below nearest")));
  // Blanchard, Higham, Mary: k/B roundings to fp16 and k to fp32, of positive terms, err by at most n u / (1 - n u)
  // with n u = k/B 2^-11 + k 2^-24, for as long as that is below 1: what falls short never errs by more.
  double greatest = 0, bias = 0;
  for (const Errors& e : all) {
    const double length = static_cast<double>(e.length);
    const double roundings = roundings_of(e.setting.block, length), nu = roundings * 0x1p-11 + length * 0x1p-24;
    if (!e.setting.stochastic && bound_tells(1, nu))
      greatest = std::max(greatest, e.worst / deterministic_bound(1, nu));
    // Carry drops less than 2^-r of a quantum in each rounding, and a quantum is at most 2^-10 of the sum.
    const double dropped = roundings * std::ldexp(1.0, -bits - 10) + length * 0x1p-24;
    const double off = std::max(0.0, std::abs(e.mean) - dropped);
    if (e.setting.stochastic) bias = std::max(bias, off / (e.deviation / std::sqrt(static_cast<double>(dots))));
  }
  checks.push_back(
      at_most("nearest: error over that of k/B roundings to fp16 and k to fp32, where it is below 1", greatest, "", 1));
  checks.push_back(few_standard_errors("stochastic: mean error, of all blocks and lengths the worst", bias,
                                       " beyond what " + std::to_string(bits) + " bits drop",
                                       ", by the greatest variance that the roundings can have"));
}

Figure figure_of(const std::vector<Errors>& all, bool stochastic) {
  const std::string mode = stochastic ? "stochastic" : "nearest";
  Plot plot;
  plot.title = "A dot product with half partials, " + mode;
  plot.subtitle = "the partial sum rounded to fp16 after every block of products";
  plot.x_label = "k (length of the dot product)";
  plot.y_label = "relative error (root mean square)";
  plot.x_log = 2;
  plot.y_log = 10;
  for (const int block : kBlocks) {
    Curve curve{block == 0 ? "all of k, as float partials" : "block " + std::to_string(block),
                block == 0 ? CurveStyle::kReference : CurveStyle::kBold,
                {},
                {}};
    for (const Errors& e : all) {
      if (e.setting.stochastic != stochastic || e.setting.block != block || !(e.rms > 0)) continue;
      curve.x.push_back(static_cast<double>(e.length));
      curve.y.push_back(e.rms);
    }
    plot.curves.push_back(curve);
  }
  return {"errors-" + mode, plot,
          "Error of dot products of uniform numbers in [0, 1) against their length, " + mode + "."};
}

Outcome run(const Request& request, Watch& watch) {
  const int64_t dots =
      static_cast<int64_t>(request.samples.value_or(static_cast<uint64_t>(request.brief ? kBriefDots : kDots)));
  if (dots < 2 || dots > 4096)
    throw std::invalid_argument(std::string(kName) + ": " + std::to_string(dots) +
                                " dot products (--samples): expected 2..4096");
  const int bits = random_bits_of(request, kName, kUsualBits);
  const std::vector<int64_t> all_lengths = lengths(request.brief);
  const double total = static_cast<double>(2 * all_lengths.back() + kOnes);
  double done = 0;

  std::vector<Errors> errors;
  size_t alike = 0, compared = 0;
  for (const int64_t length : all_lengths) {
    const Data data = uniform_data(dots, length, request.seed);
    const ExactProducts exact = exact_products(data);
    std::vector<uint16_t> whole;  // nearest, block k
    for (const Setting& setting : kSettings) {
      watch.at(done, total);
      const std::vector<uint16_t> codes = multiply(data, setting, bits, request.seed);
      if (!setting.stochastic && setting.block == 0) whole = codes;
      errors.push_back(measure(setting, length, codes, exact));
    }
    const std::vector<uint16_t> floats = multiply(data, {false, false, 16}, bits, request.seed);
    for (size_t i = 0; i < floats.size(); ++i) alike += floats[i] == whole[i];
    compared += floats.size();
    done += static_cast<double>(length);
  }
  std::vector<Ones> sums;
  const Data ones_data = ones(dots);
  for (const Setting& setting : kSettings) {
    watch.at(done, total);
    sums.push_back(sum_ones(setting, ones_data, bits, request.seed));
    done += static_cast<double>(kOnes) / std::size(kSettings);
  }

  Outcome o;
  o.settings = {{"format", "fp16"},
                {"preset", "ipu"},
                {"blocks", {1, 4, 16, "k"}},
                {"roundings", {"nearest", "stochastic"}},
                {"bits", bits},
                {"variant", "carry"},
                {"seed", request.seed},
                {"dot products", dots},
                {"lengths", all_lengths},
                {"ones", kOnes}};
  Table table{"errors",
              "Relative error of dot products of uniform numbers in [0, 1)",
              {"rounding and block", "k", "mean", "sd", "root mean square", "worst"},
              {}};
  for (const Errors& e : errors) table.rows.push_back({name_of(e.setting), e.length, e.mean, e.sd, e.rms, e.worst});
  Table stops{
      "ones", "The sum of " + std::to_string(kOnes) + " ones", {"rounding and block", "mean", "sd", "theory"}, {}};
  for (const Ones& s : sums) stops.rows.push_back({name_of(s.setting), s.mean, s.sd, s.theory});
  o.tables = {table, stops};
  o.figures = {figure_of(errors, false), figure_of(errors, true)};
  check_ones(sums, dots, bits, o.checks);
  check_errors(errors, dots, bits, o.checks);
  // One rounding of the fp32 sum is what float partials do for an fp16 result.
  o.checks.push_back(judged("nearest, block k: equal to float partials rounded once", Against::kBound,
                            std::to_string(alike) + " of " + std::to_string(compared), "all", alike == compared));
  o.seen =
      "The products of a dot product are added up, and the sum so far is kept as a half, rounded after every block of "
      "products. Rounded to nearest, a block that adds less than half the distance between two halves is lost: 40,000 "
      "ones come to 2048 with a rounding after each, to 8192 in blocks of four, to 32768 in blocks of sixteen, and to "
      "40,000 only where the whole sum is kept in fp32. Random positive numbers show the same: once the sum has "
      "outgrown "
      "its terms, the error of block 1 grows towards 1, and larger blocks put that off in proportion. Rounded "
      "stochastically the sum goes on growing with any block; what is left is an error without a preferred direction, "
      "which grows with the number of roundings only as its square root.";
  return o;
}

double seconds(const Request& r) {
  const double dots = static_cast<double>(r.samples.value_or(static_cast<uint64_t>(r.brief ? kBriefDots : kDots)));
  return dots * static_cast<double>(2 * lengths(r.brief).back() + kOnes) * std::size(kSettings) / kProductsPerSecond;
}

}  // namespace

Experiment experiment() {
  return {kName,
          "a dot product with half partials at blocks of 1, 4, 16 and all products, nearest and stochastic",
          "Graphcore, Poplar libraries, option partialsType of matrix products; the bound: P. Blanchard, N. J. Higham, "
          "T. Mary, \"A class of fast and accurate summation algorithms\", 2020, SIAM J. Sci. Comput. 42(3)",
          kBits | kSeed | kSamples,
          "dot products, 2..4096 [=256]",
          seconds,
          run};
}

}  // namespace softamp::reproduce::half_partials
