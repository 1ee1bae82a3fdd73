// The probabilistic bound as a property of a thousand stochastic dot products: sum of x_j y_j, each product and each
// addition rounded with 16 random bits, which here is all that is ever discarded.
//
// x and y are random numbers of the format in [1/2, 1), so no product underflows; the exact value is a sum of multiples
// of 2^-22 below 2^14: exact in binary64. The first n products of one run serve for each n.
#include "softamp/numerics/operations.h"
#include "softamp/numerics/random.h"
#include "softamp/sums/running_sum.h"
#include "src/reproduce/steps/paths.h"
#include "src/reproduce/sums/random_bits_parts.h"
#include "src/reproduce/survey.h"

#include <tbb/parallel_for.h>

#include <algorithm>
#include <cmath>

namespace softamp::reproduce::few_bits {
namespace {

constexpr size_t kChunk = 250;

/// Dots [first, first + kChunk) of one format: relative error of each at n = 10, 100, ...
struct Chunk {
  std::vector<std::vector<double>> errors;
};

/// Codes of random numbers in [1/2, 1): the exponent of 1/2, and the bits at (seed, step, kind, dot).
void make(const FloatFormat& f, uint64_t seed, uint32_t step, uint32_t kind, uint64_t first,
          std::vector<uint16_t>& codes) {
  const RandomBits random{seed};
  const uint64_t half = static_cast<uint64_t>(f.bias - 1) << f.mantissa_bits();
  RandomBlock block = random.block(step, survey::operation_of(f, kind), first / 8);
  for (size_t i = 0; i < codes.size(); ++i) {
    const uint64_t index = first + i;
    if (index % 8 == 0) block = random.block(step, survey::operation_of(f, kind), index / 8);
    const uint64_t word = block.lane16(static_cast<uint32_t>(index % 8));
    codes[i] = static_cast<uint16_t>(half | (word & f.mantissa_mask()));
  }
}

Chunk run_chunk(const FloatFormat& f, uint64_t seed, uint64_t first, uint64_t greatest) {
  const Paths paths(f, experiment_semantics(RoundingMode::kStochastic, 16), seed);
  std::vector<uint16_t> x(kChunk), y(kChunk), product(kChunk), sum(kChunk);
  std::vector<double> exact(kChunk);
  Chunk chunk;
  uint64_t next = 10;
  for (uint32_t j = 0; j < greatest; ++j) {
    make(f, seed, j, 1, first, x);
    make(f, seed, j, 2, first, y);
    for (size_t i = 0; i < kChunk; ++i) exact[i] += fp::to_double(f, x[i]) * fp::to_double(f, y[i]);
    paths.mul(x, y, product, {survey::operation_of(f, 3), j, first});
    paths.add(sum, product, sum, {survey::operation_of(f, 4), j, first});
    if (j + 1 != next) continue;
    std::vector<double>& errors = chunk.errors.emplace_back();
    for (size_t i = 0; i < kChunk; ++i) errors.push_back(fp::to_double(f, sum[i]) / exact[i] - 1);
    next *= 10;
  }
  return chunk;
}

}  // namespace

std::vector<DotErrors> dot_errors(uint64_t seed, uint64_t greatest) {
  std::vector<DotErrors> found;
  constexpr size_t kChunks = kDots / kChunk;
  for (const FloatFormat& f : {kFp16, kBf16}) {
    std::vector<Chunk> chunks(kChunks);
    tbb::parallel_for(size_t{0}, kChunks, [&](size_t k) { chunks[k] = run_chunk(f, seed, k * kChunk, greatest); });
    uint64_t n = 10;
    for (size_t place = 0; place < chunks[0].errors.size(); ++place, n *= 10) {
      std::vector<double> errors;
      for (const Chunk& chunk : chunks)
        errors.insert(errors.end(), chunk.errors[place].begin(), chunk.errors[place].end());
      DotErrors d{f, n, 0, 0, 0};
      const double unit = std::sqrt(static_cast<double>(n)) * survey::stochastic_roundoff(f);
      for (const double e : errors) d.worst = std::max(d.worst, std::abs(e) / unit);
      const MeanAndDeviation m = mean_and_deviation(errors);
      d.mean = m.mean;
      d.sd = m.sd;
      found.push_back(d);
    }
  }
  return found;
}

}  // namespace softamp::reproduce::few_bits
