// Reductions: the order of N140 against an independent reading of it on lists of indices, sums against exact ones,
// extrema, half accumulators, and every vector formulation against the bodies.
#include <cmath>

#include "softamp/kernel/reductions.h"
#include "tests/emu/reduction_check.h"
#include "tests/refusal.h"

namespace softamp::test {
namespace {

using Ints = std::vector<int64_t>;

Attributes over(const Ints& axes, bool keep_dims = false) { return {{"axes", axes}, {"keep_dims", keep_dims}}; }

TEST(ReductionOrder, IsThatOfTheListsForEveryLength) {
  Mixer mix(1);
  std::vector<float> all(9000);
  for (float& v : all) v = static_cast<float>(static_cast<int64_t>(mix())) * 0x1p-40f;
  for (size_t n = 0; n < all.size(); n += n < 80 ? 1 : 1 + mix() % 151) {
    const std::vector<float> x(all.begin(), all.begin() + static_cast<std::ptrdiff_t>(n));
    kernel::Steps steps;
    const float got = kernel::tree_sum<float>(steps, n, [&](uint64_t i) { return x[i]; });
    ASSERT_EQ(kernel::bits_of(sum_by_lists(x)), kernel::bits_of(got)) << n;
  }
}

TEST(ReductionOrder, EveryAdditionHasAnAddressOfItsOwn) {
  for (const size_t n : {1, 2, 31, 32, 33, 64, 1023, 1024, 1025, 3000, 5000, 7168}) {
    std::vector<Plus> expected;
    sum_by_lists(std::vector<float>(n, 1.0f), &expected);
    std::vector<uint64_t> got;
    kernel::sum_in_order<uint64_t>(
        n, 0, [](uint64_t i) { return i; },
        [&](uint64_t left, uint64_t right, uint64_t p) {
          EXPECT_EQ(right, p);  // terms are their own indices, so a part is known by its first
          got.push_back(p);
          return left;
        });
    std::vector<uint64_t> wanted;
    for (const Plus& plus : expected) wanted.push_back(plus.right);
    std::sort(wanted.begin(), wanted.end());
    std::sort(got.begin(), got.end());
    EXPECT_EQ(wanted, got) << n;
    EXPECT_EQ(n - 1, got.size());
    EXPECT_TRUE(std::adjacent_find(got.begin(), got.end()) == got.end());
  }
}

// tests: N142
TEST(ReductionOrder, ZerosKeepTheirSignAndAnEmptySumIsPositive) {
  const Tensor minus = Tensor::full(DType::kFloat32, Shape{5000}, -0.0);
  const OpRun sum = run_op("Sum", {}, {&minus}, settings_for(Semantics::ieee()));
  EXPECT_EQ(0x80000000u, sum.outputs[0].code(0));
  const Tensor none(DType::kFloat16, Shape{3, 0});
  const OpRun empty = run_op("Sum", over({1}), {&none}, settings_for(Semantics::ieee()));
  EXPECT_EQ(Shape({3}), empty.outputs[0].shape());
  EXPECT_EQ(0u, empty.outputs[0].code(2));
  // BiasAddGrad starts from +0 (N142).
  const Tensor rows = Tensor::full(DType::kFloat32, Shape{70, 40}, -0.0);
  EXPECT_EQ(0u, run_op("BiasAddGrad", {}, {&rows}, settings_for(Semantics::ieee())).outputs[0].code(39));
}

/// |computed - exact| <= depth u sum|x| for sums of `depth` roundings a path (Higham, 2002, 4.2); the exact sum of 2^12
/// multiples of 2^-24 below 1 is exact in binary64.
TEST(ReductionSum, IsWithinTheBoundOfItsDepth) {
  Mixer mix(2);
  Tensor x(DType::kFloat32, Shape{4096});
  double exact = 0, magnitude = 0;
  for (float& v : x.as<float>()) {
    v = static_cast<float>(static_cast<int64_t>(mix()) >> 39) * 0x1p-24f;
    exact += v;
    magnitude += std::fabs(v);
  }
  const int depth = 31 + 5 + 2;
  const double got = run_op("Sum", {}, {&x}, settings_for(Semantics::ieee())).outputs[0].value(0);
  EXPECT_LE(std::fabs(got - exact), depth * 0x1p-24 / (1 - depth * 0x1p-24) * magnitude);
  EXPECT_EQ(static_cast<double>(static_cast<float>(got / 4096)),
            run_op("Mean", {}, {&x}, settings_for(Semantics::ieee())).outputs[0].value(0));
}

/// TUTORIAL G37: 1000 x 100.0.
// tests: G37
TEST(ReductionSum, OverflowsInAHalfAccumulatorButNotInFp32) {
  const Tensor x = Tensor::full(DType::kFloat16, Shape{1000}, 100);
  const Attributes half = {{"accumulator", std::string("half")}};
  for (const auto& attributes : {Attributes{}, half}) {
    const OpRun run = run_op("Sum", attributes, {&x}, settings_for(Semantics::ipu()));
    EXPECT_EQ(0x7BFFu, run.outputs[0].code(0));
    EXPECT_EQ(kOverflow, run.status.flags);
    EXPECT_EQ(0u, run.status.first_index[2]);
  }
  // The mean divides before it is stored: 100 where the sum was fp32, 65504 / 1000 where it had overflowed.
  EXPECT_EQ(100.0, run_op("Mean", {}, {&x}, settings_for(Semantics::ipu())).outputs[0].value(0));
  EXPECT_EQ(65.5, run_op("Mean", half, {&x}, settings_for(Semantics::ipu())).outputs[0].value(0));
  const OpRun infinite = run_op("Sum", half, {&x}, settings_for(Semantics::ieee()));
  EXPECT_EQ(0x7C00u, infinite.outputs[0].code(0));
}

// tests: N141
TEST(ReductionSum, HalfAccumulatorRoundsEveryAdditionWithBitsOfItsOwn) {
  // 2048 + 1 is a tie at quantum 2; stochastically each addition goes up half the time, with its own bits.
  std::vector<double> values(33, 1.0);
  values[0] = 2048;
  const Tensor x = Tensor::from_values(DType::kFloat16, Shape{33}, values);
  const Attributes half = {{"accumulator", std::string("half")}};
  const Semantics s = Semantics::ieee(RoundingPolicy::stochastic_carry(13));
  emu::EngineSettings settings = settings_for(s);
  const double got = run_op("Sum", half, {&x}, settings).outputs[0].value(0);
  // By hand: lane 0 = 2048 + x[32], then lanes combine.
  const RandomBits bits = settings.environment.random;
  const auto add = [&](double a, double b, uint64_t p) {
    const uint32_t word = bits.bits(3, 0, product_index(p, 0), 13);
    const uint64_t sum = fp::from_double(kFp32, a + b);  // exact
    return fp::to_double(kFp16, fp::convert(kFp32, kFp16, sum, s, word).code);
  };
  double expected = add(2048, 1, 32);
  expected = add(expected, 1, 16);
  // Lanes of ones add up exactly: strides 8, 4, 2, 1 bring lane 0 twos, a four, an eight, a sixteen.
  for (const auto& [value, p] : {std::pair{2.0, 8}, {4.0, 4}, {8.0, 2}, {16.0, 1}})
    expected = add(expected, value, static_cast<uint64_t>(p));
  EXPECT_EQ(expected, got);
}

TEST(ReductionSum, OfFp16IsTheFp32SumRoundedOnce) {
  Mixer mix(3);
  const Tensor x = random_tensor(DType::kFloat16, Shape{40, 1500}, mix, Data::kPlain);
  const OpRun run = run_op("Sum", over({1}), {&x}, settings_for(Semantics::ieee()));
  for (int64_t r = 0; r < 40; ++r) {
    std::vector<float> row;
    for (int64_t i = 0; i < 1500; ++i) row.push_back(static_cast<float>(x.value(r * 1500 + i)));
    EXPECT_EQ(fp::from_float(kFp16, sum_by_lists(row)), run.outputs[0].code(r));
  }
}

TEST(ReductionExtrema, OrderZerosPropagateNaNAndTakeTheLowestPlace) {
  const float nan = std::numeric_limits<float>::quiet_NaN();
  const auto tensor = [](std::vector<double> v) {
    return Tensor::from_values(DType::kFloat32, Shape{static_cast<int64_t>(v.size())}, v);
  };
  const auto one = [](const char* op, const Tensor& x, const Semantics& s = Semantics::ieee()) {
    return run_op(op, {}, {&x}, settings_for(s));
  };
  const Tensor zeros = tensor({-0.0, -0.0, 0.0, 0.0});
  EXPECT_EQ(0u, one("Max", zeros).outputs[0].code(0));
  EXPECT_EQ(0x80000000u, one("Min", zeros).outputs[0].code(0));
  EXPECT_EQ(2, one("ArgMax", zeros).outputs[0].value(0));
  EXPECT_EQ(0, one("ArgMin", zeros).outputs[0].value(0));
  const Tensor nans = tensor({5, 9, nan, -3, nan});
  for (const char* op : {"Max", "Min"}) {
    EXPECT_EQ(0x7FC00000u, one(op, nans).outputs[0].code(0));
    EXPECT_EQ(0, one(op, nans).status.flags);
    EXPECT_EQ(kInvalid, one(op, nans, Semantics::ipu()).status.flags);
  }
  EXPECT_EQ(2, one("ArgMax", nans).outputs[0].value(0));
  EXPECT_EQ(2, one("ArgMin", nans).outputs[0].value(0));
  EXPECT_EQ(kInvalid, one("ArgMin", nans, Semantics::ipu()).status.flags);
  const Tensor ties = tensor({1, 7, 7, -2, -2});
  EXPECT_EQ(1, one("ArgMax", ties).outputs[0].value(0));
  EXPECT_EQ(3, one("ArgMin", ties).outputs[0].value(0));
}

TEST(ReductionIntegers, WrapAndCompare) {
  const Tensor x = Tensor::from_values(DType::kInt32, Shape{3}, std::vector<double>{2147483647, 1, 5});
  EXPECT_EQ(-2147483643.0, run_op("Sum", {}, {&x}, settings_for(Semantics::ipu())).outputs[0].value(0));
  EXPECT_EQ(1, run_op("Min", {}, {&x}, settings_for(Semantics::ipu())).outputs[0].value(0));
  EXPECT_EQ(0, run_op("ArgMax", {}, {&x}, settings_for(Semantics::ipu())).outputs[0].value(0));
}

// tests: N93
TEST(ReductionFlags, NameTheLowestOutputOfEach) {
  Tensor x = Tensor::full(DType::kFloat32, Shape{40, 50}, 1);
  x.as<float>()[7 * 50 + 3] = x.as<float>()[7 * 50 + 9] = 3e38f;
  x.as<float>()[5 * 50 + 1] = std::numeric_limits<float>::quiet_NaN();
  x.as<float>()[9 * 50] = INFINITY;
  x.as<float>()[9 * 50 + 1] = -INFINITY;
  const OpRun run = run_op("Sum", over({1}), {&x}, settings_for(Semantics::ipu()));
  EXPECT_EQ(kOverflow | kInvalid, run.status.flags);
  EXPECT_EQ(7u, run.status.first_index[2]);
  EXPECT_EQ(5u, run.status.first_index[4]);
  EXPECT_EQ(9u, run_op("Sum", over({1}), {&x}, settings_for(Semantics::ieee())).status.first_index[4]);
}

TEST(ReductionErrors, NameNodeAndExpectation) {
  const Tensor x(DType::kFloat32, Shape{2, 3}), none(DType::kFloat32, Shape{2, 0});
  const auto message = [](const char* op, const Attributes& a, const Tensor& t) {
    return refusal<GraphError>([&] { run_op(op, a, {&t}, settings_for(Semantics::ieee())); });
  };
  EXPECT_EQ("Sum 'op': attribute 'axes' holds 2; expected an axis of [2,3]: -2 .. 1", message("Sum", over({2}), x));
  EXPECT_EQ("Sum 'op': attribute 'axes' holds axis -1 twice", message("Sum", over({1, -1}), x));
  EXPECT_EQ("Max 'op': no elements of [2,0] to choose from", message("Max", over({1}), none));
  EXPECT_EQ("Sum 'op': accumulator half needs elements of float16, not float32",
            message("Sum", {{"accumulator", std::string("half")}}, x));
}

// tests: N144
TEST(ReductionKernels, AreTheBodiesBitForBit) {
  Mixer mix(4);
  const std::vector<DType> types = {DType::kFloat16, DType::kBFloat16, DType::kFloat32, DType::kFloat64, DType::kInt32};
  for (int round = 0; round < 220; ++round) {
    const DType type = types[round % 7 < 5 ? static_cast<size_t>(round % 7) : 2];
    const int rank = 1 + static_cast<int>(mix() % 4);
    std::vector<int64_t> extents;
    int64_t left = 20000;
    for (int a = 0; a < rank; ++a) {
      const int64_t limits[] = {3, 40, 300, 3000};
      extents.push_back(1 + static_cast<int64_t>(mix() % static_cast<uint64_t>(std::min(left, limits[mix() % 4]))));
      left = std::max<int64_t>(1, left / extents.back());
    }
    Ints axes;
    for (int a = 0; a < rank; ++a)
      if (mix() % 2) axes.push_back(a);
    const Shape shape{std::span<const int64_t>(extents)};
    const Data kind = round % 3 == 0 ? Data::kPlain : round % 3 == 1 ? Data::kEdge : Data::kHuge;
    const Tensor x = random_tensor(type, shape, mix, kind, round % 2 ? 3 : 1e-3);
    const NamedSemantics& preset = presets()[static_cast<size_t>(round) % presets().size()];
    const char* ops[] = {"Sum", "Mean", "Max", "Min"};
    const std::string op = ops[mix() % 4];
    if (!(op == "Mean" && type == DType::kInt32)) {
      Attributes a = over(axes, mix() % 2);
      if (type == DType::kFloat16 && (op == "Sum" || op == "Mean") && mix() % 3 == 0)
        a["accumulator"] = std::string("half");
      expect_as_body(op, a, {&x}, preset);
    }
    if (type != DType::kInt32) expect_as_body("L2Loss", {}, {&x}, preset);
    expect_as_body(mix() % 2 ? "ArgMax" : "ArgMin",
                   {{"axis", static_cast<int64_t>(mix() % static_cast<uint64_t>(rank))}}, {&x}, preset);
    if (rank > 1 && type <= DType::kFloat32) expect_as_body("BiasAddGrad", {}, {&x}, preset);
    if (HasFailure()) return;
  }
}

TEST(ReductionKernels, AreTheBodiesOnLargeTensors) {
  Mixer mix(5);
  for (const Shape& shape : {Shape{300000}, Shape{5000, 70}, Shape{70, 5000}, Shape{4, 3000, 33}}) {
    const Tensor x = random_tensor(DType::kFloat32, shape, mix, Data::kPlain);
    const Tensor h = random_tensor(DType::kFloat16, shape, mix, Data::kPlain);
    for (const Tensor* t : {&x, &h})
      for (const Ints& axes : {Ints{0}, Ints{-1}, Ints{}}) {
        expect_as_body("Sum", over(axes), {t}, presets()[6]);
        expect_as_body("Max", over(axes), {t}, presets()[0]);
        if (HasFailure()) return;
      }
  }
  // Results past the caches are stored by streaming, from the first whole line of a thread's piece on.
  for (const NamedSemantics& preset : {presets()[0], presets()[5]}) {
    const Tensor few = random_tensor(DType::kFloat32, Shape{(int64_t{1} << 21) + 13, 2}, mix, Data::kEdge);
    expect_as_body("Sum", over({1}), {&few}, preset);
  }
}

}  // namespace
}  // namespace softamp::test
