// A text that a trained language model goes on with, for `softamp train --sample`.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "softamp/train/sampling.h"
#include "softamp/train/training_run.h"
#include "src/train/run/samples.h"

namespace softamp::train_detail {

/// What RunOutput asks for, checked before the first step.
class TextSample {
 public:
  /// Nothing where no text is asked for. Throws std::invalid_argument: a network that predicts no text, a beginning
  /// with other characters than the training text's, a temperature or a number of tokens out of range.
  static std::optional<TextSample> asked(const RunOutput& output, const TrainSettings& settings,
                                         const NetworkInfo& network, const std::optional<TextTokens>& tokens);

  /// The beginning and what follows, as text. Throws RunStopped, and std::invalid_argument where the model's logits are
  /// not finite.
  std::string draw(Trainer& trainer) const;

 private:
  TextTokens tokens_;  ///< without any token
  std::vector<int32_t> begin_;
  int64_t count_ = 0;
  SamplingOptions how_;
};

}  // namespace softamp::train_detail
