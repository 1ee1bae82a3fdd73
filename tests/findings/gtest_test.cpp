// The assertions that users write, and what they say where they fail.
#include "softamp/findings/gtest.h"

#include <gtest/gtest-spi.h>
#include <gtest/gtest.h>

#include <cmath>

#include "softamp/graph/executor.h"
#include "softamp/graph/gradients.h"
#include "softamp/numerics/unit.h"
#include "tests/refusal.h"

namespace softamp {
namespace {

Tensor row(std::initializer_list<double> values, DType dtype = DType::kFloat16) {
  return Tensor::from_values(dtype, {static_cast<int64_t>(values.size())}, values);
}

std::unique_ptr<Executor> squares(bool stops) {
  GraphBuilder b;
  b.add("Square", {b.placeholder("x", DType::kFloat16, {2})}, {}, "y");
  ExecutorOptions o;
  o.config.floating_point_behaviour.oflo = stops;
  o.status = true;
  return make_executor(b.build(), o);
}

TEST(Assertions, OfExceptions) {
  const auto stopping = squares(true), going_on = squares(false);
  EXPECT_FP_EXCEPTION(stopping->run({{"x", row({1, 300})}}, {"y"}), kOverflow);
  ASSERT_FP_EXCEPTION(stopping->run({{"x", row({1, 300})}}, {"y"}), kOverflow);
  EXPECT_NO_FP_EXCEPTION(stopping->run({{"x", row({1, 2})}}, {"y"}));
  ASSERT_NO_FP_EXCEPTION(going_on->run({{"x", row({1, 300})}}, {"y"}));
  EXPECT_NONFATAL_FAILURE(EXPECT_FP_EXCEPTION(std::sqrt(2.0), kOverflow | kInvalid),
                          "std::sqrt(2.0)\nraises no floating-point exception, expected invalid, overflow");
  static const auto& executor = stopping;
  EXPECT_NONFATAL_FAILURE(EXPECT_FP_EXCEPTION(executor->run({{"x", row({1, 300})}}, {"y"}), kInvalid),
                          "raises overflow, expected invalid\nfloating-point exception: overflow");
  EXPECT_NONFATAL_FAILURE(EXPECT_NO_FP_EXCEPTION(executor->run({{"x", row({1, 300})}}, {"y"})),
                          "raises overflow, expected none");
  // Another error is not taken for one.
  const std::string other = test::refusal<GraphError>([&] {
    EXPECT_NO_FP_EXCEPTION(stopping->run({{"x", row({1, 2})}}, {"z"}));
  });
  EXPECT_NE(other.find("'z'"), std::string::npos) << other;
}

TEST(Assertions, OfFlags) {
  const RunResult run = squares(false)->run({{"x", row({1, 300})}}, {"y"});
  EXPECT_FP_FLAGS(run.flags & kOverflow, kOverflow);
  ASSERT_FP_FLAGS(0, 0);
  EXPECT_NONFATAL_FAILURE(EXPECT_FP_FLAGS(kOverflow | kInexact, kInexact),
                          "kOverflow | kInexact\nare the flags overflow, inexact, expected inexact");
  EXPECT_NONFATAL_FAILURE(EXPECT_FP_FLAGS(0, kInvalid), "are the flags none, expected invalid");
}

TEST(Assertions, OfDistances) {
  EXPECT_ULPS(1.0f, 1.0f, 0);
  EXPECT_ULPS(-0.0, 0.0, 0);
  EXPECT_ULPS(NAN, -NAN, 0);
  ASSERT_ULPS(Half::from_bits(0x3c00), Half::from_bits(0x3c03), 3);
  EXPECT_ULPS(row({1, 2, 3}), row({1, 2, 3}), 0);
  EXPECT_NONFATAL_FAILURE(EXPECT_ULPS(BFloat16::from_bits(0x3f80), BFloat16::from_bits(0x3f82), 1),
                          "within 1 ulp: 1 of 1 elements differ, the first at []: 0x3f80 (1), expected 0x3f82 (1.016); "
                          "ulps: 2 x 1");
  EXPECT_NONFATAL_FAILURE(EXPECT_ULPS(1.0, static_cast<double>(NAN), 1000), "ulps: NaN x 1");
  EXPECT_NONFATAL_FAILURE(EXPECT_ULPS(row({1, 2}), row({1, 2}, DType::kFloat32), 9), "float16[2], expected float32[2]");
}

TEST(Assertions, OfBits) {
  EXPECT_SAME_BITS(NAN, NAN);
  EXPECT_SAME_BITS(row({1, -0.0}), row({1, -0.0}));
  ASSERT_SAME_BITS(2.5, 2.5);
  EXPECT_NONFATAL_FAILURE(EXPECT_SAME_BITS(-0.0f, 0.0f), "0x80000000 (-0), expected 0x00000000 (0); ulps: 0 x 1");
  EXPECT_NONFATAL_FAILURE(EXPECT_SAME_BITS(NAN, -NAN), "ulps: NaN x 1");
}

TEST(DifferenceText, CountsAndFirst) {
  const Tensor a = Tensor::from_values(DType::kFloat16, {2, 2}, {1, 2, 3, 4}),
               b = Tensor::from_values(DType::kFloat16, {2, 2}, {1, 2, 3.001953125, 6});
  EXPECT_EQ(difference_text(a, a), "");
  EXPECT_EQ(difference_text(a, b),
            "2 of 4 elements differ, the first at [1,0]: 0x4200 (3), expected 0x4201 (3.002); ulps: 1 x 1, 512 x 1");
  EXPECT_EQ(difference_text(a, b, 1),
            "1 of 4 elements differ, the first at [1,1]: 0x4400 (4), expected 0x4600 (6); ulps: 512 x 1");
  EXPECT_EQ(difference_text(a, b, 512), "");
  EXPECT_EQ(difference_text(row({1, 7}, DType::kInt32), row({1, -8}, DType::kInt32), 100),
            "1 of 2 elements differ, the first at [1]: 7, expected -8")
      << "integers are compared exactly";
  // Ten distances, of which eight are listed.
  std::vector<double> zeros(10), numbers;
  for (int i = 1; i <= 10; ++i) numbers.push_back(i * 0x1p-24);
  EXPECT_TRUE(difference_text(Tensor::from_values(DType::kFloat16, {10}, zeros),
                              Tensor::from_values(DType::kFloat16, {10}, numbers))
                  .ends_with("ulps: 1 x 1, 2 x 1, 3 x 1, 4 x 1, 5 x 1, 6 x 1, 7 x 1, 8 x 1, ..."));
}

// ---- braces ----

TEST(Braces, MakeFeedsFetchesAndTensors) {
  const auto executor = squares(false);
  const Tensor x = row({3, 4});
  const std::vector<Feed> feeds{{"x", &x}};
  const std::vector<std::string> fetches{"y"};
  const RunResult expected = executor->run(feeds, fetches);
  EXPECT_SAME_BITS(expected.values[0], row({9, 16}));
  EXPECT_SAME_BITS(executor->run({{"x", x}}, {"y"}).values[0], expected.values[0]);
  EXPECT_SAME_BITS(executor->run({{"x", &x}}, fetches).values[0], expected.values[0]);
  EXPECT_EQ(executor->run({{"x", x}}, {}).values.size(), 0u);
  EXPECT_EQ(executor->run({{"x", x}}, {"y", "x"}).values.size(), 2u);
  EXPECT_EQ(executor->memory({"y"}).peak, executor->memory(fetches).peak);
  // A temporary tensor lives as long as its feed, copies of which share it.
  std::vector<Feed> kept{{"x", row({5, 6})}};
  const std::vector<Feed> copies = kept;
  kept.clear();
  EXPECT_SAME_BITS(executor->run(copies, {"y"}).values[0], row({25, 36}));
}

TEST(Braces, MakeListsOfPorts) {
  GraphBuilder b;
  const Port x = b.placeholder("x", DType::kFloat32, {2}), y = b.placeholder("y", DType::kFloat32, {2});
  const Port loss = b.add("Sum", {b.add("Mul", {x, y})});
  EXPECT_EQ(gradients(b, loss, {x, y}).size(), 2u);
}

}  // namespace
}  // namespace softamp
