// Evaluation of a model on samples that it was not trained on.
#pragma once

#include <functional>
#include <optional>
#include <span>
#include <string_view>

#include "softamp/train/training_run.h"
#include "src/train/run/samples.h"

namespace softamp::train_detail {

/// For one image: cross-entropy, and whether the label's logit is the largest (the first of equals; never if a logit is
/// NaN). Of a sample with several labels (tokens, values): the mean loss, how many are right, the sum of squared
/// errors.
struct Judgement {
  double loss = 0;
  int64_t correct = 0;
  double squares = 0;
};
/// -ln softmax(logits)[label] = ln sum e^(x - max) - (x_label - max): differences, their sum and the loss in binary64;
/// e^x and ln by softamp's own functions in fp32 (math_exp.h, math_log.h), so the figure is the same on every machine,
/// with an error of at most 2^-22.
Judgement judge(std::span<const double> logits, int32_t label);

/// One element of a loss by name (NetworkOutput::loss) of values or truths, in binary64, by its formula in losses.h;
/// e^x and ln as above.
double loss_of_value(std::string_view loss, double output, double label);

/// All samples of the set in batches of the model's size; the last one is filled up with the first samples, which are
/// not counted again. Returns nothing if `stop` asked to end before all were seen.
std::optional<Evaluation> evaluate(Trainer& trainer, const Samples& set, const NetworkInfo& network, int64_t batch_size,
                                   int64_t step, const std::function<bool()>& stop);

}  // namespace softamp::train_detail
