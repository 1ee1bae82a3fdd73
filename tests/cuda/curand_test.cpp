// Our Philox against cuRAND's: its host generator, and its device interface compiled as host code. No GPU is needed.
#include <curand.h>
#include <gtest/gtest.h>
#include <vector_types.h>

#include <cstddef>
#include <iterator>
#include <vector>

#include "softamp/numerics/random.h"

// The device interface, as plain functions of the host.
#define QUALIFIERS static inline
#include <curand_kernel.h>

namespace softamp {
namespace {

constexpr uint32_t kGoldenWords[] = {0x9CEAF053, 0x77F5493B, 0x12BF50AD, 0x5742B3D7,
                                     0x02933769, 0x2051E913, 0x3B68B038, 0xB62C409C};

std::vector<uint32_t> curand_words(curandOrdering_t ordering, size_t count) {
  std::vector<uint32_t> words(count);
  curandGenerator_t generator;
  EXPECT_EQ(curandCreateGeneratorHost(&generator, CURAND_RNG_PSEUDO_PHILOX4_32_10), CURAND_STATUS_SUCCESS);
  EXPECT_EQ(curandSetPseudoRandomGeneratorSeed(generator, 42), CURAND_STATUS_SUCCESS);
  EXPECT_EQ(curandSetGeneratorOrdering(generator, ordering), CURAND_STATUS_SUCCESS);
  EXPECT_EQ(curandGenerate(generator, words.data(), count), CURAND_STATUS_SUCCESS);
  EXPECT_EQ(curandDestroyGenerator(generator), CURAND_STATUS_SUCCESS);
  return words;
}

// The host generator walks 65,536 subsequences before it takes their second blocks: its i-th group of four words is the
// block of counter {i / 65536, 0, i % 65536, 0}.
// tests: N341
TEST(Curand, HostGenerator) {
  constexpr size_t kWords = size_t{1} << 21;
  for (curandOrdering_t ordering :
       {CURAND_ORDERING_PSEUDO_DEFAULT, CURAND_ORDERING_PSEUDO_BEST, CURAND_ORDERING_PSEUDO_LEGACY}) {
    const std::vector<uint32_t> words = curand_words(ordering, kWords);
    for (size_t i = 0; i < std::size(kGoldenWords); ++i) EXPECT_EQ(words[i], kGoldenWords[i]) << i;
    const RandomBits random{42};
    size_t different = 0;
    for (size_t group = 0; group < kWords / 4; ++group) {
      const RandomBlock ours = random.block(0, static_cast<uint32_t>(group % 65536), group / 65536);
      for (size_t i = 0; i < 4; ++i) different += ours.word[i] != words[4 * group + i];
    }
    EXPECT_EQ(different, 0u) << "ordering " << ordering;
  }
}

// curand_init(seed, step : replica : operation, 4 block), then curand4, is our block.
// tests: N341
TEST(Curand, DeviceInterface) {
  for (uint64_t seed : {uint64_t{0}, uint64_t{42}, uint64_t{0x123456789ABCDEF0}})
    for (uint32_t step : {0u, 1u, 0xFFFFFFFFu})
      for (uint32_t operation : {0u, 7u, 0xFFFFFFu})
        for (uint32_t replica : {0u, 255u})
          for (uint64_t block : {uint64_t{0}, uint64_t{1}, uint64_t{0x100000005}, uint64_t{1} << 40}) {
            curandStatePhilox4_32_10_t state;
            curand_init(seed, uint64_t{step} << 32 | replica << 24 | operation, 4 * block, &state);
            const uint4 theirs = curand4(&state);
            const RandomBits random{seed, 10, replica};
            EXPECT_EQ(random.block(step, operation, block), (RandomBlock{{theirs.x, theirs.y, theirs.z, theirs.w}}))
                << "seed " << seed << " step " << step << " operation " << operation << " block " << block;
          }
}

}  // namespace
}  // namespace softamp
