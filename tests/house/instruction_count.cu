// Kernels to be counted, not run: the straight way through a group of eight elements of the fast conversions, each a
// kernel whose PTX has no branch. tests/house/instruction_count.py divides by eight.
#include "cuda/element_group.h"
#include "cuda/fast_round.h"

namespace {

using namespace softamp;
using namespace softamp::cuda;
using Way = FastRound::Way;

template <Way kWay, bool kRandom>
__device__ void group(const float* in, uint32_t* out, const FastRound& round, const RandomBits& random, uint32_t step,
                      uint32_t operation) {
  const uint64_t index = uint64_t{blockIdx.x} * blockDim.x + threadIdx.x;
  const auto* const from = reinterpret_cast<const cuda::detail::Quad*>(in) + 2 * index;
  const cuda::detail::Quad low = from[0], high = from[1];
  RandomBlock block{};
  if (kRandom) block = philox10(random.counter(step, operation, index), random.key());
  bool rare = false;
  cuda::detail::Quad codes;
  for (unsigned k = 0; k < 4; ++k)
    codes.word[k] = round.codes<kWay>(from_bits(k < 2 ? low.word[2 * k] : high.word[2 * k - 4]),
                                      from_bits(k < 2 ? low.word[2 * k + 1] : high.word[2 * k - 3]), block.word[k],
                                      block.word[k] >> 16, rare);
  if (rare) codes.word[0] = ~0u;  // stands for the branch to the body
  reinterpret_cast<cuda::detail::Quad*>(out)[index] = codes;
}

}  // namespace

#define SOFTAMP_COUNTED(name, way, random)                                                    \
  extern "C" __global__ void name(                                                            \
      const float* in, uint32_t* out, const __grid_constant__ softamp::cuda::FastRound round, \
      const __grid_constant__ softamp::RandomBits bits, uint32_t step, uint32_t operation) {  \
    group<softamp::cuda::FastRound::Way::way, random>(in, out, round, bits, step, operation); \
  }
SOFTAMP_COUNTED(fp16_nearest, kHalfNearest, false)
SOFTAMP_COUNTED(fp16_stochastic, kHalfCarry, true)
SOFTAMP_COUNTED(bf16_nearest, kBf16Nearest, false)
SOFTAMP_COUNTED(bf16_stochastic, kBf16Carry, true)
SOFTAMP_COUNTED(fp16_stochastic_bits_given, kHalfCarry, false)
