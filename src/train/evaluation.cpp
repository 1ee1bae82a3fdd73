#include "src/train/evaluation.h"

#include "softamp/numerics/math_log.h"
#include "src/train/exchange_calls.h"
#include "src/train/step_agreement.h"

namespace softamp::train_detail {

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
  return {log - (logits[wanted] - logits[best]), numbers && best == wanted};
}

namespace {

/// Of each image of a batch, but not of those that fill up the last one.
std::vector<Judgement> judge_batch(Trainer& trainer, const ImageSet& set, int64_t batch_size, int64_t first) {
  std::vector<int64_t> indices(static_cast<size_t>(batch_size));
  for (size_t i = 0; i < indices.size(); ++i) indices[i] = (first + static_cast<int64_t>(i)) % set.count;
  const std::vector<double> logits =
      trainer.logits(normalise(set, indices, trainer.model().precision.compute)).values();
  const size_t classes = logits.size() / indices.size();
  std::vector<Judgement> judgements;
  for (size_t i = 0; i < indices.size() && first + static_cast<int64_t>(i) < set.count; ++i)
    judgements.push_back(
        judge(std::span(logits).subspan(i * classes, classes), set.labels[static_cast<size_t>(indices[i])]));
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
  for (const Judgement& j : mine) given.value(j.loss).value(static_cast<uint8_t>(j.correct));
  const std::vector<std::string> texts = gather_texts(exchange, given.bytes());
  std::vector<Taken> taken;
  for (const std::string& text : texts) taken.emplace_back(text);
  std::vector<Judgement> judgements;
  for (int64_t i = 0; i < images; ++i) {
    Taken& from = taken[static_cast<size_t>(i / batch_size % takers_of(trainer))];
    const auto loss = from.value<double>();
    judgements.push_back({loss, from.value<uint8_t>() != 0});
  }
  return judgements;
}

}  // namespace

std::optional<Evaluation> evaluate(Trainer& trainer, const ImageSet& set, int64_t batch_size, int64_t step,
                                   const std::function<bool()>& stop) {
  Exchange* const exchange = trainer.options().exchange;
  const int64_t takers = takers_of(trainer), me = exchange ? exchange->rank() : 0;
  std::optional<std::vector<Judgement>> judgements(std::in_place);
  StepOutcome outcome;
  int64_t batch = 0;
  try {
    for (; batch * batch_size < set.count; ++batch) {
      if (batch % takers != me) continue;
      if (stop && stop()) throw RunStopped("the evaluation was stopped");
      for (const Judgement& j : judge_batch(trainer, set, batch_size, batch * batch_size)) judgements->push_back(j);
    }
  } catch (const RunStopped&) {
    if (!exchange) return std::nullopt;
    outcome.stopped = true;
  } catch (const FloatingPointError& e) {
    if (!exchange) throw;
    outcome.exception = e;
    outcome.micro_batch = static_cast<int>(batch);
  }
  if (exchange) judgements = of_all_ranks(trainer, *judgements, outcome, set.count, batch_size);
  if (!judgements) return std::nullopt;
  Evaluation e;
  e.step = step;
  e.images = static_cast<int64_t>(judgements->size());
  double total = 0;
  for (const Judgement& j : *judgements) {
    total += j.loss;
    e.correct += j.correct;
  }
  e.loss = e.images > 0 ? total / static_cast<double>(e.images) : 0;
  return e;
}

}  // namespace softamp::train_detail
