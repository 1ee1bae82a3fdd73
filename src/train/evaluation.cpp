#include "src/train/evaluation.h"

#include <algorithm>
#include <cmath>

#include "softamp/machine/float_environment.h"
#include "softamp/numerics/math_exp.h"
#include "softamp/numerics/math_log.h"
#include "src/numbers/decimal_text.h"
#include "src/train/replicas/exchange_calls.h"
#include "src/train/replicas/step_agreement.h"

namespace softamp::train_detail {

// implements: N288
Judgement judge(std::span<const double> logits, int32_t label) {
  const auto wanted = static_cast<size_t>(label);
  size_t best = 0;
  bool numbers = true;
  for (size_t k = 0; k < logits.size(); ++k) {
    if (logits[k] > logits[best]) best = k;
    numbers = numbers && logits[k] == logits[k];
  }
  double sum = 0;
  for (const double x : logits) sum += math::exp(math::Float(static_cast<float>(x - logits[best]))).value;
  const double log = math::log(math::Float(static_cast<float>(sum))).value;
  return {log - (logits[wanted] - logits[best]), numbers && best == wanted, 0};
}

namespace {

double log1p_exp(double x) {  // ln(1 + e^x) of x <= 0
  return math::log1p(math::exp(math::Float(static_cast<float>(x)))).value;
}

}  // namespace

double loss_of_value(std::string_view loss, double output, double label) {
  const double error = output - label, size = std::fabs(error);
  if (loss == "mean_squared_error") return error * error;
  if (loss == "mean_absolute_error") return size;
  if (loss == "huber") return size <= 1 ? error * error / 2 : size - 0.5;
  if (loss == "log_cosh") return size + log1p_exp(-2 * size) - 0.69314718055994530942;
  return std::max(output, 0.0) - output * label + log1p_exp(-std::fabs(output));  // binary cross-entropy of a logit
}

namespace {

/// Of one sample: all its outputs and labels.
Judgement judge_sample(std::span<const double> outputs, std::span<const double> labels, const NetworkOutput& output) {
  Judgement all;
  const size_t width = outputs.size() / labels.size();  // logits to a label; 1 of values
  for (size_t i = 0; i < labels.size(); ++i) {
    if (output.classes > 0) {
      const Judgement one = judge(outputs.subspan(i * width, width), static_cast<int32_t>(labels[i]));
      all.loss += one.loss;
      all.correct += one.correct;
      continue;
    }
    const double error = outputs[i] - labels[i];
    all.loss += loss_of_value(output.loss, outputs[i], labels[i]);
    all.squares += error * error;
    all.correct += output.kind == NetworkOutput::Kind::kBinary && (outputs[i] > 0) == (labels[i] > 0.5);
  }
  if (labels.size() > 1) all.loss /= static_cast<double>(labels.size());
  return all;
}

/// Of each sample of a batch, but not of those that fill up the last one.
std::vector<Judgement> judge_batch(Trainer& trainer, const Samples& set, const NetworkOutput& output,
                                   int64_t batch_size, int64_t first) {
  std::vector<int64_t> indices(static_cast<size_t>(batch_size));
  for (size_t i = 0; i < indices.size(); ++i) indices[i] = (first + static_cast<int64_t>(i)) % set.count();
  const Batch batch = set.batch(indices, trainer.model().precision.compute);
  const std::vector<double> outputs = trainer.logits(batch.images).values(), labels = batch.labels.values();
  const size_t width = outputs.size() / indices.size(), to_judge = labels.size() / indices.size();
  std::vector<Judgement> judgements;
  for (size_t i = 0; i < indices.size() && first + static_cast<int64_t>(i) < set.count(); ++i)
    judgements.push_back(judge_sample(std::span(outputs).subspan(i * width, width),
                                      std::span(labels).subspan(i * to_judge, to_judge), output));
  return judgements;
}

/// In how many turns ranks take batches: one after the other, where all have the variables of replica 0.
int takers_of(const Trainer& trainer) {
  const Exchange* exchange = trainer.options().exchange;
  return exchange && !trainer.replicas_may_differ() ? exchange->ranks() : 1;
}

/// Judgements of this rank's batches become those of all, in the order of the images; nothing if one was stopped.
std::optional<std::vector<Judgement>> of_all_ranks(const Trainer& trainer, const std::vector<Judgement>& mine,
                                                   const StepOutcome& outcome, int64_t images, int64_t batch_size) {
  Exchange& exchange = *trainer.options().exchange;
  const StepOutcome all = agree(exchange, outcome, trainer.options().executor.switches.dump_format);
  if (all.exception) throw FloatingPointError(*all.exception);
  if (all.stopped) return std::nullopt;
  Given given;
  for (const Judgement& j : mine) given.value(j.loss).value(j.correct).value(j.squares);
  const std::vector<std::string> texts = gather_texts(exchange, given.bytes());
  std::vector<Taken> taken;
  for (const std::string& text : texts) taken.emplace_back(text);
  std::vector<Judgement> judgements;
  for (int64_t i = 0; i < images; ++i) {
    Taken& from = taken[static_cast<size_t>(i / batch_size % takers_of(trainer))];
    const auto loss = from.value<double>();
    const auto correct = from.value<int64_t>();
    judgements.push_back({loss, correct, from.value<double>()});
  }
  return judgements;
}

}  // namespace

// implements: N280
std::optional<Evaluation> evaluate(Trainer& trainer, const Samples& set, const NetworkInfo& network, int64_t batch_size,
                                   int64_t step, const std::function<bool()>& stop) {
  const NetworkOutput& output = network.output;
  Exchange* const exchange = trainer.options().exchange;
  const int64_t takers = takers_of(trainer), me = exchange ? exchange->rank() : 0;
  std::optional<std::vector<Judgement>> judgements(std::in_place);
  StepOutcome outcome;
  int64_t batch = 0;
  try {
    for (; batch * batch_size < set.count(); ++batch) {
      if (batch % takers != me) continue;
      if (stop && stop()) throw RunStopped("the evaluation was stopped");
      for (const Judgement& j : judge_batch(trainer, set, output, batch_size, batch * batch_size))
        judgements->push_back(j);
    }
  } catch (const RunStopped&) {
    if (!exchange) return std::nullopt;
    outcome.stopped = true;
  } catch (const FloatingPointError& e) {
    if (!exchange) throw;
    outcome.exception = e;
    outcome.micro_batch = static_cast<int>(batch);
  }
  if (exchange) judgements = of_all_ranks(trainer, *judgements, outcome, set.count(), batch_size);
  if (!judgements) return std::nullopt;
  Evaluation e;
  e.step = step;
  e.images = static_cast<int64_t>(judgements->size());
  e.kind = output.kind;
  e.input = network.input.kind;
  double total = 0, squares = 0;
  for (const Judgement& j : *judgements) {
    total += j.loss;
    squares += j.squares;
    e.correct += j.correct;
  }
  if (e.images == 0) return e;
  const double count = static_cast<double>(e.images);
  e.loss = total / count;
  if (e.kind == NetworkOutput::Kind::kClasses) return e;
  const std::vector<int64_t> one = {0};
  e.predictions = e.images * set.batch(one, trainer.model().precision.compute).labels.elements();
  e.mean_square = squares / static_cast<double>(e.predictions);
  e.guessing = set.loss_of_guessing(output);
  double spread = 0;
  for (const Judgement& j : *judgements) spread += (j.loss - e.loss) * (j.loss - e.loss);
  e.loss_error = e.images > 1 ? std::sqrt(spread / (count - 1) / count) : 0;
  return e;
}

}  // namespace softamp::train_detail

namespace softamp {
double Evaluation::accuracy() const {
  const int64_t all = kind == NetworkOutput::Kind::kClasses ? images : predictions;
  return engine::in_default_environment(
      [&] { return all ? static_cast<double>(correct) / static_cast<double>(all) : 0; });
}

double Evaluation::perplexity() const {
  return engine::in_default_environment([&] { return math::exp(math::Float(static_cast<float>(loss))).value; });
}

double Evaluation::rmse() const {
  return engine::in_default_environment([&] { return std::sqrt(mean_square); });
}

std::string Evaluation::text() const {
  using Kind = NetworkOutput::Kind;
  const std::string losses = "loss " + fixed_places(loss, 6) + " on " + std::to_string(images) + " test ";
  if (kind == Kind::kValues)
    return "RMSE " + significant_digits(rmse(), 6) + ", " + losses +
           (input == NetworkInput::Kind::kImage ? "images" : "samples");
  const std::string right = "accuracy " + fixed_places(100 * accuracy(), 2) + " %, ";
  if (kind == Kind::kNextToken)
    return right + "perplexity " + fixed_places(perplexity(), 4) + ", " + losses + "windows of " +
           std::to_string(images > 0 ? predictions / images : 0) + " tokens";
  return right + losses + (input == NetworkInput::Kind::kImage ? "images" : "samples");
}

}  // namespace softamp
