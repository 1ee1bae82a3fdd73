// Softmax and cross-entropies against the model library; halves are the fp32 computation rounded once, bit for bit.
#include "tests/graph/models/model_run.h"
#include "tests/oracle/tensor_model_reductions.h"
#include "tests/oracle/tensor_order.h"

namespace softamp::test {
namespace {

using namespace oracle::model;
namespace order = oracle::order;

[[maybe_unused]] const ::testing::Environment* const kCoversSoftmax =
    covers({"Softmax", "LogSoftmax", "SoftmaxGrad", "LogSoftmaxGrad", "SoftmaxCrossEntropyWithLogits",
            "SparseSoftmaxCrossEntropyWithLogits"});

const std::vector<Ints> kShapes = {{1}, {5}, {4, 10}, {3, 1}, {2, 3, 33}, {2, 1030}, {0, 4}};

/// Logits of magnitudes up to about 20: ordinary ones, and ones whose exponentials leave the halves.
Tensor logits(DType t, const Ints& shape, uint64_t seed) {
  Tensor x(t, Shape(std::span<const int64_t>(shape)));
  Mixer mix(seed);
  for (int64_t i = 0; i < x.elements(); ++i)
    set_code(x, i, code_of(t, static_cast<Real>(mix.between(-20000, 20000)) / 1024));
  return x;
}

/// One-hot rows, or any numbers in [0, 1].
Tensor labels(DType t, const Ints& shape, bool one_hot, uint64_t seed) {
  Tensor x(t, Shape(std::span<const int64_t>(shape)));
  Mixer mix(seed);
  for (int64_t row = 0; row < shape[0]; ++row)
    if (one_hot)
      set_code(x, row * shape[1] + mix.below(shape[1]), code_of(t, 1));
    else
      for (int64_t j = 0; j < shape[1]; ++j)
        set_code(x, row * shape[1] + j, code_of(t, static_cast<Real>(mix.below(65)) / 64));
  return x;
}

TEST(ModelSoftmax, ForwardAndGradients) {
  for (const DType t : kFloats)
    for (const Mode& mode : kModes) {
      RoundedUp statistics;
      for (const Ints& shape : kShapes) {
        const std::vector<Tensor> in = list(logits(t, shape, 1));
        const Array x = load(in[0], mode);
        Tensor y = std::move(run_operation("Softmax", in, {}, mode)[0]);
        Tensor z = std::move(run_operation("LogSoftmax", in, {}, mode)[0]);
        expect_admitted(y, softmax(x), mode, "Softmax", &statistics);
        expect_admitted(z, log_softmax(x), mode, "LogSoftmax", &statistics);
        const Tensor dy = random_tensor(t, shape, Data::kUnit, 2);
        const std::vector<Tensor> forward = list(std::move(y), dy.clone()), log = list(std::move(z), dy.clone());
        expect_admitted(run_operation("SoftmaxGrad", forward, {}, mode)[0],
                        softmax_gradient(load(forward[0], mode), load(dy, mode)), mode, "SoftmaxGrad", &statistics);
        expect_admitted(run_operation("LogSoftmaxGrad", log, {}, mode)[0],
                        log_softmax_gradient(load(log[0], mode), load(dy, mode)), mode, "LogSoftmaxGrad", &statistics);
      }
      expect_probabilities(statistics, t, mode);
    }
}

TEST(ModelSoftmax, CrossEntropies) {
  for (const DType t : kFloats)
    for (const Mode& mode : kModes) {
      RoundedUp statistics;
      for (const Ints& shape : {Ints{1, 1}, Ints{6, 10}, Ints{3, 70}, Ints{2, 1030}})
        for (const bool one_hot : {true, false}) {
          std::vector<Tensor> in = list(logits(t, shape, 3), labels(t, shape, one_hot, 4));
          const CrossEntropy model = cross_entropy(load(in[0], mode), load(in[1], mode));
          const std::vector<Tensor> dense = run_operation("SoftmaxCrossEntropyWithLogits", in, {}, mode);
          expect_admitted(dense[0], model.loss, mode, "loss", &statistics);
          expect_admitted(dense[1], model.backprop, mode, "backprop", &statistics);
          if (!one_hot) continue;
          Tensor classes(DType::kInt32, Shape{shape[0]});
          for (int64_t row = 0; row < shape[0]; ++row)
            for (int64_t j = 0; j < shape[1]; ++j)
              if (in[1].code(row * shape[1] + j)) set_code(classes, row, static_cast<uint32_t>(j));
          in[1] = std::move(classes);
          const std::vector<Tensor> sparse = run_operation("SparseSoftmaxCrossEntropyWithLogits", in, {}, mode);
          expect_admitted(sparse[0], model.loss, mode, "sparse loss", &statistics);
          expect_admitted(sparse[1], model.backprop, mode, "sparse backprop", &statistics);
        }
      expect_probabilities(statistics, t, mode);
    }
}

/// Rounded once: the operation on the widened tensors gives fp32 numbers, whose rounding (with the bits of site and
/// place) is the operation on the halves.
void expect_rounded_once(const std::string& op, const std::vector<Tensor>& in, const Attributes& attributes,
                         const std::vector<uint32_t>& sites) {
  std::vector<Tensor> wide;
  for (const Tensor& x : in) {
    if (!is_floating(x.dtype())) {
      wide.push_back(x.clone());
      continue;
    }
    wide.emplace_back(DType::kFloat32, x.shape());
    for (int64_t i = 0; i < x.elements(); ++i)
      set_code(wide.back(), i, code_of(DType::kFloat32, decode(x.dtype(), x.code(i))));
  }
  const std::vector<Tensor> exact = run_operation(op, wide, attributes, kModes[0]);
  for (const Mode& mode : kModes) {
    const std::vector<Tensor> narrowed = run_operation(op, in, attributes, mode);
    for (size_t o = 0; o < exact.size(); ++o) {
      std::vector<uint64_t> codes;
      for (int64_t i = 0; i < exact[o].elements(); ++i)
        codes.push_back(code_of(narrowed[o].dtype(),
                                order::rounded(narrowed[o].dtype(), decode(DType::kFloat32, exact[o].code(i)), mode,
                                               {7, operation_id(in.size(), sites[o])}, static_cast<uint64_t>(i))));
      expect_codes(narrowed[o], codes, op + " (" + mode.name + "), output " + std::to_string(o));
    }
  }
}

TEST(ModelSoftmax, HalvesAreRoundedOnce) {
  for (const DType t : {DType::kFloat16, DType::kBFloat16})
    for (const Ints& shape : {Ints{7, 11}, Ints{2, 1100}}) {
      const std::vector<Tensor> in = list(logits(t, shape, 5));
      expect_rounded_once("Softmax", in, {}, {0});
      expect_rounded_once("LogSoftmax", in, {}, {0});
      const std::vector<Tensor> two = list(logits(t, shape, 6), labels(t, shape, false, 7));
      expect_rounded_once("SoftmaxCrossEntropyWithLogits", two, {}, {0, 1});
      expect_rounded_once("SoftmaxGrad", list(labels(t, shape, false, 8), logits(t, shape, 9)), {}, {0});
    }
}

/// The elements of fp32 numbers under `op`, a function of one variable that the operations here take inside.
std::vector<float> through(const std::string& op, const std::vector<float>& x) {
  Tensor in(DType::kFloat32, Shape{static_cast<int64_t>(x.size())});
  for (size_t i = 0; i < x.size(); ++i) in.as<float>()[i] = x[i];
  const Tensor out = std::move(run_operation(op, list(std::move(in)), {}, kModes[0])[0]);
  const auto values = out.as<float>();
  return {values.begin(), values.end()};
}

/// Every step on scalars, sums in the order of N140, exponentials and logarithms as the operations Exp and Log give
/// them: bits are demanded.
// tests: N160
TEST(ModelSoftmax, Order) {
  for (const Ints& shape : {Ints{3, 7}, Ints{2, 33}, Ints{2, 100}, Ints{2, 1025}, Ints{1, 3000}})
    for (const DType t : kFloats)
      for (const Mode& mode : kModes) {
        const std::vector<Tensor> in = list(logits(t, shape, 10), labels(t, shape, false, 11));
        const std::vector<Real> x = numbers(in[0], mode), label = numbers(in[1], mode);
        std::vector<uint64_t> soft, log, loss, back, gradient, log_gradient;
        const size_t classes = static_cast<size_t>(shape[1]);
        for (size_t row = 0; row < static_cast<size_t>(shape[0]); ++row) {
          const auto at = [&](const std::vector<Real>& v, size_t j) {
            return static_cast<float>(v[row * classes + j]);
          };
          const auto put = [&](std::vector<uint64_t>& codes, float v, size_t inputs, uint32_t site) {
            codes.push_back(code_of(t, order::rounded(t, v, mode, {7, operation_id(inputs, site)}, codes.size())));
          };
          float greatest = at(x, 0);
          for (size_t j = 1; j < classes; ++j) greatest = std::max(greatest, at(x, j));
          std::vector<float> shifted, terms, products, gradients;
          for (size_t j = 0; j < classes; ++j) shifted.push_back(at(x, j) - greatest);
          const std::vector<float> power = through("Exp", shifted);
          const float sum = order::tree_sum(power), log_sum = through("Log", {sum})[0];
          for (size_t j = 0; j < classes; ++j) {
            put(soft, power[j] / sum, 1, 0);
            put(log, shifted[j] - log_sum, 1, 0);
            put(back, power[j] / sum - at(label, j), 2, 1);
            terms.push_back(at(label, j) * (log_sum - shifted[j]));
            // As gradients: of the forward outputs `label` (softmax) and x (log-softmax), with the other one arriving.
            products.push_back(at(x, j) * at(label, j));
            gradients.push_back(at(label, j));
          }
          put(loss, order::tree_sum(terms), 2, 0);
          const float dot = order::tree_sum(products), total = order::tree_sum(gradients);
          std::vector<float> logs;
          for (size_t j = 0; j < classes; ++j) logs.push_back(at(x, j));
          const std::vector<float> forward = through("Exp", logs);
          for (size_t j = 0; j < classes; ++j) {
            put(gradient, (at(x, j) - dot) * at(label, j), 2, 0);
            put(log_gradient, at(label, j) - forward[j] * total, 2, 0);
          }
        }
        const std::string what = " " + in[0].shape().text() + " " + name_of(t) + " (" + mode.name + ")";
        const std::vector<Tensor> one = list(in[0].clone()), turned = list(in[1].clone(), in[0].clone());
        expect_codes(run_operation("Softmax", one, {}, mode)[0], soft, "Softmax" + what);
        expect_codes(run_operation("LogSoftmax", one, {}, mode)[0], log, "LogSoftmax" + what);
        const std::vector<Tensor> entropy = run_operation("SoftmaxCrossEntropyWithLogits", in, {}, mode);
        expect_codes(entropy[0], loss, "loss" + what);
        expect_codes(entropy[1], back, "backprop" + what);
        expect_codes(run_operation("SoftmaxGrad", turned, {}, mode)[0], gradient, "SoftmaxGrad" + what);
        expect_codes(run_operation("LogSoftmaxGrad", in, {}, mode)[0], log_gradient, "LogSoftmaxGrad" + what);
      }
}

/// TUTORIAL G06: logits of 12, whose exponential is no half, do not overflow.
TEST(ModelSoftmax, LogitsOfTwelve) {
  const std::vector<Tensor> in = list(Tensor::full(DType::kFloat16, Shape{2, 8}, 12));
  const Tensor y = std::move(run_operation("Softmax", in, {}, kModes[1])[0]);
  for (int64_t i = 0; i < 16; ++i) EXPECT_EQ(y.value(i), 0.125);
}

}  // namespace
}  // namespace softamp::test
