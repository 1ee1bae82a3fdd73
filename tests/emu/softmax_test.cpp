// Softmax, cross-entropies and their gradients: fp16 equals fp32 rounded once, fp32 against binary64 within derived
// bounds, flags, errors, and every vector formulation against the bodies.
#include <cmath>

#include "emu/softmax/softmax_kernels.h"
#include "tests/emu/reduction_check.h"
#include "tests/refusal.h"

namespace softamp::test {
namespace {

constexpr double kU = 0x1p-24;

/// Depth of the tree over n <= 1024 elements: roundings on a path.
int depth_of(int64_t n) { return static_cast<int>((n + 31) / 32 - 1 + 5); }

Tensor widened(const Tensor& t) { return Tensor::from_values(DType::kFloat32, t.shape(), t.values()); }
Tensor narrowed(const Tensor& t) {
  Tensor out(DType::kFloat16, t.shape());
  for (int64_t i = 0; i < t.elements(); ++i)
    out.as<uint16_t>()[static_cast<size_t>(i)] =
        static_cast<uint16_t>(fp::convert(kFp32, kFp16, t.code(i), Semantics::ipu()).code);
  return out;
}

/// TUTORIAL G06, G39: softmax(fp16) == RN16(softmax_fp32(x)).
// tests: G06, G39, N160
TEST(Softmax, OfFp16IsTheFp32OneRoundedOnce) {
  Mixer mix(1);
  const emu::EngineSettings s = settings_for(Semantics::ipu());
  for (const int64_t classes : {1, 7, 32, 33, 1000, 1500}) {
    const Tensor x = random_tensor(DType::kFloat16, Shape{9, classes}, mix, Data::kPlain, 14);
    const Tensor y = random_tensor(DType::kFloat16, Shape{9, classes}, mix, Data::kPlain, 1);
    const Tensor wide_x = widened(x), wide_y = widened(y);
    for (const char* op : {"Softmax", "LogSoftmax"})
      EXPECT_TRUE(run_op(op, {}, {&x}, s).outputs[0].same_bits(narrowed(run_op(op, {}, {&wide_x}, s).outputs[0])));
    for (const char* op : {"SoftmaxGrad", "LogSoftmaxGrad", "SoftmaxCrossEntropyWithLogits"}) {
      const OpRun half = run_op(op, {}, {&x, &y}, s), wide = run_op(op, {}, {&wide_x, &wide_y}, s);
      for (size_t p = 0; p < half.outputs.size(); ++p)
        EXPECT_TRUE(half.outputs[p].same_bits(narrowed(wide.outputs[p]))) << op << " output " << p;
    }
  }
}

/// TUTORIAL G06: e^12 > 65504.
// tests: G06
TEST(Softmax, LogitsOfTwelveDoNotOverflowInFp16) {
  const Tensor x = Tensor::full(DType::kFloat16, Shape{1, 4}, 12);
  const OpRun run = run_op("Softmax", {}, {&x}, settings_for(Semantics::ipu()));
  for (int i = 0; i < 4; ++i) EXPECT_EQ(0.25, run.outputs[0].value(i));
  EXPECT_EQ(0, run.status.flags);
}

/// t is rounded once: e^t is off by |t| u beside the 2 u of exp itself (its promise); so is each term of the sum, whose
/// tree adds depth u; the quotient adds u. The loss inherits |t| u, the sum's error through the logarithm and 2 u of
/// each of log, its difference and product. Doubled, for terms of second order.
TEST(Softmax, IsWithinDerivedBoundsOfBinary64) {
  Mixer mix(2);
  const emu::EngineSettings s = settings_for(Semantics::ieee());
  for (const int64_t classes : {2, 10, 100, 1000}) {
    const Tensor x = random_tensor(DType::kFloat32, Shape{8, classes}, mix, Data::kPlain, 6);
    const OpRun soft = run_op("Softmax", {}, {&x}, s), log_soft = run_op("LogSoftmax", {}, {&x}, s);
    Tensor labels(DType::kInt32, Shape{8});
    for (int64_t r = 0; r < 8; ++r) labels.as<int32_t>()[static_cast<size_t>(r)] = static_cast<int32_t>(r % classes);
    const OpRun loss = run_op("SparseSoftmaxCrossEntropyWithLogits", {}, {&x, &labels}, s);
    const double relative = 2 * (2 * (12 + 2) + depth_of(classes) + 1) * kU;
    for (int64_t r = 0; r < 8; ++r) {
      double greatest = -INFINITY, sum = 0;
      for (int64_t c = 0; c < classes; ++c) greatest = std::max(greatest, x.value(r * classes + c));
      for (int64_t c = 0; c < classes; ++c) sum += std::exp(x.value(r * classes + c) - greatest);
      const double absolute = relative + 2 * 4 * kU * (12 + std::log(sum) + 1);
      for (int64_t c = 0; c < classes; ++c) {
        const int64_t i = r * classes + c;
        const double t = x.value(i) - greatest, exact = std::exp(t) / sum, one = c == r % classes ? 1 : 0;
        EXPECT_NEAR(exact, soft.outputs[0].value(i), relative * exact);
        EXPECT_NEAR(t - std::log(sum), log_soft.outputs[0].value(i), absolute);
        EXPECT_NEAR(exact - one, loss.outputs[1].value(i), relative * exact + kU);
      }
      EXPECT_NEAR(std::log(sum) - (x.value(r * classes + r % classes) - greatest), loss.outputs[0].value(r), absolute);
    }
  }
}

/// The gradient against its own definition: rows of the Jacobian, y_i (delta_ij - y_j).
// tests: N230
TEST(Softmax, GradientsAreTheJacobians) {
  Mixer mix(3);
  const emu::EngineSettings s = settings_for(Semantics::ieee());
  const Tensor x = random_tensor(DType::kFloat32, Shape{4, 9}, mix, Data::kPlain, 2);
  const Tensor g = random_tensor(DType::kFloat32, Shape{4, 9}, mix, Data::kPlain, 1);
  const Tensor y = std::move(run_op("Softmax", {}, {&x}, s).outputs[0]);
  const Tensor l = std::move(run_op("LogSoftmax", {}, {&x}, s).outputs[0]);
  const OpRun soft = run_op("SoftmaxGrad", {}, {&y, &g}, s), log_soft = run_op("LogSoftmaxGrad", {}, {&l, &g}, s);
  for (int64_t r = 0; r < 4; ++r)
    for (int64_t j = 0; j < 9; ++j) {
      double a = 0, b = g.value(r * 9 + j);
      for (int64_t i = 0; i < 9; ++i) {
        const double yi = y.value(r * 9 + i), yj = y.value(r * 9 + j), gi = g.value(r * 9 + i);
        a += gi * yi * ((i == j) - yj);
        b -= gi * std::exp(l.value(r * 9 + j));
      }
      // |g| <= 1, y <= 1: nine products of one rounding, five additions, two steps; each value is below 9.
      EXPECT_NEAR(a, soft.outputs[0].value(r * 9 + j), (1 + 6 + 2) * 2 * kU);
      EXPECT_NEAR(b, log_soft.outputs[0].value(r * 9 + j), (6 + 2 + 2) * 9 * 2 * kU);
    }
}

TEST(Softmax, FlagsNameTheRowOrTheElement) {
  Tensor x = Tensor::full(DType::kFloat32, Shape{3, 40}, 1);
  x.as<float>()[40 + 5] = NAN;
  OpRun run = run_op("Softmax", {}, {&x}, settings_for(Semantics::ipu()));
  EXPECT_EQ(kInvalid, run.status.flags);
  EXPECT_EQ(40u, run.status.first_index[4]);
  for (int64_t c = 0; c < 40; ++c) EXPECT_EQ(0x7FC00000u, run.outputs[0].code(40 + c));
  EXPECT_EQ(0.025f, run.outputs[0].value(80));
  // A difference that overflows is one of its element, though the result is 0.
  x = Tensor::full(DType::kFloat32, Shape{3, 40}, 3e38);
  x.as<float>()[80 + 7] = -3e38f;
  run = run_op("Softmax", {}, {&x}, settings_for(Semantics::ipu()));
  EXPECT_EQ(kOverflow, run.status.flags);
  EXPECT_EQ(87u, run.status.first_index[2]);
  EXPECT_EQ(0, run.outputs[0].value(87));
  // Infinite logits: e^-Inf is 0; Inf - Inf is invalid.
  x.as<float>()[80 + 7] = -INFINITY;
  EXPECT_EQ(0, run_op("Softmax", {}, {&x}, settings_for(Semantics::ipu())).status.flags);
  x.as<float>()[80 + 7] = INFINITY;
  EXPECT_EQ(kInvalid, run_op("Softmax", {}, {&x}, settings_for(Semantics::ipu())).status.flags);
}

// tests: N160
TEST(Softmax, ALabelOutOfRangeIsNamed) {
  const Tensor x(DType::kFloat32, Shape{3, 10});
  const Tensor labels = Tensor::from_values(DType::kInt32, Shape{3}, std::vector<double>{1, 10, 0});
  EXPECT_EQ("SparseSoftmaxCrossEntropyWithLogits 'op': label 10 of row 1; expected 0 .. 9",
            refusal<std::out_of_range>([&] {
              run_op("SparseSoftmaxCrossEntropyWithLogits", {}, {&x, &labels}, settings_for(Semantics::ieee()));
            }));
}

/// Quotients by steps of fma against the machine's division: dividends of every size, and those that lie next to a
/// divisor times the middle of two neighbouring numbers.
TEST(SoftmaxKernels, DivideAsTheMachineDoes) {
  Mixer mix(5);
  std::vector<float> a(4096), q(a.size() + emu::kRowSlack);
  for (int round = 0; round < 600; ++round) {
    const uint32_t exponent = 127 + static_cast<uint32_t>(mix() % 24);
    uint32_t mantissa = static_cast<uint32_t>(mix()) & 0x7FFFFFu;
    if (round % 8 == 0) mantissa |= 0x7FFF00u;  // reciprocals of these are the hardest to round
    const float divisor = std::bit_cast<float>(exponent << 23 | mantissa);
    for (float& v : a) {
      const uint64_t bits = mix();
      const double middle = static_cast<double>((bits & 0xFFFFFFu) << 1 | 0x2000001u) * 0x1p-26;
      v = static_cast<float>(middle * divisor);
      if (bits >> 40 & 1) v = std::bit_cast<float>(std::bit_cast<uint32_t>(v) + static_cast<uint32_t>(bits >> 41 & 1));
      if ((bits >> 42) % 1024 == 0) v *= 0x1p-70f;
    }
    static const std::vector<InstructionSet> kSets = usable_sets();
    for (const InstructionSet isa : kSets) {
      std::copy(a.begin(), a.end(), q.begin());
      emu::softmax_of(isa).divide(q.data(), a.size(), divisor);
      for (size_t i = 0; i < a.size(); ++i)
        ASSERT_EQ(std::bit_cast<uint32_t>(a[i] / divisor), std::bit_cast<uint32_t>(q[i]))
            << a[i] << " / " << divisor << " " << bulk::name(isa);
    }
  }
}

TEST(SoftmaxKernels, AreTheBodiesBitForBit) {
  Mixer mix(4);
  const DType types[] = {DType::kFloat16, DType::kBFloat16, DType::kFloat32};
  for (int round = 0; round < 90; ++round) {
    const DType type = types[round % 3];
    const int64_t limits[] = {4, 70, 1100, 5000};
    const int64_t classes = 1 + static_cast<int64_t>(mix() % static_cast<uint64_t>(limits[mix() % 4]));
    const int64_t rows = 1 + static_cast<int64_t>(mix() % static_cast<uint64_t>(1 + 20000 / classes));
    const Data kind = round % 4 == 3 ? Data::kHuge : round % 2 ? Data::kEdge : Data::kPlain;
    const double scale = round % 5 ? 5 : 60;
    const Tensor x = random_tensor(type, Shape{rows, classes}, mix, kind, scale);
    const Tensor y = random_tensor(type, Shape{rows, classes}, mix, kind, 1);
    Tensor labels(DType::kInt32, Shape{rows});
    for (int32_t& l : labels.as<int32_t>()) l = static_cast<int32_t>(mix() % static_cast<uint64_t>(classes));
    const NamedSemantics& preset = presets()[static_cast<size_t>(round / 3) % presets().size()];
    expect_as_body("Softmax", {}, {&x}, preset);
    expect_as_body("LogSoftmax", {}, {&x}, preset);
    expect_as_body("SoftmaxGrad", {}, {&y, &x}, preset);
    expect_as_body("LogSoftmaxGrad", {}, {&x, &y}, preset);
    expect_as_body("SoftmaxCrossEntropyWithLogits", {}, {&x, &y}, preset);
    expect_as_body("SparseSoftmaxCrossEntropyWithLogits", {}, {&x, &labels}, preset);
    if (HasFailure()) return;
  }
}

}  // namespace
}  // namespace softamp::test
