// Training in fixed point: Gupta et al. on a smaller scale. 16-bit numbers with 14, 12, 10 or 8 bits after the point,
// or other formats that are asked for, rounded to nearest or stochastically, against fp32: the same network, images and
// first weights.
#include <algorithm>
#include <cmath>
#include <stdexcept>

#include "softamp/data/sampler.h"
#include "softamp/names/names.h"
#include "src/numbers/decimal_text.h"
#include "src/reproduce/checks.h"
#include "src/reproduce/shelf.h"
#include "src/reproduce/steps/fixed_point_net.h"

namespace softamp::reproduce::fixed_point {
namespace {

constexpr int kOutputFraction = 10;
constexpr int kDefaultBits = 16;
constexpr uint64_t kDefaultImages = 60000;
constexpr int kPoints = 8;              ///< of a curve of test errors
constexpr int64_t kCurveImages = 2000;  ///< test images to a point of it

/// The word length of the publication, and the longest whose sums are exact (fixed_point_product.h).
constexpr int kWordLength = 16;

/// Products, counted as multiplications with their addition, and roundings of one second on two cores (measured
/// with AVX-512).
constexpr double kProductsPerSecond = 10e9, kRoundingsPerSecond = 80e6;

/// Everything that the request decides.
struct Plan {
  NetSetup net;
  ImageSets sets;
  uint64_t images = 0;               ///< training images seen
  std::vector<FixedFormat> formats;  ///< of weights, updates and errors
  std::vector<RoundingMode> modes;
  int bits = kDefaultBits;
  bool comparable =
      true;  ///< the bits are the default, the images at least as many: what the paper says can be expected
};

/// One training.
struct Training {
  std::string name;  ///< "stochastic q2.14"
  FixedSetup setup;
  std::vector<double> seen, error;  ///< test error in per cent, after so many training images
  double loss = 0;                  ///< mean training loss over the last quarter of the steps
  double share = 0;                 ///< of all test images that are classified wrongly, at the end
  int64_t saturated = 0;
};

NetSetup net_of(const Request& request) {
  NetSetup net;
  // One hidden layer and twice the rate in the short form: it has ninety steps only.
  net.widths = request.brief ? std::vector<size_t>{196, 32, 10} : std::vector<size_t>{784, 128, 128, 10};
  net.rate = request.brief ? 0.2 : 0.1;
  net.seed = request.seed;
  return net;
}

uint64_t default_images(const Request& request) { return request.brief ? 9000 : kDefaultImages; }
uint64_t images_of(const Request& request) { return request.samples.value_or(default_images(request)); }

std::vector<FixedFormat> formats_of(const Request& request) {
  if (!request.fixed_formats.empty()) return request.fixed_formats;
  if (request.brief) return {fixed16(14), fixed16(10), fixed16(8)};
  return {fixed16(14), fixed16(12), fixed16(10), fixed16(8)};
}

/// Whether `f` is one of the publication's: 16 bits, 14, 12, 10 or 8 of them after the point.
bool is_published(const FixedFormat& f) {
  const int fraction = -f.quantum_exponent;
  return f.least == fixed16(fraction).least && f.greatest == fixed16(fraction).greatest && fraction >= 8 &&
         fraction <= 14 && fraction % 2 == 0;
}

void check_format(const FixedFormat& f) {
  const std::string name = name_of(f);
  if (f.greatest >= int64_t{1} << (kWordLength - 1))
    throw std::invalid_argument("fixed-point: --fixed-format is " + name + "; expected at most " +
                                std::to_string(kWordLength) + " bits together, whose sums of products are exact here");
}

std::vector<RoundingMode> modes_of(const Request& request) {
  if (request.roundings.empty()) return {RoundingMode::kNearestEven, RoundingMode::kStochastic};
  return request.roundings;
}

Plan plan_of(const Request& request) {
  Plan plan;
  plan.net = net_of(request);
  plan.images = images_of(request);
  plan.formats = formats_of(request);
  for (const FixedFormat& f : plan.formats) check_format(f);
  plan.modes = modes_of(request);
  plan.bits = request.bits.value_or(kDefaultBits);
  if (plan.bits < 1 || plan.bits > 32)
    throw std::invalid_argument("fixed-point: --bits is " + std::to_string(plan.bits) + "; expected 1..32");
  if (request.bits && std::find(plan.modes.begin(), plan.modes.end(), RoundingMode::kStochastic) == plan.modes.end())
    throw std::invalid_argument(
        "fixed-point: --bits without stochastic among --rounding, where it does nothing: expected --rounding "
        "stochastic "
        "as well, or no --bits");
  if (plan.images < plan.net.batch)
    throw std::invalid_argument("fixed-point: --samples is " + std::to_string(plan.images) +
                                " training images; expected at least one batch, " + std::to_string(plan.net.batch));
  plan.comparable = plan.bits == kDefaultBits && plan.images >= default_images(request);
  if (request.brief)
    plan.sets = generated_images(14, 14, 1, 2000, 1000);
  else if (const auto folder = data_folder(request.data))
    plan.sets = load_images(*folder, 28, 28, 1);
  return plan;
}

std::vector<Training> trainings_of(const Plan& plan) {
  std::vector<Training> all;
  all.emplace_back().name = "fp32";
  uint32_t site = 0;
  for (const RoundingMode mode : plan.modes)
    for (const FixedFormat& format : plan.formats) {
      FixedSetup setup{true, format, fixed16(kOutputFraction), RoundingPolicy::ieee(mode), 0};
      setup.rounding.random_bits = plan.bits;
      if (setup.rounding.stochastic()) {
        setup.first_site = site;
        site += kSitesPerLayer * static_cast<uint32_t>(plan.net.widths.size() - 1);
      }
      all.push_back({name_of(mode) + " " + name_of(format), setup, {}, {}, 0, 0, 0});
    }
  return all;
}

double share_wrong(FixedNet& net, const ImageSet& test, int64_t count) {
  return static_cast<double>(net.wrong(test, count)) / static_cast<double>(count);
}

/// Runs `t`; `told` is called with the fraction of its steps done.
template <class Told>
void run_training(const Plan& plan, Training& t, const Told& told) {
  FixedNet net(plan.net, t.setup);
  const ImageSet& test = plan.sets.test;
  const auto batch = static_cast<int64_t>(plan.net.batch);
  const Sampler sampler(plan.sets.train.count, batch, true, plan.net.seed);
  const auto steps = static_cast<int64_t>(plan.images) / batch;
  const int64_t quarter = (steps + 3) / 4;
  const int64_t curve_images = std::min(test.count, kCurveImages);
  for (int64_t step = 0; step < steps; ++step) {
    if (step % 10 == 0) told(static_cast<double>(step) / static_cast<double>(steps));
    const double loss = net.train(plan.sets.train, sampler.batch(step), static_cast<uint32_t>(step));
    if (step >= steps - quarter) t.loss += loss / static_cast<double>(quarter);
    if ((step + 1) * kPoints / steps == step * kPoints / steps || step + 1 == steps) continue;
    t.seen.push_back(static_cast<double>((step + 1) * batch));
    t.error.push_back(100 * share_wrong(net, test, curve_images));
  }
  t.share = share_wrong(net, test, test.count);
  t.saturated = net.saturated();
  t.seen.push_back(static_cast<double>(steps * batch));
  t.error.push_back(100 * t.share);
}

/// Five standard errors of the difference of two shares of `images` each, as for different images: shares of the same
/// images differ less.
double margin(double p, double q, int64_t images) {
  return 5 * std::sqrt((p * (1 - p) + q * (1 - q)) / static_cast<double>(images));
}

std::string per_cent(double share) { return fixed_places(100 * share, 2) + " %"; }

/// Compares with the paper's words, for formats with the stated numbers of bits after the point; everything else is
/// recorded.
void add_checks(const Plan& plan, const std::vector<Training>& all, Outcome& o) {
  const Training& reference = all.front();
  const int64_t images = plan.sets.test.count;
  for (const Training& t : all) {
    if (!t.setup.fixed) continue;
    const int fraction = -t.setup.kept.quantum_exponent;
    const bool judged = plan.comparable && is_published(t.setup.kept);
    const double far = margin(t.share, reference.share, images);
    const std::string ours = per_cent(t.share) + " against " + per_cent(reference.share) + " in fp32; training loss " +
                             fixed_places(t.loss, 3) + " against " + fixed_places(reference.loss, 3);
    if (judged && t.setup.rounding.mode == RoundingMode::kStochastic && fraction >= 10)
      o.checks.push_back({t.name + ": test error near fp32's", Against::kShape, ours,
                          "close to that of floating point: not worse by 5 standard errors, " + per_cent(far),
                          t.share - reference.share < far});
    else if (judged && t.setup.rounding.mode == RoundingMode::kNearestEven && fraction <= 10)
      o.checks.push_back({t.name + ": training fails", Against::kShape, ours,
                          "the training stalls: worse than fp32 by 5 standard errors, " + per_cent(far),
                          t.share - reference.share > far && t.loss > reference.loss});
    else
      o.checks.push_back(recorded(t.name + ": test error", ours, "-"));
  }
  for (const FixedFormat& format : plan.formats) {
    if (!plan.comparable || !is_published(format) || format.quantum_exponent < -10) continue;
    const Training *nearest = nullptr, *stochastic = nullptr;
    for (const Training& t : all) {
      if (!t.setup.fixed || t.setup.kept.quantum_exponent != format.quantum_exponent) continue;
      if (t.setup.rounding.mode == RoundingMode::kNearestEven) nearest = &t;
      if (t.setup.rounding.mode == RoundingMode::kStochastic) stochastic = &t;
    }
    if (!nearest || !stochastic) continue;
    o.checks.push_back(
        {name_of(format) + ": training loss", Against::kShape,
         "stochastic " + fixed_places(stochastic->loss, 3) + ", nearest " + fixed_places(nearest->loss, 3),
         "stochastic below nearest", stochastic->loss < nearest->loss});
  }
}

void add_figures(const Plan& plan, const std::vector<Training>& all, Outcome& o) {
  for (const RoundingMode mode : plan.modes) {
    Plot plot;
    plot.title = "Training in fixed point, " + name_of(mode);
    plot.subtitle = plan.sets.train.name + ", " + std::to_string(plan.net.widths.size() - 1) +
                    " dense layers; weights, updates and errors of q<integer bits>.<fraction bits>";
    plot.x_label = "training images seen";
    plot.y_label = "test error [%]";
    for (const Training& t : all) {
      if (t.setup.fixed && t.setup.rounding.mode != mode) continue;
      const std::string title = t.setup.fixed ? name_of(t.setup.kept) : "fp32";
      plot.curves.push_back({title, t.setup.fixed ? CurveStyle::kBold : CurveStyle::kReference, t.seen, t.error});
    }
    o.figures.push_back({"test-error-" + name_of(mode), plot,
                         "Test error while the network learns, " + name_of(mode) +
                             " rounding; the last point is of all test images, the others of the first " +
                             std::to_string(std::min(plan.sets.test.count, kCurveImages)) + "."});
  }
}

/// What holds for every format and rounding, then what this run found: the published order where its checks agree, and
/// the numbers where they are not all asked for.
std::string seen(const Plan& plan, const std::vector<Training>& all, const Outcome& o) {
  std::string text =
      "One network is trained again and again, with every weight, update, output and error kept in a fixed-point "
      "format; only the place of the point and the rounding differ. An update of a weight is the learning rate times a "
      "small gradient. Where it is below half of the last place, rounding to nearest makes it zero, and the weight "
      "does not move; stochastic rounding makes of it a whole last place now and then, as often as is right on "
      "average. ";
  const bool both = std::any_of(o.checks.begin(), o.checks.end(),
                                [](const Check& c) { return c.what.find("training loss") != std::string::npos; });
  const bool near = std::any_of(o.checks.begin(), o.checks.end(),
                                [](const Check& c) { return c.what.find("near fp32's") != std::string::npos; });
  const bool agrees = std::all_of(o.checks.begin(), o.checks.end(), [](const Check& c) { return c.agrees; });
  if (both && near && agrees)
    return text +
           "This is what we see, and what the paper reports: to nearest, with 10 or 8 bits after the point, the "
           "network learns little "
           "or nothing, and stochastically with 10 or more it learns as it does in fp32. The paper's network is "
           "larger, so that only the order of the curves can be compared with it, not their height.";
  text += "Of the test images this run classifies wrongly: ";
  for (const Training& t : all) text += (&t == &all.front() ? "" : ", ") + t.name + " " + per_cent(t.share);
  text += ".";
  if (!plan.comparable)
    text += " With other random bits, or fewer images, than by default nothing is compared with the paper.";
  return text;
}

std::string deviations(const Plan& plan) {
  std::string layers;
  for (const size_t w : plan.net.widths) layers += (layers.empty() ? "" : "-") + std::to_string(w);
  const double epochs = static_cast<double>(plan.images) / static_cast<double>(plan.sets.train.count);
  return "The publication trains 784-1000-1000-10 on MNIST until it has learnt, to a test error of 1.4 % in floating "
         "point; here it is " +
         layers + " on " + plan.sets.train.name + ", for " + significant_digits(epochs, 3) +
         (epochs == 1 ? " epoch" : " epochs") +
         ". Its first weights are given as N(0, 0.01), which is taken as a standard deviation of 0.01. Images "
         "and the outputs of layers are " +
         name_of(fixed16(kOutputFraction)) +
         " throughout. A tie goes to the even code where the rounding is to nearest, as in IEEE 754, whatever the "
         "publication does. A stochastic rounding draws " +
         std::to_string(plan.bits) + " random bits. The softmax and its error before rounding are computed in fp32.";
}

Outcome run(const Request& request, Watch& watch) {
  const Plan plan = plan_of(request);
  Outcome o;
  if (plan.sets.train.count == 0) {
    o.skipped =
        "needs Fashion-MNIST's four files: give their folder with --data DIR, or in the environment variable "
        "SOFTAMP_DATA";
    return o;
  }
  std::vector<Training> all = trainings_of(plan);
  for (size_t i = 0; i < all.size(); ++i)
    run_training(plan, all[i],
                 [&](double share) { watch.at(static_cast<double>(i) + share, static_cast<double>(all.size())); });

  Json widths = Json::array(), modes = Json::array(), formats = Json::array();
  for (const size_t w : plan.net.widths) widths.push_back(w);
  for (const RoundingMode m : plan.modes) modes.push_back(name_of(m));
  for (const FixedFormat& f : plan.formats) formats.push_back(name_of(f));
  o.settings = {{"data", plan.sets.train.name},
                {"train_images_seen", plan.images / plan.net.batch * plan.net.batch},
                {"test_images", plan.sets.test.count},
                {"widths", widths},
                {"activation", "ReLU; softmax and cross-entropy in fp32, their error rounded"},
                {"formats_of_weights_updates_errors", formats},
                {"format_of_images_and_outputs", name_of(fixed16(kOutputFraction))},
                {"accumulation", "exact, rounded once to a number that is kept; fp32: each operation rounded to fp32"},
                {"overflow", "saturate"},
                {"roundings", modes},
                {"random_bits", plan.bits},
                {"variant", "carry"},
                {"first_weights", "N(0, 0.01), standard deviation 0.01; biases 0"},
                {"optimizer", "sgd"},
                {"learning_rate", plan.net.rate},
                {"rate_times_2^24_over_batch", rate_of(plan.net)},
                {"batch", plan.net.batch},
                {"seed", plan.net.seed}};
  Table table{"trainings",
              "After the last step",
              {"numbers", "fraction_bits", "training_loss", "test_error_percent", "parameters_at_a_limit"},
              {}};
  Table curve{"curves", "Test error on the way", {"numbers", "images_seen", "test_error_percent"}, {}};
  for (const Training& t : all) {
    const Json fraction = t.setup.fixed ? Json(-t.setup.kept.quantum_exponent) : Json();
    table.rows.push_back({t.name, fraction, t.loss, 100 * t.share, t.saturated});
    for (size_t i = 0; i < t.seen.size(); ++i) curve.rows.push_back({t.name, t.seen[i], t.error[i]});
  }
  o.tables = {table, curve};
  add_figures(plan, all, o);
  add_checks(plan, all, o);
  o.seen = seen(plan, all, o);
  o.deviations = deviations(plan);
  return o;
}

double seconds(const Request& request) {
  if (!request.brief && !data_folder(request.data)) return 0;
  const NetSetup net = net_of(request);
  double weights = 0, outputs = 0;
  for (size_t l = 0; l + 1 < net.widths.size(); ++l) {
    weights += static_cast<double>(net.widths[l] * net.widths[l + 1]);
    outputs += static_cast<double>(net.widths[l + 1]);
  }
  const auto images = static_cast<double>(images_of(request));
  const double tested = request.brief ? 8000 : 10000 + (kPoints - 1.0) * kCurveImages;
  const double products = 3 * weights * images + weights * tested;
  const double roundings = images * (2 * outputs + weights / static_cast<double>(net.batch)) + tested * outputs;
  const auto count = static_cast<double>(1 + modes_of(request).size() * formats_of(request).size());
  return count * (products / kProductsPerSecond + roundings / kRoundingsPerSecond);
}

}  // namespace

Experiment experiment() {
  return {"fixed-point",
          "a network trained in fixed point of 16 bits, rounded to nearest and stochastically",
          "S. Gupta, A. Agrawal, K. Gopalakrishnan, P. Narayanan: Deep Learning with Limited Numerical Precision, ICML "
          "2015",
          kRounding | kBits | kSeed | kSamples | kData | kFixed,
          "training images that are seen, 60000 an epoch [=60000]",
          seconds,
          run};
}

}  // namespace softamp::reproduce::fixed_point
