#include "src/train/run/verdict.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>

#include "src/numbers/decimal_text.h"

namespace softamp {
namespace train_detail {
namespace {

constexpr double kRare = 0.001;      // what is called a proof
constexpr double kSuspected = 0.05;  // what is no proof, but speaks against chance
constexpr double kFarAbove = 2;      // losses of guessing from which on a run is worse than guessing

/// "NaN" or "infinity" of the first such element; nullptr where all are finite.
const char* nonfinite_of(const Tensor& t) {
  if (!is_floating(t.dtype())) return nullptr;
  const auto first = [&](auto* codes, auto exponent) -> const char* {
    for (int64_t i = 0; i < t.elements(); ++i) {
      if ((codes[i] & exponent) != exponent) continue;
      return std::isnan(t.value(i)) ? "NaN" : "infinity";
    }
    return nullptr;
  };
  switch (t.dtype()) {
    case DType::kFloat16: return first(static_cast<const uint16_t*>(t.data()), uint16_t{0x7C00});
    case DType::kBFloat16: return first(static_cast<const uint16_t*>(t.data()), uint16_t{0x7F80});
    case DType::kFloat32: return first(static_cast<const uint32_t*>(t.data()), uint32_t{0x7F800000});
    default: return first(static_cast<const uint64_t*>(t.data()), uint64_t{0x7FF0000000000000});
  }
}

FirstNonfinite nonfinite_in(const StepResult& step, const Trainer& trainer) {
  if (!std::isfinite(step.loss)) return {step.step, "loss", "", std::isnan(step.loss) ? "NaN" : "infinity"};
  if (step.applied && !step.nonfinite_by_variable.empty()) {
    // Gradients are computed from the loss backwards: that of the last variable first.
    const std::vector<VariableSpec>& variables = trainer.model().variables;
    for (auto v = variables.rbegin(); v != variables.rend(); ++v)
      for (const auto& [name, count] : step.nonfinite_by_variable)
        if (name == v->name) return {step.step, "gradient", name, "NaN or infinity"};
  }
  for (const VariableSpec& v : trainer.model().variables)
    if (const char* what = nonfinite_of(trainer.variable(v.name))) return {step.step, "variable", v.name, what};
  return {};
}

TrainingOutcome without_success(double loss, double guessing) {
  return loss > kFarAbove * guessing ? TrainingOutcome::kWorseThanGuessing : TrainingOutcome::kAtChance;
}

Verdict by_evaluation(const Evaluation& e, int64_t classes, const std::string& loss) {
  const int64_t needed = beyond_guessing(e.images, classes);
  const std::string right = std::to_string(e.correct) + " of " + std::to_string(e.images) + " test " +
                            (e.input == NetworkInput::Kind::kImage ? "images" : "samples") + " are right (" +
                            percent_text(e.accuracy()) + ")";
  if (needed > e.images) return {TrainingOutcome::kUnclear, {}, right + "; so few cannot be told from guessing" + loss};
  return {
      e.correct >= needed ? TrainingOutcome::kTrains : without_success(e.loss, std::log(static_cast<double>(classes))),
      {},
      right + "; guessing one of " + std::to_string(classes) + " has " + std::to_string(needed) +
          " or more right in at most one of 1000 cases" + loss};
}

Verdict by_losses(std::span<const double> tail, double mean, int64_t classes, const std::string& loss) {
  double squares = 0;
  for (const double l : tail) squares += (l - mean) * (l - mean);
  const double n = static_cast<double>(tail.size()), error = std::sqrt(squares / (n - 1) / n);
  if (tail.size() < 2)
    return {TrainingOutcome::kUnclear, {}, "no evaluation, and a tenth of the steps is fewer than 2" + loss};
  const double guessing = std::log(static_cast<double>(classes)), t = (guessing - mean) / error;
  // One side of the distribution. Steps that are all alike have no error.
  const double tail_above = t > 0 ? student_tail(t, static_cast<int64_t>(tail.size()) - 1) / 2 : 1;
  return {tail_above <= kRare        ? TrainingOutcome::kTrains
          : tail_above <= kSuspected ? TrainingOutcome::kUnclear
                                     : without_success(mean, guessing),
          {},
          std::string("no evaluation; by a t test of the last ") + std::to_string(tail.size()) +
              " steps, at 1 in 1000" + loss};
}

/// Of outputs that are no classes of images: the loss against that of guessing, by the standard error over the samples.
Verdict by_loss_of_guessing(const Evaluation& e) {
  constexpr double kRareDeviations = 3.0902;  // of the normal distribution: one side, 1 in 1000
  const std::string text = "the loss of " + std::to_string(e.images) + " test samples is " +
                           significant_digits(e.loss, 4) + " with a standard error of " +
                           significant_digits(e.loss_error, 2) + ", that of guessing " +
                           (e.kind == NetworkOutput::Kind::kValues ? "their mean" : "by frequency") + " is " +
                           significant_digits(e.guessing, 4);
  if (e.images < 2) return {TrainingOutcome::kUnclear, {}, text + "; one sample has no error"};
  return {e.loss + kRareDeviations * e.loss_error < e.guessing ? TrainingOutcome::kTrains
                                                               : without_success(e.loss, e.guessing),
          {},
          text};
}

}  // namespace

int64_t beyond_guessing(int64_t images, int64_t classes) {
  // Probabilities relative to that of the mean's floor, by their ratios: nothing underflows that counts.
  const double odds = 1 / (static_cast<double>(classes) - 1);
  const int64_t middle = images / classes;
  const auto ratio = [&](int64_t k) {  // of k + 1 to k
    return static_cast<double>(images - k) / static_cast<double>(k + 1) * odds;
  };
  double all = 1;
  for (double p = 1, k = static_cast<double>(middle); k > 0 && p > 0; --k)
    all += p /= ratio(static_cast<int64_t>(k) - 1);
  std::vector<double> above;  // of middle + 1, ...
  double p = 1;
  for (int64_t k = middle; k < images && p > 0; ++k) above.push_back(p *= ratio(k));
  double upper = 0;
  for (auto at = above.rbegin(); at != above.rend(); ++at) upper += *at;
  all += upper;
  double tail = 0;
  int64_t least = middle + static_cast<int64_t>(above.size()) + 1;
  for (auto at = above.rbegin(); at != above.rend() && (tail + *at) / all <= kRare; ++at, --least) tail += *at;
  return std::min(least, images + 1);
}

double student_tail(double t, int64_t freedom) {
  if (std::isnan(t)) return 1;
  if (std::isinf(t)) return 0;
  // Abramowitz and Stegun 26.7.3 and 26.7.4: sums of powers of the cosine.
  const double root = std::sqrt(static_cast<double>(freedom)), angle = std::atan(std::fabs(t) / root);
  const double cosine = std::cos(angle), sine = std::sin(angle);
  double sum = 0, term = freedom % 2 ? cosine : 1;
  for (int64_t k = freedom % 2 ? 3 : 2; k <= freedom; k += 2) {
    sum += term;
    term *= static_cast<double>(k - 1) / static_cast<double>(k) * cosine * cosine;
  }
  const double inside = freedom % 2 ? 2 / std::acos(-1.0) * (angle + sine * sum) : sine * sum;
  return std::clamp(1 - inside, 0.0, 1.0);
}

void note_nonfinite(const StepResult& step, const Trainer& trainer, FirstNonfinite& first) {
  FirstNonfinite now = nonfinite_in(step, trainer);
  if (now.step < 0 || first.step < 0) first = std::move(now);
}

Verdict verdict_of(const RunFacts& run) {
  const auto at_step = [&] { return "at step " + std::to_string(run.nonfinite.step) + ": " + run.nonfinite.text(); };
  if (run.steps > 0 && run.skipped == run.steps)
    return {TrainingOutcome::kNoUpdate, run.nonfinite,
            "all " + std::to_string(run.steps) + " steps were skipped, and the weights are those of the beginning" +
                (run.nonfinite.step >= 0 ? "; " + at_step() : std::string())};
  if (run.nonfinite.step >= 0) return {TrainingOutcome::kDiverged, run.nonfinite, at_step()};
  const auto tenth = static_cast<size_t>(std::max<int64_t>(1, run.steps / 10));
  const std::span<const double> tail = run.losses.last(std::min(run.losses.size(), tenth));
  double mean = 0;
  for (const double l : tail) mean += l / static_cast<double>(tail.size());
  const std::string loss = tail.empty()
                               ? std::string()
                               : "; the loss ends at " + significant_digits(mean, 3) + ", that of guessing is " +
                                     significant_digits(std::log(static_cast<double>(run.classes)), 4);
  if (run.evaluation && run.evaluation->kind != NetworkOutput::Kind::kClasses)
    return by_loss_of_guessing(*run.evaluation);
  if (run.classes == 0) return {TrainingOutcome::kUnclear, {}, "no evaluation, and the loss of guessing is not known"};
  return run.evaluation ? by_evaluation(*run.evaluation, run.classes, loss) : by_losses(tail, mean, run.classes, loss);
}

}  // namespace train_detail

const char* name_of(TrainingOutcome outcome) {
  switch (outcome) {
    case TrainingOutcome::kTrains: return "trains";
    case TrainingOutcome::kAtChance: return "at chance";
    case TrainingOutcome::kWorseThanGuessing: return "worse than guessing";
    case TrainingOutcome::kNoUpdate: return "no update";
    case TrainingOutcome::kDiverged: return "diverged";
    case TrainingOutcome::kUnclear: break;
  }
  return "unclear";
}

std::string FirstNonfinite::text() const {
  if (step < 0) return {};
  return value + " in the " + part + (tensor.empty() ? "" : " '" + tensor + "'");
}

std::string Verdict::line() const { return std::string(name_of(outcome)) + ": " + text; }

}  // namespace softamp
