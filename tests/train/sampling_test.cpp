// Texts from a model: draws have the shares of a softmax, and are the same each time; long texts; what is refused.
#include "softamp/train/sampling.h"

#include <gtest/gtest.h>

#include <cmath>

#include "softamp/train/gpt.h"
#include "tests/graph/executor_check.h"

namespace softamp::test {
namespace {

using enum DType;

TEST(Sampling, DrawsHaveTheSharesOfTheSoftmax) {
  const std::vector<double> logits = {0.5, -1, 2, 0};
  constexpr int kDraws = 20000;
  for (const double temperature : {0.5, 1.0, 3.0}) {
    double total = 0;
    for (const double x : logits) total += std::exp(x / temperature);
    std::vector<int> counts(4);
    for (uint64_t n = 0; n < kDraws; ++n) ++counts[static_cast<size_t>(draw_token(logits, {temperature, 7}, n))];
    for (size_t i = 0; i < 4; ++i) {
      const double p = std::exp(logits[i] / temperature) / total;
      EXPECT_NEAR(counts[i], kDraws * p, 5 * std::sqrt(kDraws * p * (1 - p)) + 1) << temperature << " " << i;
    }
  }
}

TEST(Sampling, ADrawIsItsWord) {
  // Equal shares: the two highest bits of the word say which of four.
  const RandomBits random{.seed = 11};
  for (uint64_t n = 0; n < 100; ++n)
    EXPECT_EQ(draw_token(std::vector<double>(4, 3.25), {1, 11}, n), random.bits(0xFFFFFFFC, 0, n, 32) >> 30) << n;
  EXPECT_EQ(draw_token(std::vector<double>{1, 5, 5, 2}, {0, 1}, 0), 1) << "the first of the greatest";
  EXPECT_EQ(draw_token(std::vector<double>{-1e300, 1e300}, {1, 1}, 0), 1);
}

/// A model that expects token + 1 next, by far, at each place.
Tensor one_more(const Tensor& tokens) {
  std::vector<double> logits;
  for (const double token : tokens.values())
    for (int i = 0; i < 5; ++i) logits.push_back(i == (static_cast<int>(token) + 1) % 5 ? 1000 : 0);
  return Tensor::from_values(kFloat32, {tokens.shape()[0], tokens.shape()[1], 5}, logits);
}

TEST(Sampling, TextsGoOnPastTheModelsTime) {
  const std::vector<int32_t> prompt = {2, 3};
  EXPECT_EQ(sample_tokens(one_more, {2, 4}, prompt, 7), (std::vector<int32_t>{4, 0, 1, 2, 3, 4, 0}));
  EXPECT_EQ(sample_tokens(one_more, {1, 1}, prompt, 3), (std::vector<int32_t>{4, 0, 1})) << "sees the last token";
  EXPECT_TRUE(sample_tokens(one_more, {1, 4}, prompt, 0).empty());
}

TEST(Sampling, FromATrainer) {
  GptOptions options{7, 5, 1, 2, 8};
  const ModelInputs inputs{{kInt32, {2, 5}}, {kInt32, {2, 5}}};
  TrainerOptions how;
  how.executor.threads = 1;
  Trainer trainer(build_model(gpt(options), find_loss("sparse_categorical_crossentropy_from_logits"), inputs), how);
  const std::vector<int32_t> prompt = {1};
  const std::vector<int32_t> text = sample_tokens(trainer, prompt, 12, {1, 3});
  EXPECT_EQ(text.size(), 12u);
  EXPECT_EQ(sample_tokens(trainer, prompt, 12, {1, 3}), text);
  EXPECT_NE(sample_tokens(trainer, prompt, 12, {1, 4}), text);
  std::vector<int32_t> begun = sample_tokens(trainer, prompt, 5, {1, 3}), whole = prompt;
  whole.insert(whole.end(), begun.begin(), begun.end());
  const std::vector<int32_t> rest = sample_tokens(trainer, whole, 7, {1, 3, 5});
  begun.insert(begun.end(), rest.begin(), rest.end());
  EXPECT_EQ(begun, text) << "a text that is continued";
  EXPECT_EQ(trainer.state().executions, 0u);
}

TEST(Sampling, Refusals) {
  const auto text = [](const auto& act) { return refusal<std::invalid_argument>(act); };
  const std::vector<int32_t> prompt = {1};
  EXPECT_EQ(text([&] {
              sample_tokens(one_more, {1, 4}, {}, 1);
            }),
            "sampling: the prompt is empty; expected a token at least");
  EXPECT_EQ(text([&] { sample_tokens(one_more, {1, 4}, prompt, -1); }), "sampling: count is -1; expected 0 or more");
  EXPECT_EQ(text([&] { sample_tokens(one_more, {4}, prompt, 1); }),
            "sampling: the model's tokens have the shape [4]; expected [batch, time]");
  EXPECT_EQ(text([&] {
              sample_tokens(one_more, {1, 4}, prompt, 1, {-1});
            }),
            "sampling: temperature is -1; expected a finite number, 0 or more");
  EXPECT_EQ(text([&] {
              sample_tokens([](const Tensor& t) { return t.clone(); }, {1, 4}, prompt, 1);
            }),
            "sampling: the logits are int32[1,4]; expected [1, 4, vocabulary] of a floating dtype");
  EXPECT_EQ(text([&] {
              draw_token(std::vector<double>{0, std::nan("")}, {}, 0);
            }),
            "sampling: logit 1 is nan; expected a finite number");
  EXPECT_EQ(text([&] { draw_token({}, {}, 0); }), "sampling: there are no logits; expected one for each token");
}

}  // namespace
}  // namespace softamp::test
