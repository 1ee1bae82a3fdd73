// Networks of files on both backends: one with every layer that is no language model's, and one that is. Loss, weights
// and evaluation are the same, however the run computes.
#include <cmath>
#include <vector>

#include "softamp/data/npz.h"
#include "softamp/train/training_run.h"
#include "tests/serial_grid/both.h"
#include "tests/train/quiet_run.h"

namespace softamp {
namespace {

using test::contains;
using test::quiet_run;
using test::said_on_both;
using test::TemporaryFolder;
using test::write_text;
using NetworkOnBoth = test::BothBackends;

const char* const kOfImages = R"({"softamp_network": 1, "input": {"kind": "features", "shape": [4, 4, 2]},
  "output": {"kind": "values", "shape": [3], "loss": "huber"}, "layers": [
    {"type": "depthwise_conv2d", "multiplier": 2},
    {"type": "batch_norm", "moving_averages": true},
    {"type": "concat", "branches": [[{"type": "conv2d", "filters": 2, "activation": "elu"}], []]},
    {"type": "residual", "layers": [{"type": "group_norm", "groups": 3}, {"type": "conv2d", "filters": 6}],
     "shortcut": [{"type": "conv2d", "filters": 6, "kernel": 1}], "activation": "gelu"},
    {"type": "repeat", "times": 2, "layers": [{"type": "average_pool"}]},
    {"type": "flatten"}, {"type": "dropout", "rate": 0.25}, {"type": "dense", "units": 3}]})";
const char* const kOfText = R"({"softamp_network": 1, "input": {"kind": "tokens", "length": 3, "vocabulary": 5},
  "output": {"kind": "next_token"}, "layers": [
    {"type": "embedding", "vocabulary": 5, "units": 6}, {"type": "position_embedding"}, {"type": "dropout", "rate": 0.2},
    {"type": "transformer_block", "heads": 2, "dropout": 0.1}, {"type": "layer_norm"}, {"type": "tied_output"}]})";

std::string numbers_of(const TemporaryFolder& folder) {
  std::vector<double> x, y;
  for (int i = 0; i < 8 * 32; ++i) x.push_back(std::sin(i * 1.7));
  for (int i = 0; i < 8 * 3; ++i) y.push_back(std::cos(i * 2.3));
  const Tensor inputs = Tensor::from_values(DType::kFloat32, {8, 4, 4, 2}, x),
               labels = Tensor::from_values(DType::kFloat32, {8, 3}, y);
  const npz::Array both[] = {{"x", &inputs}, {"y", &labels}};
  npz::write(folder.file("data.npz"), both);
  return folder.file("data.npz");
}

TEST_F(NetworkOnBoth, TrainsAlike) {
  const TemporaryFolder folder;
  write_text(folder.file("text.txt"), "abcdeabcdbacedbcadebacedabcdeabc");
  const struct {
    const char* layers;
    std::string data;
  } networks[] = {{kOfImages, numbers_of(folder)}, {kOfText, folder.file("text.txt")}};
  for (const auto& network : networks) {
    write_text(folder.file("net.json"), network.layers);
    for (const char* how : {R"({"precision": "mixed", "loss_scale": "dynamic"})",
                            R"({"precision": "float16", "stochastic_rounding": "on", "partials": "half"})",
                            R"({"mechanism": "tensorflow"})"}) {
      SCOPED_TRACE(how);
      const std::string text = said_on_both([&](const std::string& backend) {
        nlohmann::ordered_json json = {{"network", folder.file("net.json")},
                                       {"data", network.data},
                                       {"validation_split", 0.25},
                                       {"batch_size", 2},
                                       {"steps", 3},
                                       {"optimizer", "adamw"},
                                       {"optimizer_state", "float32"},
                                       {"hyperparameters", "float32"},
                                       {"learning_rate_schedule", "cosine"},
                                       {"warmup_steps", 1},
                                       {"clip_global_norm", 1},
                                       {"backend", backend}};
        std::string losses;
        RunOutput output;
        output.on_step = [&](const StepResult& r) { losses += r.json() + "\n"; };
        const RunSummary run = quiet_run(test::settings_over(std::move(json), how), output);
        for (const auto& hash : run.weight_hashes) losses += hash + "\n";
        return losses + run.evaluations.back().text();
      });
      EXPECT_TRUE(contains(text, "\"applied\"")) << text;
      EXPECT_FALSE(contains(text, "error: ")) << text;
    }
  }
}

}  // namespace
}  // namespace softamp
