#include "src/arithmetic/rounding_choice.h"

#include "softamp/numerics/convert.h"

namespace softamp::detail {

int RoundingChoice::random_bits() const {
  if (bits != 0) return bits;
  return engine == RandomEngine::kXoroshiro128aox ? 16 : 13;
}

ChipOverflow RoundingChoice::chip_overflow() const {
  return !overflow                          ? ChipOverflow::kUsual
         : *overflow == Overflow::kSaturate ? ChipOverflow::kSaturating
                                            : ChipOverflow::kSpecial;
}

Semantics RoundingChoice::semantics() const {
  if (preset == Preset::kIeee) {
    RoundingPolicy policy = RoundingPolicy::ieee(mode);
    policy.random_bits = random_bits();
    policy.variant = variant;
    policy.overflow = overflow.value_or(Overflow::kInfinity);
    return Semantics::ieee(policy);
  }
  if (mode != RoundingMode::kNearestEven && mode != RoundingMode::kStochastic)
    throw std::invalid_argument(option("rounding") + ": '" + name_of(mode) + "': expected nearest or stochastic with " +
                                option("preset") + " ipu");
  if (overflow == Overflow::kInfinity)
    throw std::invalid_argument(option("overflow") + ": 'infinity': expected saturate or nan with " + option("preset") +
                                " ipu");
  FloatingPointBehaviour behaviour = FloatingPointBehaviour::all_off();
  behaviour.esr = mode == RoundingMode::kStochastic;
  behaviour.nanoo = overflow == Overflow::kNan;
  IpuSwitches switches;
  switches.sr_bits = random_bits();
  switches.sr_form = variant;
  return Semantics::ipu(behaviour, switches, engine);
}

Semantics RoundingChoice::semantics(const FloatFormat& f) const {
  if (cast) {
    if (mode != RoundingMode::kNearestEven || overflow || preset != Preset::kIeee || chip)
      throw std::invalid_argument(option("cast") + ": expected no " + option("rounding") + ", " + option("overflow") +
                                  ", " + option("preset") + " or " + option("chip") + " beside it, which it decides");
    if (!has_cast(*cast, f))
      throw std::invalid_argument(option("cast") + ": '" + name_of(*cast) + "': has no conversion to " +
                                  format_name(f) + "; expected " +
                                  (*cast == CastProfile::kMlDtypes ? "e4m3, e5m2, f143, f152 or bf16"
                                   : has_cast(*cast, kF143)        ? "e4m3, e5m2, f143 or f152"
                                                                   : "e4m3 or e5m2"));
    return Semantics::ieee(cast_policy(*cast));
  }
  if (!chip) return semantics();
  const ChipOverflow answer = chip_overflow();
  std::string refused;
  try {
    const ChipRounding rounding = require_chip_rounding(*chip, f, answer, bits);
    const bool nan = rounding.special.overflow == Overflow::kNan || !f.has_infinity();
    if (overflow && answer == ChipOverflow::kSpecial && nan != (*overflow == Overflow::kNan))
      refused = option("overflow") + ": '" + name_of(*overflow) + "': expected " + (nan ? "nan" : "infinity") +
                (rounding.has_saturating ? " or saturate" : "") + " with " + option("chip") + " " + name_of(*chip) +
                " " + option("format") + " " + format_name(f);
  } catch (const std::invalid_argument& e) {
    refused = option("chip") + ": " + e.what();
  }
  if (!refused.empty()) throw std::invalid_argument(refused);
  return chip_semantics(*chip, f, answer, bits);
}

RoundingPolicy RoundingChoice::policy(const FloatFormat& f) const {
  if (chip || cast) return semantics(f).rounding(f);
  const RoundingPolicy policy = semantics().rounding(f);
  if (policy.mode != mode)
    throw std::invalid_argument(option("rounding") + ": '" + name_of(mode) + "': expected nearest for " +
                                format_name(f) + " with " + option("preset") +
                                " ipu, which rounds formats of at most 16 bits stochastically");
  return policy;
}

void RoundingChoice::require_overflow(const FloatFormat& f, const RoundingPolicy& applied) const {
  if (overflow && !chip && applied.overflow != *overflow)
    throw std::invalid_argument(option("overflow") + ": '" + name_of(*overflow) + "': expected none for " +
                                format_name(f) + " with " + option("preset") + " ipu, which decides it");
}

}  // namespace softamp::detail
