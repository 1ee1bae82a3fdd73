// Training in fixed point: its product, its rounding and a whole step against slow integers; the published order in the
// short form, and in a short run on Fashion-MNIST where that is there.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <filesystem>
#include <vector>

#include "softamp/names/names.h"
#include "softamp/numbers/number_text.h"
#include "softamp/numerics/operations.h"
#include "softamp/numerics/round.h"
#include "src/reproduce/shelf.h"
#include "src/reproduce/steps/fixed_point_net.h"
#include "tests/refusal.h"

namespace softamp::reproduce {
namespace {

/// Numbers without any order, the same each time.
uint32_t scrambled(uint32_t x) {
  x *= 0x9E3779B1u;
  x ^= x >> 15;
  x *= 0x85EBCA77u;
  return x ^ x >> 13;
}

TEST(FixedPoint, ProductIsExactForCodesWithAnyVectors) {
  for (const size_t rows : {1, 3, 8, 19}) {
    Grid a(rows, 45), b(45, 21), out(rows, 21), portable(rows, 21);
    uint32_t n = 0;
    for (Grid* g : {&a, &b})
      for (size_t i = 0; i < g->rows; ++i)
        for (double& x : g->line(i)) x = static_cast<double>(static_cast<int16_t>(scrambled(++n)));
    std::vector<double> start(out.stride);
    for (size_t j = 0; j < 21; ++j) start[j] = -2147483648.0 + static_cast<double>(j);
    multiply_rows(Cells::kCodes, a, b, start.data(), out, 0, rows);
    multiply_rows(Cells::kCodes, a, b, start.data(), portable, 0, rows, true);
    EXPECT_EQ(out.cells, portable.cells);
    for (size_t i = 0; i < rows; ++i)
      for (size_t j = 0; j < 21; ++j) {
        auto sum = static_cast<int64_t>(start[j]);
        for (size_t k = 0; k < 45; ++k) sum += static_cast<int64_t>(a.row(i)[k]) * static_cast<int64_t>(b.row(k)[j]);
        ASSERT_EQ(out.row(i)[j], static_cast<double>(sum)) << i << ' ' << j;
      }
  }
}

TEST(FixedPoint, ProductOfFloatsIsTheUnitsOneByOneWithAnyVectors) {
  Grid a(17, 60), b(60, 13), out(17, 13), portable(17, 13);
  uint32_t n = 7;
  for (Grid* g : {&a, &b})
    for (size_t i = 0; i < g->rows; ++i)
      for (double& x : g->line(i)) {
        ++n;
        x = std::ldexp(static_cast<float>(scrambled(n)), -static_cast<int>(n % 40));
        if (n % 3 == 0) x = -x;
      }
  std::vector<double> start(out.stride);
  for (size_t j = 0; j < 13; ++j) start[j] = static_cast<float>(1.0 / static_cast<double>(j + 3));
  multiply_rows(Cells::kFloats, a, b, start.data(), out, 0, 17);
  multiply_rows(Cells::kFloats, a, b, start.data(), portable, 0, 17, true);
  EXPECT_EQ(out.cells, portable.cells);
  const Semantics ieee = Semantics::ieee();
  for (size_t i = 0; i < 17; ++i)
    for (size_t j = 0; j < 13; ++j) {
      uint64_t sum = fp::from_double(kFp32, start[j]);
      for (size_t k = 0; k < 60; ++k) {
        const uint64_t x = fp::from_double(kFp32, a.row(i)[k]), y = fp::from_double(kFp32, b.row(k)[j]);
        sum = fp::add(kFp32, sum, fp::mul(kFp32, x, y, ieee).code, ieee).code;
      }
      ASSERT_EQ(out.row(i)[j], value_of(kFp32, sum)) << i << ' ' << j;
    }
}

/// Carry, on a remainder of `shift` bits, as its definition says; saturating.
int64_t slow_carry(int64_t sum, int shift, int bits, uint32_t word) {
  const int64_t magnitude = sum < 0 ? -sum : sum, low = magnitude & ((int64_t{1} << shift) - 1);
  const int64_t cut = shift >= bits ? low >> (shift - bits) : low << (bits - shift);
  const int64_t up = cut + word >= int64_t{1} << bits;
  const int64_t rounded = (magnitude >> shift) + up;
  return sum < 0 ? std::max<int64_t>(-rounded, -32768) : std::min<int64_t>(rounded, 32767);
}

TEST(FixedPoint, SumsAreRoundedAtTheirAddresses) {
  for (const int bits : {1, 5, 16, 20}) {
    std::vector<double> sums, codes(1000);
    for (uint32_t i = 0; i < 1000; ++i) sums.push_back(static_cast<double>(static_cast<int32_t>(scrambled(i))) / 2);
    for (double& s : sums) s = std::trunc(s);
    const RandomBits random{5};
    round_sums(sums, -24, fixed16(10), RoundingPolicy::stochastic_carry(bits), random, 3, 9, 77, codes);
    for (size_t i = 0; i < sums.size(); ++i)
      ASSERT_EQ(codes[i], static_cast<double>(
                              slow_carry(static_cast<int64_t>(sums[i]), 14, bits, random.bits(3, 9, 77 + i, bits))))
          << bits << ' ' << i;
  }
}

/// A set of one class pattern per image, small enough to compute a step by hand.
ImageSet small_set(int64_t count) {
  ImageSet set;
  set.count = count;
  set.height = 2;
  set.width = 3;
  set.channels = 1;
  for (int64_t i = 0; i < count; ++i) {
    set.labels.push_back(static_cast<int32_t>(i % 10));
    for (int64_t p = 0; p < 6; ++p)
      set.pixels.push_back(static_cast<uint8_t>(scrambled(static_cast<uint32_t>(6 * i + p + 1))));
  }
  return set;
}

// One step of a network without hidden layers, in integers: outputs, errors, updates, weights and biases.
TEST(FixedPoint, AStepIsThatOfItsDefinition) {
  NetSetup net;
  net.widths = {6, 10};
  net.batch = 20;
  net.deviation = 0.5;
  net.rate = 0.25;
  net.seed = 11;
  FixedSetup setup{true, fixed16(12), fixed16(10), RoundingPolicy::stochastic_carry(16), 40};
  const ImageSet set = small_set(20);
  std::vector<int64_t> indices;
  for (int64_t i = 0; i < 20; ++i) indices.push_back(i);
  FixedNet trained(net, setup);
  const Grid before = trained.weights(0);
  const double loss = trained.train(set, indices, 4);

  const RandomBits random{11};
  int64_t x[20][6], e[20][10];
  double total = 0;
  for (size_t i = 0; i < 20; ++i) {
    double z[10], greatest = -1e9, sum = 0, p[10];
    for (size_t k = 0; k < 6; ++k) x[i][k] = std::llrint(set.pixels[6 * i + k] / 255.0 * 1024);
    for (size_t j = 0; j < 10; ++j) {
      int64_t dot = 0;
      for (size_t k = 0; k < 6; ++k) dot += x[i][k] * static_cast<int64_t>(before.row(k)[j]);
      z[j] = static_cast<double>(slow_carry(dot, 12, 16, random.bits(4, 40, 10 * i + j, 16))) / 1024;
      greatest = std::max(greatest, z[j]);
    }
    for (size_t j = 0; j < 10; ++j) sum += p[j] = std::exp(z[j] - greatest);
    const auto label = static_cast<size_t>(set.labels[i]);
    total += std::log(sum) - (z[label] - greatest);
    for (size_t j = 0; j < 10; ++j) {
      // The unit's e^x is an fp32 one: its error is 2^-20 at most here, which may move a random rounding, seldom.
      const double error = p[j] / sum - (j == label ? 1 : 0);
      e[i][j] = slow_carry(static_cast<int64_t>(std::trunc(std::ldexp(error, 40))), 28, 16,
                           random.bits(4, 41, 10 * i + j, 16));
    }
  }
  EXPECT_NEAR(loss, total / 20, 1e-6);
  const int64_t rate = std::llrint(0.25 / 20 * 16777216);
  EXPECT_EQ(rate_of(net), rate);
  int differ = 0;
  for (size_t j = 0; j < 10; ++j) {
    int64_t bias = 0;
    for (size_t i = 0; i < 20; ++i) bias += e[i][j];
    const int64_t b = -slow_carry(bias * rate, 24, 16, random.bits(4, 43, j, 16));
    differ += trained.biases(0).row(0)[j] != static_cast<double>(b);
    for (size_t k = 0; k < 6; ++k) {
      int64_t sum = 0;
      for (size_t i = 0; i < 20; ++i) sum += x[i][k] * e[i][j];
      const int64_t u = slow_carry(sum * rate, 34, 16, random.bits(4, 42, 10 * k + j, 16));
      differ += trained.weights(0).row(k)[j] != before.row(k)[j] - static_cast<double>(u);
    }
  }
  EXPECT_LE(differ, 2) << "of 70 weights and biases; an error of the last e^x may flip one";
}

TEST(FixedPoint, CountsWhatStandsAtALimit) {
  NetSetup net;
  net.widths = {6, 5, 10};
  net.deviation = 8;  // as far as the format goes: a third of the weights lies beyond
  for (const bool fixed : {false, true}) {
    const FixedNet begun(net, FixedSetup{fixed, fixed16(12)});
    int64_t expected = 0;
    for (const size_t layer : {size_t{0}, size_t{1}})
      for (const Grid* grid : {&begun.weights(layer), &begun.biases(layer)})
        for (size_t i = 0; i < grid->rows; ++i)
          for (const double code : grid->line(i)) expected += fixed && (code == -32768 || code == 32767);
    EXPECT_EQ(begun.saturated(), expected);
    EXPECT_EQ(expected > 10, fixed);
  }
}

TEST(FixedPoint, TheErrorGoesBackThroughAHiddenLayer) {
  // fp32 numbers: weights after a step of two layers against gradients of finite differences of the loss.
  NetSetup net;
  net.widths = {6, 5, 10};
  net.batch = 20;
  net.deviation = 0.5;
  net.rate = 0.5;
  const ImageSet set = small_set(20);
  std::vector<int64_t> indices;
  for (int64_t i = 0; i < 20; ++i) indices.push_back(i);
  FixedNet trained(net, FixedSetup{});
  const Grid w0 = trained.weights(0), w1 = trained.weights(1);
  const auto loss = [&](const Grid& a, const Grid& b) {
    double total = 0;
    for (size_t i = 0; i < 20; ++i) {
      double h[5] = {}, z[10] = {}, sum = 0;
      for (size_t j = 0; j < 5; ++j) {
        for (size_t k = 0; k < 6; ++k) h[j] += set.pixels[6 * i + k] / 255.0 * a.row(k)[j];
        h[j] = std::max(h[j], 0.0);
      }
      for (size_t j = 0; j < 10; ++j) {
        for (size_t k = 0; k < 5; ++k) z[j] += h[k] * b.row(k)[j];
        sum += std::exp(z[j]);
      }
      total += std::log(sum) - z[static_cast<size_t>(set.labels[i])];
    }
    return total / 20;
  };
  trained.train(set, indices, 0);
  for (size_t k = 0; k < 6; ++k)
    for (size_t j = 0; j < 5; ++j) {
      Grid up = w0, down = w0;
      up.row(k)[j] += 1e-5;
      down.row(k)[j] -= 1e-5;
      const double gradient = (loss(up, w1) - loss(down, w1)) / 2e-5;
      EXPECT_NEAR(trained.weights(0).row(k)[j], w0.row(k)[j] - 0.5 * gradient, 2e-6) << k << ' ' << j;
    }
}

TEST(FixedPoint, EachTrainingReadsItsOwnRandomWords) {
  // The same format twice: two stochastic trainings of one run differ by their random words alone.
  Request request;
  request.brief = true;
  request.samples = 500;
  request.fixed_formats = {fixed16(10), fixed16(10)};
  request.roundings = {RoundingMode::kStochastic};
  Watch watch;
  const Table table = fixed_point::experiment().run(request, watch).tables[0];
  EXPECT_NE(table.rows[1][2], table.rows[2][2]);
}

TEST(FixedPoint, LearnsFashionMnistWhereItIs) {
  const std::filesystem::path folder = std::filesystem::path(SOFTAMP_SOURCE_DIR) / "../shared/data/fashion-mnist";
  if (!std::filesystem::exists(folder)) GTEST_SKIP() << folder << " is not there";
  Request request;
  request.data = folder.string();
  request.samples = 100;  // one step: most of the time goes into reading the files and the test images
  request.roundings = {RoundingMode::kStochastic};
  request.fixed_formats = {fixed16(14)};
  Watch watch;
  const Outcome o = fixed_point::experiment().run(request, watch);
  EXPECT_TRUE(o.skipped.empty());
  EXPECT_EQ(o.settings["test_images"], 10000);
  EXPECT_EQ(o.figures.size(), 1u);
}

TEST(FixedPoint, SaysWhatItCannotTake) {
  Watch watch;
  Request request;
  request.brief = true;
  const auto message = [&] {
    return softamp::test::refusal<std::invalid_argument>([&] { fixed_point::experiment().run(request, watch); });
  };
  request.fixed_formats = {{-4, -7, 7}};
  EXPECT_NE(message().find("has no name q<I>.<F>"), std::string::npos);
  NetSetup net;
  net.widths = {4, 4};
  net.rate = 0.6;
  EXPECT_THROW(rate_of(net), std::invalid_argument);
}

}  // namespace
}  // namespace softamp::reproduce
