// The weight update that vanishes, after Micikevicius et al., section 3.1: an update below half of a weight's last
// place is lost where weights are kept in fp16 and rounded to nearest; stochastic rounding, or a copy of the weights in
// fp32, keeps it. First with one weight, where all is known exactly, then in the training of a small network.
#include <algorithm>
#include <cmath>
#include <stdexcept>
#include <utility>

#include "softamp/names/names.h"
#include "softamp/numbers/number_text.h"
#include "softamp/numerics/operations.h"
#include "softamp/sums/running_sum.h"
#include "src/numbers/decimal_text.h"
#include "src/reproduce/checks.h"
#include "src/reproduce/shelf.h"
#include "src/reproduce/steps/paths.h"
#include "src/reproduce/steps/vanishing_update_runs.h"

namespace softamp::reproduce::vanishing_update {
namespace {

constexpr int kDefaultBits = 13;
constexpr uint64_t kBriefSteps = 120;

/// Rounding sites of the single weight, one a format: the networks are trained with the same seed, and the operations
/// of their graphs are numbered from 0.
constexpr uint32_t kSites = 1u << 23;

/// Updates of single weights between two words to the watch.
constexpr size_t kUpdatesToTell = 1 << 22;
constexpr double kSingleShare = 0.1;  ///< of the whole time that is told for them

/// Measured on two cores: steps of the network's training, and single stochastic updates.
constexpr double kStepsPerSecond = 3500, kUpdatesPerSecond = 60e6;

struct Plan {
  std::vector<FloatFormat> formats;
  UpdateSetup training;
  std::vector<uint64_t> seeds;
  size_t paths = 10000;
  int bits = kDefaultBits;
  uint64_t seed = 0;
  /// The trainings are of fp16 alone: they are left out where that is not among the formats.
  bool trains = true;
};

bool has_fp16(const std::vector<FloatFormat>& formats) {
  return std::find(formats.begin(), formats.end(), kFp16) != formats.end();
}

Plan plan_of(const Request& request) {
  Plan plan;
  plan.formats = request.formats;
  if (plan.formats.empty()) plan.formats = {kFp16, kBf16};
  for (const FloatFormat& f : plan.formats)
    if (f.storage_bits() > 16 || f.min_exponent() > -f.precision - 1)
      throw std::invalid_argument("vanishing-update: --format is " + format_name(f) +
                                  "; expected one of at most 16 bits whose normal numbers reach down to a quarter of "
                                  "the last place of 1: fp16, bf16, e5m2, e4m3, ...");
  plan.bits = request.bits.value_or(kDefaultBits);
  if (plan.bits < 1 || plan.bits > 32)
    throw std::invalid_argument("vanishing-update: --bits is " + std::to_string(plan.bits) + "; expected 1..32");
  plan.paths = request.samples.value_or(request.brief ? 1000 : 10000);
  if (plan.paths > 10000000)
    throw std::invalid_argument("vanishing-update: --samples is " + std::to_string(plan.paths) +
                                " stochastic paths; expected 1..10000000");
  plan.seed = request.seed;
  plan.trains = has_fp16(plan.formats);
  plan.training.bits = plan.bits;
  if (request.brief) {
    plan.training.steps = kBriefSteps;
    plan.training.image = 12;
    plan.training.images = 512;
  }
  for (uint64_t i = 0; i < (request.brief ? 2 : 3); ++i) plan.seeds.push_back(request.seed + i);
  return plan;
}

/// The code of 2^exponent, a normal number.
uint64_t power(const FloatFormat& f, int exponent) {
  return static_cast<uint64_t>(exponent + f.bias) << f.mantissa_bits();
}

/// One weight, one update, rounded to nearest. Next to w = 1 the places above are 2^(1-p) wide, those below 2^-p (p:
/// the precision). An update of half a place is a tie, which goes to the even significand, that of 1: it vanishes. The
/// next larger number of the format does not. So the largest ratio of a weight to an update that still adds is just
/// below 2^p, in fp16 2048, as published.
void single_update(const Plan& plan, Outcome& o) {
  Table table{"single",
              "w = 1, one update u, rounded to nearest",
              {"format", "operation", "u", "w_over_u", "new_w", "vanishes"},
              {}};
  for (const FloatFormat& f : plan.formats) {
    const uint64_t one = power(f, 0);
    for (const bool add : {true, false}) {
      const uint64_t half = power(f, add ? -f.precision : -f.precision - 1);
      bool as_predicted = true;
      for (const uint64_t u : {half - 1, half, half + 1}) {
        const Semantics s = experiment_semantics(RoundingMode::kNearestEven);
        const uint64_t w = add ? fp::add(f, one, u, s).code : fp::sub(f, one, u, s).code;
        const bool vanishes = w == one;
        as_predicted = as_predicted && vanishes == (u <= half);
        table.rows.push_back({format_name(f), add ? "w + u" : "w - u", exact_decimal(f, u), 1 / value_of(f, u),
                              exact_decimal(f, w), vanishes});
      }
      const double ratio = std::ldexp(1.0, add ? f.precision : f.precision + 1);
      const bool published = f == kFp16 && add;
      o.checks.push_back(
          holds(format_name(f) + ", nearest: least w / u at which " + (add ? "1 + u" : "1 - u") + " is 1",
                published ? Against::kFigure : Against::kBound, as_predicted, fixed_places(ratio, 0), "other"));
    }
  }
  o.tables.push_back(std::move(table));
}

struct ManyUpdates {
  std::vector<double> steps, nearest, stochastic, master;  ///< the weight on the way; stochastic: the mean
};

/// w = 1, and 2^p times w <- w + 2^-(p+1), a quarter of a place: to nearest nothing ever happens; stochastically w goes
/// up by a place in one of four steps; in fp32 every addition is exact, and w ends at 1.5. `told`: hears the share
/// done.
template <class Told>
ManyUpdates many_updates(const Plan& plan, const FloatFormat& f, uint32_t operation, const Told& told, Outcome& o,
                         Table& table) {
  const auto count = uint32_t{1} << f.precision;
  const uint32_t stretch = std::max(1u, count / 16);  // between two points of the curves
  const uint64_t one = power(f, 0), u = power(f, -f.precision - 1);
  const Paths nearest(f, experiment_semantics(RoundingMode::kNearestEven), plan.seed);
  const Paths stochastic(f, experiment_semantics(RoundingMode::kStochastic, plan.bits), plan.seed);
  std::vector<uint16_t> still(1, static_cast<uint16_t>(one)), w(plan.paths, static_cast<uint16_t>(one));
  const std::vector<uint16_t> update(plan.paths, static_cast<uint16_t>(u));
  const Semantics wide = Semantics::ieee();
  uint64_t master = power(kFp32, 0);
  ManyUpdates m;
  bool below_two = true;
  size_t untold = kUpdatesToTell;
  for (uint32_t step = 0; step <= count; ++step, untold += plan.paths) {
    if (untold >= kUpdatesToTell) {
      told(static_cast<double>(step) / count);
      untold = 0;
    }
    if (step % stretch == 0) {
      std::vector<double> values;
      for (const uint16_t code : w) values.push_back(value_of(f, code));
      m.steps.push_back(step);
      m.nearest.push_back(value_of(f, still[0]));
      m.stochastic.push_back(mean_and_deviation(values).mean);
      m.master.push_back(value_of(kFp32, master));
      below_two = below_two && *std::max_element(values.begin(), values.end()) < 2;
    }
    if (step == count) break;
    nearest.add(still, std::span(update).first(1), still, {operation, step, 0});
    stochastic.add(w, update, w, {operation, step, 0});
    master = fp::add(kFp32, master, power(kFp32, -f.precision - 1), wide).code;
  }
  // An addition goes up by a place P with the probability u / P, so that its error has mean 0 and the variance
  // u (P - u); errors of different steps are uncorrelated. While w < 2, P = 4 u: a quarter, exact in 2 random bits, and
  // 3 u^2. Each of the 2^p additions may go up, and 2^(p-1) of them reach 2, 2^(p-1) more 4, so that P <= 8 u always:
  // an eighth, exact in 3 bits, and at most 7 u^2.
  const double variance = (below_two ? 3 : 7) * std::ldexp(1.0, -2 * f.precision - 2);
  const double margin = 5 * std::sqrt(variance * count / static_cast<double>(plan.paths));
  const std::string name = format_name(f) + ", " + std::to_string(count) + " updates of " + exact_decimal(f, u) + ": ";
  table.rows.push_back(
      {format_name(f), exact_decimal(f, u), count, m.nearest.back(), m.stochastic.back(), m.master.back(), margin});
  o.checks.push_back(
      equal(name + "nearest", Against::kBound, round_trip_text(m.nearest.back()), "1", ": every update vanishes"));
  o.checks.push_back(
      equal(name + "fp32 master", Against::kBound, round_trip_text(m.master.back()), "1.5", ", exactly"));
  const bool derived = plan.bits >= (below_two ? 2 : 3);
  o.checks.push_back({name + "stochastic, mean", derived ? Against::kBound : Against::kRecorded,
                      fixed_places(m.stochastic.back(), 6),
                      derived ? "1.5 within 5 standard errors, " + significant_digits(margin, 2) : "-",
                      !derived || std::fabs(m.stochastic.back() - 1.5) <= margin});
  return m;
}

/// Means of windows, so that a curve of thousands of noisy losses can be read.
Curve smoothed(const std::string& title, CurveStyle style, const std::vector<double>& losses, size_t windows) {
  Curve curve{title, style, {}, {}};
  const size_t width = std::max<size_t>(1, losses.size() / windows);
  for (size_t first = 0; first + width <= losses.size(); first += width) {
    double sum = 0;
    for (size_t i = first; i < first + width; ++i) sum += losses[i];
    curve.x.push_back(static_cast<double>(first) + static_cast<double>(width) / 2);
    curve.y.push_back(sum / static_cast<double>(width));
  }
  return curve;
}

double last_quarter(const std::vector<double>& losses) {
  const size_t quarter = (losses.size() + 3) / 4;
  double sum = 0;
  for (size_t i = losses.size() - quarter; i < losses.size(); ++i) sum += losses[i];
  return sum / static_cast<double>(quarter);
}

/// Trains in all four ways with each seed. All four see the same images from the same first weights (fp16's rounded).
void trainings(const Plan& plan, Watch& watch, Outcome& o) {
  Table table{"trainings", "Mean training loss over the last quarter of the steps", {"weights"}, {}};
  for (const uint64_t seed : plan.seeds) table.columns.push_back("seed_" + std::to_string(seed));
  table.columns.push_back("mean");
  Plot plot;
  plot.title = "Training with small updates";
  plot.subtitle = "a network of two dense layers, Adam at a rate of " + significant_digits(plan.training.rate, 6);
  plot.x_label = "step";
  plot.y_label = "training loss";
  std::vector<std::vector<double>> ends;
  const double parts = static_cast<double>(keepings().size() * plan.seeds.size());
  for (size_t k = 0; k < keepings().size(); ++k) {
    const Keeping& keeping = keepings()[k];
    ends.emplace_back();
    std::vector<Json> row = {keeping.name};
    for (size_t i = 0; i < plan.seeds.size(); ++i) {
      const auto part = static_cast<double>(k * plan.seeds.size() + i);
      const std::vector<double> losses = losses_of(plan.training, keeping, plan.seeds[i], [&](double share) {
        watch.at(kSingleShare + (1 - kSingleShare) * (part + share) / parts, 1);
      });
      ends[k].push_back(last_quarter(losses));
      row.push_back(ends[k].back());
      if (i == 0)
        plot.curves.push_back(smoothed(keeping.name, k == 0 ? CurveStyle::kReference : CurveStyle::kBold, losses, 40));
    }
    row.push_back(mean_and_deviation(ends[k]).mean);
    table.rows.push_back(row);
  }
  o.tables.push_back(std::move(table));
  o.figures.push_back(
      {"losses", plot, "Training loss, means of 40 stretches, of the first seed, with weights kept in four ways."});

  for (Check& check : judged(ends, plan.bits == kDefaultBits)) o.checks.push_back(std::move(check));
}

/// What is known of every format, then what the trainings showed, as their checks have it.
std::string seen(const Plan& plan, const Outcome& o) {
  std::string text =
      "Numbers near 1 in a format of p bits are 2^(1-p) apart, in fp16 2^-10. An update of at most half that distance, "
      "in fp16 one 2048th of the weight, is rounded away when it is added, and so is the next one, for ever: the "
      "weight stands still although every update points the same way. Rounded stochastically, an update of a quarter "
      "of that distance moves the weight by the whole distance in one of four additions, and the mean follows the "
      "exact sum. With a master copy in fp32 the updates are added where there are enough digits, and the narrow "
      "format is only what the network computes with.";
  if (!plan.trains) return text;
  const auto agrees = [&](size_t from_end) { return o.checks[o.checks.size() - from_end].agrees; };
  if (agrees(3) && agrees(2) && agrees(1) && plan.bits == kDefaultBits)
    return text +
           " In training, where late updates are small against their weights, fp16 rounded to nearest stops learning "
           "early, and the other two ways learn as fp32 does.";
  return text + " How a network learns with weights kept in each way is in the table of trainings.";
}

Outcome run(const Request& request, Watch& watch) {
  const Plan plan = plan_of(request);
  Outcome o;
  Json formats = Json::array(), seeds = Json::array();
  for (const FloatFormat& f : plan.formats) formats.push_back(format_name(f));
  for (const uint64_t s : plan.seeds) seeds.push_back(s);
  Json training = "none: fp16 is not among the formats";
  if (plan.trains)
    training = {
        {"network", "dense " + std::to_string(plan.training.units) + " ReLU, dense 10"},
        {"data", "generated " + std::to_string(plan.training.image) + "x" + std::to_string(plan.training.image) + "x1"},
        {"train_images", plan.training.images},
        {"batch", plan.training.batch},
        {"steps", plan.training.steps},
        {"optimizer", "adam, its state and hyperparameters in fp32"},
        {"learning_rate", plan.training.rate},
        {"loss_scale", "256, none in fp32"},
        {"fp16", "computes, and keeps weights, in fp16; stochastic: every fp16 result is"},
        {"seeds", seeds}};
  o.settings = {{"formats", formats},  {"random_bits", plan.bits}, {"variant", "carry"},
                {"paths", plan.paths}, {"training", training},     {"seed", plan.seed}};
  single_update(plan, o);
  Table many{"many",
             "w = 1, then 2^p times w <- w + u, a quarter of w's last place",
             {"format", "u", "updates", "nearest", "stochastic_mean", "fp32_master", "five_standard_errors"},
             {}};
  const double single = plan.trains ? kSingleShare : 1;
  for (size_t i = 0; i < plan.formats.size(); ++i) {
    const std::string name = format_name(plan.formats[i]);
    const auto told = [&](double share) {
      watch.at(single * (static_cast<double>(i) + share), static_cast<double>(plan.formats.size()));
    };
    const ManyUpdates m = many_updates(plan, plan.formats[i], kSites + static_cast<uint32_t>(i), told, o, many);
    if (i > 0) continue;
    Plot plot;
    plot.title = "One weight, many small updates: " + name;
    plot.subtitle =
        "each a quarter of the weight's last place; stochastic: mean of " + std::to_string(plan.paths) + " paths";
    plot.x_label = "updates";
    plot.y_label = "weight";
    plot.curves = {{"nearest", CurveStyle::kBold, m.steps, m.nearest},
                   {"stochastic", CurveStyle::kBold, m.steps, m.stochastic},
                   {"fp32 master", CurveStyle::kReference, m.steps, m.master}};
    o.figures.push_back(
        {"weight", plot, "Rounded to nearest the weight never moves; the other two follow the exact sum."});
  }
  o.tables.push_back(std::move(many));
  if (plan.trains) trainings(plan, watch, o);
  o.seen = seen(plan, o);
  o.deviations =
      "The publication states the lost update of one weight, and compares large networks with and without fp32 master "
      "weights; stochastic rounding, and the run of many updates of one weight, are additions of ours. ";
  if (plan.trains)
    o.deviations +=
        "The network trained here is a small one of two dense layers on generated images, with Adam at a rate so low "
        "that its updates vanish; all of its formats except fp32 are fp16, whatever other formats are asked for. "
        "Without master weights, too, the loss scale is 256 and the state of Adam is in fp32.";
  else
    o.deviations += "No network is trained: that part is of fp16, which is not among the formats asked for.";
  return o;
}

double seconds(const Request& request) {
  plan_of(request);  // throws for what it does not take
  double steps = request.brief ? 2.0 * kBriefSteps : 3.0 * 2000;
  if (!request.formats.empty() && !has_fp16(request.formats)) steps = 0;
  const auto paths = static_cast<double>(request.samples.value_or(request.brief ? 1000 : 10000));
  double updates = 0;
  for (const FloatFormat& f : request.formats.empty() ? std::vector<FloatFormat>{kFp16, kBf16} : request.formats)
    updates += paths * std::ldexp(1.0, f.precision);
  return 4 * steps / kStepsPerSecond + updates / kUpdatesPerSecond;
}

}  // namespace

Experiment experiment() {
  return {"vanishing-update",
          "weight updates that vanish in fp16: nearest, stochastic, and with fp32 master weights",
          "P. Micikevicius, S. Narang, J. Alben, G. Diamos, E. Elsen, D. Garcia, B. Ginsburg, M. Houston, O. Kuchaiev, "
          "G. Venkatesh, H. Wu: Mixed Precision Training, ICLR 2018, section 3.1",
          kFormat | kBits | kSeed | kSamples,
          "stochastic paths of the single weight [=10000]",
          seconds,
          run};
}

}  // namespace softamp::reproduce::vanishing_update
