// Texts from a language model: one token after the other, each drawn from the softmax of its logits.
//
// A draw: with m the greatest logit and T the temperature, share i is e^((logit i - m) / T), in binary64, summed in
// ascending order; a random word w of 32 bits picks the first i at which the sum of shares 0 to i exceeds
// (w + 1/2) 2^-32 of the sum of all. The exponential is the project's own (numerics/math_double.h): the same bits on
// every machine. Word of draw n: lane n of RandomBits{seed} at step 2^32 - 4, operation 0, which no run of a graph has.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "softamp/train/trainer.h"

namespace softamp {

struct SamplingOptions {
  double temperature = 1;  ///< (0 .., finite) 0: always the greatest logit, the first among equals
  uint64_t seed = 0;
  uint64_t first = 0;  ///< the number n of the first draw: a text that is continued goes on with its words
};

/// Throws std::invalid_argument for a temperature out of range.
void check_sampling(const SamplingOptions& options);

/// Which of the logits draw n picks. Throws std::invalid_argument: no logits, one that is not finite, with its place; a
/// temperature out of range.
int64_t draw_token(std::span<const double> logits, const SamplingOptions& options, uint64_t n);

/// From tokens, int32 [batch, time], to logits [batch, time, vocabulary].
using LogitsFunction = std::function<Tensor(const Tensor& tokens)>;

/// `count` tokens that follow the prompt. shape: [batch, time] of what `logits` takes. The text stands in the first
/// row, from its beginning, or its last `time` tokens where it is longer; a causal model does not see what is behind
/// it, which is 0. Throws std::invalid_argument: an empty prompt, a negative count, a shape that is not [batch, time]
/// or empty, logits of another shape; and as draw_token.
std::vector<int32_t> sample_tokens(const LogitsFunction& logits, const Shape& shape, std::span<const int32_t> prompt,
                                   int64_t count, const SamplingOptions& options = {});
/// With the trainer's present weights, rounded to nearest (Trainer::logits); no variable and no counter changes.
std::vector<int32_t> sample_tokens(Trainer& trainer, std::span<const int32_t> prompt, int64_t count,
                                   const SamplingOptions& options = {});

}  // namespace softamp
