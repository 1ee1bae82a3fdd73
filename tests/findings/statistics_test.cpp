// TensorStatistics against counts made one element at a time from the elements' values.
#include "softamp/findings/statistics.h"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <cmath>

namespace softamp {
namespace {

/// Every code of a 16-bit format, counted by value.
void check_all_codes(DType dtype) {
  const FloatFormat f = format_of(dtype);
  Tensor t(dtype, Shape{65536});
  for (uint32_t c = 0; c < 65536; ++c) t.as<uint16_t>()[c] = static_cast<uint16_t>(c);
  TensorStatistics expected;
  expected.elements = 65536;
  const double greatest = t.value(static_cast<int64_t>(f.max_finite_code()));
  const double least_normal = t.value(static_cast<int64_t>(f.min_normal_code()));
  for (int64_t i = 0; i < 65536; ++i) {
    const double x = t.value(i), magnitude = std::fabs(x);
    if (std::isnan(x)) {
      ++expected.nans;
    } else if (std::isinf(x)) {
      ++expected.infinities;
    } else if (x == 0) {
      ++expected.zeros;
    } else {
      if (magnitude == greatest) ++expected.saturated;
      if (magnitude < least_normal) ++expected.subnormals;
      ++expected.exponents[std::ilogb(x)];
    }
  }
  const TensorStatistics s = statistics_of(t);
  EXPECT_EQ(s.elements, expected.elements);
  EXPECT_EQ(s.minimum, -INFINITY);
  EXPECT_EQ(s.maximum, INFINITY);
  EXPECT_EQ(s.zeros, 2);
  EXPECT_EQ(s.subnormals, expected.subnormals);
  EXPECT_EQ(s.saturated, 2);
  EXPECT_EQ(s.infinities, 2);
  EXPECT_EQ(s.nans, expected.nans);
  EXPECT_EQ(s.exponents, expected.exponents);
  EXPECT_NE(s.json().find(R"("minimum":"-inf","maximum":"inf")"), std::string::npos);
}

TEST(Statistics, AllHalves) { check_all_codes(DType::kFloat16); }
TEST(Statistics, AllBFloat16) { check_all_codes(DType::kBFloat16); }

TEST(Statistics, WideFormatsToTheirEnds) {
  const double tiny = std::ldexp(1.0, -149), big = std::ldexp(2 - std::ldexp(1.0, -23), 127);
  TensorStatistics s = statistics_of(Tensor::from_values(DType::kFloat32, {4}, std::vector{tiny, -big, 1.5, 0.0}));
  EXPECT_EQ(s.minimum, -big);
  EXPECT_EQ(s.maximum, 1.5);
  EXPECT_EQ(s.subnormals, 1);
  EXPECT_EQ(s.saturated, 1);
  EXPECT_EQ(s.zeros, 1);
  EXPECT_EQ(s.exponents, (std::map<int, int64_t>{{-149, 1}, {0, 1}, {127, 1}}));
  s = statistics_of(
      Tensor::from_values(DType::kFloat64, {3}, std::vector{std::ldexp(1.0, -1074), std::ldexp(1.0, 1023), -2.0}));
  EXPECT_EQ(s.subnormals, 1);
  EXPECT_EQ(s.saturated, 0);
  EXPECT_EQ(s.exponents, (std::map<int, int64_t>{{-1074, 1}, {1, 1}, {1023, 1}}));
}

TEST(Statistics, NoNumbersAtAll) {
  TensorStatistics s = statistics_of(Tensor(DType::kFloat16, {0, 3}));
  EXPECT_EQ(s.elements, 0);
  EXPECT_EQ(s.minimum, 0);
  EXPECT_EQ(s.maximum, 0);
  s = statistics_of(Tensor::full(DType::kFloat32, {2}, NAN));
  EXPECT_EQ(s.nans, 2);
  EXPECT_EQ(s.minimum, 0);
  EXPECT_EQ(s.maximum, 0);
  EXPECT_TRUE(s.exponents.empty());
  s = statistics_of(Tensor::from_values(DType::kFloat16, {2}, std::vector<double>{NAN, -3}));
  EXPECT_EQ(s.minimum, -3);
  EXPECT_EQ(s.maximum, -3) << "a NaN first is no number";
}

TEST(Statistics, IntegersAndBools) {
  const std::vector<double> ints = {-2147483648.0, 0, 7, 0};
  TensorStatistics s = statistics_of(Tensor::from_values(DType::kInt32, {4}, ints));
  EXPECT_EQ(s.minimum, -2147483648.0);
  EXPECT_EQ(s.maximum, 7);
  EXPECT_EQ(s.zeros, 2);
  EXPECT_TRUE(s.exponents.empty());
  s = statistics_of(Tensor::from_values(DType::kBool, {3}, std::vector<double>{1, 0, 1}));
  EXPECT_EQ(s.maximum, 1);
  EXPECT_EQ(s.zeros, 1);
}

TEST(Statistics, JsonIsOneObject) {
  const auto json = nlohmann::ordered_json::parse(
      statistics_of(Tensor::from_values(DType::kFloat16, {3}, std::vector<double>{1, -2, 65504})).json());
  EXPECT_EQ(json.dump(), R"({"elements":3,"minimum":-2.0,"maximum":65504.0,"zeros":0,"subnormals":0,"saturated":1,)"
                         R"("infinities":0,"nans":0,"exponents":{"0":1,"1":1,"15":1}})");
}

}  // namespace
}  // namespace softamp
