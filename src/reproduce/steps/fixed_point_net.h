// A network of dense layers that is trained in fixed point, as Gupta, Agrawal, Gopalakrishnan and Narayanan (ICML 2015)
// train theirs, or, for comparison, in fp32.
//
// What is kept in 16 bits: weights and biases, their updates, the outputs of layers, and the errors that go back. Each
// number is one exact sum, rounded once (numerics' round_to_fixed: saturating, two's complement):
//   output of a layer   x = ReLU(round(b + sum_k x_k w_k)), the last without ReLU
//   error of the last   e = round(p - t), p = softmax of the outputs, each of its operations rounded to fp32
//   error before        e_k = round(sum_j e_j w_kj) where x_k > 0, else 0
//   update u = round(rate sum_images x_k e_j); w <- w - u, which is exact except for saturation Sums are of codes, in
//   binary64, which holds them exactly (fixed_point_product.h). In the fp32 network every product, sum and update is an
//   fp32 operation, each rounded on its own, sums in ascending order.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "softamp/data/images.h"
#include "softamp/numerics/format.h"
#include "softamp/numerics/random.h"
#include "softamp/numerics/rounding.h"
#include "src/reproduce/steps/fixed_point_product.h"

namespace softamp::reproduce {

/// A 16-bit fixed-point format with `fraction` bits after the point.
constexpr FixedFormat fixed16(int fraction) { return {-fraction, -32768, 32767}; }

/// How numbers are kept. Formats are of at most 16 bits, at most 16 of them after the point: sums of more would not be
/// exact.
struct FixedSetup {
  bool fixed = false;                ///< false: fp32 throughout, and the rest has no meaning
  FixedFormat kept = fixed16(12);    ///< weights, biases, updates and errors
  FixedFormat output = fixed16(10);  ///< images and outputs of layers
  RoundingPolicy rounding{};         ///< of every rounding of a training step
  /// The first of the rounding sites, kSitesPerLayer for each layer: trainings with one seed use different ones.
  uint32_t first_site = 0;
};

constexpr uint32_t kSitesPerLayer = 4;

/// Shared by all networks of an experiment.
struct NetSetup {
  std::vector<size_t> widths;  ///< of the input, the hidden layers, the output: {784, 128, 128, 10}
  size_t batch = 100;
  double deviation = 0.01;  ///< of the normal distribution of the first weights; biases begin at 0
  double rate = 0.1;        ///< of learning, by the mean gradient of a batch
  uint64_t seed = 0;
};

/// rate / batch as the networks apply it: an integer multiple of 2^-24, so that it times a sum of codes is exact in
/// binary64: that is below batch 2^15 2^15 (rate / batch) 2^24 = rate 2^54. Throws std::invalid_argument for a rate
/// above 0.5 or so small that it is 0.
constexpr int kRateExponent = -24;
int64_t rate_of(const NetSetup& net);

/// One rounding of many: `sums[i]` 2^exponent to the format, from sums that are integers of at most 2^62 in magnitude;
/// as codes. Element i reads the random word at (seed, step, operation, first + i).
void round_sums(std::span<const double> sums, int exponent, const FixedFormat& format, const RoundingPolicy& policy,
                const RandomBits& random, uint32_t step, uint32_t operation, uint64_t first, std::span<double> codes);

class FixedNet {
 public:
  FixedNet(const NetSetup& net, const FixedSetup& setup);

  /// One step on a batch; the mean cross-entropy before it. `indices`: as many as the batch.
  double train(const ImageSet& set, std::span<const int64_t> indices, uint32_t step);

  /// How many of the first `count` images are classified wrongly; outputs rounded to nearest.
  int64_t wrong(const ImageSet& set, int64_t count);

  /// Weights of a layer as kept: codes, or floats.
  const Grid& weights(size_t layer) const { return layers_[layer].weights; }
  const Grid& biases(size_t layer) const { return layers_[layer].biases; }
  /// Elements of all weights and biases that stood at a limit of the format after the last step.
  int64_t saturated() const;

 private:
  struct Layer {
    Grid weights, biases;  // in x out, 1 x out
    Grid turned;           // weights, transposed
    Grid outputs;          // batch x out
    Grid errors;           // batch x out
    Grid sums;             // batch x out
    Grid inputs_turned;    // in x batch
    Grid updates;          // in x out
  };

  void load(const ImageSet& set, std::span<const int64_t> indices);
  void forward(const RoundingPolicy& policy, uint32_t step);
  double last_errors(const ImageSet& set, std::span<const int64_t> indices, uint32_t step);
  void backward(uint32_t step);
  void update(uint32_t step);
  void keep(std::span<const double> sums, int exponent, const FixedFormat& format, const RoundingPolicy& policy,
            uint32_t step, uint32_t operation, uint64_t first, std::span<double> out) const;

  /// What the sites of layer l do, in this order.
  enum Operation : uint32_t { kOutput, kError, kUpdate, kBiasUpdate };
  uint32_t site(size_t layer, Operation o) const {
    return setup_.first_site + kSitesPerLayer * static_cast<uint32_t>(layer) + o;
  }
  Cells cells() const { return setup_.fixed ? Cells::kCodes : Cells::kFloats; }

  NetSetup net_;
  FixedSetup setup_;
  RandomBits random_;
  Grid images_;
  std::vector<Layer> layers_;
};

}  // namespace softamp::reproduce
