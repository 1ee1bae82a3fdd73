// Normalisations and their gradients: an independent reading of the formulas on lists, the vectors of TUTORIAL G38,
// fp16 equals fp32 rounded once, gradients against differences of the forward pass in binary64, and every vector
// formulation against the bodies.
#include <cmath>

#include "tests/emu/reduction_check.h"
#include "tests/refusal.h"
#include "tests/slice.h"

namespace softamp::test {
namespace {

Attributes stable(bool on) { return {{"use_stable_statistics", std::string(on ? "true" : "false")}}; }

Tensor constant(DType type, int64_t n, double value) { return Tensor::full(type, Shape{n}, value); }

/// Mean and variance of fp32 elements, step by step.
struct Statistics {
  float mean, variance;
};
Statistics statistics_by_lists(const std::vector<float>& x, bool with_mean_first) {
  const float n = static_cast<float>(x.size()), mean = sum_by_lists(x) / n;
  std::vector<float> squares;
  for (const float v : x) {
    const float d = with_mean_first ? v - mean : v;
    squares.push_back(d * d);
  }
  const float second = sum_by_lists(squares) / n, square = mean * mean;
  return {mean, with_mean_first ? second : second - square};
}

// tests: N161
TEST(Norm, LayerIsTheFormulaOnLists) {
  Mixer mix(1);
  for (const int64_t width : {1, 5, 31, 100, 1024, 2500})
    for (const bool on : {false, true}) {
      const Tensor x = random_tensor(DType::kFloat32, Shape{3, width}, mix, Data::kPlain, 4);
      const Tensor gamma = random_tensor(DType::kFloat32, Shape{width}, mix, Data::kPlain, 1);
      const Tensor beta = random_tensor(DType::kFloat32, Shape{width}, mix, Data::kPlain, 1);
      const OpRun run = run_op("LayerNorm", stable(on), {&x, &gamma, &beta}, settings_for(Semantics::ieee()));
      for (int64_t r = 0; r < 3; ++r) {
        const auto row = x.as<float>().subspan(static_cast<size_t>(r * width), static_cast<size_t>(width));
        const Statistics s = statistics_by_lists({row.begin(), row.end()}, on);
        EXPECT_EQ(s.mean, run.outputs[1].as<float>()[static_cast<size_t>(r)]);
        EXPECT_EQ(s.variance, run.outputs[2].as<float>()[static_cast<size_t>(r)]);
        const float shifted = s.variance + 1e-3f, root = std::sqrt(shifted), inverse = 1.0f / root;
        for (size_t c = 0; c < row.size(); ++c) {
          const float d = row[c] - s.mean, h = d * inverse;
          ASSERT_EQ(std::fma(h, gamma.as<float>()[c], beta.as<float>()[c]),
                    run.outputs[0].as<float>()[static_cast<size_t>(r) * row.size() + c]);
        }
      }
    }
}

TEST(Norm, BatchAndGroupAreLayersOfRearrangedTensors) {
  Mixer mix(2);
  const int64_t rows = 2100, channels = 19;
  const Tensor x = random_tensor(DType::kFloat32, Shape{rows, channels}, mix, Data::kPlain, 4);
  const Tensor scale = constant(DType::kFloat32, channels, 1), offset = constant(DType::kFloat32, channels, 0);
  const Tensor none(DType::kFloat32, Shape{0});
  const emu::EngineSettings s = settings_for(Semantics::ieee());
  Attributes a = stable(false);
  const OpRun batch = run_op("FusedBatchNormV3", a, {&x, &scale, &offset, &none, &none}, s);
  Tensor turned(DType::kFloat32, Shape{channels, rows});
  for (int64_t r = 0; r < rows; ++r)
    for (int64_t c = 0; c < channels; ++c)
      turned.as<float>()[static_cast<size_t>(c * rows + r)] = x.as<float>()[static_cast<size_t>(r * channels + c)];
  const Tensor ones = constant(DType::kFloat32, rows, 1), zeros = constant(DType::kFloat32, rows, 0);
  a["epsilon"] = 1e-4;
  const OpRun layer = run_op("LayerNorm", a, {&turned, &ones, &zeros}, s);
  for (int64_t c = 0; c < channels; ++c) {
    EXPECT_EQ(layer.outputs[1].code(c), batch.outputs[1].code(c));
    EXPECT_EQ(layer.outputs[1].code(c), batch.outputs[3].code(c));
    EXPECT_EQ(layer.outputs[2].code(c), batch.outputs[4].code(c));
    const float bessel = 2100.0f / 2099.0f;
    EXPECT_EQ(layer.outputs[2].as<float>()[static_cast<size_t>(c)] * bessel,
              batch.outputs[2].as<float>()[static_cast<size_t>(c)]);
    for (int64_t r = 0; r < rows; ++r)
      ASSERT_EQ(layer.outputs[0].code(c * rows + r), batch.outputs[0].code(r * channels + c));
  }
  // One group of all channels, a sample a row of 6 x 7 x 8.
  const Tensor sample = random_tensor(DType::kFloat32, Shape{5, 6, 7, 8}, mix, Data::kPlain, 4);
  const Tensor g = constant(DType::kFloat32, 8, 1), b = constant(DType::kFloat32, 8, 0);
  const Tensor wide_g = Tensor::full(DType::kFloat32, Shape{6, 7, 8}, 1);
  const Tensor wide_b = Tensor::full(DType::kFloat32, Shape{6, 7, 8}, 0);
  const OpRun group = run_op("GroupNorm", {{"groups", int64_t{1}}}, {&sample, &g, &b}, s);
  const OpRun same = run_op("LayerNorm", {{"begin_norm_axis", int64_t{1}}}, {&sample, &wide_g, &wide_b}, s);
  EXPECT_TRUE(group.outputs[0].same_bits(same.outputs[0]));
}

/// TUTORIAL G38, fp32 statistics: variance 64.
TEST(Norm, UnstableStatisticsCancel) {
  std::vector<double> values(1000);
  for (size_t i = 0; i < values.size(); ++i) values[i] = i % 2 ? 30016 : 30000;
  const Tensor gamma = constant(DType::kFloat32, 1000, 1), beta = constant(DType::kFloat32, 1000, 0);
  for (const DType type : {DType::kFloat16, DType::kFloat32}) {
    const Tensor x = Tensor::from_values(type, Shape{1, 1000}, values);
    const OpRun off = run_op("LayerNorm", stable(false), {&x, &gamma, &beta}, settings_for(Semantics::ipu()));
    EXPECT_EQ(-64, off.outputs[2].value(0));
    EXPECT_EQ(kInvalid, off.status.flags);
    EXPECT_EQ(0u, off.status.first_index[4]);
    EXPECT_TRUE(std::isnan(off.outputs[0].value(999)));
    const OpRun on = run_op("LayerNorm", stable(true), {&x, &gamma, &beta}, settings_for(Semantics::ipu()));
    EXPECT_EQ(64, on.outputs[2].value(0));
    EXPECT_EQ(0, on.status.flags);
    // The engine's option decides where the node does not.
    emu::EngineSettings engine = settings_for(Semantics::ipu());
    engine.use_stable_statistics = true;
    EXPECT_EQ(64, run_op("LayerNorm", {}, {&x, &gamma, &beta}, engine).outputs[2].value(0));
  }
}

/// TUTORIAL G38, fp16 statistics: 300^2 > 65504.
TEST(Norm, HalfStatisticsOverflowUnlessStable) {
  Mixer mix(3);
  Tensor x(DType::kFloat16, Shape{1, 512});
  for (uint16_t& code : x.as<uint16_t>())
    code = static_cast<uint16_t>(fp::from_double(kFp16, 300 + static_cast<double>(mix() >> 11) * 0x1p-53));
  const Tensor gamma = constant(DType::kFloat16, 512, 1), beta = constant(DType::kFloat16, 512, 0);
  Attributes off = stable(false), on = stable(true);
  off["statistics"] = on["statistics"] = std::string("half");
  // 512 halves of 300 would overflow in the sum itself: 128 of them do not.
  const OpRun run = run_op("LayerNorm", off, {&x, &gamma, &beta}, settings_for(Semantics::ipu()));
  EXPECT_TRUE(run.status.flags & kOverflow);
  Tensor few(DType::kFloat16, Shape{1, 128});
  std::memcpy(few.data(), x.data(), few.bytes());
  const Tensor g = constant(DType::kFloat16, 128, 1), b = constant(DType::kFloat16, 128, 0);
  EXPECT_TRUE(run_op("LayerNorm", off, {&few, &g, &b}, settings_for(Semantics::ipu())).status.flags & kOverflow);
  const OpRun good = run_op("LayerNorm", on, {&few, &g, &b}, settings_for(Semantics::ipu()));
  EXPECT_EQ(0, good.status.flags);
  // The mean is rounded to a quantum of 0.25, the differences are multiples of it: the variance of U(0, 1), 1/12, is
  // off by no more than that of a quantum and the mean's error squared.
  EXPECT_NEAR(1.0 / 12, good.outputs[2].value(0), 0.25 * 0.25 + 0.25 * 0.25 / 12 + 0.02);
}

// tests: G06, G39, N91
TEST(Norm, OfFp16IsTheFp32OneRoundedOnce) {
  // TUTORIAL G06, G39
  Mixer mix(4);
  const Tensor x = random_tensor(DType::kFloat16, Shape{30, 77}, mix, Data::kPlain, 20);
  const Tensor wide = Tensor::from_values(DType::kFloat32, x.shape(), x.values());
  const Tensor g = random_tensor(DType::kFloat32, Shape{77}, mix, Data::kPlain, 1);
  const Tensor b = random_tensor(DType::kFloat32, Shape{77}, mix, Data::kPlain, 1);
  const Tensor none(DType::kFloat32, Shape{0});
  const emu::EngineSettings s = settings_for(Semantics::ipu());
  const auto compare = [](const OpRun& half, const OpRun& full) {
    for (int64_t i = 0; i < half.outputs[0].elements(); ++i)
      ASSERT_EQ(fp::convert(kFp32, kFp16, full.outputs[0].code(i), Semantics::ipu()).code, half.outputs[0].code(i));
    for (size_t p = 1; p < half.outputs.size(); ++p) EXPECT_TRUE(half.outputs[p].same_bits(full.outputs[p]));
  };
  compare(run_op("LayerNorm", {}, {&x, &g, &b}, s), run_op("LayerNorm", {}, {&wide, &g, &b}, s));
  compare(run_op("FusedBatchNormV3", {}, {&x, &g, &b, &none, &none}, s),
          run_op("FusedBatchNormV3", {}, {&wide, &g, &b, &none, &none}, s));
  compare(run_op("GroupNorm", {{"groups", int64_t{7}}}, {&x, &g, &b}, s),
          run_op("GroupNorm", {{"groups", int64_t{7}}}, {&wide, &g, &b}, s));
}

// tests: N163
TEST(Norm, RunningEstimatesAreWeighted) {
  const Tensor x = Tensor::from_values(DType::kFloat32, Shape{4, 1}, std::vector<double>{1, 2, 3, 6});
  const Tensor one = constant(DType::kFloat32, 1, 1), mean = constant(DType::kFloat32, 1, 10);
  const Tensor variance = constant(DType::kFloat32, 1, 2);
  const OpRun run = run_op("FusedBatchNormV3", {{"exponential_avg_factor", 0.25}}, {&x, &one, &one, &mean, &variance},
                           settings_for(Semantics::ieee()));
  EXPECT_EQ(0.75 * 10 + 0.25 * 3, run.outputs[1].value(0));
  // 3.5 by n, times RN(4 / 3) by n - 1.
  EXPECT_EQ(0.75f * 2 + 0.25f * (3.5f * (4.0f / 3.0f)), run.outputs[2].value(0));
  EXPECT_EQ(3, run.outputs[3].value(0));
  EXPECT_EQ(3.5, run.outputs[4].value(0));
}

/// The forward pass in binary64, for differences.
double forward(const std::vector<double>& x, const std::vector<double>& gamma, double epsilon,
               const std::vector<double>& weight) {
  double mean = 0, variance = 0, sum = 0;
  for (const double v : x) mean += v / static_cast<double>(x.size());
  for (const double v : x) variance += (v - mean) * (v - mean) / static_cast<double>(x.size());
  for (size_t i = 0; i < x.size(); ++i) sum += weight[i] * gamma[i] * (x[i] - mean) / std::sqrt(variance + epsilon);
  return sum;
}

TEST(Norm, GradientsAreThoseOfTheForwardPass) {
  Mixer mix(5);
  const int64_t n = 24;
  const emu::EngineSettings s = settings_for(Semantics::ieee());
  const Tensor x = random_tensor(DType::kFloat32, Shape{1, n}, mix, Data::kPlain, 2);
  const Tensor dy = random_tensor(DType::kFloat32, Shape{1, n}, mix, Data::kPlain, 1);
  const Tensor gamma = random_tensor(DType::kFloat32, Shape{n}, mix, Data::kPlain, 1);
  const Tensor beta = constant(DType::kFloat32, n, 0);
  const OpRun y = run_op("LayerNorm", {}, {&x, &gamma, &beta}, s);
  const OpRun gradient = run_op("LayerNormGrad", {}, {&dy, &x, &gamma, &y.outputs[1], &y.outputs[2]}, s);
  // A step of 2^-12 in binary64: the central difference's own error is its third derivative times 2^-24 / 6, and the
  // forward pass is smooth at scale 1 (i < 1 / sqrt(variance) < 2): 2^-18 covers that and fp32's roundings.
  constexpr double kStep = 0x1p-12, kBound = 0x1p-18;
  for (int64_t j = 0; j < n; ++j) {
    std::vector<double> up = x.values(), down = up;
    up[static_cast<size_t>(j)] += kStep;
    down[static_cast<size_t>(j)] -= kStep;
    const double difference =
        (forward(up, gamma.values(), 1e-3, dy.values()) - forward(down, gamma.values(), 1e-3, dy.values())) /
        (2 * kStep);
    EXPECT_NEAR(difference, gradient.outputs[0].value(j), kBound);
    EXPECT_EQ(dy.value(j), gradient.outputs[2].value(j));
  }
  // Batch norm of one channel is the same with one gamma.
  const Tensor column_x = Tensor::from_values(DType::kFloat32, Shape{n, 1}, x.values());
  const Tensor column_dy = Tensor::from_values(DType::kFloat32, Shape{n, 1}, dy.values());
  const Tensor scale = constant(DType::kFloat32, 1, 1.5), none(DType::kFloat32, Shape{0});
  const Tensor zero = constant(DType::kFloat32, 1, 0);
  const OpRun batch = run_op("FusedBatchNormV3", {}, {&column_x, &scale, &zero, &none, &none}, s);
  const OpRun batch_gradient =
      run_op("FusedBatchNormGradV3", {}, {&column_dy, &column_x, &scale, &batch.outputs[3], &batch.outputs[4]}, s);
  double scale_gradient = 0;
  for (int64_t j = 0; j < n; ++j) {
    std::vector<double> up = x.values(), down = up;
    up[static_cast<size_t>(j)] += kStep;
    down[static_cast<size_t>(j)] -= kStep;
    const std::vector<double> gammas(static_cast<size_t>(n), 1.5);
    const double difference =
        (forward(up, gammas, 1e-4, dy.values()) - forward(down, gammas, 1e-4, dy.values())) / (2 * kStep);
    EXPECT_NEAR(difference, batch_gradient.outputs[0].value(j), kBound);
    scale_gradient += dy.value(j) * batch.outputs[0].value(j) / 1.5;
  }
  EXPECT_NEAR(scale_gradient, batch_gradient.outputs[1].value(0), kBound);
}

TEST(Norm, FlagsNameTheLowestElement) {
  Tensor x = Tensor::full(DType::kFloat32, Shape{6, 8}, 1);
  for (size_t i = 0; i < 48; ++i) x.as<float>()[i] = static_cast<float>(i % 7);
  const Tensor g = constant(DType::kFloat32, 8, 1), b = constant(DType::kFloat32, 8, 0),
               none(DType::kFloat32, Shape{0});
  x.as<float>()[3 * 8 + 5] = NAN;
  const OpRun layer = run_op("LayerNorm", {}, {&x, &g, &b}, settings_for(Semantics::ipu()));
  EXPECT_EQ(kInvalid, layer.status.flags);
  EXPECT_EQ(24u, layer.status.first_index[4]);
  const OpRun batch = run_op("FusedBatchNormV3", {}, {&x, &g, &b, &none, &none}, settings_for(Semantics::ipu()));
  EXPECT_EQ(5u, batch.status.first_index[4]);
  // epsilon 0 and a constant row: 1 / 0.
  const Tensor flat = Tensor::full(DType::kFloat32, Shape{2, 8}, 3);
  const OpRun pole = run_op("LayerNorm", {{"epsilon", 0.0}}, {&flat, &g, &b}, settings_for(Semantics::ipu()));
  EXPECT_EQ(kDivideByZero | kInvalid, pole.status.flags);  // 0 times infinity follows
  EXPECT_EQ(0u, pole.status.first_index[3]);
}

TEST(NormErrors, NameNodeAndExpectation) {
  const Tensor x(DType::kFloat32, Shape{2, 6}), six(DType::kFloat32, Shape{6}), five(DType::kFloat32, Shape{5});
  const auto message = [&](const char* op, const Attributes& a, std::vector<const Tensor*> in) {
    return refusal<GraphError>([&] { run_op(op, a, in, settings_for(Semantics::ieee())); });
  };
  EXPECT_EQ("LayerNorm 'op': beta is [5]; expected [6] for x [2,6]", message("LayerNorm", {}, {&x, &six, &five}));
  EXPECT_EQ("GroupNorm 'op': attribute 'groups' is 4; expected a divisor of the 6 channels",
            message("GroupNorm", {{"groups", int64_t{4}}}, {&x, &six, &six}));
  EXPECT_EQ("LayerNorm 'op': statistics half needs elements of float16, not float32",
            message("LayerNorm", {{"statistics", std::string("half")}}, {&x, &six, &six}));
}

TEST(NormKernels, AreTheBodiesBitForBit) {
  Mixer mix(6);
  Slice slice(4);
  const DType types[] = {DType::kFloat16, DType::kBFloat16, DType::kFloat32};
  for (int round = 0; round < 96; ++round) {
    const DType type = types[round % 3], parameters = round % 2 ? DType::kFloat16 : DType::kFloat32;
    const int64_t limits[] = {6, 70, 700, 4500};
    const int64_t channels = 1 + static_cast<int64_t>(mix() % static_cast<uint64_t>(limits[mix() % 4]));
    const int64_t rows = 2 * (1 + static_cast<int64_t>(mix() % static_cast<uint64_t>(1 + 10000 / channels)));
    const Data kind = round % 4 == 3 ? Data::kHuge : round % 4 == 1 ? Data::kEdge : Data::kPlain;
    const Shape shape{2, rows / 2, channels};
    const Tensor x = random_tensor(type, shape, mix, kind, 3), dy = random_tensor(type, shape, mix, kind, 1);
    const Tensor g = random_tensor(parameters, Shape{channels}, mix, kind, 1);
    const Tensor b = random_tensor(parameters, Shape{channels}, mix, kind, 1);
    const Tensor m = random_tensor(parameters, Shape{channels}, mix, kind, 1);
    Tensor v = random_tensor(parameters, Shape{channels}, mix, kind, 1);
    if (kind == Data::kPlain) v = Tensor::full(parameters, Shape{channels}, 0.75);
    const NamedSemantics& preset = presets()[static_cast<size_t>(round / 2) % presets().size()];
    const std::vector<const Tensor*> batch = {&x, &g, &b, &m, &v}, layer = {&x, &g, &b};
    const bool on = round / 3 % 2;
    const Tensor mean = random_tensor(DType::kFloat32, Shape{channels}, mix, kind, 1);
    const Tensor row_mean = random_tensor(DType::kFloat32, Shape{2, rows / 2}, mix, kind, 1);
    const Tensor group_mean = random_tensor(DType::kFloat32, Shape{2, channels % 2 ? channels : 2}, mix, kind, 1);
    if (!slice.takes()) continue;
    expect_as_body("FusedBatchNormV3", stable(on), batch, preset);
    expect_as_body("FusedBatchNormV3", {{"exponential_avg_factor", 0.1}}, batch, preset, on);
    expect_as_body("FusedBatchNormV3", {{"is_training", false}}, batch, preset);
    expect_as_body("LayerNorm", stable(on), layer, preset);
    const Attributes groups = {{"groups", channels % 2 ? channels : 2}};
    expect_as_body("GroupNorm", groups, layer, preset);
    if (type == DType::kFloat16) {
      Attributes half = stable(on);
      half["statistics"] = std::string("half");
      expect_as_body("LayerNorm", half, layer, preset);
    }

    const auto variance_like = [&](const Tensor& t) {
      Tensor copy = t.clone();
      if (kind == Data::kPlain)
        for (float& value : copy.as<float>()) value = value * value + 0.25f;
      return copy;
    };
    const Tensor variance = variance_like(mean), row_variance = variance_like(row_mean);
    const Tensor group_variance = variance_like(group_mean);
    for (const bool training : {true, false})
      expect_as_body("FusedBatchNormGradV3", {{"is_training", training}}, {&dy, &x, &g, &mean, &variance}, preset);
    expect_as_body("LayerNormGrad", {}, {&dy, &x, &g, &row_mean, &row_variance}, preset);
    expect_as_body("GroupNormGrad", groups, {&dy, &x, &g, &group_mean, &group_variance}, preset);
    if (HasFailure()) return;
  }
}

/// Groups whose channels are lanes (1, 2, 4, .. 32) and others; blocks of 1024 elements that end within rows; several
/// samples, and more than a tile of columns.
// tests: N385
TEST(NormKernels, GroupsAreTheBodiesBitForBit) {
  Mixer mix(7);
  Slice slice(4);
  const DType types[] = {DType::kFloat16, DType::kBFloat16, DType::kFloat32};
  int round = 0;
  for (const int64_t width : {1, 2, 3, 8, 16, 20, 32, 64})
    for (const int64_t rows : {int64_t{1}, int64_t{9}, 1025 / width + 1, 2500 / width})
      for (const Data kind : {Data::kPlain, Data::kEdge, Data::kHuge}) {
        const DType type = types[round % 3], parameters = round % 2 ? DType::kFloat16 : DType::kFloat32;
        const int64_t groups = round % 7 == 0 ? 132 / width + 1 : 1 + round % 4, channels = width * groups;
        const Shape shape{3, rows, channels};
        const Tensor x = random_tensor(type, shape, mix, kind, 3), dy = random_tensor(type, shape, mix, kind, 1);
        const Tensor g = random_tensor(parameters, Shape{channels}, mix, kind, 1);
        const Tensor b = random_tensor(parameters, Shape{channels}, mix, kind, 1);
        const Tensor mean = random_tensor(DType::kFloat32, Shape{3, groups}, mix, kind, 1);
        Tensor variance = random_tensor(DType::kFloat32, Shape{3, groups}, mix, kind, 1);
        if (kind == Data::kPlain)
          for (float& v : variance.as<float>()) v = v * v + 0.25f;
        const NamedSemantics& preset = presets()[static_cast<size_t>(round) % presets().size()];
        Attributes a = stable(round % 2);
        a["groups"] = groups;
        const int turn = round++ % 3;
        if (!slice.takes()) continue;
        expect_as_body("GroupNorm", a, {&x, &g, &b}, preset, turn == 0);
        expect_as_body("GroupNormGrad", {{"groups", groups}}, {&dy, &x, &g, &mean, &variance}, preset, turn == 1);
        if (HasFailure()) return;
      }
}

/// Tensors that are worked on in several rounds, whose ends cut blocks of rows.
TEST(NormKernels, RoundsAreTheBodiesBitForBit) {
  Mixer mix(8);
  const int64_t samples = 5, rows = 700, channels = 512, groups = 32;
  const Shape shape{samples, rows, channels};
  const Tensor x = random_tensor(DType::kFloat32, shape, mix, Data::kPlain, 3);
  const Tensor dy = random_tensor(DType::kFloat32, shape, mix, Data::kPlain, 1);
  const Tensor g = random_tensor(DType::kFloat32, Shape{channels}, mix, Data::kPlain, 1);
  const auto compare = [&](const char* op, const Attributes& a, const std::vector<const Tensor*>& in) {
    emu::EngineSettings settings = settings_for(Semantics::ipu(), true);
    const OpRun expected = run_op(op, a, in, settings);
    settings.reference = false;
    settings.threads = 2;
    expect_same(expected, run_op(op, a, in, settings), op);
  };
  Attributes a = stable(true);
  a["groups"] = groups;
  compare("GroupNorm", a, {&x, &g, &g});
  const Tensor mean = random_tensor(DType::kFloat32, Shape{samples, groups}, mix, Data::kPlain, 1);
  const Tensor variance = Tensor::full(DType::kFloat32, Shape{samples, groups}, 0.75);
  compare("GroupNormGrad", {{"groups", groups}}, {&dy, &x, &g, &mean, &variance});
  const Tensor row_mean = random_tensor(DType::kFloat32, Shape{samples, rows}, mix, Data::kPlain, 1);
  const Tensor row_variance = Tensor::full(DType::kFloat32, Shape{samples, rows}, 0.75);
  compare("LayerNormGrad", {}, {&dy, &x, &g, &row_mean, &row_variance});
}

}  // namespace
}  // namespace softamp::test
