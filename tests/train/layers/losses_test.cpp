// Losses by name against their formulas on doubles, their gradients against differences, and losses of one's own.
#include "softamp/train/losses.h"

#include <gtest/gtest.h>

#include <cmath>
#include <functional>

#include "softamp/graph/gradients.h"
#include "softamp/train/initializer.h"
#include "softamp/train/layers.h"
#include "softamp/train/trainer.h"
#include "tests/graph/executor_check.h"

namespace softamp::test {
namespace {

using enum DType;
using Row = std::vector<double>;

constexpr int64_t kSamples = 3, kClasses = 4;

/// The loss for each sample and its gradient with respect to the outputs, in float64.
struct Judged {
  std::vector<double> values, gradients;
};
Judged judge(const LossFunction& loss, const Tensor& labels, const Tensor& outputs) {
  GraphBuilder b;
  const Port y = b.placeholder("y", labels.dtype(), labels.shape()),
             p = b.placeholder("p", outputs.dtype(), outputs.shape());
  const Port value = loss(b, y, p);
  const Port sum = b.add("Sum", {value}, {}, "sum");
  const std::vector<std::optional<Port>> g = gradients(b, sum, std::vector<Port>{p});
  const Names fetches{b.graph().port_name(value), b.graph().port_name(*g[0])};
  ExecutorOptions o;
  o.semantics = Semantics::ieee();
  const auto executor = make_executor(b.build(), o);
  const RunResult run = test::run(*executor, {{"y", &labels}, {"p", &outputs}}, fetches);
  return {run.values[0].values(), run.values[1].values()};
}

double clip(double p, double low = 1e-7, double high = 1 - 1e-7) { return std::min(std::max(p, low), high); }
double mean(const Row& y, const Row& p, const std::function<double(double y, double p)>& of) {
  double sum = 0;
  for (size_t i = 0; i < y.size(); ++i) sum += of(y[i], p[i]);
  return sum / static_cast<double>(y.size());
}
double from_logits(const Row& y, const Row& x) {
  double total = 0, loss = 0;
  for (const double v : x) total += std::exp(v);
  for (size_t i = 0; i < x.size(); ++i) loss += y[i] * (std::log(total) - x[i]);
  return loss;
}
double from_probabilities(const Row& y, const Row& p) {
  double total = 0, loss = 0;
  for (const double v : p) total += v;
  for (size_t i = 0; i < p.size(); ++i) loss -= y[i] * std::log(clip(p[i] / total));
  return loss;
}

/// Formulas of the header, written out; `probabilities`: what the outputs are.
struct Case {
  const char* name;
  bool probabilities, distribution;  ///< of the outputs; of the labels: rows of sum 1
  double (*value)(const Row& y, const Row& p);
};
const Case kCases[] = {
    {"mse", false, false,
     [](const Row& y, const Row& p) { return mean(y, p, [](double a, double b) { return (b - a) * (b - a); }); }},
    {"mae", false, false,
     [](const Row& y, const Row& p) { return mean(y, p, [](double a, double b) { return std::fabs(b - a); }); }},
    {"huber", false, false,
     [](const Row& y, const Row& p) {
       return mean(y, p, [](double a, double b) {
         const double e = std::fabs(b - a);
         return e <= 1 ? e * e / 2 : e - 0.5;
       });
     }},
    {"log_cosh", false, false,
     [](const Row& y, const Row& p) {
       return mean(y, p, [](double a, double b) { return std::log(std::cosh(b - a)); });
     }},
    {"kl_divergence", true, true,
     [](const Row& y, const Row& p) {
       return 4 * mean(y, p, [](double a, double b) {
                const double q = clip(a, 1e-7, 1);
                return q * (std::log(q) - std::log(clip(b, 1e-7, 1)));
              });
     }},
    {"binary_crossentropy", true, false,
     [](const Row& y, const Row& p) {
       return mean(y, p, [](double a, double b) { return -(a * std::log(clip(b)) + (1 - a) * std::log(1 - clip(b))); });
     }},
    {"binary_crossentropy_from_logits", false, false,
     [](const Row& y, const Row& p) {
       return mean(y, p, [](double a, double x) { return std::log1p(std::exp(x)) - a * x; });
     }},
    {"categorical_crossentropy", true, true, from_probabilities},
    {"categorical_crossentropy_from_logits", false, true, from_logits},
};

Tensor drawn(double low, double high, const char* name) {
  return initial_value(Initializer::uniform(low, high), {kFloat64, {kSamples, kClasses}}, name, 7);
}
Row row_of(const Tensor& t, int64_t n) {
  Row row;
  for (int64_t c = 0; c < kClasses; ++c) row.push_back(t.value(n * kClasses + c));
  return row;
}
Tensor normalised(const Tensor& t) {
  std::vector<double> all;
  for (int64_t n = 0; n < kSamples; ++n) {
    const Row row = row_of(t, n);
    double sum = 0;
    for (const double v : row) sum += v;
    for (const double v : row) all.push_back(v / sum);
  }
  return Tensor::from_values(kFloat64, t.shape(), all);
}

TEST(Losses, AreTheirFormulasAndHaveTheirGradients) {
  for (const Case& c : kCases) {
    SCOPED_TRACE(c.name);
    const Tensor outputs = c.probabilities ? drawn(0.01, 0.99, "outputs") : drawn(-3, 3, "outputs");
    const Tensor labels = c.distribution ? normalised(drawn(0, 1, "labels")) : drawn(0, 1, "labels");
    const Judged found = judge(find_loss(c.name), labels, outputs);
    ASSERT_EQ(found.values.size(), static_cast<size_t>(kSamples));
    for (int64_t n = 0; n < kSamples; ++n) {
      const Row y = row_of(labels, n);
      Row p = row_of(outputs, n);
      const double expected = c.value(y, p);
      // Some twenty roundings of numbers below 4, each by at most half a unit of 2^-51.
      EXPECT_NEAR(found.values[static_cast<size_t>(n)], expected, 20 * 0x1p-51) << n;
      for (size_t i = 0; i < p.size(); ++i) {
        constexpr double kStep = 0x1p-18;
        const double at = p[i];
        p[i] = at + kStep;
        double difference = c.value(y, p);
        p[i] = at - kStep;
        difference -= c.value(y, p);
        p[i] = at;
        // Of a central difference: step^2 / 6 times a third derivative of at most 2 / 0.01^3, and the roundings of
        // values.
        EXPECT_NEAR(found.gradients[static_cast<size_t>(n * kClasses) + i], difference / (2 * kStep),
                    kStep * kStep / 6 * 2e6 + 0x1p-48 / kStep)
            << n << ", " << i;
      }
    }
  }
}

TEST(Losses, AtTheEndsOfProbability) {
  // Certain and wrong: clipped, so the loss is finite: -ln 1e-7.
  const Tensor wrong = tensor(kFloat64, {1, 2}, {0, 1}), label = tensor(kFloat64, {1, 2}, {1, 0});
  for (const char* name : {"binary_crossentropy", "categorical_crossentropy"})
    EXPECT_NEAR(judge(find_loss(name), label, wrong).values[0], -std::log(1e-7), 1e-8) << name;
  EXPECT_NEAR(judge(find_loss("kl_divergence"), label, wrong).values[0], -std::log(1e-7), 2e-6);
  // Logits of any size.
  const Tensor large = tensor(kFloat64, {1, 2}, {-800, 800});
  EXPECT_EQ(judge(find_loss("binary_crossentropy_from_logits"), label, large).values[0], 800);
}

TEST(Losses, NumbersOfClassesAreRowsWithASingleOne) {
  const Tensor rows = tensor(kFloat64, {kSamples, kClasses}, {0, 0, 1, 0, 1, 0, 0, 0, 0, 0, 0, 1});
  for (const std::string suffix : {"", "_from_logits"}) {
    const Tensor outputs = suffix.empty() ? drawn(0.01, 0.99, "outputs") : drawn(-3, 3, "outputs");
    const Judged expected = judge(find_loss("categorical_crossentropy" + suffix), rows, outputs);
    for (const DType dtype : {kInt32, kFloat16, kFloat32})
      for (const Shape& shape : {Shape{kSamples}, Shape{kSamples, 1}}) {
        const Judged found =
            judge(find_loss("sparse_categorical_crossentropy" + suffix), tensor(dtype, shape, {2, 0, 3}), outputs);
        EXPECT_EQ(found.values, expected.values) << suffix << name_of(dtype) << shape.text();
        EXPECT_EQ(found.gradients, expected.gradients) << suffix << name_of(dtype) << shape.text();
      }
  }
}

TEST(Losses, SequencesOfClasses) {
  const Tensor outputs = initial_value(Initializer::uniform(-2, 2), {kFloat64, {2, 3, 4}}, "x", 1);
  const Tensor flat = Tensor::from_values(kFloat64, {6, 4}, outputs.values());
  const Row numbers = {0, 3, 2, 1, 1, 0};
  const LossFunction loss = find_loss("sparse_categorical_crossentropy_from_logits");
  EXPECT_EQ(judge(loss, tensor(kInt32, {2, 3}, numbers), outputs).values,
            judge(loss, tensor(kInt32, {6}, numbers), flat).values);
}

TEST(Losses, LogitsBehindASoftmaxOrSigmoidAreUsed) {
  // As Keras does: e^-800 is no number, its logarithm is.
  const Tensor logits = tensor(kFloat64, {1, 2}, {-800, 0}), label = tensor(kFloat64, {1, 2}, {1, 0});
  for (const auto& [name, op] :
       {std::pair{"categorical_crossentropy", "Softmax"}, {"binary_crossentropy", "Sigmoid"}}) {
    const LossFunction behind = [name = name, op = op](GraphBuilder& b, Port y, Port x) {
      return find_loss(name)(b, y, b.add("Identity", {b.add(op, {x})}));
    };
    const Judged found = judge(behind, label, logits),
                 expected = judge(find_loss(std::string(name) + "_from_logits"), label, logits);
    EXPECT_EQ(found.values, expected.values) << name;
    EXPECT_EQ(found.gradients, expected.gradients) << name;
  }
}

TEST(Losses, OfOnesOwn) {
  // That of the header's example.
  const LossFunction own = [](GraphBuilder& b, Port labels, Port outputs) {
    const Port error = b.add("Sub", {outputs, labels});
    return b.add("Sub", {b.add("Softplus", {b.add("AddV2", {error, error})}), error});
  };
  const Tensor outputs = drawn(-2, 2, "outputs"), labels = drawn(-2, 2, "labels");
  const Judged found = judge(own, labels, outputs);
  for (size_t i = 0; i < found.values.size(); ++i) {
    const double error = outputs.value(static_cast<int64_t>(i)) - labels.value(static_cast<int64_t>(i));
    EXPECT_NEAR(found.values[i], std::log(2 * std::cosh(error)), 20 * 0x1p-51) << i;
    EXPECT_NEAR(found.gradients[i], std::tanh(error), 20 * 0x1p-51) << i;
  }
}

TEST(Losses, AreRefusedByName) {
  EXPECT_EQ(
      refusal<std::invalid_argument>([] { find_loss("mean_squared_eror"); }),
      "unknown loss 'mean_squared_eror'; expected one of mean_squared_error, mse, mean_absolute_error, mae, huber, "
      "log_cosh, kl_divergence, binary_crossentropy, binary_crossentropy_from_logits, categorical_crossentropy, "
      "categorical_crossentropy_from_logits, sparse_categorical_crossentropy, "
      "sparse_categorical_crossentropy_from_logits; nearest: mean_squared_error");
  EXPECT_EQ(refusal<std::invalid_argument>([] { loss_function(LossFunction()); }),
            "loss: the function is empty; expected one that adds a loss to a graph");
  const Tensor outputs = drawn(0.1, 0.9, "outputs");
  EXPECT_EQ(refusal<std::invalid_argument>([&] {
              judge(find_loss("mse"), tensor(kFloat64, {3}, {1, 2, 3}), outputs);
            }),
            "loss: the labels are float64[3] and the outputs float64[3,4]; expected labels [3,4], as the outputs");
  EXPECT_EQ(refusal<std::invalid_argument>([&] {
              judge(find_loss("sparse_categorical_crossentropy"), tensor(kInt32, {4}, {1, 2, 3, 0}), outputs);
            }),
            "loss: the labels are int32[4] and the outputs float64[3,4]; expected labels [3] or [3,1], the number of a "
            "class each");
  EXPECT_EQ(
      refusal<std::invalid_argument>([&] {
        judge(find_loss("categorical_crossentropy"), tensor(kFloat64, {2}, {1, 0}), tensor(kFloat64, {2}, {0.5, 0.5}));
      }),
      "loss: the labels are float64[2] and the outputs float64[2]; expected labels of classes, and outputs [batch, "
      "classes]");
}

// ---- models with them ----

Port one_dense(VariableStore& store, Port x) { return layers::dense(store, x, 2); }

TEST(OwnLosses, TheTutorialsLossIsOneOfThem) {
  // The same nodes as build_model's own, under other names.
  const Network network = [](VariableStore& store, Port x) {
    return layers::dense(store, layers::flatten(store, x), 10);
  };
  ModelOptions images;
  images.batch_size = 4;
  images.image = {2, 2, 1};
  for (const char* precision : {"float32", "mixed", "float16"}) {
    images.precision = Precision::parse(precision);
    const Model expected = build_model(network, images);
    const ModelInputs inputs{{images.precision.compute, {4, 2, 2, 1}}, {kInt32, {4}}, images.precision};
    const Model found = build_model(network, find_loss("sparse_categorical_crossentropy_from_logits"), inputs);
    EXPECT_EQ(found.variables, expected.variables) << precision;
    EXPECT_EQ(found.images, "inputs");
    EXPECT_EQ(found.logits, "outputs");
    Batch batch;
    batch.images = initial_value(Initializer::uniform(0, 1), inputs.inputs, "x", 3);
    batch.labels = tensor(kInt32, {4}, {1, 2, 3, 9});
    Trainer a(expected, {}), b(found, {});
    EXPECT_EQ(a.step({&batch, 1}).loss, b.step({&batch, 1}).loss) << precision;
    EXPECT_EQ(a.weight_hash(), b.weight_hash()) << precision;
    const Trainer::Forward forward = b.forward(batch);
    EXPECT_TRUE(forward.logits.same_bits(a.logits(batch.images))) << precision;
    EXPECT_EQ(forward.loss, a.forward(batch).loss) << precision;
  }
}

TEST(OwnLosses, InputsAndLossesAreCastAsSaid) {
  const ModelInputs inputs{{kFloat64, {3, 5}}, {kFloat64, {3, 2}}, Precision::parse("mixed")};
  const Model model = build_model(one_dense, find_loss("mse"), inputs);
  const auto dtype = [&](const char* name) { return model.graph.type(model.graph.port(name)).dtype; };
  EXPECT_EQ(dtype("inputs"), kFloat64);
  EXPECT_EQ(dtype("inputs_cast"), kFloat16);
  EXPECT_EQ(dtype("outputs"), kFloat16);
  EXPECT_EQ(dtype("loss"), kFloat32);
  ModelInputs narrow = inputs;
  narrow.loss_in_float32 = false;
  const Model in_half = build_model(one_dense, find_loss("mse"), narrow);
  EXPECT_EQ(in_half.graph.type(in_half.graph.port("loss")).dtype, kFloat16);
}

TEST(OwnLosses, WhatDoesNotFitIsRefused) {
  const LossFunction mse = find_loss("mse");
  const auto built = [&](const TensorType& x, const TensorType& y, const Network& network, const LossFunction& loss) {
    return refusal<std::invalid_argument>([&] { build_model(network, loss, {x, y}); });
  };
  EXPECT_EQ(built({kFloat32, {}}, {kFloat32, {3, 2}}, one_dense, mse),
            "build_model: the inputs are a scalar; expected [batch, ...]");
  EXPECT_EQ(built({kFloat32, {3, 5}}, {kFloat32, {}}, one_dense, mse),
            "build_model: the labels are a scalar; expected [batch, ...]");
  EXPECT_EQ(built({kFloat32, {3, 5}}, {kFloat32, {4, 2}}, one_dense, mse),
            "build_model: there are 3 inputs and 4 labels; expected as many labels as inputs");
  EXPECT_EQ(built(
                {kInt32, {3, 2}}, {kFloat32, {3, 2}}, [](VariableStore&, Port x) { return x; }, mse),
            "build_model: the network gives int32[3,2]; expected a floating dtype");
  EXPECT_EQ(built({kFloat32, {3, 5}}, {kInt32, {3}}, one_dense, [](GraphBuilder&, Port y, Port) { return y; }),
            "build_model: the loss gives int32[3]; expected a floating dtype");
  EXPECT_EQ(built({kFloat32, {3, 5}}, {kInt32, {3}}, one_dense, [](GraphBuilder&, Port, Port) { return Port(); }),
            "build_model: the loss gives no output of a node");
}

}  // namespace
}  // namespace softamp::test
