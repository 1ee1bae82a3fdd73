// Someone's tests with softamp's assertions for GoogleTest; one of them fails, and says what differs.
#include <softamp/findings/gtest.h>
#include <softamp/softamp.h>

using namespace softamp;

TEST(Mine, Passes) {
  GraphBuilder b;
  b.add("Square", {b.placeholder("x", DType::kFloat16, {2})}, {}, "y");
  ExecutorOptions options;
  options.config.floating_point_behaviour.oflo = true;
  const auto executor = make_executor(b.build(), options);
  const Tensor x = Tensor::from_values(DType::kFloat16, {2}, {1, 300});
  EXPECT_FP_EXCEPTION(executor->run({{"x", x}}, {"y"}), kOverflow);
  EXPECT_ULPS(executor->run({{"x", Tensor::full(DType::kFloat16, {2}, 1.5)}}, {"y"}).values[0],
              Tensor::full(DType::kFloat16, {2}, 2.25), 0);
}

TEST(Mine, Fails) { EXPECT_ULPS(1.0f, 1.0000002f, 1); }
