// The experiment `tensor-cores`: its checks, its figures against slow code of its own, its random numbers' addresses.
#include <gtest/gtest.h>
#include <cmath>

#include "softamp/numerics/random.h"
#include "src/reproduce/shelf.h"
#include "src/reproduce/tensor_cores/tensor_core_sums.h"
#include "tests/refusal.h"
#include "tests/reproduce/brief.h"

namespace softamp::reproduce {
namespace {

Outcome brief_tensor_cores(uint64_t seed = 0, std::optional<uint64_t> samples = std::nullopt) {
  return outcome_of(tensor_cores::experiment(), brief_request(seed, samples));
}

const Table& table(const Outcome& o, std::string_view name) {
  for (const Table& t : o.tables)
    if (t.name == name) return t;
  throw std::out_of_range(std::string(name));
}

Json cell(const Table& t, const std::string& row, const std::string& column) {
  for (const auto& r : t.rows)
    for (size_t c = 0; c < t.columns.size(); ++c)
      if (r[0] == row && t.columns[c] == column) return r[c];
  throw std::out_of_range(row + ", " + column);
}

// The published figures, and what the models' definitions give by hand.
TEST(TensorCores, Figures) {
  const Outcome o = brief_tensor_cores();
  const Table& t = table(o, "sums");
  const std::string refined = "(2^15 + 2^-8 - 2^15) x 65504, to fp16";
  const std::pair<const char*, double> published[] = {{"exact", 255.875},  {"Volta", 0},       {"Ampere", 0},
                                                      {"Hopper", 191.875}, {"CDNA1", 255.875}, {"CDNA2", 0}};
  for (const auto& [unit, value] : published) EXPECT_EQ(cell(t, refined, unit), value) << unit;
  const auto row = [&](const std::string& name) {
    std::vector<double> values;
    for (const char* unit : {"fp32 chain", "Volta", "Turing", "Ampere", "Ada", "Hopper", "Blackwell", "CDNA1"})
      values.push_back(cell(t, name, unit).get<double>());
    return values;
  };
  const double p22 = 1 + 0x1p-22, p23 = 1 + 0x1p-23, t8 = 0x1p-8;
  EXPECT_EQ(row("1 + 4 x 2^-24"), (std::vector<double>{1, 1, p22, p22, p22, p22, p22, p22}));
  EXPECT_EQ(row("1 + 8 x 2^-25"), (std::vector<double>{1, 1, 1, 1, 1, p22, p22, p22}));
  EXPECT_EQ(row("2^20 - 2^20 + 2^-8 as product 3"), (std::vector<double>{t8, 0, 0, 0, 0, 0, 0, t8}));
  EXPECT_EQ(row("2^20 - 2^20 + 2^-8 as product 6"), (std::vector<double>{t8, t8, 0, 0, 0, 0, 0, t8}));
  EXPECT_EQ(row("2^20 - 2^20 + 2^-8 as product 12"), (std::vector<double>{t8, t8, t8, t8, t8, 0, 0, t8}));
  EXPECT_EQ(row("2^20 - 2^20 + 2^-8 as product 20"), (std::vector<double>(8, t8)));
  EXPECT_EQ(row("1 + 1.5 x 2^-23"), (std::vector<double>{p22, p23, p23, p23, p23, p23, p23, p22}));
  const double s = 0x1p-9, l = 0x1p-9 + 0x1p-25;
  EXPECT_EQ(row("2^-24 x 2^15 + 2^-12 x 2^-13"), (std::vector<double>{l, s, s, s, s, s, s, l}));
  EXPECT_EQ(cell(t, refined, "IPU, half partials"), 0.0);
}

/// CDNA1 rounds the sum and four products once, CDNA2 adds them pairwise: 2^24 + 1 + 1.
TEST(TensorCores, AmdsUnits) {
  using namespace matrix_units;
  const std::vector<double> x = {4096, 1, 1, 0};
  EXPECT_EQ(sum_of(Unit::kCdna1, x, x), 0x1p24F + 2);
  EXPECT_EQ(sum_of(Unit::kCdna2, x, x), 0x1p24F);
  // The sum so far is one of the terms: 2^24 before 1 + 1 - 2^24 of the next group.
  EXPECT_EQ(sum_of(Unit::kCdna1, {4096, 0, 0, 0, 1, 1, 1, -4096}, {4096, 0, 0, 0, 1, 1, 1, 4096}), 3);
}

/// The fp32 chain's mean errors, once more by floats of the machine.
TEST(TensorCores, ErrorsOfTheChain) {
  constexpr uint64_t kSeed = 5;
  constexpr uint32_t kPairs = 3;
  const Outcome o = brief_tensor_cores(kSeed, kPairs);
  const Table& t = table(o, "errors");
  RandomBits random;
  random.seed = kSeed;
  std::vector<double> mean(t.rows.size(), 0.0);
  for (uint32_t pair = 0; pair < kPairs; ++pair) {
    float sum = 0;
    double exact = 0;
    for (uint32_t i = 0, at = 0; at < mean.size(); ++i) {
      const double x = (random.bits(pair, 0, i, 11) + 1) / 2048.0, y = (random.bits(pair, 1, i, 11) + 1) / 2048.0;
      sum = std::fma(static_cast<float>(x), static_cast<float>(y), sum);
      exact += x * y;
      if (i + 1 == 16u << at) mean[at++] += std::abs((static_cast<double>(sum) - exact) / exact) / kPairs;
    }
  }
  for (size_t at = 0; at < mean.size(); ++at) {
    EXPECT_EQ(t.rows[at][0], 16u << at);
    EXPECT_NEAR(t.rows[at].back().get<double>(), mean[at], 1e-12 * mean[at]) << at;
  }
}

TEST(TensorCores, OtherSeedsAndSizesAgreeToo) {
  for (const uint64_t seed : {1, 2, 3})
    for (const Check& c : brief_tensor_cores(seed, 4).checks)
      EXPECT_TRUE(c.agrees) << seed << ": " << c.what << ": " << c.ours;
}

}  // namespace
}  // namespace softamp::reproduce
