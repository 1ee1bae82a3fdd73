// Evaluation of a model on images that it was not trained on.
#pragma once

#include <functional>
#include <optional>

#include "softamp/data/images.h"
#include "softamp/train/training_run.h"

namespace softamp::train_detail {

/// For one image: cross-entropy, and whether the label's logit is the largest (the first of equals; never if a logit is
/// NaN).
struct Judgement {
  double loss;
  bool correct;
};
/// -ln softmax(logits)[label] = ln sum e^(x - max) - (x_label - max): differences, their sum and the loss in binary64;
/// e^x and ln by softamp's own functions in fp32 (math_exp.h, math_log.h), so the figure is the same on every machine,
/// with an error of at most 2^-22.
Judgement judge(std::span<const double> logits, int32_t label);

/// All images of the set in batches of the model's size; the last one is filled up with the first images, which are not
/// counted again. Returns nothing if `stop` asked to end before all images were seen.
std::optional<Evaluation> evaluate(Trainer& trainer, const ImageSet& set, int64_t batch_size, int64_t step,
                                   const std::function<bool()>& stop);

}  // namespace softamp::train_detail
