// float64 computes in binary64 (N441): every sum and formula written out once more on doubles, bit for bit; nothing
// else of an engine's settings has a say in it. That gradients are derivatives, gradients_numeric_test.cpp shows, and
// that the loops are the definitions, differential_test.cpp.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "tests/graph/executor_check.h"
#include "tests/graph/models/model_run.h"

namespace softamp::test {
namespace {

constexpr double kInfiniteDouble = std::numeric_limits<double>::infinity();

using Doubles = std::vector<double>;

Doubles random_doubles(size_t n, uint64_t seed, double low = -2, double high = 2) {
  Mixer mix(seed);
  Doubles all(n);
  for (double& x : all) x = low + (high - low) * (static_cast<double>(mix() >> 11) * 0x1p-53);
  return all;
}
/// One node under a preset that would round, flush and draw wherever it could.
std::vector<Doubles> in_float64(const std::string& op, const std::vector<std::pair<Ints, Doubles>>& in,
                                const Attributes& attributes = {}, uint8_t* flags = nullptr) {
  GraphBuilder b;
  std::vector<Port> ports;
  std::vector<Tensor> tensors;
  std::vector<Feed> feeds;
  for (size_t i = 0; i < in.size(); ++i) {
    ports.push_back(b.placeholder("x" + std::to_string(i), DType::kFloat64, Shape(in[i].first)));
    tensors.push_back(tensor(DType::kFloat64, Shape(in[i].first), in[i].second));
  }
  for (size_t i = 0; i < in.size(); ++i) feeds.push_back({"x" + std::to_string(i), &tensors[i]});
  if (op.starts_with("Apply")) ports.push_back(b.constant(tensor(DType::kBool, {}, {1})));
  const Port node = b.add(op, ports, attributes, "node");
  ExecutorOptions o = stochastic();
  o.config.set("matmuls.poplar_options", PoplarOptions{{"partialsType", "half"}});
  o.config.set("convolutions.poplar_options", PoplarOptions{{"partialsType", "half"}});
  o.amp_block = 1;
  o.status = true;
  o.print = [](const std::string&) {};
  std::vector<std::string> fetches;
  for (size_t p = 0; p < b.graph().node(node.node).outputs.size(); ++p)
    fetches.push_back(b.graph().port_name({node.node, static_cast<int>(p)}));
  const RunResult r = make_executor(b.build(), o)->run(feeds, fetches);
  if (flags) *flags = r.flags;
  std::vector<Doubles> all;
  for (const Tensor& t : r.values) {
    EXPECT_EQ(t.dtype(), DType::kFloat64) << op;
    all.emplace_back();
    for (const double x : t.as<double>()) all.back().push_back(x);
  }
  return all;
}

void expect_double_bits(const Doubles& found, const Doubles& expected, const std::string& what) {
  ASSERT_EQ(found.size(), expected.size()) << what;
  for (size_t i = 0; i < found.size(); ++i)
    ASSERT_EQ(std::bit_cast<uint64_t>(found[i]), std::bit_cast<uint64_t>(expected[i]))
        << what << " element " << i << ": " << found[i] << ", expected " << expected[i];
}

/// The order of N140 for at most 1024 terms.
double tree_of_doubles(const Doubles& terms) {
  const size_t lanes = std::min<size_t>(terms.size(), 32);
  Doubles lane(terms.begin(), terms.begin() + static_cast<int64_t>(lanes));
  for (size_t i = lanes; i < terms.size(); ++i) lane[i % 32] = lane[i % 32] + terms[i];
  for (size_t stride = 16; stride > 0; stride /= 2)
    for (size_t l = 0; l < stride && l + stride < lanes; ++l) lane[l] = lane[l] + lane[l + stride];
  return lane[0];
}

// tests: K01, N441
TEST(Float64, K01ProductsOfMatrices) {
  // MIXED_PRECISION K01
  for (const bool batch_sum : {false, true})
    for (const int64_t k : {1, 7, 1023, 1024, 1025, 2500})
      for (const int turned : {0, 1, 2, 3}) {
        const int64_t rows = 3, columns = 11;
        const bool ta = turned & 1, tb = turned & 2;
        const Doubles a = random_doubles(static_cast<size_t>(rows * k), 1),
                      b = random_doubles(static_cast<size_t>(columns * k), 2);
        Doubles expected;
        for (int64_t i = 0; i < rows; ++i)
          for (int64_t j = 0; j < columns; ++j) {
            double total = 0, part = 0;
            for (int64_t t = 0; t < k; ++t) {
              const double product = a[static_cast<size_t>(ta ? t * rows + i : i * k + t)] *
                                     b[static_cast<size_t>(tb ? j * k + t : t * columns + j)];
              part = part + product;
              if (batch_sum && (t % 1024 == 1023 || t + 1 == k)) {
                total = t < 1024 ? part : total + part;
                part = 0;
              }
            }
            expected.push_back(batch_sum ? total : part);
          }
        const Attributes how{{"transpose_a", ta}, {"transpose_b", tb}, {"batch_sum", batch_sum}};
        const Ints sa = ta ? Ints{k, rows} : Ints{rows, k}, sb = tb ? Ints{columns, k} : Ints{k, columns};
        expect_double_bits(in_float64("MatMul", {{sa, a}, {sb, b}}, how)[0], expected, "k = " + std::to_string(k));
      }
}

// tests: K01
TEST(Float64, K01Convolutions) {
  // MIXED_PRECISION K01. 20 channels: more than the block of 16 that the order goes by.
  const int64_t n = 2, h = 5, w = 4, in = 20, out = 18, kernel = 3, stride = 2, height = 3, width = 2;
  const auto pad = [&](int64_t input, int64_t output) {
    return std::max<int64_t>((output - 1) * stride + kernel - input, 0) / 2;
  };
  const int64_t top = pad(h, height), left = pad(w, width);
  const Doubles x = random_doubles(static_cast<size_t>(n * h * w * in), 3),
                f = random_doubles(static_cast<size_t>(kernel * kernel * in * out), 4),
                g = random_doubles(static_cast<size_t>(n * height * width * out), 5);
  const auto x_at = [&](int64_t i, int64_t y, int64_t z, int64_t c) {
    return static_cast<size_t>(((i * h + y) * w + z) * in + c);
  };
  const auto f_at = [&](int64_t a, int64_t b, int64_t c, int64_t o) {
    return static_cast<size_t>(((a * kernel + b) * in + c) * out + o);
  };
  const auto g_at = [&](int64_t i, int64_t y, int64_t z, int64_t o) {
    return static_cast<size_t>(((i * height + y) * width + z) * out + o);
  };
  const Attributes how{{"strides", Ints{1, stride, stride, 1}}, {"padding", std::string("SAME")}};
  Doubles forward(g.size()), of_input(x.size()), of_filter(f.size());
  for (int64_t i = 0; i < n; ++i)
    for (int64_t y = 0; y < height; ++y)
      for (int64_t z = 0; z < width; ++z)
        for (int64_t o = 0; o < out; ++o) {
          double sum = 0;
          for (int64_t block = 0; block < in; block += 16)
            for (int64_t a = 0; a < kernel; ++a)
              for (int64_t b = 0; b < kernel; ++b) {
                const int64_t row = y * stride + a - top, column = z * stride + b - left;
                if (row < 0 || row >= h || column < 0 || column >= w) continue;
                for (int64_t c = block; c < std::min(block + 16, in); ++c)
                  sum = sum + x[x_at(i, row, column, c)] * f[f_at(a, b, c, o)];
              }
          forward[g_at(i, y, z, o)] = sum;
        }
  expect_double_bits(in_float64("Conv2D", {{{n, h, w, in}, x}, {{kernel, kernel, in, out}, f}}, how)[0], forward,
                     "forward");
  for (int64_t i = 0; i < n; ++i)
    for (int64_t row = 0; row < h; ++row)
      for (int64_t column = 0; column < w; ++column)
        for (int64_t c = 0; c < in; ++c) {
          double sum = 0;
          for (int64_t block = 0; block < out; block += 16)
            for (int64_t a = 0; a < kernel; ++a)
              for (int64_t b = 0; b < kernel; ++b) {
                const int64_t y = row + top - a, z = column + left - b;
                if (y < 0 || z < 0 || y % stride || z % stride || y / stride >= height || z / stride >= width) continue;
                for (int64_t o = block; o < std::min(block + 16, out); ++o)
                  sum = sum + g[g_at(i, y / stride, z / stride, o)] * f[f_at(a, b, c, o)];
              }
          of_input[x_at(i, row, column, c)] = sum;
        }
  Attributes sizes = how;
  sizes["input_sizes"] = Ints{n, h, w, in};
  expect_double_bits(
      in_float64("Conv2DBackpropInput", {{{kernel, kernel, in, out}, f}, {{n, height, width, out}, g}}, sizes)[0],
      of_input, "input gradient");
  for (int64_t a = 0; a < kernel; ++a)
    for (int64_t b = 0; b < kernel; ++b)
      for (int64_t c = 0; c < in; ++c)
        for (int64_t o = 0; o < out; ++o) {
          double sum = 0;
          for (int64_t i = 0; i < n; ++i)
            for (int64_t y = 0; y < height; ++y)
              for (int64_t z = 0; z < width; ++z) {
                const int64_t row = y * stride + a - top, column = z * stride + b - left;
                if (row < 0 || row >= h || column < 0 || column >= w) continue;
                sum = sum + x[x_at(i, row, column, c)] * g[g_at(i, y, z, o)];
              }
          of_filter[f_at(a, b, c, o)] = sum;
        }
  Attributes filters = how;
  filters["filter_sizes"] = Ints{kernel, kernel, in, out};
  expect_double_bits(in_float64("Conv2DBackpropFilter", {{{n, h, w, in}, x}, {{n, height, width, out}, g}}, filters)[0],
                     of_filter, "filter gradient");
}

TEST(Float64, K01PoolingAndItsGradients) {
  // MIXED_PRECISION K01. Windows of 2 x 2, whole, side by side: one window to an element.
  const Doubles x = random_doubles(2 * 4 * 4 * 3, 6), g = random_doubles(2 * 2 * 2 * 3, 7);
  const Attributes how{{"ksize", Ints{1, 2, 2, 1}}, {"strides", Ints{1, 2, 2, 1}}, {"padding", std::string("VALID")}};
  Doubles greatest, mean, of_greatest(x.size(), 0.0), of_mean(x.size());
  for (size_t i = 0; i < g.size(); ++i) {
    const size_t c = i % 3, z = i / 3 % 2, y = i / 6 % 2, n = i / 12;
    const auto at = [&](size_t a, size_t b) { return ((n * 4 + 2 * y + a) * 4 + 2 * z + b) * 3 + c; };
    size_t best = at(0, 0);
    for (const size_t place : {at(0, 1), at(1, 0), at(1, 1)})
      if (x[place] > x[best]) best = place;
    greatest.push_back(x[best]);
    of_greatest[best] = g[i];
    mean.push_back((((x[at(0, 0)] + x[at(0, 1)]) + x[at(1, 0)]) + x[at(1, 1)]) / 4);
    for (const size_t place : {at(0, 0), at(0, 1), at(1, 0), at(1, 1)}) of_mean[place] = g[i] / 4;
  }
  const std::pair<Ints, Doubles> image{{2, 4, 4, 3}, x}, arriving{{2, 2, 2, 3}, g};
  expect_double_bits(in_float64("MaxPool", {image}, how)[0], greatest, "MaxPool");
  expect_double_bits(in_float64("AvgPool", {image}, how)[0], mean, "AvgPool");
  expect_double_bits(in_float64("MaxPoolGrad", {image, {{2, 2, 2, 3}, greatest}, arriving}, how)[0], of_greatest,
                     "MaxPoolGrad");
  Attributes shaped = how;
  shaped["orig_input_shape"] = Ints{2, 4, 4, 3};
  expect_double_bits(in_float64("AvgPoolGrad", {arriving}, shaped)[0], of_mean, "AvgPoolGrad");
}

// tests: K01
TEST(Float64, K01Norms) {
  // MIXED_PRECISION K01
  const int64_t rows = 6, width = 40;
  const double epsilon = 1e-3;  // no fp32 number
  const Doubles x = random_doubles(static_cast<size_t>(rows * width), 8),
                gamma = random_doubles(static_cast<size_t>(width), 9),
                beta = random_doubles(static_cast<size_t>(width), 10);
  Doubles y, means, variances;
  for (int64_t r = 0; r < rows; ++r) {
    const Doubles row(x.begin() + r * width, x.begin() + (r + 1) * width);
    const double n = static_cast<double>(width), mean = tree_of_doubles(row) / n;
    Doubles squares;
    for (const double v : row) squares.push_back(v * v);
    const double variance = tree_of_doubles(squares) / n - mean * mean, inverse = 1 / std::sqrt(variance + epsilon);
    means.push_back(mean);
    variances.push_back(variance);
    for (size_t c = 0; c < row.size(); ++c) y.push_back((row[c] - mean) * inverse * gamma[c] + beta[c]);
  }
  const auto found =
      in_float64("LayerNorm", {{{rows, width}, x}, {{width}, gamma}, {{width}, beta}}, {{"epsilon", epsilon}});
  expect_double_bits(found[0], y, "y");
  expect_double_bits(found[1], means, "mean");
  expect_double_bits(found[2], variances, "variance");
}

TEST(Float64, K01BatchNormKeepsRunningEstimates) {
  // MIXED_PRECISION K01
  const int64_t rows = 24;
  const double factor = 0.1;
  const Doubles x = random_doubles(static_cast<size_t>(rows), 11), mean{0.3}, variance{1.7};
  Doubles squares;
  for (const double v : x) squares.push_back(v * v);
  const double n = static_cast<double>(rows), m = tree_of_doubles(x) / n, second = tree_of_doubles(squares) / n - m * m;
  const auto found =
      in_float64("FusedBatchNormV3", {{{rows, 1}, x}, {{1}, {1}}, {{1}, {0}}, {{1}, mean}, {{1}, variance}},
                 {{"epsilon", 1e-4}, {"exponential_avg_factor", factor}});
  expect_double_bits(found[1], {(1 - factor) * mean[0] + factor * m}, "running mean");
  expect_double_bits(found[2], {(1 - factor) * variance[0] + factor * (second * (n / (n - 1)))}, "running variance");
}

/// Within the error of the sum and of each function's half an ulp and its steps.
void expect_near_exact(double found, long double exact, double steps, const std::string& what) {
  const long double bound = steps * 0x1p-53L * std::fabs(exact) + 0x1p-1074L;
  EXPECT_LE(std::fabs(static_cast<long double>(found) - exact), bound)
      << what << ": " << found << ", exactly " << static_cast<double>(exact);
}

// tests: K01
TEST(Float64, K01SoftmaxAndLosses) {
  // MIXED_PRECISION K01
  const size_t classes = 37;
  const Doubles x = random_doubles(classes, 12, -30, 30), labels = random_doubles(classes, 13, 0, 1);
  long double sum = 0, dense = 0;
  double greatest = -kInfiniteDouble;
  for (const double v : x) greatest = std::max(greatest, v);
  for (const double v : x) sum += std::exp(static_cast<long double>(v) - greatest);
  for (size_t c = 0; c < classes; ++c)
    dense += labels[c] * (std::log(sum) - (static_cast<long double>(x[c]) - greatest));
  // x - max rounds to an error of at most 60 2^-53, which the exponential makes relative.
  const double bound = 60 + 2 * static_cast<double>(classes) + 8;
  const std::pair<Ints, Doubles> logits{{1, static_cast<int64_t>(classes)}, x};
  const Doubles soft = in_float64("Softmax", {logits})[0], log_soft = in_float64("LogSoftmax", {logits})[0];
  for (size_t c = 0; c < classes; ++c) {
    const long double t = static_cast<long double>(x[c]) - greatest;
    expect_near_exact(soft[c], std::exp(t) / sum, bound, "softmax " + std::to_string(c));
    expect_near_exact(log_soft[c], t - std::log(sum), bound, "log softmax " + std::to_string(c));
  }
  const std::pair<Ints, Doubles> rows{{1, static_cast<int64_t>(classes)}, labels};
  const Doubles gradient = in_float64("SoftmaxGrad", {{logits.first, soft}, rows})[0],
                log_gradient = in_float64("LogSoftmaxGrad", {{logits.first, log_soft}, rows})[0];
  long double total = 0, weighted = 0;
  for (size_t c = 0; c < classes; ++c) {
    total += labels[c];
    weighted += static_cast<long double>(labels[c]) * soft[c];
  }
  for (size_t c = 0; c < classes; ++c) {
    EXPECT_NEAR(gradient[c], static_cast<double>((labels[c] - weighted) * soft[c]), 1e-14);
    EXPECT_NEAR(log_gradient[c],
                static_cast<double>(labels[c] - total * std::exp(static_cast<long double>(log_soft[c]))), 1e-13);
  }
  const auto loss = in_float64("SoftmaxCrossEntropyWithLogits", {logits, {{1, static_cast<int64_t>(classes)}, labels}});
  expect_near_exact(loss[0][0], dense, bound, "loss");
  for (size_t c = 0; c < classes; ++c)
    EXPECT_NEAR(loss[1][c], soft[c] - labels[c], 0) << "backprop is the difference of two doubles, rounded once";
}

// tests: K01, N239
TEST(Float64, K01Updates) {
  // MIXED_PRECISION K01. Rates and shares are no fp32 numbers.
  const double lr = 0.1, share = 0.9, rest = 0.999, epsilon = 1e-7, decay = 1e-3;
  const Doubles var = random_doubles(9, 14), grad = random_doubles(9, 15), m = random_doubles(9, 16),
                v = random_doubles(9, 17, 0, 1);
  Doubles plain, accum, moved, nesterov, first, second, adam, square, mom, rms;
  for (size_t i = 0; i < var.size(); ++i) {
    plain.push_back(-lr * grad[i] + var[i]);
    accum.push_back(share * m[i] + grad[i]);
    moved.push_back(-lr * accum[i] + var[i]);
    nesterov.push_back(var[i] + -(lr * (grad[i] + share * accum[i])));
    first.push_back(share * m[i] + (1 - share) * grad[i]);
    second.push_back(rest * v[i] + (1 - rest) * (grad[i] * grad[i]));
    adam.push_back(var[i] + -(lr * first[i] / (std::sqrt(second[i]) + epsilon) + decay * var[i]));
    square.push_back(share * v[i] + (1 - share) * (grad[i] * grad[i]));
    mom.push_back(rest * m[i] + lr * grad[i] / std::sqrt(square[i] + epsilon));
    rms.push_back(-1.0 * mom[i] + var[i]);
  }
  const std::pair<Ints, Doubles> w{{9}, var}, g{{9}, grad}, old{{9}, m}, squares{{9}, v}, rate{{}, {lr}},
      fade{{}, {decay}};
  expect_double_bits(in_float64("ApplyGradientDescent", {w, rate, g})[0], plain, "sgd");
  const auto momentum = in_float64("ApplyMomentum", {w, old, rate, g}, {{"momentum", share}});
  expect_double_bits(momentum[1], accum, "accum");
  expect_double_bits(momentum[0], moved, "momentum");
  expect_double_bits(in_float64("ApplyMomentum", {w, old, rate, g}, {{"momentum", share}, {"use_nesterov", true}})[0],
                     nesterov, "nesterov");
  const auto of_adam = in_float64("ApplyAdam", {w, old, squares, rate, fade, g},
                                  {{"beta1", share}, {"beta2", rest}, {"epsilon", epsilon}});
  expect_double_bits(of_adam[1], first, "m");
  expect_double_bits(of_adam[2], second, "v");
  expect_double_bits(of_adam[0], adam, "adam");
  const auto of_rms = in_float64("ApplyRMSProp", {w, squares, old, rate, g},
                                 {{"rho", share}, {"momentum", rest}, {"epsilon", epsilon}});
  expect_double_bits(of_rms[1], square, "ms");
  expect_double_bits(of_rms[2], mom, "mom");
  expect_double_bits(of_rms[0], rms, "rmsprop");
}

// tests: N441
TEST(Float64, FlagsAreThoseOfTheSteps) {
  uint8_t flags = 0;
  const auto product = [&](Doubles a, Doubles b) {
    const auto k = static_cast<int64_t>(a.size());
    return in_float64("MatMul", {{{1, k}, std::move(a)}, {{k, 1}, std::move(b)}}, {}, &flags)[0][0];
  };
  EXPECT_EQ(product({1, 0x1p-1074}, {0x1p-1074, 0.5}), 0x1p-1074);
  EXPECT_EQ(flags, 0) << "neither inexact nor underflow; subnormal numbers stay";
  product({1e200, 1}, {1e200, 1});
  EXPECT_EQ(flags, kOverflow);
  EXPECT_TRUE(std::isnan(product({kInfiniteDouble, 1}, {0, 1})));
  EXPECT_EQ(flags, kInvalid);
  EXPECT_TRUE(std::isnan(product({1e308, -1e308}, {10, 10}))) << "Inf - Inf";
  EXPECT_EQ(flags, kOverflow | kInvalid);
}

// tests: N235
TEST(Float64, GoesWithFloat64Alone) {
  GraphBuilder b;
  const Port wide = b.placeholder("wide", DType::kFloat64, {2, 3}),
             single = b.placeholder("single", DType::kFloat32, {3}), rate = b.placeholder("rate", DType::kFloat32, {}),
             yes = b.constant(tensor(DType::kBool, {}, {1}));
  EXPECT_EQ(refusal<GraphError>([&] {
              b.add("LayerNorm", {wide, single, single}, {}, "norm");
            }),
            "LayerNorm 'norm': T is float64 and U is float32; float64 goes with float64 alone");
  const Port grad = b.placeholder("grad", DType::kFloat32, {2, 3}), alpha = b.placeholder("alpha", DType::kFloat64, {});
  EXPECT_EQ(refusal<GraphError>([&] {
              b.add("ApplyGradientDescent", {wide, alpha, grad, yes}, {}, "step");
            }),
            "ApplyGradientDescent 'step': 'delta' is float32 and 'var' is float64; float64 goes with float64 alone");
  EXPECT_THROW(b.add("ApplyGradientDescent", {wide, rate, wide, yes}), DtypeMismatchError);
  ExecutorOptions o;
  o.accumulator = Accumulator::kTensorCoreVolta;
  b.add("MatMul", {wide, wide}, {{"transpose_b", true}}, "product");
  EXPECT_EQ(refusal<GraphError>([&] { make_executor(b.build(), o); }),
            "MatMul 'product': accumulator tensorcore_volta has no operands of float64; expected float16");
}

}  // namespace
}  // namespace softamp::test
