// Batch, layer and group normalisation with their gradients against the model library, and the order of their sums.
#include "tests/graph/models/model_run.h"
#include "tests/oracle/tensor_model_reductions.h"
#include "tests/oracle/tensor_order.h"

namespace softamp::test {
namespace {

using namespace oracle::model;
namespace order = oracle::order;

[[maybe_unused]] const ::testing::Environment* const kCoversNorms =
    covers({"FusedBatchNormV3", "FusedBatchNormGradV3", "LayerNorm", "LayerNormGrad", "GroupNorm", "GroupNormGrad"});

struct NormCase {
  Norm norm;
  Ints shape;
  int64_t extra;  ///< axis of a layer, number of groups
};
const std::vector<NormCase> kNormCases = {
    {Norm::kBatch, {40, 3}, 0},      {Norm::kBatch, {2, 5, 4, 6}, 0}, {Norm::kBatch, {1100, 2}, 0},
    {Norm::kLayer, {5, 16}, -1},     {Norm::kLayer, {3, 4, 7}, 1},    {Norm::kLayer, {2, 1030}, -1},
    {Norm::kGroup, {2, 3, 5, 6}, 3}, {Norm::kGroup, {3, 8}, 2},       {Norm::kGroup, {2, 40, 30}, 1},
    {Norm::kBatch, {70, 37}, 0},     {Norm::kLayer, {9, 64}, -1},     {Norm::kGroup, {2, 3, 64}, 8}};

std::string name_of_op(Norm norm, bool gradient) {
  if (norm == Norm::kBatch) return gradient ? "FusedBatchNormGradV3" : "FusedBatchNormV3";
  return std::string(norm == Norm::kLayer ? "LayerNorm" : "GroupNorm") + (gradient ? "Grad" : "");
}

NormGroups groups_of(const NormCase& c) {
  if (c.norm == Norm::kBatch) return batch_groups(c.shape);
  return c.norm == Norm::kLayer ? layer_groups(c.shape, c.extra) : channel_groups(c.shape, c.extra);
}

Ints parameters_of(const NormCase& c) {
  if (c.norm == Norm::kLayer)
    return Ints(c.shape.end() + (c.extra < 0 ? c.extra : c.extra - static_cast<int64_t>(c.shape.size())),
                c.shape.end());
  return {c.shape.back()};
}

constexpr double kEpsilon = 1e-3;

Attributes attributes_of(const NormCase& c) {
  Attributes a{{"epsilon", kEpsilon}};
  if (c.norm == Norm::kLayer) a["begin_norm_axis"] = c.extra;
  if (c.norm == Norm::kGroup) a["groups"] = c.extra;
  return a;
}

/// The dtypes of gamma and beta that x of dtype t may have.
std::vector<DType> parameter_types(DType t) {
  if (t == DType::kFloat16) return {DType::kFloat16, DType::kFloat32};
  return {DType::kFloat32};
}

const Real kEpsilon32 = static_cast<float>(kEpsilon);

/// sqrt(variance + epsilon) must be far from 0 for a bound to say much: data of variance about 1 and mean 0.5.
Tensor data_of(DType t, const Ints& shape, uint64_t seed) {
  Tensor x(t, Shape(std::span<const int64_t>(shape)));
  Mixer mix(seed);
  for (int64_t i = 0; i < x.elements(); ++i)
    set_code(x, i, code_of(t, 0.5L + static_cast<Real>(mix.between(-2048, 2048)) / 1024));
  return x;
}

TEST(ModelNorms, Forward) {
  for (const NormCase& c : kNormCases)
    for (const DType t : kFloats)
      for (const DType u : parameter_types(t))
        for (const Mode& mode : kModes)
          for (const bool stable : {false, true}) {
            std::vector<Tensor> in;
            in.push_back(data_of(t, c.shape, 1));
            in.push_back(random_tensor(u, parameters_of(c), Data::kUnit, 2));
            in.push_back(random_tensor(u, parameters_of(c), Data::kUnit, 3));
            Attributes a = attributes_of(c);
            a["use_stable_statistics"] = std::string(stable ? "true" : "false");
            if (c.norm == Norm::kBatch) {
              in.emplace_back(u, Shape{0});
              in.emplace_back(u, Shape{0});
            }
            const NormGroups groups = groups_of(c);
            const Normalised model =
                normalise(load(in[0], mode), load(in[1], mode), load(in[2], mode), groups, kEpsilon32, stable);
            const std::vector<Tensor> out = run_operation(name_of_op(c.norm, false), in, a, mode);
            const std::string what =
                name_of_op(c.norm, false) + " " + in[0].shape().text() + (stable ? " stable " : " ");
            RoundedUp statistics;
            expect_admitted(out[0], model.y, mode, what, &statistics);
            expect_probabilities(statistics, t, mode);
            const size_t moments = c.norm == Norm::kBatch ? 3 : 1;
            expect_admitted(out[moments], model.mean, mode, what + "mean");
            expect_admitted(out[moments + 1], model.variance, mode, what + "variance");
            if (c.norm != Norm::kBatch) continue;
            // The running estimates with a factor of 1: mean, and variance n / (n - 1).
            const size_t n = groups.places[0].size();
            expect_admitted(out[1], model.mean, mode, what + "running mean");
            expect_admitted(out[2],
                            Array(model.variance).at.empty() ? model.variance : [&] {
                              Array v = model.variance;
                              for (Range& r : v.at) r = f32(r * f32(count_of(n) / count_of(n - 1)));
                              return v;
                            }(),
                            mode, what + "running variance");
          }
}

// tests: N163
TEST(ModelNorms, GivenStatisticsAndRunningEstimates) {
  for (const DType t : kFloats)
    for (const DType u : parameter_types(t))
      for (const Mode& mode : kModes) {
        const Ints shape = {4, 5, 6};
        std::vector<Tensor> in;
        in.push_back(data_of(t, shape, 4));
        for (uint64_t i = 0; i < 3; ++i) in.push_back(random_tensor(u, {6}, Data::kUnit, 5 + i));
        in.push_back(random_tensor(u, {6}, Data::kPositive, 8));
        std::vector<Array> x;
        for (const Tensor& tensor : in) x.push_back(load(tensor, mode));
        const NormGroups groups = batch_groups(shape);
        Attributes a{{"epsilon", kEpsilon}, {"is_training", false}};
        std::vector<Tensor> out = run_operation("FusedBatchNormV3", in, a, mode);
        expect_admitted(out[0], normalise_by(x[0], x[1], x[2], x[3], x[4], groups, kEpsilon32), mode, "inference");
        for (const size_t o : {size_t{1}, size_t{3}}) {
          expect_admitted(out[o], x[3], mode, "the mean handed on");
          expect_admitted(out[o + 1], x[4], mode, "the variance handed on");
        }
        a["is_training"] = true;
        a["exponential_avg_factor"] = 0.25;
        a["use_stable_statistics"] = std::string("true");
        out = run_operation("FusedBatchNormV3", in, a, mode);
        const Normalised model = normalise(x[0], x[1], x[2], groups, kEpsilon32, true);
        Array mean = model.mean, variance = model.variance;
        for (int64_t c = 0; c < 6; ++c) {
          const Range unbiased = f32(variance[c] * f32(count_of(20) / count_of(19)));
          mean[c] = f32(f32(Range(0.75L) * x[3][c]) + f32(Range(0.25L) * mean[c]));
          variance[c] = f32(f32(Range(0.75L) * x[4][c]) + f32(Range(0.25L) * unbiased));
        }
        expect_admitted(out[1], mean, mode, "running mean");
        expect_admitted(out[2], variance, mode, "running variance");
      }
}

TEST(ModelNorms, Gradients) {
  for (const NormCase& c : kNormCases)
    for (const DType t : kFloats)
      for (const DType u : parameter_types(t))
        for (const Mode& mode : kModes)
          for (const bool training : {true, false}) {
            if (!training && c.norm != Norm::kBatch) continue;
            const NormGroups groups = groups_of(c);
            std::vector<Tensor> in;
            in.push_back(random_tensor(t, c.shape, Data::kUnit, 10));
            in.push_back(data_of(t, c.shape, 11));
            in.push_back(random_tensor(u, parameters_of(c), Data::kUnit, 12));
            in.push_back(random_tensor(DType::kFloat32, groups.statistics_shape, Data::kUnit, 13));
            in.push_back(random_tensor(DType::kFloat32, groups.statistics_shape, Data::kPositive, 14));
            std::vector<Array> x;
            for (const Tensor& tensor : in) x.push_back(load(tensor, mode));
            const NormGradients model =
                norm_gradients(x[0], x[1], x[2], x[3], x[4], groups, kEpsilon32, training, c.norm == Norm::kBatch);
            Attributes a = attributes_of(c);
            if (c.norm == Norm::kBatch) a["is_training"] = training;
            const std::vector<Tensor> out = run_operation(name_of_op(c.norm, true), in, a, mode);
            const std::string what = name_of_op(c.norm, true) + " " + in[0].shape().text();
            RoundedUp statistics;
            expect_admitted(out[0], model.x, mode, what + " x", &statistics);
            expect_probabilities(statistics, t, mode);
            expect_admitted(out[1], model.gamma, mode, what + " scale");
            expect_admitted(out[2], model.beta, mode, what + " offset");
          }
}

/// Every step on scalars, sums in the order of N140: bits are demanded of y and of the moments.
// tests: N140, N161
TEST(ModelNorms, Order) {
  for (const NormCase& c : kNormCases)
    for (const DType t : kFloats)
      for (const bool stable : {false, true})
        for (const Mode& mode : kModes) {
          std::vector<Tensor> in;
          in.push_back(random_tensor(t, c.shape, Data::kMiddle, 20));
          in.push_back(random_tensor(DType::kFloat32, parameters_of(c), Data::kUnit, 21));
          in.push_back(random_tensor(DType::kFloat32, parameters_of(c), Data::kUnit, 22));
          Attributes a = attributes_of(c);
          a["use_stable_statistics"] = std::string(stable ? "true" : "false");
          if (c.norm == Norm::kBatch) {
            in.emplace_back(DType::kFloat32, Shape{0});
            in.emplace_back(DType::kFloat32, Shape{0});
          }
          const std::vector<Real> x = numbers(in[0], mode), gamma = numbers(in[1], mode), beta = numbers(in[2], mode);
          const NormGroups groups = groups_of(c);
          std::vector<uint64_t> y(x.size()), means, variances;
          for (const auto& places : groups.places) {
            std::vector<float> terms, squares;
            for (const int64_t p : places) terms.push_back(static_cast<float>(x[static_cast<size_t>(p)]));
            const float n = static_cast<float>(places.size()), mean = order::tree_sum(terms) / n;
            for (const float v : terms) squares.push_back(stable ? (v - mean) * (v - mean) : v * v);
            const float mean_square = order::tree_sum(squares) / n;
            const float variance = stable ? mean_square : mean_square - mean * mean;
            const float inverse = 1 / std::sqrt(variance + static_cast<float>(kEpsilon));
            means.push_back(code_of(DType::kFloat32, order::rounded(DType::kFloat32, mean, mode, {}, 0)));
            variances.push_back(code_of(DType::kFloat32, order::rounded(DType::kFloat32, variance, mode, {}, 0)));
            for (const int64_t p : places) {
              const size_t g = static_cast<size_t>(groups.parameter[static_cast<size_t>(p)]);
              const float h = (static_cast<float>(x[static_cast<size_t>(p)]) - mean) * inverse;
              const float v = std::fma(h, static_cast<float>(gamma[g]), static_cast<float>(beta[g]));
              y[static_cast<size_t>(p)] =
                  code_of(t, order::rounded(t, v, mode, {7, operation_id(in.size(), 0)}, static_cast<uint64_t>(p)));
            }
          }
          const std::string what = name_of_op(c.norm, false) + " " + in[0].shape().text() + " " + name_of(t) + " (" +
                                   mode.name + (stable ? ") stable" : ")");
          if (t == DType::kFloat16 || t == DType::kFloat32 || t == DType::kBFloat16) {
            const std::vector<Tensor> out = run_operation(name_of_op(c.norm, false), in, a, mode);
            const size_t moments = c.norm == Norm::kBatch ? 3 : 1;
            expect_codes(out[0], y, what);
            expect_codes(out[moments], means, what + " mean");
            expect_codes(out[moments + 1], variances, what + " variance");
          }
        }
}

/// The gradients' steps on scalars: dx = i (g - A - h B) with means A of g and B of g h, and the sums for gamma and
/// beta.
// tests: N164
TEST(ModelNorms, OrderOfGradients) {
  for (const NormCase& c : kNormCases)
    for (const DType t : kFloats)
      for (const Mode& mode : kModes) {
        const bool batch = c.norm == Norm::kBatch;
        const NormGroups groups = groups_of(c);
        std::vector<Tensor> in;
        in.push_back(random_tensor(t, c.shape, Data::kMiddle, 40));
        in.push_back(random_tensor(t, c.shape, Data::kMiddle, 41));
        in.push_back(random_tensor(DType::kFloat32, parameters_of(c), Data::kUnit, 42));
        in.push_back(random_tensor(DType::kFloat32, groups.statistics_shape, Data::kUnit, 43));
        in.push_back(random_tensor(DType::kFloat32, groups.statistics_shape, Data::kPositive, 44));
        std::vector<std::vector<float>> x(5);
        for (size_t i = 0; i < 5; ++i)
          for (const Real v : numbers(in[i], mode)) x[i].push_back(static_cast<float>(v));
        const size_t elements = x[0].size();
        std::vector<uint64_t> dx(elements), scale, offset;
        std::vector<float> h(elements);
        std::vector<std::vector<float>> to_scale(x[2].size()), to_offset(x[2].size());
        const auto inverse = [&](size_t g) { return 1 / std::sqrt(x[4][g] + static_cast<float>(kEpsilon)); };
        for (size_t i = 0; i < elements; ++i) {
          const size_t g = static_cast<size_t>(groups.group[i]), p = static_cast<size_t>(groups.parameter[i]);
          h[i] = (x[1][i] - x[3][g]) * inverse(g);
          to_scale[p].push_back(x[0][i] * h[i]);
          to_offset[p].push_back(x[0][i]);
        }
        for (size_t p = 0; p < x[2].size(); ++p) {
          const auto code = [&](float v) {
            return code_of(DType::kFloat32, order::rounded(DType::kFloat32, v, mode, {}, 0));
          };
          scale.push_back(code(order::tree_sum(to_scale[p])));
          offset.push_back(code(order::tree_sum(to_offset[p])));
        }
        for (size_t g = 0; g < groups.places.size(); ++g) {
          std::vector<float> arriving, products;
          for (const int64_t place : groups.places[g]) {
            const size_t i = static_cast<size_t>(place), p = static_cast<size_t>(groups.parameter[i]);
            arriving.push_back(batch ? x[0][i] : x[0][i] * x[2][p]);
            products.push_back(arriving.back() * h[i]);
          }
          const float n = static_cast<float>(arriving.size());
          const float a = order::tree_sum(arriving) / n, b = order::tree_sum(products) / n;
          const float factor = batch ? x[2][g] * inverse(g) : inverse(g);
          for (size_t k = 0; k < arriving.size(); ++k) {
            const size_t i = static_cast<size_t>(groups.places[g][k]);
            const float v = factor * std::fma(-h[i], b, arriving[k] - a);
            dx[i] = code_of(t, order::rounded(t, v, mode, {7, operation_id(5, 0)}, i));
          }
        }
        const std::vector<Tensor> out = run_operation(name_of_op(c.norm, true), in, attributes_of(c), mode);
        const std::string what =
            name_of_op(c.norm, true) + " " + in[0].shape().text() + " " + name_of(t) + " (" + mode.name + ") ";
        expect_codes(out[0], dx, what + "x");
        expect_codes(out[1], scale, what + "scale");
        expect_codes(out[2], offset, what + "offset");
      }
}

/// Statistics in halves: every sum, quotient, difference and square of theirs is rounded to fp16 (to nearest here).
// tests: N162
TEST(ModelNorms, HalfStatistics) {
  const Mode& mode = kModes[1];
  const auto half = [&](float v) { return static_cast<float>(order::rounded(DType::kFloat16, v, mode, {}, 0)); };
  for (const bool stable : {false, true})
    for (const int64_t n : {5, 100, 1500}) {
      std::vector<Tensor> in;
      in.push_back(data_of(DType::kFloat16, {3, n}, 30));
      in.push_back(Tensor::full(DType::kFloat16, Shape{n}, 1));
      in.push_back(Tensor::full(DType::kFloat16, Shape{n}, 0));
      const std::vector<Tensor> out = run_operation(
          "LayerNorm", in,
          {{"statistics", std::string("half")}, {"use_stable_statistics", std::string(stable ? "true" : "false")}},
          mode);
      for (int64_t row = 0; row < 3; ++row) {
        std::vector<float> terms, squares;
        for (int64_t i = 0; i < n; ++i) terms.push_back(static_cast<float>(in[0].value(row * n + i)));
        const float count = static_cast<float>(n), mean = half(order::half_tree_sum(terms, mode) / count);
        for (const float v : terms) {
          const float d = stable ? half(v - mean) : v;
          squares.push_back(half(d * d));
        }
        float variance = half(order::half_tree_sum(squares, mode) / count);
        if (!stable) variance = half(variance - half(mean * mean));
        EXPECT_EQ(out[1].value(row), mean) << n;
        EXPECT_EQ(out[2].value(row), variance) << n;
      }
    }
}

/// TUTORIAL G38: 1000 values alternating 30000 and 30016, variance 64, in the order of N140.
// tests: N140
TEST(ModelNorms, StableAndUnstableVariance) {
  std::vector<Tensor> in;
  in.emplace_back(DType::kFloat32, Shape{1, 1000});
  for (int64_t i = 0; i < 1000; ++i) set_code(in[0], i, code_of(DType::kFloat32, i % 2 ? 30016 : 30000));
  in.push_back(Tensor::full(DType::kFloat32, Shape{1000}, 1));
  in.push_back(Tensor::full(DType::kFloat32, Shape{1000}, 0));
  for (const bool stable : {false, true}) {
    const std::vector<Tensor> out =
        run_operation("LayerNorm", in, {{"use_stable_statistics", std::string(stable ? "true" : "false")}}, kModes[1]);
    EXPECT_EQ(out[2].value(0), stable ? 64 : -64);
    EXPECT_EQ(std::isnan(out[0].value(0)), !stable);
  }
}

}  // namespace
}  // namespace softamp::test
