#include "src/train/run/text_sample.h"

#include <stdexcept>

namespace softamp::train_detail {
namespace {

constexpr int64_t kMostTokens = 1'000'000;

[[noreturn]] void refuse(const std::string& message) { throw std::invalid_argument("a text to draw: " + message); }

}  // namespace

std::optional<TextSample> TextSample::asked(const RunOutput& output, const TrainSettings& settings,
                                            const NetworkInfo& network, const std::optional<TextTokens>& tokens) {
  const RunOutput::Sample& wanted = output.sample;
  if (wanted.tokens < 0 || wanted.tokens > kMostTokens)
    refuse(std::to_string(wanted.tokens) + " tokens; expected 0 to " + std::to_string(kMostTokens));
  if (wanted.tokens == 0) {
    if (wanted != RunOutput::Sample{}) refuse("how it is drawn is given, but no number of tokens; expected 1 or more");
    return std::nullopt;
  }
  if (network.output.kind != NetworkOutput::Kind::kNextToken || !tokens)
    refuse("the network '" + settings.network + "' does not predict the next token of a text; expected one that does");
  TextSample sample;
  sample.begin_ = wanted.begin.empty() ? tokens->tokens : tokens->tokens_of(wanted.begin);
  sample.tokens_ = {{}, tokens->characters};
  sample.count_ = wanted.tokens;
  sample.how_ = {wanted.temperature, wanted.seed.value_or(settings.seed)};
  check_sampling(sample.how_);
  return sample;
}

std::string TextSample::draw(Trainer& trainer) const {
  std::vector<int32_t> text = begin_;
  const std::vector<int32_t> drawn = sample_tokens(trainer, begin_, count_, how_);
  text.insert(text.end(), drawn.begin(), drawn.end());
  return tokens_.text_of(text);
}

}  // namespace softamp::train_detail
