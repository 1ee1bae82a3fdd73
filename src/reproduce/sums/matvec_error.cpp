// The survey's matrix-vector product: the backward error of y = A x in low precision, nearest against stochastic.
//
// A is 100 x n with entries 10^-3 U, x has entries U, all rounded to nearest to the format first. Column after column,
// y <- fl(y + fl(A_j x_j)): every product and every addition is rounded. U = (w + 1/2) 2^-32 with w the 32 random bits
// at (seed, step 0), at operation kind 3 and index 128 j + i for A_ij, at kind 4 and index j for x_j.
//
// The publication draws A and x anew for each n and in binary64; here the first n columns of one A serve, so that one
// run up to the greatest n shows all, and the data are numbers of the format, as a unit of that format would read them.
// The exact y is the sum of the exact products in binary64, which errs by less than n 2^-53 of the sum of these
// positive terms: below 1.2e-10 of y, where backward errors of 1e-4 and more are measured.
#include "softamp/names/names.h"
#include "softamp/numerics/operations.h"
#include "softamp/numerics/random.h"
#include "src/reproduce/checks.h"
#include "src/reproduce/shelf.h"
#include "src/reproduce/steps/paths.h"
#include "src/reproduce/survey.h"
#include "src/text/counted.h"

#include <tbb/parallel_for.h>

#include <algorithm>
#include <cmath>
#include <stdexcept>

namespace softamp::reproduce::matvec_error {
namespace {

using namespace survey;

const char* const kName = "matvec-error";
constexpr size_t kRows = 100;
constexpr size_t kStride = 128;  // of a column: rows 100 .. 127 are left out
constexpr size_t kRepeats = 10;
constexpr size_t kColumnsPerRound = 512;
constexpr int kUsualBits = 24;
constexpr uint64_t kGreatestN = 100'000;
constexpr double kOperationsPerSecond = 1.1e8;  // measured, two cores

/// The publication's n = round(10^(1 + 5 i / 19)), up to the greatest that is asked for.
std::vector<uint64_t> places_up_to(uint64_t greatest) {
  std::vector<uint64_t> places;
  for (const uint64_t n : log_spaced(10, 1e6, 20))
    if (n < greatest) places.push_back(n);
  places.push_back(greatest);
  return places;
}

uint64_t greatest_n(const Request& r) { return r.samples.value_or(r.brief ? 6000 : kGreatestN); }

/// One format's product: data of the columns under way, and y of the exact, the nearest and each stochastic run.
struct Product {
  FloatFormat format;
  uint64_t seed;
  Paths nearest, stochastic;
  std::vector<uint16_t> a = std::vector<uint16_t>(kColumnsPerRound * kRows);
  std::vector<uint16_t> x = std::vector<uint16_t>(kColumnsPerRound);
  std::vector<double> exact = std::vector<double>(kRows);
  std::vector<std::vector<uint16_t>> y;  ///< 0: nearest; 1 ..: the stochastic repeats

  Product(const FloatFormat& f, int bits, uint64_t s)
      : format(f),
        seed(s),
        nearest(f, experiment_semantics(RoundingMode::kNearestEven), s),
        stochastic(f, experiment_semantics(RoundingMode::kStochastic, bits), s),
        y(kRepeats + 1, std::vector<uint16_t>(kRows, static_cast<uint16_t>(zero_code(f, false)))) {}
};

/// Makes columns [from, to): their data, and the exact sums.
void make_columns(Product& p, size_t from, size_t to) {
  const RandomBits random{p.seed};
  const auto uniform = [&](uint32_t kind, uint64_t index) {
    return std::ldexp(random.bits(0, operation_of(p.format, kind), index, 32) + 0.5, -32);
  };
  for (size_t j = from; j < to; ++j) {
    const uint16_t x = static_cast<uint16_t>(fp::from_double(p.format, uniform(4, j)));
    const double value = fp::to_double(p.format, x);
    p.x[j - from] = x;
    for (size_t block = 0; block < kRows / 4; ++block) {  // four words to a draw
      const RandomBlock words = random.block(0, operation_of(p.format, 3), j * (kStride / 4) + block);
      for (size_t lane = 0; lane < 4; ++lane) {
        const size_t i = 4 * block + lane;
        const double entry = 1e-3 * std::ldexp(words.word[lane] + 0.5, -32);
        const uint64_t code = fp::from_double(p.format, entry);
        p.a[(j - from) * kRows + i] = static_cast<uint16_t>(code);
        p.exact[i] += fp::to_double(p.format, code) * value;
      }
    }
  }
}

/// One run's products and additions of columns [from, to).
void multiply(Product& p, size_t run, size_t from, size_t to) {
  const Paths& paths = run == 0 ? p.nearest : p.stochastic;
  std::vector<uint16_t> x(kRows), product(kRows);
  for (size_t j = from; j < to; ++j) {
    const std::span<const uint16_t> column(p.a.data() + (j - from) * kRows, kRows);
    std::fill(x.begin(), x.end(), p.x[j - from]);
    const uint32_t step = static_cast<uint32_t>(j);
    paths.mul(column, x, product, {operation_of(p.format, 1), step, run * kStride});
    paths.add(p.y[run], product, p.y[run], {operation_of(p.format, 2), step, run * kStride});
  }
}

/// The results at one n.
struct Sight {
  uint64_t n;
  double least_y = 0;               ///< the smallest exact y_i
  double greatest_nearest = 0;      ///< the greatest y_i that nearest gives
  double nearest = 0;               ///< backward error
  std::vector<double> stochastic;   ///< one per repeat
  double mean = 0, mean_error = 0;  ///< of (y_i - exact) / exact over all rows and repeats, and its standard error

  double average() const {
    double total = 0;
    for (const double s : stochastic) total += s;
    return total / static_cast<double>(stochastic.size());
  }
  double worst() const { return *std::max_element(stochastic.begin(), stochastic.end()); }
};

/// |A| |x| is A x, as all entries are positive: the backward error is the greatest relative error of a row.
Sight sight_of(const Product& p, uint64_t n) {
  Sight s;
  s.n = n;
  s.least_y = *std::min_element(p.exact.begin(), p.exact.end());
  std::vector<double> all;
  for (size_t run = 0; run <= kRepeats; ++run) {
    double worst = 0;
    for (size_t i = 0; i < kRows; ++i) {
      const double y = fp::to_double(p.format, p.y[run][i]), error = y / p.exact[i] - 1;
      worst = std::max(worst, std::abs(error));
      if (run == 0) s.greatest_nearest = std::max(s.greatest_nearest, y);
      if (run > 0) all.push_back(error);
    }
    if (run == 0)
      s.nearest = worst;
    else
      s.stochastic.push_back(worst);
  }
  const double count = static_cast<double>(all.size());
  double squares = 0;
  for (const double e : all) s.mean += e / count;
  for (const double e : all) squares += (e - s.mean) * (e - s.mean);
  s.mean_error = std::sqrt(squares / (count - 1) / count);  // of 1000 runs, however many columns there are
  return s;
}

std::vector<std::vector<Sight>> run_all(std::vector<Product>& all, const std::vector<uint64_t>& places, Watch& watch) {
  std::vector<std::vector<Sight>> sights(all.size());
  size_t done = 0;
  for (const uint64_t n : places) {
    while (done < n) {
      watch.at(static_cast<double>(done), static_cast<double>(places.back()));
      const size_t next = std::min<size_t>(n, done + kColumnsPerRound);
      tbb::parallel_for(size_t{0}, all.size(), [&](size_t k) { make_columns(all[k], done, next); });
      tbb::parallel_for(size_t{0}, all.size() * (kRepeats + 1),
                        [&](size_t task) { multiply(all[task / (kRepeats + 1)], task % (kRepeats + 1), done, next); });
      done = next;
    }
    for (size_t k = 0; k < all.size(); ++k) sights[k].push_back(sight_of(all[k], n));
  }
  return sights;
}

/// The sum that nearest cannot pass: the least power of two whose half distance to the next number is more than the
/// greatest product, fl(10^-3) times 1. A sum below it cannot be rounded past it, and at it nothing changes any more.
double ceiling_of(const FloatFormat& f) {
  const double greatest = fp::to_double(f, fp::from_double(f, 1e-3));
  double power = std::ldexp(1.0, f.min_exponent());
  while (std::ldexp(power, -f.precision) <= greatest) power *= 2;
  return power;
}

Plot plot_of(const FloatFormat& f, const std::vector<Sight>& sights) {
  Plot plot;
  plot.title = "Backward error of A x in " + format_name(f) + ", A 100 x n";
  plot.subtitle = "every product and addition rounded; u = 2^-" + std::to_string(f.precision);
  plot.x_label = "n (length of a row)";
  plot.y_label = "max |y - exact| / (|A| |x|)";
  plot.x_log = plot.y_log = 10;
  Curve nearest{"nearest", CurveStyle::kBold, {}, {}}, mean{"stochastic, mean of 10", CurveStyle::kBold, {}, {}};
  Curve bound{"n u", CurveStyle::kReference, {}, {}}, root{"sqrt(n) u", CurveStyle::kReference, {}, {}};
  for (const Sight& s : sights) {
    const double n = static_cast<double>(s.n), u = nearest_roundoff(f);
    for (Curve* c : {&nearest, &mean, &bound, &root}) c->x.push_back(n);
    nearest.y.push_back(s.nearest);
    mean.y.push_back(s.average());
    bound.y.push_back(std::min(1.0, n * u));
    root.y.push_back(root_bound(n, u));
  }
  plot.curves = {nearest, mean, bound, root};
  return plot;
}

void tabulate(const FloatFormat& f, const std::vector<Sight>& sights, Table& table) {
  for (const Sight& s : sights) {
    const double n = static_cast<double>(s.n), u = nearest_roundoff(f);
    table.rows.push_back({format_name(f), s.n, s.nearest, s.average(), s.worst(),
                          *std::min_element(s.stochastic.begin(), s.stochastic.end()), std::min(1.0, n * u),
                          root_bound(n, u), root_bound(n, stochastic_roundoff(f))});
  }
}

/// A product below the normal range errs by at most half the least quantum, to nearest; a sum there is exact. Of n
/// products, as a share of the smallest exact y; stochastic rounding errs by twice that.
double underflow_share(const FloatFormat& f, double n, double least_y) {
  return n * std::ldexp(1.0, f.min_quantum() - 1) / least_y;
}

/// n roundings are at most on the way of each product into y: y errs by n u / (1 - n u) of itself, and as many times
/// what underflow loses, carried along. Where n u >= 1/2 that is 1 or more, and a sum that falls short never errs so.
void check_nearest_bound(const FloatFormat& f, const std::vector<Sight>& sights, std::vector<Check>& checks) {
  double greatest = 0;
  uint64_t last = 0;
  for (const Sight& s : sights) {
    const double n = static_cast<double>(s.n), u = nearest_roundoff(f);
    if (!bound_tells(n, u)) break;
    last = s.n;
    const double relative = deterministic_bound(n, u);
    greatest = std::max(greatest, s.nearest / (relative + (1 + relative) * underflow_share(f, n, s.least_y)));
  }
  const std::string what = format_name(f) + ", nearest: backward error over n u/(1 - n u), the greatest";
  if (last == 0) return checks.push_back(recorded(what, "the bound is 1 at every n"));
  checks.push_back(
      at_most(what + " up to n = " + std::to_string(last) + ", beyond which the bound is 1", greatest, "", 1));
}

/// No y of nearest passes the ceiling, so its backward error is at least 1 - ceiling / y for the smallest exact y.
/// Where the columns are too few for every exact y to pass it, that says nothing, and both figures are recorded.
void check_nearest(const FloatFormat& f, const std::vector<Sight>& sights, std::vector<Check>& checks) {
  const Sight& last = sights.back();
  const std::string name = format_name(f), at = " at n = " + std::to_string(last.n);
  const double ceiling = ceiling_of(f);
  if (last.least_y <= ceiling) {
    checks.push_back(recorded(name + ", nearest: the greatest y" + at, six_digits(last.greatest_nearest)));
    checks.push_back(recorded(name + ", nearest: backward error" + at, six_digits(last.nearest)));
    return;
  }
  checks.push_back(
      at_most(name + ", nearest: the greatest y" + at, last.greatest_nearest, "", ceiling, ", where the sums stop"));
  const double least = 1 - ceiling / last.least_y;
  bool grows = true;  // from the n on where the bound says that the sums have stopped
  for (size_t i = 1; i < sights.size(); ++i)
    if (sights[i - 1].least_y > ceiling) grows = grows && sights[i].nearest > sights[i - 1].nearest;
  checks.push_back(judged(name + ", nearest: backward error" + at + ", growing once the sums have stopped",
                          Against::kShape, six_digits(last.nearest) + (grows ? ", growing" : ", not growing"),
                          "towards 1; at least " + six_digits(least), grows && last.nearest >= least));
}

/// u is 2^-p throughout, half of what a stochastic rounding may err by. A row errs by more than lambda 2 sqrt(n) u with
/// a probability of at most 2 n exp(-lambda^2/2) (Connolly, Higham, Mary); n operations deep is every product, n + 1
/// with its own rounding. lambda is taken so that one of a million times 1000 rows exceeds it.
void check_stochastic(const FloatFormat& f, int bits, const std::vector<Sight>& sights, std::vector<Check>& checks) {
  constexpr double kChance = 1e-9;
  bool within = true, below_root = true;
  double greatest = 0;
  for (const Sight& s : sights) {
    // What underflow adds is a sum of n independent errors as well: sqrt(n) times one.
    const double n = static_cast<double>(s.n), lost = 2 * underflow_share(f, std::sqrt(n), s.least_y);
    const double unit = std::sqrt(n + 1) * stochastic_roundoff(f) + lost;
    within = within && s.worst() <= lambda_for(n + 1, kChance) * unit;
    const double root = root_bound(n, stochastic_roundoff(f));
    below_root = below_root && (root == 1 || s.average() <= root);  // beyond 1, it says nothing
    greatest = std::max(greatest, s.worst() / unit);
  }
  const bool unbiased = bits >= kUsualBits;
  const std::string name = format_name(f);
  const std::string last = six_digits(lambda_for(static_cast<double>(sights.back().n) + 1, kChance));
  checks.push_back(judged(name + ", stochastic: backward error over 2 sqrt(n) u, the greatest of all repeats",
                          unbiased ? Against::kBound : Against::kRecorded, six_digits(greatest),
                          unbiased ? "lambda = " + six_digits(lambda_for(11, kChance)) + " to " + last : "",
                          !unbiased || within));
  checks.push_back(judged_if(unbiased, holds(name + ", stochastic: mean of the repeats below 2 sqrt(n) u at each n",
                                             Against::kShape, below_root, "below", "not below")));
  const Sight& s = sights.back();
  // It must be so where the bound says so, and is published where nearest has stopped; before that it need not be.
  const bool stopped = (f == kFp16 || f == kBf16) && s.least_y > ceiling_of(f);
  const bool below_nearest = stopped || root_bound(static_cast<double>(s.n), stochastic_roundoff(f)) < s.nearest;
  checks.push_back(judged_if(unbiased && below_nearest,
                             below(name + ", stochastic and nearest: backward error at n = " + std::to_string(s.n),
                                   s.worst(), s.nearest, "stochastic below nearest")));
  // 1000 rows with random bits of their own: their mean relative error is zero, to five standard errors.
  checks.push_back(judged_if(unbiased, few_standard_errors(name + ", stochastic: mean error of all rows at n = " +
                                                               std::to_string(s.n) + ", off zero",
                                                           s.mean / s.mean_error)));
}

/// What the stochastic runs show. With few random bits the rounding is biased, and no law of sqrt(n) holds.
std::string said_of_stochastic(const std::vector<FloatFormat>& formats, int bits,
                               const std::vector<std::vector<Sight>>& sights) {
  const Sight& last = sights[0].back();
  const std::string at = "n = " + std::to_string(last.n);
  // "0.3 in fp16 and 0.1 in bf16"
  const auto in_each = [&](const auto& figure) {
    std::string text;
    for (size_t k = 0; k < formats.size(); ++k)
      text += (k == 0                   ? ""
               : k + 1 < formats.size() ? ", "
                                        : " and ") +
              six_digits(figure(k)) + " in " + format_name(formats[k]);
    return text;
  };
  if (bits >= kUsualBits)
    return "Rounded stochastically, what is lost in one addition comes back in another: at " + at +
           " the mean backward error over sqrt(n) u is " + in_each([&](size_t k) {
             return sights[k].back().average() / root_bound(static_cast<double>(last.n), nearest_roundoff(formats[k]));
           }) +
           ". u is 2^-p, and sqrt(n) u the curve that the publication draws. A single stochastic rounding may err by "
           "2 u, so that the error may lie above that curve at small n; the checks hold it against 2 sqrt(n) u.";
  const std::string count = std::to_string(bits);
  return "Rounded stochastically with " + counted(bits, "random bit") + ", every addition loses what is below 2^-" +
         count + " of the distance between two numbers: such losses do not come back, and add up. At " + at +
         " the mean error of all rows is " + in_each([&](size_t k) { return sights[k].back().mean; }) +
         ". Nothing is asserted of sqrt(n) u then, u = 2^-p.";
}

Outcome run(const Request& request, Watch& watch) {
  const std::vector<FloatFormat> formats = narrow_formats(request, kName, {kFp16, kBf16}, 10);
  for (const FloatFormat& f : formats)
    if (f.min_exponent() > -13)  // the entries of A would mostly vanish
      throw std::invalid_argument(std::string(kName) + ": format " + format_name(f) +
                                  ": expected one whose normal numbers reach down to 2^-13");
  const int bits = random_bits_of(request, kName, kUsualBits);
  const uint64_t greatest = greatest_n(request);
  if (greatest < 100 || greatest > 1'000'000)
    throw std::invalid_argument(std::string(kName) + ": " + std::to_string(greatest) +
                                " columns (--samples): expected 100..1000000");
  const std::vector<uint64_t> places = places_up_to(greatest);

  std::vector<Product> products;
  for (const FloatFormat& f : formats) products.emplace_back(f, bits, request.seed);
  const std::vector<std::vector<Sight>> sights = run_all(products, places, watch);

  Outcome o;
  o.settings = {{"formats", names_of(formats)},
                {"roundings", {"nearest", "stochastic"}},
                {"bits", bits},
                {"variant", "carry"},
                {"seed", request.seed},
                {"rows", kRows},
                {"repeats", kRepeats},
                {"n", places},
                {"A", "fl(0.001 U)"},
                {"x", "fl(U)"}};
  Table errors{"errors",
               "Backward error max |y - exact| / (|A| |x|) of y = A x, A 100 x n",
               {"format", "n", "nearest", "stochastic: mean", "stochastic: worst", "stochastic: best", "min(1, n u)",
                "min(1, sqrt(n) u)", "min(1, 2 sqrt(n) u)"},
               {}};
  for (size_t k = 0; k < formats.size(); ++k) {
    const std::string name = format_name(formats[k]);
    tabulate(formats[k], sights[k], errors);
    o.figures.push_back({"errors-" + name, plot_of(formats[k], sights[k]),
                         "Backward error of a matrix-vector product in " + name + " against the length of a row."});
    check_nearest_bound(formats[k], sights[k], o.checks);
    check_nearest(formats[k], sights[k], o.checks);
    check_stochastic(formats[k], bits, sights[k], o.checks);
  }
  o.tables.push_back(std::move(errors));
  const bool nearly =
      std::all_of(sights.begin(), sights.end(), [](const std::vector<Sight>& of) { return of.back().nearest > 0.9; });
  o.seen =
      "Each entry of y is a running sum of n small positive products. Rounded to nearest, the sums stop once a product "
      "is less than half the distance between two numbers of the format there; what follows is lost, and as the exact "
      "y goes on growing, the relative error goes to 1: nothing of the result is right. " +
      std::string(nearly ? "The bound n u, cut off at 1, is nearly reached. " : "") +
      said_of_stochastic(formats, bits, sights);
  o.deviations =
      (greatest < 1'000'000
           ? "The publication goes on to n = 1000000; here n ends at " + std::to_string(greatest) + ", to save time. "
           : std::string()) +
      "The publication draws A and x anew for each n; here the first n columns of one A serve for all. It has "
      "A and x in binary64; here they are rounded to the format first, as a unit of that format would read "
      "them, and the exact y is that of the rounded data. The number of random bits is our choice: " +
      std::to_string(bits) + " for each rounding.";
  return o;
}

double seconds(const Request& r) {
  const double runs = static_cast<double>(kRepeats) + 1;
  return static_cast<double>(greatest_n(r)) * kRows * runs * 2 *
         static_cast<double>(r.formats.empty() ? 2 : r.formats.size()) / kOperationsPerSecond;
}

}  // namespace

Experiment experiment() {
  return {kName,
          "backward error of a 100 x n matrix-vector product: nearest goes to 1, stochastic as sqrt(n) u",
          std::string(kPublication) + " (test_matvec of its published programs)",
          kFormat | kBits | kSeed | kSamples,
          "columns of the matrix, 100..1000000 [=100000; published 1000000]",
          seconds,
          run};
}

}  // namespace softamp::reproduce::matvec_error
