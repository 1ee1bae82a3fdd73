// Names of floating-point and fixed-point formats, rounding modes, variants, overflow rules, engines, presets and
// accumulators.
//
// One list of names, src/names/name_rows.h, serves every reader: the verbs, settings, JSON, dtypes. Words are read
// without regard to case, and '_' as '-'. An unknown word throws UnknownName, whose message names the word, the nearest
// known one by edit distance if one is near, and all the known ones.
#pragma once

#include "softamp/numerics/accumulator.h"
#include "softamp/numerics/format.h"
#include "softamp/numerics/rounding.h"
#include "softamp/numerics/semantics.h"

#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

namespace softamp {

enum class CastProfile : uint8_t;  // numerics/convert.h

/// A word that names nothing of the wanted kind.
class UnknownName : public std::invalid_argument {
 public:
  using std::invalid_argument::invalid_argument;
};

/// "unknown format 'fp61'; nearest: fp16; known: fp16 (float16, half), ..."; without the nearest where no known word is
/// near. `known` entries may hold other names in brackets after the first.
std::string unknown_name_message(std::string_view what, std::string_view name, const std::vector<std::string>& known);

/// A format with a name.
struct NamedFormat {
  FloatFormat format;
  std::vector<std::string> names;  ///< ours first, then other common spellings
  std::string origin;              ///< whose format it is
};

/// fp16, bf16, tf32, fp32, fp64, e4m3, e5m2, f143, f152, e2m1, e2m3, e3m2, in this order.
const std::vector<NamedFormat>& named_formats();

/// The format called `name`: a name of named_formats(), or e<E>p<P> for the IEEE-like format of E exponent bits (2..8)
/// and a precision of P bits (2..24), the hidden bit counted: e5p11 is fp16, e8p8 is bf16. (P, not the mantissa bits
/// of "e4m3", because those names belong to formats whose special values are not IEEE's.) Throws UnknownName.
FloatFormat format_from_name(std::string_view name);
/// Our name of a format; e<E>p<P> where it has none.
std::string format_name(const FloatFormat& format);

/// The fixed-point format q<I>.<F>: I integer bits, the sign among them, and F bits after the point, I + F in 2..32:
/// two's complement, in steps of 2^-F from -2^(I-1) to 2^(I-1) - 2^-F. q2.14 is what Gupta et al. write <2,14>; in
/// q0.16 the sign is the first bit after the point. Throws UnknownName.
FixedFormat fixed_format_from_name(std::string_view name);
/// "q2.14". Throws std::invalid_argument for a format that has no such name: other limits, other numbers of bits.
std::string name_of(const FixedFormat& format);

/// Which set of rules an operation follows, apart from its rounding.
enum class Preset : uint8_t {
  kIeee,  ///< IEEE 754-2019: Semantics::ieee
  kIpu,   ///< the IPU's arithmetic: Semantics::ipu
};

/// nearest, nearest-away, zero, up, down, stochastic, odd
RoundingMode rounding_from_name(std::string_view name);
/// carry, half, rne, odd, at-least
StochasticVariant variant_from_name(std::string_view name);
/// infinity, saturate, nan
Overflow overflow_from_name(std::string_view name);
/// onnx_saturate, ...; its canonical names: name_of (numerics/convert.h)
CastProfile cast_from_name(std::string_view name);
/// after, before
Tininess tininess_from_name(std::string_view name);
/// philox, philox7, xoroshiro128aox
RandomEngine engine_from_name(std::string_view name);
/// ieee, ipu
Preset preset_from_name(std::string_view name);
/// ipu_model_a, fp32_chain, tensorcore_volta, ...; its canonical names: name_of (numerics/accumulator.h)
Accumulator accumulator_from_name(std::string_view name);
/// own, fp16, bf16, e4m3, e5m2
TensorCoreOperands tensor_core_operands_from_name(std::string_view name);

std::string name_of(RoundingMode mode);
std::string name_of(StochasticVariant variant);
std::string name_of(Overflow overflow);
std::string name_of(Tininess tininess);
std::string name_of(RandomEngine engine);
std::string name_of(Preset preset);
/// "invalid", "divide-by-zero", "overflow", "underflow", "inexact", joined by commas; "none" for 0.
std::string flag_names(uint8_t flags);

}  // namespace softamp
