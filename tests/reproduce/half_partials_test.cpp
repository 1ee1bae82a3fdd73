// `half-partials`: its checks agree, ones come to what theory says, and one dot product is that of a slow chain of its
// own.
#include "src/reproduce/shelf.h"

#include "softamp/numerics/operations.h"
#include "softamp/numerics/random.h"
#include "tests/reproduce/brief.h"

#include <gtest/gtest.h>

#include <cmath>

using namespace softamp;
using namespace softamp::reproduce;

namespace {

Outcome run_half_partials(uint64_t samples, uint64_t seed = 0) {
  Request request = brief_request(seed);
  if (samples != 0) request.samples = samples;
  return outcome_of(half_partials::experiment(), request);
}

// The bounds come from the roundings' variance: two dot products alone must not fail them.
TEST(HalfPartials, AgreesWithTheoryOfFewProducts) {
  for (uint64_t seed = 0; seed < 2; ++seed) expect_all_agree(run_half_partials(2, seed));
}

// Nearest: per block the exact sum of its products and of the partial, which fp32 holds, rounded to fp16 once.
TEST(HalfPartials, ErrorsAreThoseOfASlowChain) {
  const RandomBits random{9};
  const auto draw = [&](uint32_t operation, uint64_t index) { return random.bits(0, operation, index, 11) / 2048.0; };
  const Outcome o = run_half_partials(5, 9);
  int seen = 0;
  for (const auto& row : o.tables[0].rows) {
    if (row[1] != 32 || row[0].get<std::string>().find("nearest") == std::string::npos) continue;
    const std::string name = row[0];
    const uint64_t block = name == "nearest, block k" ? 32 : std::stoull(name.substr(name.rfind(' ')));
    double mean = 0;
    for (uint64_t i = 0; i < 5; ++i) {
      double exact = 0, partial = 0;
      for (uint64_t j = 0; j < 32; ++j) {
        const double product = draw((1u << 23) + 1, i << 20 | j) * draw((1u << 23) + 2, j);
        exact += product;
        partial += product;  // exact; then the fused step of fp32, but in blocks of one
        partial = block == 1 ? partial : static_cast<double>(static_cast<float>(partial));
        if ((j + 1) % block == 0) partial = fp::to_double(kFp16, fp::from_double(kFp16, partial));
      }
      mean += (partial / exact - 1) / 5;
    }
    EXPECT_NEAR(row[2].get<double>(), mean, 1e-15) << name;
    ++seen;
  }
  EXPECT_EQ(seen, 4);
}

}  // namespace
