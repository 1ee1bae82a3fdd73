// The bulk kernels against the scalar reference, bit for bit: fp32 to fp16 on all 2^32 inputs in nearest even, and on
// 10^9 (input, random number) pairs in stochastic rounding; fp16 arithmetic on all pairs of a grid. Every instruction
// set that the machine has.
#include <cstring>
#include <memory>

#include "softamp/numerics/convert.h"
#include "softamp/numerics/operations.h"
#include "softamp/numerics/random.h"
#include "softamp/tensor/bulk.h"
#include "tests/exhaustive/proof.h"

namespace {

using namespace softamp;
using bulk::InstructionSet;

constexpr size_t kBlock = size_t{1} << 16;
constexpr uint64_t kBlocks = uint64_t{1} << 16;  // of kBlock inputs: all of fp32

struct Buffers {
  std::vector<float> in = std::vector<float>(kBlock);
  std::vector<uint16_t> a = std::vector<uint16_t>(kBlock), b = a, expected = a, got = a;
};

void compare(proof::Tally& tally, const Buffers& buffers, const std::string& what, const auto& input_of) {
  tally.add_cases(kBlock);
  for (size_t i = 0; i < kBlock; ++i)
    if (buffers.got[i] != buffers.expected[i])
      tally.mismatch(what + " " + input_of(i) + ": got " + proof::hex(buffers.got[i], 4) + ", reference " +
                     proof::hex(buffers.expected[i], 4));
}

/// fp32 to fp16 of the inputs that `bits(block, i)` gives, by each set.
void prove_rounding(const proof::Options& o, proof::Tally& tally, std::span<const InstructionSet> sets,
                    const char* name, const Semantics& s, uint64_t blocks, const auto& bits) {
  const proof::Section section(name, tally);
  proof::for_each_in_slice(o, blocks, [&] {
    return [&, w = std::make_shared<Buffers>()](uint64_t block) {
      bulk::BulkOptions options;
      options.threads = 1;
      options.random.first_index = block * kBlock;
      options.random.seed = 1;
      RandomBits random{1, 10, 0};
      const RoundingPolicy& p = s.rounding(kFp16);
      RandomBlock drawn{};
      for (size_t i = 0; i < kBlock; ++i) {
        const uint32_t x = bits(block, i);
        w->in[i] = __builtin_bit_cast(float, x);
        uint32_t word = 0;
        if (p.stochastic()) {
          const uint64_t index = options.random.first_index + i;
          if (index % 8 == 0) drawn = random.block(0, 0, index / 8);
          word = drawn.lane16(static_cast<uint32_t>(index % 8));
        }
        w->expected[i] = static_cast<uint16_t>(fp::convert(kFp32, kFp16, x, s, word).code);
      }
      for (const InstructionSet set : sets) {
        options.isa = set;
        bulk::round(w->in, kFp16, std::span<uint16_t>(w->got), s, options);
        compare(tally, *w, std::string(bulk::name(set)) + " " + name, [&](size_t i) {
          return proof::hex(bits(block, i), 8) + " index " + std::to_string(options.random.first_index + i);
        });
      }
    };
  });
}

using Binary = void (*)(std::span<const uint16_t>, std::span<const uint16_t>, std::span<uint16_t>, const Semantics&,
                        const bulk::BulkOptions&);
using Scalar = Rounded (*)(const FloatFormat&, uint64_t, uint64_t, const Semantics&, uint32_t);

/// All first operands with the second operands (n * 97) mod 2^16, n < 256.
void prove_pairs(const proof::Options& o, proof::Tally& tally, std::span<const InstructionSet> sets, const char* name,
                 const Semantics& s, Binary function, Scalar scalar) {
  const proof::Section section(name, tally);
  proof::for_each_in_slice(o, 256, [&] {
    return [&, w = std::make_shared<Buffers>()](uint64_t n) {
      bulk::BulkOptions options;
      options.threads = 1;
      options.random.first_index = n * kBlock;
      const RandomBits random;
      const RoundingPolicy& p = s.rounding(kFp16);
      for (size_t i = 0; i < kBlock; ++i) {
        w->a[i] = static_cast<uint16_t>(i);
        w->b[i] = static_cast<uint16_t>(n * 97 + 1024 * (n % 64));
        const uint32_t word = p.stochastic() ? random.bits(0, 0, n * kBlock + i, p.random_bits) : 0;
        w->expected[i] = static_cast<uint16_t>(scalar(kFp16, w->a[i], w->b[i], s, word).code);
      }
      for (const InstructionSet set : sets) {
        options.isa = set;
        function(w->a, w->b, w->got, s, options);
        compare(tally, *w, std::string(bulk::name(set)) + " " + name, [&](size_t i) {
          return proof::hex(w->a[i], 4) + " " + proof::hex(w->b[i], 4) + " index " + std::to_string(n * kBlock + i);
        });
      }
    };
  });
}

}  // namespace

int main(int argc, char** argv) {
  const proof::Options o = proof::parse(argc, argv, 256);
  const std::span<const InstructionSet> sets = bulk::instruction_sets();
  proof::Tally tally;
  const auto every = [](uint64_t block, size_t i) { return static_cast<uint32_t>(block * kBlock + i); };
  prove_rounding(o, tally, sets, "nearest even, every fp32", Semantics::ieee(), kBlocks, every);
  prove_rounding(o, tally, sets, "nearest even, ipu, every fp32", Semantics::ipu(), kBlocks, every);
  // 15,259 blocks of 2^16: 10^9 pairs. Half of the inputs have exponents near fp16's range, where all is decided.
  constexpr uint64_t kPairs = 15259;
  const auto spread = [](uint64_t block, size_t i) {
    uint64_t x = (block * kBlock + i) * 0x9E3779B97F4A7C15u;
    x ^= x >> 29;
    x *= 0xBF58476D1CE4E5B9u;
    const uint32_t u = static_cast<uint32_t>(x >> 32);
    return i % 2 ? u : (u & 0x807FFFFFu) | (100u + (u >> 23 & 0xFFu) % 46u) << 23;
  };
  for (const int r : {13, 16}) {
    const std::string name = "stochastic " + std::to_string(r) + " bits";
    prove_rounding(o, tally, sets, name.c_str(), Semantics::ieee(RoundingPolicy::stochastic_carry(r)), kPairs, spread);
  }
  for (const int r : {0, 13, 16}) {
    const Semantics s = r ? Semantics::ieee(RoundingPolicy::stochastic_carry(r)) : Semantics::ieee();
    const std::string suffix = r ? " stochastic " + std::to_string(r) : " nearest even";
    prove_pairs(o, tally, sets, ("add" + suffix).c_str(), s, bulk::add, fp::add);
    prove_pairs(o, tally, sets, ("mul" + suffix).c_str(), s, bulk::mul, fp::mul);
    prove_pairs(o, tally, sets, ("div" + suffix).c_str(), s, bulk::div, fp::div);
  }
  return proof::verdict("simd", o, tally);
}
