#include "softamp/train/sampling.h"

#include <algorithm>
#include <stdexcept>

#include "softamp/machine/float_environment.h"
#include "softamp/numbers/number_text.h"
#include "softamp/numerics/math_double.h"
#include "softamp/numerics/random.h"

namespace softamp {
namespace {

constexpr uint32_t kStep = 0xFFFFFFFC;  // 2^32 - 4: no graph, sampler, initialiser or generated image uses it

[[noreturn]] void fail(const std::string& message) { throw std::invalid_argument("sampling: " + message); }

}  // namespace

void check_sampling(const SamplingOptions& options) {
  if (!(options.temperature >= 0 && options.temperature < __builtin_huge_val()))
    fail("temperature is " + shortest_decimal(options.temperature) + "; expected a finite number, 0 or more");
}

int64_t draw_token(std::span<const double> logits, const SamplingOptions& options, uint64_t n) {
  const engine::DefaultEnvironment guard;
  check_sampling(options);
  if (logits.empty()) fail("there are no logits; expected one for each token");
  for (size_t i = 0; i < logits.size(); ++i)
    if (logits[i] - logits[i] != 0)
      fail("logit " + std::to_string(i) + " is " + shortest_decimal(logits[i]) + "; expected a finite number");
  const auto best = std::max_element(logits.begin(), logits.end());
  if (options.temperature == 0) return best - logits.begin();
  const auto share = [&](double logit) { return math::exp(math::Double((logit - *best) / options.temperature)).value; };
  double all = 0;
  for (const double logit : logits) all += share(logit);
  const uint32_t word = RandomBits{.seed = options.seed}.bits(kStep, 0, n, 32);
  const double wanted = (static_cast<double>(word) + 0.5) * 0x1p-32 * all;
  double sum = 0;
  for (size_t i = 0; i < logits.size(); ++i) {
    sum += share(logits[i]);
    if (sum > wanted) return static_cast<int64_t>(i);
  }
  return best - logits.begin();  // not reached: wanted is below the sum of all
}

std::vector<int32_t> sample_tokens(const LogitsFunction& logits, const Shape& shape, std::span<const int32_t> prompt,
                                   int64_t count, const SamplingOptions& options) {
  const engine::DefaultEnvironment guard;
  check_sampling(options);
  if (shape.rank() != 2 || shape.elements() == 0)
    fail("the model's tokens have the shape " + shape.text() + "; expected [batch, time]");
  if (prompt.empty()) fail("the prompt is empty; expected a token at least");
  if (count < 0) fail("count is " + std::to_string(count) + "; expected 0 or more");
  const auto time = static_cast<size_t>(shape[1]);
  std::vector<int32_t> text(prompt.begin(), prompt.end());
  std::vector<int32_t> drawn;
  for (int64_t n = 0; n < count; ++n) {
    const size_t seen = std::min(text.size(), time);
    Tensor tokens(TensorType{DType::kInt32, shape});
    std::copy(text.end() - static_cast<std::ptrdiff_t>(seen), text.end(), static_cast<int32_t*>(tokens.data()));
    const Tensor given = logits(tokens);
    const Shape& found = given.shape();
    if (found.rank() != 3 || found[0] != shape[0] || found[1] != shape[1] || !is_floating(given.dtype()))
      fail("the logits are " + given.type().text() + "; expected [" + std::to_string(shape[0]) + ", " +
           std::to_string(shape[1]) + ", vocabulary] of a floating dtype");
    std::vector<double> last(static_cast<size_t>(found[2]));
    for (size_t i = 0; i < last.size(); ++i) last[i] = given.value(static_cast<int64_t>((seen - 1) * last.size() + i));
    drawn.push_back(static_cast<int32_t>(draw_token(last, options, options.first + static_cast<uint64_t>(n))));
    text.push_back(drawn.back());
  }
  return drawn;
}

std::vector<int32_t> sample_tokens(Trainer& trainer, std::span<const int32_t> prompt, int64_t count,
                                   const SamplingOptions& options) {
  const Model& model = trainer.model();
  const TensorType type = model.graph.type(model.graph.port(model.images));
  if (type.dtype != DType::kInt32) fail("the model takes " + type.text() + "; expected int32 [batch, time]");
  return sample_tokens([&](const Tensor& tokens) { return trainer.logits(tokens); }, type.shape, prompt, count,
                       options);
}

}  // namespace softamp
