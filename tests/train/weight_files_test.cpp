// First weights and batches in files: a network of plain loops trains from them as the library does; what does not fit
// is refused.
#include <gtest/gtest.h>

#include <cmath>
#include <map>

#include "softamp/data/npz.h"
#include "softamp/train/checkpoint.h"
#include "softamp/train/training_run.h"
#include "tests/files.h"
#include "tests/refusal.h"
#include "tests/train/quiet_run.h"

namespace softamp {
namespace {

using test::contains;
using test::quiet_run;
using test::refusal;
using test::small_run;
using test::TemporaryFolder;
using Numbers = std::vector<double>;

/// small_cnn in plain loops of binary64: two convolutions 3x3 with relu and pooling, a dense layer, softmax
/// cross-entropy, momentum. Nothing of the library takes part.
class PlainNetwork {
 public:
  explicit PlainNetwork(std::map<std::string, Numbers> weights) : weights_(std::move(weights)) {
    for (const auto& [name, values] : weights_) momentum_[name].assign(values.size(), 0);
  }

  /// The mean loss before the step.
  double step(const double* images, const double* labels, size_t batch, double rate, double momentum) {
    std::map<std::string, Numbers> gradients;
    for (const auto& [name, values] : weights_) gradients[name].assign(values.size(), 0);
    double loss = 0;
    for (size_t i = 0; i < batch; ++i)
      loss += image(images + i * 784, static_cast<size_t>(labels[i]), static_cast<double>(batch), gradients);
    for (auto& [name, values] : weights_)
      for (size_t k = 0; k < values.size(); ++k) {
        double& m = momentum_[name][k];
        m = momentum * m + gradients[name][k];
        values[k] -= rate * m;
      }
    return loss / static_cast<double>(batch);
  }
  const Numbers& weights(const std::string& name) const { return weights_.at(name); }

 private:
  struct Layer {
    size_t size, in, out;  // height and width; channels
    Numbers input, sum, pooled;
    std::vector<size_t> from;  // of each pooled value
  };

  void forward(Layer& l, const std::string& name) const {
    const Numbers &kernel = weights_.at(name + "/kernel"), &bias = weights_.at(name + "/bias");
    const long n = static_cast<long>(l.size);
    l.sum.assign(l.size * l.size * l.out, 0);
    for (long y = 0; y < n; ++y)
      for (long x = 0; x < n; ++x)
        for (size_t o = 0; o < l.out; ++o) {
          double sum = bias[o];
          for (long dy = -1; dy <= 1; ++dy)
            for (long dx = -1; dx <= 1; ++dx)
              for (size_t c = 0; c < l.in && inside(y + dy, n) && inside(x + dx, n); ++c)
                sum += l.input[place(y + dy, x + dx, l.size, l.in) + c] * kernel[tap(dy, dx, l) + c * l.out + o];
          l.sum[place(y, x, l.size, l.out) + o] = sum;
        }
    l.pooled.clear();
    l.from.clear();
    for (long y = 0; y < n; y += 2)
      for (long x = 0; x < n; x += 2)
        for (size_t o = 0; o < l.out; ++o) {
          size_t best = place(y, x, l.size, l.out) + o;
          for (const auto& [dy, dx] : {std::pair{0, 1}, {1, 0}, {1, 1}})
            if (const size_t at = place(y + dy, x + dx, l.size, l.out) + o; l.sum[at] > l.sum[best]) best = at;
          l.pooled.push_back(std::max(0.0, l.sum[best]));
          l.from.push_back(best);
        }
  }

  /// Adds to the gradients; returns that of the input.
  Numbers backward(const Layer& l, const Numbers& above, const std::string& name,
                   std::map<std::string, Numbers>& gradients) const {
    const Numbers& kernel = weights_.at(name + "/kernel");
    Numbers &to_kernel = gradients[name + "/kernel"], &to_bias = gradients[name + "/bias"], below(l.input.size(), 0);
    const long n = static_cast<long>(l.size);
    for (size_t p = 0; p < above.size(); ++p) {
      const size_t at = l.from[p], o = at % l.out;
      if (l.sum[at] <= 0) continue;
      const long y = static_cast<long>(at / l.out / l.size), x = static_cast<long>(at / l.out % l.size);
      to_bias[o] += above[p];
      for (long dy = -1; dy <= 1; ++dy)
        for (long dx = -1; dx <= 1; ++dx)
          for (size_t c = 0; c < l.in && inside(y + dy, n) && inside(x + dx, n); ++c) {
            const size_t in = place(y + dy, x + dx, l.size, l.in) + c, k = tap(dy, dx, l) + c * l.out + o;
            to_kernel[k] += l.input[in] * above[p];
            below[in] += kernel[k] * above[p];
          }
    }
    return below;
  }

  double image(const double* pixels, size_t label, double batch, std::map<std::string, Numbers>& gradients) const {
    Layer first{28, 1, 8, Numbers(pixels, pixels + 784), {}, {}, {}}, second{14, 8, 16, {}, {}, {}, {}};
    forward(first, "conv2d");
    second.input = first.pooled;
    forward(second, "conv2d_1");
    const Numbers& kernel = weights_.at("dense/kernel");
    Numbers logits = weights_.at("dense/bias");
    for (size_t i = 0; i < second.pooled.size(); ++i)
      for (size_t c = 0; c < 10; ++c) logits[c] += second.pooled[i] * kernel[i * 10 + c];
    double sum = 0;
    for (const double l : logits) sum += std::exp(l);
    Numbers above(second.pooled.size(), 0);
    for (size_t c = 0; c < 10; ++c) {
      const double g = (std::exp(logits[c]) / sum - (c == label)) / batch;
      gradients["dense/bias"][c] += g;
      for (size_t i = 0; i < above.size(); ++i) {
        gradients["dense/kernel"][i * 10 + c] += second.pooled[i] * g;
        above[i] += kernel[i * 10 + c] * g;
      }
    }
    backward(first, backward(second, above, "conv2d_1", gradients), "conv2d", gradients);
    return std::log(sum) - logits[label];
  }

  static bool inside(long at, long size) { return at >= 0 && at < size; }
  static size_t place(long y, long x, size_t size, size_t channels) {
    return (static_cast<size_t>(y) * size + static_cast<size_t>(x)) * channels;
  }
  static size_t tap(long dy, long dx, const Layer& l) {
    return (static_cast<size_t>(dy + 1) * 3 + static_cast<size_t>(dx + 1)) * l.in * l.out;
  }

  std::map<std::string, Numbers> weights_, momentum_;
};

std::map<std::string, Numbers> arrays_of(const std::string& file, bool as_bfloat16 = false) {
  const npz::Reader reader(file);
  std::map<std::string, Numbers> arrays;
  for (const std::string& name : reader.names()) arrays[name] = reader.tensor(name, as_bfloat16).values();
  return arrays;
}

TEST(WeightFiles, PlainLoopsTrainFromThemAsTheLibraryDoes) {
  constexpr int kSteps = 6;
  const TemporaryFolder folder;
  for (const bool wide : {true, false}) {
    SCOPED_TRACE(wide ? "float64" : "float32");
    // Rate and momentum are numbers of both formats.
    const TrainSettings s = small_run(std::string(R"({"steps": 6, "learning_rate": 0.03125, "momentum": 0.875,
        "shuffle": true, "precision": ")") +
                                      (wide ? "float64\"}" : "float32\"}"));
    const std::string first = folder.file("first.npz"), batches = folder.file("b.npz"), last = folder.file("last.npz");
    const RunSummary run = quiet_run(s, {.checkpoint = last, .write_initial = first, .write_batches = batches});
    const auto fed = arrays_of(batches);
    const npz::Reader shapes(batches);
    EXPECT_EQ(shapes.header("images").shape, (std::vector<uint64_t>{kSteps, 8, 28, 28, 1}));
    EXPECT_EQ(shapes.header("labels").shape, (std::vector<uint64_t>{kSteps, 8}));
    PlainNetwork plain(arrays_of(first));
    // Each step adds at most so many roundings as its longest sum has terms: 8 images of 28 x 28 places.
    const double tolerance = kSteps * 8 * 784 * (wide ? 0x1p-53 : 0x1p-24);
    for (size_t step = 0; step < kSteps; ++step) {
      const double loss = plain.step(&fed.at("images")[step * 8 * 784], &fed.at("labels")[step * 8], 8, 0.03125, 0.875);
      EXPECT_NEAR(run.losses.at(step), loss, tolerance * loss) << "step " << step;
    }
    EXPECT_LT(run.losses.back(), run.losses.front() + 1);
    const Checkpoint end = load_checkpoint(last);
    for (const auto& [name, tensor] : end.state.tensors.at(0)) {
      if (name.find("omentum") != std::string::npos) continue;
      const Numbers& wanted = plain.weights(name);
      double largest = 0, farthest = 0;
      for (size_t i = 0; i < wanted.size(); ++i) {
        largest = std::max(largest, std::fabs(wanted[i]));
        farthest = std::max(farthest, std::fabs(tensor.value(static_cast<int64_t>(i)) - wanted[i]));
      }
      EXPECT_LE(farthest, tolerance * largest) << name;
      EXPECT_GT(largest, 0) << name;
    }
  }
}

TEST(WeightFiles, ARunFromItsOwnFirstWeightsIsTheSameRun) {
  const TemporaryFolder folder;
  for (const char* precision : {"float32", "bfloat16"}) {
    TrainSettings s = small_run(R"({"steps": 3})");
    s.precision = precision;
    const std::string first = folder.file("first.npz"), kept = folder.file("kept.npz"), again = folder.file("2.npz");
    const RunSummary whole = quiet_run(s, {.write_initial = first});
    s.initial = first;
    s.seed = 77;  // decides nothing more: images are not shuffled
    EXPECT_EQ(quiet_run(s, {.checkpoint = kept, .write_initial = again}).weight_hashes, whole.weight_hashes);
    EXPECT_EQ(test::read_text(again), test::read_text(first));
    // From a checkpoint: its weights, and nothing else of it.
    s.initial = kept;
    quiet_run(s, {.write_initial = again});
    const auto from = arrays_of(again, true);
    const Checkpoint end = load_checkpoint(kept);
    for (const auto& [name, tensor] : end.state.tensors.at(0))
      EXPECT_TRUE(!from.contains(name) || from.at(name) == tensor.values()) << name;
    EXPECT_EQ(from.size(), 6u);
  }
}

TEST(WeightFiles, WiderNumbersAreRoundedOnce) {
  const TemporaryFolder folder;
  const std::string first = folder.file("first.npz"), half = folder.file("half.npz");
  TrainSettings s = small_run(R"({"steps": 1, "precision": "float64"})");
  quiet_run(s, {.write_initial = first});
  s.initial = first;
  s.precision = "float16";
  quiet_run(s, {.write_initial = half});
  const auto wide = arrays_of(first), narrow = arrays_of(half);
  ASSERT_EQ(narrow.size(), 6u);
  for (const auto& [name, values] : wide) {
    const Tensor rounded = Tensor::from_values(DType::kFloat16, {static_cast<int64_t>(values.size())}, values);
    EXPECT_EQ(narrow.at(name), rounded.values()) << name;
  }
}

TEST(WeightFiles, BatchesOfAFolderAreThoseOfTheFile) {
  const TemporaryFolder folder;
  const TrainSettings s = small_run(R"({"steps": 3, "replicas": 2, "batch_size": 4, "precision": "float16"})");
  quiet_run(s, {.write_batches = folder.file("b.npz")});
  quiet_run(s, {.write_batches = folder.file("batches")});
  const npz::Reader file(folder.file("b.npz"));
  for (const char* name : {"images", "labels"}) {
    const Tensor array = file.tensor(name);
    EXPECT_TRUE(array.same_bits(load_npy(folder.file("batches") + "/" + name + ".npy"))) << name;
    EXPECT_EQ(array.shape()[0], 6);
  }
}

TEST(WeightFiles, WhatDoesNotFitIsRefused) {
  const TemporaryFolder folder;
  const std::string first = folder.file("first.npz"), bad = folder.file("bad.npz");
  TrainSettings s = small_run(R"({"steps": 1, "precision": "float16"})");
  quiet_run(s, {.write_initial = first});
  const npz::Reader reader(first);
  /// The file with one array in the place of another, or without it.
  const auto refused = [&](const std::string& name, const std::string& as, const Tensor* value) {
    std::vector<std::pair<std::string, Tensor>> tensors;
    for (const std::string& each : reader.names())
      if (each != name) tensors.emplace_back(each, reader.tensor(each));
    if (value) tensors.emplace_back(as, value->clone());
    std::vector<npz::Array> arrays;
    for (const auto& [each, tensor] : tensors) arrays.push_back({each, &tensor});
    npz::write(bad, arrays);
    s.initial = bad;
    return refusal<npy::Error>([&] { quiet_run(s); });
  };
  const Tensor bias(DType::kFloat32, {10}), other(DType::kFloat32, {9}), whole(DType::kInt32, {10});
  EXPECT_EQ(refused("dense/bias", "dense/bias", &bias), "");
  EXPECT_EQ(refused("dense/bias", "", nullptr),
            bad + ": no array for 'dense/bias'; expected one for each variable of the network");
  EXPECT_EQ(refused("dense/bias", "dense/baas", &bias),
            bad + ": array 'dense/baas' is no variable of the network. Did you mean 'dense/bias'?");
  EXPECT_EQ(refused("dense/bias", "dense/bias", &other), bad + ": dense/bias: an array of shape (9,); expected (10,)");
  EXPECT_EQ(refused("dense/bias", "dense/bias", &whole),
            bad + ": dense/bias: an array of int32; expected numbers of floating type, for float16");
  Tensor large(DType::kFloat32, {10});
  large.as<float>()[3] = 70000;
  EXPECT_EQ(refused("dense/bias", "dense/bias", &large),
            bad + ": dense/bias: element 3 is 70000; expected numbers that float16 reaches");
  npz::write(bad, {});
  EXPECT_EQ(refusal<npy::Error>([&] { quiet_run(s); }),
            bad +
                ": no array for 'conv2d/kernel', 'conv2d/bias', 'conv2d_1/kernel', 'conv2d_1/bias', 'dense/kernel', "
                "'dense/bias'; expected one for each variable of the network");
  TrainSettings other_network = small_run(R"({"steps": 1})");
  const std::string kept = folder.file("kept.npz");
  quiet_run(other_network, {.checkpoint = kept});
  other_network.network = "fashion_cnn";
  other_network.initial = kept;
  EXPECT_TRUE(contains(refusal<npy::Error>([&] { quiet_run(other_network); }), kept + ": ")) << "a checkpoint";
  s.initial = folder.file("none.npz");
  EXPECT_TRUE(contains(refusal<std::runtime_error>([&] { quiet_run(s); }), "none.npz: cannot open: No such file"));

  TrainSettings resumed = small_run();
  EXPECT_EQ(
      refusal<std::invalid_argument>([&] { quiet_run(resumed, {.resume = kept, .write_initial = bad}); }),
      "the first weights are asked for in '" + bad + "', but a resumed run does not have them; expected one of them");
  resumed.epochs = 1 << 14;
  EXPECT_EQ(refusal<npy::Error>([&] { quiet_run(resumed, {.write_batches = folder.file("b.npz")}); }),
            folder.file("b.npz") +
                ": the batches have 3292528640 bytes; expected at most 2147483648 in one .npz file, or a folder, or "
                "fewer steps");
}

}  // namespace
}  // namespace softamp
