// Counts of exponents, held against a loop over the elements with std::frexp.
#include "softamp/pictures/exponent_histogram.h"
#include "softamp/train/exponent_totals.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <random>

#include "softamp/findings/statistics.h"
#include "tests/refusal.h"

namespace softamp {
namespace {

ExponentHistogram by_frexp(const Tensor& t, double divisor, bool quotients) {
  ExponentHistogram h;
  const FloatFormat f = format_of(t.dtype());
  for (int64_t i = 0; i < t.elements(); ++i) {
    const double x = t.value(i) / divisor;
    ++h.elements;
    if (std::isnan(x)) {
      ++h.nans;
    } else if (std::isinf(x)) {
      ++h.infinities;
    } else if (x == 0) {
      ++h.zeros;
    } else {
      int exponent = 0;
      std::frexp(x, &exponent);
      ++h.exponents[exponent - 1];
      h.subnormals += !quotients && exponent - 1 < 1 - f.bias;
    }
  }
  return h;
}

/// Random codes: of every exponent, both signs, specials and zeros among them.
Tensor random_codes(DType dtype, int64_t n) {
  Tensor t(TensorType{dtype, {n}});
  std::mt19937_64 random(7);
  auto* bytes = static_cast<unsigned char*>(t.data());
  for (size_t i = 0; i < t.bytes(); ++i) bytes[i] = static_cast<unsigned char>(random());
  const size_t size = size_of(dtype);
  for (size_t i = 0; i < t.bytes() / size; i += 5) std::memset(bytes + i * size, i % 10 ? 0xff : 0, size);
  return t;
}

TEST(ExponentHistogram, EveryCodeOfTheNarrowTypes) {
  for (const DType dtype : {DType::kFloat16, DType::kBFloat16}) {
    Tensor all(TensorType{dtype, {65536}});
    for (int i = 0; i < 65536; ++i) static_cast<uint16_t*>(all.data())[i] = static_cast<uint16_t>(i);
    const ExponentHistogram h = exponents_of(all.type(), all.data());
    EXPECT_EQ(h, by_frexp(all, 1, false));
    EXPECT_EQ(h.zeros, 2);
    EXPECT_EQ(h.infinities, 2);
    EXPECT_EQ(h.subnormals, dtype == DType::kFloat16 ? 2046 : 254);
    EXPECT_EQ(h.exponents.begin()->first, dtype == DType::kFloat16 ? -24 : -133);
  }
}

TEST(ExponentHistogram, RandomCodesOfEveryTypeAndLength) {
  for (const DType dtype : {DType::kFloat16, DType::kBFloat16, DType::kFloat32, DType::kFloat64})
    for (const int64_t n : {0, 1, 3, 4, 7, 1000, 100003}) {
      const Tensor t = random_codes(dtype, n);
      const ExponentHistogram h = exponents_of(t.type(), t.data());
      EXPECT_EQ(h, by_frexp(t, 1, false)) << t.type().text();
      const TensorStatistics s = statistics_of(t);
      EXPECT_EQ(h.exponents, s.exponents);
      EXPECT_EQ(h.subnormals, s.subnormals);
    }
}

TEST(ExponentHistogram, QuotientsAreThoseOfBinary64AndAShiftIsAPowerOfTwo) {
  const Tensor t = random_codes(DType::kFloat16, 10000);
  EXPECT_EQ(exponents_of_quotients(t.type(), t.data(), 1000), by_frexp(t, 1000, true));
  EXPECT_EQ(exponents_of(t.type(), t.data()).shifted(-10), by_frexp(t, 1024, true));
  EXPECT_EQ(exponents_of_quotients(t.type(), t.data(), 1024), by_frexp(t, 1024, true));
}

TEST(ExponentHistogram, AddsAndWrites) {
  const Tensor t = Tensor::from_values(DType::kFloat16, {5}, std::vector<double>{0, 1.5, -3, 6e-8, INFINITY});
  ExponentHistogram h = exponents_of(t.type(), t.data());
  EXPECT_EQ(h.json(),
            "{\"elements\":5,\"zeros\":1,\"subnormals\":1,\"infinities\":1,\"nans\":0,\"exponents\":{\"-24\":1,\"0\":1,"
            "\"1\":1}}");
  const ExponentHistogram one = h;
  h.add(one);
  EXPECT_EQ(h.elements, 10);
  EXPECT_EQ(h.exponents[0], 2);
  const Tensor whole = Tensor::from_values(DType::kInt32, {1}, std::vector<double>{1});
  EXPECT_EQ(test::refusal<std::invalid_argument>([&] { exponents_of(whole.type(), whole.data()); }),
            "a histogram of exponents of int32[1]; expected a floating type");
}

}  // namespace
LayerExponents layer(const char* name, LayerExponents::Kind kind, DType dtype, std::vector<double> values) {
  const Tensor t = Tensor::from_values(dtype, {static_cast<int64_t>(values.size())}, values);
  LayerExponents result{name, kind, dtype, exponents_of(t.type(), t.data()), {}};
  if (kind == LayerExponents::Kind::kGradients) result.unscaled = exponents_of_quotients(t.type(), t.data(), 8);
  return result;
}

// Totals of runs are the same in whatever order they end; layers meet by name, kind and dtype.
TEST(ExponentTotals, AddInAnyOrder) {
  using Kind = LayerExponents::Kind;
  const ExponentTotals none,
      a{2,
        8,
        16,
        {layer("conv", Kind::kWeights, DType::kFloat32, {1, 0.5, 0}),
         layer("conv", Kind::kGradients, DType::kFloat16, {3, 6e-8})}},
      b{1,
        4,
        4,
        {layer("conv", Kind::kGradients, DType::kFloat16, {2}), layer("dense", Kind::kWeights, DType::kFloat16, {7})}};
  ExponentTotals ab = none, ba = b;
  ab.add(a), ab.add(b), ab.add(none);
  ba.add(a);
  EXPECT_EQ(ab, ba);
  EXPECT_EQ(ab.steps, 3);
  EXPECT_EQ(ab.least_scale, 4);
  EXPECT_EQ(ab.greatest_scale, 16);
  ASSERT_EQ(ab.layers.size(), 3u);
  EXPECT_EQ(ab.layers[0].layer + name_of(ab.layers[0].kind), "convweights");
  EXPECT_EQ(ab.layers[1].counts.exponents, (std::map<int, int64_t>{{-24, 1}, {1, 2}}));
  EXPECT_EQ(ab.layers[1].unscaled.exponents, (std::map<int, int64_t>{{-27, 1}, {-2, 2}}));
  EXPECT_EQ(ab.layers[1].counts.subnormals, 1);
  EXPECT_EQ(ab.layers[2].layer, "dense");
}

}  // namespace softamp
