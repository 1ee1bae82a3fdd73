// The presets of numerics/chips.h for people: names, evidence, a comparison, and the bias of each.
#pragma once

#include "softamp/numerics/chips.h"

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace softamp {

/// The evidence behind a statement about a chip.
enum class Evidence : uint8_t {
  kHashVerified,    ///< a published digest of the chip's own output, which we reproduce
  kHashedInPart,    ///< the same for some of the cases; for the others something weaker
  kVendorDocument,  ///< the vendor's manual or patent
  kVendorModel,     ///< the vendor's software that models the chip
  kThirdParty,      ///< measured or modelled by others, not checked by us
  kDefinition,      ///< no chip: a definition
  kAssumed,         ///< not public: our default, a named switch
};

struct ChipEvidence {
  Evidence kind;
  std::string what;
  std::string source;
};

/// Facts about a chip as a whole.
struct ChipFacts {
  Chip chip;
  std::string name;                  ///< "nvidia_sm100", ours
  std::string title;                 ///< "NVIDIA B200 (sm_100a)"
  std::string instruction;           ///< "cvt.rs"
  std::vector<FloatFormat> formats;  ///< that it rounds to; four for the p3109 presets and `exact`, which take any
  std::vector<std::string> notes;
  std::vector<ChipEvidence> evidence;
};

/// All chips, in the order of `Chip`.
const std::vector<ChipFacts>& chip_facts();
const ChipFacts& chip_facts(Chip chip);

/// The chip of one of its names, "nvidia_sm100" or "b200". Throws UnknownName with the known ones and the nearest; for
/// Trainium, Gaudi and TPU it says why there is no preset.
Chip chip_from_name(std::string_view name);
std::string name_of(Chip chip);
std::string name_of(Evidence evidence);  ///< "hash-verified", "hash-verified in part", "vendor document", ...
std::string name_of(RandomSlice slice);  ///< "top bits", ...

/// chip_rounding, but throws std::invalid_argument where the chip has no such conversion, naming those it has:
/// "chip amd_cdna3 does not round to fp16: expected f143 or f152"; likewise for the answer to overflow, and for `bits`
/// outside 0..32 or given to a chip whose number of bits is fixed.
ChipRounding require_chip_rounding(Chip chip, const FloatFormat& to, ChipOverflow overflow = ChipOverflow::kUsual,
                                   int bits = 0);

/// numerator / 2^exponent, in lowest terms.
struct Dyadic {
  int64_t numerator;
  int exponent;
  constexpr bool operator==(const Dyadic&) const = default;
};

/// "-4095/2^21", "1/2^23", "0"
std::string dyadic_text(const Dyadic& value);

/// The mean, over all fields of bits that a conversion of the source format can discard (alike likely) and all R, of
/// result minus exact value in quanta of the result, away from zero counted as positive. Exact.
/// lift (0 .. mantissa bits) [=0]  0: normal results; n: results whose leading bit lies n below the smallest normal
/// number. In formats whose subnormals are also the source's, this is the same as 0.
Dyadic chip_bias(const ChipRounding& rounding, int lift = 0);

/// One line of the comparison; what can be measured was measured by converting.
struct ChipRow {
  Chip chip;
  FloatFormat from, to;
  int bits;
  std::string slice;            ///< where R is taken from the random word
  std::string variant;          ///< carry, half, rne, odd, at-least
  std::string alignment;        ///< of R on subnormal results: "top" of what is discarded, or "source", bit 0 on bit 0
  std::string subnormals;       ///< "kept", "to +0"
  std::string overflow;         ///< "inf", "nan" or "max"; the chip's usual answer first: "inf or max"
  std::string infinity;         ///< the same for an infinite operand
  std::string nan;              ///< code of a positive NaN operand
  std::string minus_zero;       ///< "-0" or "+0"
  Dyadic bias, subnormal_bias;  ///< chip_bias at lift 0 and 1
  /// The weakest evidence for results of numbers and infinities; the bits of a NaN do not count. ChipFacts::evidence
  /// gives it case by case.
  Evidence evidence;
};

/// One conversion. Throws as require_chip_rounding.
ChipRow chip_row(Chip chip, const FloatFormat& to, int bits = 0);

/// Every conversion of a chip, in the order of its formats. bits (1..32; 0: 8) [=0]: of the p3109 presets; throws
/// std::invalid_argument outside.
std::vector<ChipRow> chip_rows(Chip chip, int bits = 0);

}  // namespace softamp
