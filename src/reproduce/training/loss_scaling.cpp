// The share of gradients that fp16 cannot hold, by loss scale: after Micikevicius et al., section 3.2.
//
// A small convolutional network is trained in fp32 for a while; then the fp32 gradients of one step are kept,
// multiplied by each scale (exactly: it is a power of two) and rounded to the format through the unit, element by
// element. The same network is then trained in mixed precision at scale after scale, and what fp16 really did is
// counted: zeros in its own gradients, and steps that were skipped because one of them had overflowed.
#include <algorithm>
#include <cmath>
#include <stdexcept>

#include "softamp/names/names.h"
#include "src/numbers/decimal_text.h"
#include "src/reproduce/checks.h"
#include "src/reproduce/shelf.h"
#include "src/reproduce/training/gradient_exponents.h"
#include "src/reproduce/training/loss_scaling_runs.h"

namespace softamp::reproduce::loss_scaling {
namespace {

constexpr int kLargestScale = 24;  ///< the scales are 2^0, 2^2, ... 2^24

/// Steps of training in a second on two cores (measured: 28 x 28 images, batches of 32).
constexpr double kStepsPerSecond = 130;
constexpr uint64_t kSteps = 240, kBriefSteps = 60;

struct Kind {
  const char* name;
  const std::vector<float>* values;
};

std::vector<FloatFormat> formats_of(const Request& request) {
  std::vector<FloatFormat> formats = request.formats;
  if (formats.empty()) formats = {kFp16};
  for (const FloatFormat& f : formats)
    if (f.storage_bits() > 16 || f.specials != Specials::kIeee || f.precision < 3)
      throw std::invalid_argument("loss-scaling: --format is " + format_name(f) +
                                  "; expected one of at most 16 bits and a precision of 3 or more, with infinities: "
                                  "fp16, bf16, e5m2, e5p7, ...");
  return formats;
}

RunSetup setup_of(const Request& request) {
  RunSetup setup;
  setup.seed = request.seed;
  setup.image = request.brief ? 12 : 28;
  setup.images = request.brief ? 256 : 2048;
  setup.steps = request.samples.value_or(request.brief ? kBriefSteps : kSteps);
  if (setup.steps > 1000000)
    throw std::invalid_argument("loss-scaling: --samples is " + std::to_string(setup.steps) +
                                " training steps; expected 1..1000000");
  return setup;
}

/// The trainings are only in fp16: none if that is not among the formats.
bool trains(const Request& request) {
  return request.formats.empty() ||
         std::find(request.formats.begin(), request.formats.end(), kFp16) != request.formats.end();
}

std::vector<int> run_scales(const Request& request) {
  if (!trains(request)) return {};
  if (request.brief) return {0, kLargestScale};
  return {0, 4, 8, 12, 16, 20, kLargestScale};
}

/// The counts of one kind of gradients in one format at every scale.
struct Sweep {
  std::vector<double> exponent, scale, zero, subnormal,
      overflow;     ///< shares in per cent of all that is not zero in fp32
  int unequal = 0;  ///< scales where counted and predicted differ
  int rises = 0;    ///< scales where more underflows, or less overflows, than before
};

Sweep sweep(const Kind& kind, const FloatFormat& format, Table& table) {
  const ExponentTable exponents(*kind.values, format);
  const auto all = static_cast<double>(std::max<int64_t>(1, exponents.nonzero()));
  Sweep s;
  Fate before;
  for (int k = 0; k <= kLargestScale; k += 2) {
    const Fate counted = count_fates(*kind.values, format, k), predicted = exponents.predict(k);
    s.unequal += !(counted == predicted);
    s.rises += k > 0 && (counted.zero > before.zero || counted.overflow < before.overflow);
    before = counted;
    s.exponent.push_back(k);
    s.scale.push_back(std::ldexp(1.0, k));
    s.zero.push_back(100 * static_cast<double>(counted.zero) / all);
    s.subnormal.push_back(100 * static_cast<double>(counted.subnormal) / all);
    s.overflow.push_back(100 * static_cast<double>(counted.overflow) / all);
    table.rows.push_back({format_name(format), kind.name, s.scale.back(), exponents.nonzero(), counted.zero,
                          counted.subnormal, counted.overflow, s.zero.back(), s.subnormal.back(), s.overflow.back()});
  }
  return s;
}

Figure exponent_figure(const std::vector<Kind>& kinds, const std::vector<FloatFormat>& formats, Table& table) {
  Plot plot;
  plot.title = "Exponents of gradients";
  plot.subtitle = "fp32 values of one training step; zeros left out";
  plot.x_label = "exponent floor(log2 |g|)";
  plot.y_label = "share of the gradients that are not zero [%]";
  double top = 0;
  int least = 0;
  for (const Kind& kind : kinds) {
    const std::map<int, int64_t> histogram = exponent_histogram(*kind.values);
    int64_t all = 0;
    for (const auto& [exponent, count] : histogram) all += count;
    // The activations, most of the gradients, as a histogram; a line over it for the weights.
    Curve curve{kind.name, plot.curves.empty() ? CurveStyle::kBars : CurveStyle::kBold, {}, {}};
    if (!histogram.empty()) least = std::min(least, histogram.begin()->first);
    for (const auto& [exponent, count] : histogram) {
      curve.x.push_back(exponent);
      curve.y.push_back(100 * static_cast<double>(count) / static_cast<double>(all));
      top = std::max(top, curve.y.back());
      table.rows.push_back({kind.name, exponent, count, curve.y.back()});
    }
    plot.curves.push_back(std::move(curve));
  }
  for (const FloatFormat& f : formats) {
    if (f.min_quantum() < least) continue;
    const auto x = static_cast<double>(f.min_quantum());
    plot.curves.push_back({"smallest of " + format_name(f), CurveStyle::kReference, {x, x}, {0, top}});
  }
  return {"exponents", plot,
          "How many gradients there are of each exponent, and the smallest number of the format: what lies to its left "
          "becomes zero. A loss scale of 2^k moves the curves k places to the right."};
}

Figure share_figure(const Sweep& activations, const Sweep& weights, const std::string& format) {
  Plot plot;
  plot.title = "Gradients that " + format + " cannot hold";
  plot.subtitle = "share of the gradients that are not zero in fp32";
  plot.x_label = "k of the loss scale 2^k";
  plot.y_label = "share [%]";
  plot.curves = {{"activations: zero", CurveStyle::kBold, activations.exponent, activations.zero},
                 {"activations: subnormal", CurveStyle::kBold, activations.exponent, activations.subnormal},
                 {"activations: overflow", CurveStyle::kBold, activations.exponent, activations.overflow},
                 {"weights: zero", CurveStyle::kBold, weights.exponent, weights.zero}};
  return {"shares-" + format, plot,
          "The share that becomes zero, is left with fewer digits (subnormal), or overflows, at each loss scale."};
}

void add_run_checks(const std::vector<ScaleRun>& runs, const RunSetup& setup, Outcome& o) {
  // A logit's gradient is S (p - t) / batch. A batch of mean loss L has an image with p <= e^-L of its own class, hence
  // one of a magnitude of at least S (1 - e^-L) / batch, which is 65520, so that fp16 overflows, where
  // L >= -ln(1 - 65520 batch / S). No update is applied then, so that the next step is no better.
  for (const ScaleRun& r : runs) {
    const double needed = 65520.0 * static_cast<double>(setup.batch) / r.scale;
    const std::string name = "scale " + fixed_places(r.scale, 0) + ": ";
    const std::string ours = std::to_string(r.skipped) + " of " + std::to_string(r.losses.size()) + " steps skipped";
    if (needed < 1 && *std::min_element(r.losses.begin(), r.losses.end()) > -std::log(1 - needed) * 1.01)
      o.checks.push_back({name + "steps skipped", Against::kBound, ours,
                          "all: a logit's gradient is at least scale (1 - e^-loss) / batch, which is above 65520",
                          r.skipped == static_cast<int64_t>(r.losses.size())});
    else
      o.checks.push_back(recorded(name + "steps skipped", ours, "-"));
  }
}

Outcome run(const Request& request, Watch& watch) {
  const RunSetup setup = setup_of(request);
  const std::vector<FloatFormat> formats = formats_of(request);
  const std::vector<int> scales = run_scales(request);
  const double parts = static_cast<double>(scales.size()) + 2;
  const auto told = [&](size_t part) {
    return [&watch, part, parts](double share) { watch.at(static_cast<double>(part) + share, parts); };
  };
  const Gradients gradients = reference_gradients(setup, told(0));
  const std::vector<Kind> kinds = {{"activations", &gradients.activations}, {"weights", &gradients.weights}};

  Outcome o;
  Table exponents{"exponents", "Gradients by exponent", {"gradients_of", "exponent", "count", "share_percent"}, {}};
  Table shares{"shares",
               "What becomes of the gradients that are not zero in fp32",
               {"format", "gradients_of", "loss_scale", "nonzero", "zero", "subnormal", "overflow", "zero_percent",
                "subnormal_percent", "overflow_percent"},
               {}};
  o.figures.push_back(exponent_figure(kinds, formats, exponents));
  std::string unseen;  // formats in which no activation gradient is lost without a scale
  for (const FloatFormat& format : formats) {
    const std::string name = format_name(format);
    std::vector<Sweep> sweeps;
    for (const Kind& kind : kinds) {
      sweeps.push_back(sweep(kind, format, shares));
      const Sweep& s = sweeps.back();
      const std::string what = name + ", " + kind.name + ": ";
      o.checks.push_back(none_of(what + "counted against shifted histogram", Against::kBound, s.unequal,
                                 "equal at every scale", "scales differ",
                                 "equal: a scale of 2^k moves every exponent by k"));
      o.checks.push_back(none_of(what + "shares along the scale", Against::kShape, s.rises, "monotone",
                                 "scales break it",
                                 "the larger the scale, the less underflows and the more overflows"));
    }
    o.figures.push_back(share_figure(sweeps[0], sweeps[1], name));
    if (sweeps[0].zero[0] == 0) unseen += (unseen.empty() ? "" : ", ") + name;
    o.checks.push_back(recorded(name + ": activation gradients that are zero at scale 1",
                                significant_digits(sweeps[0].zero[0], 3) + " %",
                                "a large part (of another network, SSD)"));
  }

  Table trainings{"trainings",
                  "Training in mixed precision at a fixed scale",
                  {"loss_scale", "steps", "skipped_steps", "first_loss", "mean_loss_of_last_quarter",
                   "zeros_among_all_activation_gradients_percent"},  // those of ReLU, too
                  {}};
  std::vector<ScaleRun> runs;
  for (size_t i = 0; i < scales.size(); ++i) {
    runs.push_back(run_at_scale(setup, scales[i], told(i + 2)));
    const ScaleRun& r = runs.back();
    trainings.rows.push_back(
        {r.scale, r.losses.size(), r.skipped, r.losses.front(), r.last_quarter(), 100 * r.zero_share});
  }
  add_run_checks(runs, setup, o);
  o.tables = {exponents, shares};
  if (!runs.empty()) o.tables.push_back(trainings);
  Json names = Json::array();
  for (const FloatFormat& f : formats) names.push_back(format_name(f));
  o.settings = {
      {"formats", names},
      {"rounding", "nearest"},
      {"network", "small_cnn"},
      {"data", "generated " + std::to_string(setup.image) + "x" + std::to_string(setup.image) + "x1"},
      {"train_images", setup.images},
      {"batch", setup.batch},
      {"optimizer", "momentum"},
      {"learning_rate", setup.rate},
      {"momentum", 0.9},
      {"steps", setup.steps},
      {"largest_scale", std::ldexp(1.0, kLargestScale)},
      {"trainings", runs.empty()
                        ? "none: fp16 is not among the formats"
                        : "mixed: fp16 compute, fp32 weights; a step with a gradient that is not finite is skipped"},
      {"seed", setup.seed}};
  o.deviations =
      "The publication shows the activation gradients of a detection network, SSD, in training; here it is a small "
      "convolutional network on generated images, trained with momentum in fp32 for " +
      std::to_string(setup.steps) +
      " steps, and the gradients of the next step, by activations and by weights. The publication tries few scales; "
      "here "
      "they are 2^0, 2^2 and so on to 2^" +
      std::to_string(kLargestScale) + ".";
  o.deviations += runs.empty()
                      ? " No network is trained in mixed precision: that part is of fp16, which is not among the "
                        "formats asked for."
                      : " The trainings at fixed scales are of fp16, whatever other formats are asked for.";
  o.seen =
      "Gradients are small numbers, and they are spread over many powers of two. fp16 has nothing between 0 and 2^-24: "
      "what is at most half of that becomes zero, and what is below 2^-14 keeps fewer digits. Multiplying the loss by "
      "a power of two multiplies every gradient by it, which moves the whole histogram to the right without changing "
      "its shape: the share that underflows falls, until the largest gradients pass 65504 and overflow, and steps have "
      "to be skipped. Between the two there is room, and a loss scale is chosen from there. How large the share is "
      "depends on the network; the publication's example, a detection network, loses a large part of its activation "
      "gradients without a scale, and trains with a scale of 8.";
  if (!unseen.empty())
    o.seen += " In this run no activation gradient becomes zero without a scale (" + unseen +
              "), so that of them only the overflow is seen" +
              (request.brief ? "; the experiment without --brief has some that do." : ".");
  return o;
}

double seconds(const Request& request) {
  formats_of(request), setup_of(request);  // throw for what it does not take
  const double size = request.brief ? 0.2 : 1;
  const auto steps = static_cast<double>(request.samples.value_or(request.brief ? kBriefSteps : kSteps));
  return 1 + size * steps * static_cast<double>(run_scales(request).size() + 1) / kStepsPerSecond;
}

}  // namespace

Experiment experiment() {
  return {"loss-scaling",
          "the share of gradients that fp16 loses to zero, and to overflow, as the loss scale moves",
          "P. Micikevicius, S. Narang, J. Alben, G. Diamos, E. Elsen, D. Garcia, B. Ginsburg, M. Houston, O. Kuchaiev, "
          "G. Venkatesh, H. Wu: Mixed Precision Training, ICLR 2018, section 3.2",
          kFormat | kSeed | kSamples,
          "training steps, before the gradients are looked at and at each scale [=240]",
          seconds,
          run};
}

}  // namespace softamp::reproduce::loss_scaling
