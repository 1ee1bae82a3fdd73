#include "src/train/evaluation.h"

#include "softamp/numerics/math_log.h"

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

std::optional<Evaluation> evaluate(Trainer& trainer, const ImageSet& set, int64_t batch_size, int64_t step,
                                   const std::function<bool()>& stop) {
  Evaluation e;
  e.step = step;
  const DType dtype = trainer.model().precision.compute;
  double total = 0;
  std::vector<int64_t> indices(static_cast<size_t>(batch_size));
  for (int64_t first = 0; first < set.count; first += batch_size) {
    if (stop && stop()) return std::nullopt;
    for (size_t i = 0; i < indices.size(); ++i) indices[i] = (first + static_cast<int64_t>(i)) % set.count;
    const std::vector<double> logits = trainer.logits(normalise(set, indices, dtype)).values();
    const size_t classes = logits.size() / indices.size();
    for (size_t i = 0; i < indices.size() && e.images < set.count; ++i, ++e.images) {
      const Judgement j =
          judge(std::span(logits).subspan(i * classes, classes), set.labels[static_cast<size_t>(indices[i])]);
      total += j.loss;
      e.correct += j.correct;
    }
  }
  e.loss = e.images > 0 ? total / static_cast<double>(e.images) : 0;
  return e;
}

}  // namespace softamp::train_detail
