// Bulk operations: arrays in, arrays out, at full speed, with the bits of the scalar operations of numerics/ for each
// element, for any number of threads, instruction set, alignment and size.
//
// Every function takes a `Semantics`; the policy that rounds is its `rounding(format of the result)`. Where that policy
// is stochastic, element i uses the random word that `RandomBits` gives for (seed, step, operation, first_index + i)
// and the policy's random_bits (N72), or words[i].
//
// Threads: oneTBB. MXCSR: any state of the caller gives the same result; control and sticky bits are left as found.
// Errors: std::invalid_argument, naming the sizes, where the arrays differ in length, where a code does not fit its
// type, where an output overlaps an input (but see round_values), for an unknown format, engine or policy, and for an
// instruction set that this machine or this build lacks; where random_bits do not fit a slice. Nothing is written then.
#pragma once

#include <cstdint>
#include <optional>
#include <span>

#include "softamp/numerics/chips.h"
#include "softamp/numerics/format.h"
#include "softamp/numerics/random.h"
#include "softamp/numerics/semantics.h"
#include "softamp/numerics/status.h"

namespace softamp::bulk {

/// Where the random words of stochastic rounding come from.
// implements: N329
struct RandomSource {
  /// kPhilox (10 rounds) or kPhilox7 [=kPhilox]. A tile's xoroshiro128aox is a sequence: see numerics/tile_random.h and
  /// pass its numbers as `words`.
  RandomEngine engine = RandomEngine::kPhilox;
  uint64_t seed = 0;         ///< [=0]
  uint32_t operation = 0;    ///< (0 .. 2^24 - 1) [=0]
  uint32_t step = 0;         ///< [=0]
  uint64_t first_index = 0;  ///< [=0] index of element 0
  /// One word per element, of which the low random_bits are read, instead of the generator [=nullptr].
  const uint32_t* words = nullptr;
  /// Set: element i takes its number out of a whole word of 32 bits, as a chip does (N329): it is lane j mod lanes of
  /// word j / lanes, lanes = lanes_of(*slice). j is first_index + i, and the word the generator's 32 bits of its index;
  /// with `words` j is i, and the word is one of theirs. [=none: a number of its own for each element]
  std::optional<RandomSlice> slice = {};
  uint32_t replica = 0;  ///< (0 .. 255) [=0]

  /// The generator that `engine`, `seed` and `replica` say.
  RandomBits bits() const { return {seed, engine == RandomEngine::kPhilox7 ? 7 : 10, replica}; }
};

/// The instruction sets with code of their own. Those of x86-64 are each a superset of the one before.
enum class InstructionSet : uint8_t {
  kAuto,        ///< the best that this machine has.
  kPortable,    ///< any machine's: the compiler makes of plain vectors what the architecture has.
  kAvx2,        ///< x86-64: AVX2, FMA, F16C, BMI2.
  kAvx512,      ///< x86-64: AVX-512 F, BW, DQ, VL, VBMI, VBMI2.
  kAvx512Fp16,  ///< x86-64: AVX-512 with arithmetic on halves.
  kNeon,        ///< 64-bit Arm: Advanced SIMD, which every such machine has.
};

/// The sets that both this machine and this build support: kPortable, then better ones in ascending order.
std::span<const InstructionSet> instruction_sets();
/// The last of them.
InstructionSet best_instruction_set();

/// "portable", "avx2", "avx512", "avx512fp16", "neon"; "auto".
const char* name(InstructionSet set);

struct BulkOptions {
  RandomSource random;
  int threads = 0;                             ///< (0: all; 1 .. 1024) [=0]
  InstructionSet isa = InstructionSet::kAuto;  ///< [=kAuto]
  /// Receives the flags that the call raised and the lowest element index of each, merged into what it holds
  /// (indices count from 0, whatever first_index) [=nullptr: flags are not computed].
  FpStatus* status = nullptr;
};

/// codes[i] = in[i] rounded once to format `to`; `to` is any valid format of at most 32 bits.
void round(std::span<const float> in, const FloatFormat& to, std::span<uint8_t> codes, const Semantics& semantics,
           const BulkOptions& options = {});
void round(std::span<const float> in, const FloatFormat& to, std::span<uint16_t> codes, const Semantics& semantics,
           const BulkOptions& options = {});
void round(std::span<const float> in, const FloatFormat& to, std::span<uint32_t> codes, const Semantics& semantics,
           const BulkOptions& options = {});
void round(std::span<const double> in, const FloatFormat& to, std::span<uint8_t> codes, const Semantics& semantics,
           const BulkOptions& options = {});
void round(std::span<const double> in, const FloatFormat& to, std::span<uint16_t> codes, const Semantics& semantics,
           const BulkOptions& options = {});
void round(std::span<const double> in, const FloatFormat& to, std::span<uint32_t> codes, const Semantics& semantics,
           const BulkOptions& options = {});

/// out[i] = the value of in[i] rounded once to format `to`, as fp::to_float gives it: a float that `to` can hold.
/// `out` may be `in` itself, otherwise they must not overlap.
void round_values(std::span<const float> in, const FloatFormat& to, std::span<float> out, const Semantics& semantics,
                  const BulkOptions& options = {});
void round_values(std::span<const double> in, const FloatFormat& to, std::span<float> out, const Semantics& semantics,
                  const BulkOptions& options = {});

/// out[i] = codes[i], a code of format `from`, converted to fp32 or binary64 under the wide policy.
/// Bits of a code above the format's width are ignored.
void widen(std::span<const uint8_t> codes, const FloatFormat& from, std::span<float> out, const Semantics& semantics,
           const BulkOptions& options = {});
void widen(std::span<const uint16_t> codes, const FloatFormat& from, std::span<float> out, const Semantics& semantics,
           const BulkOptions& options = {});
void widen(std::span<const uint32_t> codes, const FloatFormat& from, std::span<float> out, const Semantics& semantics,
           const BulkOptions& options = {});
void widen(std::span<const uint8_t> codes, const FloatFormat& from, std::span<double> out, const Semantics& semantics,
           const BulkOptions& options = {});
void widen(std::span<const uint16_t> codes, const FloatFormat& from, std::span<double> out, const Semantics& semantics,
           const BulkOptions& options = {});
void widen(std::span<const uint32_t> codes, const FloatFormat& from, std::span<double> out, const Semantics& semantics,
           const BulkOptions& options = {});

/// out[i] = a[i] op b[i] on fp16 codes, rounded once (under the IPU preset, division rounds to fp32 first).
void add(std::span<const uint16_t> a, std::span<const uint16_t> b, std::span<uint16_t> out, const Semantics& semantics,
         const BulkOptions& options = {});
void sub(std::span<const uint16_t> a, std::span<const uint16_t> b, std::span<uint16_t> out, const Semantics& semantics,
         const BulkOptions& options = {});
void mul(std::span<const uint16_t> a, std::span<const uint16_t> b, std::span<uint16_t> out, const Semantics& semantics,
         const BulkOptions& options = {});
void div(std::span<const uint16_t> a, std::span<const uint16_t> b, std::span<uint16_t> out, const Semantics& semantics,
         const BulkOptions& options = {});

/// out[i] = a[i] b[i] + c[i] on fp16 codes, rounded once.
void fma(std::span<const uint16_t> a, std::span<const uint16_t> b, std::span<const uint16_t> c, std::span<uint16_t> out,
         const Semantics& semantics, const BulkOptions& options = {});

}  // namespace softamp::bulk
